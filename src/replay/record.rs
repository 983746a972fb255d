//! One record as a source of events has it: a line of a file, or a record of a topic. Whoever reads hands these on.

use crate::engine::time::Timestamp;
use crate::wire::headers::Headers;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Record<'r> {
    /// Its bytes; a record of a topic may have none.
    pub bytes: Option<&'r [u8]>,
    /// Its headers; a line has none.
    pub headers: &'r Headers<'r>,
    /// Partition of the topic; 0 for a file.
    pub partition: i32,
    /// Offset in the partition; for a file the number of the line, from 0.
    pub offset: i64,
    /// When the log took it; `None`: as the record itself says.
    pub append_time: Option<Timestamp>,
}

impl<'r> Record<'r> {
    /// A line of a file, counted from 0.
    pub fn line(bytes: &'r [u8], number: i64) -> Self {
        Self { bytes: Some(bytes), headers: &[], partition: 0, offset: number, append_time: None }
    }
}
