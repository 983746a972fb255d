//! Looking for bytes eight at a time, in plain arithmetic on words.
//!
//! The tests mark a byte by the high bit of its place. They may mark places above a byte that was found, never below:
//! whether there is one, and the lowest, are exact.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Marks bytes that are zero.
#[inline]
const fn zero(eight: u64) -> u64 {
    eight.wrapping_sub(ONES) & !eight & HIGHS
}

/// Marks bytes equal to `byte`.
#[inline]
pub(crate) const fn equal(eight: u64, byte: u8) -> u64 {
    zero(eight ^ (ONES * byte as u64))
}

/// Marks bytes below `bound`, which is at most 128.
#[inline]
pub(crate) const fn below(eight: u64, bound: u8) -> u64 {
    eight.wrapping_sub(ONES * bound as u64) & !eight & HIGHS
}

/// Whether `marks` marks nothing in `bytes`. Must not mark the letter `a`, which fills up what is shorter than eight.
#[inline]
pub(crate) fn none_of(bytes: &[u8], marks: impl Fn(u64) -> u64) -> bool {
    if let Some(last) = bytes.last_chunk::<8>() {
        let eights = bytes.chunks_exact(8).filter_map(<[u8]>::first_chunk::<8>).chain([last]);
        return eights.fold(0, |found, eight| found | marks(u64::from_le_bytes(*eight))) == 0;
    }
    let mut eight = [b'a'; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    marks(u64::from_le_bytes(eight)) == 0
}

/// Bytes before the first one marked; `None` when there is none.
#[inline]
pub(crate) fn before(bytes: &[u8], marks: impl Fn(u64) -> u64) -> Option<usize> {
    let mut at = 0;
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let found = marks(u64::from_le_bytes(*eight));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let mut eight = [b'a'; 8];
    let rest = &bytes[at..];
    eight[..rest.len()].copy_from_slice(rest);
    let found = marks(u64::from_le_bytes(eight));
    (found != 0).then(|| at + found.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_look_at_each_byte(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'"'), Just(0x1f), Just(0x20), Just(b'!')], 0..40),
            clean: bool,
        ) {
            let lift = |byte: u8| if clean && byte < 0x60 { byte | 0x80 } else { byte };
            let bytes: Vec<u8> = bytes.into_iter().map(lift).collect();
            let marks = |eight| below(eight, 0x20) | equal(eight, b'"') | equal(eight, 0xc2);
            let expected = bytes.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == 0xc2);
            prop_assert_eq!(before(&bytes, marks), expected);
            prop_assert_eq!(none_of(&bytes, marks), expected.is_none());
        }
    }
}
