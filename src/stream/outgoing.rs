//! Records that go out, written into one batch and kept until their commit is known.
//!
//! An [`OutBatch`] is filled by writers that append straight to its buffer, so an outgoing record costs no
//! allocation. The same batch can be sent again byte for byte after an aborted transaction. Records keep their
//! order. [`OutBatch::rewind`] takes back what was written since a mark, and [`OutRecord::finish_within`] refuses
//! a record that the broker would refuse for its size.

use super::arena::{Arena, HeaderSpan, Headers, Span};
use super::topics::Topic;

/// Framing that one record can cost at most, beside its key, value and headers: a record batch header of 61 bytes
/// and the varints of the record.
const FRAMING: usize = 61 + 36;
/// Framing of one header: two varints.
const HEADER_FRAMING: usize = 10;

#[derive(Clone, Copy, Debug)]
struct OutMeta {
    topic: Topic,
    partition: Option<i32>,
    timestamp: Option<i64>,
    key: Span,
    value: Span,
    first_header: u32,
    headers: u32,
}

/// One record of an [`OutBatch`].
#[derive(Clone, Copy, Debug)]
pub struct OutgoingRef<'a> {
    /// Where it goes.
    pub topic: Topic,
    /// The partition; `None` lets the key choose.
    pub partition: Option<i32>,
    /// Create time in milliseconds since 1970; `None` is the producer's clock.
    pub timestamp: Option<i64>,
    /// The key, or null.
    pub key: Option<&'a [u8]>,
    /// The value; null deletes the key in a compacted topic.
    pub value: Option<&'a [u8]>,
    /// The headers.
    pub headers: Headers<'a>,
}

impl OutgoingRef<'_> {
    /// The most bytes this record can take in the log, uncompressed: what a topic's `max.message.bytes` is
    /// compared with.
    pub fn size(&self) -> usize {
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| HEADER_FRAMING + name.len() + value.map_or(0, <[u8]>::len));
        FRAMING + self.key.map_or(0, <[u8]>::len) + self.value.map_or(0, <[u8]>::len) + headers.sum::<usize>()
    }
}

/// A place in an [`OutBatch`] to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    bytes: usize,
    records: usize,
    headers: usize,
}

/// Outgoing records in one buffer; see the module's text.
#[derive(Clone, Debug, Default)]
pub struct OutBatch {
    arena: Arena,
    records: Vec<OutMeta>,
    headers: Vec<HeaderSpan>,
}

impl OutBatch {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True when nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes of keys, values and headers held.
    pub fn bytes(&self) -> usize {
        self.arena.len()
    }

    /// The `index`-th record, in the order of writing.
    ///
    /// # Panics
    /// When `index` is not below [`OutBatch::len`].
    pub fn get(&self, index: usize) -> OutgoingRef<'_> {
        self.view(&self.records[index])
    }

    /// All records in the order of writing.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = OutgoingRef<'_>> {
        self.records.iter().map(|meta| self.view(meta))
    }

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.rewind(Mark { bytes: 0, records: 0, headers: 0 });
    }

    /// The present end of the batch.
    pub fn mark(&self) -> Mark {
        Mark { bytes: self.arena.len(), records: self.records.len(), headers: self.headers.len() }
    }

    /// Forgets all that was written since `mark`.
    pub fn rewind(&mut self, mark: Mark) {
        self.arena.truncate(mark.bytes);
        self.records.truncate(mark.records);
        self.headers.truncate(mark.headers);
    }

    /// Starts a record for `topic` with null key and null value. It is part of the batch once finished.
    pub fn record(&mut self, topic: Topic) -> OutRecord<'_> {
        let start = self.mark();
        let meta = OutMeta {
            topic,
            partition: None,
            timestamp: None,
            key: Span::NULL,
            value: Span::NULL,
            first_header: narrow(start.headers),
            headers: 0,
        };
        OutRecord { batch: self, start, meta }
    }

    /// Indices of records that take more than `limit` bytes in the log, at most.
    pub fn too_large(&self, limit: usize) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(move |&index| self.get(index).size() > limit)
    }

    fn view(&self, meta: &OutMeta) -> OutgoingRef<'_> {
        let first = meta.first_header as usize;
        OutgoingRef {
            topic: meta.topic,
            partition: meta.partition,
            timestamp: meta.timestamp,
            key: self.arena.get(meta.key),
            value: self.arena.get(meta.value),
            headers: Headers {
                arena: &self.arena,
                spans: &self.headers[first..first + meta.headers as usize],
                unreadable: 0,
            },
        }
    }
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).expect("a batch holds fewer headers than bytes")
}

/// A record being written. Dropped unfinished, it leaves nothing behind.
#[derive(Debug)]
#[must_use = "a record is sent only once it is finished"]
pub struct OutRecord<'a> {
    batch: &'a mut OutBatch,
    start: Mark,
    meta: OutMeta,
}

