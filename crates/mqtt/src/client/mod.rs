//! A client: publisher, subscriber, or both.

mod authentication;
mod config;

pub use config::{Batch, ClientConfig, Event};

use crate::channel::{Channel, Lane, Output};
use crate::delivery::{Acked, Inbox, Item, Outbox};
use crate::lean::push_lean;
use crate::packet::{
    Connack, Connect, Message, Packet, PacketId, Properties, Publish, QoS, Step, Subscription, Version, Violation,
    reason,
};
use crate::topic;
use haltere_net::{Span, Time};
use mqtt_proto::TopicName;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How long a client waits for CONNACK, which is to be "a reasonable amount of time" (MQTT 5, section 3.2): the default of
/// the Java client of Eclipse Paho (`connectionTimeout`).
const CONNACK_WAIT: Span = Span::from_secs(30);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Offline,
    Connecting,
    Online,
}

/// A request that waits for its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Asked {
    Subscribe,
    Unsubscribe,
}

/// A client.
#[derive(Clone, Debug)]
pub struct Client {
    /// Clients may share it: there may be many.
    config: Arc<ClientConfig>,
    client_id: Arc<str>,
    state: State,
    channel: Channel,
    outbox: Outbox,
    inbox: Inbox,
    asked: BTreeMap<PacketId, Asked>,
    events: VecDeque<Event>,
    /// When a packet was sent last.
    sent: Time,
    /// When bytes came last.
    heard: Time,
    /// When PINGREQ was sent, if its answer is still to come.
    pinged: Option<Time>,
    /// When the first message of a batch came.
    batch_since: Option<Time>,
    /// Whether it ends the connection once the broker has read all of its streams.
    leaving: bool,
    /// The keep-alive time of the present connection, s.
    keep_alive: u16,
    /// The highest QoS that the broker has, and whether it retains messages.
    takes: (QoS, bool),
}

impl Client {
    /// A client without a connection.
    pub fn new(config: ClientConfig) -> Client {
        let client_id = config.client_id.clone();
        Client::like(&Arc::new(config), client_id)
    }

    /// One of several clients that behave alike, with an identifier of its own in the place of the configuration's.
    pub fn like(config: &Arc<ClientConfig>, client_id: Arc<str>) -> Client {
        Client {
            state: State::Offline,
            channel: Channel::client(config.version, config.streams, config.maximum_packet, config.topic_alias_maximum),
            outbox: Outbox::new(config.window, config.queue),
            inbox: Inbox::default(),
            asked: BTreeMap::new(),
            events: VecDeque::new(),
            sent: Time::ZERO,
            heard: Time::ZERO,
            pinged: None,
            batch_since: None,
            leaving: false,
            config: config.clone(),
            client_id,
            keep_alive: config.keep_alive,
            takes: (QoS::ExactlyOnce, true),
        }
    }

    /// A network connection is there: the client sends CONNECT.
    ///
    /// # Errors
    /// If the configuration cannot be expressed.
    pub fn open(&mut self, now: Time) -> Result<(), Violation> {
        self.lost();
        let config = &self.config;
        self.channel =
            Channel::client(config.version, config.streams, config.maximum_packet, config.topic_alias_maximum);
        (self.keep_alive, self.takes) = (config.keep_alive, (QoS::ExactlyOnce, true));
        if self.config.clean {
            self.forget();
        }
        (self.state, self.heard) = (State::Connecting, now);
        let config = &self.config;
        let connect = Connect {
            version: config.version,
            client_id: self.client_id.clone(),
            clean: config.clean,
            session_expiry: config.session_expiry,
            keep_alive: config.keep_alive,
            receive_maximum: config.receive_maximum,
            topic_alias_maximum: config.topic_alias_maximum,
            will: config.will.clone(),
            bridge: config.bridge,
            will_delay: config.will_delay,
            will_properties: config.will_properties.clone(),
            maximum_packet: config.maximum_packet,
            authentication: config.authentication.clone(),
        };
        self.send_control(&Packet::Connect(Box::new(connect)), now)?;
        if self.config.eager {
            self.flush(now)?;
        }
        Ok(())
    }

    /// The network connection is gone.
    pub fn lost(&mut self) {
        self.state = State::Offline;
        self.outbox.on_lost();
        for id in std::mem::take(&mut self.asked).into_keys() {
            self.outbox.free_id(id);
        }
        (self.pinged, self.leaving) = (None, false);
    }

    /// The session is gone.
    fn forget(&mut self) {
        self.inbox.clear();
        self.events.extend(self.outbox.forget().into_iter().map(Event::Dropped));
    }

