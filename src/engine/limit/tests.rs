use super::*;

const T: i64 = 1_750_000_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(T + millis)
}

fn secs(secs: i64) -> Span {
    Span::from_secs(secs)
}

/// A limit with one cell: judges, and records what is allowed.
struct One {
    limit: Limit,
    cell: Vec<u32>,
    spill: Spill,
}

impl One {
    fn new(algorithm: Algorithm, max: i64) -> Self {
        Self::with_grace(algorithm, max, Span::ZERO)
    }

    fn with_grace(algorithm: Algorithm, max: i64, grace: Span) -> Self {
        let limit = Limit::new(&LimitSpec { algorithm, max: Max::AtMost(max), grace }).unwrap();
        Self { cell: vec![0; limit.words()], spill: Spill::new(1 << 20), limit }
    }

    fn hit(&mut self, millis: i64, cost: u64) -> Check {
        let check = self.limit.check(&self.cell, &self.spill, at(millis), cost);
        if check.verdict == Verdict::Allowed {
            assert_eq!(self.limit.record(&mut self.cell, &mut self.spill, at(millis), cost), Recorded::Yes);
        }
        check
    }

    /// Goes on with what another limit counted.
    fn take_over(&mut self, old: &One) -> bool {
        self.spill = old.spill.clone();
        self.limit.carry_over(&mut self.cell, &mut self.spill, &old.limit, &old.cell)
    }

    fn allowed(&mut self, times: impl IntoIterator<Item = i64>) -> Vec<bool> {
        times.into_iter().map(|millis| self.hit(millis, 1).verdict == Verdict::Allowed).collect()
    }
}

fn log(window: i64) -> Algorithm {
    Algorithm::SlidingLog { window: secs(window) }
}

fn bucketed(window: i64, slots: u32) -> Algorithm {
    Algorithm::SlidingWindow { window: secs(window), slots }
}

/// One of each, with a window of a minute.
fn every_algorithm() -> [Algorithm; 5] {
    [
        log(60),
        bucketed(60, 12),
        Algorithm::TokenBucket { refill: 10, per: secs(60) },
        Algorithm::LeakyBucket { window: secs(60) },
        Algorithm::Calendar { window: secs(60), zone: "UTC".into() },
    ]
}

/// A window that only starts anew at the minute lets twice the limit through at its edge.
/// As reported in block/buzz#3477.
#[test]
fn no_double_burst_at_a_boundary() {
    for algorithm in [log(60), bucketed(60, 12)] {
        let mut one = One::new(algorithm, 5);
        let times = [vec![59_900; 5], vec![60_100; 5]].concat();
        assert_eq!(one.allowed(times), [[true; 5], [false; 5]].concat());
    }
}

/// The event at 0:00 has left at 1:01, those at 0:59 have not.
/// As reported in Southclaws/swirl#2.
#[test]
fn a_window_forgets_no_more_than_what_left() {
    let minute = 60_000;
    for algorithm in [log(3600), bucketed(3600, 60)] {
        let mut one = One::new(algorithm, 10);
        assert!(one.allowed([0]).into_iter().all(|allowed| allowed));
        assert!(one.allowed([59 * minute; 8]).into_iter().all(|allowed| allowed));
        let expected = [vec![true; 2], vec![false; 7]].concat();
        assert_eq!(one.allowed([61 * minute; 9]), expected);
    }
}

/// Each event over the limit is refused, not only the first.
/// As reported in crowdsec#1551.
#[test]
fn an_overflow_does_not_reset_the_state() {
    for algorithm in every_algorithm() {
        let mut one = One::new(algorithm.clone(), 3);
        if matches!(algorithm, Algorithm::TokenBucket { .. }) {
            one = One::new(Algorithm::TokenBucket { refill: 3, per: secs(60) }, 3);
        }
        // From the start of a minute on.
        let times = (0..6).map(|n| 20_000 + n * 1000);
        assert_eq!(one.allowed(times), [true, true, true, false, false, false], "{algorithm:?}");
    }
}

/// A long pause fills a bucket to its capacity, never above.
/// As reported in bucket4j#51.
#[test]
fn remaining_never_passes_the_capacity() {
    let mut one = One::new(Algorithm::TokenBucket { refill: 10, per: secs(1) }, 10);
    assert_eq!(one.hit(0, 1).remaining, 9);
    assert_eq!(one.hit(43_200_000, 1).remaining, 9);
    assert_eq!(one.hit(100 * 366 * 86_400_000, 1).remaining, 9);
}

