use super::*;
use proptest::prelude::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_750_000_000_000 + millis)
}

fn minute() -> CountSpec {
    CountSpec::new(Span::from_secs(60), 12)
}

/// A spec with a cell and every time it took.
struct Model {
    spec: CountSpec,
    cell: Vec<u32>,
    spill: Spill,
    times: Vec<i64>,
}

impl Model {
    fn new(spec: CountSpec) -> Self {
        Self::within(spec, 1 << 20)
    }

    fn within(spec: CountSpec, spill_bytes: u64) -> Self {
        Self { spec, cell: vec![0; CountSpec::WORDS], spill: Spill::new(spill_bytes), times: Vec::new() }
    }

    fn record(&mut self, time: i64) -> Recorded {
        let recorded = self.spec.record(&mut self.cell, &mut self.spill, at(time), 1);
        if recorded == Recorded::Yes {
            self.times.push(time);
        }
        recorded
    }

    fn read(&self, time: i64) -> Count {
        self.spec.read(&self.cell, &self.spill, at(time))
    }

    /// Events in `(from, to]`.
    fn between(&self, from: i64, to: i64) -> u64 {
        self.times.iter().filter(|time| **time > from && **time <= to).count() as u64
    }
}

#[test]
fn zeroed_words_count_nothing() {
    let model = Model::new(minute());
    assert_eq!(model.read(0), Count { count: 0, exact: true, coarse: false, held: Held::Whole });
    assert_eq!(model.spec.newest(&model.cell), None);
}

#[test]
fn a_window_is_half_open() {
    let mut model = Model::new(minute());
    assert_eq!(model.record(0), Recorded::Yes);
    assert_eq!(model.read(0).count, 1);
    assert_eq!(model.read(59_999).count, 1);
    assert_eq!(model.read(60_000).count, 0);
    assert_eq!(model.read(-1), Count { count: 0, exact: true, coarse: false, held: Held::Part });
    assert_eq!(model.record(-60_000), Recorded::Backlog);
    assert_eq!(model.read(-60_000).held, Held::Nothing);
}

#[test]
fn a_full_log_becomes_a_ring_and_a_log_again() {
    let mut model = Model::new(minute());
    let exact = model.spec.exact_up_to() as i64;
    for time in 0..exact {
        assert_eq!(model.record(time), Recorded::Yes);
    }
    assert!(model.read(exact).exact);
    assert_eq!(model.record(exact), Recorded::Yes);
    let reading = model.read(exact);
    assert_eq!((reading.count, reading.exact), (exact as u64 + 1, false));
    assert_eq!(model.record(500_000), Recorded::Yes);
    assert_eq!(model.spill.used(), 0, "the block goes back");
    assert_eq!(model.read(500_000), Count { count: 1, exact: true, coarse: false, held: Held::Whole });
}

