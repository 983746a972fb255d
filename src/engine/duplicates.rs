//! stub
use super::time::*;
/// x
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Seen {
    /// x
    New,
    /// x
    Duplicate,
    /// x
    Conflict,
}
/// x
#[derive(Debug)]
pub struct Duplicates;
impl Duplicates {
    /// x
    pub fn new(_: Span, _: u64) -> Self {
        Self
    }
    /// x
    pub fn check_and_record(&mut self, _: u64, _: u32, _: Timestamp) -> Seen {
        Seen::New
    }
}
