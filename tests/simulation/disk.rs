//! The disk of one process: checkpoints that were published, in memory. It outlives a crash.

use std::collections::BTreeMap;

use weir::engine::SEMANTICS;
use weir::engine::cut::Page;
use weir::pipeline::{Candidates, Pages, Replica};
use weir::state::{Generation, Meta, Position};

/// How many checkpoints stay.
const KEEP: usize = 2;

/// See the module.
#[derive(Default)]
pub struct Disk {
    published: Vec<(Generation, Meta, Vec<Page>)>,
    written: u64,
    /// A planted fault: records of the journal by number, whose chains are taken for those of the checkpoints.
    pub trusted: BTreeMap<u64, String>,
}

/// A checkpoint under way; it is lost with its process.
pub struct Unpublished {
    pub meta: Meta,
    pub pages: Vec<Page>,
    pub complete: bool,
}

impl Unpublished {
    /// What stands for the state of a replica now.
    pub fn of(replica: &Replica, journal_from: i64) -> Self {
        let (line, policy) = (&replica.line, replica.scorer.engine().policy());
        let positions = line.positions.iter().map(|((topic, partition), offset)| Position {
            topic: topic.name().to_owned(),
            partition: *partition,
            offset: *offset,
        });
        let meta = Meta {
            semantics: SEMANTICS.to_owned(),
            basis: line.basis.clone(),
            policy: policy.hash.to_string(),
            policy_sources: policy.sources.clone(),
            lineage: line.lineage.clone(),
            seq: line.next - 1,
            chain: line.chain.to_string(),
            journal_from,
            positions: positions.collect(),
            created_at: 0,
        };
        Self { meta, pages: Vec::new(), complete: false }
    }
}

impl Disk {
    /// Takes a complete checkpoint in; the oldest goes.
    pub fn publish(&mut self, checkpoint: Unpublished) {
        self.written += 1;
        let meta = checkpoint.meta;
        let bytes = checkpoint.pages.iter().map(|page| page.bytes() as u64).sum();
        let generation = Generation::of(self.written, &meta, 1, bytes);
        self.published.insert(0, (generation, meta, checkpoint.pages));
        self.published.truncate(KEEP);
    }

    /// A checkpoint loses a page: the disk was bad.
    pub fn damage(&mut self) {
        if let Some((_, _, pages)) = self.published.first_mut() {
            pages.truncate(pages.len() / 2);
        }
    }
}

impl Candidates for Disk {
    fn list(&mut self) -> Result<Vec<Generation>, String> {
        let mut list: Vec<Generation> = self.published.iter().map(|(known, _, _)| known.clone()).collect();
        for known in &mut list {
            known.chain = self.trusted.get(&known.seq).unwrap_or(&known.chain).clone();
        }
        Ok(list)
    }

    fn load(&mut self, generation: u64) -> Result<(Meta, Pages<'_>), String> {
        let found = self.published.iter().find(|(known, _, _)| known.generation == generation);
        let (_, meta, pages) = found.ok_or("it is gone")?;
        let finished = pages.iter().cloned().map(|mut page| {
            page.finish();
            Ok(page)
        });
        Ok((meta.clone(), Box::new(finished)))
    }
}
