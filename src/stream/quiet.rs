//! Calls that may panic inside a library for what a stranger sent, without a line on stderr for each.
//!
//! The Kafka client panics when the name of a header is not UTF-8. Anyone who may write to the input topic can send
//! such records by the thousand, so the panic is caught, and the process's panic hook is told to stay silent for
//! this thread while the call lasts. All other panics are reported as before.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// The result of `call`, or `None` when it panicked. `call` must leave nothing half changed when it panics.
pub(super) fn attempt<T>(call: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(install);
    QUIET.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    QUIET.set(false);
    result.ok()
}

fn install() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !QUIET.get() {
            before(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_none() {
        assert_eq!(attempt(|| 3), Some(3));
        assert_eq!(attempt(|| -> u8 { panic!("as if a header were bad") }), None);
        assert!(!QUIET.get());
    }
}
