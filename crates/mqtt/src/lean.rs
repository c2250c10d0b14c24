//! Queues and lists of which there are many, and which mostly hold one element at a time.

use std::collections::VecDeque;

/// Appends to a queue. Its first allocation has one place; that of the standard library has four, which a broker with
/// thousands of clients would have for each of them.
pub(crate) fn push_lean<T>(queue: &mut VecDeque<T>, element: T) {
    if queue.capacity() == 0 {
        queue.reserve_exact(1);
    }
    queue.push_back(element);
}

/// Inserts an element into a list. The first allocation has one place, as in [`push_lean`].
pub(crate) fn insert_lean<T>(list: &mut Vec<T>, at: usize, element: T) {
    if list.capacity() == 0 {
        list.reserve_exact(1);
    }
    list.insert(at, element);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_one_has_one_place() {
        let mut queue = VecDeque::new();
        push_lean(&mut queue, 1);
        assert_eq!(queue.capacity(), 1);
        push_lean(&mut queue, 2);
        assert_eq!(queue, [1, 2]);
    }
}
