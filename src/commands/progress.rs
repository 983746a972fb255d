//! How far the reading of a file has come, on a terminal only.

use std::io::{self, IsTerminal, Read};

use indicatif::{ProgressBar, ProgressStyle};

const OF_A_FILE: &str = "{wide_bar} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left  {msg}";
const OF_A_STREAM: &str = "{spinner} {bytes}  {bytes_per_sec}  {elapsed}  {msg}";

/// A bar, a spinner where the length is not known, or nothing where it would disturb.
#[derive(Clone, Debug)]
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Nothing is shown unless stderr is a terminal, and not where `in_the_way` of what is written to one.
    pub(super) fn start(length: Option<u64>, in_the_way: bool) -> Self {
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

    /// What is read from `from` counts as done.
    pub(super) fn reading(&self, from: Box<dyn Read>) -> Box<dyn Read> {
        if self.0.is_hidden() { from } else { Box::new(self.0.wrap_read(from)) }
    }

    /// So many events were decided so far.
    pub(super) fn events(&self, count: u64) {
        if !self.0.is_hidden() {
            let seconds = self.0.elapsed().as_secs_f64().max(0.001);
            self.0.set_message(format!("{count} events, {:.0}/s", count as f64 / seconds));
        }
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
