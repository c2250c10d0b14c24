//! The acknowledged exchanges of QoS 1 and 2 (section 4.3). Client and broker send messages by the same rules.

use crate::lean::push_lean;
use crate::packet::{Message, Packet, PacketId, Properties, Publish, QoS, Step, Version, Violation, reason};
use haltere_net::{Span, Time};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Which message gives way when a queue is full.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum DropPolicy {
    /// The one that comes, as in mosquitto.
    #[default]
    Newest,
    /// The one that has waited longest.
    Oldest,
}

/// How many messages may wait, and which gives way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Messages that may wait.
    pub messages: usize,
    /// The message that gives way when so many wait.
    pub drop: DropPolicy,
}

impl Limit {
    /// Nothing is dropped.
    pub const NONE: Limit = Limit { messages: usize::MAX, drop: DropPolicy::Newest };
}

/// A message with what belongs to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The message.
    pub message: Message,
    /// Its properties beside topic and payload.
    pub properties: Option<Arc<Properties>>,
    /// The identifier of the subscription that it goes by.
    pub subscription: Option<u32>,
    /// When it came, from which on its expiry counts.
    pub since: Time,
}

impl Item {
    /// A message without properties.
    pub fn new(message: Message, since: Time) -> Item {
        Item { message, properties: None, subscription: None, since }
    }

    /// Whether it may be delivered no more `[MQTT-3.3.2-5]`.
    pub fn is_expired(&self, now: Time) -> bool {
        let expiry = self.properties.as_ref().and_then(|said| said.expiry);
        expiry.is_some_and(|seconds| now >= self.since + Span::from_secs(u64::from(seconds)))
    }

    /// Its properties as they are sent now: the time that it has waited counts against its expiry `[MQTT-3.3.2-6]`.
    pub fn properties(&self, now: Time) -> Option<Arc<Properties>> {
        let expiry = self.properties.as_ref().and_then(|said| said.expiry);
        if expiry.is_none() && self.subscription.is_none() {
            return self.properties.clone();
        }
        let waited = u32::try_from(now.since(self.since).as_millis() / 1000).unwrap_or(u32::MAX);
        let mut said = self.properties.as_deref().cloned().unwrap_or_default();
        said.expiry = expiry.map(|seconds| seconds.saturating_sub(waited));
        said.subscription = self.subscription;
        said.some()
    }

    fn publish(&self, id: PacketId, now: Time) -> Publish {
        Publish {
            dup: false,
            id: Some(id),
            message: self.message.clone(),
            alias: None,
            properties: self.properties(now),
        }
    }
}

/// A message that waits for its acknowledgement.
#[derive(Clone, Debug)]
struct Flight {
    id: PacketId,
    /// The message; `None` once PUBREC came: PUBREL is what is sent again then.
    item: Option<Item>,
    /// Whether it was sent on the present connection.
    fresh: bool,
}

/// The messages that one end has for the other.
#[derive(Clone, Debug)]
pub struct Outbox {
    waiting: VecDeque<Item>,
    /// Messages that have expired while they waited.
    expired: Vec<Message>,
    /// In the order of sending.
    flight: VecDeque<Flight>,
    /// Packet identifiers in use.
    ids: BTreeSet<PacketId>,
    last: u16,
    window: usize,
    limit: Limit,
}

/// The meaning of an acknowledgement for its exchange.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Acked {
    /// The exchange is complete.
    Complete,
    /// It goes on with this packet.
    Reply(Packet),
    /// It belongs to no exchange.
    Unknown,
}

impl Outbox {
    /// An empty outbox that has at most `window` messages of QoS 1 and 2 in flight.
    pub fn new(window: u16, limit: Limit) -> Outbox {
        let (waiting, expired, flight, ids) = Default::default();
        Outbox { waiting, expired, flight, ids, last: 0, window: usize::from(window.max(1)), limit }
    }

