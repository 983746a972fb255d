//! Rare, large parts of records: fixed-size blocks of words, addressed by a `u32` kept in a cell.
//!
//! Two sizes share one budget: *small* blocks for exact lists, *large* ones for sketches. Blocks live in
//! chunks, so that growing never copies, and free blocks are chained through their own first word, so that the
//! words say everything: a restored spill hands out the same blocks in the same order. When the budget is used
//! up `alloc` says so and the caller stays with what it has. Whoever drops a record frees its blocks.
//!
//! While a cut is under way a [`Watch`] is told of every block before it changes, in `Slab::block_mut`, the only way to
//! the words of a block.

mod saved;

use super::cut::Watch;

/// Words of a small block: 64 pairs of value and time.
pub const SMALL_WORDS: usize = 128;
/// Words of a large block: 4,096 stamps of 16 bits and up to 64 words of bookkeeping.
pub const LARGE_WORDS: usize = 64 + 2048;

const SMALL_PER_CHUNK: u32 = 128;
const LARGE_PER_CHUNK: u32 = 8;
const LARGE_BIT: u32 = 1 << 31;

/// The size of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// [`SMALL_WORDS`] words.
    Small,
    /// [`LARGE_WORDS`] words.
    Large,
}

/// Where a block is: the number kept in a cell. Zero is no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef(u32);

impl BlockRef {
    /// The reference kept in a word of a cell; `None` for zero.
    pub fn from_word(word: u32) -> Option<Self> {
        (word != 0).then_some(Self(word))
    }

    /// The word to keep in a cell, never zero.
    pub fn word(self) -> u32 {
        self.0
    }
}

/// Blocks of one size.
#[derive(Clone, Debug)]
struct Slab {
    block: usize,
    per_chunk: u32,
    chunks: Vec<Box<[u32]>>,
    /// The first free block that was used before, plus one; 0 when there is none.
    free: u32,
    /// The first block that was never used.
    fresh: u32,
    used: u32,
    /// While a cut is under way and the chunks are not all copied.
    watch: Option<Box<Watch>>,
}

impl Slab {
    fn new(block: usize, per_chunk: u32) -> Self {
        Self { block, per_chunk, chunks: Vec::new(), free: 0, fresh: 0, used: 0, watch: None }
    }

    fn chunk_bytes(&self) -> u64 {
        self.block as u64 * u64::from(self.per_chunk) * 4
    }

    fn bytes(&self) -> u64 {
        self.chunks.len() as u64 * self.chunk_bytes()
    }

    fn must_grow(&self) -> bool {
        self.free == 0 && u64::from(self.fresh) == self.chunks.len() as u64 * u64::from(self.per_chunk)
    }

    fn grow(&mut self) {
        self.chunks.push(vec![0; self.block * self.per_chunk as usize].into_boxed_slice());
    }

    /// Takes a block; `must_grow` was asked before.
    fn take(&mut self) -> u32 {
        self.used += 1;
        if self.free == 0 {
            self.fresh += 1;
            return self.fresh - 1;
        }
        let index = self.free - 1;
        self.free = self.block(index)[0];
        self.block_mut(index).fill(0);
        index
    }

    fn give_back(&mut self, index: u32) {
        let next = self.free;
        self.block_mut(index)[0] = next;
        self.free = index + 1;
        self.used -= 1;
    }

    fn block(&self, index: u32) -> &[u32] {
        let at = (index % self.per_chunk) as usize * self.block;
        &self.chunks[(index / self.per_chunk) as usize][at..at + self.block]
    }

    /// The words of a block, to change them: the only way to.
    fn block_mut(&mut self, index: u32) -> &mut [u32] {
        let at = (index % self.per_chunk) as usize * self.block;
        let block = &mut self.chunks[(index / self.per_chunk) as usize][at..at + self.block];
        if let Some(watch) = &mut self.watch {
            watch.save(index as usize, block);
        }
        block
    }
}

/// All blocks of one table, within a budget.
#[derive(Clone, Debug)]
pub struct Spill {
    small: Slab,
    large: Slab,
    budget_bytes: u64,
    refused: u64,
}

