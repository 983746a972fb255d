//! Bytes of a file, unpacked where they are gzip or zstd. A file that breaks off is read as far as it goes.

use std::cell::RefCell;
use std::io::{self, BufReader, Cursor, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Where the fault of a source is found once it has ended.
#[derive(Clone, Debug, Default)]
pub struct Broken(Rc<RefCell<Option<String>>>);

impl Broken {
    /// Why the source broke off, if it did.
    pub fn why(&self) -> Option<String> {
        self.0.borrow().clone()
    }
}

/// The bytes of `from`, unpacked. What reading fails with ends them, and is found in [`Broken`].
pub fn unpacked(mut from: Box<dyn Read>) -> (Box<dyn Read>, Broken) {
    let broken = Broken::default();
    let mut head = Vec::new();
    if let Err(error) = from.by_ref().take(4).read_to_end(&mut head) {
        *broken.0.borrow_mut() = Some(error.to_string());
        return (Box::new(io::empty()), broken);
    }
    let kind = Packing::of(&head);
    let whole = Cursor::new(head).chain(from);
    let bytes: io::Result<Box<dyn Read>> = match kind {
        Packing::None => Ok(Box::new(whole)),
        Packing::Gzip => Ok(Box::new(MultiGzDecoder::new(BufReader::new(whole)))),
        Packing::Zstd => match zstd::Decoder::new(whole) {
            Ok(decoder) => Ok(Box::new(decoder)),
            Err(error) => Err(error),
        },
    };
    match bytes {
        Ok(from) => (Box::new(Enduring { from, broken: broken.clone() }), broken),
        Err(error) => {
            *broken.0.borrow_mut() = Some(error.to_string());
            (Box::new(io::empty()), broken)
        }
    }
}

/// How a file is packed, by its first bytes.
enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    fn of(head: &[u8]) -> Self {
        match () {
            () if head.starts_with(GZIP) => Packing::Gzip,
            () if head.starts_with(ZSTD) => Packing::Zstd,
            () => Packing::None,
        }
    }
}

/// Ends where reading fails.
struct Enduring {
    from: Box<dyn Read>,
    broken: Broken,
}

impl Read for Enduring {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.from.read(into) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                *self.broken.0.borrow_mut() = Some(format!("breaks off: {error}"));
                Ok(0)
            }
            result => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: Vec<u8>) -> (Vec<u8>, Option<String>) {
        let (mut from, broken) = unpacked(Box::new(Cursor::new(bytes)));
        let mut text = Vec::new();
        from.read_to_end(&mut text).unwrap();
        (text, broken.why())
    }

    #[test]
    fn gzip_is_unpacked_and_plain_text_left_alone() {
        assert_eq!(read(b"ab".to_vec()), (b"ab".to_vec(), None));
        assert_eq!(read(packed(b"some text")), (b"some text".to_vec(), None));
        let two = [packed(b"one "), packed(b"two")].concat();
        assert_eq!(read(two), (b"one two".to_vec(), None));
    }

    #[test]
    fn what_breaks_off_is_read_as_far_as_it_goes() {
        let text: Vec<u8> =
            (0..100_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let mut bytes = packed(&text);
        bytes.truncate(bytes.len() / 2);
        let (got, why) = read(bytes);
        assert!(!got.is_empty() && text.starts_with(&got));
        assert!(why.is_some_and(|why| why.starts_with("breaks off")));
    }

    #[test]
    fn zstd_is_unpacked_frame_after_frame() {
        let one = zstd::encode_all(&b"one "[..], 3).unwrap();
        let two = zstd::encode_all(&b"two"[..], 3).unwrap();
        assert_eq!(read([one, two].concat()), (b"one two".to_vec(), None));
    }

    #[test]
    fn zstd_that_breaks_off_is_read_as_far_as_it_goes() {
        let text: Vec<u8> =
            (0..400_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let mut bytes = zstd::encode_all(text.as_slice(), 1).unwrap();
        bytes.truncate(bytes.len() / 2);
        let (got, why) = read(bytes);
        assert!(!got.is_empty() && text.starts_with(&got));
        assert!(why.is_some_and(|why| why.starts_with("breaks off")));
        let (nothing, why) = read(vec![0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff]);
        assert!(nothing.is_empty() && why.is_some());
    }
}
