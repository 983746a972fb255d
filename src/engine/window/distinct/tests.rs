use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_750_000_000_000 + millis)
}

/// A hash as a keyed hash gives it (the mixer of SplitMix64).
fn hash(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn minute() -> DistinctSpec {
    DistinctSpec::new(Span::from_secs(60), 12).with_inline(4)
}

/// A cell beside a map from each value to when it was last seen.
struct Model {
    spec: DistinctSpec,
    cell: Vec<u32>,
    spill: Spill,
    seen: BTreeMap<u64, i64>,
}

impl Model {
    fn new(spec: DistinctSpec, spill_bytes: u64) -> Self {
        Self { spec, cell: vec![0; spec.words()], spill: Spill::new(spill_bytes), seen: BTreeMap::new() }
    }

    fn record(&mut self, value: u64, time: i64) -> Recorded {
        let recorded = self.spec.record(&mut self.cell, &mut self.spill, hash(value), at(time));
        if recorded == Recorded::Yes {
            let last = self.seen.entry(value).or_insert(time);
            *last = time.max(*last);
        }
        recorded
    }

    fn read(&self, time: i64) -> Distinct {
        self.spec.read(&self.cell, &self.spill, at(time))
    }

    fn seen_after(&self, time: i64) -> u64 {
        self.seen.values().filter(|last| **last > time).count() as u64
    }
}

#[test]
fn few_values_are_exact_and_slide() {
    let mut model = Model::new(minute(), 0);
    assert_eq!(model.read(0), Distinct { count: 0, exact: true, at_least: false, held: Held::Whole });
    for (value, time) in [(1, 0), (2, 1000), (1, 2000), (3, 3000)] {
        assert_eq!(model.record(value, time), Recorded::Yes);
    }
    let counts = [3_000, 60_999, 61_000, 62_000, 63_000].map(|time| model.read(time).count);
    assert_eq!(counts, [3, 3, 2, 1, 0]);
    assert_eq!(model.record(9, -57_000), Recorded::Backlog);
    assert_eq!(model.read(0).held, Held::Part);
}

#[test]
fn blocks_are_taken_when_needed_and_given_back() {
    let mut model = Model::new(minute(), 1 << 20);
    let mut forms = Vec::new();
    for value in 0..200 {
        assert_eq!(model.record(value, 0), Recorded::Yes);
        let reading = model.read(0);
        assert_eq!(reading.exact, value < 64, "{value}");
        forms.push((model.spill.bytes(), model.spill.used()));
    }
    assert_eq!((forms[3], forms[4].1, forms[64].1), ((0, 0), 1, 1));
    assert_eq!(model.record(1, 60_000), Recorded::Yes);
    assert_eq!((model.read(60_000).count, model.read(60_000).exact, model.spill.used()), (1, true, 0));
    for value in 0..20 {
        assert_eq!(model.record(value, 120_000), Recorded::Yes);
    }
    assert_eq!(model.record(1, 160_000), Recorded::Yes);
    assert_eq!(model.spill.used(), 1);
    assert_eq!(model.record(2, 180_000), Recorded::Yes);
    assert_eq!((model.spill.used(), model.read(180_000).count), (0, 2), "few are left: back in the cell");
}

#[test]
fn without_memory_it_says_at_least_until_that_is_over() {
    let mut model = Model::new(minute(), 0);
    for value in 0..10 {
        assert_eq!(model.record(value, value as i64 * 1000), Recorded::Yes);
    }
    assert_eq!(model.read(9000), Distinct { count: 4, exact: false, at_least: true, held: Held::Whole });
    assert_eq!(model.record(9, 66_500), Recorded::Yes);
    let reading = model.read(66_500);
    assert_eq!((reading.count, reading.exact), (3, true), "what was dropped has left");
}

/// Whang et al.: standard error sqrt(m (e^t - t - 1)) / n with m = 4,096; four of them hold in 99.99 %.
#[test]
fn the_sketch_keeps_its_error() {
    let mut model = Model::new(minute(), 1 << 20);
    for value in 0..20_000u64 {
        assert_eq!(model.record(value, 0), Recorded::Yes);
        let (n, m) = (value as f64 + 1.0, 4096.0);
        if value >= 64 && value % 97 == 0 {
            let load = n / m;
            let sigma = libm::sqrt(m * (libm::exp(load) - load - 1.0));
            let error = (model.read(0).count as f64 - n).abs();
            assert!(error <= 4.0 * sigma + 1.0, "{n}: {error} against {sigma}");
        }
    }
    for value in 20_000..60_000 {
        assert_eq!(model.record(value, 0), Recorded::Yes);
    }
    let reading = model.read(0);
    assert_eq!((reading.count, reading.at_least), (25_552, true));
}

/// A sketch that is fed without a pause for far more sub-windows than a stamp can tell apart.
#[test]
fn stamps_do_not_come_round() {
    let spec = DistinctSpec::new(Span::from_millis(1000), 10);
    let mut model = Model::new(spec, 1 << 20);
    for value in 0..1000 {
        assert_eq!(model.record(value, 0), Recorded::Yes);
    }
    for tick in 1..100_000i64 {
        assert_eq!(model.record(hash(tick as u64) % 50, tick * 100), Recorded::Yes);
        if tick > 10 && tick % 7 == 0 {
            assert!(model.read(tick * 100).count <= 12, "{tick} {:?}", model.read(tick * 100));
        }
    }
    assert!(!model.read(10_000_000).exact);
}

#[test]
fn a_cell_that_slept_for_decades_does_not_wrap() {
    let mut model = Model::new(DistinctSpec::new(Span::from_secs(48 * 86_400), 12), 1 << 20);
    let mut time = 0;
    for value in 0..5 {
        assert_eq!(model.record(value, time), Recorded::Yes);
        assert_eq!(model.read(time).count, 1);
        time += (1 << 32) + 48 * 86_400_000;
        assert_eq!(model.read(time).count, 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Exact while it says so, in any order within what is held; an estimate within its error otherwise.
    #[test]
    fn agrees_with_a_map(
        events in prop::collection::vec((0u64..400, 0i64..1500, 0i64..8_000), 1..400),
        values in prop_oneof![Just(4u64), Just(60), Just(400)],
        inline in 1usize..8,
    ) {
        let spec = minute().with_inline(inline).holding(Span::from_secs(10));
        let mut model = Model::new(spec, 1 << 20);
        let mut newest = 0;
        for (value, step, back) in events {
            newest += step;
            prop_assert_eq!(model.record(value % values, newest), Recorded::Yes);
            let time = newest - back;
            prop_assert_eq!(model.record((value + 1) % values, time), Recorded::Yes);
            for time in [newest, time, newest + step] {
                let reading = model.read(time);
                prop_assert_eq!(reading.held, Held::Whole);
                let truth = model.seen_after(time - 60_000);
                if model.spill.used() == 0 || reading.exact {
                    prop_assert_eq!(reading.count, truth);
                    continue;
                }
                // One more sub-window at most, and 5 standard errors of 400 values in 4,096 cells.
                let most = model.seen_after(time - 65_000) + 23;
                prop_assert!(reading.count + 23 >= truth && reading.count <= most, "{reading:?} {truth} {most}");
            }
        }
    }
}
