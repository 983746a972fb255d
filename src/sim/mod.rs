//! Simulated traffic: honest people and, among them, attackers, with the truth about every account and event.
//!
//! Two tellers share dice, devices and words. [`Traffic`] streams a [`scenario`], as long as it may be, out of a world
//! of people; [`Simulation`] plans the quarter of an hour of the demo and tells it as often as is wished. Both are
//! functions of name, seed and size: the same gives the same bytes on every machine. They know nothing of policies:
//! what is caught is found out by sending it through the engine. Nothing here can fail.

mod act;
mod demo;
mod device;
mod dice;
mod event;
pub mod labels;
mod market;
mod record;
pub mod scenario;
mod traffic;
mod world;

pub use demo::{Account, Campaign, Incident, Scenario, SimEvent, Simulation};
pub use device::{ATTRIBUTES, Device};
pub use event::{Action, Truth};
pub use traffic::{CampaignTruth, Told, Traffic};
