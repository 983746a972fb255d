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

/// The digest of the records from the `first` on, in their order.
pub(super) fn digest(out: &OutBatch, first: usize) -> u128 {
    let mut hash = Xxh3::new();
    out.iter().skip(first).for_each(|record| add(&mut hash, &record));
    hash.digest128()
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