/// A leaky bucket drains evenly, it is not emptied once a period.
/// As reported in gubernator#118.
#[test]
fn a_leaky_bucket_never_jumps() {
    let mut one = One::new(Algorithm::LeakyBucket { window: secs(1) }, 3);
    let mut allowed = 0;
    for tick in 0..=30 {
        let check = one.hit(tick * 100, 1);
        allowed += i64::from(check.verdict == Verdict::Allowed);
        assert!(allowed <= 3 + 3 * tick / 10 + 1 && (tick < 4 || check.remaining == 0), "{check:?}");
    }
    // 3 at once, 3 a second for 3 seconds: 12 at the most.
    assert!((11..=12).contains(&allowed), "{allowed}");
}

/// What can never fit is told apart from what must wait.
/// As reported in gcra-ruby#11.
#[test]
fn a_cost_above_the_capacity_is_permanent() {
    let mut one = One::new(Algorithm::TokenBucket { refill: 10, per: secs(10) }, 10);
    assert_eq!(one.hit(0, 11).verdict, Verdict::CostExceedsCapacity);
    assert_eq!(one.hit(0, 10).verdict, Verdict::Allowed);
    assert_eq!(one.hit(0, 10).verdict, Verdict::Refused { retry_after: secs(10) });
    assert_eq!(one.hit(0, 11).verdict, Verdict::CostExceedsCapacity);
    assert_eq!(one.hit(10_000, 10).verdict, Verdict::Allowed);
    for algorithm in every_algorithm() {
        assert_eq!(One::new(algorithm, 10).hit(0, 11).verdict, Verdict::CostExceedsCapacity);
    }
}

/// 5 at 0 and 3 at 0.1 s in a bucket that leaks 1 a second: empty 7.9 s later, room for one at once.
/// As reported in gubernator#110.
#[test]
fn the_wait_of_a_leaky_bucket_counts_what_leaked() {
    let mut one = One::new(Algorithm::LeakyBucket { window: secs(10) }, 10);
    one.hit(0, 5);
    assert_eq!(one.hit(100, 3).verdict, Verdict::Allowed);
    assert_eq!(one.limit.check(&one.cell, &one.spill, at(100), 1).verdict, Verdict::Allowed);
    let full = one.limit.check(&one.cell, &one.spill, at(100), 10).verdict;
    assert_eq!(full, Verdict::Refused { retry_after: Span::from_millis(7900) });
}

/// Counts are stored, not what was left of the old maximum.
/// As reported in gubernator#40.
#[test]
fn a_lowered_maximum_holds_at_once() {
    for algorithm in every_algorithm() {
        let mut old = One::new(algorithm.clone(), 10);
        assert_eq!(old.allowed(20_000..20_008), [true; 8]);
        let mut new = One::new(algorithm.clone(), 5);
        assert!(new.take_over(&old));
        let check = new.hit(20_010, 1);
        assert!(matches!(check.verdict, Verdict::Refused { .. }), "{algorithm:?} {check:?}");
        assert!(check.used >= 5 && check.remaining == 0);
        let mut higher = One::new(algorithm.clone(), 9);
        assert!(higher.take_over(&old));
        assert_eq!(higher.allowed([20_020, 20_021]), [true, false], "{algorithm:?}");
    }
    let (mut other, old) = (One::new(log(30), 5), One::new(log(60), 5));
    assert!(!other.take_over(&old));
}

/// What is old has no effect any more.
/// As reported in caddy-mib#6.
#[test]
fn old_events_leave() {
    for algorithm in every_algorithm() {
        let mut one = One::new(algorithm.clone(), 3);
        one.allowed([0, 0, 0, 0]);
        let check = one.hit(7_200_000, 1);
        assert_eq!((check.verdict, check.used, check.remaining), (Verdict::Allowed, 0, 2), "{algorithm:?}");
    }
}