impl Spill {
    /// A spill that holds at most `budget_bytes` bytes; with less than one chunk (67,584 bytes) it holds none.
    pub fn new(budget_bytes: u64) -> Self {
        Self {
            small: Slab::new(SMALL_WORDS, SMALL_PER_CHUNK),
            large: Slab::new(LARGE_WORDS, LARGE_PER_CHUNK),
            budget_bytes,
            refused: 0,
        }
    }

    /// A zeroed block, or `None` when the budget is used up (counted in [`Spill::refused`]).
    pub fn alloc(&mut self, size: BlockSize) -> Option<BlockRef> {
        let held = self.bytes();
        let (slab, bit) = match size {
            BlockSize::Small => (&mut self.small, 0),
            BlockSize::Large => (&mut self.large, LARGE_BIT),
        };
        if slab.must_grow() {
            if held + slab.chunk_bytes() > self.budget_bytes {
                self.refused += 1;
                return None;
            }
            slab.grow();
        }
        Some(BlockRef((slab.take() + 1) | bit))
    }

    /// Gives a block back. The reference must not be used again.
    pub fn free(&mut self, block: BlockRef) {
        let (slab, index) = self.slab_mut(block);
        slab.give_back(index);
    }

    /// The words of a block.
    pub fn block(&self, block: BlockRef) -> &[u32] {
        let index = (block.0 & !LARGE_BIT) - 1;
        if block.0 & LARGE_BIT == 0 { self.small.block(index) } else { self.large.block(index) }
    }

    /// The words of a block.
    pub fn block_mut(&mut self, block: BlockRef) -> &mut [u32] {
        let (slab, index) = self.slab_mut(block);
        slab.block_mut(index)
    }

    /// Bytes allocated, used blocks and free ones.
    pub fn bytes(&self) -> u64 {
        self.small.bytes() + self.large.bytes()
    }

    /// Blocks in use, of both sizes.
    pub fn used(&self) -> u64 {
        u64::from(self.small.used) + u64::from(self.large.used)
    }

    /// How often the budget was used up when a block was asked for.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The slab of a block and its number there, if it can be one.
    fn slab(&self, block: BlockRef) -> (&Slab, Option<u32>) {
        let index = (block.0 & !LARGE_BIT).checked_sub(1);
        (if block.0 & LARGE_BIT == 0 { &self.small } else { &self.large }, index)
    }

    /// By size.
    fn slabs(&self) -> [&Slab; 2] {
        [&self.small, &self.large]
    }

    fn slabs_mut(&mut self) -> [&mut Slab; 2] {
        [&mut self.small, &mut self.large]
    }

    fn slab_mut(&mut self, block: BlockRef) -> (&mut Slab, u32) {
        let index = (block.0 & !LARGE_BIT) - 1;
        (if block.0 & LARGE_BIT == 0 { &mut self.small } else { &mut self.large }, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zeroed_separate_and_reused() {
        let mut spill = Spill::new(1 << 20);
        let first = spill.alloc(BlockSize::Small).unwrap();
        let second = spill.alloc(BlockSize::Small).unwrap();
        let large = spill.alloc(BlockSize::Large).unwrap();
        spill.block_mut(first).fill(7);
        spill.block_mut(large).fill(9);
        assert!(spill.block(second).iter().all(|word| *word == 0));
        assert_eq!((spill.block(large).len(), spill.used()), (LARGE_WORDS, 3));
        spill.free(first);
        let again = spill.alloc(BlockSize::Small).unwrap();
        assert_eq!(again, first);
        assert!(spill.block(again).iter().all(|word| *word == 0));
    }

    #[test]
    fn the_budget_holds_and_is_told() {
        let mut spill = Spill::new(65_536 + 10_000);
        let blocks: Vec<_> = (0..SMALL_PER_CHUNK).map(|_| spill.alloc(BlockSize::Small).unwrap()).collect();
        assert_eq!(spill.alloc(BlockSize::Small), None);
        assert_eq!(spill.alloc(BlockSize::Large), None);
        assert_eq!((spill.bytes(), spill.refused()), (65_536, 2));
        spill.free(blocks[5]);
        spill.free(blocks[9]);
        assert_eq!(spill.alloc(BlockSize::Small), Some(blocks[9]));
        assert_eq!(spill.alloc(BlockSize::Small), Some(blocks[5]));
    }
}
