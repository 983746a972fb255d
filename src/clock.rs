//! The only place that asks the operating system for time, and for what this process has used.
//!
//! Nothing read here reaches the engine or a record but `decided_at`: the time of an event comes in with it. Wall
//! time may jump; lengths of time are measured with [`Stopwatch`], which cannot run backwards. Figures that an
//! operating system does not give are `None`, never zero.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::engine::time::{Span, Timestamp};

/// The wall clock, in UTC. A clock set before 1970 reads as 1970.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// CPU time that all threads of this process have used, in seconds.
pub fn process_cpu_seconds() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

/// CPU time that the calling thread has used, in seconds.
pub fn thread_cpu_seconds() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The most memory this process ever had resident, in bytes; `None` where the system does not tell.
pub fn peak_rss_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

/// The memory this process has resident now, in bytes; `None` where the system does not tell.
pub fn rss_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

fn status_bytes(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Measures a length of time; starts when made. Never runs backwards, and is not moved by a change of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Seconds since the start.
    pub fn seconds(self) -> f64 {
        self.elapsed().as_secs_f64()
    }
}

/// A wall clock that moves by more than this against the monotonic one has jumped: it was set, not slewed.
const JUMP: Span = Span::from_secs(60);

/// The wall clock while it goes on steadily. One that was set from one moment to the next is not believed: time goes on from
/// where it was, by the monotonic clock, until both agree again. A ban must neither end nor stay because of a clock.
#[derive(Debug)]
pub struct SteadyClock {
    /// The wall clock at a moment when it was believed.
    at: Timestamp,
    since: Stopwatch,
    jumped: bool,
}

impl SteadyClock {
    /// Believes the wall clock as it is now.
    pub fn start() -> Self {
        Self { at: now(), since: Stopwatch::start(), jumped: false }
    }

    /// The time now, and whether the wall clock is found to have jumped since it was last asked.
    pub fn now(&mut self) -> (Timestamp, bool) {
        let wall = now();
        let (time, jumped) = steady(self.at, self.since.elapsed(), wall);
        if !jumped {
            (self.at, self.since) = (wall, Stopwatch::start());
        }
        let is_news = jumped && !self.jumped;
        if is_news {
            tracing::error!(%wall, steady = %time, "the wall clock jumped: it is not followed until it is right again");
        }
        self.jumped = jumped;
        (time, is_news)
    }
}

/// The wall clock, or the time that has passed since it was believed where it differs too much; and whether it does.
fn steady(at: Timestamp, elapsed: Duration, wall: Timestamp) -> (Timestamp, bool) {
    let expected = at.after(Span::from_millis(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)));
    let jumped = wall > expected.after(JUMP) || wall < expected.before(JUMP);
    (if jumped { expected } else { wall }, jumped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_jumps_is_not_followed_and_one_that_is_slewed_is() {
        let at = Timestamp::from_millis(1_750_000_000_000);
        let hour = Span::from_secs(3600);
        let expected = at.after(Span::from_secs(10));
        for wall in [expected.after(hour), expected.before(hour), expected.after(hour.times(87_600))] {
            assert_eq!(steady(at, Duration::from_secs(10), wall), (expected, true));
        }
        for wall in [expected, expected.after(JUMP), expected.before(JUMP)] {
            assert_eq!(steady(at, Duration::from_secs(10), wall), (wall, false));
        }
        let mut clock = SteadyClock::start();
        assert!(!clock.now().1);
        clock.at = clock.at.before(hour);
        let (time, is_news) = clock.now();
        assert!(is_news && time < now().before(JUMP), "{time}");
        assert!(!clock.now().1, "told once");
        clock.at = now();
        assert!(clock.now().0 > time && !clock.jumped, "right again");
    }

    #[test]
    fn the_wall_clock_shows_a_time_an_event_may_carry() {
        assert!(now() > Timestamp::MIN && now() < Timestamp::MAX);
    }

    #[test]
    fn work_uses_cpu_time_and_passes_on_the_stopwatch() {
        let (watch, thread, process) = (Stopwatch::start(), thread_cpu_seconds(), process_cpu_seconds());
        let mut sum = 0_u64;
        while thread_cpu_seconds() <= thread || watch.elapsed().is_zero() {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(process_cpu_seconds() > process);
        assert!(watch.seconds() > 0.0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn both_memory_figures_are_told_in_bytes() {
        // The kernel counts by thread and in batches: at any one moment the two need not be in order.
        let (now, peak) = (rss_bytes().expect("linux tells"), peak_rss_bytes().expect("linux tells"));
        assert!(now > 1_000_000 && peak > 1_000_000, "{now} {peak}");
    }
}
