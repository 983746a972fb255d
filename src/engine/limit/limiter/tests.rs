use super::*;
use crate::engine::limit::{Algorithm, LONGEST_WINDOW, Max};
use crate::engine::time::Span;

fn secs(secs: i64) -> Timestamp {
    Timestamp::from_millis(secs * 1000)
}

fn spec(algorithm: Algorithm, max: i64) -> LimitSpec {
    LimitSpec { algorithm, max: Max::AtMost(max), grace: Span::ZERO }
}

/// The two forms of a sliding limit: the table holds for both.
fn sliding(window: i64, max: i64) -> [Limiter; 2] {
    let window = Span::from_secs(window);
    [Algorithm::SlidingLog { window }, Algorithm::SlidingWindow { window, slots: 12 }]
        .map(|algorithm| Limiter::new(&spec(algorithm, max)).unwrap())
}

/// Seconds to wait; 0 when allowed.
fn wait(limiter: &mut Limiter, key: &str, at: i64) -> i64 {
    match limiter.check(key, secs(at)).unwrap().verdict {
        Verdict::Allowed => 0,
        Verdict::Refused { retry_after } => {
            assert_eq!(retry_after.millis() % 1000, 0);
            retry_after.millis() / 1000
        }
        other => panic!("{other:?}"),
    }
}

fn waits(window: i64, max: i64, calls: &[(&str, i64, i64)]) {
    for mut limiter in sliding(window, max) {
        for (key, at, expected) in calls {
            assert_eq!(wait(&mut limiter, key, *at), *expected, "{key} at {at}");
        }
    }
}

#[test]
fn two_in_ten_seconds() {
    let u = "user-1";
    waits(
        10,
        2,
        &[(u, 100, 0), (u, 101, 0), (u, 102, 8), (u, 109, 1), (u, 110, 0), (u, 110, 1), (u, 111, 0)],
    );
}

#[test]
fn each_key_has_its_own_limit() {
    waits(60, 1, &[("user-1", 10, 0), ("user-1", 11, 59), ("user-2", 11, 0)]);
}

#[test]
fn refused_events_do_not_prolong_the_wait() {
    waits(10, 1, &[("user-1", 0, 0), ("user-1", 3, 7), ("user-1", 4, 6)]);
}

#[test]
fn a_maximum_of_zero_refuses_always_for_the_window() {
    waits(30, 0, &[("user-1", 0, 30), ("user-1", 100, 30)]);
    let window = Span::from_secs(30);
    for algorithm in [
        Algorithm::TokenBucket { refill: 1, per: window },
        Algorithm::LeakyBucket { window },
        Algorithm::Calendar { window, zone: "UTC".into() },
    ] {
        assert_eq!(wait(&mut Limiter::new(&spec(algorithm, 0)).unwrap(), "user-1", 7), 30);
    }
}

#[test]
fn time_that_goes_back_is_an_error_and_changes_nothing() {
    for mut limiter in sliding(10, 2) {
        assert_eq!(wait(&mut limiter, "user-1", 100), 0);
        for key in ["user-1", "user-2"] {
            let error = limiter.check(key, secs(99)).unwrap_err();
            assert_eq!(error, LimitError::TimeWentBack { at: secs(99), last: secs(100) });
        }
        assert_eq!(wait(&mut limiter, "user-1", 100), 0);
        assert_eq!(wait(&mut limiter, "user-1", 100), 10);
        assert_eq!(wait(&mut limiter, "user-2", 100), 0);
    }
}

#[test]
fn bad_calls_are_errors_and_change_nothing() {
    for mut limiter in sliding(10, 1) {
        assert_eq!(limiter.check("", secs(50)), Err(LimitError::EmptyKey));
        assert_eq!(limiter.check("a", secs(-1)), Err(LimitError::TimeOutOfRange(secs(-1))));
        let never = Timestamp::from_millis(i64::MAX);
        assert_eq!(limiter.check("a", never), Err(LimitError::TimeOutOfRange(never)));
        assert_eq!(wait(&mut limiter, "a", 0), 0);
    }
}

#[test]
fn bad_limits_are_errors() {
    let day = Span::from_secs(86_400);
    let log = |window| Algorithm::SlidingLog { window };
    let error = |algorithm, max| Limiter::new(&spec(algorithm, max)).unwrap_err();
    assert_eq!(error(log(Span::ZERO), 1), LimitError::EmptyWindow);
    assert_eq!(error(log(Span::from_secs(-5)), 1), LimitError::EmptyWindow);
    assert_eq!(error(log(day), -1), LimitError::NegativeMax(-1));
    assert_eq!(error(log(day), 1025), LimitError::TooManyForLog { max: 1025, most: 1024 });
    let window = day.times(36_525);
    assert_eq!(error(log(window), 1), LimitError::WindowTooLong { window, longest: LONGEST_WINDOW });
    assert!(matches!(error(log(day.times(50)), 1), LimitError::WindowTooLong { .. }));
    for slots in [0, 9, 101] {
        assert_eq!(error(Algorithm::SlidingWindow { window: day, slots }, 1), LimitError::Slots(slots));
    }
    assert_eq!(error(Algorithm::TokenBucket { refill: 0, per: day }, 1), LimitError::NoRefill);
    let huge = error(Algorithm::LeakyBucket { window: day }, i64::MAX);
    assert_eq!(huge, LimitError::TooLarge(i64::MAX as u64));
    let huge = error(Algorithm::SlidingWindow { window: day, slots: 10 }, i64::from(u32::MAX));
    assert_eq!(huge, LimitError::TooLarge(u64::from(u32::MAX)));
    let zone = error(Algorithm::Calendar { window: day, zone: "Mars/Olympus".into() }, 1);
    assert_eq!(zone.to_string(), "there is no time zone \"Mars/Olympus\"");
}

#[test]
fn unlimited_allows_all() {
    let algorithm = Algorithm::SlidingLog { window: Span::from_secs(10) };
    let mut limiter = Limiter::new(&LimitSpec { algorithm, max: Max::Unlimited, grace: Span::ZERO }).unwrap();
    for _ in 0..5000 {
        let check = limiter.check("user-1", secs(1)).unwrap();
        assert_eq!((check.verdict, check.remaining), (Verdict::Allowed, u64::MAX));
    }
}

/// Keys of several fields are the caller's to join so that they cannot run into each other.
#[test]
fn keys_that_differ_are_counted_apart() {
    for mut limiter in sliding(60, 5) {
        for key in ["1:1|2:23", "2:12|1:3", "3:a|b|1:c", "1:a|3:b|c"] {
            for _ in 0..5 {
                assert_eq!(wait(&mut limiter, key, 1), 0);
            }
        }
    }
}

/// Nothing is forgotten or forgiven by a flood of other keys within the budget, nor does the budget grow.
#[test]
fn a_budget_holds() {
    let algorithm = Algorithm::SlidingLog { window: Span::from_secs(60) };
    let mut limiter = Limiter::with_budget(&spec(algorithm, 5), 42, 2 << 20).unwrap();
    for n in 0..100_000 {
        assert!(limiter.check(&format!("key-{n}"), secs(n / 50)).unwrap().is_allowed());
    }
    let stats = limiter.table.stats();
    assert!(stats.bytes <= 2 << 20 && stats.expired > 50_000, "{stats:?}");
}
