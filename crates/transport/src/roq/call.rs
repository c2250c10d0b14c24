//! A call above a connection of QUIC, whoever implements that: what goes in which frames, and how it comes back.

use super::Mapping;
use crate::media::Frame;
use crate::rtp::{self, Media, Packet, Report, Session};
use crate::{CloseReason, Event, Stats, StreamId};
use haltere_net::{Cx, Ecn, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// The connection of QUIC that carries a call.
pub trait Carrier {
    /// The most bytes that a DATAGRAM frame carries now, with the flow identifier.
    fn max_datagram(&mut self) -> u32;
    /// The bytes that a packet has, without the flow identifier.
    fn length(&self, packet: &Packet) -> u32 {
        packet.bare_len()
    }
    /// Sends a packet in a DATAGRAM frame, as soon as window and pacing allow.
    fn send_datagram(&mut self, packet: Packet);
    /// Opens a unidirectional stream, if the peer allows one.
    fn open(&mut self) -> Option<StreamId>;
    /// Writes a packet to a stream.
    fn write(&mut self, stream: StreamId, packet: Arc<Packet>);
    /// Ends a stream.
    fn finish(&mut self, stream: StreamId);
}

/// One end of a call, without the connection that carries it.
pub struct Call {
    mapping: Mapping,
    pub(super) session: Session,
    streams: Streams,
    /// Whether the connection has ended.
    over: bool,
}

impl Call {
    /// An end whose connection is not open.
    pub fn new(media: rtp::Config, mapping: Mapping) -> Call {
        // QUIC repairs what streams carry (section 5.2.2).
        let repair = media.repair && mapping == Mapping::Datagrams;
        let session = Session::new(rtp::Config { repair, ..media });
        Call { mapping, session, streams: Streams::default(), over: false }
    }

    /// Whether the connection has ended.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether all media is in DATAGRAM frames.
    pub fn in_datagrams(&self) -> bool {
        self.mapping == Mapping::Datagrams
    }

    /// The connection is open from now on; it has measured an RTT, if it has.
    pub fn open(&mut self, rtt: Option<Span>, now: Time) {
        if let Some(rtt) = rtt {
            self.session.on_first_rtt(rtt);
        }
        self.session.open(now);
    }

    /// The connection has ended for a reason.
    pub fn fail(&mut self, reason: CloseReason) {
        if !self.over {
            self.over = true;
            self.session.tell(Event::Failed(reason));
        }
    }

    /// A packet arrived; `ecn` is the mark of QUIC's packet that brought the last of it.
    pub fn on_packet(&mut self, packet: &Packet, ecn: Ecn, cx: &mut Cx<'_>) {
        match packet {
            Packet::Media(media) => {
                let bytes = media.len_with(self.session.config().headers);
                self.session.on_media(media, (bytes, ecn), cx.now);
            }
            Packet::Reports(reports) => self.session.on_reports(reports, cx),
            Packet::Check(_) => {}
        }
    }

    /// Gives the connection what may leave now.
    pub fn hand_over(&mut self, below: &mut impl Carrier, cx: &mut Cx<'_>) {
        if self.over || !self.session.is_open() {
            return;
        }
        while let Some(reports) = self.session.reports(cx.now) {
            send_reports(reports, below);
        }
        while let Some(media) = self.session.media(cx) {
            self.send_media(media, below);
        }
        self.streams.write(self.mapping, below);
    }

    fn send_media(&mut self, media: Media, below: &mut impl Carrier) {
        let packet = Packet::Media(media);
        if self.mapping == Mapping::Datagrams || media.part.is_none() {
            below.send_datagram(packet);
        } else {
            self.streams.waiting.push_back(Arc::new(packet));
            self.streams.write(self.mapping, below);
        }
    }

    /// Runs the timers that are due.
    pub fn on_wake(&mut self, now: Time) {
        if !self.over {
            self.session.on_wake(now);
        }
    }

    /// When a timer is due, a report, or a packet with media.
    pub fn next_wake(&self) -> Time {
        if self.session.is_open() && !self.over { self.session.next_wake() } else { Time::NEVER }
    }

    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.session.poll_event()
    }

    /// Sends a frame.
    pub fn send_frame(&mut self, frame: Frame, now: Time) {
        if !self.over {
            self.session.send_frame(frame, now);
        }
    }

    /// Asks the peer for a key frame.
    pub fn want_key_frame(&mut self) {
        self.session.want_key_frame();
    }

    /// The counters of a call whose connection has these.
    pub fn stats(&self, quic: Stats) -> Stats {
        // Packets in which QUIC sends again, and repairs of RTP. One packet may hold several of them.
        let again = quic.retransmitted_packets + self.session.stats.retransmitted_packets;
        let retransmitted_packets = again.min(quic.sent_packets);
        Stats { retransmitted_packets, ..quic }
    }
}

/// Sends reports, those that are too long for a DATAGRAM frame in parts.
pub(super) fn send_reports(mut reports: Vec<Report>, below: &mut impl Carrier) {
    let most = below.max_datagram().saturating_sub(super::FLOW);
    while !reports.is_empty() {
        let packet = Packet::Reports(std::mem::take(&mut reports));
        if below.length(&packet) <= most {
            below.send_datagram(packet);
            return;
        }
        let Packet::Reports(mut whole) = packet else { return };
        let half = whole.len() / 2;
        if half > 0 {
            reports = whole.split_off(half);
            send_reports(whole, below);
        } else if let Some((one, other)) = whole.pop().and_then(Report::halves) {
            send_reports(vec![one], below);
            reports = vec![other];
        }
    }
}

/// The streams that carry media (section 5.2): which one each packet takes.
#[derive(Default)]
struct Streams {
    /// Packets that wait for a stream, which the peer does not allow yet.
    waiting: VecDeque<Arc<Packet>>,
    /// The stream to which packets are written.
    open: Option<StreamId>,
}

impl Streams {
    /// Writes the packets that wait, as far as the peer allows streams.
    fn write(&mut self, mapping: Mapping, below: &mut impl Carrier) {
        while let Some(packet) = self.waiting.front() {
            let Packet::Media(media) = &**packet else {
                self.waiting.pop_front();
                continue;
            };
            let begins = media.part.is_some_and(|part| {
                part.sequence == part.first && (mapping == Mapping::StreamPerFrame || part.frame.key)
            });
            let ends = mapping == Mapping::StreamPerFrame
                && media.part.is_some_and(|part| part.sequence + 1 == part.first + u64::from(part.parts));
            if begins && let Some(id) = self.open.take() {
                below.finish(id);
            }
            let Some(id) = self.open.or_else(|| below.open()) else { return };
            self.open = Some(id);
            if let Some(packet) = self.waiting.pop_front() {
                below.write(id, packet);
            }
            if ends {
                below.finish(id);
                self.open = None;
            }
        }
    }
}
