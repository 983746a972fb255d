//! Timers in a cut.

use super::Timers;
use crate::engine::cut::saved;

saved!(Timers { due });
