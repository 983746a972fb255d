//! `weir check`: is the configuration, and is the policy, in order?
//!
//! Everything is looked at before anything is told, so one round shows all. Problems go to stderr, each with its
//! place; what is in order is told on stdout, one line each.

use super::policy::{self, Found, counted};
use super::{Failure, finish, print, setup, tell};
use crate::cli::{CheckArgs, exit};
use crate::config::{Config, Loaded, Problem, Problems, Severity};
use crate::engine::policy::load;
use crate::engine::policy::problem::{self, Severity as PolicySeverity};
use crate::stream::StreamError;

/// What a look at one thing found.
#[derive(Debug, Default)]
struct Findings {
    errors: usize,
    warnings: usize,
    /// Each problem in full.
    told: Vec<String>,
    /// What is in order.
    fine: Vec<String>,
}

/// Runs it.
pub fn run(args: &CheckArgs) -> u8 {
    finish(check(args))
}

fn check(args: &CheckArgs) -> Result<u8, Failure> {
    let mut findings = Findings::default();
    let loaded = args.load();
    let policy = match (&loaded, &args.policy) {
        (Ok(loaded), _) => policy::configured(&loaded.config),
        (Err(_), Some(dir)) => policy::read(dir.as_ref()),
        (Err(_), None) => policy::usual(),
    };
    findings.configuration(loaded);
    findings.policy(policy);
    findings.conclude()
}

impl Findings {
    fn configuration(&mut self, loaded: Result<Loaded, Problems>) {
        match loaded {
            Err(problems) => self.problems(&problems.0),
            Ok(loaded) => {
                self.problems(&loaded.warnings);
                self.problems(&properties(&loaded.config));
                let file = loaded.file.map_or_else(
                    || "no configuration file, so defaults hold".to_owned(),
                    |file| format!("{}: configuration", file.display()),
                );
                self.fine.push(format!("{file}; {}", place(&loaded.config)));
            }
        }
    }

    fn problems(&mut self, problems: &[Problem]) {
        for problem in problems {
            self.note(problem.severity == Severity::Error, problem.to_string());
        }
    }

    fn policy(&mut self, found: Result<Found, Failure>) {
        let found = match found {
            Ok(found) => found,
            Err(failure) => return self.note(true, failure.text),
        };
        match found.load() {
            Err(problems) => self.policy_problems(&problems),
            Ok(loaded) => {
                self.policy_problems(&loaded.warnings);
                self.fine.push(summary(&found, &loaded));
            }
        }
    }

    fn policy_problems(&mut self, problems: &[problem::Problem]) {
        for problem in problems {
            self.note(problem.severity == PolicySeverity::Error, problem.to_string());
        }
    }

    fn note(&mut self, is_error: bool, text: String) {
        *(if is_error { &mut self.errors } else { &mut self.warnings }) += 1;
        self.told.push(text);
    }

    fn conclude(self) -> Result<u8, Failure> {
        for text in &self.told {
            tell(&format!("{text}\n"));
        }
        if self.errors > 0 {
            let warnings = match self.warnings {
                0 => String::new(),
                count => format!(", {}", counted(count, "warning")),
            };
            return Err(Failure::of_config(format!("{}{warnings}", counted(self.errors, "error"))));
        }
        print(&self.fine.iter().map(|line| format!("ok  {line}\n")).collect::<String>())?;
        Ok(exit::OK)
    }
}

/// What Kafka's client would not take, with the place where it was set.
fn properties(config: &Config) -> Vec<Problem> {
    let placed = |error: &StreamError| match error {
        StreamError::Property { property, reason } => {
            let set = config.kafka.properties.get(property)?;
            Some(set.problem(format!("`{property}`: {reason}")))
        }
        _ => None,
    };
    setup::kafka(config).problems().iter().filter_map(placed).collect()
}

/// What is most often set wrong.
fn place(config: &Config) -> String {
    let prefix = match config.kafka.topic_prefix.as_str() {
        "" => String::new(),
        prefix => format!(", topics {prefix}*"),
    };
    format!("brokers {}{prefix}, group {}", config.kafka.brokers, config.kafka.group)
}

fn summary(found: &Found, loaded: &load::Loaded) -> String {
    let policy = &loaded.policy;
    let parts = [
        counted(policy.limits.len(), "limit"),
        counted(policy.signals.len(), "signal"),
        counted(policy.rules.len(), "rule"),
        counted(policy.observations.len(), "observation pool"),
        counted(loaded.tests.len(), "test"),
    ];
    format!("{}: policy `{}`; {}; hash {}", found.name(), policy.name, parts.join(", "), short(&policy.hash))
}

/// The beginning of a hash tells policies apart for people.
fn short(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}
