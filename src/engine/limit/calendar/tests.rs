use super::*;

fn millis(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

fn hours(hours: i64) -> Span {
    Span::from_secs(hours * 3600)
}

/// The window of an instant, its bounds as UTC text.
fn window(zone: &str, length: Span, at: &str) -> (String, String) {
    let (start, end) = Calendar::new(length, zone).unwrap().period(millis(at));
    (instant(start).to_string(), instant(end).to_string())
}

fn check(zone: &str, length: Span, at: &str, start: &str, end: &str) {
    assert_eq!(window(zone, length, at), (start.to_owned(), end.to_owned()), "{zone} {length} {at}");
}

#[test]
fn days_start_at_midnight_of_the_zone() {
    check("UTC", hours(24), "2026-03-10T23:59:59.999Z", "2026-03-10T00:00:00Z", "2026-03-11T00:00:00Z");
    check("Asia/Tokyo", hours(24), "2026-03-10T15:00:00Z", "2026-03-10T15:00:00Z", "2026-03-11T15:00:00Z");
    check("Asia/Kolkata", hours(1), "2026-03-10T15:29:59Z", "2026-03-10T14:30:00Z", "2026-03-10T15:30:00Z");
}

#[test]
fn weeks_start_on_monday() {
    // 2026-03-15 is a Sunday.
    check("UTC", hours(168), "2026-03-15T23:00:00Z", "2026-03-09T00:00:00Z", "2026-03-16T00:00:00Z");
    check(
        "Europe/Berlin",
        hours(168),
        "2026-03-15T23:00:00Z",
        "2026-03-15T23:00:00Z",
        "2026-03-22T23:00:00Z",
    );
}

#[test]
fn days_are_longer_or_shorter_where_clocks_change() {
    // Berlin: forward on 2026-03-29 at 01:00Z, back on 2026-10-25 at 01:00Z.
    check("Europe/Berlin", hours(24), "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z");
    check("Europe/Berlin", hours(24), "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z");
}

#[test]
fn a_boundary_in_a_gap_is_where_the_gap_ends() {
    // Cairo skipped the hour after midnight on 2024-04-26 (22:00Z).
    check("Africa/Cairo", hours(24), "2024-04-26T10:00:00Z", "2024-04-25T22:00:00Z", "2024-04-26T21:00:00Z");
}

#[test]
fn an_hour_that_comes_twice_is_one_window() {
    let berlin = |at, start, end| check("Europe/Berlin", hours(1), at, start, end);
    berlin("2026-10-25T00:10:00Z", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z");
    berlin("2026-10-25T01:10:00Z", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z");
    berlin("2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z", "2026-10-25T03:00:00Z");
}

/// Every instant lies in its window, and the window that starts where one ends is the next.
#[test]
fn windows_divide_time_without_gap_or_overlap() {
    let zones =
        ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo"];
    for zone in zones {
        for minutes in [30, 60, 7 * 60, 150, 1440, 3 * 1440, 10_080] {
            let calendar = Calendar::new(Span::from_secs(minutes * 60), zone).unwrap();
            for from in [
                "2024-04-20T00:00:00Z",
                "2006-10-20T00:00:00Z",
                "2026-03-25T00:00:00Z",
                "2026-10-20T00:00:00Z",
            ] {
                let mut at = millis(from);
                let stop = at + 14 * DAY;
                while at < stop {
                    let (start, end) = calendar.period(at);
                    assert!(start <= at && at < end, "{zone} {minutes} {}", instant(at));
                    assert!(end - start <= calendar.longest_period().millis());
                    assert_eq!(calendar.period(end - 1), (start, end), "{zone} {minutes} {}", instant(at));
                    assert_eq!(calendar.period(end).0, end, "{zone} {minutes} {}", instant(end));
                    at = end;
                }
            }
        }
    }
}
