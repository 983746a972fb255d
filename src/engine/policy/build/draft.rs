//! The sections of all files of a policy, put together.

use crate::engine::policy::nearest::did_you_mean;
use crate::engine::policy::node::{Key, Kind, Node};
use crate::engine::policy::problem::Report;
use crate::engine::policy::raw::{
    Named, RawAccounts, RawAddresses, RawCrowds, RawDuplicates, RawExemption, RawGuards, RawHold, RawLimit,
    RawMemory, RawObservation, RawPenalties, RawRetroactive, RawRule, RawScore, RawSignal, RawTime, RawType,
    SECTIONS,
};
use crate::engine::policy::reader::{At, read};

/// A file of the policy that is a table.
#[derive(Debug)]
pub(in crate::engine::policy) struct Table {
    /// Its number.
    pub(in crate::engine::policy) file: usize,
    pub(in crate::engine::policy) path: String,
    pub(in crate::engine::policy) text: String,
}

/// All sections; a settings section stands in one file only, lists and maps are joined.
#[derive(Debug, Default)]
pub(in crate::engine::policy) struct Draft {
    pub(super) version: Option<At<i64>>,
    pub(super) name: Option<At<String>>,
    pub(super) time: Option<RawTime>,
    pub(super) addresses: Option<RawAddresses>,
    pub(super) score: Option<At<RawScore>>,
    pub(super) accounts: Option<RawAccounts>,
    pub(super) duplicates: Option<RawDuplicates>,
    pub(super) hold: Option<RawHold>,
    pub(super) retroactive: Option<RawRetroactive>,
    pub(super) memory: Option<RawMemory>,
    pub(super) penalties: Option<RawPenalties>,
    pub(super) guards: Option<RawGuards>,
    pub(super) crowds: Option<RawCrowds>,
    pub(super) lists: Vec<(At<String>, Vec<At<String>>)>,
    pub(super) networks: Vec<(At<String>, Vec<At<String>>)>,
    pub(super) attributes: Vec<(At<String>, At<RawType>)>,
    pub(super) device_attributes: Vec<(At<String>, At<RawType>)>,
    pub(super) signals: Vec<RawSignal>,
    /// Names of signals that could not be read: their readers are not told that they do not exist.
    pub(super) broken_signals: Vec<String>,
    pub(super) limits: Vec<RawLimit>,
    pub(super) rules: Vec<RawRule>,
    pub(super) observation: Vec<RawObservation>,
    pub(super) exemptions: Vec<RawExemption>,
    pub(in crate::engine::policy) tables: Vec<Table>,
}

impl Draft {
    /// Adds the sections of one file.
    pub(in crate::engine::policy) fn add_file(&mut self, sections: &[(Key, Node)], report: &Report<'_>) {
        for (key, node) in sections {
            self.add_section(key, node, report);
        }
    }

    fn add_section(&mut self, key: &Key, node: &Node, report: &Report<'_>) {
        match key.name.as_str() {
            "version" => self.add_version(node, report),
            "name" => once(&mut self.name, key, node, report),
            "time" => once(&mut self.time, key, node, report),
            "addresses" => once(&mut self.addresses, key, node, report),
            "score" => once(&mut self.score, key, node, report),
            "accounts" => once(&mut self.accounts, key, node, report),
            "duplicates" => once(&mut self.duplicates, key, node, report),
            "hold" => once(&mut self.hold, key, node, report),
            "retroactive" => once(&mut self.retroactive, key, node, report),
            "memory" => once(&mut self.memory, key, node, report),
            "penalties" => once(&mut self.penalties, key, node, report),
            "guards" => once(&mut self.guards, key, node, report),
            "crowds" => once(&mut self.crowds, key, node, report),
            "lists" => named(&mut self.lists, node, report),
            "networks" => named(&mut self.networks, node, report),
            "attributes" => named(&mut self.attributes, node, report),
            "device_attributes" => named(&mut self.device_attributes, node, report),
            "signals" => self.add_signals(node, report),
            "limits" => items(&mut self.limits, node, report),
            "rules" => items(&mut self.rules, node, report),
            "observation" => items(&mut self.observation, node, report),
            "exemptions" => items(&mut self.exemptions, node, report),
            other => {
                let suggestion = did_you_mean(other, &SECTIONS)
                    .or_else(|| Some(format!("known are {}", SECTIONS.join(", "))));
                report.error_with(key.at, format!("unknown section `{other}`"), suggestion);
            }
        }
    }

    fn add_signals(&mut self, node: &Node, report: &Report<'_>) {
        let before = self.signals.len();
        items(&mut self.signals, node, report);
        let Kind::List(nodes) = &node.kind else {
            return;
        };
        let read: Vec<&str> =
            self.signals[before..].iter().map(|signal| signal.name.value.as_str()).collect();
        let written = nodes.iter().filter_map(name_of);
        let broken: Vec<String> = written.filter(|name| !read.contains(name)).map(str::to_owned).collect();
        self.broken_signals.extend(broken);
    }

    /// Each file may state the version.
    fn add_version(&mut self, node: &Node, report: &Report<'_>) {
        let Some(version) = read::<At<i64>>(node, report) else {
            return;
        };
        if version.value != 1 {
            report.error(
                version.at,
                format!("version {} of policy files is not known here; 1 is", version.value),
            );
        }
        self.version = Some(version);
    }

    /// At least one file says for which version of the format it was written.
    pub(super) fn check_version(&self, report: &Report<'_>) {
        if self.version.is_none() && report.is_clean() {
            report.error_with(
                0,
                "no file of the policy states its `version`",
                Some("add `version: 1`".into()),
            );
        }
    }
}

fn name_of(node: &Node) -> Option<&str> {
    let Kind::Map(entries) = &node.kind else {
        return None;
    };
    entries.iter().find(|(key, _)| key.name == "name").and_then(|(_, value)| match &value.kind {
        Kind::Text(name) => Some(name.as_str()),
        _ => None,
    })
}

fn once<T: serde::de::DeserializeOwned>(place: &mut Option<T>, key: &Key, node: &Node, report: &Report<'_>) {
    if node.kind == Kind::Null {
        return;
    }
    if place.is_some() {
        report.error(key.at, format!("`{}` is set in another file already", key.name));
        return;
    }
    *place = read(node, report);
}

fn named<T: serde::de::DeserializeOwned>(place: &mut Vec<(At<String>, T)>, node: &Node, report: &Report<'_>) {
    if let Some(Some(Named(entries))) = read::<Option<Named<T>>>(node, report) {
        place.extend(entries);
    }
}

/// Items are read one by one: a mistake in one does not hide the next.
fn items<T: serde::de::DeserializeOwned>(place: &mut Vec<T>, node: &Node, report: &Report<'_>) {
    match &node.kind {
        Kind::List(nodes) => place.extend(nodes.iter().filter_map(|node| read(node, report))),
        Kind::Null => {}
        other => report.error(node.at, format!("expected a list, found {}", other.name())),
    }
}
