//! The pure core: no Kafka, no disk, no clock, no randomness, no thread.

pub mod duplicates;
pub mod limit;
pub mod prefetch;
pub mod slab;
pub mod table;
pub mod time;
pub mod window;
