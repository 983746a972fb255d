//! Expressions of a policy: compiled, with every flaw at its place in the file.

use super::Workshop;
use crate::engine::expr::check::{Checked, Scope, check};
use crate::engine::expr::compile;
use crate::engine::expr::parse::parse;
use crate::engine::expr::sense::sense;
use crate::engine::expr::tree::{Bool, Typed};
use crate::engine::expr::{Condition, Number};
use crate::engine::policy::Origin;
use crate::engine::policy::raw::Cel;
use crate::engine::policy::reader::At;
use crate::engine::policy::source::Position;

/// What an expression may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// Everything.
    All,
    /// Fields and facts, not signals.
    NoSignals,
}

impl Workshop<'_> {
    /// A condition; what can never be true is an error, what is always true a warning.
    pub(super) fn condition(&mut self, cel: &At<Cel>, reads: Reads) -> Option<Condition> {
        let checked = self.checked(cel, reads)?;
        let Typed::Bool(tree) = checked.tree else {
            self.report.error(cel.at, format!("expected a condition, this is {}", type_name(&checked.tree)));
            return None;
        };
        self.check_sense(cel, &tree);
        Some(Condition::new(cel.value.0.clone(), compile::condition(&tree)))
    }

    /// A number.
    pub(super) fn number(&mut self, cel: &At<Cel>, reads: Reads) -> Option<Number> {
        let checked = self.checked(cel, reads)?;
        let compiled = compile::number(&checked.tree);
        if compiled.is_none() {
            self.report.error(cel.at, format!("expected a number, this is {}", type_name(&checked.tree)));
        }
        Some(Number::new(cel.value.0.clone(), compiled?))
    }

    fn checked(&mut self, cel: &At<Cel>, reads: Reads) -> Option<Checked> {
        let scope = Scope {
            catalogue: &self.catalogue,
            lists: &self.lists,
            networks: &self.networks,
            signals: reads == Reads::All,
        };
        match parse(&cel.value.0).and_then(|parsed| check(&parsed, scope)) {
            Ok(checked) => {
                checked.reads.iter().for_each(|slot| self.catalogue.mark_used(*slot));
                self.check_places(cel, &checked);
                Some(checked)
            }
            Err(flaws) => {
                for flaw in flaws {
                    self.report.error_with(self.place(cel, flaw.at), flaw.message, flaw.suggestion);
                }
                None
            }
        }
    }

    /// Where an address is says a table; without one it is never known.
    fn check_places(&self, cel: &At<Cel>, checked: &Checked) {
        let names = checked.reads.iter().map(|slot| &self.catalogue.names()[*slot]);
        let place = names.filter(|_| !self.has_places).find(|name| matches!(name.origin, Origin::Place(_)));
        if let Some(name) = place {
            let message = format!("`{}` is never known: the policy names no table of addresses", name.path);
            self.report.warn(cel.at, message, Some("add `addresses: { table: FILE.csv }`".into()));
        }
    }

    fn check_sense(&self, cel: &At<Cel>, tree: &Bool) {
        let sense = sense(tree, self.catalogue.names());
        if let Some(flaw) = sense.never {
            let message = format!("the condition can never be true: {}", flaw.message);
            self.report.error_with(self.place(cel, flaw.at), message, flaw.suggestion);
        }
        if sense.always {
            self.report.warn(cel.at, "the condition is true of every event of which it is known", None);
        }
        for doubt in sense.doubts {
            self.report.warn(self.place(cel, doubt.at), doubt.message, doubt.suggestion);
        }
    }

    fn place(&self, cel: &At<Cel>, at: usize) -> Position {
        self.report.sources().within_scalar(cel.at, &cel.value.0, at)
    }
}

fn type_name(tree: &Typed) -> &'static str {
    tree.type_name()
}
