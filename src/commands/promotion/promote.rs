//! A candidate is put in place, unless it acts on more than its budget allows.

use super::entry::{Entry, Judged};
use super::{Place, shadow, short};
use crate::backtest::Ruling;
use crate::cli::{FileOrStandard, PromoteArgs, exit};
use crate::commands::{Failure, backtest, needless, policy, print, tell};
use crate::replay::run_test;

/// See the module.
pub(super) fn promote(args: &PromoteArgs) -> Result<u8, Failure> {
    needless::of_promotion(args)?;
    let place = Place::of(&args.versions)?;
    let candidate = policy::read(&args.candidate)?;
    let loaded = candidate.load_or_fail()?;
    let hash = loaded.policy.hash.to_string();
    if hash == place.hash {
        tell(&format!("{} is in place already", short(&hash)));
        return Ok(exit::OK);
    }
    let failed = loaded.tests.iter().filter(|test| !run_test(&loaded.policy, test).is_empty()).count();
    if failed > 0 {
        return Err(Failure::new(format!(
            "{failed} of its own tests fail: see `weir test --policy {}`",
            candidate.name()
        )));
    }
    let is_given = args.input.is_some() || args.from.is_some();
    let judged = is_given.then(|| judge(args, &place)).transpose()?;
    let beside = args.from_shadow.then(|| shadow::judge(args, &place, &hash)).transpose()?;
    let all = || judged.iter().chain(&beside);
    if all().any(|judged| judged.decisions == 0) {
        return Err(Failure::new("no event counts: there is nothing to judge the candidate by"));
    }
    let figures: Vec<String> = all().map(Judged::told).collect();
    let (figures, is_over) = (figures.join("; "), all().any(|judged| judged.over_budget));
    if is_over && args.force.is_none() {
        let words = "refused, over the budget";
        tell(&format!(
            "{}: {words}: {} ({figures}); --force REASON puts it in place",
            short(&hash),
            args.budget
        ));
        return Ok(exit::GATE);
    }
    let way = place.put(&hash, &candidate.files)?;
    let over = if is_over { "FORCED over its budget" } else { "within its budget" };
    let entry = Entry::new("promote", &args.who, &place, &hash);
    Entry { judged, shadow: beside, ..entry }.note(&place)?;
    let (dir, from) = (place.dir.display(), short(&place.hash));
    print(&format!("{dir}: {} in place of {from}, {over} ({figures}); {way}\n", short(&hash)))?;
    Ok(exit::OK)
}

/// Decides the events by both, and tells what a backtest tells.
fn judge(args: &PromoteArgs, place: &Place) -> Result<Judged, Failure> {
    let typed = args.backtest(place.found.dir.clone());
    let (findings, gate) = backtest::find(&typed)?;
    let rulings = gate.as_ref().map(|gate| backtest::rulings(gate, &findings)).unwrap_or_default();
    backtest::told(&typed, &findings, gate.as_ref())?;
    if findings.broke_off() {
        return Err(Failure::new("the input broke off: a candidate is judged by all of it or not at all"));
    }
    let is_over = rulings.iter().any(Ruling::is_shut);
    let input = match (&args.from, &args.input) {
        (Some(from), _) => from.topic.clone(),
        (None, Some(FileOrStandard::File(path))) => path.display().to_string(),
        (None, _) => "stdin".to_owned(),
    };
    Ok(Judged {
        budget: args.budget.clone(),
        figures: rulings.iter().flat_map(|ruling| ruling.told.clone()).collect(),
        input,
        decisions: findings.decided(),
        over_budget: is_over,
        forced: args.force.clone().filter(|_| is_over),
    })
}
