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
//! | `session` | both halves as one end, whatever carries its packets |
//! | `wire` | the bytes of packets, for those that carry real ones |
//!
//! The two ends have agreed on everything before the run: there is no signalling and no DTLS. The client opens the path with a check
//! of ICE, which the server answers (RFC 8445 section 7).

pub mod control;
mod packet;
mod receiver;
mod sender;
mod session;
pub mod wire;

pub use packet::{Arrivals, Check, Form, IP_UDP, MEDIA, Media, Packet, Part, Report, Summarised};
pub(crate) use packet::{ORIGINAL, RTP_HEADERS};

use crate::media::Frame;
use crate::{Body, CloseReason, Endpoint, Event, Role, Stats};
use control::{Control, Range};
use haltere_net::{Cx, PathId, Rate, Span, Time};
pub(crate) use session::Session;
use std::collections::VecDeque;

/// The longest packet, bytes with IP's header: what passes everywhere (libwebrtc: `kDefaultMaxPacketSize`, less by no path's MTU).
pub const MAX_PACKET: u32 = 1200;
/// The first time-out of a check, and how often it is sent (RFC 8489 section 6.2.1).
const RTO: Span = Span::from_millis(500);
const CHECKS: u32 = 7;
/// The last check is waited for this many times the first time-out (RFC 8489 section 6.2.1).
const LAST: u64 = 16;

/// The set-up of one end.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// Bytes of all headers of a packet with media and of its tag, as the congestion control counts. Default [`MEDIA`].
    pub headers: u32,
    /// Whether a trace has the RTTs, the pacing rate and the bytes in flight of RTP. Default true.
    pub traced: bool,
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
            headers: MEDIA,
            traced: true,
            rtts: false,
            repair: true,
        }
    }

    /// The largest payload of a packet, bytes.
    fn payload(&self) -> u32 {
        self.max_packet.saturating_sub(self.headers).max(1)
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
        payload + 8.0 * frames * parts * f64::from(self.headers)
    }

    /// The rate of payload in packets of a rate, bit/s.
    fn carried(&self, whole: f64) -> f64 {
        let frames = f64::from(self.frames.max(1));
        let parts = (whole / 8.0 / frames / f64::from(self.payload() + self.headers)).ceil().max(1.0);
        (whole - 8.0 * frames * parts * f64::from(self.headers)).max(0.0)
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

/// One end of a call over UDP.
pub struct Connection {
    opening: Opening,
    /// Checks to be sent.
    checks: VecDeque<Check>,
    session: Session,
}

impl Connection {
    /// An end that has not begun.
    pub fn new(config: Config) -> Connection {
        Connection { opening: Opening::Idle, checks: VecDeque::new(), session: Session::new(config) }
    }

    /// The path is open from now on.
    fn open_path(&mut self, now: Time) {
        if !matches!(self.opening, Opening::Open) {
            self.opening = Opening::Open;
            self.session.open(now);
        }
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
                    self.session.on_first_rtt(now.since(first));
                }
                self.open_path(now);
            }
        }
    }
}

impl Endpoint for Connection {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.opening = Opening::Checking { sent: 0, first: cx.now, due: cx.now };
        self.on_wake(cx);
    }

    fn on_packet(&mut self, packet: haltere_net::Packet<Body>, cx: &mut Cx<'_>) {
        let (len, ecn) = (packet.len, packet.ecn);
        let stats = &mut self.session.stats;
        stats.received_packets += 1;
        stats.received_wire_bytes += u64::from(len);
        let Body::Rtp(body) = packet.into_contents().body else {
            stats.invalid_packets += 1;
            return;
        };
        match *body {
            Packet::Check(check) => self.on_check(check, cx.now),
            Packet::Media(media) => {
                // A packet of media opens the path, too, where the answer to the check was lost or comes later.
                self.open_path(cx.now);
                self.session.on_media(&media, (len, ecn), cx.now);
            }
            Packet::Reports(reports) => self.session.on_reports(&reports, cx),
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        if let Opening::Checking { sent, first, due } = &mut self.opening
            && *due <= cx.now
        {
            if *sent == CHECKS {
                self.opening = Opening::Failed;
                self.session.tell(Event::Failed(CloseReason::HandshakeTimeout));
                return;
            }
            // The first is sent again after 500 ms, each later one after twice the time.
            let wait = if *sent + 1 == CHECKS { RTO.scaled(LAST, 1) } else { RTO.scaled(1 << *sent, 1) };
            (*sent, *due) = (*sent + 1, cx.now + wait);
            debug_assert!(*first <= cx.now);
            self.checks.push_back(Check::Request);
        }
        self.session.on_wake(cx.now);
    }

    fn next_wake(&self) -> Time {
        let opening = match self.opening {
            Opening::Checking { due, .. } => due,
            Opening::Failed => return Time::NEVER,
            Opening::Idle | Opening::Open => Time::NEVER,
        };
        opening.min(self.session.next_wake())
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<haltere_net::Packet<Body>> {
        let own = self.checks.pop_front().map(Packet::Check);
        let own = own.or_else(|| self.session.reports(cx.now).map(Packet::Reports));
        if let Some(own) = own {
            self.session.stats.sent_all += 1;
            return Some(haltere_net::Packet::new(own.len(), Body::Rtp(Box::new(own))));
        }
        let media = self.session.media(cx)?;
        self.session.stats.sent_all += 1;
        let ecn = self.session.config().control.ecn;
        let packet = Packet::Media(media);
        Some(haltere_net::Packet::new(packet.len(), Body::Rtp(Box::new(packet))).with(|packet| packet.ecn = ecn))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.session.poll_event()
    }

    fn send_frame(&mut self, frame: Frame, cx: &mut Cx<'_>) -> bool {
        self.session.send_frame(frame, cx.now);
        true
    }

    fn want_key_frame(&mut self) {
        self.session.want_key_frame();
    }
    fn stats(&self) -> Stats {
        self.session.stats.clone()
    }
    fn bytes_in_flight(&self, _: PathId) -> u64 {
        self.session.in_flight()
    }
}

#[cfg(test)]
mod tests;
