//! The order of a page's requests: which object is requested when.

use super::Page;
use haltere_net::{Span, Time};
use std::collections::BTreeSet;

/// The progress of a page: the objects that are due, and those that have arrived.
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    delays: Vec<Span>,
    /// For each object, the number of objects that it still waits for, and the objects that wait for it.
    missing: Vec<usize>,
    awaiting: Vec<Vec<usize>>,
    due: BTreeSet<(Time, usize)>,
    done: Vec<Option<Time>>,
    left: usize,
}

impl Agenda {
    pub fn new(page: &Page) -> Agenda {
        let count = page.objects.len();
        let mut awaiting = vec![Vec::new(); count];
        let mut missing = vec![0; count];
        for (i, object) in page.objects.iter().enumerate() {
            let after: BTreeSet<usize> = object.after.iter().map(|&a| a as usize).filter(|&a| a < i).collect();
            missing[i] = after.len();
            after.into_iter().for_each(|a| awaiting[a].push(i));
        }
        Agenda {
            delays: page.objects.iter().map(|o| o.delay.map_or(Span::ZERO, |d| d.0)).collect(),
            missing,
            awaiting,
            due: BTreeSet::new(),
            done: vec![None; count],
            left: count,
        }
    }

    /// An agenda of so many objects, each of which is due when it is [wanted](Agenda::want).
    pub fn on_demand(count: usize) -> Agenda {
        Agenda {
            delays: vec![Span::ZERO; count],
            missing: vec![1; count],
            awaiting: vec![Vec::new(); count],
            due: BTreeSet::new(),
            done: vec![None; count],
            left: count,
        }
    }

    /// An object is due from now on.
    pub fn want(&mut self, object: usize, now: Time) {
        self.due.insert((now, object));
    }

    /// Starts the visit.
    pub fn start(&mut self, now: Time) {
        let ready = (0..self.missing.len()).filter(|&i| self.missing[i] == 0);
        self.due.extend(ready.map(|i| (now + self.delays[i], i)));
    }

    /// The next object to request now. Of several objects due at the same time, the first in the page is taken.
    pub fn next(&mut self, now: Time) -> Option<usize> {
        let first = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        self.due.remove(&first);
        Some(first.1)
    }

    /// When the next object will be due, or [`Time::NEVER`].
    pub fn alarm(&self) -> Time {
        self.due.first().map_or(Time::NEVER, |d| d.0)
    }

    /// Records that an object is complete. Returns whether it was the last.
    pub fn done(&mut self, object: usize, now: Time) -> bool {
        if self.done[object].is_some() {
            return false;
        }
        self.done[object] = Some(now);
        for i in std::mem::take(&mut self.awaiting[object]) {
            self.missing[i] -= 1;
            if self.missing[i] == 0 {
                self.due.insert((now + self.delays[i], i));
            }
        }
        self.left -= 1;
        self.left == 0
    }

    /// When each object was complete.
    pub fn times(&self) -> &[Option<Time>] {
        &self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageObject;
    use crate::scenario::Quantity;
    use haltere_net::Bytes;

    #[test]
    fn objects_are_due_when_all_before_them_have_come_and_their_delay_is_over() {
        let object = |after: &[u32], ms| PageObject {
            size: Quantity(Bytes(1)),
            request: None,
            after: after.to_vec(),
            delay: Some(Quantity(Span::from_millis(ms))),
        };
        let page = Page { objects: vec![object(&[], 0), object(&[], 5), object(&[0, 1, 1], 7), object(&[0], 0)] };
        let mut agenda = Agenda::new(&page);
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        agenda.start(at(0));
        assert_eq!((agenda.next(at(0)), agenda.next(at(0)), agenda.alarm()), (Some(0), None, at(5)));
        assert!(!agenda.done(0, at(3)));
        assert_eq!((agenda.next(at(5)), agenda.next(at(5)), agenda.next(at(5))), (Some(3), Some(1), None));
        assert!(!agenda.done(1, at(10)) && !agenda.done(1, at(11)) && !agenda.done(3, at(12)));
        assert_eq!((agenda.alarm(), agenda.next(at(17))), (at(17), Some(2)));
        assert!(agenda.done(2, at(20)));
        assert_eq!(agenda.times(), [Some(at(3)), Some(at(10)), Some(at(20)), Some(at(12))]);
    }
}