    /// The most messages of QoS 1 and 2 in flight from now on (the peer's Receive Maximum, section 4.9).
    pub fn set_window(&mut self, window: u16) {
        self.window = usize::from(window.max(1));
    }

    /// Takes a message to be sent. Returns the one that gives way, if the queue is full.
    pub fn push(&mut self, item: Item) -> Option<Message> {
        let full = self.waiting.len() >= self.limit.messages;
        if full && self.limit.drop == DropPolicy::Newest {
            return Some(item.message);
        }
        let dropped = if full { self.waiting.pop_front() } else { None };
        push_lean(&mut self.waiting, item);
        dropped.map(|item| item.message)
    }

    /// The next message that may be sent now. Messages leave in the order in which they came `[MQTT-4.6.0-6]`, so that one
    /// of QoS 0 waits behind one of QoS 1 that waits for the window.
    pub fn poll(&mut self, now: Time) -> Option<Publish> {
        while self.waiting.front().is_some_and(|item| item.is_expired(now)) {
            self.expired.extend(self.waiting.pop_front().map(|item| item.message));
        }
        if self.waiting.front()?.message.qos == QoS::AtMostOnce {
            let item = self.waiting.pop_front()?;
            let properties = item.properties(now);
            return Some(Publish { dup: false, id: None, message: item.message, alias: None, properties });
        }
        // [MQTT-3.3.4-7], [MQTT-3.3.4-9]
        if self.flight.len() >= self.window {
            return None;
        }
        let id = self.take_id()?;
        let item = self.waiting.pop_front()?;
        let publish = item.publish(id, now);
        push_lean(&mut self.flight, Flight { id, item: Some(item), fresh: true });
        Some(publish)
    }

    /// A message cannot be sent. Its exchange counts as complete `[MQTT-3.1.2-25]`.
    pub fn abandon(&mut self, id: Option<PacketId>) {
        if let Some(at) = self.flight.iter().position(|flight| Some(flight.id) == id) {
            self.ids.remove(&self.flight[at].id);
            self.flight.remove(at);
        }
    }

    /// The messages that have expired while they waited, since the last call.
    pub fn take_expired(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.expired)
    }

    /// A packet identifier that is not in use `[MQTT-2.2.1-3]`, if there is one.
    pub fn take_id(&mut self) -> Option<PacketId> {
        if self.ids.len() >= usize::from(u16::MAX) {
            return None;
        }
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            if let Some(id) = PacketId::new(self.last).filter(|id| self.ids.insert(*id)) {
                return Some(id);
            }
        }
    }

    /// Gives back a packet identifier. Returns whether it was in use.
    pub fn free_id(&mut self, id: PacketId) -> bool {
        self.ids.remove(&id)
    }

    /// PUBACK, PUBREC or PUBCOMP came, with a reason code.
    pub fn on_ack(&mut self, version: Version, step: Step, id: PacketId, code: u8) -> Acked {
        let found = self.flight.iter().position(|f| f.id == id);
        let Some((at, flight)) = found.and_then(|at| Some((at, self.flight.get_mut(at)?))) else {
            return match step {
                // The exchange can only end: the peer is told that nothing is known of it ([MQTT-4.3.3-4]; reason code 0x92).
                Step::Pubrec => Acked::Reply(Packet::Ack(Step::Pubrel, id, not_found(version))),
                _ => Acked::Unknown,
            };
        };
        let qos = flight.item.as_ref().map(|item| item.message.qos);
        match (step, qos) {
            (Step::Pubrec, Some(QoS::ExactlyOnce)) if code < 0x80 => {
                // The message need not be kept: it is not sent again [MQTT-4.3.3-6].
                flight.item = None;
                Acked::Reply(Packet::Ack(Step::Pubrel, id, reason::SUCCESS))
            }
            (Step::Pubrec, None) => Acked::Reply(Packet::Ack(Step::Pubrel, id, reason::SUCCESS)),
            (Step::Puback, Some(QoS::AtLeastOnce)) | (Step::Pubrec, Some(QoS::ExactlyOnce)) | (Step::Pubcomp, None) => {
                self.flight.remove(at);
                self.ids.remove(&id);
                Acked::Complete
            }
            _ => Acked::Unknown,
        }
    }

    /// The connection is gone: what is in flight is sent again on the next one.
    pub fn on_lost(&mut self) {
        self.flight.iter_mut().for_each(|f| f.fresh = false);
    }

    /// The packets to be sent again on a new connection of the session, in their order `[MQTT-4.4.0-1]`, `[MQTT-4.6.0-1]`.
    pub fn resume(&mut self, now: Time) -> Vec<Packet> {
        let stale = self.flight.iter_mut().filter_map(|f| (!std::mem::replace(&mut f.fresh, true)).then_some(f));
        let again = stale.map(|f| match &f.item {
            // [MQTT-3.3.1-1]; what was sent does not expire [MQTT-4.3.3-7].
            Some(item) => Packet::Publish(Publish { dup: true, ..item.publish(f.id, now) }),
            None => Packet::Ack(Step::Pubrel, f.id, reason::SUCCESS),
        });
        again.collect()
    }

    /// The session is gone: exchanges of earlier connections are forgotten. Returns the messages of which it is not known
    /// whether they arrived.
    pub fn forget(&mut self) -> Vec<Message> {
        let (fresh, stale): (VecDeque<_>, VecDeque<_>) = self.flight.drain(..).partition(|f| f.fresh);
        self.flight = fresh;
        for flight in &stale {
            self.ids.remove(&flight.id);
        }
        stale.into_iter().filter_map(|f| f.item).map(|item| item.message).collect()
    }

    /// Messages that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Messages in flight.
    pub fn in_flight(&self) -> usize {
        self.flight.len()
    }
}

