//! Values as a run of bytes, and back: how what is kept for long is kept small.
//!
//! Whole numbers are little-endian, text has its length before it, what may be absent has a byte before it. There are no
//! names and no versions in it: what wrote it reads it.

/// Writes values one after the other.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Writes into room that was used before.
    pub(crate) fn over(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self { bytes }
    }

    /// What was written, and the room for the next time.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.u64(value.cast_unsigned());
    }

    /// Text of less than 4 GiB; longer text is cut to nothing, which no bounded input reaches.
    pub(crate) fn text(&mut self, text: &str) {
        let len = u32::try_from(text.len()).unwrap_or(0);
        self.u32(len);
        self.bytes.extend_from_slice(&text.as_bytes()[..len as usize]);
    }

    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.byte(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(crate) fn finish(self) -> Box<[u8]> {
        self.bytes.into_boxed_slice()
    }
}

/// Reads values in the order in which they were written. `None` when the bytes were not written so.
#[derive(Debug)]
pub(crate) struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.u64().map(u64::cast_signed)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let len = self.u32()? as usize;
        let (text, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    pub(crate) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            _ => read(self).map(Some),
        }
    }

    pub(crate) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let len = self.u32()?;
        (0..len).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_back_as_written_and_cut_off_bytes_are_noticed() {
        let mut writer = Writer::default();
        writer.byte(7);
        writer.i64(-3);
        writer.text("ü");
        writer.option(Some("x"), Writer::text);
        writer.option(None::<&str>, Writer::text);
        writer.u32(2);
        writer.u64(u64::MAX);
        writer.u64(0);
        let bytes = writer.finish();
        let mut reader = Reader::new(&bytes);
        assert_eq!((reader.byte(), reader.i64(), reader.text()), (Some(7), Some(-3), Some("ü".into())));
        assert_eq!(reader.option(Reader::text), Some(Some("x".into())));
        assert_eq!(reader.option(Reader::text), Some(None));
        assert_eq!(reader.list(Reader::u64), Some(vec![u64::MAX, 0]));
        assert_eq!(reader.byte(), None);
        assert_eq!(Reader::new(&bytes[..3]).i64(), None);
    }
}
