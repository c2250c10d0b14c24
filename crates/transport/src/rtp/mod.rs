//! RTP over UDP: the transport of a call (RFC 3550, 3711, 4585, 4588).
//!
//! One end sends frames and the other receives them. The sender cuts frames into packets, which leave at the pacing rate of a
//! [`control`]; the receiver puts them together, reports what came, and asks for what did not.
//!
//! | file | holds |
//! |---|---|
//! | `packet` | the packets and their lengths |
//! | `control/` | the congestion controls, one file an algorithm |
//! | `sender` | packets in the order of leaving, the pacer, repairs |
//! | `receiver` | frames of packets, reports, requests for repairs |
//!
//! The two ends have agreed on everything before the run: there is no signalling and no DTLS. The client opens the path with a check
//! of ICE, which the server answers (RFC 8445 section 7).

pub mod control;
mod packet;
mod receiver;
mod sender;

pub use packet::{Arrivals, Check, Form, IP_UDP, MEDIA, Media, Packet, Part, Report, Summarised};

use crate::media::{Frame, News};
use crate::{Body, CloseReason, Endpoint, Event, Role, Stats, StreamId};
use control::{Control, Range};
use haltere_net::{Cx, PathId, Rate, Span, Time};
use receiver::Receiver;
use sender::Sender;
use std::collections::VecDeque;

/// The longest packet, bytes with IP's header: what passes everywhere (libwebrtc: `kDefaultMaxPacketSize`, less by no path's MTU).
pub const MAX_PACKET: u32 = 1200;
/// The first time-out of a check, and how often it is sent (RFC 8489 section 6.2.1).
const RTO: Span = Span::from_millis(500);
const CHECKS: u32 = 7;
/// The last check is waited for this many times the first time-out (RFC 8489 section 6.2.1).
const LAST: u64 = 16;

/// The set-up of one end.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which end it is.
    pub role: Role,
    /// The congestion control.
    pub control: Control,
    /// The least and the largest rate of the encoder and the one that it begins with, of RTP payload.
    pub rates: [Rate; 3],
    /// Frames that the encoder writes in a second.
    pub frames: u32,
    /// The longest packet, bytes with IP's header.
    pub max_packet: u32,
    /// Whether the distribution of RTTs is kept.
    pub rtts: bool,
    /// Whether lost packets are asked for and sent again.
    pub repair: bool,
}

impl Config {
    /// The defaults of an end: the rates of RFC 8867 section 4.3.
    pub fn new(role: Role, control: Control) -> Config {
        Config {
            role,
            control,
            rates: [150_000, 1_500_000, 150_000].map(Rate::from_bps),
            frames: 30,
            max_packet: MAX_PACKET,
            rtts: false,
            repair: true,
        }
    }

    /// The largest payload of a packet, bytes.
    fn payload(&self) -> u32 {
        self.max_packet.saturating_sub(MEDIA).max(1)
    }

    /// The rates of whole packets that carry the encoder's.
    fn range(&self) -> Range {
        let [least, most, start] = self.rates.map(|rate| self.whole(rate.as_bps() as f64));
        Range { least, most, start }
    }

    /// The rate of whole packets that carry a rate of payload, bit/s.
    fn whole(&self, payload: f64) -> f64 {
        let frames = f64::from(self.frames.max(1));
        let parts = (payload / 8.0 / frames / f64::from(self.payload())).ceil().max(1.0);
        payload + 8.0 * frames * parts * f64::from(MEDIA)
    }

    /// The rate of payload in packets of a rate, bit/s.
    fn carried(&self, whole: f64) -> f64 {
        let frames = f64::from(self.frames.max(1));
        let parts = (whole / 8.0 / frames / f64::from(self.payload() + MEDIA)).ceil().max(1.0);
        (whole - 8.0 * frames * parts * f64::from(MEDIA)).max(0.0)
    }
}

/// The state of the path's check.
#[derive(Debug)]
enum Opening {
    /// It has not begun, or the peer has not.
    Idle,
    /// The request was sent so often, the first time at this time; the next is due.
    Checking { sent: u32, first: Time, due: Time },
    /// The path is open.
    Open,
    /// It was given up.
    Failed,
}

/// One end of a call.
pub struct Connection {
    config: Config,
    opening: Opening,
    /// Checks to be sent.
    checks: VecDeque<Check>,
    events: VecDeque<Event>,
    sender: Option<Sender>,
    receiver: Receiver,
    stats: Stats,
}

impl Connection {
    /// An end that has not begun.
    pub fn new(config: Config) -> Connection {
        let stats = Stats { rtts: config.rtts.then(Box::default), ..Stats::default() };
        let receiver = Receiver::new(&config);
        Connection {
            opening: Opening::Idle,
            checks: VecDeque::new(),
            events: VecDeque::new(),
            sender: None,
            receiver,
            stats,
            config,
        }
    }

    /// The path is open from now on.
    fn open_path(&mut self, now: Time) {
        if matches!(self.opening, Opening::Open) {
            return;
        }
        self.opening = Opening::Open;
        self.stats.connected_at = Some(now);
        self.events.push_back(Event::Connected);
        let sender = Sender::new(self.config.clone(), now);
        self.sender = Some(sender);
        self.tell_target();
    }

