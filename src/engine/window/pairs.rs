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
    // Ages fit 32 bits, and so does what of `held` is left.
    let oldest = u32::try_from(held.saturating_sub(now - old)).unwrap_or(u32::MAX);
    let mut leaves = false;
    for pair in pairs.chunks_exact(2) {
        leaves |= (old as u32).wrapping_sub(pair[1]) >= oldest;
    }
    let len = if leaves { compact(pairs, old, oldest) } else { pairs.len() / 2 };
    let pair = pairs[..2 * len].chunks_exact_mut(2).find(|pair| pair[0] == value);
    let found = pair.is_some();
    if let Some(pair) = pair.filter(|pair| now - at < now - old + age(old, pair[1])) {
        pair[1] = at as u32;
    }
    Refreshed { len, found }
}

/// Moves the pairs less than `oldest` older than `newest` to the front, and returns how many.
fn compact(pairs: &mut [u32], newest: u64, oldest: u32) -> usize {
    let mut len = 0;
    for i in 0..pairs.len() / 2 {
        let (value, time) = (pairs[2 * i], pairs[2 * i + 1]);
        pairs[2 * len] = value;
        pairs[2 * len + 1] = time;
        len += usize::from((newest as u32).wrapping_sub(time) < oldest);
    }
    len
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
