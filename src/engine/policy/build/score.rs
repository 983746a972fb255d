//! The score: prior, ladder, independence, families; and whether the rules can ever reach the ladder.

use super::Workshop;
use super::draft::Draft;
use super::quantity::{number_or, within};
use super::settings::reason;
use crate::engine::crowd::most_points;
use crate::engine::policy::problem::Report;
use crate::engine::policy::raw::{RawLadder, RawScore};
use crate::engine::policy::reader::At;
use crate::engine::policy::{Effect, Family, Ladder, Mode, Rule};

/// Families that every policy has, with their caps in points.
const FAMILIES: [(&str, i32); 7] = [
    ("volume", 43),
    ("network", 22),
    ("device", 43),
    ("account", 36),
    ("group", 58),
    ("timing", 22),
    ("content", 22),
];

/// Prior, ladder, families a reject needs, and what is strong.
pub(super) fn numbers(raw: Option<&At<RawScore>>, report: &Report<'_>) -> (i32, Ladder, usize, i32) {
    let raw = raw.map(|raw| &raw.value);
    let prior = number_or("prior", raw.and_then(|raw| raw.prior.as_ref()), -1000..=0, -100, report);
    let independence = raw.and_then(|raw| raw.independence.as_ref());
    let reject_families = number_or(
        "reject_families",
        independence.and_then(|i| i.reject_families.as_ref()),
        0..=10,
        2,
        report,
    );
    let strong = number_or("strong", independence.and_then(|i| i.strong.as_ref()), 1..=1000, 14, report);
    (prior, ladder(raw.and_then(|raw| raw.ladder.as_ref()), report), reject_families, strong)
}

fn ladder(raw: Option<&At<RawLadder>>, report: &Report<'_>) -> Ladder {
    let step = |name: &str, pick: fn(&RawLadder) -> Option<&At<i64>>, default: i32| {
        number_or(name, raw.and_then(|raw| pick(&raw.value)), -1000..=1000, default, report)
    };
    let ladder = Ladder {
        demote: step("demote", |raw| raw.demote.as_ref(), -6),
        challenge: step("challenge", |raw| raw.challenge.as_ref(), 9),
        hold: step("hold", |raw| raw.hold.as_ref(), 17),
        reject: step("reject", |raw| raw.reject.as_ref(), 25),
    };
    let steps = [
        ("demote", ladder.demote),
        ("challenge", ladder.challenge),
        ("hold", ladder.hold),
        ("reject", ladder.reject),
    ];
    for pair in steps.windows(2) {
        let [(lower, from), (higher, to)] = [pair[0], pair[1]];
        if to <= from {
            let message =
                format!("the ladder must ascend: {higher} from {to} is not above {lower} from {from}");
            report.error(raw.map_or(0, |raw| raw.at), message);
        }
    }
    ladder
}

/// The standard families and those the policy names; a name again changes the cap.
pub(super) fn families(raw: Option<&At<RawScore>>, report: &Report<'_>) -> Vec<Family> {
    let mut families: Vec<Family> = FAMILIES.iter().map(|(name, cap)| family(name, *cap)).collect();
    let named = raw.and_then(|raw| raw.value.families.as_ref());
    for (name, cap) in named.map(|named| named.0.as_slice()).unwrap_or_default() {
        let Some(cap) = within("the cap of a family", cap, 0..=1000, report) else {
            continue;
        };
        let made = family(&name.value, i32::try_from(cap).unwrap_or(i32::MAX));
        match families.iter_mut().find(|family| family.name == name.value) {
            Some(family) => *family = made,
            None => families.push(made),
        }
    }
    families
}

fn family(name: &str, cap: i32) -> Family {
    let text = "Evidence of one kind counts only so far";
    Family { name: name.to_owned(), cap, info: reason(&format!("cap-{name}"), "FAMILY_CAP", name, text) }
}

/// Warns when all evidence together stays below the ladder.
pub(super) fn check_reach(draft: &Draft, shop: &Workshop<'_>, rules: &[Rule]) {
    let mut sums = vec![0i32; shop.families.len()];
    for rule in rules.iter().filter(|rule| rule.mode == Mode::Live) {
        let most = match rule.effect {
            Effect::Points(points) => points.max(0),
            Effect::Evidence { kind, weight } => most_points(kind, weight),
            Effect::Floor(_) => 0,
        };
        sums[rule.family] = sums[rule.family].saturating_add(most);
    }
    let capped = sums.iter().zip(&shop.families).map(|(sum, family)| (*sum).min(family.cap));
    let most = capped.clone().fold(shop.settings.prior, i32::saturating_add);
    let strong = capped.filter(|points| *points >= shop.settings.strong).count();
    let at = draft.score.as_ref().map_or_else(|| first_points(draft), |score| Some(score.at));
    let (Some(at), true) = (at, sums.iter().any(|sum| *sum > 0)) else {
        return;
    };
    let ladder = shop.settings.ladder;
    if most < ladder.demote {
        let message =
            format!("all evidence together reaches {most} points, below `demote` from {}", ladder.demote);
        shop.report.warn(at, message, None);
    } else if most < ladder.reject {
        let message =
            format!("all evidence together reaches {most} points, below `reject` from {}", ladder.reject);
        shop.report.warn(at, message, None);
    } else if strong < shop.settings.reject_families {
        let message = format!(
            "a reject by suspicion needs {} families with {} points or more; the rules have {strong}",
            shop.settings.reject_families, shop.settings.strong
        );
        shop.report.warn(at, message, None);
    }
}

fn first_points(draft: &Draft) -> Option<usize> {
    draft.rules.iter().find_map(|rule| rule.points.as_ref().map(|points| points.at))
}
