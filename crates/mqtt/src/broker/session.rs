//! The sessions that a broker keeps (section 4.1), and who gets a message.

use crate::delivery::{Inbox, Limit, Outbox};
use crate::packet::{Message, PacketId, QoS, Subscription};
use crate::topic::{self, Tree};
use haltere_net::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of a session. That of one that is gone may be given to another.
pub(super) type SessionId = u32;

/// The state of a client that outlives its connections.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub client_id: Arc<str>,
    /// The connection on which the client is there.
    pub link: Option<u32>,
    pub outbox: Outbox,
    pub inbox: Inbox,
    /// Messages of QoS 2 that are passed on once they are released.
    pub held: BTreeMap<PacketId, Message>,
    pub filters: BTreeMap<Arc<str>, Subscription>,
    /// Seconds for which it outlives a connection; `u32::MAX` for ever.
    pub expiry: u32,
    /// When it ends, if no connection comes before.
    pub expires: Option<Time>,
}

/// A subscription as the tree has it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Entry {
    session: SessionId,
    qos: QoS,
    no_local: bool,
    retain_as_published: bool,
}

impl Entry {
    fn of(session: SessionId, s: &Subscription) -> Entry {
        Entry { session, qos: s.qos, no_local: s.no_local, retain_as_published: s.retain_as_published }
    }
}

/// Who gets a message, and how.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Recipient {
    pub session: SessionId,
    pub qos: QoS,
    pub retain: bool,
}

/// All sessions, and their subscriptions.
#[derive(Clone, Default, Debug)]
pub(super) struct Sessions {
    slots: Vec<Option<Session>>,
    free: Vec<SessionId>,
    by_client: BTreeMap<Arc<str>, SessionId>,
    tree: Tree<Entry>,
    found: Vec<Entry>,
}

impl Sessions {
    pub fn of_client(&self, client_id: &str) -> Option<SessionId> {
        self.by_client.get(client_id).copied()
    }

    pub fn get(&self, id: SessionId) -> Option<&Session> {
        self.slots.get(id as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.slots.get_mut(id as usize)?.as_mut()
    }

    pub fn create(&mut self, client_id: &Arc<str>, window: u16, limit: Limit) -> SessionId {
        let session = Session {
            client_id: client_id.clone(),
            link: None,
            outbox: Outbox::new(window, limit),
            inbox: Inbox::default(),
            held: BTreeMap::new(),
            filters: BTreeMap::new(),
            expiry: 0,
            expires: None,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = Some(session);
                id
            }
            None => {
                self.slots.push(Some(session));
                self.slots.len() as SessionId - 1
            }
        };
        self.by_client.insert(client_id.clone(), id);
        id
    }

    pub fn remove(&mut self, id: SessionId) {
        let Some(session) = self.slots.get_mut(id as usize).and_then(Option::take) else { return };
        for subscription in session.filters.values() {
            self.tree.remove(&subscription.filter, Entry::of(id, subscription));
        }
        self.by_client.remove(&session.client_id);
        self.free.push(id);
    }

    pub fn ids(&self) -> Vec<SessionId> {
        self.by_client.values().copied().collect()
    }

    /// Adds a subscription, or replaces that with the same filter `[MQTT-3.8.4-3]`. Returns whether it is new.
    pub fn subscribe(&mut self, id: SessionId, subscription: Subscription) -> bool {
        let Some(Some(session)) = self.slots.get_mut(id as usize) else { return false };
        let entry = Entry::of(id, &subscription);
        let filter = subscription.filter.clone();
        let earlier = session.filters.insert(filter.clone(), subscription);
        if let Some(earlier) = &earlier {
            self.tree.remove(&filter, Entry::of(id, earlier));
        }
        self.tree.insert(&filter, entry);
        earlier.is_none()
    }

    /// Ends a subscription. Returns whether there was one.
    pub fn unsubscribe(&mut self, id: SessionId, filter: &str) -> bool {
        let Some(Some(session)) = self.slots.get_mut(id as usize) else { return false };
        let Some(earlier) = session.filters.remove(filter) else { return false };
        self.tree.remove(filter, Entry::of(id, &earlier));
        true
    }

    /// Who gets a message that a session has published. A session whose filters overlap gets it once, with the highest
    /// QoS of them `[MQTT-3.3.4-2]`.
    pub fn recipients(&mut self, message: &Message, from: Option<SessionId>) -> Vec<Recipient> {
        self.found.clear();
        let found = &mut self.found;
        self.tree.matching(&message.topic, |entry| {
            // [MQTT-3.8.3-3]
            if !(entry.no_local && from == Some(entry.session)) {
                found.push(entry);
            }
        });
        found.sort_by_key(|entry| entry.session);
        let mut recipients: Vec<Recipient> = Vec::with_capacity(found.len());
        for entry in found {
            // [MQTT-3.8.4-8]
            let qos = entry.qos.min(message.qos);
            // [MQTT-3.3.1-12], [MQTT-3.3.1-13]
            let retain = entry.retain_as_published && message.retain;
            match recipients.last_mut() {
                Some(last) if last.session == entry.session => {
                    (last.qos, last.retain) = (last.qos.max(qos), last.retain || retain);
                }
                _ => recipients.push(Recipient { session: entry.session, qos, retain }),
            }
        }
        recipients
    }
}

/// The messages that a broker keeps for later subscribers (section 3.3.1.3).
#[derive(Clone, Default, Debug)]
pub(super) struct Retained(BTreeMap<Arc<str>, Message>);

impl Retained {
    /// Keeps a message in the place of an earlier one `[MQTT-3.3.1-5]`. An empty one ends that `[MQTT-3.3.1-6]`,
    /// `[MQTT-3.3.1-7]`.
    pub fn keep(&mut self, message: &Message) {
        match message.payload.is_empty() {
            true => self.0.remove(&message.topic),
            false => self.0.insert(message.topic.clone(), message.clone()),
        };
    }

    /// Those that a filter matches.
    pub fn matching<'a>(&'a self, filter: &'a str) -> impl Iterator<Item = &'a Message> {
        self.0.values().filter(move |message| topic::matches(filter, &message.topic))
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}
