//! How well the policies detect, where labels say what is true.

use super::super::findings::Findings;
use super::{Lines, part};
use crate::evaluate::figures::{Confusion, Rate};
use crate::evaluate::report::{percent, rate};

/// Precision, recall and false-positive rate over labelled accounts above allow: name, now, then, difference.
pub(super) fn rates(findings: &Findings, number: Option<usize>) -> Vec<Vec<String>> {
    let of = |seat: usize| findings.detection[seat].as_ref().and_then(|figures| figures.accounts.first());
    let (Some(now), Some(then)) = (of(number.map_or(0, |number| number + 1)), of(0)) else {
        return Vec::new();
    };
    let row = |name: &str, of: fn(&Confusion) -> &Rate| {
        let (now, then) = (of(now), of(then));
        vec![name.to_owned(), rate(now), rate(then), difference(now, then)]
    };
    vec![
        row("precision", |confusion| &confusion.precision),
        row("recall", |confusion| &confusion.recall),
        row("false-positive rate", |confusion| &confusion.false_positive_rate),
    ]
}

/// In percentage points; nothing where one of the two is not known.
fn difference(now: &Rate, then: &Rate) -> String {
    let both = now.value.zip(then.value);
    both.map_or("-".to_owned(), |(now, then)| match percent((then - now).abs()) {
        points if then == now => points,
        points if then > now => format!("+{points} points"),
        points => format!("-{points} points"),
    })
}

/// What the rates are of, and of whom nothing is known.
pub(super) fn labels(findings: &Findings, lines: &mut Lines) {
    let Some(figures) = &findings.detection[0] else { return };
    let Some(accounts) = figures.accounts.first() else { return };
    let coverage = findings.ran.coverage;
    let (attackers, honest) = (accounts.recall.of, accounts.false_positive_rate.of);
    lines.paragraph(format!(
        "Rates are of labelled accounts ({attackers} attackers, {honest} honest) by the last verdict on any of their events, above \
         allow; in brackets 95 % intervals. Labelled are {} of the decisions that the candidate allows and {} of those that it acts on.",
        part(coverage.allowed[0], coverage.allowed[1]),
        part(coverage.acted_on[0], coverage.acted_on[1])
    ));
    if findings.ran.strata.misses_the_allowed() {
        lines.paragraph(
            "**No allowed event has a label**: what was missed cannot be known, and recall is too high. Label a random sample of \
             allowed ones.",
        );
    } else if coverage.is_lopsided() {
        lines.paragraph(
            "**What was acted on is labelled far more often than what was allowed**: recall and the false-positive rate are too \
             high. The report weighs labels by who had a chance to get one.",
        );
    }
}
