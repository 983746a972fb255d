//! The mark of a record: two words that say when it was last touched, how often, and whether its counts are estimates.
//!
//! Bits 0 to 42 are the time in milliseconds since 1970 (until 2248; earlier times are kept as 1970). Above them, in the
//! second word: four bits of how often it was touched, which stay at the most they can say; one bit that its counts began
//! with an estimate; and in which period of the table's idle time that was.

use crate::engine::time::Timestamp;
use crate::engine::window::moment;

/// Where the mark is in a record.
const LOW: usize = 2;
const HIGH: usize = 3;

const TIME: u32 = 0x7ff;
const TOUCHES_SHIFT: u32 = 11;
/// The most touches that are told apart.
pub(super) const TOUCHES_MAX: u32 = 15;
const ESTIMATED: u32 = 1 << 15;
const PERIOD_SHIFT: u32 = 16;

/// The mark of a new record.
pub(super) fn begin(record: &mut [u32], at: Timestamp) {
    record[HIGH] = 1 << TOUCHES_SHIFT;
    set_touched(record, at);
}

/// When a record was last touched.
#[inline]
pub(super) fn touched(record: &[u32]) -> Timestamp {
    Timestamp::from_millis((u64::from(record[LOW]) | u64::from(record[HIGH] & TIME) << 32).cast_signed())
}

#[inline]
pub(super) fn set_touched(record: &mut [u32], at: Timestamp) {
    let millis = moment(at);
    record[LOW] = millis as u32;
    record[HIGH] = record[HIGH] & !TIME | (millis >> 32) as u32;
}

/// How often it was touched, as far as that is told apart.
#[inline]
pub(super) fn touches(record: &[u32]) -> u32 {
    record[HIGH] >> TOUCHES_SHIFT & TOUCHES_MAX
}

pub(super) fn set_touches(record: &mut [u32], touches: u32) {
    let touches = touches.min(TOUCHES_MAX);
    record[HIGH] = record[HIGH] & !(TOUCHES_MAX << TOUCHES_SHIFT) | touches << TOUCHES_SHIFT;
}

/// One more touch.
#[inline]
pub(super) fn touch(record: &mut [u32]) {
    if touches(record) < TOUCHES_MAX {
        record[HIGH] += 1 << TOUCHES_SHIFT;
    }
}

/// Notes that the counts of a record began with an estimate, in this period.
pub(super) fn set_estimated(record: &mut [u32], period: u16) {
    record[HIGH] = record[HIGH] & ((1 << PERIOD_SHIFT) - 1) | ESTIMATED | u32::from(period) << PERIOD_SHIFT;
}

/// Whether they did, and when.
#[inline]
pub(super) fn estimated(record: &[u32]) -> Option<u16> {
    (record[HIGH] & ESTIMATED != 0).then(|| (record[HIGH] >> PERIOD_SHIFT) as u16)
}

/// Notes that nothing is left of an estimate.
pub(super) fn settle(record: &mut [u32]) {
    record[HIGH] &= ESTIMATED - 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_mark_do_not_touch_each_other() {
        let mut record = [0; 4];
        let at = Timestamp::from_millis((1 << 43) - 1);
        begin(&mut record, at);
        assert_eq!((touched(&record), touches(&record), estimated(&record)), (at, 1, None));
        set_estimated(&mut record, u16::MAX);
        (0..20).for_each(|_| touch(&mut record));
        set_touched(&mut record, Timestamp::from_millis(7));
        assert_eq!(touched(&record), Timestamp::from_millis(7));
        assert_eq!((touches(&record), estimated(&record)), (15, Some(u16::MAX)));
        set_touches(&mut record, 3);
        settle(&mut record);
        assert_eq!((touches(&record), estimated(&record)), (3, None));
        assert_eq!(touched(&record), Timestamp::from_millis(7));
        set_touched(&mut record, Timestamp::from_millis(-5));
        assert_eq!(touched(&record), Timestamp::from_millis(0));
    }
}
