//! All that a backtest found, as data; the JSON of it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::actor::Mask;
use super::contrast::Contrast;
use super::figures::{Values, reviews};
use super::origin::Origin;
use super::pass::{Ran, Seat};
use super::range::Passed;
use super::sample::Sample;
use super::timeline::Verdicts;
use super::top::Affected;
use crate::engine::policy::Mode;
use crate::engine::verdict::Verdict;
use crate::evaluate::read::Faults;
use crate::evaluate::{Figures, Groups};
use crate::replay::{Odd, Oddity};

/// A rule that spoke less often may have met another one by chance.
const COVERED_LEAST: u64 = 20;

/// See the module.
#[derive(Debug)]
pub struct Findings {
    pub(super) ran: Ran,
    /// How well each policy detects, where labels say what is true.
    pub(super) detection: Vec<Option<Figures>>,
    pub(super) faults: Faults,
    pub(super) odd: Odd,
    pub(super) mask: Mask,
    /// Further facts for the head of a report: input, command.
    pub(super) facts: Vec<(String, String)>,
}

impl Findings {
    /// Works them out. `facts` are told at the head of reports.
    pub fn new(
        ran: Ran,
        groups: &Groups,
        (faults, odd): (Faults, Odd),
        mask: Mask,
        facts: Vec<(String, String)>,
    ) -> Self {
        let figures = |seat: &Seat| seat.book.as_ref().map(|book| Figures::of(book, groups));
        let detection = ran.seats.iter().map(figures).collect();
        Self { ran, detection, faults, odd, mask, facts }
    }

    /// How many policies the candidate is held against.
    pub fn against(&self) -> usize {
        self.ran.contrasts.len()
    }

    /// The name of the `number`-th policy that the candidate is held against.
    pub fn name_of(&self, number: usize) -> &str {
        &self.ran.seats[number + 1].name
    }

    /// The name of the candidate.
    pub fn candidate(&self) -> &str {
        &self.ran.seats[0].name
    }

    /// Facts for the head of a report.
    pub fn facts(&self) -> &[(String, String)] {
        &self.facts
    }

    /// What could not be read.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What was read and is odd.
    pub fn odd(&self) -> &Odd {
        &self.odd
    }

    /// Why nothing counts, when nothing does.
    pub fn emptiness(&self) -> String {
        let passed = &self.ran.passed;
        format!(
            "of {} records {} lie before the warm-up, {} in it and {} after the range",
            passed.read, passed.before, passed.warm_up, passed.after
        )
    }

    /// Rules, limits and pools of the candidate that spoke of nothing.
    pub fn silent(&self) -> Vec<&str> {
        let list = &self.ran.seats[0].ledger.speakers.list;
        let silent = list.iter().filter(|speaker| speaker.is_silent() && speaker.mode != Mode::Off);
        silent.map(|speaker| speaker.id.as_str()).collect()
    }

    /// Rules of the candidate that spoke often enough to tell, and never without another one: which, and how often.
    pub fn covered(&self) -> Vec<(&str, &str, u64)> {
        let speakers = &self.ran.seats[0].ledger.speakers;
        let covered = speakers.list.iter().enumerate().filter_map(|(number, speaker)| {
            let (by, count) = *speakers.overlaps(number).first()?;
            let is_covered = count == speaker.all() && count >= COVERED_LEAST;
            is_covered.then(|| (speaker.id.as_str(), speakers.list[by].id.as_str(), count))
        });
        covered.collect()
    }

    /// Events that counted.
    pub fn counted(&self) -> u64 {
        self.ran.passed.inside
    }

    /// How many of them the candidate decided.
    pub fn decided(&self) -> u64 {
        self.ran.seats[0].ledger.decisions()
    }

    /// Whether the input, or a partition of it, could not be read to its end.
    pub fn broke_off(&self) -> bool {
        self.faults.broke_off()
    }

