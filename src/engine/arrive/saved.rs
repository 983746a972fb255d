//! How far each partition has come, in a cut.

use super::Watermark;
use crate::engine::cut::saved;

saved!(Watermark { partitions, newest });
