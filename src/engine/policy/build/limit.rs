//! Limits: key, filter, spans and algorithm, verdicts, penalty.

use super::blast::Holds;
use super::condition::Reads;
use super::identity::{canonical, identity};
use super::quantity::{positive_span, window, within};
use super::{About, Workshop};
use crate::engine::entity::EntityKind;
use crate::engine::limit::{Algorithm, Limit, LimitError, LimitSpec, Max};
use crate::engine::policy::duration::parse_duration;
use crate::engine::policy::raw::{self, RawAlgorithm, RawLimit, RawPenalty, RawSpan};
use crate::engine::policy::reader::At;
use crate::engine::policy::{KeyField, LimitRule, LimitSpan, OnRepeat};
use crate::engine::time::Span;
use crate::engine::verdict::Verdict;

/// Up to this many, every time is kept.
const LOG_MAX: i64 = 32;
/// Sub-windows unless stated.
const SLOTS: u32 = 12;

/// One span as written.
struct Written<'a> {
    window: &'a At<raw::Duration>,
    max: &'a At<raw::Max>,
}

impl Workshop<'_> {
    pub(super) fn limits(&mut self, raw: &[RawLimit]) -> Vec<LimitRule> {
        raw.iter().filter_map(|limit| self.limit(limit)).collect()
    }

    fn limit(&mut self, raw: &RawLimit) -> Option<LimitRule> {
        let mode = raw.mode.as_ref().map(|mode| mode.value.meaning()).unwrap_or_default();
        let family_name = raw.family.clone().unwrap_or(At { at: raw.id.at, value: "volume".to_owned() });
        let family = self.family(&family_name);
        let dimension = self.dimension(&raw.key);
        let filter = raw.when.as_ref().map(|when| self.condition(when, Reads::NoSignals));
        let cost = raw.cost.as_ref().map(|cost| self.number(cost, Reads::NoSignals));
        let spans = self.spans(raw, dimension);
        let verdict = self.limit_verdict(raw);
        let on_repeat = self.on_repeat(raw, verdict);
        let penalty = dimension.and_then(|dimension| self.penalty(raw, dimension));
        let longest = spans.iter().flatten().map(|span| span.limit.window()).max();
        let rollout = self.rollout(raw.rollout.as_ref(), mode, &raw.id.value);
        let about = About {
            id: &raw.id,
            code: &raw.code,
            text: &raw.text,
            source: raw.source.as_deref(),
            owner: raw.owner.as_deref(),
            tests: &raw.tests,
            mode,
            window: longest,
        };
        let info = self.about(&about, &family_name.value);
        let strongest = on_repeat.map_or(verdict, |repeat| repeat.verdict.max(verdict));
        let holds = Holds {
            id: &raw.id,
            mode,
            family: &family_name.value,
            strongest: Some(strongest),
            by_default: strongest >= Verdict::Challenge,
        };
        let budget = self.budget(raw.blast_radius.as_ref(), &holds);
        Some(LimitRule {
            info,
            family: family?,
            dimension: dimension?,
            filter: filter.map_or(Some(None), |filter| filter.map(Some))?,
            spans: spans?,
            cost: cost.map_or(Some(None), |cost| cost.map(Some))?,
            verdict,
            on_repeat,
            count_refused: raw.count_refused,
            on_empty: raw.on_empty.as_ref().map(|word| word.value.meaning()).unwrap_or_default(),
            penalty,
            mode,
            rollout: rollout?,
            budget,
        })
    }

    fn limit_verdict(&self, raw: &RawLimit) -> Verdict {
        let verdict = raw.verdict.value.meaning();
        if verdict == Verdict::Allow {
            self.report.error(raw.verdict.at, "a limit that allows when it refuses does nothing");
        }
        let by_address =
            raw.key.value.iter().any(|field| field.value == "ip" || field.value.starts_with("ip/"));
        if verdict == Verdict::Block && by_address {
            self.report
                .error(raw.verdict.at, "an address is never banned automatically: `reject` is the most");
        }
        verdict
    }

    fn on_repeat(&self, raw: &RawLimit, verdict: Verdict) -> Option<OnRepeat> {
        let repeat = raw.on_repeat.as_ref()?;
        let stronger = repeat.value.verdict.value.meaning();
        if stronger <= verdict {
            let message = format!("`{stronger}` on repetition is not stronger than `{verdict}` at first");
            self.report.warn(repeat.value.verdict.at, message, None);
        }
        let within = positive_span("`within`", &repeat.value.within, self.report)?;
        Some(OnRepeat { within, verdict: stronger })
    }

    /// Whose penalty grows: as said, else the user of the key, else its device, else nobody's.
    fn penalty(&self, raw: &RawLimit, dimension: usize) -> Option<EntityKind> {
        let fields = self.dimensions.fields(dimension);
        let has = |field: &KeyField| fields.contains(field);
        let Some(said) = &raw.penalty else {
            let device = has(&KeyField::Device).then_some(EntityKind::Device);
            return if has(&KeyField::User) { Some(EntityKind::User) } else { device };
        };
        let (field, kind) = match said.value {
            RawPenalty::None => return None,
            RawPenalty::User => (KeyField::User, EntityKind::User),
            RawPenalty::Device => (KeyField::Device, EntityKind::Device),
        };
        if !has(&field) {
            let message = format!("the key has no {kind}: whoever comes next would pay for another");
            self.report.error(said.at, message);
        }
        Some(kind)
    }

    fn spans(&self, raw: &RawLimit, dimension: Option<usize>) -> Option<Vec<LimitSpan>> {
        let written = self.written_spans(raw)?;
        let spans: Vec<Option<LimitSpan>> =
            written.iter().map(|written| self.span(raw, written, dimension)).collect();
        for (index, span) in spans.iter().enumerate() {
            let same = |other: &Option<LimitSpan>| match (other, span) {
                (Some(a), Some(b)) => a.identity == b.identity,
                _ => false,
            };
            if spans[..index].iter().any(same) {
                self.report.error(written[index].window.at, "this limit has a span of this window already");
            }
        }
        spans.into_iter().collect()
    }

    fn written_spans<'r>(&self, raw: &'r RawLimit) -> Option<Vec<Written<'r>>> {
        match (&raw.window, &raw.max, &raw.spans) {
            (Some(window), Some(max), None) => Some(vec![Written { window, max }]),
            (None, None, Some(spans)) if !spans.value.is_empty() => {
                let written =
                    |span: &'r At<RawSpan>| Written { window: &span.value.window, max: &span.value.max };
                Some(spans.value.iter().map(written).collect())
            }
            _ => {
                let message = format!("`{}` needs `window` and `max`, or else `spans`", raw.id.value);
                self.report.error(raw.id.at, message);
                None
            }
        }
    }

    fn span(&self, raw: &RawLimit, written: &Written<'_>, dimension: Option<usize>) -> Option<LimitSpan> {
        let max = self.max(written.max);
        let window = window(written.window, self.report);
        let (max, window) = (max?, window?);
        let algorithm = self.algorithm(raw.algorithm.as_ref(), max, window)?;
        let filter = raw.when.as_ref().map(|when| canonical(&when.value.0)).unwrap_or_default();
        let cost = raw.cost.as_ref().map(|cost| canonical(&cost.value.0)).unwrap_or_default();
        let name = self.dimensions.name(dimension?);
        let counted = counted(&algorithm, raw.count_refused);
        let identity = identity(&[&raw.id.value, name, &filter, &cost, &window.to_string(), &counted]);
        let grace = self.settings.grace.plus(self.settings.skew);
        let spec = LimitSpec { algorithm, max, grace };
        match Limit::new(&spec) {
            Ok(limit) => Some(LimitSpan { limit, spec, identity }),
            Err(error) => {
                self.report.error(self.blame(raw, written, &error), error.to_string());
                None
            }
        }
    }

    /// Where a limit's own objection belongs.
    fn blame(&self, raw: &RawLimit, written: &Written<'_>, error: &LimitError) -> usize {
        let algorithm = raw.algorithm.as_ref().map_or(written.window.at, |algorithm| algorithm.at);
        match error {
            LimitError::EmptyWindow | LimitError::WindowTooLong { .. } => written.window.at,
            LimitError::NegativeMax(_) | LimitError::TooManyForLog { .. } | LimitError::TooLarge(_) => {
                written.max.at
            }
            LimitError::UnknownZone(_) => zone_of(raw).map_or(algorithm, |zone| zone.at),
            _ => algorithm,
        }
    }

    fn max(&self, max: &At<raw::Max>) -> Option<Max> {
        match max.value {
            raw::Max::Unlimited => Some(Max::Unlimited),
            raw::Max::Number(number) if number < 0 => {
                let message = format!("a limit of {number}: a maximum is not negative");
                self.report.error_with(max.at, message, Some("no limit is the word `unlimited`".into()));
                None
            }
            raw::Max::Number(number) => {
                if number == 0 {
                    let suggestion = "no limit is the word `unlimited`; a limit that rests is `mode: off`";
                    self.report.warn(max.at, "`max: 0` refuses always", Some(suggestion.into()));
                }
                Some(Max::AtMost(number))
            }
        }
    }

    fn algorithm(&self, raw: Option<&At<RawAlgorithm>>, max: Max, window: Span) -> Option<Algorithm> {
        let Some(raw) = raw else {
            return Some(default_algorithm(max, window));
        };
        Some(match &raw.value {
            RawAlgorithm::SlidingLog {} => Algorithm::SlidingLog { window },
            RawAlgorithm::SlidingWindow { slots } => {
                let slots = match slots {
                    Some(slots) => within("slots", slots, 10..=100, self.report)?,
                    None => i64::from(SLOTS),
                };
                Algorithm::SlidingWindow { window, slots: u32::try_from(slots).unwrap_or(SLOTS) }
            }
            RawAlgorithm::LeakyBucket {} => Algorithm::LeakyBucket { window },
            RawAlgorithm::Calendar { zone } => {
                let zone = zone.as_ref().map_or_else(|| "UTC".to_owned(), |zone| zone.value.clone());
                Algorithm::Calendar { window, zone }
            }
            RawAlgorithm::TokenBucket { refill } => {
                let (refill, per) = match (refill, max) {
                    (Some(refill), _) => self.refill(refill)?,
                    (None, Max::AtMost(max)) => (u64::try_from(max.max(1)).unwrap_or(1), window),
                    (None, Max::Unlimited) => (1, window),
                };
                Algorithm::TokenBucket { refill, per }
            }
        })
    }

    /// `10 per 1s`
    fn refill(&self, text: &At<String>) -> Option<(u64, Span)> {
        let parts = text.value.split_once(" per ");
        let read = parts.and_then(|(count, per)| {
            let count = count.trim().parse().ok()?;
            Some((count, parse_duration(per.trim()).ok().filter(|per| *per > Span::ZERO)?))
        });
        if read.is_none() {
            self.report.error(text.at, format!("`{}` is no rate; write `10 per 1s`", text.value));
        }
        read
    }
}

fn default_algorithm(max: Max, window: Span) -> Algorithm {
    match max {
        Max::AtMost(max) if max > LOG_MAX => Algorithm::SlidingWindow { window, slots: SLOTS },
        _ => Algorithm::SlidingLog { window },
    }
}

fn zone_of(raw: &RawLimit) -> Option<&At<String>> {
    match &raw.algorithm.as_ref()?.value {
        RawAlgorithm::Calendar { zone } => zone.as_ref(),
        _ => None,
    }
}

/// The algorithm without its thresholds.
fn counted(algorithm: &Algorithm, count_refused: bool) -> String {
    let refused = if count_refused { "+refused" } else { "" };
    match algorithm {
        Algorithm::SlidingLog { .. } => format!("log{refused}"),
        Algorithm::SlidingWindow { slots, .. } => format!("window/{slots}{refused}"),
        Algorithm::TokenBucket { per, .. } => format!("token_bucket/{per}{refused}"),
        Algorithm::LeakyBucket { .. } => format!("leaky_bucket{refused}"),
        Algorithm::Calendar { zone, .. } => format!("calendar/{zone}{refused}"),
    }
}
