//! A number of a policy at several values: a policy for each, all in one pass over the events beside the policy as it is.

use std::sync::Arc;

use crate::backtest::Side;
use crate::engine::policy::Policy;
use crate::engine::policy::edit::{EditError, edited};
use crate::engine::policy::load::load;

/// The most policies of one pass: each has a state of its own.
const VARIANTS_MAX: usize = 32;

/// One parameter with its values, as typed: `NAME=V1,V2,...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name: `user-minute.max`, `user_action_1h.window`, `score.ladder.hold`.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
}

/// Why a parameter cannot be swept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// Not of the form.
    #[error("`{0}` is no parameter: write NAME=VALUE,VALUE,...")]
    Form(String),
    /// It is not in the policy, or not a value that can be set.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The policy with it is wrong.
    #[error("{name}={value}: {problems}")]
    Policy {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
        /// What is wrong, in words.
        problems: String,
    },
    /// Too many at once.
    #[error("{0} values are too many for one pass: each has a state of its own; {VARIANTS_MAX} are the most")]
    Many(usize),
}

/// One value of one parameter.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The parameter.
    pub name: String,
    /// The value.
    pub value: String,
    /// What it is now.
    pub now: String,
    /// The policy with it.
    pub policy: Arc<Policy>,
}

/// All variants.
#[derive(Clone, Debug)]
pub struct Variants(pub Vec<Variant>);

impl std::str::FromStr for Parameter {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || ParameterError::Form(text.to_owned());
        let (name, values) = text.split_once('=').ok_or_else(form)?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if name.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(form());
        }
        Ok(Self { name: name.trim().to_owned(), values })
    }
}

impl Variants {
    /// The policy of these files with each value of each parameter, one at a time.
    ///
    /// # Errors
    /// A parameter is not there, or a value makes no policy.
    pub fn of(files: &[(String, String)], parameters: &[Parameter]) -> Result<Self, ParameterError> {
        let count = parameters.iter().map(|parameter| parameter.values.len()).sum();
        if count > VARIANTS_MAX {
            return Err(ParameterError::Many(count));
        }
        let mut variants = Vec::new();
        for Parameter { name, values } in parameters {
            for value in values {
                let (changed, now) = edited(files, name, value)?;
                let loaded = load(&changed).map_err(|problems| ParameterError::Policy {
                    name: name.clone(),
                    value: value.clone(),
                    problems: problems.first().map(ToString::to_string).unwrap_or_default(),
                })?;
                let (name, value) = (name.clone(), value.clone());
                variants.push(Variant { name, value, now, policy: loaded.policy });
            }
        }
        Ok(Self(variants))
    }

    /// The policies for a pass, named by their values.
    pub fn sides(&self) -> Vec<Side> {
        let side = |variant: &Variant| Side {
            name: format!("{}={}", variant.name, variant.value),
            policy: Arc::clone(&variant.policy),
        };
        self.0.iter().map(side).collect()
    }
}
