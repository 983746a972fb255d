//! How often keys come in aligned windows. What is usual the model does not learn: it knows that no threshold is below the
//! stated least, and so how far over it a key can be at the most.

use std::collections::HashMap;

use super::Model;
use super::condition::Known;
use super::look::Look;
use super::range::Range;
use crate::engine::decision::QualityCode;
use crate::engine::pace::PaceSpec;

/// The present window of each action, and what the keys did in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Paces {
    windows: HashMap<String, (i64, HashMap<String, u32>)>,
}

impl Model {
    pub(super) fn pace(
        &mut self,
        (counter, signal): (&str, &str),
        (action, key): (&str, &str),
        look: &mut Look,
        spec: &PaceSpec,
    ) -> Known {
        let paces = self.paces.entry(counter.to_owned()).or_default();
        let number = look.at.millis().div_euclid(spec.window.millis());
        let (window, keys) = paces.windows.entry(action.to_owned()).or_insert((number, HashMap::new()));
        if number > *window {
            *window = number;
            keys.clear();
        }
        let count = keys.entry(key.to_owned()).or_default();
        *count += 1;
        let most = f64::from(*count) / spec.least;
        look.note(QualityCode::Approximate, Some(signal), false);
        Known::Doubles(Range { lo: 0.0, hi: most })
    }
}
