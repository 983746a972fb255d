//! `weir lint`: what a policy alone shows, and with events what they show of it.

use serde::Serialize;

use super::{Failure, finish, needless, policy, print, reading, setup};
use crate::backtest::{Findings, Mask, Pass, Range, Side};
use crate::cli::{ConfigArgs, FileOrStandard, Format, LintArgs, exit};
use crate::lint::{Finding, Kind, Unnoticed, lint, sections, unnoticed};
use crate::replay::Options;
use crate::report;
use crate::wire::interaction::DecodeLimits;

/// Runs it.
pub fn run(args: &LintArgs) -> u8 {
    finish(look(args))
}

/// The JSON of it.
#[derive(Debug, Serialize)]
struct Document<'d> {
    policy: &'d str,
    findings: &'d [Finding],
    most_in_a_day: &'d [Unnoticed],
}

fn look(args: &LintArgs) -> Result<u8, Failure> {
    let found = policy::of_args(&args.policy, &ConfigArgs::from_environment())?;
    let policy = found.load_or_fail()?.policy;
    let mut findings = lint(&policy);
    match &args.input {
        Some(input) => {
            let side = Side { name: found.name(), policy: policy.clone() };
            findings.extend(tried(args, side, input)?);
        }
        None => needless::without_events(&args.reading)?,
    }
    let table = unnoticed(&policy);
    print(&match args.format {
        Format::Text => report::text(&sections(&findings, &table)),
        Format::Json => {
            let document = Document { policy: &policy.hash, findings: &findings, most_in_a_day: &table };
            serde_json::to_string_pretty(&document).expect("text and numbers can be written") + "\n"
        }
    })?;
    Ok(if args.strict && findings.iter().any(|finding| finding.kind != Kind::Partial) {
        exit::FAILURE
    } else {
        exit::OK
    })
}

/// What the events show: rules that stayed silent, and rules that only ever spoke together.
fn tried(args: &LintArgs, side: Side, input: &FileOrStandard) -> Result<Vec<Finding>, Failure> {
    needless::labels(&args.reading)?;
    let config = setup::config(&ConfigArgs::from_environment())?;
    let events = reading::events(args.events_format, &args.reading, input)?;
    let mut session = reading::session(&args.reading, None)?;
    let as_of = reading::as_of(&args.reading);
    let options = Options { name: "lint".to_owned(), as_of, limits: DecodeLimits::default() };
    let mut pass = Pass::new(side, Vec::new(), setup::seed(&config), (options, Range::default()), false);
    session.hear(&mut pass, events.input).map_err(|error| reading::unread(&error))?;
    reading::faults(&session.faults);
    reading::odd(&session.odd);
    let ran = Findings::new(
        pass.end(),
        &session.groups,
        (session.faults, session.odd),
        Mask::default(),
        Vec::new(),
    );
    let name = reading::name(input);
    if ran.decided() == 0 {
        let why = format!("{name}: no event was decided: nothing can be said of what stays silent");
        return Err(reading::nothing(ran.faults(), &why));
    }
    if ran.broke_off() {
        return Err(Failure::new(format!("{name}: broke off: what stays silent may speak behind that")));
    }
    let silent = ran.silent().into_iter().map(|id| Finding {
        kind: Kind::Silent,
        about: id.to_owned(),
        message: format!("it spoke of none of the {} events that were decided", ran.decided()),
    });
    let twins = ran.covered().into_iter().map(|(id, by, hits)| Finding {
        kind: Kind::Overlaps,
        about: id.to_owned(),
        message: format!("each of the {hits} times that it spoke, `{by}` did too"),
    });
    Ok(silent.chain(twins).collect())
}
