//! What it costs to do as another policy does instead of the candidate: the contrast, the other way round.

use serde::Serialize;

use super::figures::reviews;
use super::findings::Findings;
use crate::engine::verdict::Verdict;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Costs {
    /// Decisions above allow.
    pub acted_on: u64,
    /// Of so many.
    pub decisions: u64,
    /// Decisions whose verdict would be stronger, and weaker.
    pub stronger: u64,
    /// See above.
    pub weaker: u64,
    /// Accounts with a decision that is allowed and would not be.
    pub newly_touched: u64,
    /// The share of settled ones among them.
    pub settled_share: Option<f64>,
    /// The share of paying ones among them.
    pub paying_share: Option<f64>,
    /// Accounts with a decision that is not allowed and would be.
    pub newly_freed: u64,
    /// Cases opened and accounts held, per day.
    pub reviews_per_day: f64,
    /// Attackers acted on, of the labelled accounts; `None` without labels.
    pub recall: Option<f64>,
    /// Honest accounts acted on, of the labelled ones.
    pub false_positive_rate: Option<f64>,
}

impl Findings {
    /// What it costs to do as the `number`-th other policy does; of the candidate itself without a number.
    pub fn costs(&self, number: Option<usize>) -> Costs {
        let place = number.map_or(0, |number| number + 1);
        let (seat, detection) = (&self.ran.seats[place], self.detection[place].as_ref());
        let rates = detection.map(|figures| &figures.accounts[0]);
        let own = Costs {
            acted_on: seat.ledger.at_least(Verdict::Demote),
            decisions: seat.ledger.decisions(),
            reviews_per_day: reviews(seat, self.ran.passed.days()),
            recall: rates.and_then(|rates| rates.recall.value),
            false_positive_rate: rates.and_then(|rates| rates.false_positive_rate.value),
            ..Costs::default()
        };
        let Some(contrast) = number.map(|number| &self.ran.contrasts[number]) else { return own };
        // The contrast holds the other policy for what is now: here it is what would be.
        let touched = &contrast.newly_freed;
        Costs {
            stronger: contrast.count(|other, candidate| other > candidate),
            weaker: contrast.count(|other, candidate| other < candidate),
            newly_touched: touched.accounts(),
            settled_share: touched.share(|kept| kept.settled),
            paying_share: touched.share(|kept| kept.paying),
            newly_freed: contrast.newly_touched.accounts(),
            ..own
        }
    }

    /// Rules of the candidate with how many decisions each spoke of, live or in shadow, and of how many accounts; with
    /// the shares of settled and paying ones.
    pub fn spoken(&self, id: &str) -> Option<Spoken> {
        let speaker = self.ran.seats[0].ledger.speakers.named(id)?;
        Some(Spoken {
            decisions: speaker.all(),
            accounts: speaker.accounts.accounts(),
            settled_share: speaker.accounts.share(|kept| kept.settled),
            paying_share: speaker.accounts.share(|kept| kept.paying),
        })
    }
}

/// Of what a rule spoke.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spoken {
    /// Decisions.
    pub decisions: u64,
    /// Accounts.
    pub accounts: u64,
    /// The share of settled ones among them.
    pub settled_share: Option<f64>,
    /// The share of paying ones among them.
    pub paying_share: Option<f64>,
}
