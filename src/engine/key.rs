//! Keys: what a counter counts by.
//!
//! Each field is hashed apart with a keyed hash (SipHash-1-3 under a secret seed), then the field hashes are folded in
//! order. So `("a|b", "c")` and `("a", "b|c")` differ, two dimensions never share a counter, and nobody without the
//! seed can aim at a collision. Two keys of one table collide with probability 2^-64 a pair: about three in a million
//! for ten million keys.

use std::collections::HashMap;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::address::Address;
use super::event::{Event, Text, Value};
use super::policy::KeyField;

/// The secret of all key hashes. It is part of what changes outputs: another seed is another state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashSeed(pub u64, pub u64);

impl std::fmt::Debug for HashSeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashSeed(secret)")
    }
}

impl HashSeed {
    /// Hash of one field's bytes.
    pub fn bytes(&self, bytes: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.0, self.1).hash(bytes)
    }

    /// Hash of an attribute: numbers and texts never meet (`1` is not `"1"`).
    fn value(&self, value: &Value<'_>) -> u64 {
        let (tag, bits) = match value {
            Value::Text(text) => return self.bytes(text.as_bytes()),
            Value::Bool(b) => (1, u64::from(*b)),
            Value::Int(i) => (2, i.cast_unsigned()),
            Value::Double(d) => (3, d.to_bits()),
        };
        fold(self.0 ^ tag, self.bytes(&bits.to_le_bytes()))
    }

    /// Hash of one key field of an event; `None` when the event does not have it. Of a place it has none.
    pub fn field(&self, field: &KeyField, event: &Event<'_>, address: Option<Address>) -> Option<u64> {
        match field {
            KeyField::Ip(prefix) => {
                let address = address?;
                let address = prefix.map_or(address, |prefix| address.with_prefix(prefix));
                Some(self.bytes(&address.key_bytes()))
            }
            KeyField::Attribute(name) => Some(self.value(attribute(&event.attributes, name)?)),
            KeyField::DeviceAttribute(name) => Some(self.value(attribute(&event.device.attributes, name)?)),
            field => Some(self.bytes(text(field, event)?.as_bytes())),
        }
    }
}

/// Folds the field hashes of a key tuple, in order.
pub fn tuple(hashes: impl Iterator<Item = u64>) -> u64 {
    hashes.fold(0x9e37_79b9_7f4a_7c15, |key, hash| fold(key ^ hash, 0xa076_1d64_78bd_642f).rotate_left(23))
}

/// Builds a hasher for maps whose keys are already keyed hashes.
pub type Prehashed = std::hash::BuildHasherDefault<Passed>;

/// A map by keyed hash. Its order must reach no output.
pub type ByHash<V> = HashMap<u64, V, Prehashed>;

/// Passes a 64-bit hash through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passed(u64);

impl Hasher for Passed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = fold(self.0 ^ u64::from(byte), 0xa076_1d64_78bd_642f);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// Maps take the place from the low bits and tell keys in one place apart by the high ones.
    fn write_u32(&mut self, short: u32) {
        self.0 = u64::from(short) | u64::from(short) << 32;
    }
}

/// The value of an attribute by name; the first of that name.
pub fn attribute<'v, 'e>(attributes: &'v [(Text<'e>, Value<'e>)], name: &str) -> Option<&'v Value<'e>> {
    attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

fn text<'v>(field: &KeyField, event: &'v Event<'_>) -> Option<&'v str> {
    match field {
        KeyField::User => event.user.as_deref(),
        KeyField::Target => event.target.as_deref(),
        KeyField::TargetOwner => event.target_owner.as_deref(),
        KeyField::Action => Some(&event.action),
        KeyField::Device => event.device.id.as_deref(),
        KeyField::Session => event.session.as_deref(),
        KeyField::ContentHash => event.content_hash.as_deref(),
        KeyField::UserAgent => event.user_agent.as_deref(),
        // Where an address is only a policy says.
        KeyField::Ip(_) | KeyField::Attribute(_) | KeyField::DeviceAttribute(_) | KeyField::Place(_) => None,
    }
}

/// A multiply whose halves are folded: every input bit reaches every output bit.
const fn fold(a: u64, b: u64) -> u64 {
    let wide = (a as u128) * (b as u128);
    (wide as u64) ^ ((wide >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: HashSeed = HashSeed(1, 2);

    fn pair(user: &str, target: &str) -> u64 {
        let event = Event {
            user: Some(user.to_owned().into()),
            target: Some(target.to_owned().into()),
            ..Event::default()
        };
        let fields = [KeyField::User, KeyField::Target];
        tuple(fields.iter().map(|field| SEED.field(field, &event, None).expect("present")))
    }

    #[test]
    fn tuples_with_equal_concatenation_differ() {
        assert_ne!(pair("1", "23"), pair("12", "3"));
        assert_ne!(pair("a|b", "c"), pair("a", "b|c"));
        assert_ne!(pair("a", "b"), pair("b", "a"));
        assert_eq!(pair("a", "b"), pair("a", "b"));
    }

    #[test]
    fn another_seed_is_another_key() {
        assert_ne!(SEED.bytes(b"u1"), HashSeed(1, 3).bytes(b"u1"));
    }

    #[test]
    fn numbers_beyond_2_to_53_stay_apart() {
        let hash = |n: i64| SEED.value(&Value::Int(n));
        assert_ne!(hash(9_007_199_254_740_992), hash(9_007_199_254_740_993));
        assert_ne!(hash(1), SEED.value(&Value::Text("1".into())));
    }
}
