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
use crate::engine::pace::PaceSpec;
use crate::engine::place::NetworkClass;
use crate::engine::policy::nearest::did_you_mean;
use crate::engine::policy::raw::{RawRate, RawSignal, RawTravel};
use crate::engine::policy::reader::At;
use crate::engine::policy::{Measure, Origin, Signal};

/// Shorter distances are no travel unless stated otherwise, kilometres.
const LEAST_KM: f64 = 500.0;
/// Whose place is not that of the people behind them.
const EXITS: [NetworkClass; 4] =
    [NetworkClass::Mobile, NetworkClass::Vpn, NetworkClass::Hosting, NetworkClass::Business];
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
        let ty = if raw.sum.is_some() || raw.travel.is_some() || raw.rate.is_some() {
            Type::Double
        } else {
            Type::Int
        };
        let unit = match (&raw.sum, &raw.distinct) {
            _ if raw.travel.is_some() => "km/h",
            _ if raw.rate.is_some() => "times",
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
            // What is usual goes by the quantile; no threshold changes what is kept.
            Measure::Pace(spec) => format!("rate/{}", spec.quantile),
            // Neither threshold nor classes change what is kept.
            Measure::Travel { .. } => "travel".to_owned(),
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
        match (&raw.count, &raw.distinct, &raw.sum, &raw.travel, &raw.rate) {
            (Some(_), None, None, None, None) => Some(Measure::Count { slots }),
            (None, Some(of), None, None, None) => self.distinct(raw, of, slots),
            (None, None, None, Some(travel), None) => self.travel(raw, travel),
            (None, None, None, None, Some(rate)) => self.rate(raw, rate),
            (None, None, Some(of), None, None) => {
                let of = self.number(of, Reads::NoSignals)?;
                Some(Measure::Sum { of, slots })
            }
            _ => {
                let message =
                    format!("`{}` needs exactly one of count, distinct, sum, rate, travel", raw.name.value);
                self.report.error_with(raw.name.at, message, Some("count events with `count: {}`".into()));
                None
            }
        }
    }

    fn rate(&self, raw: &RawSignal, rate: &RawRate) -> Option<Measure> {
        let between = |name: &str, at: Option<&At<f64>>, least: f64, most: f64, default: f64| {
            if let Some(at) = at.filter(|at| !(least..=most).contains(&at.value)) {
                self.report
                    .error(at.at, format!("{name} is {}, and must be from {least} to {most}", at.value));
            }
            at.map_or(default, |at| at.value)
        };
        let whole = |name: &str, at: Option<&At<i64>>, default: i32| {
            f64::from(number_or(name, at, 1..=1_000_000, default, self.report))
        };
        Some(Measure::Pace(PaceSpec {
            window: window(&raw.window, self.report)?,
            quantile: between("quantile", rate.quantile.as_ref(), 0.5, 0.999, 0.99),
            times: between("times", rate.times.as_ref(), 1.0, 100.0, 2.0),
            least: whole("least", rate.least.as_ref(), 10),
            keys: whole("keys", rate.keys.as_ref(), 1_000),
            freeze_above: between("freeze_above", rate.freeze_above.as_ref(), 0.0, 100.0, 2.0) / 100.0,
        }))
    }

    fn travel(&mut self, raw: &RawSignal, travel: &RawTravel) -> Option<Measure> {
        if !self.has_places {
            let suggestion = "name a table of addresses in `addresses.table`";
            let message = format!("`{}` is never known: no table says where addresses are", raw.name.value);
            self.report.warn(raw.name.at, message, Some(suggestion.into()));
        }
        if !raw.key.value.iter().any(|field| field.value == "user") {
            let message = "travel is somebody's: between two people's places lies none";
            self.report.error_with(raw.key.at, message, Some("write `key: [user]`".into()));
        }
        if raw.when.is_none() {
            let suggestion = "write `when: event.action == 'login' && event.outcome == 'success'`";
            let message = format!("`{}` counts whoever acts in the user's name as himself", raw.name.value);
            self.report.warn(raw.name.at, message, Some(suggestion.into()));
        }
        let least_km = travel.least_km.as_ref().map_or(LEAST_KM, |least| least.value);
        if let Some(written) = travel.least_km.as_ref().filter(|_| !(0.0..=20_000.0).contains(&least_km)) {
            self.report.error(written.at, format!("least_km is {least_km}, and must be from 0 to 20000"));
        }
        let written = travel.exits.as_deref();
        let exits = written.map(|exits| exits.iter().filter_map(|word| self.network_class(word)).collect());
        Some(Measure::Travel { least_km, exits: exits.unwrap_or_else(|| EXITS.to_vec()) })
    }

    fn network_class(&self, word: &At<String>) -> Option<NetworkClass> {
        let class = NetworkClass::ALL.into_iter().find(|class| class.name() == word.value);
        if class.is_none() {
            let suggestion = did_you_mean(&word.value, &NetworkClass::ALL.map(NetworkClass::name));
            self.report.error_with(
                word.at,
                format!("unknown class of networks `{}`", word.value),
                suggestion,
            );
        }
        class
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
