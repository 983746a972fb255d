//! An exact list of values and when each was last seen, in a slice of words.
//!
//! A pair is a fingerprint of 32 bits and the low 32 bits of a time. Two values of one list share a fingerprint
//! once in four thousand million; then they count as one. Times are relative to the newest time of the cell,
//! which the caller keeps.

/// What [`refresh`] found.
pub(super) struct Refreshed {
    /// Pairs left.
    pub(super) len: usize,
    /// Whether the value was among them; its time is then up to date.
    pub(super) found: bool,
}

/// Moves the newest time from `old` to `now`, drops the pairs that are `held` or more older, and brings the time
/// of `value` to `at`.
pub(super) fn refresh(
    pairs: &mut [u32],
    (old, now): (u64, u64),
    held: u64,
    (value, at): (u32, u64),
) -> Refreshed {
    let (mut len, mut found) = (0, false);
    for i in 0..pairs.len() / 2 {
        let (seen, time) = (pairs[2 * i], pairs[2 * i + 1]);
        let age = now - old + age(old, time);
        let same = seen == value && age < held;
        found |= same;
        pairs[2 * len] = seen;
        pairs[2 * len + 1] = if same && now - at < age { at as u32 } else { time };
        len += usize::from(age < held);
    }
    Refreshed { len, found }
}

/// Pairs less than `reach` older than `newest`.
pub(super) fn count(pairs: &[u32], newest: u64, reach: u64) -> u64 {
    pairs.chunks_exact(2).filter(|pair| age(newest, pair[1]) < reach).count() as u64
}

/// The pairs with their full times.
pub(super) fn all(pairs: &[u32], newest: u64) -> impl Iterator<Item = (u32, u64)> {
    pairs.chunks_exact(2).map(move |pair| (pair[0], newest - age(newest, pair[1])))
}

/// Puts a pair in the place of the oldest, unless it is older still.
pub(super) fn replace_oldest(pairs: &mut [u32], newest: u64, (value, at): (u32, u64)) {
    let oldest = pairs.chunks_exact_mut(2).max_by_key(|pair| age(newest, pair[1]));
    if let Some(pair) = oldest.filter(|pair| age(newest, pair[1]) > newest - at) {
        pair.copy_from_slice(&[value, at as u32]);
    }
}

fn age(newest: u64, time: u32) -> u64 {
    u64::from((newest as u32).wrapping_sub(time))
}
