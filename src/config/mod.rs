//! What the operator writes: where policies come from.

pub mod policy_dir;
pub mod standard;
