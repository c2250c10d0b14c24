//! A network connection as client and broker use it: streams, topic aliases, and bytes that wait to be sent.
//!
//! MQTT is defined for one ordered stream. Over QUIC, a connection may have several: the first one, which the client opens
//! and which carries CONNECT, is the control stream; further ones carry PUBLISH packets and what acknowledges them. Brokers
//! that do this (EMQX: "MQTT over QUIC multi-streams") leave it to the client to open streams; here either end opens those
//! for the messages that it sends.

use crate::codec::{self, Decoder};
use crate::lean::{insert_lean, push_lean};
use crate::packet::{Message, Packet, Publish, QoS, Step, Version, Violation, reason};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Which stream carries a message.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Streams {
    /// The control stream carries all.
    #[default]
    One,
    /// Each topic has a stream.
    Topic,
    /// Each beginning of topics has a stream: so many of their levels.
    Levels(u8),
    /// Each message has a stream.
    Message,
}

/// Whether a stream goes on after what is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    Finish,
}

/// A stream of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Lane {
    /// Whether this end has opened it.
    pub ours: bool,
    /// Its number among those that the same end has opened.
    pub number: u32,
}

/// An action on the network connection, for the driver to carry out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// These bytes are to be sent.
    Bytes {
        /// On this stream, which is opened if it is new.
        lane: Lane,
        /// The bytes.
        bytes: Vec<u8>,
        /// Whether they are the stream's last ones.
        finish: bool,
    },
    /// The connection is to be closed once everything was sent.
    Close,
}

/// One end of a network connection.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    control: Lane,
    streams: Streams,
    version: Option<Version>,
    largest: usize,
    /// Few at a time: a list takes less memory than a map, of which there would be one for each connection.
    decoders: Vec<(Lane, Decoder)>,
    lanes: BTreeMap<Arc<str>, u32>,
    next_lane: u32,
    /// Own streams beside the control stream that were used and that the peer has not finished.
    open: BTreeSet<u32>,
    /// Aliases that the peer has given, in their order, and how many it may give. A list takes less memory here too.
    heard: Vec<(u16, Arc<str>)>,
    heard_maximum: u16,
    /// Aliases that this end has given, in the order of their topics, and how many it may give.
    given: Vec<(Arc<str>, u16)>,
    given_maximum: u16,
    /// The largest packet that the peer takes, bytes.
    peer_largest: usize,
    output: VecDeque<Output>,
    closed: bool,
}

impl Channel {
    /// The client's end. It accepts so many topic aliases, and packets of at most `largest` bytes, if that is limited.
    pub fn client(version: Version, streams: Streams, largest: Option<u32>, aliases: u16) -> Channel {
        let largest = largest.map_or(codec::LARGEST, |bytes| bytes as usize);
        Channel::new(Lane { ours: true, number: 0 }, Some(version), streams, largest, aliases)
    }

    /// The broker's end. It accepts so many topic aliases, and packets of at most `largest` bytes.
    pub fn broker(streams: Streams, largest: usize, aliases: u16) -> Channel {
        Channel::new(Lane { ours: false, number: 0 }, None, streams, largest, aliases)
    }

    fn new(control: Lane, version: Option<Version>, streams: Streams, largest: usize, heard_maximum: u16) -> Channel {
        let (decoders, lanes, open, heard, given, output) = Default::default();
        let next_lane = u32::from(control.ours);
        let (given_maximum, closed) = (0, false);
        Channel {
            control,
            streams,
            version,
            largest,
            decoders,
            lanes,
            next_lane,
            open,
            heard,
            heard_maximum,
            given,
            given_maximum,
            peer_largest: usize::MAX,
            output,
            closed,
        }
    }

    /// The control stream.
    pub fn control(&self) -> Lane {
        self.control
    }

    /// The version, once it is known.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// Whether the connection was closed from this end.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The peer takes so many topic aliases.
    pub fn set_given_maximum(&mut self, maximum: u16) {
        self.given_maximum = maximum;
    }

