//! Open cases in a cut.

use super::{Cases, Open, Settled};
use crate::engine::cut::saved;

saved!(Cases { open, quiet, settled, counted, refused });
saved!(Settled { until, events, since });
saved!(Open { case, tell_at });
