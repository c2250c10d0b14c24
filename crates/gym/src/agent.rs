//! An agent's seat: what its flow saw, what it is given of that, and what becomes of its actions.

use crate::interval::Interval;
use crate::observation::{History, Memory};
use crate::plan::Terms;
use haltere_net::{Rate, Time};
use haltere_transport::cc::{Desk, Seen};
use std::collections::VecDeque;

/// An agent and its flow.
pub(crate) struct Agent {
    desk: Desk,
    /// The look at the flow when the interval began.
    before: Seen,
    /// The last interval.
    pub last: Interval,
    /// The extremes of all.
    pub memory: Memory,
    history: History,
    /// The rate at which its flow is to begin, if that is given.
    start: Option<Rate>,
    /// Whether its flow began: others may begin later.
    began: bool,
    /// Actions that have no effect yet, with the times at which they get it.
    pending: VecDeque<(Time, f64)>,
}

impl Agent {
    /// An agent that sits down at a desk now.
    pub fn new(desk: Desk, start: Option<Rate>, terms: &Terms, now: Time) -> Agent {
        let began = desk.is_established();
        if began {
            terms.action.begin(start, &desk);
        }
        desk.begin(now);
        let before = desk.seen();
        Agent {
            last: Interval::between((now, &before), (now, &before), &Interval::default()),
            before,
            memory: Memory::default(),
            history: History::new(&terms.observation),
            start,
            began,
            pending: VecDeque::new(),
            desk,
        }
    }

    /// Takes an action, which will have effect after the delay.
    pub fn decide(&mut self, action: f64, now: Time, terms: &Terms) {
        self.pending.push_back((now + terms.delay, action));
    }

    /// Gives effect to the actions whose time has come. Returns when the next one has its effect.
    pub fn act(&mut self, now: Time, terms: &Terms) -> Option<Time> {
        if !self.began && self.desk.is_established() {
            terms.action.begin(self.start, &self.desk);
            self.began = true;
        }
        while let Some((due, action)) = self.pending.front().copied() {
            if due > now {
                return Some(due);
            }
            self.pending.pop_front();
            // Before its connection is established, a flow has no rate or window that could be changed.
            if self.began {
                terms.action.apply(action, &self.desk);
            }
        }
        None
    }

    /// Looks at the interval that is over.
    pub fn look(&mut self, (began, now): (Time, Time), terms: &Terms) {
        let seen = self.desk.seen();
        self.last = Interval::between((began, &self.before), (now, &seen), &self.last);
        self.memory.note(&self.last);
        self.history.push(&terms.observation, &self.last, &self.memory);
        self.before = seen;
        self.desk.begin(now);
    }

    /// Writes its observation.
    pub fn observe(&self, into: &mut [f32]) {
        self.history.write(into);
    }

    /// Whether its flow is gone.
    pub fn is_alone(&self) -> bool {
        self.desk.is_left()
    }
}
