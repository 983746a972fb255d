//! What the tests of a policy reach: how often each limit and rule spoke and did not, and which parts of each condition were
//! never true, or never anything else.

use crate::engine::expr::parts::{Part, parts};
use crate::engine::policy::{Effect, Mode, Policy};
use crate::engine::trace::{Trace, Value};
use crate::engine::verdict::Verdict;

/// What the tests reached of one limit or rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Its id.
    pub id: String,
    /// It is a limit.
    pub is_limit: bool,
    /// Events of which it spoke: it fired, or refused.
    pub spoke: u64,
    /// Events that it looked at and did not speak of.
    pub silent: u64,
    /// The conditions that its own is made of.
    pub branches: Vec<Branch>,
}

/// One condition within a rule's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// As written, in one form.
    pub text: String,
    /// Events of which it was true.
    pub held: u64,
    /// Events of which it was false or unknown.
    pub failed: u64,
}

impl Branch {
    /// It was seen both ways.
    pub fn is_covered(&self) -> bool {
        self.held > 0 && self.failed > 0
    }
}

/// See the module.
#[derive(Debug)]
pub struct Coverage {
    limits: Vec<Reached>,
    rules: Vec<(Reached, Option<Part>)>,
}

impl Coverage {
    /// Nothing is reached yet. What is off is left out.
    pub fn of(policy: &Policy) -> Self {
        let reached = |id: &str, is_limit| Reached {
            id: id.to_owned(),
            is_limit,
            spoke: 0,
            silent: 0,
            branches: Vec::new(),
        };
        let limits = policy.limits.iter().map(|limit| reached(&limit.info.id, true)).collect();
        let rules = policy.rules.iter().map(|rule| {
            let evidence = matches!(rule.effect, Effect::Evidence { .. });
            let part = if evidence || rule.mode == Mode::Off { None } else { parts(&rule.when.text, policy) };
            (reached(&rule.info.id, false), part)
        });
        Self { limits, rules: rules.collect() }
    }

    /// One event of a test. Rules are asked only where nothing refuses before.
    pub fn note(&mut self, trace: &Trace) {
        let mut refused = trace.binding.is_some() || trace.trusted;
        for look in &trace.limits {
            let reached = &mut self.limits[look.limit];
            *(if look.refuses { &mut reached.spoke } else { &mut reached.silent }) += 1;
            refused |= look.asked.is_some_and(|verdict| verdict >= Verdict::Reject);
        }
        if refused {
            return;
        }
        let slots: Vec<_> = trace.values.iter().map(Value::slot).collect();
        for (number, (reached, part)) in self.rules.iter_mut().enumerate() {
            let fires = trace.fired.contains(&number);
            *(if fires { &mut reached.spoke } else { &mut reached.silent }) += 1;
            let Some(part) = part else { continue };
            let mut each = Vec::new();
            part.each(&mut each);
            for (place, part) in each.into_iter().enumerate() {
                if reached.branches.len() == place {
                    reached.branches.push(Branch { text: part.text().to_owned(), held: 0, failed: 0 });
                }
                let branch = &mut reached.branches[place];
                *(if part.outcome(&slots) == Some(true) { &mut branch.held } else { &mut branch.failed }) +=
                    1;
            }
        }
    }

    /// All limits and rules, in the order of the policy.
    pub fn reached(&self) -> impl Iterator<Item = &Reached> {
        self.limits.iter().chain(self.rules.iter().map(|(reached, _)| reached))
    }
}
