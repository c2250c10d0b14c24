//! A priority queue of keys and payloads, the least key first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The least first; of equal keys the least payload, so that results do not depend on the order of insertion.
#[derive(Clone, Debug)]
pub(super) struct MinHeap<T: Ord>(BinaryHeap<Reverse<T>>);

impl<T: Ord> Default for MinHeap<T> {
    fn default() -> MinHeap<T> {
        MinHeap(BinaryHeap::new())
    }
}

impl<T: Ord> MinHeap<T> {
    #[inline]
    pub(super) fn push(&mut self, item: T) {
        self.0.push(Reverse(item));
    }
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        self.0.pop().map(|Reverse(item)| item)
    }
    #[inline]
    pub(super) fn peek(&self) -> Option<&T> {
        self.0.peek().map(|Reverse(item)| item)
    }
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
