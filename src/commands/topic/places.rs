//! Which record of a topic a line was made of.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Lines of which that is known: more than are read ahead of the one that is looked at.
const KEPT: usize = 1 << 17;

/// Partition and offset of the last lines that were read; told from where they are read to where they are asked for.
#[derive(Clone, Debug, Default)]
pub(in crate::commands) struct Places(Arc<Mutex<Last>>);

#[derive(Debug, Default)]
struct Last {
    places: VecDeque<(i32, i64)>,
    /// Lines before the first of them.
    before: u64,
}

impl Places {
    /// The next line is of this record.
    pub(super) fn note(&self, partition: i32, offset: i64) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.places.push_back((partition, offset));
        if last.places.len() > KEPT {
            last.places.pop_front();
            last.before += 1;
        }
    }

    /// Partition and offset of a line, the first being 1; `None` when it was read long ago, or never.
    pub(in crate::commands) fn of(&self, line: u64) -> Option<(i32, i64)> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = line.checked_sub(last.before + 1)?;
        last.places.get(usize::try_from(number).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_have_their_places() {
        let places = Places::default();
        let count = KEPT as i64 + 3;
        (0..count).for_each(|offset| places.note(7, offset));
        let of = |line: i64| places.of(line.cast_unsigned());
        assert_eq!([of(0), of(3), of(4)], [None, None, Some((7, 3))]);
        assert_eq!([of(count), of(count + 1)], [Some((7, count - 1)), None]);
    }
}
