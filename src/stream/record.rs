//! Records that came in, copied out of the Kafka client into one batch.
//!
//! A [`RecordBatch`] owns its bytes, so it can cross threads and be scored while the client fetches on. It knows
//! nothing of what the bytes mean. Records keep the order in which their partition held them; records of different
//! partitions stand in the order of arrival, which means nothing. [`RecordBatch::clear`] keeps the memory for the
//! next batch. A record whose headers could not be read is kept, and says so.

use super::arena::{Arena, HeaderSpan, Headers, Span};
use super::topics::Topic;

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinates {
    /// The topic.
    pub topic: Topic,
    /// The partition, from 0.
    pub partition: i32,
    /// The offset in the partition, from 0.
    pub offset: i64,
}

/// A record's timestamp: milliseconds since 1970, and who set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamp {
    /// The record carries none.
    None,
    /// The producer's clock.
    Create(i64),
    /// The broker's clock when it appended the record.
    Append(i64),
}

/// The end of a partition was reached: there was no record at or after `position` when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionEnd {
    /// The topic.
    pub topic: Topic,
    /// The partition.
    pub partition: i32,
    /// The offset at which the next record will be read. It may lie past the last record's offset + 1: commit
    /// markers take offsets too.
    pub position: i64,
}

/// One record of a batch.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    /// Where it stands.
    pub at: Coordinates,
    /// When it was made or appended.
    pub timestamp: Timestamp,
    /// The key, or null.
    pub key: Option<&'a [u8]>,
    /// The value, or null.
    pub value: Option<&'a [u8]>,
    /// The headers.
    pub headers: Headers<'a>,
}

#[derive(Clone, Copy, Debug)]
struct RecordMeta {
    at: Coordinates,
    timestamp: Timestamp,
    key: Span,
    value: Span,
    first_header: u32,
    headers: u16,
    unreadable: u16,
}

/// Records in one buffer; see the module's text.
#[derive(Clone, Debug, Default)]
pub struct RecordBatch {
    arena: Arena,
    records: Vec<RecordMeta>,
    headers: Vec<HeaderSpan>,
    ends: Vec<PartitionEnd>,
}

impl RecordBatch {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True when there is no record in it; there may be ends of partitions.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// True when there is neither a record nor the end of a partition in it.
    pub fn says_nothing(&self) -> bool {
        self.records.is_empty() && self.ends.is_empty()
    }

    /// Bytes of keys, values and headers held.
    pub fn bytes(&self) -> usize {
        self.arena.len()
    }

    /// The `index`-th record, in order of arrival.
    ///
    /// # Panics
    /// When `index` is not below [`RecordBatch::len`].
    pub fn get(&self, index: usize) -> RecordRef<'_> {
        self.view(&self.records[index])
    }

    /// All records in order of arrival.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RecordRef<'_>> {
        self.records.iter().map(|meta| self.view(meta))
    }

    /// Partitions that had no more when this batch was closed.
    pub fn ends(&self) -> &[PartitionEnd] {
        &self.ends
    }

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.arena.truncate(0);
        self.records.clear();
        self.headers.clear();
        self.ends.clear();
    }

    /// Appends a record without headers; [`RecordBatch::push_header`] adds them.
    pub fn push(&mut self, at: Coordinates, timestamp: Timestamp, key: Option<&[u8]>, value: Option<&[u8]>) {
        self.ends.retain(|end| (end.topic, end.partition) != (at.topic, at.partition));
        let first_header = u32::try_from(self.headers.len()).expect("fewer headers than bytes");
        let (key, value) = (self.arena.push(key), self.arena.push(value));
        self.records.push(RecordMeta { at, timestamp, key, value, first_header, headers: 0, unreadable: 0 });
    }

    /// Appends a header to the last record. Nothing happens in an empty batch. Beyond 65,535 headers a record's
    /// further ones count as unreadable.
    pub fn push_header(&mut self, name: &str, value: Option<&[u8]>) {
        let Some(record) = self.records.last_mut() else { return };
        let Some(count) = record.headers.checked_add(1) else { return self.push_unreadable_header() };
        record.headers = count;
        let name = self.arena.push(Some(name.as_bytes()));
        let value = self.arena.push(value);
        self.headers.push(HeaderSpan { name, value });
    }

    /// Notes that the last record has one more header, whose name cannot be read.
    pub fn push_unreadable_header(&mut self) {
        if let Some(record) = self.records.last_mut() {
            record.unreadable = record.unreadable.saturating_add(1);
        }
    }

    /// Notes that a partition has no more. A later record of that partition takes the note back.
    pub fn push_end(&mut self, end: PartitionEnd) {
        self.ends.retain(|known| (known.topic, known.partition) != (end.topic, end.partition));
        self.ends.push(end);
    }

    fn view(&self, meta: &RecordMeta) -> RecordRef<'_> {
        let first = meta.first_header as usize;
        RecordRef {
            at: meta.at,
            timestamp: meta.timestamp,
            key: self.arena.get(meta.key),
            value: self.arena.get(meta.value),
            headers: Headers {
                arena: &self.arena,
                spans: &self.headers[first..first + usize::from(meta.headers)],
                unreadable: meta.unreadable,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(partition: i32, offset: i64) -> Coordinates {
        Coordinates { topic: Topic::Interactions, partition, offset }
    }

    #[test]
    fn records_keep_their_own_bytes_and_headers() {
        let mut batch = RecordBatch::default();
        batch.push(at(0, 5), Timestamp::Append(7), Some(b"k"), None);
        batch.push_header("a", Some(b"1"));
        batch.push_unreadable_header();
        batch.push(at(1, 9), Timestamp::Create(8), None, Some(b"v"));
        let (first, second) = (batch.get(0), batch.get(1));
        assert_eq!((first.key, first.value, first.headers.len()), (Some(&b"k"[..]), None, 1));
        assert_eq!((first.headers.unreadable(), second.headers.unreadable()), (1, 0));
        assert_eq!((second.key, second.value, second.at), (None, Some(&b"v"[..]), at(1, 9)));
        assert!(second.headers.is_empty());
    }

    #[test]
    fn a_record_after_the_end_takes_the_end_back() {
        let mut batch = RecordBatch::default();
        let end = PartitionEnd { topic: Topic::Interactions, partition: 0, position: 4 };
        batch.push_end(end);
        batch.push_end(PartitionEnd { partition: 1, ..end });
        batch.push(at(0, 4), Timestamp::None, None, None);
        assert_eq!(batch.ends(), [PartitionEnd { partition: 1, ..end }]);
    }

    #[test]
    fn clear_keeps_the_memory() {
        let mut batch = RecordBatch::default();
        batch.push(at(0, 0), Timestamp::None, None, Some(&[7; 1000]));
        batch.clear();
        assert!(batch.says_nothing() && batch.bytes() == 0);
        batch.push(at(0, 1), Timestamp::None, None, Some(b"x"));
        assert_eq!(batch.get(0).value, Some(&b"x"[..]));
    }
}
