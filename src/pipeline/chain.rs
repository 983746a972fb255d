//! The chain: what proves that two applications of the same inputs gave the same outputs.
//!
//! Each link is a SHA-256 over the link before it, what went into the batch, and a digest of every byte that came out.
//! The digest (XXH3, 128 bits) finds differences, not forgery: whoever may write the journal may write anything.
//! `decided_at` is left out, the one field that may differ between live and replay.

use std::fmt;

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::Xxh3;

use crate::engine::SEMANTICS;
use crate::engine::key::HashSeed;
use crate::stream::{OutBatch, OutgoingRef, Topic};
use crate::wire::decision;
use crate::wire::interaction::DecodeLimits;
use crate::wire::journal::{self, JournalRecord};

use super::line::Broken;

/// One link. The first of a lineage is all zeros.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Chain([u8; 32]);

impl Chain {
    /// The link after this one: `record` is the journal's record of the batch, whatever its `chain` says.
    #[must_use]
    pub fn next(&self, record: &JournalRecord, digest: u128) -> Chain {
        let bare = JournalRecord { chain: self.to_string(), ..record.clone() };
        let mut hash = Sha256::new();
        hash.update(journal::encode(&bare));
        hash.update(digest.to_le_bytes());
        Chain(hash.finalize().into())
    }

    /// The link after this one, where applying the inputs of a record gave what the journal says.
    ///
    /// # Errors
    /// [`Broken::Diverged`], with both links.
    pub fn check(&self, record: &JournalRecord, digest: u128) -> Result<Chain, Broken> {
        let chain = self.next(record, digest);
        if chain.to_string() == record.chain {
            return Ok(chain);
        }
        Err(Broken::Diverged {
            lineage: record.lineage.clone(),
            seq: record.seq,
            ours: chain.to_string(),
            theirs: record.chain.clone(),
        })
    }

    /// Reads a link as records tell it.
    pub fn parse(text: &str) -> Option<Chain> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(Chain(bytes))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({self})")
    }
}

/// A digest of records in their order, as they are written.
pub(super) struct OutDigest {
    hash: Xxh3,
    /// The record to go on with.
    next: usize,
}

impl OutDigest {
    /// Of the records from the `first` on.
    pub(super) fn from(first: usize) -> Self {
        Self { hash: Xxh3::new(), next: first }
    }

    /// Takes in what was written since.
    pub(super) fn add(&mut self, out: &OutBatch) {
        (self.next..out.len()).for_each(|index| add(&mut self.hash, &out.get(index)));
        self.next = out.len();
    }

    /// All that was taken in is thrown away: what is written next is the first again.
    pub(super) fn rewound(&mut self) {
        self.next = 0;
    }

    /// The digest.
    pub(super) fn value(&self) -> u128 {
        self.hash.digest128()
    }
}

fn add(hash: &mut Xxh3, record: &OutgoingRef<'_>) {
    hash.update(&[record.topic.index() as u8]);
    part(hash, record.key);
    part(
        hash,
        record
            .value
            .map(|value| if record.topic == Topic::Decisions { decision::timeless(value) } else { value }),
    );
    for (name, value) in record.headers.iter() {
        part(hash, Some(name.as_bytes()));
        part(hash, value);
    }
}

/// Length first: no two lists of parts look the same.
fn part(hash: &mut Xxh3, bytes: Option<&[u8]>) {
    let length = bytes.map_or(u64::MAX, |bytes| bytes.len() as u64);
    hash.update(&length.to_le_bytes());
    hash.update(bytes.unwrap_or_default());
}

/// A hash over everything beside the policy that changes outputs. The seed is secret and cannot be read out of it.
pub fn basis(seed: &HashSeed, limits: &DecodeLimits) -> String {
    let mut hash = Sha256::new();
    hash.update(SEMANTICS);
    for number in [seed.0, seed.1, limits.record_max as u64, limits.id_max as u64, limits.text_max as u64] {
        hash.update(number.to_le_bytes());
    }
    Chain(hash.finalize().into()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(out: &OutBatch, first: usize) -> u128 {
        let mut digest = OutDigest::from(first);
        digest.add(out);
        digest.value()
    }

    fn batch(decided_at: &str, value: &str) -> OutBatch {
        let mut out = OutBatch::default();
        let value = format!(r#"{{"event_id":"{value}","decided_at":{decided_at}}}"#);
        out.record(Topic::Decisions).key_bytes(Some(b"k")).value_bytes(Some(value.as_bytes())).finish();
        out
    }

    #[test]
    fn only_the_time_of_the_decision_may_differ() {
        let first = digest(&batch("1750000000000", "a"), 0);
        assert_eq!(first, digest(&batch("1750000000999", "a"), 0));
        assert_ne!(first, digest(&batch("1750000000000", "b"), 0));
    }

    #[test]
    fn it_is_the_same_however_often_it_is_added_to() {
        let (mut out, mut often) = (OutBatch::default(), OutDigest::from(0));
        let (mut whole, mut thrown_away) = (OutBatch::default(), OutDigest::from(0));
        for value in ["a", "b", "", "c"] {
            for out in [&mut out, &mut whole] {
                out.record(Topic::Bans).key_bytes(Some(b"k")).value_bytes(Some(value.as_bytes())).finish();
            }
            often.add(&whole);
            thrown_away.add(&out);
            out.clear();
            thrown_away.rewound();
        }
        let expected = digest(&whole, 0);
        assert_eq!((often.value(), thrown_away.value()), (expected, expected));
    }

    #[test]
    fn records_that_touch_are_told_apart() {
        let records = |parts: &[(&[u8], &[u8])]| {
            let mut out = OutBatch::default();
            for (key, value) in parts {
                out.record(Topic::Bans).key_bytes(Some(key)).value_bytes(Some(value)).finish();
            }
            digest(&out, 0)
        };
        assert_ne!(records(&[(b"ab", b"c")]), records(&[(b"a", b"bc")]));
        assert_ne!(records(&[(b"a", b"b"), (b"c", b"d")]), records(&[(b"c", b"d"), (b"a", b"b")]));
        let mut tombstone = OutBatch::default();
        tombstone.record(Topic::Bans).key_bytes(Some(b"a")).value_bytes(None).finish();
        assert_ne!(digest(&tombstone, 0), records(&[(b"a", b"")]));
    }

    #[test]
    fn links_read_back_as_told() {
        let link = Chain([7; 32]);
        assert_eq!(Chain::parse(&link.to_string()), Some(link));
        assert_eq!(Chain::parse("07"), None);
        assert_eq!(Chain::parse(&"zz".repeat(32)), None);
    }

    #[test]
    fn another_seed_is_another_basis() {
        let of = |seed| basis(&HashSeed(seed, 1), &DecodeLimits::default());
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
