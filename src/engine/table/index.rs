//! One segment of a table's index: where the record of a key is, by open addressing.
//!
//! A place is two words: the 32 bits of the key that chose its home, and the number of its record, zero for a free place.
//! Linear probing, backward-shift deletion, no tombstones. The home of a key is those 32 bits scaled to the capacity, so
//! that the capacity need not be a power of two; all else about a place follows from them, so neither growth nor deletion
//! reads a record.
//!
//! While a cut is under way a [`Watch`] is told of every place before it changes, in [`Segment::set`].

use std::ops::ControlFlow;

use crate::engine::cut::{Array, Damaged, Place, Room, Watch, entries_of};
use crate::engine::prefetch::prefetch_line;

/// Words of a place.
pub(super) const PLACE_WORDS: usize = 2;
/// Bytes of a place.
pub(super) const PLACE_BYTES: u64 = 8;
/// Places of a segment when it is first used.
pub(super) const FIRST_CAPACITY: usize = 8;

/// Its head lies in one cache line, and takes half of it: a table has 256 of them, of which an event needs any one.
#[derive(Clone, Debug, Default)]
#[repr(align(32))]
pub(super) struct Segment {
    places: Box<[[u32; PLACE_WORDS]]>,
    len: usize,
    /// While a cut is under way and this segment is not copied yet.
    watch: Option<Box<Watch>>,
}

const _: () = assert!(size_of::<Segment>() == 32);

impl Segment {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { places: vec![[0; PLACE_WORDS]; capacity].into_boxed_slice(), len: 0, watch: None }
    }

    pub(super) fn capacity(&self) -> usize {
        self.places.len()
    }

    /// Records of this segment's keys.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether one more key would make it fuller than 13/16, where a present key takes three probes on average.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len >= self.capacity() * 13 / 16
    }

    /// The capacities to grow to: twice as much, or half as much again where there is no room for that.
    pub(super) fn next_capacities(&self) -> [usize; 2] {
        [self.capacity() * 2, self.capacity() + self.capacity() / 2].map(|next| next.max(FIRST_CAPACITY))
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.capacity() as u64) >> 32) as usize
    }

    #[inline]
    fn next(&self, place: usize) -> usize {
        if place + 1 == self.capacity() { 0 } else { place + 1 }
    }

    /// The numbers of the records under this hash, then of all others, from the home of `hash` on, until a free place or
    /// once around.
    pub(super) fn after_home(&self, hash: u32) -> impl Iterator<Item = u32> {
        let (before, after) = self.places.split_at(self.home(hash));
        after.iter().chain(before).map(|[_, number]| *number).filter(|number| *number != 0)
    }

    /// The first record from the home of `hash` on that has this hash and `is_it`.
    #[inline]
    pub(super) fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let (before, after) = self.places.split_at(self.home(hash));
        let end = after.iter().chain(before).try_for_each(|[held, number]| match number {
            0 => ControlFlow::Break(None),
            _ if *held == hash && is_it(*number) => ControlFlow::Break(Some(*number)),
            _ => ControlFlow::Continue(()),
        });
        end.break_value().flatten()
    }

    /// Puts a record in; there must be a free place.
    pub(super) fn insert(&mut self, hash: u32, number: u32) {
        let home = self.home(hash);
        let is_free = |[_, number]: &[u32; PLACE_WORDS]| *number == 0;
        let behind = self.places[home..].iter().position(is_free).map(|free| home + free);
        let place = behind.or_else(|| self.places[..home].iter().position(is_free));
        self.set(place.expect("there is a free place"), [hash, number]);
        self.len += 1;
    }

    /// Takes a record out and closes the gap; false when it is not in.
    pub(super) fn remove(&mut self, hash: u32, number: u32) -> bool {
        if self.find(hash, |held| held == number).is_none() {
            return false;
        }
        let mut hole = self.home(hash);
        while self.places[hole][1] != number {
            hole = self.next(hole);
        }
        let mut place = self.next(hole);
        while self.places[place][1] != 0 {
            let held = self.places[place];
            if self.distance(self.home(held[0]), place) >= self.distance(hole, place) {
                self.set(hole, held);
                hole = place;
            }
            place = self.next(place);
        }
        self.set(hole, [0; PLACE_WORDS]);
        self.len -= 1;
        true
    }

    /// Places from `from` forward to `to`.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.capacity() - from }
    }

    /// Every change of a place.
    #[inline]
    fn set(&mut self, place: usize, to: [u32; PLACE_WORDS]) {
        if let Some(watch) = &mut self.watch {
            watch.save(place, &self.places[place]);
        }
        self.places[place] = to;
    }

    /// Asks the processor for the places around the home of a key.
    #[inline]
    pub(super) fn prefetch(&self, hash: u32) {
        if !self.places.is_empty() {
            prefetch_line(&self.places[self.home(hash)..]);
        }
    }

    /// Makes the same segment with more places.
    pub(super) fn grow(&mut self, capacity: usize) {
        let mut new = Self::with_capacity(capacity);
        for [hash, number] in &self.places {
            if *number != 0 {
                new.insert(*hash, *number);
            }
        }
        if let Some(mut watch) = self.watch.take() {
            watch.copy_rest(|range, out| out.extend_from_slice(self.places[range].as_flattened()));
            new.watch = Some(watch);
        }
        *self = new;
    }

    /// From here on the segment is copied as it is now.
    pub(super) fn begin_cut(&mut self, place: Place) {
        self.watch = Watch::new(place, self.capacity(), PLACE_WORDS, entries_of(PLACE_WORDS));
    }

    pub(super) fn abandon_cut(&mut self) {
        self.watch = None;
    }

    /// Hands out pages while there is room; true when there are no more.
    pub(super) fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        let Some(mut watch) = self.watch.take() else { return true };
        let done = watch.copy(room, |range, out| out.extend_from_slice(self.places[range].as_flattened()));
        self.watch = (!done).then_some(watch);
        done
    }

    /// The segment that was copied into these pages; no record in it has the number `end` or a higher one.
    pub(super) fn restored(array: &Array, end: u32) -> Result<Self, Damaged> {
        if array.stride() != PLACE_WORDS {
            return Err(Damaged);
        }
        let mut new = Self::with_capacity(array.entries());
        let words = array.words().flat_map(|words| words.chunks_exact(PLACE_WORDS));
        for (place, words) in new.places.iter_mut().zip(words) {
            *place = [words[0], words[1]];
            new.len += usize::from(place[1] != 0);
        }
        let sound = new.places.iter().all(|[_, number]| *number < end);
        if sound && new.len < new.capacity() { Ok(new) } else { Err(Damaged) }
    }
}
