//! The pure core: no Kafka, no disk, no clock, no randomness, no thread.

pub mod address;
pub mod ban;
pub mod bans;
pub mod case;
pub mod cases;
pub mod command;
pub mod decision;
pub mod entity;
pub mod event;
pub mod expr;
pub mod input;
pub mod key;
pub mod limit;
pub mod observe;
pub mod policy;
pub mod prefetch;
pub mod profile;
pub mod slab;
pub mod table;
pub mod time;
pub mod timers;
pub mod verdict;
pub mod window;
