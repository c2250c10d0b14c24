//! MQTT: publishers and subscribers, which are clients, and brokers. The protocol itself is in the crate `haltere-mqtt`.
//!
//! | file | holds |
//! |---|---|
//! | this one | what becomes of each message |
//! | `wire` | MQTT's bytes on a connection: TLS over TCP, streams of QUIC |
//! | `device` | a client with its connection, which it opens again if it is lost |
//! | `traffic` | when a publisher has a message |
//! | `publishers` | the process of some publishers |
//! | `subscriber` | the process of a subscriber |
//! | `broker` | the process of a broker |

mod broker;
mod device;
mod publishers;
mod subscriber;
mod traffic;
mod wire;

pub use broker::BrokerProcess;
pub(crate) use publishers::topics_of;
pub use publishers::{PUBLISHER_LEVELS, Plan, Publishers};
pub use subscriber::Subscriber;
pub use traffic::{Arrivals, Traffic};
pub use wire::Framing;

use super::Fetch;
use haltere_net::{Span, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes at the beginning of each payload, which tell whose message it is: the flow, the publisher, the message, each
/// as four bytes.
pub const MARK: usize = 12;

/// Which message it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub flow: u32,
    pub publisher: u32,
    pub number: u32,
}

impl Mark {
    /// A payload of `size` bytes that begins with the mark. It is not shorter than that.
    fn payload(self, size: u64) -> Vec<u8> {
        let mut payload = vec![0; (size as usize).max(MARK)];
        for (part, value) in payload.chunks_exact_mut(4).zip([self.flow, self.publisher, self.number]) {
            part.copy_from_slice(&value.to_be_bytes());
        }
        payload
    }

    /// The mark of a payload.
    fn of(payload: &[u8]) -> Option<Mark> {
        let mut values = payload.as_chunks::<4>().0.iter().map(|part| u32::from_be_bytes(*part));
        Some(Mark { flow: values.next()?, publisher: values.next()?, number: values.next()? })
    }
}

/// The history of a message.
#[derive(Clone, Copy, Debug)]
struct MessageState {
    published: Time,
    size: u32,
    copies: u16,
    dropped: bool,
}

/// The fates of the messages of a flow so far.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Messages {
    /// When the first CONNACK came, the first and the last delivery, bytes of payload, and why it failed, if it did. It is
    /// complete if all messages are published and delivered.
    pub fetch: Fetch,
    /// How long each publisher's first connection took until CONNACK.
    pub handshakes: Vec<Span>,
    /// Messages published.
    pub published: u64,
    /// Messages of which the subscriber got at least one copy.
    pub delivered: u64,
    /// Further copies.
    pub duplicated: u64,
    /// Messages that gave way in a full queue, or for which nobody was there, and of which no copy was delivered.
    pub dropped: u64,
    /// When each message was delivered, in this order, and how long after it was published.
    pub deliveries: Vec<(Time, Span)>,
}

#[derive(Default, Debug)]
struct Book {
    fates: Vec<Vec<MessageState>>,
    /// Publishers that have more to publish.
    open: usize,
    last_published: Time,
    last_delivered: Time,
    seen: Messages,
}

/// The messages of a flow, as its publishers, its subscriber and the broker tell of them.
#[derive(Clone, Default, Debug)]
pub struct Ledger(Arc<Mutex<Book>>);

impl Ledger {
    /// A ledger for so many publishers.
    pub fn new(publishers: usize) -> Ledger {
        Ledger(Arc::new(Mutex::new(Book { fates: vec![Vec::new(); publishers], open: publishers, ..Book::default() })))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A publisher is connected, this long after it began.
    fn connected(&self, took: Span, now: Time) {
        let mut book = self.book();
        book.seen.fetch.ready.get_or_insert(now);
        book.seen.handshakes.push(took);
    }

    /// A publisher publishes a message. Returns its number.
    fn publish(&self, publisher: u32, size: u32, now: Time) -> u32 {
        let mut book = self.book();
        let fates = &mut book.fates[publisher as usize];
        fates.push(MessageState { published: now, size, copies: 0, dropped: false });
        let number = fates.len() as u32 - 1;
        book.seen.published += 1;
        book.last_published = now;
        number
    }

    /// A publisher has nothing more to publish.
    fn close(&self) {
        let mut book = self.book();
        book.open = book.open.saturating_sub(1);
    }

    /// The subscriber has a message.
    fn deliver(&self, mark: Mark, now: Time) {
        let mut book = self.book();
        let book = &mut *book;
        let Some(fate) =
            book.fates.get_mut(mark.publisher as usize).and_then(|fates| fates.get_mut(mark.number as usize))
        else {
            return;
        };
        fate.copies = fate.copies.saturating_add(1);
        let seen = &mut book.seen;
        if fate.copies > 1 {
            seen.duplicated += 1;
            return;
        }
        book.last_delivered = now;
        seen.delivered += 1;
        if std::mem::take(&mut fate.dropped) {
            // An earlier copy gave way.
            seen.dropped -= 1;
        }
        seen.fetch.first_byte.get_or_insert(now);
        seen.fetch.received += u64::from(fate.size);
        seen.deliveries.push((now, now.since(fate.published)));
        if book.open == 0 && seen.delivered == seen.published {
            seen.fetch.completed = Some(now);
        }
    }

    /// A copy of a message gave way. If another one was or is delivered, the message does not count as dropped.
    fn drop(&self, mark: Mark) {
        let mut book = self.book();
        let fates = book.fates.get_mut(mark.publisher as usize);
        let Some(fate) = fates.and_then(|fates| fates.get_mut(mark.number as usize)) else { return };
        if fate.copies == 0 && !std::mem::replace(&mut fate.dropped, true) {
            book.seen.dropped += 1;
        }
    }

    /// A connection cannot be had.
    fn fail(&self, reason: haltere_transport::CloseReason) {
        self.book().seen.fetch.failed.get_or_insert(reason);
    }

    /// Whether all was published, and nothing was delivered for this long although something is missing.
    fn is_given_up(&self, wait: Span, now: Time) -> bool {
        let mut book = self.book();
        let over = book.open == 0 && book.last_published.max(book.last_delivered) + wait <= now;
        if over && book.seen.fetch.completed.is_none() {
            book.seen.fetch.completed = Some(book.last_published.max(book.last_delivered));
        }
        over
    }

    /// The bytes of payload delivered so far.
    fn received(&self) -> u64 {
        self.book().seen.fetch.received
    }

    /// The fates of all messages so far. Each delivery is copied.
    fn seen(&self) -> Messages {
        self.book().seen.clone()
    }

    fn is_over(&self) -> bool {
        self.book().seen.fetch.is_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A publisher that has lost its connection sends a message again: one copy may give way and another be delivered.
    #[test]
    fn each_message_counts_once_whatever_becomes_of_its_copies() {
        let ledger = Ledger::new(1);
        let mark = |number| Mark { flow: 0, publisher: 0, number };
        for _ in 0..4 {
            ledger.publish(0, 100, Time::ZERO);
        }
        ledger.drop(mark(0));
        ledger.deliver(mark(0), Time::ZERO);
        ledger.deliver(mark(1), Time::ZERO);
        ledger.drop(mark(1));
        ledger.drop(mark(2));
        ledger.drop(mark(2));
        let seen = ledger.seen();
        assert_eq!((seen.published, seen.delivered, seen.dropped, seen.duplicated), (4, 2, 1, 0));
    }
}
