//! Remembered decisions in a cut.

use super::{Kept, Recall};
use crate::engine::cut::saved;

saved!(Recall { kept, by_digest, next, bytes, forgotten, waiting });
saved!(Kept { id, until, answer, record });