const fn not_found(version: Version) -> u8 {
    match version {
        Version::V5 => reason::PACKET_ID_NOT_FOUND,
        Version::V311 => reason::SUCCESS,
    }
}

/// The exchanges of QoS 2 in which one end has taken a message and waits for its PUBREL.
#[derive(Clone, Default, Debug)]
pub struct Inbox {
    open: BTreeSet<PacketId>,
}

/// The treatment of a message that came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Whether the application gets it. It does not if it had it before.
    pub new: bool,
    /// The answer.
    pub reply: Option<Packet>,
}

impl Inbox {
    /// A message came. At most `maximum` exchanges may be open (the own Receive Maximum).
    ///
    /// # Errors
    /// If there are more.
    pub fn on_publish(&mut self, publish: &Publish, maximum: u16) -> Result<Taken, Violation> {
        let Some(id) = publish.id else { return Ok(Taken { new: true, reply: None }) };
        if publish.message.qos == QoS::AtLeastOnce {
            // [MQTT-4.3.2-4], [MQTT-4.3.2-5]: a second one counts as a new message.
            return Ok(Taken { new: true, reply: Some(Packet::Ack(Step::Puback, id, reason::SUCCESS)) });
        }
        let new = self.open.insert(id);
        if self.open.len() > usize::from(maximum) {
            let what = format!("more than {maximum} messages without acknowledgement");
            return Err(Violation::new(reason::RECEIVE_MAXIMUM_EXCEEDED, what));
        }
        // [MQTT-4.3.3-8], [MQTT-4.3.3-10]
        Ok(Taken { new, reply: Some(Packet::Ack(Step::Pubrec, id, reason::SUCCESS)) })
    }

    /// PUBREL came. Returns the answer `[MQTT-4.3.3-11]`.
    pub fn on_release(&mut self, version: Version, id: PacketId) -> Packet {
        let known = self.open.remove(&id);
        Packet::Ack(Step::Pubcomp, id, if known { reason::SUCCESS } else { not_found(version) })
    }

    /// Forgets all exchanges.
    pub fn clear(&mut self) {
        self.open.clear();
    }
}
