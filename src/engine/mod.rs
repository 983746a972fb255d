//! The pure core: no Kafka, no disk, no clock, no randomness, no thread.

pub mod ban;
pub mod case;
pub mod command;
pub mod decision;
pub mod entity;
pub mod event;
pub mod expr;
pub mod input;
pub mod limit;
pub mod policy;
pub mod prefetch;
pub mod slab;
pub mod table;
pub mod time;
pub mod verdict;
pub mod window;
