//! One record as a source of events has it: a line of a file, or a record of a topic. Whoever reads hands these on.

use crate::engine::DeadLetterReason;
use crate::engine::time::Timestamp;
use crate::wire::error::DecodeError;
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
    /// Why its bytes are not even looked at.
    pub unread: Option<Unread>,
}

/// Why a record is a dead letter whatever its bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// A header's name is not UTF-8.
    HeaderName,
    /// Scoring it failed when it was live, and the journal says that it was passed over.
    EngineFault,
}

impl From<Unread> for DecodeError {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::HeaderName => Self::header_name(),
            Unread::EngineFault => {
                Self::new(DeadLetterReason::EngineFault, "", "scoring this record failed when it was live")
            }
        }
    }
}

impl<'r> Record<'r> {
    /// A line of a file, counted from 0.
    pub fn line(bytes: &'r [u8], number: i64) -> Self {
        let bytes = Some(bytes);
        Self { bytes, headers: &[], partition: 0, offset: number, append_time: None, unread: None }
    }
}
