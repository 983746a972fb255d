//! An explanation as text for a terminal: what was known, what was measured, what spoke, what it adds up to, what else.

use std::fmt::Write;

use super::explanation::{Condition, Explanation, Limited, Ruled};
use super::state::State;

impl Explanation {
    /// As JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("text, numbers and structs of them can be written") + "\n"
    }

    /// As text. Rules that did not fire are only named unless `all` are asked for.
    pub fn text(&self, all: bool) -> String {
        let mut text = String::new();
        self.head(&mut text);
        self.known(&mut text);
        self.measured(&mut text);
        self.limits(&mut text);
        self.rules(all, &mut text);
        self.sum(&mut text);
        self.otherwise(&mut text);
        visible(&text)
    }

    fn head(&self, text: &mut String) {
        let event = &self.event;
        line(text, 0, &format!("event {} ({}): {}", event.id, event.at, event.action));
        for (name, value) in [
            ("user", &event.user),
            ("target", &event.target),
            ("address", &event.address),
            ("device", &event.device),
        ] {
            line(text, 1, &format!("{name:<12} {}", value.as_deref().unwrap_or("unknown")));
        }
        line(text, 1, &format!("{:<12} {}", "happened", event.occurred_at));
        if event.effective_at != event.occurred_at {
            line(
                text,
                1,
                &format!(
                    "{:<12} {}, held within its append time {}",
                    "counts at", event.effective_at, event.append_time
                ),
            );
        }
        line(text, 1, &format!("{:<12} {}", "policy", self.policy));
        let wait = self.retry_after.as_ref().map(|wait| format!(", again in {wait}")).unwrap_or_default();
        line(
            text,
            0,
            &format!("verdict {}{wait}; score {}, risk {} %", self.verdict, self.score, self.risk_percent),
        );
        if !self.quality.is_empty() {
            line(text, 1, &format!("less exact than usual: {}", self.quality.join(", ")));
        }
    }

    fn known(&self, text: &mut String) {
        line(text, 0, "\nknown before");
        self.before.iter().for_each(|state| line(text, 1, &known(state)));
        if let Some(bound) = &self.bound_by {
            line(text, 1, &format!("bound by {bound}"));
        }
        if self.trusted_network {
            line(text, 1, "the address lies in a trusted network: nothing is held against it");
        }
        if self.shared_address {
            line(text, 1, "many settled accounts stand behind the address: the guard holds back");
        }
        for fell in &self.fell_back {
            let (rule, accounts, within, then) = (&fell.rule, fell.accounts, &fell.within, &fell.then);
            let words = format!(
                "{rule} has acted on {accounts} accounts within {within}, as many as it may: it is in {then}"
            );
            line(text, 1, &words);
        }
        match self.crowd {
            Some(users) => {
                line(text, 1, &format!("a crowd on the target speaks, judged by {users} accounts"));
            }
            None => line(text, 1, "no crowd on the target speaks"),
        }
    }

    fn measured(&self, text: &mut String) {
        line(text, 0, "\nvalues (this event included)");
        let width = self.values.iter().map(|named| named.name.len()).max().unwrap_or(0);
        for named in &self.values {
            let value = if named.value.is_null() { "unknown".to_owned() } else { named.value.to_string() };
            let unit = if named.value.is_null() { "" } else { named.unit };
            let what = if named.measure.is_empty() { String::new() } else { format!("  {}", named.measure) };
            line(text, 1, format!("{:<width$}  {value} {unit}{what}", named.name).trim_end());
        }
    }

    fn limits(&self, text: &mut String) {
        line(text, 0, "\nlimits");
        self.limits.iter().for_each(|limit| limited(limit, text));
    }

    fn rules(&self, all: bool, text: &mut String) {
        line(text, 0, "\nrules");
        if let Some(false) = self.rules.first().map(|rule| rule.asked || rule.mode == "off") {
            line(text, 1, "not asked: what binds, or a limit, refuses already");
        }
        let silent = |rule: &&Ruled| !all && !rule.fires;
        self.rules.iter().filter(|rule| !silent(rule)).for_each(|rule| ruled(rule, text));
        for outcome in ["false", "unknown", "no evidence"] {
            let of = self.rules.iter().filter(|rule| silent(rule) && rule.outcome() == outcome);
            let names: Vec<&str> = of.map(|rule| rule.id.as_str()).collect();
            if !names.is_empty() {
                line(text, 1, &format!("{outcome}: {}", names.join(", ")));
            }
        }
    }

    fn sum(&self, text: &mut String) {
        line(text, 0, "\nscore");
        for points in &self.arithmetic {
            line(
                text,
                1,
                &format!("{:>6}  {} ({})", format!("{:+}", points.points), points.of, points.family),
            );
        }
        line(text, 1, &format!("{:>6}  together", self.score));
        for rung in &self.ladder {
            let far = match rung.from - self.score {
                far if far > 0 => format!("{far} points away"),
                far => format!("reached by {}", -far),
            };
            line(text, 1, &format!("{:>6}  {} from here: {far}", rung.from, rung.verdict));
        }
        let floors = self.reasons.iter().filter_map(|reason| Some((reason, reason.verdict?)));
        for (reason, verdict) in floors {
            let measured = match (reason.value, reason.threshold) {
                (Some(value), Some(threshold)) => format!(", {value} against {threshold}"),
                _ => String::new(),
            };
            line(text, 1, &format!("asks for {verdict}: {} ({}{measured})", reason.id, reason.code));
        }
    }

    fn otherwise(&self, text: &mut String) {
        line(text, 0, "\notherwise");
        match &self.bound_by {
            Some(bound) => {
                line(text, 1, &format!("acts while it lasts, whatever limits and rules say: {bound}"));
            }
            None if self.counterfactuals.is_empty() => {
                line(text, 1, "nothing acted, so nothing would be otherwise");
            }
            None => {}
        }
        for other in &self.counterfactuals {
            let score = other.score.map(|score| format!(", score {score}")).unwrap_or_default();
            let same = if other.verdict == self.verdict { " as well" } else { "" };
            line(text, 1, &format!("{}: {}{same}{score}", other.what, other.verdict));
        }
        for reason in &self.shadow {
            line(text, 1, &format!("in shadow: {} ({})", reason.id, reason.text));
        }
    }
}