impl OutRecord<'_> {
    /// Writes the key with a function that appends to the buffer it is given and does nothing else to it.
    pub fn key(mut self, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        self.meta.key = self.batch.arena.write(write);
        self
    }

    /// Writes the value likewise.
    pub fn value(mut self, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        self.meta.value = self.batch.arena.write(write);
        self
    }

    /// Sets the key to a copy of `key`.
    pub fn key_bytes(mut self, key: Option<&[u8]>) -> Self {
        self.meta.key = self.batch.arena.push(key);
        self
    }

    /// Sets the value to a copy of `value`.
    pub fn value_bytes(mut self, value: Option<&[u8]>) -> Self {
        self.meta.value = self.batch.arena.push(value);
        self
    }

    /// Adds a header. A name may not contain a zero byte: Kafka clients in C would cut it there.
    pub fn header(mut self, name: &str, value: Option<&[u8]>) -> Self {
        let name = self.batch.arena.push(Some(name.as_bytes()));
        let value = self.batch.arena.push(value);
        self.batch.headers.push(HeaderSpan { name, value });
        self.meta.headers = self.meta.headers.saturating_add(1);
        self
    }

    /// Fixes the partition.
    pub fn partition(mut self, partition: i32) -> Self {
        self.meta.partition = Some(partition);
        self
    }

    /// Sets the create time, in milliseconds since 1970.
    pub fn timestamp(mut self, millis: i64) -> Self {
        self.meta.timestamp = Some(millis);
        self
    }

    /// The most bytes the record can take in the log as written so far.
    pub fn size(&self) -> usize {
        self.batch.view(&self.meta).size()
    }

    /// Makes the record part of the batch.
    pub fn finish(mut self) {
        self.batch.records.push(self.meta);
        self.start = self.batch.mark();
    }

    /// Makes the record part of the batch when it takes at most `limit` bytes in the log; else leaves nothing
    /// behind and returns its size.
    ///
    /// # Errors
    /// The size in bytes of a record that is too large.
    pub fn finish_within(self, limit: usize) -> Result<(), usize> {
        let size = self.size();
        if size > limit {
            return Err(size);
        }
        self.finish();
        Ok(())
    }
}

impl Drop for OutRecord<'_> {
    fn drop(&mut self) {
        self.batch.rewind(self.start);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::{Strategy, any, proptest};

    use super::*;

    type Bytes = Option<Vec<u8>>;

    fn record() -> impl Strategy<Value = (usize, Bytes, Bytes, Vec<(String, Bytes)>)> {
        let bytes = || option::of(vec(any::<u8>(), 0..20));
        (0..Topic::ALL.len(), bytes(), bytes(), vec(("[a-z_]{0,8}", bytes()), 0..4))
    }

    proptest! {
        /// What was written is what is read back, whatever else is in the batch.
        #[test]
        fn any_batch_reads_back(records in vec(record(), 0..20)) {
            let mut batch = OutBatch::default();
            for (topic, key, value, headers) in &records {
                let start = batch.record(Topic::ALL[*topic]).key_bytes(key.as_deref()).value_bytes(value.as_deref());
                headers.iter().fold(start, |record, (name, value)| record.header(name, value.as_deref())).finish();
            }
            assert_eq!(batch.len(), records.len());
            for (found, (topic, key, value, headers)) in batch.iter().zip(&records) {
                assert_eq!(found.topic, Topic::ALL[*topic]);
                assert_eq!((found.key, found.value), (key.as_deref(), value.as_deref()));
                assert!(found.headers.iter().eq(headers.iter().map(|(n, v)| (n.as_str(), v.as_deref()))));
            }
        }
    }

    #[test]
    fn a_record_is_what_was_written() {
        let mut batch = OutBatch::default();
        batch
            .record(Topic::Decisions)
            .key(|buffer| buffer.extend_from_slice(b"key"))
            .header("h", Some(b"1"))
            .value(|buffer| buffer.push(b'v'))
            .header("null", None)
            .partition(3)
            .timestamp(99)
            .finish();
        batch.record(Topic::Bans).key_bytes(Some(b"gone")).finish();
        let (first, second) = (batch.get(0), batch.get(1));
        assert_eq!((first.topic, first.partition, first.timestamp), (Topic::Decisions, Some(3), Some(99)));
        assert_eq!((first.key, first.value), (Some(&b"key"[..]), Some(&b"v"[..])));
        assert_eq!(first.headers.iter().collect::<Vec<_>>(), [("h", Some(&b"1"[..])), ("null", None)]);
        assert_eq!((second.value, second.headers.len(), second.partition), (None, 0, None));
    }

    #[test]
    fn an_unfinished_or_oversized_record_leaves_nothing() {
        let mut batch = OutBatch::default();
        drop(batch.record(Topic::Decisions).value_bytes(Some(b"half")).header("h", None));
        assert_eq!((batch.len(), batch.bytes()), (0, 0));
        let size = batch.record(Topic::Decisions).value_bytes(Some(&[0; 100])).finish_within(150);
        assert_eq!(size, Err(100 + FRAMING));
        assert_eq!((batch.len(), batch.bytes()), (0, 0));
        assert_eq!(batch.record(Topic::Decisions).value_bytes(Some(&[0; 100])).finish_within(197), Ok(()));
        assert_eq!(batch.too_large(196).collect::<Vec<_>>(), [0]);
        assert_eq!(batch.too_large(197).count(), 0);
    }

    #[test]
    fn rewind_takes_back_to_the_mark() {
        let mut batch = OutBatch::default();
        batch.record(Topic::Decisions).value_bytes(Some(b"kept")).finish();
        let mark = batch.mark();
        batch.record(Topic::Decisions).value_bytes(Some(b"gone")).header("h", None).finish();
        batch.rewind(mark);
        assert_eq!((batch.len(), batch.bytes()), (1, 4));
        assert_eq!(batch.get(0).value, Some(&b"kept"[..]));
    }
}
