//! How far a replay has come, on a terminal only.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::FileOrStandard;

const OF_A_FILE: &str = "{wide_bar} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left";
const OF_A_STREAM: &str = "{spinner} {bytes}  {bytes_per_sec}  {elapsed}";

/// A bar, a spinner where the length is not known, or nothing where it would disturb.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Nothing is shown unless stderr is a terminal, and not while decisions are written to one.
    pub(super) fn start(length: Option<u64>, output: &FileOrStandard) -> Self {
        let in_the_way = *output == FileOrStandard::Standard && io::stdout().is_terminal();
        if in_the_way || !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let (bar, template) = match length {
            Some(length) => (ProgressBar::new(length), OF_A_FILE),
            None => (ProgressBar::new_spinner(), OF_A_STREAM),
        };
        let style = ProgressStyle::with_template(template).expect("the template is written in this file");
        Self(bar.with_style(style))
    }

    /// So many bytes more were decided.
    pub(super) fn advance(&self, bytes: usize) {
        self.0.inc(bytes as u64);
    }

    /// The bar goes.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_templates_can_be_read() {
        for template in [OF_A_FILE, OF_A_STREAM] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