#[test]
fn a_block_is_held_only_while_there_is_need_of_it() {
    let mut model = Model::new(minute());
    let used: Vec<u64> = [0, 1000, 2000, 3000, 4000, 62_500, 62_600]
        .into_iter()
        .map(|time| {
            assert_eq!(model.record(time), Recorded::Yes);
            assert!(model.read(time).exact);
            model.spill.used()
        })
        .collect();
    assert_eq!(used, [0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(model.record(120_000), Recorded::Yes);
    assert_eq!((model.read(120_000).count, model.spill.used()), (3, 1));
    assert_eq!(model.record(180_000), Recorded::Yes);
    assert_eq!((model.read(180_000).count, model.spill.used()), (1, 0));
}

#[test]
fn without_a_block_a_count_is_coarse_and_says_so() {
    let mut model = Model::within(minute(), 0);
    for time in 0..10 {
        assert_eq!(model.record(time * 100), Recorded::Yes);
    }
    let reading = model.read(900);
    assert_eq!((reading.count, reading.exact, reading.coarse), (10, false, true));
    assert_eq!(model.record(300_000), Recorded::Yes);
    assert_eq!(model.read(300_000), Count { count: 1, exact: true, coarse: false, held: Held::Whole });
    for _ in 0..3 {
        assert_eq!(model.spec.record(&mut model.cell, &mut model.spill, at(300_000), 60_000), Recorded::Yes);
    }
    assert_eq!(model.read(300_000).count, 65_535, "the most of one sub-window");
}

#[test]
fn large_counts_widen_and_then_saturate() {
    let spec = minute();
    let (mut cell, mut spill) = (vec![0; CountSpec::WORDS], Spill::new(1 << 20));
    for time in [0, 5_000, 30_000] {
        assert_eq!(spec.record(&mut cell, &mut spill, at(time), 60_000), Recorded::Yes);
        assert_eq!(spec.record(&mut cell, &mut spill, at(time), 60_000), Recorded::Yes);
    }
    assert_eq!(spec.read(&cell, &spill, at(30_000)).count, 360_000);
    assert_eq!(spec.read(&cell, &spill, at(80_000)).count, 120_000);
    assert_eq!(spec.record(&mut cell, &mut spill, at(80_000), u32::MAX), Recorded::Yes);
    assert_eq!(spec.record(&mut cell, &mut spill, at(81_000), u32::MAX), Recorded::Yes);
    assert_eq!(spec.read(&cell, &spill, at(81_000)).count, u64::from(u32::MAX));
    assert_eq!(spec.record(&mut cell, &mut spill, at(145_000), 7), Recorded::Yes);
    assert_eq!(spec.read(&cell, &spill, at(160_000)).count, 7, "a saturated total recovers");
}

#[test]
fn a_cell_that_slept_for_decades_does_not_wrap() {
    for window in [Span::from_secs(60), Span::from_secs(40 * 86_400), Span::from_secs(300 * 86_400)] {
        let spec = CountSpec::new(window, 12);
        let (mut cell, mut spill) = (vec![0; CountSpec::WORDS], Spill::new(1 << 20));
        assert_eq!(spec.record(&mut cell, &mut spill, at(0), 1), Recorded::Yes);
        let mut later = at(0);
        for _ in 0..6 {
            later = later.after(Span::from_millis(1 << 32)).after(window);
            assert_eq!(spec.read(&cell, &spill, later).count, 0);
            assert_eq!(spec.record(&mut cell, &mut spill, later, 1), Recorded::Yes);
            assert_eq!(spec.read(&cell, &spill, later).count, 1);
        }
    }
}

#[test]
fn the_wait_is_until_enough_have_left() {
    let mut model = Model::new(minute());
    for time in [0, 10_000, 10_000, 20_000] {
        assert_eq!(model.record(time), Recorded::Yes);
    }
    let wait = |room| model.spec.wait(&model.cell, &model.spill, at(21_000), room).millis();
    assert_eq!([wait(4), wait(3), wait(2), wait(1), wait(0)], [0, 39_000, 49_000, 49_000, 59_000]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// In order of time: never too few, and too many only by the sub-windows that began before the window.
    #[test]
    fn never_misses_an_event_and_keeps_its_error_bound(
        steps in prop::collection::vec(prop_oneof![0i64..50, 0i64..3_000, 0i64..90_000], 1..200),
        window in prop_oneof![Just(60_000i64), Just(1_000), Just(59_999), 11i64..100_000],
        slots in 2u32..=100, spill_bytes in prop_oneof![2 => Just(1u64 << 20), 1 => Just(0)],
    ) {
        let spec = CountSpec::new(Span::from_millis(window), slots);
        let mut model = Model::within(spec, spill_bytes);
        let slot = if spill_bytes == 0 { spec.coarse_slot() } else { spec.slot() }.millis();
        let parts = if window % slot == 0 { 1 } else { 2 };
        let mut now = 0;
        for step in steps {
            now += step;
            prop_assert_eq!(model.record(now), Recorded::Yes);
            for ahead in [0, step, window / 2] {
                let reading = model.read(now + ahead);
                let truth = model.between(now + ahead - window, now);
                let bound = truth + model.between(now + ahead - window - parts * slot, now + ahead - window);
                prop_assert!(reading.count >= truth && reading.count <= bound, "{reading:?} {truth} {bound}");
                prop_assert!(!reading.exact || reading.count == truth);
                prop_assert_eq!(reading.held, Held::Whole);
            }
        }
    }

    /// In any order within what is held beyond the window: the same, with the bound on both sides.
    #[test]
    fn late_events_count_where_they_belong(
        events in prop::collection::vec((0i64..4_000, 0i64..30_000), 1..150),
        late in 30_000i64..60_000, spill_bytes in prop_oneof![2 => Just(1u64 << 20), 1 => Just(0)],
    ) {
        let spec = minute().holding(Span::from_millis(late));
        let mut model = Model::within(spec, spill_bytes);
        let coarse = spill_bytes == 0;
        let slot = if coarse { spec.coarse_slot() } else { spec.slot() }.millis() * (1 + i64::from(coarse));
        let mut newest = 0;
        for (step, back) in events {
            newest += step;
            prop_assert_eq!(model.record(newest), Recorded::Yes);
            let time = newest - back;
            prop_assert_eq!(model.record(time), Recorded::Yes);
            let reading = model.read(time);
            let truth = model.between(time - 60_000, time);
            let bound = model.between(time - 60_000 - slot, time + slot);
            prop_assert_eq!(reading.held, Held::Whole);
            prop_assert!(reading.count >= truth && reading.count <= bound, "{reading:?} {truth} {bound}");
            prop_assert!(!reading.exact || reading.count == truth);
        }
    }

    /// After the wait there is room, and 1 ms (log) or a sub-window (ring) before there was not.
    #[test]
    fn the_wait_is_neither_short_nor_long(
        steps in prop::collection::vec(0i64..6_000, 1..60), pause in 0i64..20_000, room in 0u64..40,
        spill_bytes in prop_oneof![2 => Just(1u64 << 20), 1 => Just(0)],
    ) {
        let mut model = Model::within(minute(), spill_bytes);
        let mut now = 0;
        for step in steps {
            now += step;
            prop_assert_eq!(model.record(now), Recorded::Yes);
        }
        now += pause;
        let wait = model.spec.wait(&model.cell, &model.spill, at(now), room).millis();
        prop_assert_eq!(wait == 0, model.read(now).count <= room);
        prop_assert!(model.read(now + wait).count <= room);
        if wait > 0 {
            prop_assert!(model.read(now + wait - 1).count > room);
        }
    }
}
