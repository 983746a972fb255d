//! Signals: declared first, so that any expression may name them; then their filters and measures.

use std::sync::Arc;

use super::Workshop;
use super::condition::Reads;
use super::dimension::key_field;
use super::draft::Draft;
use super::identity::{canonical, identity};
use super::quantity::{number_or, window};
use super::vocabulary::is_identifier;
use crate::engine::expr::Type;
use crate::engine::expr::catalogue::{RESERVED, name};
use crate::engine::policy::raw::RawSignal;
use crate::engine::policy::reader::At;
use crate::engine::policy::{Measure, Origin, Signal};

/// Sub-windows unless stated.
const SLOTS: u32 = 12;

impl Workshop<'_> {
    pub(super) fn signals(&mut self, draft: &Draft) -> Vec<Signal> {
        for (index, signal) in draft.signals.iter().enumerate() {
            self.declare_signal(index, signal);
        }
        for broken in &draft.broken_signals {
            self.catalogue.add(name(broken, Type::Int, "", "", Origin::Signal(usize::MAX)));
        }
        draft.signals.iter().filter_map(|signal| self.signal(signal)).collect()
    }

    fn declare_signal(&mut self, index: usize, raw: &RawSignal) {
        let at = raw.name.at;
        if !is_identifier(&raw.name.value) {
            self.report
                .error(at, "a signal's name is lower case letters, digits and `_`, and begins with a letter");
        }
        if RESERVED.contains(&raw.name.value.as_str()) {
            self.report.error(at, format!("`{}` means something else in expressions", raw.name.value));
        }
        let ty = if raw.sum.is_some() { Type::Double } else { Type::Int };
        let unit = match (&raw.sum, &raw.distinct) {
            (Some(_), _) => "",
            (_, Some(_)) => "distinct",
            _ => "events",
        };
        let doc = raw.doc.as_deref().unwrap_or("").trim();
        if !self.catalogue.add(name(&raw.name.value, ty, unit, doc, Origin::Signal(index))) {
            self.report.error(at, format!("there is a signal `{}` already", raw.name.value));
        }
    }

    fn signal(&mut self, raw: &RawSignal) -> Option<Signal> {
        let dimension = self.dimension(&raw.key);
        let filter = raw.when.as_ref().map(|when| self.condition(when, Reads::NoSignals));
        let window = window(&raw.window, self.report);
        let measure = self.measure(raw);
        let (dimension, window, measure) = (dimension?, window?, measure?);
        let filter_text = raw.when.as_ref().map(|when| canonical(&when.value.0)).unwrap_or_default();
        let measured = match &measure {
            Measure::Count { slots } => format!("count/{slots}"),
            Measure::Distinct { of, slots } => format!("distinct/{of}/{slots}"),
            Measure::Sum { of, slots } => format!("sum/{}/{slots}", canonical(&of.text)),
        };
        let parts = [self.dimensions.name(dimension), &filter_text, &window.to_string(), &measured];
        Some(Signal {
            name: Arc::from(raw.name.value.as_str()),
            dimension,
            filter: match filter {
                Some(filter) => Some(filter?),
                None => None,
            },
            window,
            identity: identity(&parts),
            measure,
        })
    }

    fn measure(&mut self, raw: &RawSignal) -> Option<Measure> {
        let slots = number_or("slots", raw.slots.as_ref(), 2..=100, SLOTS, self.report);
        match (&raw.count, &raw.distinct, &raw.sum) {
            (Some(_), None, None) => Some(Measure::Count { slots }),
            (None, Some(of), None) => self.distinct(raw, of, slots),
            (None, None, Some(of)) => {
                let of = self.number(of, Reads::NoSignals)?;
                Some(Measure::Sum { of, slots })
            }
            _ => {
                let message = format!("`{}` needs exactly one of count, distinct, sum", raw.name.value);
                self.report.error_with(raw.name.at, message, Some("count events with `count: {}`".into()));
                None
            }
        }
    }

    fn distinct(&mut self, raw: &RawSignal, of: &At<String>, slots: u32) -> Option<Measure> {
        let field = key_field(of, &self.catalogue, self.report)?;
        if raw.key.value.iter().any(|key| key.value == of.value) {
            let message = format!("`{}` is part of the key: there is never more than one", of.value);
            self.report.error(of.at, message);
            return None;
        }
        Some(Measure::Distinct { of: field, slots })
    }

    /// Signals that no expression reads.
    pub(super) fn warn_of_unused(&self, draft: &Draft) {
        if !self.report.is_clean() {
            return;
        }
        for raw in &draft.signals {
            let slot = self.catalogue.slot(&raw.name.value);
            if slot.is_some_and(|slot| !self.catalogue.names()[slot].used) {
                let message = format!("nothing reads the signal `{}`", raw.name.value);
                self.report.warn(raw.name.at, message, None);
            }
        }
    }
}
