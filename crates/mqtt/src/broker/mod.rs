//! A broker (an MQTT server): sessions with queues, topic matching, retained messages, wills.
//!
//! | file | holds |
//! |---|---|
//! | this one | connections, timers, and what is to be sent |
//! | `packets` | what it does with each packet |
//! | `session` | sessions, subscriptions, retained messages |

mod packets;
mod session;

use crate::channel::{Channel, Lane, Output, Streams};
use crate::codec;
use crate::delivery::{Item, Limit};
use crate::packet::{Connack, Message, Packet, QoS, Subscription, Version, Violation, reason};
use haltere_net::{Span, Time};
use session::{Retained, Seat, SessionId, Sessions};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// How a broker behaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokerConfig {
    /// How many messages of QoS 1 and 2 a client may send before they are acknowledged (MQTT 5).
    pub receive_maximum: u16,
    /// How many topic aliases a client may give (MQTT 5).
    pub topic_alias_maximum: u16,
    /// How many messages of QoS 1 and 2 it has in flight to a client at most, even if the client takes more.
    pub window: u16,
    /// How many messages may wait for a client.
    pub queue: Limit,
    /// Whether messages of QoS 0 wait for a client that is not there.
    pub queue_qos0: bool,
    /// When it passes a message of QoS 2 on.
    pub forward: Forward,
    /// The largest packet that it takes, bytes. MQTT 5 clients are told, if it is not the default.
    pub largest: usize,
    /// The keep-alive time that MQTT 5 clients are to use instead of their own, s (Server Keep Alive).
    pub keep_alive: Option<u16>,
}

/// When a broker passes a message of QoS 2 on to subscribers. The standard allows both (section 4.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Forward {
    /// When it comes, as mochi does.
    #[default]
    Publish,
    /// Once its publisher has released it by PUBREL, a round trip after it came, as mosquitto does.
    Release,
}

impl Default for BrokerConfig {
    /// mosquitto's defaults: 20 messages in flight (`max_inflight_messages`), 1000 waiting (`max_queued_messages`) of which
    /// the newest gives way, 10 topic aliases (`max_topic_alias`). But messages of QoS 2 are passed on when they come.
    fn default() -> Self {
        BrokerConfig {
            receive_maximum: 20,
            topic_alias_maximum: 10,
            window: 20,
            queue: Limit { messages: 1000, drop: crate::delivery::DropPolicy::Newest },
            queue_qos0: false,
            forward: Forward::default(),
            largest: codec::LARGEST,
            keep_alive: None,
        }
    }
}

/// Number of a network connection of a broker. That of one that is gone may be given to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Connection(pub u32);

/// Number of a session of a bridge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocalId(SessionId);

/// An event that a broker reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A message for a client was dropped: its queue was full, it was not there and the message had QoS 0, the message has expired
    /// or is larger than it takes.
    Dropped {
        /// The client.
        client_id: Arc<str>,
        /// The message.
        message: Message,
    },
    /// A client broke the protocol, and its connection was closed.
    Closed(Connection, Violation),
}

/// A network connection.
#[derive(Debug)]
struct Link {
    channel: Channel,
    session: Option<SessionId>,
    will: Option<Item>,
    /// Seconds for which the will waits for the client to come back.
    will_delay: u32,
    /// Seconds; 0 without limit.
    keep_alive: u16,
    /// When the last packet came.
    heard: Time,
    /// Whether the client is a bridge of MQTT 3.1.1.
    bridge: bool,
    /// Whether its transport takes nothing more now.
    full: bool,
    /// Whether it stands in the list of those that have output.
    ready: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Timer {
    KeepAlive(u32),
    Expiry(SessionId),
    Will(SessionId),
}

/// A broker.
#[derive(Default, Debug)]
pub struct Broker {
    config: BrokerConfig,
    links: Vec<Option<Link>>,
    free: Vec<u32>,
    sessions: Sessions,
    retained: Retained,
    timers: BTreeSet<(Time, Timer)>,
    /// Connections that have output.
    ready: VecDeque<u32>,
    events: VecDeque<Event>,
    /// Messages for bridges.
    bridged: VecDeque<(LocalId, Item)>,
    /// How many client identifiers it has given.
    given: u64,
    /// When it was called last.
    now: Time,
}

impl Broker {
    /// A broker without clients.
    pub fn new(config: BrokerConfig) -> Broker {
        Broker { config, ..Broker::default() }
    }

