//! Signals that nothing reads.

use super::{Finding, Kind};
use crate::engine::policy::{Origin, Policy};

pub(super) fn unused(policy: &Policy) -> Vec<Finding> {
    let names = policy.catalogue.iter().filter(|name| matches!(name.origin, Origin::Signal(_)) && !name.used);
    let finding = |name: &crate::engine::policy::Name| Finding {
        kind: Kind::Unused,
        about: name.path.clone(),
        message: "no rule, pool or crowd reads it, and it is counted at every event".to_owned(),
    };
    names.map(finding).collect()
}
