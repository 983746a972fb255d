//! Limits against naive models: lists of times, and buckets that are drained millisecond by millisecond.

use proptest::prelude::*;
use weir::engine::limit::{Algorithm, Check, Limit, LimitSpec, Max, Verdict};
use weir::engine::slab::Spill;
use weir::engine::time::{Span, Timestamp};
use weir::engine::window::Recorded;

const T: i64 = 1_750_000_000_000;
const GRACE: i64 = 6_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(T + millis)
}

fn span(millis: i64) -> Span {
    Span::from_millis(millis)
}

/// A limit with one cell, and what it recorded by the time it was judged at.
struct One {
    limit: Limit,
    cell: Vec<u32>,
    spill: Spill,
    recorded: Vec<(i64, u64)>,
}

impl One {
    fn new(algorithm: Algorithm, max: i64) -> Self {
        Self::within(algorithm, max, 1 << 20)
    }

    /// With so many bytes for what does not fit the cell.
    fn within(algorithm: Algorithm, max: i64, spill_bytes: u64) -> Self {
        let limit = Limit::new(&LimitSpec { algorithm, max: Max::AtMost(max), grace: span(GRACE) })
            .expect("a valid limit");
        Self { cell: vec![0; limit.words()], spill: Spill::new(spill_bytes), limit, recorded: Vec::new() }
    }

    fn look(&self, millis: i64, cost: u64) -> Check {
        self.limit.check(&self.cell, &self.spill, at(millis), cost)
    }

    fn record(&mut self, millis: i64, cost: u64) {
        let judged = self.look(millis, cost).judged_at.millis() - T;
        if self.limit.record(&mut self.cell, &mut self.spill, at(millis), cost) == Recorded::Yes && cost > 0 {
            self.recorded.push((judged, cost));
        }
    }

    fn hit(&mut self, millis: i64, cost: u64) -> Check {
        let check = self.look(millis, cost);
        if check.verdict == Verdict::Allowed {
            self.record(millis, cost);
        }
        check
    }

    fn newest(&self) -> Option<i64> {
        self.recorded.iter().map(|(time, _)| *time).max()
    }

    /// What was recorded in `(from, to]`.
    fn between(&self, from: i64, to: i64) -> u64 {
        self.recorded.iter().filter(|(time, _)| *time > from && *time <= to).map(|(_, cost)| cost).sum()
    }
}

/// Steps forward, and how far back each event is dated: within grace, often twice at one time.
fn events() -> impl Strategy<Value = Vec<(i64, i64, u64)>> {
    let step = prop_oneof![Just(0i64), 0i64..500, 0i64..4_000, 0i64..30_000];
    let back = prop_oneof![2 => Just(0i64), 1 => 0..=GRACE];
    prop::collection::vec((step, back, prop_oneof![4 => Just(1u64), 1 => 0u64..5]), 1..120)
}

fn any_algorithm() -> impl Strategy<Value = Algorithm> {
    let window = prop_oneof![Just(10_000i64), Just(60_000), 1_000i64..50_000].prop_map(span);
    (window, 10u32..=100, 1u64..40, 0u8..5).prop_map(|(window, slots, refill, kind)| match kind {
        0 => Algorithm::SlidingLog { window },
        1 => Algorithm::SlidingWindow { window, slots },
        2 => Algorithm::TokenBucket { refill, per: window },
        3 => Algorithm::LeakyBucket { window },
        _ => Algorithm::Calendar { window, zone: "UTC".into() },
    })
}

