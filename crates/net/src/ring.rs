//! A queue for what every packet passes.

use std::iter;

/// A queue in a ring whose size is a power of two: a place in it costs no comparison, and what is at the front is looked at and
/// taken without a look at the length. A packet passes one at each link, so that this is cheaper than `VecDeque`.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// A slot that holds nothing is `None`.
    slots: Vec<Option<T>>,
    head: usize,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { slots: Vec::new(), head: 0, len: 0 }
    }
}

impl<T> Ring<T> {
    #[inline]
    fn place(&self, at: usize) -> usize {
        (self.head + at) & self.slots.len().wrapping_sub(1)
    }

    /// The number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The item at a position from the front.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        if at < self.len { self.slots.get(self.place(at))?.as_ref() } else { None }
    }

    /// The first item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.slots.get(self.head)?.as_ref()
    }

    /// The last item.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        self.get(self.len.wrapping_sub(1))
    }

    /// All items, from the first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map_while(|at| self.get(at))
    }

    /// Takes the first item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let item = self.slots.get_mut(self.head)?.take()?;
        self.head = self.place(1);
        self.len -= 1;
        Some(item)
    }

    /// Takes the first item if it is like this.
    #[inline]
    pub fn pop_front_if(&mut self, take: impl FnOnce(&T) -> bool) -> Option<T> {
        // The slots of an empty one are mostly in no cache.
        if self.is_empty() {
            return None;
        }
        let slot = self.slots.get_mut(self.head)?;
        if !slot.as_ref().is_some_and(take) {
            return None;
        }
        let item = slot.take();
        self.head = self.place(1);
        self.len -= 1;
        item
    }

    /// Appends an item.
    // A call would cost more than what is done.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.len);
        debug_assert!(self.slots[place].is_none());
        self.slots[place] = Some(item);
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        self.slots.resize_with((2 * self.len).max(4), || None);
    }

    /// Puts an item at a position from the front, before those that follow there.
    pub fn insert(&mut self, at: usize, item: T) {
        self.push_back(item);
        for at in (at + 1..self.len).rev() {
            let (before, here) = (self.place(at - 1), self.place(at));
            self.slots.swap(before, here);
        }
    }

    /// The position of the first item for which `earlier` does not hold; it must hold for a number of items at the front.
    pub fn partition_point(&self, earlier: impl Fn(&T) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len);
        while from < to {
            let middle = from.midpoint(to);
            if self.get(middle).is_some_and(&earlier) { from = middle + 1 } else { to = middle }
        }
        from
    }

    /// Takes the items from a position on.
    pub fn split_off(&mut self, at: usize) -> Vec<T> {
        let mut items = Vec::with_capacity(self.len.saturating_sub(at));
        while self.len > at {
            self.len -= 1;
            let place = self.place(self.len);
            items.extend(self.slots[place].take());
        }
        items.reverse();
        items
    }

    /// Takes all items, from the first.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        iter::from_fn(|| self.pop_front())
    }
}

impl<T> FromIterator<T> for Ring<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut ring = Ring::default();
        items.into_iter().for_each(|item| ring.push_back(item));
        ring
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_ring_is_a_queue(operations in prop::collection::vec((0..8u8, 0usize..20), 0..200)) {
            let (mut ring, mut plain) = (Ring::default(), VecDeque::new());
            for (number, (operation, at)) in operations.into_iter().enumerate() {
                match operation {
                    0..4 => {
                        ring.push_back(number);
                        plain.push_back(number);
                    }
                    4 | 5 => prop_assert_eq!(ring.pop_front(), plain.pop_front()),
                    6 if at <= plain.len() => {
                        ring.insert(at, number);
                        plain.insert(at, number);
                    }
                    7 if at <= plain.len() => {
                        prop_assert_eq!(ring.split_off(at), plain.split_off(at).into_iter().collect::<Vec<_>>());
                    }
                    _ => {
                        ring = ring.drain().collect();
                    }
                }
                prop_assert_eq!((ring.len(), ring.is_empty()), (plain.len(), plain.is_empty()));
                prop_assert_eq!((ring.front(), ring.back()), (plain.front(), plain.back()));
                prop_assert!(ring.iter().eq(plain.iter()));
                prop_assert_eq!(ring.get(at), plain.get(at));
            }
        }

        #[test]
        fn the_partition_point_is_that_of_a_slice(len in 0u64..20, gone in 0usize..5, bound in 0u64..25) {
            let mut ring: Ring<u64> = (0..len).collect();
            ring.drain().take(gone).for_each(drop);
            let plain: Vec<u64> = ring.iter().copied().collect();
            prop_assert_eq!(ring.partition_point(|n| *n < bound), plain.partition_point(|n| *n < bound));
        }
    }
}
