//! Lines of a file in blocks: many lines are in memory at once, so that they can be decoded together.

use std::io::{self, Read};

/// Bytes of a block. A longer line makes its block longer, up to [`LINE_MAX`].
const BLOCK: usize = 256 << 10;
/// The longest line that is kept whole; what is longer is cut here and cannot be valid.
const LINE_MAX: usize = 16 << 20;
/// What some editors put before the first line of UTF-8: no part of it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads lines block by block. The last line may lack its line end. `\r\n` ends a line too.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that hold whole lines of the present block.
    whole: usize,
    filled: usize,
    ended: bool,
    /// Bytes before the first line of the present block; `None` before any block.
    before: Option<usize>,
}

impl<R: Read> Lines<R> {
    /// Lines of `from`.
    pub fn new(from: R) -> Self {
        Self { from, buffer: vec![0; BLOCK], whole: 0, filled: 0, ended: false, before: None }
    }

    /// Reads the next block; false at the end.
    ///
    /// # Errors
    /// What reading the source fails with.
    pub fn advance(&mut self) -> io::Result<bool> {
        let more = self.read()?;
        let marked = self.before.is_none() && self.buffer[..self.whole].starts_with(BYTE_ORDER_MARK);
        self.before = Some(if marked { BYTE_ORDER_MARK.len() } else { 0 });
        Ok(more)
    }

    fn read(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.whole..self.filled, 0);
        self.filled -= self.whole;
        self.whole = 0;
        while !self.ended {
            self.fill()?;
            if let Some(end) = self.buffer[..self.filled].iter().rposition(|&byte| byte == b'\n') {
                self.whole = end + 1;
                return Ok(true);
            }
            self.make_room();
        }
        self.whole = self.filled;
        Ok(self.whole > 0)
    }

    /// The lines of the block, without their ends.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.buffer[self.before.unwrap_or(0)..self.whole];
        std::iter::from_fn(move || {
            let end = memchr::memchr(b'\n', rest).or((!rest.is_empty()).then_some(rest.len()))?;
            let line = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            Some(line.strip_suffix(b"\r").unwrap_or(line))
        })
    }

    /// Bytes of the block.
    pub fn bytes(&self) -> usize {
        self.whole
    }

    fn fill(&mut self) -> io::Result<()> {
        while self.filled < self.buffer.len() {
            match self.from.read(&mut self.buffer[self.filled..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(());
                }
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A line that fills the whole buffer gets more room, or loses its middle.
    fn make_room(&mut self) {
        if self.ended {
            return;
        }
        if self.buffer.len() < LINE_MAX {
            self.buffer.resize(self.buffer.len() * 2, 0);
        } else {
            self.filled = LINE_MAX / 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte a read.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            into[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    fn all(text: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(Drip(text));
        let mut all = Vec::new();
        while lines.advance().expect("memory reads") {
            all.extend(lines.lines().map(<[u8]>::to_vec));
        }
        all
    }

    #[test]
    fn lines_end_with_newline_return_newline_or_the_file() {
        assert_eq!(all(b"a\nbc\r\n\nd"), [&b"a"[..], b"bc", b"", b"d"]);
        assert_eq!(all(b"a\n"), [b"a"]);
        assert_eq!(all(b""), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(all(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n"), [&b"a"[..], b"\xef\xbb\xbfb"]);
        assert_eq!(all(b"\xef\xbb\xbf"), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn lines_longer_than_a_block_stay_whole() {
        let mut text = vec![b'x'; 3 * BLOCK];
        text.push(b'\n');
        text.extend_from_slice(b"y");
        let lines = all(&text);
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [3 * BLOCK, 1]);
    }
}
