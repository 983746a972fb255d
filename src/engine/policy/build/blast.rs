//! Budgets: how many accounts each rule and limit may hold up, and each pool ban.

use std::sync::Arc;

use super::draft::Draft;
use super::quantity::{window, within};
use super::{Workshop, check_code};
use crate::engine::blast::ACCOUNTS_MAX;
use crate::engine::decision::ReasonSource;
use crate::engine::policy::blast::idle;
use crate::engine::policy::problem::Report;
use crate::engine::policy::raw::RawBlastRadius;
use crate::engine::policy::reader::At;
use crate::engine::policy::source::Position;
use crate::engine::policy::{Budget, FallBack, Mode};
use crate::engine::time::Span;
use crate::engine::verdict::Verdict;

const CODE: &str = "BLAST_RADIUS";
const TEXT: &str = "A rule that acted on too many accounts at once is held back";

/// What holds where a rule states nothing of its own.
#[derive(Debug)]
pub(super) struct Defaults {
    accounts: Option<u64>,
    share: f64,
    within: Option<Span>,
    then: FallBack,
    code: String,
    text: String,
}

/// A rule, limit or pool as far as its budget goes.
pub(super) struct Holds<'a> {
    pub(super) id: &'a At<String>,
    pub(super) mode: Mode,
    pub(super) family: &'a str,
    /// The strongest verdict that it asks for by itself; `None` when it has points only.
    pub(super) strongest: Option<Verdict>,
    /// The budget of the guards holds for it.
    pub(super) by_default: bool,
}

/// The budget of the guards.
pub(super) fn defaults(draft: &Draft, report: &Report<'_>) -> Defaults {
    let raw = draft.guards.as_ref().and_then(|guards| guards.blast_radius.as_ref());
    let Some(raw) = raw else {
        let (code, text) = (CODE.to_owned(), TEXT.to_owned());
        return Defaults { accounts: None, share: 0.0, within: None, then: FallBack::default(), code, text };
    };
    let (at, raw) = (raw.at, &raw.value);
    if let Some(unlimited) = &raw.unlimited {
        let suggestion = "leave `guards.blast_radius` out".to_owned();
        report.error_with(unlimited.at, "that no rule has a budget is the default", Some(suggestion));
    }
    if raw.accounts.is_some() != raw.within.is_some() {
        report.error(at, "a budget is so many `accounts` `within` a time: state both, or neither");
    }
    raw.code.iter().for_each(|code| check_code(code, report));
    let made = Defaults {
        accounts: raw.accounts.as_ref().and_then(|accounts| number(accounts, report)),
        share: raw.share.as_ref().and_then(|share| part(share, report)).unwrap_or(0.0),
        within: raw.within.as_ref().and_then(|time| window(time, report)),
        then: raw.then.as_ref().map(|word| word.value.meaning()).unwrap_or_default(),
        code: raw.code.as_ref().map_or(CODE, |code| code.value.as_str()).to_owned(),
        text: raw.text.as_ref().map_or(TEXT, |text| text.value.as_str()).to_owned(),
    };
    let idle =
        made.accounts.zip(made.within).and_then(|(accounts, within)| idle(accounts, made.share, within));
    warn_idle(idle, at, report);
    made
}

/// A budget that stops nothing is none.
fn warn_idle(why: Option<String>, at: Position, report: &Report<'_>) {
    if let Some(why) = why {
        let message = format!("this budget will hardly ever stop anything: {why}");
        let suggestion = "a rule gone wrong is stopped by a share of a few percent, within an hour or more";
        report.warn(at, message, Some(suggestion.into()));
    }
}

fn number(accounts: &At<i64>, report: &Report<'_>) -> Option<u64> {
    within("accounts", accounts, 1..=ACCOUNTS_MAX as i64, report).map(i64::unsigned_abs)
}

/// Percent as a share.
fn part(percent: &At<f64>, report: &Report<'_>) -> Option<f64> {
    if percent.value > 0.0 && percent.value <= 100.0 {
        return Some(percent.value / 100.0);
    }
    report.error(percent.at, format!("{} percent: a share is above 0 and at most 100", percent.value));
    None
}

