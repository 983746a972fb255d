//! Which events were seen before, within a horizon of event time.
//!
//! Keys are seeded 64-bit hashes of `(user or address, event_id)`, 16 bytes each. The horizon is exact: every
//! entry has its time, and a repeated event does not extend it. Entries live in two generations; when the newer
//! one spans a horizon, the older one is dropped whole. When the newer one has used half the budget that happens
//! early, and until a horizon later duplicates may go unnoticed: it is counted, and told by
//! [`Duplicates::is_shortened`].
//!
//! While a cut is under way a watch is told of every entry before it changes, in `Segment::put`, the only place that
//! changes one. A generation that is dropped before it is copied is kept until then, beyond the budget.

mod saved;

use super::cut::Watch;
use super::prefetch::prefetch;
use super::time::{Span, Timestamp};

const SEGMENTS: usize = 64;
const FIRST_CAPACITY: usize = 16;
const ENTRY_BYTES: u64 = 16;
/// Times are kept as 32 bits around the start of their generation: 24 days to each side.
const OFFSET: i64 = 1 << 31;
/// The longest horizon.
const LONGEST: Span = Span::from_secs(20 * 86_400);

/// What an event is, by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Not seen within the horizon. It is recorded now.
    New,
    /// Seen, with the same content.
    Duplicate,
    /// Seen, with other content; the first content stays the one compared with.
    Conflict,
}

/// The account of the duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DuplicatesStats {
    /// Entries held, some of which may be past the horizon.
    pub entries: u64,
    /// Bytes allocated.
    pub bytes: u64,
    /// How often entries were dropped before their horizon.
    pub shortened: u64,
}

/// Keys and digest of recent events.
#[derive(Clone, Debug)]
pub struct Duplicates {
    horizon: i64,
    half_budget: u64,
    current: Generation,
    previous: Generation,
    shortened: u64,
    shortened_until: Timestamp,
    /// Dropped, but not yet copied into the cut under way: at most two.
    dropped: Vec<Generation>,
}

/// Key (two words, zero: free), digest, time.
type Entry = [u32; 4];

/// The entries of one span of time.
#[derive(Clone, Debug)]
struct Generation {
    start: Timestamp,
    segments: Vec<Segment>,
    bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Segment {
    entries: Vec<Entry>,
    len: usize,
    /// While a cut is under way and this segment is not copied yet.
    watch: Option<Box<Watch>>,
}

impl Duplicates {
    /// Remembers events for `horizon` (at most 20 days) within `budget_bytes` (at least 64 KiB).
    pub fn new(horizon: Span, budget_bytes: u64) -> Self {
        let least = 2 * SEGMENTS as u64 * FIRST_CAPACITY as u64 * ENTRY_BYTES * 2;
        let none = Timestamp::from_millis(i64::MIN);
        Self {
            horizon: horizon.min(LONGEST).millis(),
            half_budget: budget_bytes.max(least) / 2,
            current: Generation::starting(none),
            previous: Generation::starting(none),
            shortened: 0,
            shortened_until: none,
            dropped: Vec::new(),
        }
    }

    /// Whether an event was seen before; records it when it was not. `digest` stands for its content.
    pub fn check_and_record(&mut self, key: u64, digest: u32, at: Timestamp) -> Seen {
        self.check_behind(key, digest, at, at)
    }

    /// The same where others may still come from as far back as `slowest`: nothing is dropped that they could repeat,
    /// within the budget.
    pub fn check_behind(&mut self, key: u64, digest: u32, at: Timestamp, slowest: Timestamp) -> Seen {
        let key = key | u64::from(key == 0);
        self.age(slowest.min(at));
        for generation in [&self.current, &self.previous] {
            if let Some((seen, time)) = generation.find(key)
                && at.since(time).millis() < self.horizon
            {
                return if seen == digest { Seen::Duplicate } else { Seen::Conflict };
            }
        }
        if !self.current.insert(key, digest, at, self.half_budget) {
            self.shorten(at);
            let fits = self.current.insert(key, digest, at, self.half_budget);
            debug_assert!(fits, "an empty generation has room");
        }
        Seen::New
    }

    /// Remembers for another horizon and within another budget from here on.
    pub fn retune(&mut self, horizon: Span, budget_bytes: u64) {
        let Self { horizon: millis, half_budget, .. } = Self::new(horizon, budget_bytes);
        (self.horizon, self.half_budget) = (millis, half_budget);
    }

