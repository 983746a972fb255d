//! The figures of a backtest by name: what `--fail-on` may ask for, and what the JSON and the summary tell.

use std::collections::BTreeMap;

use serde::Serialize;

use super::contrast::Contrast;
use super::findings::Findings;
use super::pass::Seat;
use crate::engine::verdict::Verdict;
use crate::evaluate::Figures;

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// What must be known for it.
    pub needs: Known,
}

/// What a backtest may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The candidate.
    Candidate,
    /// And a policy that it is held against.
    Contrast,
    /// And the truth about some events.
    Labels,
    /// Both.
    LabelledContrast,
}

impl Known {
    /// Whether it is known.
    pub fn is_met(self, contrast: bool, labels: bool) -> bool {
        match self {
            Known::Candidate => true,
            Known::Contrast => contrast,
            Known::Labels => labels,
            Known::LabelledContrast => contrast && labels,
        }
    }

    /// What is missing, in words.
    pub const fn lack(self) -> &'static str {
        match self {
            Known::Candidate => "nothing",
            Known::Contrast => "another policy to hold it against (--against)",
            Known::Labels => "labels (--labels)",
            Known::LabelledContrast => "another policy (--against) and labels (--labels)",
        }
    }
}

const fn figure(name: &'static str, needs: Known, doc: &'static str) -> Figure {
    Figure { name, doc, needs }
}

/// All of them. A share is of the decisions, of accounts of the accounts, unless it says otherwise.
pub const FIGURES: [Figure; 27] = [
    figure("decisions", Known::Candidate, "decisions of the candidate"),
    figure("acted_on", Known::Candidate, "its decisions above allow"),
    figure("held", Known::Candidate, "its decisions that wait for a person"),
    figure("undecided", Known::Candidate, "records it makes dead letters of; a share of all records"),
    figure("inexact", Known::Candidate, "its decisions with any shortcoming but warming up"),
    figure("accounts", Known::Candidate, "accounts with a decision"),
    figure("touched_accounts", Known::Candidate, "accounts with a decision above allow"),
    figure("reviews_per_day", Known::Candidate, "cases opened and accounts held, per day"),
    figure("flips", Known::Contrast, "decisions whose verdict differs"),
    figure("stronger", Known::Contrast, "decisions with a stronger verdict then"),
    figure("weaker", Known::Contrast, "decisions with a weaker verdict then"),
    figure("new_demotes", Known::Contrast, "decisions demoted then, and weaker now"),
    figure("new_challenges", Known::Contrast, "decisions challenged then, and weaker now"),
    figure("new_holds", Known::Contrast, "decisions held then, and weaker now"),
    figure("new_rejects", Known::Contrast, "decisions rejected then, and weaker now"),
    figure("new_blocks", Known::Contrast, "decisions blocked then, and weaker now"),
    figure("newly_acted_on", Known::Contrast, "decisions above allow then that are allowed now"),
    figure("newly_allowed", Known::Contrast, "decisions allowed then that are not now"),
    figure(
        "newly_touched_accounts",
        Known::Contrast,
        "accounts with a decision above allow then and none now",
    ),
    figure("newly_touched_settled", Known::Contrast, "settled ones of these"),
    figure("newly_touched_paying", Known::Contrast, "paying ones of these"),
    figure("more_reviews_per_day", Known::Contrast, "reviews per day more than now"),
    figure("precision", Known::Labels, "attackers among the labelled accounts acted on"),
    figure("recall", Known::Labels, "attackers acted on, of all that are labelled"),
    figure("false_positive_rate", Known::Labels, "honest accounts acted on, of all that are labelled"),
    figure("recall_change", Known::LabelledContrast, "recall then less recall now"),
    figure("false_positive_rate_change", Known::LabelledContrast, "false-positive rate then less now"),
];

/// The value of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Value {
    /// How many, or how much.
    pub value: f64,
    /// Of how many, where it is a part of something.
    pub of: Option<f64>,
}

impl Value {
    pub(super) fn plain(value: f64) -> Self {
        Self { value, of: None }
    }

    fn part(value: u64, of: u64) -> Self {
        Self { value: value as f64, of: Some(of as f64) }
    }

    /// As a share; `None` where it is none. Nothing of nothing is no share either.
    pub fn share(self) -> Option<f64> {
        self.of.filter(|of| *of > 0.0).map(|of| self.value / of)
    }
}

/// The values by name.
pub type Values = BTreeMap<&'static str, Value>;