    /// Publishes a message: now, or once there is a connection and its turn has come.
    ///
    /// # Errors
    /// If its topic name is not allowed.
    pub fn publish(&mut self, message: Message, now: Time) -> Result<(), Violation> {
        self.publish_with(message, Properties::default(), now)
    }

    /// Publishes a message with properties. MQTT 3.1.1 leaves them out.
    ///
    /// # Errors
    /// If its topic name or its response topic is not allowed, or if it has a subscription identifier.
    pub fn publish_with(&mut self, message: Message, properties: Properties, now: Time) -> Result<(), Violation> {
        // [MQTT-3.3.2-14]
        if let Some(topic) = properties.response_topic.as_deref().filter(|topic| TopicName::is_invalid(topic)) {
            let what = format!("response topic {topic:?}: give one without wildcards");
            return Err(Violation::new(reason::TOPIC_NAME_INVALID, what));
        }
        // [MQTT-3.3.4-6]
        if properties.subscription.is_some() {
            return Err(Violation::protocol("a client's message with a subscription identifier: leave it out"));
        }
        // [MQTT-3.3.2-2], [MQTT-4.7.3-1]
        if message.topic.is_empty() || TopicName::is_invalid(&message.topic) {
            let what = format!("topic name {:?}: give one without wildcards, of 1 to 65535 bytes", message.topic);
            return Err(Violation::new(reason::TOPIC_NAME_INVALID, what));
        }
        let item = Item { properties: properties.some(), ..Item::new(message, now) };
        self.events.extend(self.outbox.push(item).map(Event::Dropped));
        self.batch_since.get_or_insert(now);
        self.flush(now)
    }

    /// Asks for the messages of topics. Only with a connection.
    ///
    /// # Errors
    /// If there is no connection, or a filter is not allowed.
    pub fn subscribe(&mut self, filters: &[Subscription], now: Time) -> Result<(), Violation> {
        if let Some(wrong) = filters.iter().find(|s| !topic::is_filter(&s.filter)) {
            let what = format!("topic filter {:?} is not allowed", wrong.filter);
            return Err(Violation::new(reason::TOPIC_FILTER_INVALID, what));
        }
        let id = self.ask(Asked::Subscribe)?;
        self.send_control(&Packet::Subscribe(id, filters.to_vec()), now)
    }

    /// Ends subscriptions. Only with a connection.
    ///
    /// # Errors
    /// If there is no connection.
    pub fn unsubscribe(&mut self, filters: &[Arc<str>], now: Time) -> Result<(), Violation> {
        let id = self.ask(Asked::Unsubscribe)?;
        self.send_control(&Packet::Unsubscribe(id, filters.to_vec()), now)
    }

    fn ask(&mut self, what: Asked) -> Result<PacketId, Violation> {
        if self.state != State::Online {
            return Err(Violation::protocol("there is no connection"));
        }
        let id = self.outbox.take_id().ok_or_else(|| Violation::protocol("no packet identifier is free"))?;
        self.asked.insert(id, what);
        Ok(id)
    }

    /// Ends the connection in order: the broker does not publish the will `[MQTT-3.14.4-3]`.
    ///
    /// # Errors
    /// None in practice: DISCONNECT can be expressed.
    pub fn disconnect(&mut self, now: Time) -> Result<(), Violation> {
        if self.state != State::Offline {
            self.send_control(&Packet::Disconnect(reason::SUCCESS), now)?;
            self.channel.close();
            self.lost();
        }
        Ok(())
    }

    /// Ends the connection in order once the broker has read all streams: nothing else orders DISCONNECT behind the messages on
    /// others. Messages that come meanwhile wait for the next connection.
    ///
    /// # Errors
    /// None in practice: DISCONNECT can be expressed.
    pub fn leave(&mut self, now: Time) -> Result<(), Violation> {
        if self.state == State::Online && !std::mem::replace(&mut self.leaving, true) {
            self.channel.finish_streams();
        }
        if self.channel.is_all_read() { self.disconnect(now) } else { Ok(()) }
    }

    /// Takes bytes that have arrived on a stream. If they break the protocol, the connection is closed and
    /// [`Event::Closed`] says why.
    pub fn on_bytes(&mut self, lane: Lane, bytes: &[u8], now: Time) {
        if self.channel.is_closed() {
            return;
        }
        self.heard = now;
        self.channel.push(lane, bytes);
        loop {
            let taken = match self.channel.next_packet() {
                Ok(None) => return,
                Ok(Some((lane, packet))) => self.on_packet(lane, packet, now),
                Err(violation) => Err(violation),
            };
            if let Err(violation) = taken {
                return self.fail(violation, now);
            }
            if self.channel.is_closed() {
                return;
            }
        }
    }

