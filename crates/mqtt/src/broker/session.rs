//! The sessions that a broker keeps (section 4.1), and who gets a message.

use crate::delivery::{Inbox, Item, Limit, Outbox};
use crate::packet::{Message, PacketId, QoS, Subscription};
use crate::topic::{self, Tree};
use haltere_net::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of a session. That of one that is gone may be given to another.
pub(super) type SessionId = u32;

/// Where the messages of a session go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seat {
    /// They wait: the client is not there.
    Away,
    /// To the connection of this number.
    Link(u32),
    /// To the bridge that the session belongs to.
    Bridge,
}

/// The state of a client that outlives its connections.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub client_id: Arc<str>,
    /// Where its messages go.
    pub seat: Seat,
    pub outbox: Outbox,
    pub inbox: Inbox,
    /// Messages of QoS 2 that are passed on once they are released.
    pub held: BTreeMap<PacketId, Item>,
    pub filters: BTreeMap<Arc<str>, Subscription>,
    /// Seconds for which it outlives a connection; `u32::MAX` for ever.
    pub expiry: u32,
    /// When it ends, if no connection comes before.
    pub expires: Option<Time>,
    /// The will that waits for the client to come back, and when it is published.
    pub will: Option<(Item, Time)>,
}

/// A subscription as the tree has it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Entry {
    session: SessionId,
    qos: QoS,
    no_local: bool,
    retain_as_published: bool,
    identifier: Option<u32>,
}

impl Entry {
    fn of(session: SessionId, s: &Subscription) -> Entry {
        Entry {
            session,
            qos: s.qos,
            no_local: s.no_local,
            retain_as_published: s.retain_as_published,
            identifier: s.identifier,
        }
    }
}

/// Who gets a message, and how.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Recipient {
    pub session: SessionId,
    pub qos: QoS,
    pub retain: bool,
    /// The identifier of its subscription.
    pub identifier: Option<u32>,
}

/// The subscriptions of several sessions with the same share name and filter (section 4.8.2): each message goes to one of them.
#[derive(Clone, Default, Debug)]
struct Group {
    members: Vec<Entry>,
    /// The index of the member that gets the next message.
    turn: usize,
}

/// The beginning of filters of shared subscriptions.
const SHARED: &str = "$share/";

/// The filter of a shared subscription without its share name.
pub(super) fn shared(filter: &str) -> Option<&str> {
    filter.strip_prefix(SHARED)?.split_once('/').map(|(_, filter)| filter)
}

/// All sessions, and their subscriptions.
#[derive(Clone, Default, Debug)]
pub(super) struct Sessions {
    slots: Vec<Option<Session>>,
    free: Vec<SessionId>,
    by_client: BTreeMap<Arc<str>, SessionId>,
    tree: Tree<Entry>,
    found: Vec<Entry>,
    /// Shared subscriptions: the number of each group by its whole filter, and the groups by the filters that topics match.
    shares: BTreeMap<Arc<str>, u32>,
    groups: BTreeMap<u32, Group>,
    shared: Tree<u32>,
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

    /// The session that a link, a subscription or a caller has; it is there as long as they have it.
    pub fn held(&mut self, id: SessionId) -> Option<&mut Session> {
        debug_assert!(self.get(id).is_some(), "session {id} has ended, and something still has it");
        self.get_mut(id)
    }

    /// A session of a client.
    pub fn create(&mut self, client_id: &Arc<str>, window: u16, limit: Limit) -> SessionId {
        let id = self.add(client_id, window, limit);
        self.by_client.insert(client_id.clone(), id);
        id
    }

    /// A session of a bridge, which no client can take over.
    pub fn create_bridge(&mut self) -> SessionId {
        let id = self.add(&Arc::from("bridge"), 1, Limit::NONE);
        if let Some(session) = self.held(id) {
            (session.seat, session.expiry) = (Seat::Bridge, u32::MAX);
        }
        id
    }