impl Findings {
    /// The figures that are known; of the candidate against the `number`-th other policy, when it is given.
    pub fn values(&self, number: Option<usize>) -> Values {
        let mut values = Values::new();
        let (candidate, days) = (&self.ran.seats[0], self.ran.passed.days());
        of_candidate(candidate, days, &mut values);
        if let Some(figures) = &self.detection[0] {
            of_labels(figures, &mut values);
        }
        if let Some(number) = number {
            let other = &self.ran.seats[number + 1];
            of_contrast(&self.ran.contrasts[number], candidate, &mut values);
            let more = reviews(candidate, days) - reviews(other, days);
            values.insert("more_reviews_per_day", Value::plain(more));
            if let (Some(now), Some(then)) = (&self.detection[number + 1], &self.detection[0]) {
                of_change(now, then, &mut values);
            }
        }
        values
    }
}

/// Cases opened and accounts held, per day.
pub(super) fn reviews(seat: &Seat, days: f64) -> f64 {
    (seat.ledger.cases + seat.ledger.held.accounts()) as f64 / days
}

fn of_candidate(candidate: &Seat, days: f64, values: &mut Values) {
    let ledger = &candidate.ledger;
    let decisions = ledger.decisions();
    let dead = ledger.tally.dead_letters().values().sum();
    let held = ledger.tally.verdicts()[Verdict::Hold as usize].1;
    let accounts = ledger.accounts.accounts();
    for (name, value) in [
        ("decisions", Value::plain(decisions as f64)),
        ("acted_on", Value::part(ledger.at_least(Verdict::Demote), decisions)),
        ("held", Value::part(held, decisions)),
        ("undecided", Value::part(dead, ledger.tally.consumed)),
        ("inexact", Value::part(ledger.inexact, decisions)),
        ("accounts", Value::plain(accounts as f64)),
        ("touched_accounts", Value::part(ledger.touched.accounts(), accounts)),
        ("reviews_per_day", Value::plain(reviews(candidate, days))),
    ] {
        values.insert(name, value);
    }
}

/// What verdicts alone tell of two policies on the same events.
pub(super) fn of_verdicts(contrast: &Contrast, values: &mut Values) {
    let decisions = contrast.decisions();
    let mut count = |name, of: &dyn Fn(Verdict, Verdict) -> bool| {
        values.insert(name, Value::part(contrast.count(of), decisions));
    };
    count("flips", &|now, then| now != then);
    count("stronger", &|now, then| now < then);
    count("weaker", &|now, then| now > then);
    for (name, verdict) in [
        ("new_demotes", Verdict::Demote),
        ("new_challenges", Verdict::Challenge),
        ("new_holds", Verdict::Hold),
        ("new_rejects", Verdict::Reject),
        ("new_blocks", Verdict::Block),
    ] {
        count(name, &|now, then| then == verdict && now < then);
    }
    count("newly_acted_on", &|now, then| now == Verdict::Allow && then > now);
    count("newly_allowed", &|now, then| then == Verdict::Allow && now > then);
}

fn of_contrast(contrast: &Contrast, candidate: &Seat, values: &mut Values) {
    of_verdicts(contrast, values);
    let (touched, accounts) = (&contrast.newly_touched, candidate.ledger.accounts.accounts());
    let part = |share: Option<f64>| Value {
        value: touched.accounts() as f64 * share.unwrap_or(0.0),
        of: Some(accounts as f64),
    };
    values.insert("newly_touched_accounts", Value::part(touched.accounts(), accounts));
    values.insert("newly_touched_settled", part(touched.share(|kept| kept.settled)));
    values.insert("newly_touched_paying", part(touched.share(|kept| kept.paying)));
}

/// Rates over labelled accounts, above allow; those without any account are not there.
fn of_labels(figures: &Figures, values: &mut Values) {
    let at_demote = &figures.accounts[0];
    let rates = [
        ("precision", &at_demote.precision),
        ("recall", &at_demote.recall),
        ("false_positive_rate", &at_demote.false_positive_rate),
    ];
    for (name, rate) in rates {
        if let Some(value) = rate.value {
            values.insert(name, Value { value, of: Some(1.0) });
        }
    }
}

fn of_change(now: &Figures, then: &Figures, values: &mut Values) {
    let (now, then) = (&now.accounts[0], &then.accounts[0]);
    let rates = [
        ("recall_change", &now.recall, &then.recall),
        ("false_positive_rate_change", &now.false_positive_rate, &then.false_positive_rate),
    ];
    for (name, now, then) in rates {
        if let (Some(now), Some(then)) = (now.value, then.value) {
            values.insert(name, Value { value: then - now, of: Some(1.0) });
        }
    }
}