    /// The peer takes packets of at most so many bytes, if that is limited.
    pub fn set_peer_largest(&mut self, bytes: Option<u32>) {
        self.peer_largest = bytes.map_or(usize::MAX, |bytes| bytes as usize);
    }

    /// Takes bytes that have arrived.
    pub fn push(&mut self, lane: Lane, bytes: &[u8]) {
        let (version, largest) = (self.version, self.largest);
        let at = self.decoders.iter().position(|(other, _)| *other == lane).unwrap_or_else(|| {
            self.decoders.reserve_exact(1);
            self.decoders.push((lane, Decoder::new(version, largest)));
            self.decoders.len() - 1
        });
        self.decoders[at].1.push(bytes);
    }

    /// The next packet that is complete, and its stream. Streams wait for the CONNECT on the control stream.
    pub fn next_packet(&mut self) -> Result<Option<(Lane, Packet)>, Violation> {
        if self.version.is_none() {
            let control = self.control;
            let Some((_, decoder)) = self.decoders.iter_mut().find(|(lane, _)| *lane == control) else {
                return Ok(None);
            };
            let packet = decoder.next_packet()?;
            self.version = decoder.version();
            return Ok(packet.map(|packet| (self.control, packet)));
        }
        for (lane, decoder) in self.decoders.iter_mut().filter(|(_, decoder)| decoder.waiting() > 0) {
            if let Some(version) = self.version {
                decoder.set_version(version);
            }
            if let Some(packet) = decoder.next_packet()? {
                return Ok(Some((*lane, packet)));
            }
        }
        Ok(None)
    }

    /// The peer has sent all of a stream. This end finishes it too.
    pub fn on_finished(&mut self, lane: Lane) {
        self.decoders.retain(|(other, decoder)| *other != lane || decoder.waiting() > 0);
        if lane.ours {
            self.open.remove(&lane.number);
        }
        if !lane.ours && lane != self.control {
            self.write(lane, Vec::new(), Then::Finish);
        }
    }

    /// The stream of a topic, or of the beginning of topics.
    fn lane_of(&mut self, key: Arc<str>) -> Lane {
        let next = &mut self.next_lane;
        let new = || {
            *next += 1;
            *next - 1
        };
        Lane { ours: true, number: *self.lanes.entry(key).or_insert_with(new) }
    }

    /// Finishes the streams of topics: the peer finishes them once it has read them. Streams of messages finish by themselves.
    pub fn finish_streams(&mut self) {
        for number in std::mem::take(&mut self.lanes).into_values() {
            self.write(Lane { ours: true, number }, Vec::new(), Then::Finish);
        }
    }

    /// Whether the peer has read all of every own stream but the control stream.
    pub fn is_all_read(&self) -> bool {
        self.open.is_empty()
    }

    /// Gives a message its topic, if an alias stands for it.
    pub fn resolve(&mut self, publish: &mut Publish) -> Result<(), Violation> {
        let Some(alias) = publish.alias else { return Ok(()) };
        if alias == 0 || alias > self.heard_maximum {
            // [MQTT-3.3.2-8], [MQTT-3.3.2-9], [MQTT-3.3.2-11]
            let what = format!("topic alias {alias}: there may be {}", self.heard_maximum);
            return Err(Violation::new(reason::TOPIC_ALIAS_INVALID, what));
        }
        if publish.message.topic.is_empty() {
            let known = self.heard.binary_search_by_key(&alias, |(alias, _)| *alias).ok();
            let known = known.map(|at| self.heard[at].1.clone());
            publish.message.topic = known.ok_or_else(|| Violation::protocol(format!("unknown topic alias {alias}")))?;
        } else {
            let topic = publish.message.topic.clone();
            match self.heard.binary_search_by_key(&alias, |(alias, _)| *alias) {
                Ok(at) => self.heard[at].1 = topic,
                Err(at) => insert_lean(&mut self.heard, at, (alias, topic)),
            }
        }
        publish.alias = None;
        Ok(())
    }

