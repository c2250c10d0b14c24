//! The broker's handling of each kind of packet.

use super::session::{self, Seat, SessionId};
use super::{Broker, Farewell, Forward, Timer};
use crate::channel::Lane;
use crate::codec;
use crate::delivery::{Acked, Item};
use crate::packet::{
    Connack, Connect, Message, Packet, PacketId, Publish, QoS, Step, Subscription, Version, Violation, reason,
};
use haltere_net::{Span, Time};
use std::sync::Arc;

/// The most levels of a topic filter, as in mosquitto (`TOPIC_HIERARCHY_LIMIT`): subscriptions are kept in a tree of that depth.
const MOST_LEVELS: usize = 200;

impl Broker {
    pub(super) fn on_packet(&mut self, number: u32, lane: Lane, packet: Packet, now: Time) -> Result<(), Violation> {
        let Some(link) = self.link(number) else { return Ok(()) };
        let version = link.channel.version().unwrap_or_default();
        let Some(session) = link.session else {
            return match packet {
                Packet::Connect(connect) => self.on_connect(number, *connect, now),
                _ => Err(Violation::protocol("the first packet is not CONNECT")),
            };
        };
        match packet {
            // [MQTT-3.1.0-2]
            Packet::Connect(_) => Err(Violation::protocol("a second CONNECT")),
            Packet::Publish(publish) => self.on_publish((number, lane), session, publish, now),
            Packet::Ack(Step::Pubrel, id, _) => {
                let from = session;
                let Some(session) = self.sessions.held(from) else { return Ok(()) };
                let reply = session.inbox.on_release(version, id);
                let held = session.held.remove(&id);
                self.send(number, lane, &reply)?;
                if let Some(item) = held {
                    self.publish(item, Some(from));
                }
                Ok(())
            }
            Packet::Ack(step, id, code) => {
                let Some(state) = self.sessions.held(session) else { return Ok(()) };
                if let Acked::Reply(reply) = state.outbox.on_ack(version, step, id, code) {
                    self.send(number, lane, &reply)?;
                }
                self.pump(session);
                Ok(())
            }
            Packet::Subscribe(id, asked) => self.on_subscribe((number, lane), session, id, asked, now),
            Packet::Unsubscribe(id, filters) => self.on_unsubscribe(number, session, lane, id, &filters),
            // [MQTT-3.12.4-1]
            Packet::Pingreq => self.send(number, lane, &Packet::Pingresp),
            Packet::DisconnectFor(code, seconds) => {
                let Some(state) = self.sessions.held(session) else { return Ok(()) };
                if state.expiry == 0 && seconds > 0 {
                    // Section 3.14.2.2.2.
                    return Err(Violation::protocol("a session expiry in DISCONNECT after none in CONNECT"));
                }
                state.expiry = seconds;
                self.on_packet(number, lane, Packet::Disconnect(code), now)
            }
            Packet::Disconnect(code) => {
                let will = code == reason::DISCONNECT_WITH_WILL;
                if let Some(link) = self.link(number) {
                    link.channel.close();
                }
                self.wants_to_send(number);
                // [MQTT-3.14.4-3]
                self.detach(number, if will { Farewell::Will } else { Farewell::Silent }, now);
                Ok(())
            }
            _ => Err(Violation::protocol("a packet that a client does not send")),
        }
    }

    fn send(&mut self, number: u32, lane: Lane, packet: &Packet) -> Result<(), Violation> {
        if let Some(link) = self.link(number) {
            link.channel.send(lane, packet)?;
        }
        self.wants_to_send(number);
        Ok(())
    }

    /// Says that the client is refused, and closes the connection `[MQTT-3.2.2-7]`.
    fn refuse(&mut self, number: u32, code: u8) -> Result<(), Violation> {
        let Some(link) = self.link(number) else { return Ok(()) };
        let control = link.channel.control();
        link.channel.send(control, &Packet::Connack(Connack::new(code)))?;
        link.channel.close();
        self.wants_to_send(number);
        Ok(())
    }

