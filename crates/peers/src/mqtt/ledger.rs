//! The messages of a flow, from their publishers to their subscriber.

use crate::clock;
use haltere_net::{Span, Time};
use serde::Serialize;

/// Bytes at the beginning of each payload, which number the message: its publisher and its place among that one's.
pub const MARK: usize = 8;

/// The payload of a message.
pub fn payload(publisher: u32, number: u32, size: u64) -> Vec<u8> {
    let mut payload = vec![0; (size as usize).max(MARK)];
    payload[..4].copy_from_slice(&publisher.to_be_bytes());
    payload[4..MARK].copy_from_slice(&number.to_be_bytes());
    payload
}

/// The publisher and the number of a message.
fn marked(payload: &[u8]) -> Option<(usize, usize)> {
    let [publisher, number] = payload.as_chunks::<4>().0.get(..2)? else { return None };
    Some((u32::from_be_bytes(*publisher) as usize, u32::from_be_bytes(*number) as usize))
}

/// The clients' report. Times in ns from the run's beginning.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Seen {
    pub published: u64,
    pub delivered: u64,
    pub duplicated: u64,
    /// When each message was delivered, and how long after it was published.
    pub deliveries: Vec<(u64, u64)>,
    /// How long each publisher's first connection took until CONNACK.
    pub handshakes: Vec<u64>,
    /// Bytes of payload delivered.
    pub bytes: u64,
    /// When the last message was delivered, or waiting ended, if all was published.
    pub completed: Option<u64>,
    /// How often a connection was lost or refused, and why last.
    pub lost_connections: u64,
    pub last_loss: Option<String>,
    /// When the clients ended.
    pub ended: u64,
    pub error: Option<String>,
}

/// A message that was published.
#[derive(Clone, Copy, Debug)]
struct Published {
    published: Time,
    size: u64,
    delivered: bool,
}

/// The messages of a flow.
#[derive(Debug)]
pub struct Ledger {
    epoch: Time,
    messages: Vec<Vec<Published>>,
    /// Publishers that have more to publish.
    open: usize,
    last: Time,
    pub seen: Seen,
}

impl Ledger {
    /// A ledger for so many publishers.
    pub fn new(epoch: Time, publishers: usize) -> Ledger {
        Ledger { epoch, messages: vec![Vec::new(); publishers], open: publishers, last: epoch, seen: Seen::default() }
    }

    fn ns(&self, at: Time) -> u64 {
        at.since(self.epoch).as_nanos()
    }

    /// A publisher's first connection is there, this long after it began.
    pub fn connected(&mut self, took: Span) {
        self.seen.handshakes.push(took.as_nanos());
    }

    /// A publisher calls. Returns the message's number.
    pub fn publish(&mut self, publisher: usize, size: u64, now: Time) -> u32 {
        let messages = &mut self.messages[publisher];
        messages.push(Published { published: now, size, delivered: false });
        self.seen.published += 1;
        self.last = self.last.max(now);
        messages.len() as u32 - 1
    }

    /// A publisher has nothing more to publish.
    pub fn close(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// The subscriber has a message.
    pub fn deliver(&mut self, payload: &[u8], now: Time) {
        let Some((publisher, number)) = marked(payload) else { return };
        let message = self.messages.get_mut(publisher).and_then(|messages| messages.get_mut(number));
        let Some(message) = message else { return };
        if std::mem::replace(&mut message.delivered, true) {
            self.seen.duplicated += 1;
            return;
        }
        let (took, size) = (now.since(message.published), message.size);
        self.last = self.last.max(now);
        let at = self.ns(now);
        self.seen.delivered += 1;
        self.seen.bytes += size;
        self.seen.deliveries.push((at, took.as_nanos()));
    }

    /// A connection was lost.
    pub fn lost(&mut self, why: String) {
        self.seen.lost_connections += 1;
        self.seen.last_loss = Some(why);
    }

    /// When nothing more is waited for, if all was published.
    pub fn gives_up(&self, wait: Span) -> Time {
        if self.open == 0 { self.last + wait } else { Time::NEVER }
    }

    /// Whether every message was published and delivered, or the rest was given up.
    pub fn is_over(&mut self, wait: Span, now: Time) -> bool {
        let all = self.open == 0 && self.seen.delivered == self.seen.published;
        let over = all || self.gives_up(wait) <= now;
        if over {
            self.seen.completed = Some(self.ns(self.last));
        }
        over
    }

    /// Ends the clients' report.
    pub fn finish(&mut self, error: Option<String>) -> &Seen {
        self.seen.ended = self.ns(clock::now());
        self.seen.error = error;
        &self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_counts_once_and_the_last_one_ends_the_run() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let wait = Span::from_secs(1);
        let mut ledger = Ledger::new(at(100), 1);
        for ms in [200, 300] {
            ledger.publish(0, 50, at(ms));
        }
        ledger.close();
        ledger.deliver(&payload(0, 1, 50), at(350));
        ledger.deliver(&payload(0, 1, 50), at(360));
        ledger.deliver(&payload(7, 1, 50), at(360));
        ledger.deliver(b"short", at(360));
        assert!(!ledger.is_over(wait, at(1349)));
        assert!(ledger.is_over(wait, at(1350)));
        ledger.deliver(&payload(0, 0, 50), at(1400));
        assert!(ledger.is_over(wait, at(1400)));
        let seen = &ledger.seen;
        assert_eq!((seen.published, seen.delivered, seen.duplicated, seen.bytes), (2, 2, 1, 100));
        assert_eq!(seen.deliveries, [(250_000_000, 50_000_000), (1_300_000_000, 1_200_000_000)]);
        assert_eq!(seen.completed, Some(1_300_000_000));
    }
}