    /// Tells the application the rate, if it has changed.
    fn tell_target(&mut self) {
        let target = self.sender.as_mut().and_then(Sender::new_target);
        self.events.extend(target.map(|rate| Event::Media(News::TargetRate(rate))));
    }

    fn on_check(&mut self, check: Check, now: Time) {
        match check {
            Check::Request => {
                self.checks.push_back(Check::Response);
                self.open_path(now);
            }
            Check::Response => {
                if let Opening::Checking { first, sent: 1, .. } = self.opening {
                    // As with TCP, a check that was repeated tells no RTT.
                    self.receiver.set_rtt(now.since(first));
                    self.stats.count_rtt(now.since(first));
                }
                self.open_path(now);
            }
        }
    }

    fn on_reports(&mut self, reports: Vec<Report>, cx: &mut Cx<'_>) {
        let Some(sender) = &mut self.sender else { return };
        for report in reports {
            match report {
                Report::KeyFrame => self.events.push_back(Event::Media(News::KeyFrameWanted)),
                report => sender.on_report(&report, &mut self.stats, cx),
            }
        }
        self.tell_target();
    }
}

impl Endpoint for Connection {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.opening = Opening::Checking { sent: 0, first: cx.now, due: cx.now };
        self.on_wake(cx);
    }

    fn on_packet(&mut self, packet: haltere_net::Packet<Body>, cx: &mut Cx<'_>) {
        let (len, ecn) = (packet.len, packet.ecn);
        self.stats.received_packets += 1;
        self.stats.received_wire_bytes += u64::from(len);
        let Body::Rtp(body) = packet.into_contents().body else {
            self.stats.invalid_packets += 1;
            return;
        };
        match *body {
            Packet::Check(check) => self.on_check(check, cx.now),
            Packet::Media(media) => {
                // A packet of media opens the path, too, where the answer to the check was lost or comes later.
                self.open_path(cx.now);
                let frame = self.receiver.on_media(&media, (len, ecn), cx.now);
                self.events.extend(frame.map(|frame| Event::Media(News::Frame(frame))));
            }
            Packet::Reports(reports) => self.on_reports(reports, cx),
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        if let Opening::Checking { sent, first, due } = &mut self.opening
            && *due <= cx.now
        {
            if *sent == CHECKS {
                self.opening = Opening::Failed;
                self.events.push_back(Event::Failed(CloseReason::HandshakeTimeout));
                return;
            }
            // The first is sent again after 500 ms, each later one after twice the time.
            let wait = if *sent + 1 == CHECKS { RTO.scaled(LAST, 1) } else { RTO.scaled(1 << *sent, 1) };
            (*sent, *due) = (*sent + 1, cx.now + wait);
            debug_assert!(*first <= cx.now);
            self.checks.push_back(Check::Request);
        }
        if let Some(sender) = &mut self.sender {
            sender.on_wake(cx.now);
            self.tell_target();
        }
    }

    fn next_wake(&self) -> Time {
        let opening = match self.opening {
            Opening::Checking { due, .. } => due,
            Opening::Failed => return Time::NEVER,
            Opening::Idle | Opening::Open => Time::NEVER,
        };
        let sender = self.sender.as_ref().map_or(Time::NEVER, Sender::next_wake);
        opening.min(self.receiver.next_wake()).min(sender)
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<haltere_net::Packet<Body>> {
        let own = self.checks.pop_front().map(Packet::Check);
        let own = own.or_else(|| self.receiver.reports(cx.now).map(Packet::Reports));
        if let Some(own) = own {
            self.stats.sent_all += 1;
            return Some(haltere_net::Packet::new(own.len(), Body::Rtp(Box::new(own))));
        }
        let media = self.sender.as_mut()?.send(cx)?;
        self.stats.sent_all += 1;
        self.stats.sent_packets += 1;
        self.stats.retransmitted_packets += u64::from(media.repair);
        let ecn = self.config.control.ecn;
        let packet = Packet::Media(media);
        Some(haltere_net::Packet::new(packet.len(), Body::Rtp(Box::new(packet))).with(|packet| packet.ecn = ecn))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn send_frame(&mut self, frame: Frame, cx: &mut Cx<'_>) -> bool {
        if let Some(sender) = &mut self.sender {
            sender.send_frame(frame, cx.now);
            self.tell_target();
        }
        true
    }

    fn want_key_frame(&mut self) {
        self.receiver.want_key_frame();
    }

    fn open(&mut self) -> Option<StreamId> {
        None
    }
    fn write(&mut self, _: StreamId, _: u64) {}
    fn finish(&mut self, _: StreamId) {}
    fn read(&mut self, _: StreamId, _: Time) -> u64 {
        0
    }
    fn close(&mut self) {}
    fn stats(&self) -> Stats {
        self.stats.clone()
    }
    fn bytes_in_flight(&self, _: PathId) -> u64 {
        self.sender.as_ref().map_or(0, Sender::in_flight)
    }
}

#[cfg(test)]
mod tests;