    /// A client's session from earlier, with its subscriptions. It has no end.
    pub fn add_session(&mut self, client_id: &str, subscriptions: &[Subscription]) {
        let id = self.sessions.create(&client_id.into(), self.config.window, self.config.queue);
        if let Some(session) = self.sessions.get_mut(id) {
            session.expiry = u32::MAX;
        }
        for subscription in subscriptions {
            self.sessions.subscribe(id, subscription.clone());
        }
    }

    /// Its configuration.
    pub fn config(&self) -> &BrokerConfig {
        &self.config
    }

    /// A session without a network connection, for a bridge. [`poll_local`](Self::poll_local) gives its messages.
    pub fn add_local(&mut self, subscriptions: &[Subscription]) -> LocalId {
        let id = self.sessions.create_bridge();
        for subscription in subscriptions {
            self.sessions.subscribe(id, subscription.clone());
        }
        LocalId(id)
    }

    /// A bridge publishes a message.
    pub fn publish_local(&mut self, local: LocalId, item: Item) {
        self.publish(item, Some(local.0));
    }

    /// The next message for a bridge.
    pub fn poll_local(&mut self) -> Option<(LocalId, Item)> {
        self.bridged.pop_front()
    }

    /// A client has opened a network connection, on which messages to it have these streams.
    pub fn accept(&mut self, streams: Streams, now: Time) -> Connection {
        let channel = Channel::broker(streams, self.config.largest, self.config.topic_alias_maximum);
        let link = Link {
            channel,
            session: None,
            will: None,
            will_delay: 0,
            keep_alive: 0,
            heard: now,
            bridge: false,
            full: false,
            ready: false,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.links[number as usize] = Some(link);
                number
            }
            None => {
                self.links.push(Some(link));
                self.links.len() as u32 - 1
            }
        };
        Connection(number)
    }

    fn link(&mut self, number: u32) -> Option<&mut Link> {
        self.links.get_mut(number as usize)?.as_mut()
    }

    /// Takes bytes that have arrived on a stream of a connection. If they break the protocol, the connection is closed.
    pub fn on_bytes(&mut self, connection: Connection, lane: Lane, bytes: &[u8], now: Time) {
        self.now = now;
        let number = connection.0;
        let Some(link) = self.link(number).filter(|link| !link.channel.is_closed()) else { return };
        link.channel.push(lane, bytes);
        loop {
            let Some(link) = self.link(number).filter(|link| !link.channel.is_closed()) else { return };
            let taken = match link.channel.next_packet() {
                Ok(None) => return,
                Ok(Some((lane, packet))) => {
                    link.heard = now;
                    self.on_packet(number, lane, packet, now)
                }
                Err(violation) => Err(violation),
            };
            if let Err(violation) = taken {
                return self.fail(number, violation, now);
            }
        }
    }

    /// The client has finished a stream.
    pub fn on_finished(&mut self, connection: Connection, lane: Lane) {
        if let Some(link) = self.link(connection.0) {
            link.channel.on_finished(lane);
            self.wants_to_send(connection.0);
        }
    }

    /// The network connection is gone: its will is published, unless it was closed before `[MQTT-3.1.2-8]`.
    pub fn on_lost(&mut self, connection: Connection, now: Time) {
        self.now = now;
        self.detach(connection.0, Farewell::Will, now);
        if let Some(link) = self.links.get_mut(connection.0 as usize)
            && link.take().is_some()
        {
            self.free.push(connection.0);
        }
    }

    /// The transport of a connection takes nothing more now: messages for it wait in the session's queue.
    pub fn on_full(&mut self, connection: Connection) {
        if let Some(link) = self.link(connection.0) {
            link.full = true;
        }
    }