    /// Sends a packet on a stream.
    ///
    /// # Errors
    /// If it cannot be expressed, or is larger than the peer takes.
    pub fn send(&mut self, lane: Lane, packet: &Packet) -> Result<(), Violation> {
        match self.try_send(lane, packet)? {
            true => Ok(()),
            // [MQTT-3.1.2-24], [MQTT-3.2.2-15]
            false => Err(Violation::new(reason::PACKET_TOO_LARGE, "a packet larger than the peer takes")),
        }
    }

    /// Sends a packet, unless it is larger than the peer takes. Returns whether it was sent.
    fn try_send(&mut self, lane: Lane, packet: &Packet) -> Result<bool, Violation> {
        let mut bytes = Vec::new();
        // Who speaks another version at least knows the older one.
        codec::encode(self.version.unwrap_or(Version::V311), packet, &mut bytes)?;
        if bytes.len() > self.peer_largest {
            return Ok(false);
        }
        let last = match packet {
            Packet::Publish(publish) => publish.message.qos != QoS::ExactlyOnce,
            Packet::Ack(Step::Pubrel, ..) => true,
            _ => false,
        };
        let last = last && self.streams == Streams::Message && lane.ours && lane != self.control;
        self.write(lane, bytes, if last { Then::Finish } else { Then::GoOn });
        Ok(true)
    }

    /// Sends a message on the stream that is its own, with a topic alias if the peer takes another. Returns the message if it is
    /// larger than the peer takes.
    pub fn publish(&mut self, mut publish: Publish) -> Result<Option<Message>, Violation> {
        let name = publish.message.topic.clone();
        let mut new_alias = false;
        let lane = match self.streams {
            Streams::One => self.control,
            Streams::Topic => self.lane_of(publish.message.topic.clone()),
            Streams::Levels(levels) => {
                let topic = &publish.message.topic;
                let ends = topic.match_indices('/').nth(usize::from(levels.max(1)) - 1).map(|(at, _)| at);
                let key = ends.map_or_else(|| topic.clone(), |at| topic[..at].into());
                self.lane_of(key)
            }
            Streams::Message => {
                self.next_lane += 1;
                Lane { ours: true, number: self.next_lane - 1 }
            }
        };
        // Between streams there is no order, so that an alias could come before the packet that gives it.
        if self.version == Some(Version::V5) && self.streams != Streams::Message {
            let topic = &publish.message.topic;
            match self.given.binary_search_by(|(known, _)| known.cmp(topic)) {
                Ok(at) => {
                    publish.alias = Some(self.given[at].1);
                    publish.message.topic = "".into();
                }
                Err(at) if self.given.len() < usize::from(self.given_maximum) => {
                    let alias = self.given.len() as u16 + 1;
                    publish.alias = Some(alias);
                    insert_lean(&mut self.given, at, (topic.clone(), alias));
                    new_alias = true;
                }
                Err(_) => {}
            }
        }
        let packet = Packet::Publish(publish);
        if self.try_send(lane, &packet)? {
            if lane != self.control {
                self.open.insert(lane.number);
            }
            return Ok(None);
        }
        if new_alias {
            self.given.retain(|(known, _)| *known != name);
        }
        let Packet::Publish(publish) = packet else { return Ok(None) };
        Ok(Some(Message { topic: name, ..publish.message }))
    }

    fn write(&mut self, on: Lane, more: Vec<u8>, then: Then) {
        let last = then == Then::Finish;
        if self.closed {
            return;
        }
        if let Some(Output::Bytes { lane, bytes, finish }) = self.output.back_mut()
            && *lane == on
            && !*finish
        {
            bytes.extend_from_slice(&more);
            *finish = last;
            return;
        }
        push_lean(&mut self.output, Output::Bytes { lane: on, bytes: more, finish: last });
    }

    /// Closes the connection after what was sent.
    pub fn close(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            push_lean(&mut self.output, Output::Close);
        }
    }

    /// The next action for the driver.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.output.pop_front()
    }
}