    /// Asks the processor to load the entries a key would have.
    #[inline]
    pub fn prefetch(&self, key: u64) {
        for generation in [&self.current, &self.previous] {
            let segment = &generation.segments[segment_of(key)];
            if let Some(entry) = segment.home(key).and_then(|home| segment.entries.get(home)) {
                prefetch(entry);
            }
        }
    }

    /// Whether entries were dropped early, less than a horizon ago.
    pub fn is_shortened(&self, at: Timestamp) -> bool {
        at < self.shortened_until
    }

    /// The account.
    pub fn stats(&self) -> DuplicatesStats {
        DuplicatesStats {
            entries: self.current.len() + self.previous.len(),
            bytes: self.current.bytes + self.previous.bytes,
            shortened: self.shortened,
        }
    }

    /// Starts a new generation when the current one spans a horizon.
    fn age(&mut self, at: Timestamp) {
        if at.millis().saturating_sub(self.current.start.millis()) >= self.horizon {
            let gap =
                at.millis().saturating_sub(self.current.start.millis()) >= self.horizon.saturating_mul(2);
            self.turn(at);
            if gap {
                let dropped = std::mem::replace(&mut self.previous, Generation::starting(at));
                self.drop_generation(dropped);
            }
        }
    }

    /// Drops the older generation before its time.
    fn shorten(&mut self, at: Timestamp) {
        if self.previous.len() > 0 {
            self.shortened += 1;
            self.shortened_until = at.after(Span::from_millis(self.horizon));
        }
        self.turn(at);
    }

    fn turn(&mut self, at: Timestamp) {
        let start = at.max(self.current.start);
        let current = std::mem::replace(&mut self.current, Generation::starting(start));
        let dropped = std::mem::replace(&mut self.previous, current);
        self.drop_generation(dropped);
    }

    fn drop_generation(&mut self, generation: Generation) {
        if generation.is_watched() {
            self.dropped.push(generation);
        }
    }
}

impl Generation {
    fn starting(start: Timestamp) -> Self {
        Self { start, segments: vec![Segment::default(); SEGMENTS], bytes: 0 }
    }

    fn len(&self) -> u64 {
        self.segments.iter().map(|segment| segment.len as u64).sum()
    }

    /// The digest and time kept for a key.
    fn find(&self, key: u64) -> Option<(u32, Timestamp)> {
        let segment = &self.segments[segment_of(key)];
        let entry = segment.entries.get(segment.place(key)?)?;
        (key_of(entry) == key).then(|| (entry[2], self.time(entry[3])))
    }

    /// Keeps a key, in place of an older entry of it; false when the budget has no room.
    fn insert(&mut self, key: u64, digest: u32, at: Timestamp, budget: u64) -> bool {
        let time = self.offset(at);
        let segment = &mut self.segments[segment_of(key)];
        if (segment.len + 1) * 8 > segment.entries.len() * 7 {
            let more = segment.growth() as u64 * ENTRY_BYTES;
            if self.bytes + more > budget {
                return false;
            }
            segment.grow();
            self.bytes += more;
        }
        segment.put([key as u32, (key >> 32) as u32, digest, time]);
        true
    }

    fn offset(&self, at: Timestamp) -> u32 {
        let offset = at.millis().saturating_sub(self.start.millis()).saturating_add(OFFSET);
        offset.clamp(0, i64::from(u32::MAX)) as u32
    }

    fn time(&self, offset: u32) -> Timestamp {
        Timestamp::from_millis(self.start.millis().saturating_add(i64::from(offset) - OFFSET))
    }
}

impl Segment {
    /// Places to add when it must grow.
    fn growth(&self) -> usize {
        self.entries.len().max(FIRST_CAPACITY)
    }

    fn grow(&mut self) {
        let size = self.entries.len() + self.growth();
        let mut watch = self.watch.take();
        if let Some(watch) = &mut watch {
            watch.copy_rest(|range, out| out.extend_from_slice(self.entries[range].as_flattened()));
        }
        let old = std::mem::replace(self, Self { entries: vec![[0; 4]; size], len: 0, watch });
        for entry in old.entries.into_iter().filter(|entry| key_of(entry) != 0) {
            self.put(entry);
        }
    }

