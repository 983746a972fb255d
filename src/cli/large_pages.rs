//! Large pages: with gigabytes of state, finding the memory behind an address takes a tenth to a fifth of the CPU time where
//! pages have 4 KiB.
//!
//! The C library asks the kernel for large pages only when an environment variable said so before the program began. So a
//! command that holds state begins once more with it set: the same process, arguments, files and environment otherwise.
//! `WEIR_LARGE_PAGES`, set to anything, forbids that; the second beginning has it set, so there is never a third.

use super::Command;

/// Says that large pages were asked for, or are not wanted.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ASKED: &str = "WEIR_LARGE_PAGES";
/// What the C library reads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TUNABLES: &str = "GLIBC_TUNABLES";

/// Begins once more with large pages, for a command that they are of use to, where the kernel gives them to those who ask.
/// Returns where not, and where that fails.
pub fn ask(command: &Command) {
    use Command::{Backtest, Evaluate, Replay, Run, Suggest, Sweep};
    if matches!(command, Run(_) | Replay(_) | Backtest(_) | Evaluate(_) | Suggest(_) | Sweep(_)) {
        begin_again();
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(clippy::disallowed_methods, reason = "what begins the program belongs to its command line")]
fn begin_again() {
    use std::os::unix::process::CommandExt;

    let kernel = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let on_request = kernel.is_ok_and(|modes| modes.contains("[madvise]"));
    if !on_request || std::env::var_os(ASKED).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| program.clone().into_os_string());
    let tunables = tunables(std::env::var(TUNABLES).ok().as_deref());
    let again = &mut std::process::Command::new(program);
    // It comes back only when it failed: then all goes on with small pages.
    let _failure = again.arg0(name).args(arguments).env(TUNABLES, tunables).env(ASKED, "1").exec();
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn begin_again() {}

/// What was set before, and large pages unless something was said of them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn tunables(before: Option<&str>) -> String {
    const HUGE: &str = "glibc.malloc.hugetlb";
    match before.filter(|before| !before.is_empty()) {
        None => format!("{HUGE}=1"),
        Some(before) if before.contains(HUGE) => before.to_owned(),
        Some(before) => format!("{before}:{HUGE}=1"),
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::tunables;

    #[test]
    fn what_was_set_before_stays() {
        assert_eq!(tunables(None), "glibc.malloc.hugetlb=1");
        assert_eq!(tunables(Some("")), "glibc.malloc.hugetlb=1");
        assert_eq!(
            tunables(Some("glibc.malloc.arena_max=2")),
            "glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1"
        );
        assert_eq!(tunables(Some("glibc.malloc.hugetlb=2")), "glibc.malloc.hugetlb=2");
    }
}