/// The time an event within grace is judged at, and what must hold of any answer.
fn check_frame(one: &One, newest: i64, check: &Check, cost: u64) -> Result<(), TestCaseError> {
    prop_assert_eq!(check.judged_at, at(newest));
    prop_assert!(check.remaining <= check.limit);
    match check.verdict {
        Verdict::Allowed => prop_assert_eq!(check.used + cost + check.remaining, check.limit),
        Verdict::Refused { retry_after } => {
            let later = newest + retry_after.millis();
            prop_assert!(retry_after.millis() >= 1);
            prop_assert_eq!(one.look(later, cost).verdict, Verdict::Allowed);
            let still = one.look(later - 1, cost).verdict;
            prop_assert!(later - 1 == newest || still != Verdict::Allowed, "a wait is not too long");
        }
        other => prop_assert_eq!(other, Verdict::CostExceedsCapacity),
    }
    prop_assert_eq!(check.verdict == Verdict::CostExceedsCapacity, cost > check.limit);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_answer_is_consistent(algorithm in any_algorithm(), max in 1i64..12, events in events()) {
        let mut one = One::new(algorithm, max);
        let mut now = 0;
        for (step, back, cost) in events {
            now += step;
            let before = one.cell.clone();
            let check = one.look(now - back, cost);
            prop_assert_eq!(&before, &one.cell, "a look changes nothing");
            let judged = one.newest().unwrap_or(now - back).max(now - back);
            check_frame(&one, judged, &check, cost)?;
            one.hit(now - back, cost);
        }
    }

    /// The exact log: verdict and count of a list of times.
    #[test]
    fn a_sliding_log_is_a_list(window in 1_000i64..60_000, max in 1i64..60, events in events()) {
        let mut one = One::new(Algorithm::SlidingLog { window: span(window) }, max);
        let mut now = 0;
        for (step, back, cost) in events {
            now += step;
            let time = now - back;
            let judged = one.newest().unwrap_or(time).max(time);
            let truth = one.between(judged - window, judged);
            let check = one.hit(time, cost);
            prop_assert_eq!(check.judged_at, at(judged));
            prop_assert_eq!(check.used, truth);
            prop_assert_eq!(check.verdict == Verdict::Allowed, truth + cost <= max as u64);
            if let Verdict::Refused { retry_after } = check.verdict {
                let wait = retry_after.millis();
                let left = |wait: i64| one.between(judged + wait - window, judged + wait) + cost;
                prop_assert!(left(wait) <= max as u64 && left(wait - 1) > max as u64);
            }
        }
    }

    /// The bucketed form: never too few, and too many by the oldest sub-windows only.
    #[test]
    fn a_sliding_window_keeps_its_bound(
        window in 1_000i64..60_000, slots in 10u32..=100, max in 1i64..60, events in events(),
    ) {
        let mut one = One::new(Algorithm::SlidingWindow { window: span(window), slots }, max);
        let slots = i64::from(slots + slots % 2);
        let slot = (window + slots - 1) / slots;
        let parts = if window % slot == 0 { 1 } else { 2 };
        let mut now = 0;
        for (step, back, cost) in events {
            now += step;
            let check = one.hit(now - back, cost);
            let judged = check.judged_at.millis() - T;
            let truth = one.between(judged - window, judged);
            let truth = if check.verdict == Verdict::Allowed { truth - cost } else { truth };
            let more = one.between(judged - window - parts * slot, judged - window);
            prop_assert!(check.used >= truth && check.used <= truth + more, "{check:?} {truth} {more}");
            prop_assert!(one.between(judged - window, judged) <= max as u64, "never more than the maximum");
        }
    }

    /// Without memory for blocks: never more than the maximum in any window, and never refused without cause in the two
    /// windows before it.
    #[test]
    fn without_memory_a_limit_errs_on_the_strict_side_and_says_so(
        kind in prop_oneof![Just(None), (10u32..=100).prop_map(Some)], window in 1_000i64..60_000, max in 1i64..60,
        events in events(),
    ) {
        let algorithm = match kind {
            None => Algorithm::SlidingLog { window: span(window) },
            Some(slots) => Algorithm::SlidingWindow { window: span(window), slots },
        };
        let mut one = One::within(algorithm, max, 0);
        let mut now = 0;
        for (step, back, cost) in events {
            now += step;
            let check = one.look(now - back, cost);
            let judged = check.judged_at.millis() - T;
            let truth = one.between(judged - window, judged);
            prop_assert!(check.used >= truth, "{check:?} {truth}");
            prop_assert!(check.used <= one.between(judged - 3 * window, judged), "{check:?}");
            prop_assert!(!check.exact || kind.is_some() || check.used == truth, "{check:?} {truth}");
            one.hit(now - back, cost);
            prop_assert!(one.between(judged - window, judged) <= max as u64, "never more than the maximum");
            prop_assert_eq!(one.spill.used(), 0);
        }
    }

    /// Both buckets, drained one millisecond after the other.
    #[test]
    fn buckets_drain_without_drift(
        capacity in 1u64..12, refill in 1u64..40, per in 1i64..2_000, leaky: bool,
        events in prop::collection::vec((0i64..400, 0u64..4), 1..60),
    ) {
        let per_span = span(per);
        let (algorithm, refill) = match leaky {
            true => (Algorithm::LeakyBucket { window: per_span }, capacity),
            false => (Algorithm::TokenBucket { refill, per: per_span }, refill),
        };
        let mut one = One::new(algorithm, capacity as i64);
        let (mut now, mut level, scale) = (0, 0u64, per as u64);
        for (step, cost) in events {
            for _ in 0..step {
                level = level.saturating_sub(refill);
            }
            now += step;
            let check = one.hit(now, cost);
            let fits = level + cost * scale <= capacity * scale;
            prop_assert_eq!(check.verdict == Verdict::Allowed, fits);
            prop_assert_eq!(check.used, level.div_ceil(scale));
            level += if fits { cost * scale } else { 0 };
            if let Verdict::Refused { retry_after } = check.verdict {
                let over = level + cost * scale - capacity * scale;
                prop_assert!(retry_after.millis() as u64 * refill >= over);
                prop_assert!((retry_after.millis() as u64 - 1) * refill < over);
            }
        }
    }

    #[test]
    fn a_calendar_counts_by_the_clock(window in 1_000i64..60_000, max in 1i64..15, events in events()) {
        let mut one = One::new(Algorithm::Calendar { window: span(window), zone: "UTC".into() }, max);
        let mut now = 0;
        for (step, back, cost) in events {
            now += step;
            let check = one.hit(now - back, cost);
            let judged = check.judged_at.millis();
            let start = judged.div_euclid(window) * window;
            let truth = one.between(start - 1 - T, judged - T);
            let truth = if check.verdict == Verdict::Allowed { truth - cost } else { truth };
            prop_assert_eq!(check.used, truth);
            if let Verdict::Refused { retry_after } = check.verdict {
                prop_assert_eq!(retry_after.millis(), start + window - judged);
            }
        }
    }

    /// However an event is dated within grace, the answer is the one for the newest time.
    #[test]
    fn back_dating_buys_no_quota(algorithm in any_algorithm(), max in 1i64..12, events in events()) {
        let (mut honest, mut liar) = (One::new(algorithm.clone(), max), One::new(algorithm, max));
        let mut now = 0;
        for (step, back, _) in events {
            now += step;
            let newest = liar.newest().unwrap_or(now).max(now);
            for one in [&mut honest, &mut liar] {
                one.hit(newest, 1);
            }
            if liar.newest() == Some(newest) {
                let expected = honest.hit(newest, 1);
                prop_assert_eq!(liar.hit(newest - back, 1), expected);
            }
        }
        prop_assert_eq!(honest.cell, liar.cell);
        prop_assert_eq!(honest.spill.used(), liar.spill.used());
    }

    /// Events late beyond grace: a named answer, and never more room for those in time.
    #[test]
    fn a_backlog_makes_no_room(
        algorithm in any_algorithm(), max in 1i64..12,
        events in prop::collection::vec((0i64..3_000, 0i64..200_000), 1..100),
    ) {
        let (mut alone, mut mixed) = (One::new(algorithm.clone(), max), One::new(algorithm, max));
        let mut now = 0;
        for (step, back) in events {
            now += step;
            for one in [&mut alone, &mut mixed] {
                one.record(now, 1);
            }
            mixed.hit(now - GRACE - 1 - back, 1);
            let (alone, mixed) = (alone.look(now, 1), mixed.look(now, 1));
            prop_assert!(mixed.used >= alone.used || alone.used >= max as u64, "{alone:?} {mixed:?}");
            prop_assert!(mixed.verdict != Verdict::Allowed || alone.verdict == Verdict::Allowed);
        }
    }

    /// Where a late event is judged at all, that is by all that was recorded in its own window.
    #[test]
    fn a_backlog_is_judged_by_its_whole_window(
        slots in prop_oneof![Just(None), Just(Some(60u32))], max in 1i64..12,
        events in prop::collection::vec((0i64..20_000, 0i64..90_000, any::<bool>()), 1..60),
    ) {
        let window = span(60_000);
        let algorithm = match slots {
            None => Algorithm::SlidingLog { window },
            Some(slots) => Algorithm::SlidingWindow { window, slots },
        };
        let mut one = One::new(algorithm, max);
        let (mut now, mut recorded) = (0, Vec::<i64>::new());
        for (step, back, late) in events {
            now += step;
            let time = if late { now - GRACE - 1 - back } else { now };
            let newest = recorded.iter().max().copied().unwrap_or(time);
            let judged = if newest > time && newest - time <= GRACE { newest } else { time };
            let check = one.look(time, 1);
            let inside = recorded.iter().filter(|known| (judged - 60_000 + 1..=judged).contains(*known)).count();
            match check.verdict {
                Verdict::Backlog => prop_assert!(judged < newest, "{check:?}"),
                _ if judged < newest => prop_assert!(check.exact && check.used == inside as u64, "{check:?} {inside}"),
                _ => {}
            }
            if check.verdict == Verdict::Allowed {
                one.record(time, 1);
                recorded.push(judged);
            }
        }
    }

    /// Limits of one record side by side: each counts as if it were alone with what it recorded.
    #[test]
    fn one_refusal_leaves_the_other_counts_alone(
        algorithms in prop::collection::vec((any_algorithm(), 1i64..12), 2..5), events in events(),
    ) {
        let mut alone: Vec<One> = algorithms.into_iter().map(|(algorithm, max)| One::new(algorithm, max)).collect();
        let mut record = vec![0u32; alone.iter().map(|one| one.cell.len()).sum()];
        let (mut spill, mut now) = (Spill::new(1 << 20), 0);
        for (step, back, cost) in events {
            now += step;
            let mut start = 0;
            for one in &mut alone {
                let end = start + one.cell.len();
                let cell = &mut record[start..end];
                let check = one.limit.check(cell, &spill, at(now - back), cost);
                if check.verdict == Verdict::Allowed {
                    prop_assert_eq!(one.limit.record(cell, &mut spill, at(now - back), cost), Recorded::Yes);
                }
                prop_assert_eq!(one.hit(now - back, cost), check);
                start = end;
            }
            let blocks: u64 = alone.iter().map(|one| one.spill.used()).sum();
            prop_assert_eq!(spill.used(), blocks);
        }
    }

    /// No gap up to 100 years, no cost and no maximum makes a count negative or larger than the limit.
    #[test]
    fn remaining_stays_between_zero_and_the_maximum(
        algorithm in any_algorithm(), max in prop_oneof![0i64..20, 0i64..1000],
        events in prop::collection::vec((prop_oneof![0i64..10_000, 0i64..3_155_760_000_000], 0u64..2_000), 1..40),
    ) {
        let mut one = One::new(algorithm, max);
        let mut now = 0;
        for (step, cost) in events {
            now = (now + step).min(5_000_000_000_000);
            let check = one.hit(now, cost);
            prop_assert!(check.remaining <= max as u64 && check.limit == max as u64);
            one.record(now, cost);
            prop_assert!(one.look(now, cost).remaining <= max as u64);
        }
    }
}
