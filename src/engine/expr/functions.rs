//! The functions of the subset, and a clear refusal of all others.

use std::sync::Arc;

use cel::IdedExpr;
use cel::common::ast::CallExpr;
use ipnet::IpNet;
use regex::Regex;

use super::check::{Checker, path_of};
use super::flaw::Flaw;
use super::tree::{Arithmetic, BoolKind, Double, Int, Part, Text, Typed};
use crate::engine::policy::nearest::did_you_mean;

const FUNCTIONS: [&str; 10] =
    ["has", "size", "int", "double", "days", "hours", "minutes", "seconds", "in_network", "matches"];
const METHODS: [&str; 5] = ["startsWith", "endsWith", "contains", "matches", "size"];

impl Checker<'_> {
    pub(super) fn function(&mut self, node: &IdedExpr, call: &CallExpr) -> Option<Typed> {
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("size", [text]) => self.size(text),
            ("int", [value]) => self.whole(value),
            ("double", [value]) => self.fractional(value),
            ("days", [number]) => self.seconds(node, number, 86_400),
            ("hours", [number]) => self.seconds(node, number, 3600),
            ("minutes", [number]) => self.seconds(node, number, 60),
            ("seconds", [number]) => self.seconds(node, number, 1),
            ("matches", [text, pattern]) => self.matches(node, text, pattern),
            ("in_network", [address, networks]) => self.in_network(node, address, networks),
            (name, args) => {
                let flaw = self.refusal(node, name, args.len(), &FUNCTIONS);
                self.flaw(flaw)
            }
        }
    }

    pub(super) fn method(&mut self, node: &IdedExpr, call: &CallExpr) -> Option<Typed> {
        let target = call.target.as_deref()?;
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("startsWith", [part]) => self.part(node, Part::Start, target, part),
            ("endsWith", [part]) => self.part(node, Part::End, target, part),
            ("contains", [part]) => self.part(node, Part::Any, target, part),
            ("matches", [pattern]) => self.matches(node, target, pattern),
            ("size", []) => self.size(target),
            (name, args) => {
                let flaw = self.refusal(node, name, args.len(), &METHODS);
                self.flaw(flaw)
            }
        }
    }

    fn refusal(&self, node: &IdedExpr, name: &str, args: usize, known: &[&'static str]) -> Flaw {
        let at = self.at(node);
        if known.contains(&name) {
            return Flaw::new(at, format!("`{name}` does not take {args} arguments"));
        }
        let suggestion = match name {
            "duration" | "timestamp" => {
                Some("times are whole seconds: days(7), hours(1), minutes(5), seconds(10)".to_owned())
            }
            _ => did_you_mean(name, known),
        };
        Flaw { at, message: format!("`{name}` is not a function of rules"), suggestion }
    }

    fn text(&mut self, node: &IdedExpr, who: &str) -> Option<Text> {
        match self.any(node)? {
            Typed::Text(text) => Some(text),
            other => {
                let message = format!("{who} needs a text, this is {}", other.type_name());
                self.flaw(Flaw::new(self.at(node), message))
            }
        }
    }

    fn size(&mut self, text: &IdedExpr) -> Option<Typed> {
        Some(Typed::Int(Int::Size(self.text(text, "size()")?)))
    }

    fn part(&mut self, node: &IdedExpr, part: Part, whole: &IdedExpr, other: &IdedExpr) -> Option<Typed> {
        let (whole, other) = (self.text(whole, "this function"), self.text(other, "this function"));
        self.bool(node, BoolKind::Part(part, whole?, other?))
    }

    fn matches(&mut self, node: &IdedExpr, text: &IdedExpr, pattern: &IdedExpr) -> Option<Typed> {
        let (text, pattern_text) = (self.text(text, "matches()"), self.text(pattern, "matches()"));
        let Text::Const(pattern_text) = pattern_text? else {
            return self.flaw(Flaw::new(self.at(pattern), "matches() takes a literal pattern only"));
        };
        match Regex::new(&pattern_text) {
            Ok(regex) => self.bool(node, BoolKind::Matches(text?, regex)),
            Err(error) => {
                let error = error.to_string();
                let reason =
                    error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                self.flaw(Flaw::new(self.at(pattern), format!("the pattern cannot be read: {reason}")))
            }
        }
    }

    fn seconds(&mut self, node: &IdedExpr, number: &IdedExpr, factor: i64) -> Option<Typed> {
        match self.any(number)? {
            Typed::Int(Int::Const(number)) => match number.checked_mul(factor) {
                Some(seconds) => Some(Typed::Int(Int::Const(seconds))),
                None => self.flaw(Flaw::new(self.at(node), "this overflows, whatever the event")),
            },
            Typed::Int(number) => {
                let operands = Box::new([number, Int::Const(factor)]);
                Some(Typed::Int(Int::Arithmetic(Arithmetic::Multiply, operands)))
            }
            other => {
                let message = format!("a whole number is needed, this is {}", other.type_name());
                self.flaw(Flaw::new(self.at(number), message))
            }
        }
    }

    fn whole(&mut self, value: &IdedExpr) -> Option<Typed> {
        match self.any(value)? {
            Typed::Int(int) => Some(Typed::Int(int)),
            Typed::Double(double) => Some(Typed::Int(Int::FromDouble(Box::new(double)))),
            Typed::Text(text) => Some(Typed::Int(Int::FromText(text))),
            Typed::Bool(_) => self.flaw(Flaw::new(self.at(value), "a condition is no number")),
        }
    }

    fn fractional(&mut self, value: &IdedExpr) -> Option<Typed> {
        match self.any(value)? {
            Typed::Int(int) => Some(Typed::Double(Double::FromInt(Box::new(int)))),
            Typed::Double(double) => Some(Typed::Double(double)),
            Typed::Text(text) => Some(Typed::Double(Double::FromText(text))),
            Typed::Bool(_) => self.flaw(Flaw::new(self.at(value), "a condition is no number")),
        }
    }

    fn in_network(&mut self, node: &IdedExpr, address: &IdedExpr, networks: &IdedExpr) -> Option<Typed> {
        let address = self.text(address, "in_network()");
        let networks = self.named_networks(networks);
        self.bool(node, BoolKind::InNetwork(address?, networks?))
    }

    fn named_networks(&mut self, node: &IdedExpr) -> Option<Arc<[IpNet]>> {
        let path = path_of(node).unwrap_or_default();
        let Some(name) = path.strip_prefix("networks.") else {
            let message = "in_network() takes an address and networks.NAME";
            return self.flaw(Flaw::new(self.at(node), message));
        };
        match self.scope.networks.get(name) {
            Some(networks) => Some(networks.clone()),
            None => {
                let known: Vec<&str> = self.scope.networks.keys().map(String::as_str).collect();
                let suggestion = did_you_mean(name, &known);
                let message = format!("unknown list of networks `{name}`");
                self.flaw(Flaw { at: self.at(node), message, suggestion })
            }
        }
    }
}
