//! Remembered decisions in a cut.

use super::{Kept, Recall};
use crate::engine::cut::saved;

saved!(Recall { kept, by_digest, next, bytes, forgotten, waiting, warmed_at, warming, highest, told_before });
saved!(Kept { id, until, answer, record });
