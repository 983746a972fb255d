//! Figures in words: percent with their intervals, seconds, names.

use crate::evaluate::figures::Rate;
use crate::evaluate::interval::Method;

/// `0.0123 % [0.0100, 0.0200]`: with the exact interval, in percent.
pub fn rate(rate: &Rate) -> String {
    let interval = rate.clopper_pearson;
    rate.value.map_or("-".to_owned(), |value| {
        format!("{} % [{}, {}]", percent(value), percent(interval.low), percent(interval.high))
    })
}

/// The interval by address, else by account, in percent; `*` marks one over clusters without a bootstrap.
pub(super) fn clustered(rate: &Rate) -> String {
    rate.by_address.or(rate.by_account).map_or("-".to_owned(), |clustered| {
        let mark = if clustered.method == Method::ClusterBootstrap { "" } else { "*" };
        format!("[{}, {}]{mark}", percent(clustered.low), percent(clustered.high))
    })
}

/// Percent, with as many digits as rates near none and near all need.
pub fn percent(rate: f64) -> String {
    let percent = 100.0 * rate;
    let is_near_an_end = (percent > 0.0 && percent < 10.0) || (percent > 99.0 && percent < 100.0);
    if is_near_an_end { format!("{percent:.4}") } else { format!("{percent:.1}") }
}

/// Seconds, or never.
pub(super) fn after(seconds: Option<f64>) -> String {
    seconds.map_or("never".to_owned(), |seconds| format!("{seconds:.1} s"))
}

/// A name; the empty one is told as such.
pub(super) fn named(name: &str) -> String {
    if name.is_empty() { "(none)".to_owned() } else { name.to_owned() }
}

/// A group of a scenario.
pub(super) fn group(scenario: &str, group: &str) -> String {
    let parts: Vec<&str> = [scenario, group].into_iter().filter(|part| !part.is_empty()).collect();
    named(&parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_near_the_ends_have_more_digits() {
        let shown = [0.0, 0.0005, 0.0999, 0.5, 0.985, 0.99965, 1.0].map(percent);
        assert_eq!(shown, ["0.0", "0.0500", "9.9900", "50.0", "98.5", "99.9650", "100.0"]);
    }
}
