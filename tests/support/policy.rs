//! Policies of a few lines.

use std::sync::Arc;

use weir::engine::policy::Policy;
use weir::engine::policy::load::load;

/// The policy of this text, which leaves the version out.
///
/// # Panics
/// With all that is wrong with it.
pub(crate) fn policy(text: &str) -> Arc<Policy> {
    match load(&[("p.yaml".to_owned(), format!("version: 1\n{text}"))]) {
        Ok(loaded) => loaded.policy,
        Err(problems) => panic!("{}", problems.iter().map(|p| format!("{p}\n")).collect::<String>()),
    }
}
