//! Budgets in a cut.

use super::{Blast, Spent};
use crate::engine::cut::saved;

saved!(Blast { spent, active });
saved!(Spent { begun, accounts, over });

impl Blast {
    /// Whether it has the layout of another one.
    pub(in crate::engine) fn is_like(&self, other: &Self) -> bool {
        self.spent.len() == other.spent.len() && self.active.is_some() == other.active.is_some()
    }
}
