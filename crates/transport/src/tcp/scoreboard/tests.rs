//! Compares the scoreboard with a plain list that does the same without counts, hints and links.

use super::*;
use crate::recovery::RateSampler;
use haltere_net::Time;
use proptest::prelude::*;

const SIZE: u64 = 100;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    /// Sends this many new segments.
    Push(u64),
    /// The peer SACKs these segments, counted from the first in flight.
    Sack(u64, u64),
    /// The peer acknowledges this many.
    Acknowledge(u64),
    /// Every segment is lost that was sent at least this many transmissions ago.
    Detect(u64),
    /// A timeout: every segment is lost that was sent at least this many transmissions ago.
    Timeout(u64),
    /// All losses prove spurious.
    Unmark,
    /// Retransmits lost segments, at most this many.
    Repair(u64),
    /// Probes with the last segment.
    Probe,
    /// A D-SACK of one segment.
    Duplicate(u64),
    /// A new segment is refused and taken back.
    Refused,
    /// A repair is refused.
    RefusedRepair,
}

#[derive(Clone, Copy, Default, Debug)]
struct Plain {
    seq: u64,
    order: u64,
    sacked: bool,
    lost: bool,
    again: bool,
    ever_again: bool,
    /// In the order of transmission. A lost segment leaves this order.
    listed: bool,
}

#[derive(Default, Debug)]
struct Model {
    segments: Vec<Plain>,
    next: u64,
    transmissions: u64,
}

impl Model {
    fn count(&self, of: impl Fn(&Plain) -> bool) -> u32 {
        self.segments.iter().filter(|s| of(s)).count() as u32
    }

    fn in_order(&self) -> Vec<u64> {
        let mut listed: Vec<&Plain> = self.segments.iter().filter(|s| s.listed).collect();
        listed.sort_by_key(|s| s.order);
        listed.iter().map(|s| s.seq).collect()
    }

    /// Linux's `tcp_mark_skb_lost`.
    fn lose(s: &mut Plain) -> bool {
        if s.sacked {
            return false;
        }
        let news = !s.lost || s.again;
        s.again &= !s.lost;
        s.lost = true;
        news
    }

    fn next_lost(&self) -> Option<u64> {
        // Linux stops when as many repairs are in flight as segments are lost.
        (self.count(|s| s.again) < self.count(|s| s.lost))
            .then(|| self.segments.iter().find(|s| s.lost && !s.again).map(|s| s.seq))
            .flatten()
    }

    /// The next segment is sent.
    fn push(&mut self) {
        self.transmissions += 1;
        let order = self.transmissions;
        self.segments.push(Plain { seq: self.next, order, listed: true, ..Plain::default() });
        self.next += SIZE;
    }

    /// The segment at `seq` is sent again.
    fn send_again(&mut self, seq: u64) -> Option<&mut Plain> {
        self.transmissions += 1;
        let s = self.segments.iter_mut().find(|s| s.seq == seq)?;
        *s = Plain { ever_again: true, listed: true, order: self.transmissions, ..*s };
        Some(s)
    }

    /// Linux's `tcp_sacktag_one`.
    fn sack(&mut self, from: u64, to: u64) -> u32 {
        let mut news = 0;
        for s in self.segments.iter_mut().filter(|s| s.seq >= from && s.seq < to && !s.sacked) {
            if s.lost {
                s.again = false;
            }
            s.lost = false;
            s.sacked = true;
            s.listed = false;
            news += 1;
        }
        news
    }
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let one = prop_oneof![
        4 => (1u64..6).prop_map(Operation::Push),
        6 => (0u64..20, 1u64..4).prop_map(|(at, n)| Operation::Sack(at, n)),
        3 => (0u64..6).prop_map(Operation::Acknowledge),
        3 => (0u64..12).prop_map(Operation::Detect),
        1 => (0u64..12).prop_map(Operation::Timeout),
        1 => Just(Operation::Unmark),
        4 => (1u64..5).prop_map(Operation::Repair),
        1 => Just(Operation::Probe),
        1 => (0u64..20).prop_map(Operation::Duplicate),
        2 => Just(Operation::Refused),
        2 => Just(Operation::RefusedRepair),
    ];
    prop::collection::vec(one, 1..80)
}

fn segment(seq: u64) -> Outgoing {
    Outgoing { begins: true, ..Outgoing::plain(seq, SIZE as u32) }
}

struct Both {
    board: Scoreboard,
    model: Model,
    una: u64,
}

impl Both {
    fn detect(&mut self, age: u64) -> Result<(), TestCaseError> {
        let Both { board, model, .. } = self;
        let before = model.transmissions.saturating_sub(age);
        let mut visited = Vec::new();
        let mut news = 0;
        let judge = |r: &Record| {
            if r.order >= before {
                return Judgement::Stop;
            }
            visited.push(r.seq);
            Judgement::Lost
        };
        board.detect_lost(judge, |_| news += 1);
        let expected: Vec<u64> = model.in_order();
        prop_assert_eq!(&visited[..], &expected[..visited.len()]);
        let mut lost = 0;
        for s in model.segments.iter_mut().filter(|s| s.listed && s.order < before) {
            lost += u32::from(Model::lose(s));
            s.listed = false;
        }
        prop_assert_eq!(news, lost);
        Ok(())
    }