    fn add(&mut self, client_id: &Arc<str>, window: u16, limit: Limit) -> SessionId {
        let session = Session {
            client_id: client_id.clone(),
            seat: Seat::Away,
            outbox: Outbox::new(window, limit),
            inbox: Inbox::default(),
            held: BTreeMap::new(),
            filters: BTreeMap::new(),
            expiry: 0,
            expires: None,
            will: None,
        };
        match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = Some(session);
                id
            }
            None => {
                self.slots.push(Some(session));
                self.slots.len() as SessionId - 1
            }
        }
    }

    pub fn remove(&mut self, id: SessionId) {
        let Some(session) = self.slots.get_mut(id as usize).and_then(Option::take) else { return };
        for subscription in session.filters.values() {
            self.remove_entry(&subscription.filter, Entry::of(id, subscription));
        }
        if session.seat != Seat::Bridge {
            self.by_client.remove(&session.client_id);
        }
        self.free.push(id);
    }

    /// The sessions of clients, without those of bridges.
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
            self.remove_entry(&filter, Entry::of(id, earlier));
        }
        match shared(&filter) {
            None => self.tree.insert(&filter, entry),
            Some(topics) => {
                let new = self.groups.last_key_value().map_or(0, |(last, _)| last + 1);
                let group = *self.shares.entry(filter.clone()).or_insert(new);
                self.groups.entry(group).or_default().members.push(entry);
                self.shared.insert(topics, group);
            }
        }
        earlier.is_none()
    }

    fn remove_entry(&mut self, filter: &str, entry: Entry) {
        let Some(topics) = shared(filter) else { return self.tree.remove(filter, entry) };
        let Some(number) = self.shares.get(filter).copied() else { return };
        let Some(group) = self.groups.get_mut(&number) else { return };
        group.members.retain(|member| *member != entry);
        if group.members.is_empty() {
            self.groups.remove(&number);
            self.shares.remove(filter);
            self.shared.remove(topics, number);
        }
    }

    /// The member of a group that gets the next message: they take turns, and those that are there come before the others.
    fn choose(&mut self, group: u32) -> Option<Entry> {
        let group = self.groups.get_mut(&group)?;
        let count = group.members.len();
        let turns = (0..count).map(|k| (group.turn + k) % count);
        let there = |&k: &usize| {
            let session = self.slots.get(group.members[k].session as usize)?.as_ref()?;
            (session.seat != Seat::Away).then_some(k)
        };
        let chosen = turns.clone().find(|k| there(k).is_some()).or_else(|| turns.clone().next())?;
        group.turn = chosen + 1;
        group.members.get(chosen).copied()
    }

    /// Ends a subscription. Returns whether there was one.
    pub fn unsubscribe(&mut self, id: SessionId, filter: &str) -> bool {
        let Some(Some(session)) = self.slots.get_mut(id as usize) else { return false };
        let Some(earlier) = session.filters.remove(filter) else { return false };
        self.remove_entry(filter, Entry::of(id, &earlier));
        true
    }

    /// Who gets a message that a session has published. A session whose filters overlap gets it once, with the highest QoS of
    /// them `[MQTT-3.3.4-2]`, and a further copy for each further subscription with an identifier of its own `[MQTT-3.3.4-5]`: a
    /// packet of the crate `mqtt-proto` has one identifier. By shared subscriptions it gets copies of its own.
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
        for entry in found.iter() {
            // [MQTT-3.8.4-8]
            let qos = entry.qos.min(message.qos);
            // [MQTT-3.3.1-12], [MQTT-3.3.1-13]
            let retain = entry.retain_as_published && message.retain;
            match recipients.last_mut() {
                Some(last)
                    if last.session == entry.session && (last.identifier.is_none() || entry.identifier.is_none()) =>
                {
                    (last.qos, last.retain) = (last.qos.max(qos), last.retain || retain);
                    last.identifier = last.identifier.or(entry.identifier);
                }
                _ => recipients.push(Recipient { session: entry.session, qos, retain, identifier: entry.identifier }),
            }
        }
        if !self.groups.is_empty() {
            let mut groups = Vec::new();
            self.shared.matching(&message.topic, |group| groups.push(group));
            for entry in groups.into_iter().filter_map(|group| self.choose(group)) {
                let (qos, retain) = (entry.qos.min(message.qos), entry.retain_as_published && message.retain);
                recipients.push(Recipient { session: entry.session, qos, retain, identifier: entry.identifier });
            }
        }
        recipients
    }
}

/// The messages that a broker keeps for later subscribers (section 3.3.1.3).
#[derive(Clone, Default, Debug)]
pub(super) struct Retained(BTreeMap<Arc<str>, Item>);

impl Retained {
    /// Keeps a message in the place of an earlier one `[MQTT-3.3.1-5]`. An empty one ends that `[MQTT-3.3.1-6]`,
    /// `[MQTT-3.3.1-7]`.
    pub fn keep(&mut self, item: &Item) {
        let topic = &item.message.topic;
        match item.message.payload.is_empty() {
            true => self.0.remove(topic),
            false => self.0.insert(topic.clone(), item.clone()),
        };
    }

    /// Retained messages that a filter matches and that have not expired.
    pub fn matching<'a>(&'a self, filter: &'a str, now: Time) -> impl Iterator<Item = &'a Item> {
        let fresh = self.0.values().filter(move |item| !item.is_expired(now));
        fresh.filter(move |item| topic::matches(filter, &item.message.topic))
    }
}
