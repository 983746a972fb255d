//! Check: whether what came out is what the journal says. Nothing of it is told before.

use crate::pipeline::chain::Chain;
use crate::pipeline::line::{Broken, Line};
use crate::pipeline::score::Report;
use crate::wire::journal::{JournalKind, JournalRecord};

/// See the module.
pub(super) struct Checking {
    chain: Chain,
}

impl Checking {
    /// Behind the records that a line has.
    pub(super) fn behind(line: &Line) -> Self {
        Self { chain: line.chain }
    }

    /// Compares the digest of what came of a record. Returns what is to be told of it within this process: what became of
    /// its records is the owner's to count.
    ///
    /// # Errors
    /// [`Broken::Diverged`]: other outputs came of the same inputs.
    pub(super) fn check(
        &mut self,
        record: &JournalRecord,
        digest: u128,
        report: Report,
    ) -> Result<Report, Broken> {
        if record.kind == JournalKind::Reset {
            self.chain = Chain::default();
        }
        self.chain = self.chain.check(record, digest)?;
        let Report { bans, touched, as_of, .. } = report;
        Ok(Report { bans, touched, as_of, ..Report::default() })
    }
}