    /// All of it as JSON.
    pub fn json(&self) -> String {
        let facts = self.facts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let range = &self.ran.range;
        let time = |at: Option<crate::engine::time::Timestamp>| at.map(|at| at.to_string());
        let document = Document {
            facts,
            since: time(range.since),
            until: time(range.until),
            warm_up: range.warm_up_told(),
            began: self.ran.origin.as_ref(),
            first: time(self.ran.passed.span.map(|(first, _)| first)),
            last: time(self.ran.passed.span.map(|(_, last)| last)),
            records: &self.ran.passed,
            not_read: &self.faults,
            odd: self.odd.list(),
            policies: self
                .ran
                .seats
                .iter()
                .zip(&self.detection)
                .map(|(seat, f)| self.policy(seat, f))
                .collect(),
            acted_on: self
                .ran
                .alone
                .top
                .ranked()
                .into_iter()
                .map(|affected| self.account(affected))
                .collect(),
            targets_acted_on: self.targets(&self.ran.alone),
            contrasts: (0..self.against()).map(|number| self.contrast(number)).collect(),
            figures: self.values((self.against() > 0).then_some(0)),
        };
        serde_json::to_string_pretty(&document).expect("text, numbers and structs of them can be written")
            + "\n"
    }

    fn policy<'f>(&'f self, seat: &'f Seat, detection: &'f Option<Figures>) -> PolicyFindings<'f> {
        let ledger = &seat.ledger;
        let quality = ledger.quality.iter().map(|((code, counter), count)| {
            let name = counter.as_ref().map_or(code.name().to_owned(), |of| format!("{}: {of}", code.name()));
            (name, *count)
        });
        PolicyFindings {
            name: &seat.name,
            hash: &ledger.policy.hash,
            outcomes: ledger.tally.outcomes(),
            verdicts: named(&ledger.tally.verdicts().map(|(_, count)| count)),
            accounts: (&ledger.accounts).into(),
            touched: (&ledger.touched).into(),
            revisions: named(&ledger.revisions),
            cases: ledger.cases,
            bans: ledger.bans,
            reviews_per_day: reviews(seat, self.ran.passed.days()),
            not_exact: quality.collect(),
            rules: ledger.speakers.list.iter().map(|speaker| rule(seat, speaker)).collect(),
            scores: ledger.scores.bins().map(|(score, bin)| (score, bin.events)).collect(),
            detection: detection.as_ref(),
        }
    }

    fn contrast(&self, number: usize) -> ContrastFindings<'_> {
        let contrast = &self.ran.contrasts[number];
        let matrix = Verdict::ALL.map(|now| (now.name(), named(&contrast.matrix[now as usize])));
        ContrastFindings {
            against: &self.ran.seats[number + 1].name,
            matrix: matrix.into(),
            decided_by_one: contrast.decided_by_one,
            newly_touched: (&contrast.newly_touched).into(),
            newly_freed: (&contrast.newly_freed).into(),
            accounts: contrast.top.ranked().into_iter().map(|affected| self.account(affected)).collect(),
            targets: self.targets(contrast),
            figures: self.values(Some(number)),
        }
    }

    fn targets<'f>(&self, contrast: &'f Contrast) -> Vec<TargetFindings<'f>> {
        let target = |affected: &'f Affected| TargetFindings {
            target: self.mask.name(&affected.name),
            changes: affected.changes,
            possibly_too_many: affected.error,
            stronger: affected.stronger,
            weaker: affected.weaker,
            gained: counted(&affected.gained),
            lost: counted(&affected.lost),
            event_id: &affected.example.event,
        };
        contrast.targets.ranked().into_iter().map(target).collect()
    }

    fn account<'f>(&self, affected: &'f Affected) -> AccountFindings<'f> {
        let example = &affected.example;
        AccountFindings {
            account: self.mask.name(&affected.name),
            changes: affected.changes,
            possibly_too_many: affected.error,
            stronger: affected.stronger,
            weaker: affected.weaker,
            settled: affected.standing.settled,
            paying: affected.standing.paying,
            gained: counted(&affected.gained),
            lost: counted(&affected.lost),
            event_id: &example.event,
            now: example.now.name(),
            then: example.then.name(),
        }
    }
}

/// The JSON of a backtest.
#[derive(Debug, Serialize)]
struct Document<'d> {
    facts: BTreeMap<&'d str, &'d str>,
    since: Option<String>,
    until: Option<String>,
    warm_up: String,
    /// Where a checkpoint was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<&'d Origin>,
    first: Option<String>,
    last: Option<String>,
    records: &'d Passed,
    not_read: &'d Faults,
    odd: Vec<Oddity>,
    /// The candidate first.
    policies: Vec<PolicyFindings<'d>>,
    /// The accounts most acted on, where there is nothing to compare with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    acted_on: Vec<AccountFindings<'d>>,
    /// The targets most acted on, likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets_acted_on: Vec<TargetFindings<'d>>,
    contrasts: Vec<ContrastFindings<'d>>,
    /// Of the candidate, against the first other policy.
    figures: Values,
}