#[test]
fn a_calendar_window_starts_anew_at_its_boundary() {
    let mut one = One::new(Algorithm::Calendar { window: secs(60), zone: "UTC".into() }, 2);
    // T is 15:06:40.
    assert_eq!(one.allowed([0, 19_999]), [true, true]);
    assert_eq!(one.hit(19_999, 1).verdict, Verdict::Refused { retry_after: Span::from_millis(1) });
    assert_eq!(one.hit(20_000, 1).verdict, Verdict::Allowed);
    assert_eq!(one.hit(5_000, 1).verdict, Verdict::Backlog);
}

#[test]
fn back_dating_buys_no_quota() {
    for algorithm in every_algorithm() {
        let mut one = One::with_grace(algorithm.clone(), 2, secs(30));
        assert_eq!(one.allowed([79_000, 50_000]), [true, true]);
        let check = one.hit(49_000, 1);
        assert!(matches!(check.verdict, Verdict::Refused { .. }), "{algorithm:?} {check:?}");
        assert_eq!(check.judged_at, at(79_000), "the wait counts from there");
    }
}

#[test]
fn a_backlog_is_judged_in_its_own_window_or_not_at_all() {
    for algorithm in [log(60), bucketed(60, 12)] {
        let mut one = One::with_grace(algorithm, 2, secs(10));
        assert_eq!(one.allowed([0, 55_000, 55_000]), [true, true, false]);
        let check = one.hit(40_000, 1);
        assert_eq!((check.verdict, check.used, check.judged_at), (Verdict::Allowed, 1, at(40_000)));
        let check = one.hit(-30_000, 1);
        assert_eq!((check.verdict, check.is_allowed()), (Verdict::Backlog, true));
        let recorded = one.limit.record(&mut one.cell, &mut one.spill, at(-30_000), 1);
        assert_eq!(recorded, Recorded::Backlog);
    }
    let mut bucket = One::with_grace(Algorithm::LeakyBucket { window: secs(60) }, 2, secs(10));
    assert_eq!(bucket.hit(55_000, 1).verdict, Verdict::Allowed);
    assert_eq!(bucket.hit(40_000, 1).verdict, Verdict::Backlog);
}

#[test]
fn a_look_changes_nothing_and_a_refusal_is_not_counted() {
    for algorithm in every_algorithm() {
        let mut one = One::new(algorithm, 3);
        assert_eq!(one.allowed([20_000, 20_000, 20_000]), [true; 3]);
        let before = one.cell.clone();
        assert_eq!(one.allowed([20_001, 20_002]), [false; 2]);
        assert_eq!(one.cell, before);
    }
}

/// From short to long and back, with and without memory for blocks.
#[test]
fn a_log_is_carried_over_whatever_its_length() {
    for spill_bytes in [0, 1 << 20] {
        let mut one = One::new(log(60), 20);
        one.spill = Spill::new(spill_bytes);
        assert_eq!(one.allowed((0..20).map(|n| n * 100)), [true; 20]);
        for (max, used) in [(50, 20), (3, 3), (20, 3), (4, 3)] {
            let mut next = One::new(log(60), max);
            assert!(next.take_over(&one));
            let check = next.limit.check(&next.cell, &next.spill, at(2000), 1);
            assert_eq!(check.used, used, "{max} {spill_bytes}");
            assert_eq!(check.exact, spill_bytes > 0 || max < 50, "{max} {spill_bytes}");
            one = next;
        }
        assert_eq!(one.spill.used(), 0);
    }
}

/// Without memory for a block a log counts on, never too few, and says so.
#[test]
fn a_log_without_memory_is_coarse() {
    let mut one = One::new(log(60), 8);
    one.spill = Spill::new(0);
    let times = (0..20).map(|n| n * 1000);
    assert_eq!(one.allowed(times), [[true; 8].as_slice(), &[false; 12]].concat());
    let check = one.limit.check(&one.cell, &one.spill, at(20_000), 1);
    assert_eq!((check.used, check.exact), (8, false));
    let Verdict::Refused { retry_after } = check.verdict else { panic!("{check:?}") };
    assert!(retry_after.millis() >= 40_000, "not before the first one leaves: {retry_after}");
    let later = at(20_000).after(retry_after);
    assert_eq!(one.limit.check(&one.cell, &one.spill, later, 1).verdict, Verdict::Allowed);
    let check = one.hit(300_000, 1);
    assert_eq!((check.used, check.exact), (0, true));
}