impl Workshop<'_> {
    /// The budget of a rule, limit or pool: its own, else that of the guards where it holds.
    pub(super) fn budget(&mut self, raw: Option<&At<RawBlastRadius>>, of: &Holds<'_>) -> Option<usize> {
        let Some(written) = raw else {
            return if of.by_default { self.add_budget(of, &RawBlastRadius::default()) } else { None };
        };
        for (name, at) in [
            ("code", written.value.code.as_ref().map(|code| code.at)),
            ("text", written.value.text.as_ref().map(|text| text.at)),
        ] {
            if let Some(at) = at {
                let suggestion = format!("state `{name}` in `guards.blast_radius`");
                self.report.error_with(at, "all budgets have one public reason", Some(suggestion));
            }
        }
        if of.mode != Mode::Live {
            let message = format!("`{}` does not act: it holds nobody up", of.id.value);
            self.report.warn(written.at, message, Some("leave `mode` or `blast_radius` out".into()));
        }
        if let Some(why) = &written.value.unlimited {
            self.unlimited(written, why, of);
            return None;
        }
        let budget = self.add_budget(of, &written.value);
        let made = budget.map(|number| &self.blast.budgets[number]);
        warn_idle(made.and_then(Budget::idle), written.at, self.report);
        if budget.is_none() && of.mode == Mode::Live && self.report.is_clean() {
            let message = format!("the budget of `{}` needs `accounts` and `within`", of.id.value);
            let suggestion = "write `{ accounts: 1000, within: 1h }`, or state them in `guards.blast_radius`";
            self.report.error_with(written.at, message, Some(suggestion.into()));
        }
        budget
    }

    fn unlimited(&mut self, written: &At<RawBlastRadius>, why: &At<String>, of: &Holds<'_>) {
        let raw = &written.value;
        if raw.accounts.is_some() || raw.share.is_some() || raw.within.is_some() || raw.then.is_some() {
            self.report.error(why.at, "a budget is `unlimited` or so many accounts, not both");
        }
        if why.value.trim().is_empty() {
            self.report.error(why.at, "say why it may hold up any number of accounts");
        }
        self.blast.unlimited.push(of.id.value.clone());
    }

    fn add_budget(&mut self, of: &Holds<'_>, raw: &RawBlastRadius) -> Option<usize> {
        let report = self.report;
        let stated = (
            raw.accounts.as_ref().map(|accounts| number(accounts, report)),
            raw.share.as_ref().map(|share| part(share, report)),
            raw.within.as_ref().map(|time| window(time, report)),
        );
        let then = self.fall_back(of, raw);
        let defaults = &self.blast_defaults;
        let accounts = stated.0.unwrap_or(defaults.accounts)?;
        let share =
            stated.1.unwrap_or(if raw.accounts.is_some() { Some(0.0) } else { Some(defaults.share) })?;
        let within = stated.2.unwrap_or(defaults.within)?;
        if of.mode != Mode::Live {
            return None;
        }
        let info = ReasonSource {
            id: format!("blast-radius.{}", of.id.value),
            code: defaults.code.clone(),
            family: of.family.to_owned(),
            text: defaults.text.clone(),
            window: Some(within),
        };
        let (rule, info) = (of.id.value.as_str().into(), Arc::new(info));
        self.blast.budgets.push(Budget { rule, accounts, share, within, then, info });
        Some(self.blast.budgets.len() - 1)
    }

    /// `hold` holds back only what would ask for more; by default such rules are in shadow.
    fn fall_back(&self, of: &Holds<'_>, raw: &RawBlastRadius) -> FallBack {
        let weak = of.strongest.filter(|strongest| *strongest <= Verdict::Hold);
        match (&raw.then, weak) {
            (Some(word), Some(strongest)) if word.value.meaning() == FallBack::Hold => {
                let message = format!("`{}` asks for `{strongest}`: `hold` holds nothing back", of.id.value);
                self.report.error_with(word.at, message, Some("write `then: shadow`".into()));
                FallBack::Shadow
            }
            (Some(word), _) => word.value.meaning(),
            (None, Some(_)) => FallBack::Shadow,
            (None, None) => self.blast_defaults.then,
        }
    }
}