#[derive(Debug, Serialize)]
struct PolicyFindings<'d> {
    name: &'d str,
    hash: &'d str,
    outcomes: BTreeMap<&'static str, u64>,
    verdicts: BTreeMap<&'static str, u64>,
    accounts: Count,
    touched: Count,
    revisions: BTreeMap<&'static str, u64>,
    cases: u64,
    bans: u64,
    reviews_per_day: f64,
    not_exact: BTreeMap<String, u64>,
    rules: Vec<RuleFindings<'d>>,
    scores: BTreeMap<i32, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detection: Option<&'d Figures>,
}

/// How many accounts.
#[derive(Clone, Copy, Debug, Serialize)]
struct Count {
    accounts: u64,
    exact: bool,
    settled_share: Option<f64>,
    paying_share: Option<f64>,
}

impl From<&Sample> for Count {
    fn from(sample: &Sample) -> Self {
        Self {
            accounts: sample.accounts(),
            exact: sample.is_exact(),
            settled_share: sample.share(|kept| kept.settled),
            paying_share: sample.share(|kept| kept.paying),
        }
    }
}

#[derive(Debug, Serialize)]
struct RuleFindings<'d> {
    id: &'d str,
    kind: &'static str,
    mode: &'static str,
    effect: &'d str,
    hits: u64,
    shadow: u64,
    alone: u64,
    accounts: Count,
    held_accounts: u64,
    cases: u64,
    bans: u64,
    overlaps: BTreeMap<&'d str, u64>,
}

#[derive(Debug, Serialize)]
struct ContrastFindings<'d> {
    against: &'d str,
    matrix: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    decided_by_one: u64,
    newly_touched: Count,
    newly_freed: Count,
    accounts: Vec<AccountFindings<'d>>,
    targets: Vec<TargetFindings<'d>>,
    figures: Values,
}

#[derive(Debug, Serialize)]
struct AccountFindings<'d> {
    account: String,
    changes: u64,
    possibly_too_many: u64,
    stronger: u64,
    weaker: u64,
    settled: Option<bool>,
    paying: Option<bool>,
    gained: BTreeMap<&'d str, u64>,
    lost: BTreeMap<&'d str, u64>,
    event_id: &'d str,
    now: &'static str,
    then: &'static str,
}

#[derive(Debug, Serialize)]
struct TargetFindings<'d> {
    target: String,
    changes: u64,
    possibly_too_many: u64,
    stronger: u64,
    weaker: u64,
    gained: BTreeMap<&'d str, u64>,
    lost: BTreeMap<&'d str, u64>,
    event_id: &'d str,
}

/// Who spoke, and how often.
fn counted(list: &[(String, u64)]) -> BTreeMap<&str, u64> {
    list.iter().map(|(id, count)| (id.as_str(), *count)).collect()
}

fn rule<'s>(seat: &'s Seat, speaker: &'s super::speakers::Speaker) -> RuleFindings<'s> {
    let speakers = &seat.ledger.speakers;
    let number = speakers.list.iter().position(|other| other.id == speaker.id).unwrap_or_default();
    let overlaps = speakers.overlaps(number);
    RuleFindings {
        id: &speaker.id,
        kind: speaker.kind.name(),
        mode: mode(speaker.mode),
        effect: &speaker.effect,
        hits: speaker.hits,
        shadow: speaker.shadow,
        alone: speaker.alone,
        accounts: (&speaker.accounts).into(),
        held_accounts: speaker.held.accounts(),
        cases: speaker.cases,
        bans: speaker.bans,
        overlaps: overlaps.iter().map(|(other, count)| (speakers.list[*other].id.as_str(), *count)).collect(),
    }
}

/// A mode in a word.
pub(super) const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Live => "live",
        Mode::Shadow => "shadow",
        Mode::Off => "off",
    }
}

/// Counts by the names of verdicts.
fn named(counts: &Verdicts) -> BTreeMap<&'static str, u64> {
    Verdict::ALL.into_iter().map(|verdict| (verdict.name(), counts[verdict as usize])).collect()
}
