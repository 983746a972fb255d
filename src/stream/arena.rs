//! One buffer for the bytes of a whole batch, and ranges into it.
//!
//! Records of a batch are pieces of a single `Vec<u8>`: filling a batch allocates nothing per record once the
//! buffer has grown, and clearing it keeps the buffer. Null and empty are different things in Kafka (a null value
//! is a tombstone) and stay different here. A batch holds less than 4 GiB; the readers close batches at a few MiB.

/// A piece of an [`Arena`], or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    /// The null piece: there is no key or no value.
    pub(super) const NULL: Span = Span { start: 0, len: u32::MAX };
}

/// The bytes of a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
}

impl Arena {
    /// Appends a copy of `bytes`; `None` becomes the null piece.
    pub(super) fn push(&mut self, bytes: Option<&[u8]>) -> Span {
        match bytes {
            Some(bytes) => self.write(|buffer| buffer.extend_from_slice(bytes)),
            None => Span::NULL,
        }
    }

    /// Appends what `write` appends.
    pub(super) fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Span {
        let start = self.bytes.len();
        write(&mut self.bytes);
        let len = self.bytes.len().checked_sub(start).expect("a writer only appends to the buffer");
        Span { start: narrow(start), len: narrow(len) }
    }

    /// The bytes of a piece.
    pub(super) fn get(&self, span: Span) -> Option<&[u8]> {
        if span == Span::NULL {
            return None;
        }
        let start = span.start as usize;
        Some(&self.bytes[start..start + span.len as usize])
    }

    /// Bytes held.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets all that was appended after the buffer had this length.
    pub(super) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }
}

fn narrow(length: usize) -> u32 {
    u32::try_from(length).expect("a batch stays below 4 GiB")
}

/// One header of one record: its name and its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeaderSpan {
    pub(super) name: Span,
    pub(super) value: Span,
}

/// The headers of one record, in their order. Names may repeat.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    pub(super) arena: &'a Arena,
    pub(super) spans: &'a [HeaderSpan],
    pub(super) unreadable: u16,
}

impl<'a> Headers<'a> {
    /// Number of headers that could be read.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True when no header could be read.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Number of headers whose name is not UTF-8. Their bytes cannot be had, so such a record is not trusted: it
    /// belongs in the dead letters.
    pub fn unreadable(&self) -> u16 {
        self.unreadable
    }

    /// Names and values in order; a value may be null.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Option<&'a [u8]>)> + use<'a> {
        let arena = self.arena;
        self.spans.iter().map(move |span| (name_of(arena, span.name), arena.get(span.value)))
    }

    /// The value of the last header of that name, as Kafka's own clients choose; `None` when there is none or
    /// when it is null.
    pub fn last(&self, name: &str) -> Option<&'a [u8]> {
        let span = self.spans.iter().rev().find(|span| name_of(self.arena, span.name) == name)?;
        self.arena.get(span.value)
    }
}

fn name_of(arena: &Arena, span: Span) -> &str {
    let bytes = arena.get(span).unwrap_or_default();
    std::str::from_utf8(bytes).expect("header names are pushed as str")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_empty_stay_apart() {
        let mut arena = Arena::default();
        let null = arena.push(None);
        let empty = arena.push(Some(b""));
        let full = arena.push(Some(b"abc"));
        assert_eq!(arena.get(null), None);
        assert_eq!(arena.get(empty), Some(&b""[..]));
        assert_eq!(arena.get(full), Some(&b"abc"[..]));
    }

    #[test]
    fn the_last_header_of_a_name_counts() {
        let mut arena = Arena::default();
        let spans: Vec<HeaderSpan> = [("a", &b"1"[..]), ("b", b"2"), ("a", b"3")]
            .map(|(name, value)| HeaderSpan {
                name: arena.push(Some(name.as_bytes())),
                value: arena.push(Some(value)),
            })
            .to_vec();
        let headers = Headers { arena: &arena, spans: &spans, unreadable: 0 };
        assert_eq!(headers.last("a"), Some(&b"3"[..]));
        assert_eq!(headers.last("c"), None);
        assert_eq!(headers.iter().map(|(name, _)| name).collect::<String>(), "aba");
    }
}
