//! The form in which everything that is no array goes into a cut: a row of 32-bit words.
//!
//! Numbers take one or two words, text its length and its bytes, collections their length and their elements. There are
//! no names and no optional fields: another form is another [`super::super::SEMANTICS`] and is not read. Reading trusts
//! nothing: words that mean nothing are [`Damaged`], and nothing is reserved that the words could not fill.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::super::key::Prehashed;
use super::super::time::{Span, Timestamp};

/// Words that say nothing the engine could have said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the words of the saved state make no sense")]
pub struct Damaged;

/// Takes words down.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    words: Vec<u32>,
}

impl Writer {
    pub(crate) fn push(&mut self, word: u32) {
        self.words.push(word);
    }

    pub(crate) fn into_words(self) -> Vec<u32> {
        self.words
    }
}

/// Reads words that were taken down.
#[derive(Debug)]
pub(crate) struct Reader<'w> {
    words: &'w [u32],
}

impl<'w> Reader<'w> {
    pub(crate) fn new(words: &'w [u32]) -> Self {
        Self { words }
    }

    pub(crate) fn word(&mut self) -> Result<u32, Damaged> {
        let (word, rest) = self.words.split_first().ok_or(Damaged)?;
        self.words = rest;
        Ok(*word)
    }

    fn take(&mut self, count: usize) -> Result<&'w [u32], Damaged> {
        let (taken, rest) = self.words.split_at_checked(count).ok_or(Damaged)?;
        self.words = rest;
        Ok(taken)
    }

    /// How many elements follow; no more than there are words.
    fn count(&mut self) -> Result<usize, Damaged> {
        let count = self.word()? as usize;
        if count <= self.words.len() { Ok(count) } else { Err(Damaged) }
    }

    /// Everything must have been read.
    pub(crate) fn end(self) -> Result<(), Damaged> {
        if self.words.is_empty() { Ok(()) } else { Err(Damaged) }
    }
}

/// What can be taken down as words and read again.
pub(crate) trait Saved: Sized {
    /// Takes it down.
    fn save(&self, to: &mut Writer);

    /// Reads what [`Saved::save`] took down.
    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged>;
}

/// Takes a struct down field by field. A field that is left out does not compile, neither way.
macro_rules! saved {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl $crate::engine::cut::Saved for $type {
            fn save(&self, to: &mut $crate::engine::cut::Writer) {
                let Self { $($field),* } = self;
                $($crate::engine::cut::Saved::save($field, to);)*
            }

            fn load(
                from: &mut $crate::engine::cut::Reader<'_>,
            ) -> Result<Self, $crate::engine::cut::Damaged> {
                Ok(Self { $($field: $crate::engine::cut::Saved::load(from)?),* })
            }
        }
    };
}
pub(crate) use saved;

/// Takes a field-less enum down by its place in a list of all its values.
pub(crate) fn load_of<T: Copy>(all: &[T], from: &mut Reader<'_>) -> Result<T, Damaged> {
    all.get(from.word()? as usize).copied().ok_or(Damaged)
}

impl Saved for u32 {
    fn save(&self, to: &mut Writer) {
        to.push(*self);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        from.word()
    }
}

impl Saved for u16 {
    fn save(&self, to: &mut Writer) {
        to.push(u32::from(*self));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Self::try_from(from.word()?).map_err(|_| Damaged)
    }
}

impl Saved for u8 {
    fn save(&self, to: &mut Writer) {
        to.push(u32::from(*self));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Self::try_from(from.word()?).map_err(|_| Damaged)
    }
}

impl Saved for f64 {
    fn save(&self, to: &mut Writer) {
        self.to_bits().save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        u64::load(from).map(Self::from_bits)
    }
}

impl Saved for i32 {
    fn save(&self, to: &mut Writer) {
        to.push(self.cast_unsigned());
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(from.word()?.cast_signed())
    }
}

impl Saved for u64 {
    fn save(&self, to: &mut Writer) {
        to.push(*self as u32);
        to.push((*self >> 32) as u32);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(Self::from(from.word()?) | Self::from(from.word()?) << 32)
    }
}

impl Saved for i64 {
    fn save(&self, to: &mut Writer) {
        self.cast_unsigned().save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(u64::load(from)?.cast_signed())
    }
}

impl Saved for usize {
    fn save(&self, to: &mut Writer) {
        (*self as u64).save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Self::try_from(u64::load(from)?).map_err(|_| Damaged)
    }
}

impl Saved for bool {
    fn save(&self, to: &mut Writer) {
        to.push(u32::from(*self));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_of(&[false, true], from)
    }
}

impl Saved for Timestamp {
    fn save(&self, to: &mut Writer) {
        self.millis().save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(Self::from_millis(i64::load(from)?))
    }
}

impl Saved for Span {
    fn save(&self, to: &mut Writer) {
        self.millis().save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(Self::from_millis(i64::load(from)?))
    }
}

