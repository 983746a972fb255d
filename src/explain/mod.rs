//! Why one event was decided as it was: the engine runs over all events before it and leaves a trace of that one.
//!
//! [`Explainer`] listens to events like everybody else; the decision is made by the very engine that runs live, and what
//! is shown is what it was made from: the state before, each signal and limit with its value, each condition of each rule,
//! the arithmetic of the score, and the same decision once more without each thing that acted.

mod explainer;
mod explanation;
mod state;
mod text;

pub use self::explainer::Explainer;
pub use self::explanation::Explanation;