    /// The transport of a connection takes more again.
    pub fn on_writable(&mut self, connection: Connection) {
        let Some(link) = self.link(connection.0) else { return };
        link.full = false;
        if let Some(session) = link.session {
            self.pump(session);
        }
    }

    /// Ends a connection because of what the client did `[MQTT-4.13.1-1]`.
    fn fail(&mut self, number: u32, violation: Violation, now: Time) {
        let Some(link) = self.link(number) else { return };
        let control = link.channel.control();
        let known = link.channel.version();
        let said = match (link.session.is_some(), known) {
            (true, Some(Version::V5)) => Some(Packet::Disconnect(violation.reason)),
            // [MQTT-3.1.2-2]: the version of the answer is that which every client reads.
            (false, None) if violation.reason == reason::UNSUPPORTED_VERSION => Some(Packet::Connack(Connack::new(1))),
            _ => None,
        };
        if let Some(packet) = said {
            // What cannot be said is left out.
            let _ = link.channel.send(control, &packet);
        }
        link.channel.close();
        self.wants_to_send(number);
        self.events.push_back(Event::Closed(Connection(number), violation));
        self.detach(number, Farewell::Will, now);
    }

    /// A connection's session goes on without it, or ends.
    fn detach(&mut self, number: u32, farewell: Farewell, now: Time) {
        let Some(link) = self.link(number) else { return };
        let (session, mut will) = (link.session.take(), link.will.take().filter(|_| farewell == Farewell::Will));
        let delay = link.will_delay;
        if let Some(id) = session
            && let Some(session) = self.sessions.held(id)
        {
            session.seat = Seat::Away;
            session.outbox.on_lost();
            match session.expiry {
                // [MQTT-3.1.2-23]; 3.1.1: [MQTT-3.1.2-6]
                0 => self.sessions.remove(id),
                expiry => {
                    // The will is published after its delay, or when the session ends [MQTT-3.1.2-8].
                    if delay > 0
                        && let Some(will) = will.take()
                    {
                        let at = now + Span::from_secs(u64::from(delay.min(expiry)));
                        session.will = Some((will, at));
                        self.timers.insert((at, Timer::Will(id)));
                    }
                    if expiry < u32::MAX {
                        let at = now + Span::from_secs(u64::from(expiry));
                        session.expires = Some(at);
                        self.timers.insert((at, Timer::Expiry(id)));
                    }
                }
            }
        }
        if let Some(will) = will {
            self.publish(Item { since: now, ..will }, session);
        }
    }

    /// Publishes the will of a session that has waited, and forgets it `[MQTT-3.1.2-10]`.
    fn publish_will(&mut self, id: SessionId, now: Time) {
        if let Some((will, _)) = self.sessions.get_mut(id).and_then(|session| session.will.take()) {
            self.publish(Item { since: now, ..will }, Some(id));
        }
    }

    /// Publishes a message of a session, or of nobody.
    fn publish(&mut self, item: Item, from: Option<SessionId>) {
        if item.message.retain {
            self.retained.keep(&item);
        }
        for to in self.sessions.recipients(&item.message, from) {
            let message = Message { qos: to.qos, retain: to.retain, ..item.message.clone() };
            let properties = item.properties.clone();
            self.deliver(to.session, Item { message, properties, subscription: to.identifier, since: item.since });
        }
    }

    /// Gives a session a message.
    fn deliver(&mut self, id: SessionId, item: Item) {
        let queues = self.config.queue_qos0;
        let Some(session) = self.sessions.held(id) else { return };
        let dropped = match session.seat {
            Seat::Bridge => return self.bridged.push_back((LocalId(id), item)),
            Seat::Away if item.message.qos == QoS::AtMostOnce && !queues => Some(item.message),
            Seat::Away | Seat::Link(_) => session.outbox.push(item),
        };
        if let Some(message) = dropped {
            self.events.push_back(Event::Dropped { client_id: session.client_id.clone(), message });
        }
        self.pump(id);
    }

