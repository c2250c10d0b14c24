//! Pieces of data that wait, in the order of the data.

use haltere_net::Time;

/// Data that has arrived and was not delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub start: u64,
    pub end: u64,
    pub at: Time,
    /// The number of the packet that brought it; 0 for a further part of a packet.
    pub index: u64,
}

/// The place of a piece in its list, which stays the same while the piece waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Handle(u32);

impl Handle {
    /// No piece.
    pub const NONE: Handle = Handle(u32::MAX);
}

#[derive(Clone, Copy, Debug)]
struct Node {
    piece: Piece,
    next: Handle,
}

/// A linked list of pieces. What fills a gap is put behind the piece below the gap, so that nothing is searched for and nothing is
/// moved, however many pieces wait beyond it.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    nodes: Vec<Node>,
    first: Handle,
    last: Handle,
    /// Nodes without a piece.
    free: Handle,
}

impl Default for Pieces {
    fn default() -> Pieces {
        Pieces { nodes: Vec::new(), first: Handle::NONE, last: Handle::NONE, free: Handle::NONE }
    }
}

impl Pieces {
    fn get(&self, handle: Handle) -> Option<&Node> {
        self.nodes.get(handle.0 as usize)
    }

    /// The piece that comes first.
    #[inline]
    pub fn front(&self) -> Option<&Piece> {
        self.get(self.first).map(|node| &node.piece)
    }

    /// The place of the last piece.
    pub fn last(&self) -> Handle {
        self.last
    }

    pub fn is_empty(&self) -> bool {
        self.first == Handle::NONE
    }

    /// All pieces, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Piece> {
        let node = |handle| self.get(handle);
        std::iter::successors(node(self.first), move |last| node(last.next)).map(|node| &node.piece)
    }

    /// Puts a piece behind another one; first of all behind none.
    #[inline]
    pub fn insert_after(&mut self, before: Handle, piece: Piece) -> Handle {
        let next = match self.nodes.get(before.0 as usize) {
            Some(node) => node.next,
            None => self.first,
        };
        let node = Node { piece, next };
        let handle = self.free;
        let handle = match self.nodes.get_mut(handle.0 as usize) {
            Some(unused) => {
                self.free = unused.next;
                *unused = node;
                handle
            }
            None => {
                self.nodes.push(node);
                Handle(self.nodes.len() as u32 - 1)
            }
        };
        match self.nodes.get_mut(before.0 as usize) {
            Some(node) => node.next = handle,
            None => self.first = handle,
        }
        if next == Handle::NONE {
            self.last = handle;
        }
        handle
    }

    /// Puts a piece behind all others.
    #[inline]
    pub fn push(&mut self, piece: Piece) {
        self.insert_after(self.last, piece);
    }

    /// Takes the first piece away.
    #[inline]
    pub fn pop_front(&mut self) -> Option<(Handle, Piece)> {
        let handle = self.first;
        let node = self.nodes.get_mut(handle.0 as usize)?;
        self.first = node.next;
        node.next = self.free;
        self.free = handle;
        if self.first == Handle::NONE {
            self.last = Handle::NONE;
        }
        Some((handle, node.piece))
    }

    /// The pieces for which there is memory.
    pub fn capacity(&self) -> usize {
        self.nodes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stand_where_they_were_put() {
        let piece = |start| Piece { start, end: start + 1, at: Time::ZERO, index: start };
        let mut pieces = Pieces::default();
        let five = pieces.insert_after(Handle::NONE, piece(5));
        let nine = pieces.insert_after(five, piece(9));
        let seven = pieces.insert_after(five, piece(7));
        pieces.insert_after(seven, piece(8));
        pieces.insert_after(Handle::NONE, piece(1));
        assert_eq!(pieces.last(), nine);
        let starts = |pieces: &Pieces| pieces.iter().map(|p| p.start).collect::<Vec<_>>();
        assert_eq!(starts(&pieces), [1, 5, 7, 8, 9]);
        let popped: Vec<u64> = std::iter::from_fn(|| pieces.pop_front()).map(|(_, p)| p.start).collect();
        assert_eq!(popped, [1, 5, 7, 8, 9]);
        assert!(pieces.is_empty() && pieces.last() == Handle::NONE && pieces.front().is_none());
        // Nodes are used again.
        let had = pieces.capacity();
        let three = pieces.insert_after(Handle::NONE, piece(3));
        pieces.insert_after(three, piece(4));
        assert_eq!((starts(&pieces), pieces.capacity()), (vec![3, 4], had));
    }
}
