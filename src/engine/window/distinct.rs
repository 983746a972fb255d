//! stub
use super::{Held, Recorded};
use crate::engine::slab::Spill;
use crate::engine::time::*;
/// x
#[derive(Debug, Clone)]
pub struct DistinctSpec;
/// x
pub struct Distinct {
    /// x
    pub count: u64,
    /// x
    pub exact: bool,
    /// x
    pub held: Held,
}
#[allow(missing_docs)]
impl DistinctSpec {
    pub fn new(_: Span, _: u32) -> Self {
        Self
    }
    pub fn holding(self, _: Span) -> Self {
        self
    }
    pub fn words(&self) -> usize {
        1
    }
    pub fn idle(&self) -> Span {
        Span::ZERO
    }
    pub fn spills(&self) -> &[usize] {
        &[]
    }
    pub fn record(&self, _: &mut [u32], _: &mut Spill, _: u64, _: Timestamp) -> Recorded {
        Recorded::Yes
    }
    pub fn read(&self, _: &[u32], _: &Spill, _: Timestamp) -> Distinct {
        Distinct { count: 0, exact: true, held: Held::Whole }
    }
}
