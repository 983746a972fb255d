//! Open cases in a cut.

use super::{Cases, Open};
use crate::engine::cut::saved;

saved!(Cases { open, refused });
saved!(Open { case, tell_at });
