//! weir stands across an event stream and scores the risk of each interaction.

pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod demo;
pub mod desk;
pub mod engine;
pub mod log;
pub mod metrics;
pub mod pipeline;
pub mod replay;
pub mod run;
pub mod sim;
pub mod stream;
pub mod wire;
