//! The blocks that acknowledgements report by SACK.

/// The most blocks that are remembered (Linux: `TCP_NUM_SACKS`).
const MOST: usize = 4;

type Block = (u64, u64);

fn touch(a: Block, b: Block) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// The blocks that were reported last, the most recent first.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    list: Vec<Block>,
}

impl Blocks {
    /// No blocks, which take no memory until a segment arrives behind a gap.
    pub(super) fn new() -> Blocks {
        Blocks { list: Vec::new() }
    }

    pub(super) fn list(&self) -> &[Block] {
        &self.list
    }

    /// The place of the first block that a segment continues; their number if there is none.
    pub(super) fn place(&self, segment: Block) -> usize {
        self.list.iter().position(|block| touch(*block, segment)).unwrap_or(self.list.len())
    }

    /// A segment arrived behind a gap, and is held as a part of `held`; without it, a block is extended only by those that are
    /// remembered (`Config::forget_sacks`). The block with the newest segment comes first (RFC 2018 section 4).
    pub(super) fn add(&mut self, segment: Block, held: Option<Block>) {
        if let Some(block) = held {
            self.list.retain(|other| other.1 <= block.0 || other.0 >= block.1);
        }
        let block = held.unwrap_or_else(|| self.join(segment));
        self.list.truncate(MOST - 1);
        self.list.insert(0, block);
    }

    /// Takes the blocks that a segment continues off the list: the first one, and those that both touch then. Returns all in one
    /// (Linux: `tcp_sack_new_ofo_skb`, `tcp_sack_maybe_coalesce`).
    fn join(&mut self, segment: Block) -> Block {
        let first = self.place(segment);
        if first == self.list.len() {
            return segment;
        }
        let both = |a: Block, b: Block| (a.0.min(b.0), a.1.max(b.1));
        let mut block = both(segment, self.list.remove(first));
        self.list.retain(|other| {
            let touches = touch(block, *other);
            if touches {
                block = both(block, *other);
            }
            !touches
        });
        block
    }

    /// Everything below a position has arrived.
    pub(super) fn drop_below(&mut self, position: u64) {
        self.list.retain(|block| block.1 > position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_block_extends_no_other() {
        for (forgets, expected) in [(true, (50, 60)), (false, (40, 60))] {
            let mut blocks = Blocks::new();
            let held = |block| Some(block).filter(|_| !forgets);
            for start in [40, 10, 20, 30, 60] {
                blocks.add((start, start + 5), held((start, start + 5)));
            }
            assert_eq!(blocks.list(), [(60, 65), (30, 35), (20, 25), (10, 15)]);
            // The first block, 40 to 45, is not on the list any more; 45 to 60 has arrived but for 50 to 55.
            blocks.add((55, 60), held((55, 65)));
            assert_eq!(blocks.list()[0], (55, 65));
            blocks.drop_below(36);
            assert_eq!(blocks.list(), [(55, 65)]);
            blocks.drop_below(65);
            blocks.add((50, 60), held((40, 60)));
            assert_eq!(blocks.list(), [expected]);
        }
    }

    #[test]
    fn a_segment_between_two_blocks_joins_them_in_front() {
        let mut blocks = Blocks::new();
        for block in [(10, 20), (30, 40), (50, 60), (70, 80)] {
            blocks.add(block, None);
        }
        assert_eq!((blocks.place((20, 30)), blocks.place((80, 90)), blocks.place((90, 95))), (2, 0, 4));
        blocks.add((20, 30), None);
        assert_eq!(blocks.list(), [(10, 40), (70, 80), (50, 60)]);
    }
}
