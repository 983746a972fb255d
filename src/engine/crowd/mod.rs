//! Crowds: telling a bought crowd from an honest one, by those who act on one target together.
//!
//! A *gate* for each target opens when more people act on it than on nearly all others (`gate`). Behind it, the last few
//! hundred accounts are kept with their traits (`gathering`, `traits`) and judged now and then against a sample of ordinary
//! actors (`sample`, `mixture`, `image`, `composition`). When two families of evidence agree that a part was brought in,
//! each account is weighed by its own traits (`evidence`): a crowd condemns nobody who does not look like what was brought
//! in. With enough members it is a *campaign* (`campaign`): one case, and corrections of what was decided on its
//! members before (`trail`, `entry`, `correct`). While no gate is open, an event costs its traits and one entry of the trail.
//!
//! Nothing here bans anybody. All state is bounded and takes part in cuts.

mod bursts;
mod campaign;
mod composition;
mod correct;
mod earlier;
mod entry;
mod evidence;
mod follow;
mod gate;
mod gathering;
mod image;
mod joint;
mod look;
mod mixture;
mod persona;
mod quantile;
mod sample;
mod saved;
mod state;
mod trail;
mod traits;
mod weigh;

pub use self::earlier::Correction;
pub use self::evidence::{Kind, Weighed};
pub use self::state::CrowdStats;

pub(crate) use self::evidence::most_points;
pub(crate) use self::gate::{IDENTITY as GATE, WINDOWS_MAX, words as gate_words};
pub(crate) use self::look::CrowdLook;
pub(crate) use self::persona::FIRST as PERSONA_FIRST;
pub(crate) use self::state::Crowds;
pub(crate) use self::traits::ATTRIBUTES_MAX;
pub(crate) use self::weigh::{BELONGS, Heard, Verdicts, heard, score};