    fn on_connect(&mut self, number: u32, mut connect: Connect, now: Time) -> Result<(), Violation> {
        let version = connect.version;
        let mut assigned = None;
        if connect.authentication.is_some() {
            // [MQTT-4.12.0-1]: it has no methods.
            return self.refuse(number, reason::BAD_AUTHENTICATION_METHOD);
        }
        if connect.client_id.is_empty() {
            if version == Version::V311 && !connect.clean {
                // 3.1.1: [MQTT-3.1.3-8]
                return self.refuse(number, 0x02);
            }
            // [MQTT-3.1.3-6], [MQTT-3.1.3-7]
            self.given += 1;
            connect.client_id = Arc::from(format!("auto-{}", self.given));
            assigned = (version == Version::V5).then(|| connect.client_id.clone());
        }
        let earlier = self.sessions.of_client(&connect.client_id);
        if let Some(Seat::Link(other)) = earlier.and_then(|id| self.sessions.get(id)).map(|session| session.seat) {
            self.take_over(other, now);
        }
        // It may have ended with its connection.
        let earlier = self.sessions.of_client(&connect.client_id);
        if let Some(id) = earlier.filter(|_| connect.clean) {
            // [MQTT-3.1.2-4]; a will that waits is published, as its session ends.
            self.publish_will(id, now);
            self.sessions.remove(id);
        }
        let kept = self.sessions.of_client(&connect.client_id);
        let (window, limit) = (self.config.window.min(connect.receive_maximum), self.config.queue);
        let id = kept.unwrap_or_else(|| self.sessions.create(&connect.client_id, window, limit));
        if let Some(session) = self.sessions.held(id) {
            (session.seat, session.expiry, session.expires) = (Seat::Link(number), connect.session_expiry, None);
            session.outbox.set_window(window);
            // [MQTT-3.1.3-9]
            session.will = None;
        }
        let (v5, config) = (version == Version::V5, &self.config);
        let keep_alive = config.keep_alive.filter(|_| v5);
        let connack = Connack {
            // [MQTT-3.2.2-2], [MQTT-3.2.2-3]
            session_present: kept.is_some(),
            receive_maximum: config.receive_maximum,
            topic_alias_maximum: config.topic_alias_maximum,
            assigned_client_id: assigned,
            keep_alive,
            maximum_packet: u32::try_from(config.largest).ok().filter(|_| v5 && config.largest != codec::LARGEST),
            ..Connack::new(reason::SUCCESS)
        };
        let keep_alive = keep_alive.unwrap_or(connect.keep_alive);
        if let Some(link) = self.link(number) {
            let properties = connect.will_properties;
            let will = connect.will.map(|message| Item { properties, ..Item::new(message, now) });
            (link.session, link.will, link.keep_alive) = (Some(id), will, keep_alive);
            link.will_delay = connect.will_delay;
            link.channel.set_peer_largest(connect.maximum_packet);
            link.bridge = connect.bridge;
            link.channel.set_given_maximum(connect.topic_alias_maximum);
            // [MQTT-3.2.0-1]
            link.channel.send(link.channel.control(), &Packet::Connack(connack))?;
        }
        self.wants_to_send(number);
        if keep_alive > 0 {
            let due = now + Span::from_millis(1500 * u64::from(keep_alive));
            self.timers.insert((due, Timer::KeepAlive(number)));
        }
        self.resume(number, id, now)
    }

    /// Another connection uses the client identifier: the earlier one is closed `[MQTT-3.1.4-3]`.
    fn take_over(&mut self, number: u32, now: Time) {
        if let Some(link) = self.link(number) {
            if link.channel.version() == Some(Version::V5) {
                // What cannot be said is left out.
                let _ = link.channel.send(link.channel.control(), &Packet::Disconnect(reason::SESSION_TAKEN_OVER));
            }
            link.channel.close();
        }
        self.wants_to_send(number);
        self.detach(number, Farewell::Will, now);
    }

    /// Sends again what was in flight when the last connection was lost, then what has waited.
    fn resume(&mut self, number: u32, id: SessionId, now: Time) -> Result<(), Violation> {
        let Some(session) = self.sessions.held(id) else { return Ok(()) };
        let Some(Some(link)) = self.links.get_mut(number as usize) else { return Ok(()) };
        for packet in session.outbox.resume(now) {
            match packet {
                Packet::Publish(publish) => {
                    let of = publish.id;
                    if link.channel.publish(publish)?.is_some() {
                        session.outbox.abandon(of);
                    }
                }
                other => link.channel.send(link.channel.control(), &other)?,
            }
        }
        self.pump(id);
        Ok(())
    }

