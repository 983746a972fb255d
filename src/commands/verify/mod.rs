//! `weir verify`: reads the topics as they stand and checks the history that they hold.
//!
//! Everything is read into memory first. What is checked, and what is wrong, is the checker's to say.

mod topics;

use std::sync::Arc;

use super::{Failure, finish, policy, print, setup, tell};
use crate::cli::{Format, VerifyArgs, exit};
use crate::engine::policy::Policy;
use crate::verify::history::{Options, Verdict, check};
use crate::wire::interaction::DecodeLimits;

/// Runs it.
pub fn run(args: &VerifyArgs) -> u8 {
    finish(verify(args))
}

fn verify(args: &VerifyArgs) -> Result<u8, Failure> {
    let config = setup::config(&args.config)?;
    let policies = known_policies(args)?;
    let read = topics::read(&config)?;
    if read.moved {
        tell("warning: the journal grew while it was read: what was committed meanwhile looks like a fault");
    }
    let record_max = usize::try_from(config.kafka.record_bytes_max).unwrap_or(usize::MAX);
    let limits = DecodeLimits { record_max, ..DecodeLimits::default() };
    let options = Options { model: args.model, policies, limits, chain: None };
    let verdict = check(&read.history, &options);
    report(&verdict, args.format)?;
    Ok(if verdict.is_clean() { exit::OK } else { exit::FAILURE })
}

fn known_policies(args: &VerifyArgs) -> Result<Vec<Arc<Policy>>, Failure> {
    let Some(dir) = &args.policy else { return Ok(Vec::new()) };
    Ok(vec![policy::read(dir)?.load_or_fail()?.policy])
}

fn report(verdict: &Verdict, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => print(&verdict.to_string()),
        Format::Json => {
            let text = serde_json::to_string_pretty(verdict).expect("text and numbers can be written");
            print(&format!("{text}\n"))
        }
    }
}
