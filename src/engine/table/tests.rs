use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::engine::slab::BlockSize;

const HOUR: Span = Span::from_secs(3600);

fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(1_750_000_000_000 + secs * 1000)
}

fn table(words: usize, budget_bytes: u64) -> Table {
    Table::new(TableSpec { words, budget_bytes, idle: HOUR, spills: vec![], spill_bytes: 0 })
}

/// A well spread key, as a keyed hash gives it.
fn key(n: u64) -> u64 {
    let mixed = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[test]
fn records_are_halves_of_cache_lines_or_parts_of_one() {
    assert_eq!([1, 4, 5, 12, 13, 28, 29].map(|words| stride(words) * 4), [32, 32, 64, 64, 96, 128, 160]);
    let mut table = table(12, 1 << 20);
    let slot = table.find_or_insert(key(1), at(0)).slot;
    assert_eq!(table.cells(slot).as_ptr().addr() % 64, 16);
}

#[test]
fn a_record_is_found_again_and_starts_empty() {
    let mut table = table(3, 1 << 20);
    assert_eq!(table.find(key(1), at(0)), None);
    let entry = table.find_or_insert(key(1), at(0));
    assert!(entry.fresh && !entry.evicted);
    assert_eq!(table.cells(entry.slot), [0, 0, 0]);
    table.cells_mut(entry.slot)[2] = 9;
    let again = table.find_or_insert(key(1), at(5));
    assert!(!again.fresh);
    assert_eq!((table.cells(again.slot)[2], table.touched(again.slot)), (9, at(5)));
    assert!(!table.find_or_insert(key(1), at(3)).fresh);
    assert_eq!(table.touched(again.slot), at(5), "a late event does not make a record older");
}

#[test]
fn the_key_zero_is_a_key() {
    let mut table = table(1, 1 << 20);
    let slot = table.find_or_insert(0, at(0)).slot;
    table.cells_mut(slot)[0] = 5;
    assert_eq!(table.find(0, at(0)), Some(slot));
    assert_eq!(table.len(), 1);
}

#[test]
fn idle_records_are_dead_and_reset_in_place() {
    let mut table = table(1, 1 << 20);
    let slot = table.find_or_insert(key(1), at(0)).slot;
    table.cells_mut(slot)[0] = 5;
    assert_eq!(table.find(key(1), at(3600)), Some(slot));
    assert_eq!(table.find(key(1), at(3601)), None);
    let entry = table.find_or_insert(key(1), at(3601));
    assert!(entry.fresh);
    assert_eq!(table.cells(entry.slot), [0]);
    assert_eq!(table.stats().expired, 1);
}

#[test]
fn a_sweep_removes_all_that_is_dead_and_nothing_else() {
    let mut table = table(2, 4 << 20);
    for n in 0..5000 {
        table.find_or_insert(key(n), at(if n % 3 == 0 { 0 } else { 3000 }));
    }
    let mut removed = 0;
    for _ in 0..200 {
        removed += table.sweep(at(5000), 100);
    }
    assert_eq!((removed, table.len()), (1667, 3333));
    assert!((0..5000).all(|n| table.find(key(n), at(5000)).is_some() == (n % 3 != 0)));
    assert_eq!(table.stats().expired, 1667);
    // A round that found the oldest to be younger goes on when that one is dead, too.
    table.find_or_insert(key(9000), at(6000));
    assert_eq!((0..200).map(|_| table.sweep(at(6600), 100)).sum::<usize>(), 0);
    assert_eq!((0..200).map(|_| table.sweep(at(6601), 100)).sum::<usize>(), 3333);
    assert!(table.find(key(9000), at(9600)).is_some());
}

#[test]
fn a_full_table_evicts_the_oldest_nearby_and_says_so() {
    let mut table = table(12, 0);
    let (mut evicted, mut fresh) = (0, 0);
    for n in 0..20_000 {
        let entry = table.find_or_insert(key(n), at(n as i64 / 100));
        evicted += u64::from(entry.evicted);
        fresh += u64::from(entry.fresh);
    }
    let stats = table.stats();
    assert_eq!((fresh, stats.evicted, stats.entries), (20_000, evicted, 20_000 - evicted));
    assert!(stats.bytes <= 256 * (8 * (64 + 1) + 256), "{}", stats.bytes);
    let held: Vec<u64> = (0..20_000).filter(|n| table.find(key(*n), at(200)).is_some()).collect();
    assert!(held.iter().filter(|n| **n >= 17_000).count() * 10 > held.len() * 9, "the newest stay");
}

#[test]
fn dead_records_leave_before_living_ones() {
    let mut table = table(12, 0);
    for n in 0..1300 {
        table.find_or_insert(key(n), at(0));
    }
    let before = table.stats().evicted;
    let evicted = (5000..5100).filter(|n| table.find_or_insert(key(*n), at(7200)).evicted).count();
    assert_eq!((evicted, table.stats().evicted), (0, before));
}

#[test]
fn blocks_die_with_their_record() {
    let spec =
        TableSpec { words: 3, budget_bytes: 1 << 20, idle: HOUR, spills: vec![2], spill_bytes: 1 << 20 };
    let mut table = Table::new(spec);
    for n in 0..100 {
        let slot = table.find_or_insert(key(n), at(0)).slot;
        let (cells, spill) = table.cells_and_spill(slot);
        cells[2] = spill.alloc(BlockSize::Words128).unwrap().word();
    }
    assert_eq!(table.stats().blocks, 100);
    table.find_or_insert(key(7), at(4000));
    assert_eq!(table.stats().blocks, 99);
    table.sweep(at(4000), 10_000);
    assert_eq!((table.len(), table.stats().blocks), (1, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The same as a map, whatever is inserted, expires and is swept, as long as the budget holds.
    #[test]
    fn agrees_with_a_map(steps in prop::collection::vec((0u64..300, 0i64..400, 0usize..40), 1..600)) {
        let mut table = table(2, 8 << 20);
        let mut map: BTreeMap<u64, (i64, u32)> = BTreeMap::new();
        let mut now = 0;
        for (n, step, swept) in steps {
            now += step;
            table.sweep(at(now), swept);
            // All in one segment, so that probes collide.
            let key = key(n) >> 8;
            let alive = map.get(&n).filter(|(last, _)| now - last <= 3600).map(|(_, count)| *count);
            prop_assert_eq!(table.find(key, at(now)).map(|slot| table.cells(slot)[0]), alive);
            let entry = table.find_or_insert(key, at(now));
            prop_assert_eq!((entry.fresh, entry.evicted), (alive.is_none(), false));
            table.cells_mut(entry.slot)[0] += 1;
            map.insert(n, (now, alive.unwrap_or(0) + 1));
        }
        for (n, (last, count)) in &map {
            let held = table.find(key(*n) >> 8, at(now)).map(|slot| table.cells(slot)[0]);
            prop_assert_eq!(held, (now - last <= 3600).then_some(*count));
        }
    }
}