    fn on_publish(
        &mut self,
        (number, lane): (u32, Lane),
        id: SessionId,
        mut publish: Publish,
        now: Time,
    ) -> Result<(), Violation> {
        // [MQTT-3.3.4-6]
        if publish.properties.as_ref().is_some_and(|said| said.subscription.is_some()) {
            return Err(Violation::protocol("a client's message with a subscription identifier"));
        }
        let Some(link) = self.link(number) else { return Ok(()) };
        link.channel.resolve(&mut publish)?;
        let maximum = match link.channel.version() {
            Some(Version::V5) => self.config.receive_maximum,
            _ => u16::MAX,
        };
        let Some(session) = self.sessions.held(id) else { return Ok(()) };
        let taken = session.inbox.on_publish(&publish, maximum)?;
        let waits = publish.message.qos == QoS::ExactlyOnce && self.config.forward == Forward::Release;
        let item = Item { properties: publish.properties, ..Item::new(publish.message, now) };
        if let Some(packet) = publish.id.filter(|_| waits) {
            if taken.new {
                session.held.insert(packet, item);
            }
            return taken.reply.map_or(Ok(()), |reply| self.send(number, lane, &reply));
        }
        if let Some(reply) = &taken.reply {
            self.send(number, lane, reply)?;
        }
        if taken.new {
            self.publish(item, Some(id));
        }
        Ok(())
    }

    fn on_subscribe(
        &mut self,
        (number, lane): (u32, Lane),
        id: SessionId,
        packet: PacketId,
        asked: Vec<Subscription>,
        now: Time,
    ) -> Result<(), Violation> {
        let Some(link) = self.link(number) else { return Ok(()) };
        let (v5, bridge) = (link.channel.version() == Some(Version::V5), link.bridge);
        let mut codes = Vec::with_capacity(asked.len());
        let mut retained: Vec<Item> = Vec::new();
        for mut subscription in asked {
            subscription.no_local |= bridge;
            subscription.retain_as_published |= bridge;
            let shared = session::shared(&subscription.filter).is_some();
            if shared && subscription.no_local && !bridge {
                // [MQTT-3.8.3-4]
                return Err(Violation::protocol("No Local on a shared subscription"));
            }
            if shared && !v5 {
                // MQTT 3.1.1 has none.
                codes.push(0x80);
                continue;
            }
            if subscription.filter.split('/').nth(MOST_LEVELS).is_some() {
                codes.push(if v5 { reason::TOPIC_FILTER_INVALID } else { 0x80 });
                continue;
            }
            codes.push(subscription.qos as u8);
            let (filter, most) = (subscription.filter.clone(), subscription.qos);
            let (handling, identifier) = (subscription.retain_handling, subscription.identifier);
            let new = self.sessions.subscribe(id, subscription);
            // [MQTT-3.3.1-9], [MQTT-3.3.1-10], [MQTT-3.3.1-11]
            // Retained messages are not sent by shared subscriptions (section 4.8.2).
            if !shared && (handling == 0 || handling == 1 && new) {
                let matching = self.retained.matching(&filter, now);
                retained.extend(matching.map(|item| {
                    let message = Message { qos: item.message.qos.min(most), retain: true, ..item.message.clone() };
                    Item { message, subscription: identifier, ..item.clone() }
                }));
            }
        }
        // [MQTT-3.8.4-1], [MQTT-3.8.4-2], [MQTT-3.8.4-6]
        self.send(number, lane, &Packet::Suback(packet, codes))?;
        for item in retained {
            self.deliver(id, item);
        }
        Ok(())
    }

    fn on_unsubscribe(
        &mut self,
        number: u32,
        id: SessionId,
        lane: Lane,
        packet: PacketId,
        filters: &[Arc<str>],
    ) -> Result<(), Violation> {
        let code = |there: bool| if there { reason::SUCCESS } else { reason::NO_SUBSCRIPTION_EXISTED };
        let codes = filters.iter().map(|filter| code(self.sessions.unsubscribe(id, filter))).collect();
        // [MQTT-3.10.4-4], [MQTT-3.10.4-5]
        self.send(number, lane, &Packet::Unsuback(packet, codes))
    }
}