    /// The peer has finished a stream.
    pub fn on_finished(&mut self, lane: Lane) {
        self.channel.on_finished(lane);
        if self.leaving && self.channel.is_all_read() {
            // DISCONNECT can be expressed.
            let _ = self.disconnect(self.sent.max(self.heard));
        }
    }

    /// Ends the connection because of what the broker did `[MQTT-4.13.1-1]`.
    fn fail(&mut self, violation: Violation, now: Time) {
        if self.config.version == Version::V5 && self.state == State::Online {
            // What cannot be said is left out.
            let _ = self.send_control(&Packet::Disconnect(violation.reason), now);
        }
        self.channel.close();
        self.lost();
        push_lean(&mut self.events, Event::Closed(violation));
    }

    fn on_packet(&mut self, lane: Lane, packet: Packet, now: Time) -> Result<(), Violation> {
        if let Packet::Connack(connack) = packet {
            return self.on_connack(connack, now);
        }
        if let Packet::Auth(code, said) = packet {
            return self.on_auth(code, *said);
        }
        if self.state != State::Online {
            // [MQTT-3.2.0-1]
            return Err(Violation::protocol("the broker's first packet is not CONNACK"));
        }
        let version = self.config.version;
        match packet {
            Packet::Publish(mut publish) => {
                self.channel.resolve(&mut publish)?;
                let maximum = match version {
                    Version::V5 => self.config.receive_maximum,
                    Version::V311 => u16::MAX,
                };
                let taken = self.inbox.on_publish(&publish, maximum)?;
                if taken.new {
                    if let Some(properties) = publish.properties {
                        push_lean(&mut self.events, Event::Properties(properties));
                    }
                    push_lean(&mut self.events, Event::Message(publish.message));
                }
                self.reply(lane, taken.reply, now)
            }
            Packet::Ack(Step::Pubrel, id, _) => {
                let reply = self.inbox.on_release(version, id);
                self.reply(lane, Some(reply), now)
            }
            Packet::Ack(step, id, code) => {
                match self.outbox.on_ack(version, step, id, code) {
                    Acked::Complete => push_lean(&mut self.events, Event::Delivered(id)),
                    Acked::Reply(packet) => self.reply(lane, Some(packet), now)?,
                    Acked::Unknown => {}
                }
                self.flush(now)
            }
            Packet::Suback(id, codes) => self.on_answer(id, Asked::Subscribe, Event::Subscribed(codes)),
            Packet::Unsuback(id, _) => self.on_answer(id, Asked::Unsubscribe, Event::Unsubscribed),
            Packet::Pingresp => {
                self.pinged = None;
                Ok(())
            }
            Packet::Disconnect(reason) if version == Version::V5 => {
                self.channel.close();
                self.lost();
                push_lean(
                    &mut self.events,
                    Event::Closed(Violation::new(reason, "the broker has ended the connection")),
                );
                Ok(())
            }
            _ => Err(Violation::protocol("a packet that a broker does not send")),
        }
    }

    fn on_connack(&mut self, connack: Connack, now: Time) -> Result<(), Violation> {
        if self.state != State::Connecting {
            return Err(Violation::protocol("a second CONNACK"));
        }
        if connack.code != 0 {
            self.channel.close();
            self.lost();
            push_lean(&mut self.events, Event::Refused(connack.code));
            return Ok(());
        }
        if connack.session_present && self.config.clean {
            // [MQTT-3.2.2-4]
            return Err(Violation::protocol("CONNACK with a session after Clean Start"));
        }
        self.check_method(connack.authentication.as_ref())?;
        self.state = State::Online;
        self.outbox.set_window(self.config.window.min(connack.receive_maximum));
        self.channel.set_given_maximum(connack.topic_alias_maximum);
        self.channel.set_peer_largest(connack.maximum_packet);
        // [MQTT-3.1.2-21], [MQTT-3.2.2-21]
        self.keep_alive = connack.keep_alive.unwrap_or(self.config.keep_alive);
        self.takes = (connack.maximum_qos, connack.retains);
        if let Some(id) = connack.assigned_client_id {
            self.client_id = id;
        }
        if !connack.session_present {
            // [MQTT-3.2.2-5]
            self.forget();
        }
        push_lean(&mut self.events, Event::Connected { session_present: connack.session_present });
        for packet in self.outbox.resume(now) {
            match packet {
                Packet::Publish(publish) => self.send_message(publish)?,
                other => self.send_control(&other, now)?,
            }
        }
        self.flush(now)
    }