impl Ruled {
    /// What its condition says; a rule over evidence has none.
    fn outcome(&self) -> &'static str {
        self.condition.as_ref().map_or("no evidence", |condition| condition.outcome)
    }
}

fn known(state: &State) -> String {
    if !state.known {
        return format!("{}: never seen here", state.entity);
    }
    let mut told = Vec::new();
    let mut part = |name: &str, value: Option<String>| {
        told.extend(value.map(|value| format!("{name} {value}")));
    };
    part("first seen", state.first_seen.clone());
    part("last", state.last_seen.clone());
    part("registered", state.registered.clone());
    part("days active", state.active_days.map(|days| days.to_string()));
    part("penalty", state.penalty.map(|points| format!("{points:.1}")));
    part("settled accounts behind it", state.settled_accounts.map(|count| count.to_string()));
    part("bans", (!state.bans.is_empty()).then(|| state.bans.join("; ")));
    format!("{}: {}", state.entity, told.join(", "))
}

fn limited(limit: &Limited, text: &mut String) {
    let mode = mode(limit.mode, limit.rollout.as_deref());
    let head = format!("{}{mode} by {}", limit.id, limit.key);
    if let Some(why) = limit.why_not {
        return line(text, 1, &format!("{head}: does not apply, {why}"));
    }
    let asks = limit.asks_for.as_ref().map(|verdict| format!(", asks for {verdict}")).unwrap_or_default();
    let wait = limit.retry_after.as_ref().map(|wait| format!(", again in {wait}")).unwrap_or_default();
    let again = if limit.repeated { ", not for the first time" } else { "" };
    let says = if limit.refuses { "REFUSES" } else { "passes" };
    let spans = limit.spans.iter().map(|span| {
        let max = span.max.map_or("unlimited".to_owned(), |max| max.to_string());
        format!("{} and {} more of {max} in {}", span.used, span.cost, span.window)
    });
    let spans = spans.collect::<Vec<_>>().join("; ");
    line(text, 1, &format!("{head}: {says}, {spans}{asks}{wait}{again}"));
}

/// What is not simply live: ` [shadow]`, ` [live, acts for 10 % by user]`.
fn mode(mode: &str, rollout: Option<&str>) -> String {
    match (mode, rollout) {
        ("live", None) => String::new(),
        (mode, None) => format!(" [{mode}]"),
        (mode, Some(share)) => format!(" [{mode} here, acts for {share}]"),
    }
}

fn ruled(rule: &Ruled, text: &mut String) {
    let mode = mode(rule.mode, rule.rollout.as_deref());
    let says = if rule.fires { "FIRES" } else { "silent" };
    line(text, 1, &format!("{}{mode}: {says}, {}", rule.id, rule.does));
    if let Some(condition) = &rule.condition {
        apart(condition, 2, text);
    }
}

fn apart(condition: &Condition, depth: usize, text: &mut String) {
    let reads = condition.reads.iter().map(|(name, value)| format!("{name} = {value}"));
    let reads = reads.collect::<Vec<_>>().join(", ");
    let reads = if reads.is_empty() { reads } else { format!("   [{reads}]") };
    line(text, depth, &format!("{:<7} {}{reads}", condition.outcome, condition.text));
    condition.parts.iter().for_each(|part| apart(part, depth + 1, text));
}

fn line(text: &mut String, depth: usize, words: &str) {
    writeln!(text, "{:indent$}{words}", "", indent = 2 * depth).expect("memory takes all");
}

/// What an attacker may have put into a name cannot steer a terminal.
fn visible(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => c.to_string(),
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}
