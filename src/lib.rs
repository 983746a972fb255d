//! weir stands across an event stream and scores the risk of each interaction.

pub mod engine;
pub mod pipeline;
pub mod stream;
pub mod wire;