    fn on_answer(&mut self, id: PacketId, to: Asked, event: Event) -> Result<(), Violation> {
        if self.asked.remove(&id) != Some(to) {
            return Err(Violation::protocol(format!("an answer to packet {id}, which asked nothing")));
        }
        self.outbox.free_id(id);
        push_lean(&mut self.events, event);
        Ok(())
    }

    fn reply(&mut self, lane: Lane, packet: Option<Packet>, now: Time) -> Result<(), Violation> {
        let Some(packet) = packet else { return Ok(()) };
        self.sent = now;
        self.channel.send(lane, &packet)
    }

    fn send_control(&mut self, packet: &Packet, now: Time) -> Result<(), Violation> {
        self.sent = now;
        self.channel.send(self.channel.control(), packet)
    }

    /// Whether messages wait for others that are to be sent with them.
    fn is_gathering(&self, now: Time) -> bool {
        match (self.config.batch, self.batch_since) {
            (Some(batch), Some(since)) => self.outbox.waiting() < batch.messages && now < since + batch.delay,
            _ => false,
        }
    }

    /// Sends the messages that may be sent now.
    fn flush(&mut self, now: Time) -> Result<(), Violation> {
        // [MQTT-3.1.2-30]
        let early = self.state == State::Connecting && self.config.eager && self.config.authentication.is_none();
        if self.state != State::Online && !early || self.leaving || self.is_gathering(now) {
            return Ok(());
        }
        self.batch_since = None;
        while let Some(publish) = self.outbox.poll(now) {
            self.sent = now;
            self.send_message(publish)?;
        }
        self.events.extend(self.outbox.take_expired().into_iter().map(Event::Dropped));
        Ok(())
    }

    /// Sends a message, unless the broker does not take it `[MQTT-3.2.2-11]`, `[MQTT-3.2.2-14]`, `[MQTT-3.2.2-15]`.
    fn send_message(&mut self, publish: Publish) -> Result<(), Violation> {
        let (id, (most, retains)) = (publish.id, self.takes);
        let refused = match publish.message.qos > most || publish.message.retain && !retains {
            true => Some(publish.message),
            false => self.channel.publish(publish)?,
        };
        if let Some(message) = refused {
            self.outbox.abandon(id);
            self.events.push_back(Event::Dropped(message));
        }
        Ok(())
    }

    /// The next action on the network connection.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.channel.poll_output()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Since when it has sent nothing, or heard nothing, or waits for PINGRESP. A client that publishes and hears nothing
    /// asks too, as the libraries of Eclipse Paho and mosquitto do: else it would not notice that its connection is dead.
    fn quiet_since(&self) -> Time {
        self.pinged.unwrap_or(self.sent.min(self.heard))
    }

    /// When it wants to be called, or [`Time::NEVER`].
    pub fn next_wake(&self) -> Time {
        match self.state {
            State::Offline => return Time::NEVER,
            State::Connecting => return self.heard + CONNACK_WAIT,
            State::Online => {}
        }
        let batch = match (self.config.batch, self.batch_since) {
            (Some(batch), Some(since)) => since + batch.delay,
            _ => Time::NEVER,
        };
        let span = Span::from_secs(u64::from(self.keep_alive));
        let ping = if span.is_zero() { Time::NEVER } else { self.quiet_since() + span };
        batch.min(ping)
    }

    /// Its time has come.
    pub fn on_wake(&mut self, now: Time) {
        if self.state == State::Connecting && now >= self.heard + CONNACK_WAIT {
            return self.fail(Violation::protocol("no CONNACK came"), now);
        }
        if self.state != State::Online {
            return;
        }
        if let Err(violation) = self.flush(now) {
            return self.fail(violation, now);
        }
        let span = Span::from_secs(u64::from(self.keep_alive));
        if span.is_zero() || now < self.quiet_since() + span {
            return;
        }
        if self.pinged.is_some() {
            // Section 3.1.2.10: without PINGRESP in a reasonable time the client closes the connection.
            return self.fail(Violation::new(reason::KEEP_ALIVE_TIMEOUT, "no PINGRESP came"), now);
        }
        self.pinged = Some(now);
        // [MQTT-3.1.2-20]
        if let Err(violation) = self.send_control(&Packet::Pingreq, now) {
            self.fail(violation, now);
        }
    }

    /// Whether the broker has accepted the connection.
    pub fn is_online(&self) -> bool {
        self.state == State::Online
    }

    /// Messages that wait to be sent, and those of QoS 1 and 2 that wait to be acknowledged.
    pub fn pending(&self) -> usize {
        self.outbox.waiting() + self.outbox.in_flight()
    }

    /// Its configuration.
    pub fn config(&self) -> &ClientConfig {
        &self.config
    }
}
