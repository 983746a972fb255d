//! From written sections to a policy, with every check on the way.
//!
//! Each file here makes one part; all of them share a `Workshop`: the names known so far, and the report that
//! gathers what is wrong. A part with an error is left out and the rest is still checked.

mod blast;
mod condition;
mod crowds;
mod dimension;
mod draft;
mod identity;
mod limit;
mod places;
mod pool;
mod quantity;
mod rollout;
mod rule;
mod score;
mod settings;
mod signal;
mod vocabulary;

use std::collections::BTreeMap;
use std::sync::Arc;

use ipnet::IpNet;

use self::dimension::Dimensions;
pub(super) use self::draft::{Draft, Table};
use super::problem::Report;
use super::reader::At;
use super::source::Position;
use super::tests::{self, RuleTest};
use super::{BlastRadius, Family, Mode, Policy, Settings};
use crate::engine::decision::ReasonSource;
use crate::engine::expr::catalogue::Catalogue;
use crate::engine::time::Span;

/// What all parts share while a policy is made.
struct Workshop<'a> {
    report: &'a Report<'a>,
    settings: Settings,
    catalogue: Catalogue,
    families: Vec<Family>,
    lists: BTreeMap<String, Arc<[String]>>,
    networks: BTreeMap<String, Arc<[IpNet]>>,
    dimensions: Dimensions,
    ids: BTreeMap<String, Position>,
    tests: Vec<RuleTest>,
    /// There is a section `crowds`.
    watches_crowds: bool,
    /// A table says where addresses are.
    has_places: bool,
    blast: BlastRadius,
    blast_defaults: blast::Defaults,
}

/// Makes a policy of a draft; hash and sources are left empty. `None` only where there is an error in the report.
pub(super) fn build(draft: Draft, report: &Report<'_>) -> Option<(Policy, Vec<RuleTest>)> {
    draft.check_version(report);
    let mut shop = Workshop {
        report,
        settings: settings::settings(&draft, report),
        catalogue: Catalogue::standard(),
        families: score::families(draft.score.as_ref(), report),
        lists: vocabulary::lists(&draft.lists, report),
        networks: vocabulary::networks(&draft.networks, report),
        dimensions: Dimensions::new(&draft.memory, report),
        ids: BTreeMap::new(),
        tests: Vec::new(),
        watches_crowds: draft.crowds.is_some(),
        has_places: draft.addresses.as_ref().is_some_and(|addresses| addresses.table.is_some()),
        blast: BlastRadius::default(),
        blast_defaults: blast::defaults(&draft, report),
    };
    vocabulary::attributes(&mut shop, &draft);
    let signals = shop.signals(&draft);
    let crowds = shop.crowds(&draft, &signals);
    let limits = shop.limits(&draft.limits);
    let rules = shop.rules(&draft.rules);
    let observations = shop.pools(&draft.observation);
    let exemptions = shop.exemptions(&draft.exemptions);
    shop.settings.penalties = settings::penalties(&draft, report);
    shop.settings.shared_address = settings::shared_address(&draft, &shop.families, report);
    let places = places::places(&draft, report);
    score::check_reach(&draft, &shop, &rules);
    shop.warn_of_unused(&draft);
    shop.dimensions.check_budgets(&draft.memory, report);
    let policy = Policy {
        hash: Arc::from(""),
        name: draft.name.map_or_else(|| "unnamed".to_owned(), |name| name.value),
        settings: shop.settings,
        catalogue: shop.catalogue.into_names(),
        dimensions: shop.dimensions.into_list(),
        signals,
        limits,
        rules,
        families: shop.families,
        crowds,
        places,
        blast: shop.blast,
        observations,
        exemptions,
        lists: shop.lists.into_iter().map(|(name, list)| (name, list.to_vec())).collect(),
        networks: shop.networks.into_iter().map(|(name, list)| (name, list.to_vec())).collect(),
        sources: Vec::new(),
    };
    Some((policy, shop.tests))
}

/// What limits, rules and pools say about themselves.
struct About<'a> {
    id: &'a At<String>,
    code: &'a At<String>,
    text: &'a str,
    source: Option<&'a str>,
    owner: Option<&'a str>,
    tests: &'a [At<super::raw::RawTest>],
    mode: Mode,
    window: Option<Span>,
}

impl Workshop<'_> {
    /// Id, code, provenance and tests of a limit, rule or pool.
    fn about(&mut self, about: &About<'_>, family: &str) -> Arc<ReasonSource> {
        self.check_id(about.id);
        check_code(about.code, self.report);
        if about.mode != Mode::Off {
            self.check_provenance(about);
        }
        self.tests.extend(tests::read(&about.id.value, about.tests, self.report));
        Arc::new(ReasonSource {
            id: about.id.value.clone(),
            code: about.code.value.clone(),
            family: family.to_owned(),
            text: about.text.to_owned(),
            window: about.window,
        })
    }

    fn check_id(&mut self, id: &At<String>) {
        let shape = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
        if id.value.is_empty() || !id.value.chars().all(shape) {
            self.report.error(id.at, "an id is lower case letters, digits, `-`, `_` and `.`");
        }
        match self.ids.get(&id.value) {
            Some(first) => {
                let first = self.report.sources().place(*first);
                let message = format!("the id `{}` is taken at {}:{}", id.value, first.file, first.line);
                self.report.error(id.at, message);
            }
            None => {
                self.ids.insert(id.value.clone(), id.at);
            }
        }
    }

    fn check_provenance(&self, about: &About<'_>) {
        let blank = |text: Option<&str>| text.is_none_or(|text| text.trim().is_empty());
        if blank(about.source) {
            let message = format!("`{}` does not say where its threshold comes from", about.id.value);
            self.report.error_with(about.id.at, message, Some("add `source:`".into()));
        }
        if blank(about.owner) {
            let message = format!("`{}` has no owner", about.id.value);
            self.report.error_with(about.id.at, message, Some("add `owner:`".into()));
        }
        if about.tests.len() < 2 {
            let message = format!("`{}` has {} tests", about.id.value, about.tests.len());
            let suggestion = "add two: an honest heavy user who passes, an abuser who is stopped";
            self.report.warn(about.id.at, message, Some(suggestion.into()));
        }
    }

    /// The index of a family.
    fn family(&self, name: &At<String>) -> Option<usize> {
        family_index(&self.families, name, self.report)
    }
}

fn family_index(families: &[Family], name: &At<String>, report: &Report<'_>) -> Option<usize> {
    let found = families.iter().position(|family| family.name == name.value);
    if found.is_none() {
        let known: Vec<&str> = families.iter().map(|family| family.name.as_str()).collect();
        let suggestion = super::nearest::did_you_mean(&name.value, &known);
        report.error_with(name.at, format!("unknown family `{}`", name.value), suggestion);
    }
    found
}

fn check_code(code: &At<String>, report: &Report<'_>) {
    let shape = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if !code.value.starts_with(|c: char| c.is_ascii_uppercase()) || !code.value.chars().all(shape) {
        report.error(code.at, "a code is upper case letters, digits and `_`, such as RATE_USER");
    }
}
