//! What a replay tells at its end, for people or as one line of JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::commands::table::visible;
use crate::engine::time::Timestamp;
use crate::replay::{Oddity, Summary};

/// What a replay cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// CPU time of the whole process, without the measuring of the floor.
    pub(super) cpu_seconds: f64,
    /// That, against a bare parse of the same lines.
    pub(super) parse_floor_ratio: Option<f64>,
    /// The most memory the process had resident, in bytes.
    pub(super) peak_rss: Option<u64>,
}

/// The statistics of a replay.
#[derive(Debug, Serialize)]
pub(super) struct Stats {
    /// Lines read; the sum of `outcomes`.
    consumed: u64,
    /// What became of the lines.
    outcomes: BTreeMap<&'static str, u64>,
    /// Why lines could not be decided.
    dead_letters: BTreeMap<&'static str, u64>,
    /// Decisions, one for each decided line.
    verdicts: BTreeMap<&'static str, u64>,
    cpu_seconds: f64,
    events_per_cpu_second: f64,
    parse_floor_ratio: Option<f64>,
    peak_rss_bytes: Option<u64>,
    policy: String,
    as_of: String,
    ban_changes: u64,
    case_records: u64,
    /// Corrections of decisions, of which each line has but the first.
    revisions: u64,
    /// Whether they were written anywhere.
    #[serde(skip)]
    pub(super) revisions_written: bool,
    /// What was decided and is odd.
    odd: Vec<Oddity>,
    /// The first lines of each kind that could not be decided.
    faults: Vec<Fault>,
}

/// One line that could not be decided.
#[derive(Debug, Serialize)]
struct Fault {
    /// `file:line:column`, as far as there is one.
    at: String,
    reason: &'static str,
    /// The field; empty where it is none.
    place: String,
    message: String,
}

impl Stats {
    pub(super) fn new(input: &str, summary: &Summary, cost: &Cost, policy: &str, as_of: Timestamp) -> Self {
        let tally = &summary.tally;
        let faults = summary.faults.iter().map(|(line, error)| Fault {
            at: error.in_file(input, *line).0,
            reason: error.reason.name(),
            place: error.field().to_owned(),
            message: error.message.clone(),
        });
        Self {
            consumed: tally.consumed,
            outcomes: tally.outcomes(),
            dead_letters: tally.dead_letters().into_iter().map(|(reason, n)| (reason.name(), n)).collect(),
            verdicts: tally.verdicts().into_iter().map(|(verdict, n)| (verdict.name(), n)).collect(),
            cpu_seconds: cost.cpu_seconds,
            events_per_cpu_second: tally.consumed as f64 / cost.cpu_seconds.max(f64::MIN_POSITIVE),
            parse_floor_ratio: cost.parse_floor_ratio,
            peak_rss_bytes: cost.peak_rss,
            policy: policy.to_owned(),
            as_of: as_of.to_string(),
            ban_changes: summary.ban_changes,
            case_records: summary.case_records,
            revisions: summary.revisions,
            revisions_written: false,
            odd: summary.odd.in_file(input),
            faults: faults.collect(),
        }
    }

    /// One line.
    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).expect("text, numbers and structs of them can be written")
    }

    /// For people: the faults, what is odd, then the figures.
    pub(super) fn text(&self) -> String {
        let mut text = self.faults_text();
        for Oddity { kind, count, first, message } in &self.odd {
            let told = visible(&format!("{kind}: {count} times, first at {first}: {message}"));
            writeln!(text, "{told}").expect("memory takes all");
        }
        let mut line = |name: &str, value: String| {
            writeln!(text, "{name:<12} {value}").expect("memory takes all");
        };
        line("consumed", format!("{} lines", self.consumed));
        line("outcomes", counts(&self.outcomes));
        if !self.dead_letters.is_empty() {
            line("dead letters", counts(&self.dead_letters));
        }
        line("verdicts", counts(&self.verdicts));
        line("bans", format!("{} changes, {} case records", self.ban_changes, self.case_records));
        let unwritten = match self.revisions {
            0 => "",
            _ if self.revisions_written => "",
            _ => ", in no line of the output: --revisions FILE writes them",
        };
        line("corrections", format!("{} of decisions made before{unwritten}", self.revisions));
        line(
            "cpu",
            format!("{:.2} s, {:.0} events per CPU-second", self.cpu_seconds, self.events_per_cpu_second),
        );
        if let Some(ratio) = self.parse_floor_ratio {
            line("floor", format!("{ratio:.2} times a bare parse of the same lines"));
        }
        if let Some(bytes) = self.peak_rss_bytes {
            line("memory", format!("{:.0} MB at most", bytes as f64 / f64::from(1 << 20)));
        }
        line("policy", self.policy.clone());
        line("as of", self.as_of.clone());
        text.truncate(text.trim_end().len());
        if self.is_all_faults() {
            text += "\nerror: nothing in the input could be decided";
        }
        text
    }

    fn faults_text(&self) -> String {
        let told = |fault: &Fault| {
            let Fault { at, reason, place, message } = fault;
            let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
            format!("{}\n", visible(&format!("{at}: {reason}: {message}{place}")))
        };
        let mut text: String = self.faults.iter().map(told).collect();
        for (reason, all) in &self.dead_letters {
            let kept = self.faults.iter().filter(|fault| fault.reason == *reason).count() as u64;
            if *all > kept {
                writeln!(text, "and {} more of the same kind: {reason}", all - kept)
                    .expect("memory takes all");
            }
        }
        text
    }

    /// Whether no line could be decided, or there was none.
    pub(super) fn is_all_faults(&self) -> bool {
        self.consumed == self.dead_letters.values().sum::<u64>()
    }
}

/// `decided 3, duplicate 1`; what did not occur is left out.
fn counts(counts: &BTreeMap<&'static str, u64>) -> String {
    let told: Vec<String> =
        counts.iter().filter(|(_, n)| **n > 0).map(|(name, n)| format!("{name} {n}")).collect();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}
