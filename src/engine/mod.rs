//! The pure core: no Kafka, no disk, no clock, no randomness, no thread.

pub mod time;