impl Saved for String {
    fn save(&self, to: &mut Writer) {
        save_bytes(self.as_bytes(), to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Self::from_utf8(load_bytes(from)?).map_err(|_| Damaged)
    }
}

impl<T: Saved> Saved for Option<T> {
    fn save(&self, to: &mut Writer) {
        self.is_some().save(to);
        if let Some(value) = self {
            value.save(to);
        }
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        bool::load(from)?.then(|| T::load(from)).transpose()
    }
}

impl<A: Saved, B: Saved> Saved for (A, B) {
    fn save(&self, to: &mut Writer) {
        self.0.save(to);
        self.1.save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok((A::load(from)?, B::load(from)?))
    }
}

impl<T: Saved + Default, const N: usize> Saved for [T; N] {
    fn save(&self, to: &mut Writer) {
        self.iter().for_each(|value| value.save(to));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let mut values: [T; N] = std::array::from_fn(|_| T::default());
        for value in &mut values {
            *value = T::load(from)?;
        }
        Ok(values)
    }
}

impl<T: Saved> Saved for Vec<T> {
    fn save(&self, to: &mut Writer) {
        to.push(self.len() as u32);
        self.iter().for_each(|value| value.save(to));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let count = from.count()?;
        (0..count).map(|_| T::load(from)).collect()
    }
}

impl<T: Saved> Saved for VecDeque<T> {
    fn save(&self, to: &mut Writer) {
        to.push(self.len() as u32);
        self.iter().for_each(|value| value.save(to));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(Vec::load(from)?.into())
    }
}

impl Saved for Box<[u8]> {
    fn save(&self, to: &mut Writer) {
        save_bytes(self, to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(load_bytes(from)?.into_boxed_slice())
    }
}

fn save_bytes(bytes: &[u8], to: &mut Writer) {
    bytes.len().save(to);
    for bytes in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        to.push(u32::from_le_bytes(word));
    }
}

fn load_bytes(from: &mut Reader<'_>) -> Result<Vec<u8>, Damaged> {
    let len = usize::load(from)?;
    let words = from.take(len.div_ceil(4))?;
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate(len);
    Ok(bytes)
}

impl<T: Saved + Ord> Saved for BTreeSet<T> {
    fn save(&self, to: &mut Writer) {
        to.push(self.len() as u32);
        self.iter().for_each(|value| value.save(to));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let count = from.count()?;
        (0..count).map(|_| T::load(from)).collect()
    }
}

impl<K: Saved + Ord, V: Saved> Saved for BTreeMap<K, V> {
    fn save(&self, to: &mut Writer) {
        to.push(self.len() as u32);
        for (key, value) in self {
            key.save(to);
            value.save(to);
        }
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let count = from.count()?;
        (0..count).map(|_| Ok((K::load(from)?, V::load(from)?))).collect()
    }
}

/// In the order of keys, so that the same state makes the same words.
impl<V: Saved> Saved for HashMap<u64, V, Prehashed> {
    fn save(&self, to: &mut Writer) {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| **key);
        to.push(entries.len() as u32);
        for (key, value) in entries {
            key.save(to);
            value.save(to);
        }
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let count = from.count()?;
        (0..count).map(|_| Ok((u64::load(from)?, V::load(from)?))).collect()
    }
}

/// In their order, so that the same state makes the same words.
impl Saved for HashSet<u64, Prehashed> {
    fn save(&self, to: &mut Writer) {
        let mut keys: Vec<u64> = self.iter().copied().collect();
        keys.sort_unstable();
        to.push(keys.len() as u32);
        keys.iter().for_each(|key| key.save(to));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let count = from.count()?;
        (0..count).map(|_| u64::load(from)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Both {
        text: String,
        numbers: Vec<(i64, Option<u32>)>,
        flags: [bool; 3],
        by_key: HashMap<u64, String, Prehashed>,
    }

    saved!(Both { text, numbers, flags, by_key });

    fn both() -> Both {
        let by_key = [(7, "seven"), (u64::MAX, "")].map(|(key, text)| (key, text.to_owned()));
        Both {
            text: "grün, 5 €".into(),
            numbers: vec![(-1, None), (i64::MIN, Some(9))],
            flags: [true, false, true],
            by_key: by_key.into_iter().collect(),
        }
    }

    fn words() -> Vec<u32> {
        let mut writer = Writer::default();
        both().save(&mut writer);
        writer.into_words()
    }

    #[test]
    fn what_was_taken_down_is_read_again() {
        let words = words();
        let mut reader = Reader::new(&words);
        assert_eq!(Both::load(&mut reader), Ok(both()));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn words_cut_off_or_absurd_are_damage() {
        let words = words();
        for len in 0..words.len() {
            assert_eq!(Both::load(&mut Reader::new(&words[..len])), Err(Damaged), "{len} words");
        }
        assert_eq!(String::load(&mut Reader::new(&[u32::MAX, u32::MAX, 0])), Err(Damaged));
        assert_eq!(Vec::<u64>::load(&mut Reader::new(&[u32::MAX, 0, 0])), Err(Damaged));
        assert_eq!(String::load(&mut Reader::new(&[1, 0, 0xff])), Err(Damaged));
        assert_eq!(bool::load(&mut Reader::new(&[2])), Err(Damaged));
    }
}
