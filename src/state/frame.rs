//! Records of a segment file: each with its kind, its length and a checksum over all of it.
//!
//! `kind (4) | length (4) | xxh3 of kind, length and payload (8) | payload`, numbers in little-endian order. A length is
//! believed only as far as the file is long, so a turned bit reserves no memory that the file could not fill.

use xxhash_rust::xxh3::Xxh3;

/// Bytes before the payload.
pub(super) const HEAD: usize = 16;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The first of a file: JSON of a `Head`.
    Head,
    /// A page.
    Page,
    /// The last of a file: JSON of a `Foot`.
    Foot,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Head, Kind::Page, Kind::Foot];

    fn word(self) -> u32 {
        u32::from_le_bytes(match self {
            Kind::Head => *b"HEAD",
            Kind::Page => *b"PAGE",
            Kind::Foot => *b"FOOT",
        })
    }
}

/// The fixed part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) len: u32,
    pub(super) hash: u64,
}

impl Frame {
    /// The frame of a payload; none when it is too long for a record.
    pub(super) fn of(kind: Kind, payload: &[u8]) -> Option<Self> {
        let len = u32::try_from(payload.len()).ok()?;
        Some(Self { kind, len, hash: hash(kind, len, payload) })
    }

    pub(super) fn bytes(self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..4].copy_from_slice(&self.kind.word().to_le_bytes());
        bytes[4..8].copy_from_slice(&self.len.to_le_bytes());
        bytes[8..].copy_from_slice(&self.hash.to_le_bytes());
        bytes
    }

    /// None when the kind is none.
    pub(super) fn read(bytes: &[u8; HEAD]) -> Option<Self> {
        let (kind, rest) = bytes.split_first_chunk::<4>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (hash, _) = rest.split_first_chunk::<8>()?;
        let kind = Kind::ALL.into_iter().find(|known| known.word() == u32::from_le_bytes(*kind))?;
        Some(Self { kind, len: u32::from_le_bytes(*len), hash: u64::from_le_bytes(*hash) })
    }

    pub(super) fn fits(&self, payload: &[u8]) -> bool {
        Some(*self) == Self::of(self.kind, payload)
    }
}

fn hash(kind: Kind, len: u32, payload: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&kind.word().to_le_bytes());
    hash.update(&len.to_le_bytes());
    hash.update(payload);
    hash.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turned_bit_of_a_record_is_noticed() {
        let payload = b"some payload".to_vec();
        let frame = Frame::of(Kind::Page, &payload).unwrap();
        assert_eq!(Frame::read(&frame.bytes()), Some(frame));
        assert!(frame.fits(&payload));
        for bit in 0..HEAD * 8 {
            let mut bytes = frame.bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!Frame::read(&bytes).is_some_and(|frame| frame.fits(&payload)), "bit {bit}");
        }
        for bit in 0..payload.len() * 8 {
            let mut turned = payload.clone();
            turned[bit / 8] ^= 1 << (bit % 8);
            assert!(!frame.fits(&turned), "bit {bit}");
        }
    }
}