    /// Where the search for a key begins; `None` in an empty segment. The size is a power of two.
    #[inline]
    fn home(&self, key: u64) -> Option<usize> {
        self.entries.len().checked_sub(1).map(|mask| (key >> 16) as usize & mask)
    }

    /// Where a key is or would be; `None` in an empty segment.
    fn place(&self, key: u64) -> Option<usize> {
        let mut place = self.home(key)?;
        let mask = self.entries.len() - 1;
        while key_of(&self.entries[place]) != 0 && key_of(&self.entries[place]) != key {
            place = (place + 1) & mask;
        }
        Some(place)
    }

    fn put(&mut self, entry: Entry) {
        if let Some(place) = self.place(key_of(&entry)) {
            if let Some(watch) = &mut self.watch {
                watch.save(place, &self.entries[place]);
            }
            self.len += usize::from(key_of(&self.entries[place]) == 0);
            self.entries[place] = entry;
        }
    }
}

fn key_of(entry: &Entry) -> u64 {
    u64::from(entry[0]) | u64::from(entry[1]) << 32
}

fn segment_of(key: u64) -> usize {
    (key >> 58) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const HORIZON: i64 = 3_600_000;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_750_000_000_000 + millis)
    }

    fn key(n: u64) -> u64 {
        (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn the_first_content_is_kept_and_the_horizon_is_exact() {
        let mut seen = Duplicates::new(Span::from_millis(HORIZON), 1 << 20);
        assert_eq!(seen.check_and_record(2, 7, at(0)), Seen::New);
        assert_eq!(seen.check_and_record(2, 7, at(10)), Seen::Duplicate);
        assert_eq!(seen.check_and_record(2, 8, at(20)), Seen::Conflict);
        assert_eq!(seen.check_and_record(2, 7, at(HORIZON - 1)), Seen::Duplicate);
        assert_eq!(seen.check_and_record(2, 8, at(HORIZON)), Seen::New);
        assert_eq!(seen.check_and_record(2, 8, at(HORIZON + 1)), Seen::Duplicate);
        assert_eq!(seen.check_and_record(0, 1, at(HORIZON + 1)), Seen::New);
        assert_eq!(seen.check_and_record(0, 1, at(HORIZON + 1)), Seen::Duplicate);
    }

    #[test]
    fn over_budget_the_horizon_is_shorter_and_said_so() {
        let mut seen = Duplicates::new(Span::from_millis(HORIZON), 1 << 20);
        for n in 0..200_000u64 {
            assert_eq!(seen.check_and_record(key(n), 0, at(n as i64 / 1000)), Seen::New);
            assert!(seen.stats().bytes <= 1 << 20);
        }
        assert!(seen.stats().shortened > 0 && seen.is_shortened(at(200)));
        assert!(!seen.is_shortened(at(200 + HORIZON)));
        assert_eq!(seen.check_and_record(key(199_000), 0, at(200)), Seen::Duplicate);
        assert_eq!(seen.check_and_record(key(0), 0, at(200)), Seen::New);
    }

    #[test]
    fn a_long_pause_leaves_nothing_behind() {
        let mut seen = Duplicates::new(Span::from_secs(10), 1 << 20);
        assert_eq!(seen.check_and_record(1, 1, at(0)), Seen::New);
        for days in [25, 50, 100, 40_000] {
            assert_eq!(seen.check_and_record(1, 1, at(days * 86_400_000)), Seen::New);
        }
        assert_eq!(seen.check_and_record(1, 1, at(0)), Seen::Duplicate, "what is seen already may be newer");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn agrees_with_a_map(
            events in prop::collection::vec((0u64..40, 0u32..2, 0i64..400_000, 0i64..60_000), 1..300),
        ) {
            let mut seen = Duplicates::new(Span::from_millis(HORIZON), 1 << 20);
            let mut map: BTreeMap<u64, (u32, i64)> = BTreeMap::new();
            let mut newest = 0;
            for (n, digest, step, back) in events {
                newest += step;
                let time = newest - back;
                let expected = match map.get(&n).filter(|(_, first)| time - first < HORIZON) {
                    Some((first, _)) if *first == digest => Seen::Duplicate,
                    Some(_) => Seen::Conflict,
                    None => Seen::New,
                };
                if expected == Seen::New {
                    map.insert(n, (digest, time));
                }
                prop_assert_eq!(seen.check_and_record(key(n), digest, at(time)), expected);
            }
            prop_assert_eq!(seen.stats().shortened, 0);
        }
    }
}
