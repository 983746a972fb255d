//! weir stands across an event stream and scores the risk of each interaction.

pub mod config;
pub mod engine;