    fn time_out(&mut self, age: u64) -> Result<(), TestCaseError> {
        let Both { board, model, .. } = self;
        let before = model.transmissions.saturating_sub(age);
        let mut news = 0;
        board.mark_all_lost(|r| r.order < before, |_| news += 1);
        let mut lost = 0;
        for (i, s) in model.segments.iter_mut().enumerate() {
            if i == 0 || s.order < before {
                lost += u32::from(Model::lose(s));
            }
        }
        prop_assert_eq!(news, lost);
        Ok(())
    }

    fn run(&mut self, operation: Operation) -> Result<(), TestCaseError> {
        let tx = RateSampler::default().on_sent(Time::ZERO, 0);
        let Both { board, model, una } = self;
        let mut delivery = Delivery::default();
        match operation {
            Operation::Push(n) => {
                for _ in 0..n {
                    board.push(&segment(model.next), Time::ZERO, tx);
                    model.push();
                }
            }
            Operation::Sack(at, n) => {
                let from = *una + at * SIZE;
                let to = (from + n * SIZE).min(model.next);
                if from < to {
                    let mut seen = 0;
                    board.sack((from, to), u64::MAX, *una, &mut delivery, |_| seen += 1);
                    let news = model.sack(from, to);
                    prop_assert_eq!((delivery.sacked, delivery.delivered, seen), (news, news, news));
                }
            }
            Operation::Acknowledge(n) => {
                *una = (*una + n * SIZE).min(model.next);
                board.acknowledge(*una, u64::MAX, &mut delivery, |_| {});
                let gone: Vec<Plain> = model.segments.iter().filter(|s| s.seq < *una).copied().collect();
                model.segments.retain(|s| s.seq >= *una);
                prop_assert_eq!(delivery.acked as usize, gone.len());
                prop_assert_eq!(delivery.delivered as usize, gone.iter().filter(|s| !s.sacked).count());
                prop_assert_eq!(delivery.retransmitted_acked, gone.iter().any(|s| s.ever_again));
            }
            Operation::Detect(age) => self.detect(age)?,
            Operation::Timeout(age) => self.time_out(age)?,
            Operation::Unmark => {
                board.unmark_lost();
                model.segments.iter_mut().for_each(|s| s.lost = false);
            }
            Operation::Repair(n) => {
                for _ in 0..n {
                    let expected = model.next_lost();
                    let found = board.next_lost().map(|r| r.seq);
                    prop_assert_eq!(found, expected);
                    let Some(seq) = found else { break };
                    board.send_again(seq, Time::ZERO, tx);
                    board.mark_retransmitted(seq);
                    if let Some(s) = model.send_again(seq) {
                        s.again = true;
                    }
                }
            }
            Operation::Probe => {
                if let Some(seq) = board.last().map(|r| r.seq) {
                    board.send_again(seq, Time::ZERO, tx);
                    model.send_again(seq);
                }
            }
            Operation::Refused => {
                board.push(&segment(model.next), Time::ZERO, tx);
                model.transmissions += 1;
                prop_assert!(board.withdraw(model.next));
                // What was sent before is not taken back for it.
                prop_assert!(!board.withdraw(model.next));
            }
            Operation::RefusedRepair => {
                if let Some(seq) = model.next_lost() {
                    prop_assert_eq!(board.next_lost().map(|r| r.seq), Some(seq));
                    board.send_again(seq, Time::ZERO, tx);
                    board.mark_retransmitted(seq);
                    prop_assert!(board.withdraw_retransmission(seq) && !board.withdraw(seq));
                    model.send_again(seq);
                    prop_assert_eq!(board.next_lost().map(|r| r.seq), Some(seq));
                }
            }
            Operation::Duplicate(at) => {
                let from = *una + at * SIZE;
                board.duplicate((from, from + SIZE));
                for s in model.segments.iter_mut().filter(|s| s.seq == from && s.sacked) {
                    s.again = false;
                }
            }
        }
        Ok(())
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let Both { board, model, una } = self;
        prop_assert!(board.is_consistent(), "counts and marks disagree");
        let (sacked, lost) = (model.count(|s| s.sacked), model.count(|s| s.lost));
        let again = model.count(|s| s.again);
        prop_assert_eq!(board.out() as usize, model.segments.len());
        prop_assert_eq!((board.sacked(), board.lost(), board.retransmitted()), (sacked, lost, again));
        let in_flight = (model.segments.len() as u32 + again).saturating_sub(sacked + lost);
        prop_assert_eq!(board.in_flight(), in_flight);
        prop_assert_eq!(board.head().map(|r| r.seq), model.segments.first().map(|s| s.seq));
        prop_assert_eq!(board.last().map(|r| r.seq), model.segments.last().map(|s| s.seq));
        let highest = model.segments.iter().filter(|s| s.sacked).map(|s| s.seq + SIZE).max();
        prop_assert_eq!(board.highest_sacked(*una), highest.unwrap_or(*una));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_scoreboard_is_a_list_of_segments(operations in operations()) {
        let mut both = Both { board: Scoreboard::default(), model: Model::default(), una: 0 };
        for operation in operations {
            both.run(operation)?;
            both.compare()?;
        }
    }
}