    /// Sends a session's messages as far as they may be sent now.
    fn pump(&mut self, id: SessionId) {
        let Some(session) = self.sessions.held(id) else { return };
        let Seat::Link(number) = session.seat else { return };
        let Some(Some(link)) = self.links.get_mut(number as usize) else {
            debug_assert!(false, "a session's connection is there");
            return;
        };
        while !link.full
            && let Some(publish) = session.outbox.poll(self.now)
        {
            let id = publish.id;
            let unsent = link.channel.publish(publish);
            debug_assert!(unsent.is_ok(), "the broker has read the message before, so that it can be said");
            if let Ok(Some(message)) = unsent {
                session.outbox.abandon(id);
                self.events.push_back(Event::Dropped { client_id: session.client_id.clone(), message });
            }
        }
        for message in session.outbox.take_expired() {
            self.events.push_back(Event::Dropped { client_id: session.client_id.clone(), message });
        }
        self.wants_to_send(number);
    }

    fn wants_to_send(&mut self, number: u32) {
        if let Some(Some(link)) = self.links.get_mut(number as usize)
            && !std::mem::replace(&mut link.ready, true)
        {
            self.ready.push_back(number);
        }
    }

    /// The next action on a network connection.
    pub fn poll_output(&mut self) -> Option<(Connection, Output)> {
        while let Some(&number) = self.ready.front() {
            if let Some(link) = self.link(number) {
                if let Some(output) = link.channel.poll_output() {
                    return Some((Connection(number), output));
                }
                link.ready = false;
            }
            self.ready.pop_front();
        }
        None
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When it wants to be called, or [`Time::NEVER`].
    pub fn next_wake(&self) -> Time {
        self.timers.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Its time has come.
    pub fn on_wake(&mut self, now: Time) {
        self.now = now;
        while let Some((_, timer)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.pop_first();
            match timer {
                Timer::KeepAlive(number) => self.check_keep_alive(number, now),
                Timer::Will(id) => {
                    let due = |s: &session::Session| s.will.as_ref().is_some_and(|(_, at)| *at <= now);
                    if self.sessions.get(id).is_some_and(due) {
                        self.publish_will(id, now);
                    }
                }
                Timer::Expiry(id) => {
                    let over = |s: &session::Session| s.seat == Seat::Away && s.expires.is_some_and(|at| at <= now);
                    if self.sessions.get(id).is_some_and(over) {
                        self.publish_will(id, now);
                        self.sessions.remove(id);
                    }
                }
            }
        }
    }

    /// Closes a connection on which nothing came for one and a half times its keep-alive `[MQTT-3.1.2-22]`. A packet does
    /// not set the timer anew: it is looked at when it fires.
    fn check_keep_alive(&mut self, number: u32, now: Time) {
        let Some(link) = self.link(number).filter(|link| link.session.is_some() && link.keep_alive > 0) else { return };
        let due = link.heard + Span::from_millis(1500 * u64::from(link.keep_alive));
        if due <= now {
            return self.fail(number, Violation::new(reason::KEEP_ALIVE_TIMEOUT, "nothing came"), now);
        }
        self.timers.insert((due, Timer::KeepAlive(number)));
    }

    /// The broker, which writes its state to disk, stops and starts again: all connections are gone, without wills. Sessions
    /// that outlive connections and retained messages are there again. Those of bridges are in its configuration.
    pub fn restart(&mut self, now: Time) {
        for number in 0..self.links.len() as u32 {
            self.detach(number, Farewell::Silent, now);
        }
        (self.links, self.free, self.ready) = Default::default();
    }

    /// Messages that wait for a client, and those in flight to it.
    pub fn pending(&self, client_id: &str) -> Option<(usize, usize)> {
        let session = self.sessions.get(self.sessions.of_client(client_id)?)?;
        Some((session.outbox.waiting(), session.outbox.in_flight()))
    }

    /// The number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.ids().len()
    }
}

/// Whether a connection ends with its will.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Farewell {
    Will,
    Silent,
}
