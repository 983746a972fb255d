//! Finding thresholds: what is usual of each signal ([`Usual`]), and what another value of a number would cost
//! ([`Variants`]). Both run the engine that runs live over events that were.

mod patch;
mod quantiles;
mod sweep;
mod usual;

pub use self::patch::{Suggestion, ids, patch, suggestions};
pub use self::quantiles::Quantiles;
pub use self::sweep::{Parameter, ParameterError, Variant, Variants};
pub use self::usual::Usual;
