//! How much two paths differ: the Levenshtein distance of their nodes.

/// Paths up to this long are compared bit by bit.
const WORD: usize = u64::BITS as usize;
/// Slots of the table of a path's nodes; a power of two, twice as many as nodes.
const SLOTS: usize = 2 * WORD;

/// The number of nodes to insert, delete or replace to turn one path into the other (Levenshtein, Soviet Physics
/// Doklady 10, 1966).
pub fn levenshtein(a: &[u32], b: &[u32]) -> usize {
    let alike = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[alike..], &b[alike..]);
    let alike = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - alike], &b[..b.len() - alike]);
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    match short.len() {
        0 => long.len(),
        1..=WORD => in_a_word(short, long),
        _ => in_a_row(short, long),
    }
}

/// The distance of two paths over the length of the longer, both counted in nodes: from 0 (the same) to 1 (nothing
/// in common). It is 0 for two empty paths.
pub fn relative(a: &[u32], b: &[u32]) -> f64 {
    match a.len().max(b.len()) {
        0 => 0.0,
        longest => levenshtein(a, b) as f64 / longest as f64,
    }
}

/// The places of each node within a path of at most a word's length, a bit each.
struct Places {
    slots: [(u32, u64); SLOTS],
}

impl Places {
    fn new(path: &[u32]) -> Places {
        let mut places = Places { slots: [(0, 0); SLOTS] };
        for (i, &node) in path.iter().enumerate() {
            let slot = places.slot(node);
            places.slots[slot] = (node, places.slots[slot].1 | 1 << i);
        }
        places
    }

    /// The slot of a node, or the free slot where it would go. Half of the slots stay free, so that the search ends.
    #[inline]
    fn slot(&self, node: u32) -> usize {
        let mut slot = node.wrapping_mul(0x9E37_79B1) as usize >> (32 - SLOTS.trailing_zeros());
        while self.slots[slot].1 != 0 && self.slots[slot].0 != node {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }
}

/// A column of the matrix of distances at a time, as the signs of its steps (Myers, JACM 46, 1999, in the form of
/// Hyyrö, 2003).
fn in_a_word(short: &[u32], long: &[u32]) -> usize {
    let places = Places::new(short);
    let (mut up, mut down, mut distance) = (u64::MAX, 0u64, short.len());
    let last = 1u64 << (short.len() - 1);
    for &node in long {
        let same = places.slots[places.slot(node)].1;
        let diagonal = (((same & up).wrapping_add(up)) ^ up) | same | down;
        let right_up = down | !(diagonal | up);
        let right_down = diagonal & up;
        distance += usize::from(right_up & last != 0);
        distance -= usize::from(right_down & last != 0);
        let right_up = right_up << 1 | 1;
        up = (right_down << 1) | !(diagonal | right_up);
        down = diagonal & right_up;
    }
    distance
}

/// The textbook algorithm, row after row, for paths longer than a word.
fn in_a_row(short: &[u32], long: &[u32]) -> usize {
    let mut row: Vec<usize> = (0..=short.len()).collect();
    for (i, x) in long.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in short.iter().enumerate() {
            let exchanged = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = exchanged.min(corner + 1).min(row[j] + 1);
        }
    }
    row[short.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Vec<u32> {
        text.chars().map(u32::from).collect()
    }

    #[test]
    fn the_textbooks_examples() {
        for (a, b, distance) in
            [("kitten", "sitting", 3), ("saturday", "sunday", 3), ("", "abc", 3), ("abc", "abc", 0), ("a", "b", 1)]
        {
            assert_eq!(levenshtein(&of(a), &of(b)), distance, "{a} {b}");
        }
        assert_eq!((relative(&of("ab"), &of("cd")), relative(&of("abcd"), &of("abcx"))), (1.0, 0.25));
        assert_eq!(relative(&[], &[]), 0.0);
    }

    proptest! {
        /// Few symbols, so that they repeat, and lengths on both sides of a word's.
        #[test]
        fn bit_by_bit_is_row_by_row(
            a in prop::collection::vec(0u32..6, 1..100), b in prop::collection::vec(0u32..6, 1..100),
        ) {
            let (short, long) = if a.len() < b.len() { (&a, &b) } else { (&b, &a) };
            prop_assert_eq!(levenshtein(&a, &b), in_a_row(short, long));
            prop_assert_eq!(levenshtein(&a, &b), levenshtein(&b, &a));
        }
    }
}
