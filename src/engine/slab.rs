//! Rare, large parts of records: blocks of words in a few sizes, addressed by a `u32` kept in a cell.
//!
//! Sizes of 16 to 128 words serve exact lists and rings, which move to a larger one as they grow; *large* blocks serve
//! sketches. All share one budget. Blocks live in chunks, so that growing never copies, and free blocks are chained
//! through their own first word, so that the words say everything: a restored spill hands out the same blocks in the
//! same order. When the budget is used up `alloc` says so and the caller stays with what it has. Whoever drops a record
//! frees its blocks.
//!
//! While a cut is under way a watch is told of every block before it changes, in `Slab::block_mut`, the only way to
//! the words of a block.

mod saved;

use super::cut::Watch;
use super::prefetch::prefetch_line;

/// Words of a large block: 4,096 stamps of 16 bits and up to 64 words of bookkeeping.
pub const LARGE_WORDS: usize = 64 + 2048;

/// Bytes of a chunk of the sizes below the large one.
const CHUNK_BYTES: usize = 64 << 10;
const LARGE_PER_CHUNK: u32 = 8;
/// The upper bits of a reference say its size.
const SIZE_SHIFT: u32 = 28;
const INDEX_MASK: u32 = (1 << SIZE_SHIFT) - 1;

/// The size of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// 16 words: a cache line.
    Words16,
    /// 32 words.
    Words32,
    /// 64 words.
    Words64,
    /// 128 words.
    Words128,
    /// [`LARGE_WORDS`] words.
    Large,
}

impl BlockSize {
    /// All sizes, ascending.
    const ALL: [BlockSize; 5] = [Self::Words16, Self::Words32, Self::Words64, Self::Words128, Self::Large];

    /// Words of a block of this size.
    pub const fn words(self) -> usize {
        match self {
            Self::Words16 => 16,
            Self::Words32 => 32,
            Self::Words64 => 64,
            Self::Words128 => 128,
            Self::Large => LARGE_WORDS,
        }
    }

    /// The smallest size with room for so many words; the largest when none has.
    pub fn fitting(words: usize) -> Self {
        Self::ALL.into_iter().find(|size| size.words() >= words).unwrap_or(Self::Large)
    }

    const fn per_chunk(self) -> u32 {
        match self {
            Self::Large => LARGE_PER_CHUNK,
            _ => (CHUNK_BYTES / 4 / self.words()) as u32,
        }
    }
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

    fn size(self) -> usize {
        (self.0 >> SIZE_SHIFT) as usize
    }

    fn index(self) -> u32 {
        (self.0 & INDEX_MASK) - 1
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
    fn new(size: BlockSize) -> Self {
        let (block, per_chunk) = (size.words(), size.per_chunk());
        Self { block, per_chunk, chunks: Vec::new(), free: 0, fresh: 0, used: 0, watch: None }
    }

    fn chunk_bytes(&self) -> u64 {
        self.block as u64 * u64::from(self.per_chunk) * 4
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
    /// One for each [`BlockSize`], ascending.
    slabs: [Slab; 5],
    budget_bytes: u64,
    bytes: u64,
    refused: u64,
}

impl Spill {
    /// A spill that holds at most `budget_bytes` bytes; with less than one chunk (65,536 bytes) it holds none.
    pub fn new(budget_bytes: u64) -> Self {
        Self { slabs: BlockSize::ALL.map(Slab::new), budget_bytes, bytes: 0, refused: 0 }
    }

    /// A zeroed block, or `None` when the budget is used up (counted in [`Spill::refused`]).
    pub fn alloc(&mut self, size: BlockSize) -> Option<BlockRef> {
        let slab = &mut self.slabs[size as usize];
        if slab.must_grow() {
            if self.bytes + slab.chunk_bytes() > self.budget_bytes {
                self.refused += 1;
                return None;
            }
            slab.grow();
            self.bytes += slab.chunk_bytes();
        }
        Some(BlockRef((slab.take() + 1) | (size as u32) << SIZE_SHIFT))
    }

    /// Moves a list on to a block with room for `words` words: a new block that begins with `list`, or with what the
    /// block `from` begins with, which is given back. `None`, and nothing changed, when the budget is used up.
    pub fn outgrow(&mut self, from: Option<BlockRef>, list: &[u32], words: usize) -> Option<BlockRef> {
        let new = self.alloc(BlockSize::fitting(words))?;
        match from {
            None => self.block_mut(new)[..list.len()].copy_from_slice(list),
            Some(old) => {
                let kept = self.block(old).to_vec();
                self.block_mut(new)[..kept.len()].copy_from_slice(&kept);
                self.free(old);
            }
        }
        Some(new)
    }

    /// Gives a block back. The reference must not be used again.
    pub fn free(&mut self, block: BlockRef) {
        self.slabs[block.size()].give_back(block.index());
    }

    /// The words of a block.
    #[inline]
    pub fn block(&self, block: BlockRef) -> &[u32] {
        self.slabs[block.size()].block(block.index())
    }

    /// The words of a block.
    #[inline]
    pub fn block_mut(&mut self, block: BlockRef) -> &mut [u32] {
        self.slabs[block.size()].block_mut(block.index())
    }

    /// Asks the processor for the begin of a block.
    #[inline]
    pub fn prefetch(&self, block: BlockRef) {
        prefetch_line(self.block(block));
    }

    /// Bytes allocated, used blocks and free ones.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Blocks in use, of all sizes.
    pub fn used(&self) -> u64 {
        self.slabs.iter().map(|slab| u64::from(slab.used)).sum()
    }

    /// How often the budget was used up when a block was asked for.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The slab of a block and its number there, if it can be one.
    fn slab(&self, block: BlockRef) -> Option<(&Slab, u32)> {
        Some((self.slabs.get(block.size())?, (block.0 & INDEX_MASK).checked_sub(1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zeroed_separate_and_reused() {
        let mut spill = Spill::new(1 << 20);
        let first = spill.alloc(BlockSize::Words128).unwrap();
        let second = spill.alloc(BlockSize::Words128).unwrap();
        let large = spill.alloc(BlockSize::Large).unwrap();
        spill.block_mut(first).fill(7);
        spill.block_mut(large).fill(9);
        assert!(spill.block(second).iter().all(|word| *word == 0));
        assert_eq!((spill.block(large).len(), spill.used()), (LARGE_WORDS, 3));
        spill.free(first);
        let again = spill.alloc(BlockSize::Words128).unwrap();
        assert_eq!(again, first);
        assert!(spill.block(again).iter().all(|word| *word == 0));
    }

    #[test]
    fn the_budget_holds_and_is_told() {
        let mut spill = Spill::new(65_536 + 10_000);
        let blocks: Vec<_> =
            (0..BlockSize::Words128.per_chunk()).map(|_| spill.alloc(BlockSize::Words128).unwrap()).collect();
        assert_eq!(spill.alloc(BlockSize::Words128), None);
        assert_eq!(spill.alloc(BlockSize::Large), None);
        assert_eq!((spill.bytes(), spill.refused()), (65_536, 2));
        spill.free(blocks[5]);
        spill.free(blocks[9]);
        assert_eq!(spill.alloc(BlockSize::Words128), Some(blocks[9]));
        assert_eq!(spill.alloc(BlockSize::Words128), Some(blocks[5]));
    }

    #[test]
    fn every_size_has_its_own_blocks() {
        let mut spill = Spill::new(1 << 20);
        let blocks = BlockSize::ALL.map(|size| (size, spill.alloc(size).unwrap()));
        for (size, block) in blocks {
            assert_eq!(spill.block(block).len(), size.words());
            spill.block_mut(block).fill(size as u32 + 1);
        }
        assert!(
            blocks.iter().all(|(size, block)| spill.block(*block).iter().all(|w| *w == *size as u32 + 1))
        );
        assert_eq!(
            [1, 16, 17, 128, 129].map(|words| BlockSize::fitting(words).words()),
            [16, 16, 32, 128, LARGE_WORDS]
        );
    }

    #[test]
    fn a_list_that_outgrows_its_block_keeps_what_it_holds() {
        let mut spill = Spill::new(1 << 20);
        let small = spill.outgrow(None, &[1, 2, 3], 16).unwrap();
        assert_eq!(spill.block(small)[..4], [1, 2, 3, 0]);
        let larger = spill.outgrow(Some(small), &[], 17).unwrap();
        assert_eq!((spill.block(larger).len(), &spill.block(larger)[..3]), (32, &[1, 2, 3][..]));
        assert_eq!((spill.used(), spill.alloc(BlockSize::Words16)), (1, Some(small)));
        let mut none = Spill::new(0);
        assert_eq!((none.outgrow(None, &[1], 1), none.refused()), (None, 1));
    }
}
