//! RTP over QUIC: calls whose packets a QUIC connection carries (draft-ietf-avtcore-rtp-over-quic-14).
//!
//! Two loops of control are nested (section 8.2 there). The congestion control of media sets the rate of the encoder and of the pacer, as
//! over UDP ([`rtp`]). That of QUIC decides below when a packet leaves: what its window or its pacing hold back waits in the sender,
//! which the media's own sees as delay of the path.
//!
//! | file | holds |
//! |---|---|
//! | `call` | the call, whoever implements QUIC |
//! | `streams` | packets on streams of the model |
//! | `wire` | the bytes of packets on other implementations |
//! | `unlimited` | QUIC without a congestion control of its own |
//!
//! Reports and padding go in DATAGRAM frames, media there or on streams. QUIC encrypts, so that RTP needs no SRTP. There is one flow
//! identifier, and a frame that is late is not cancelled (section 5.2.2).

mod call;
mod streams;
mod unlimited;
pub mod wire;

use crate::cc::{self, Algorithm};
use crate::media::Frame;
use crate::path::{AddressChange, PathError, PathView};
use crate::quic::{self, DatagramFrame, sizes};
use crate::rtp::control::Control;
use crate::rtp::{self, Packet, RTP_HEADERS};
use crate::spares::Spares;
use crate::{Body, CloseReason, Endpoint, Event, Role, Stats, StreamId};
use haltere_net::rng::Stream;
use haltere_net::{Cx, Ecn, PathId, Span, Time};
use std::sync::Arc;
use streams::{Incoming, Outgoing};

pub use call::{Call, Carrier};
pub use unlimited::UNLIMITED;

/// Bytes of the flow identifier, which is less than 64 (section 5.1).
const FLOW: u32 = 1;
/// Bytes of all headers of an RTP packet in a DATAGRAM frame, as the congestion control of media counts. QUIC's are an estimate, as
/// section 9.2.1 advises: a packet number of two bytes, and type and length of the frame.
const HEADERS: u32 = sizes::IP_UDP + sizes::SHORT_HEADER + 2 + sizes::TAG + 1 + 2 + FLOW + RTP_HEADERS;
/// Bytes of the least UDP payload that are left for longer packet numbers and for the number in a repair (RFC 4588 section 4).
const SPARE: u32 = 2 + 2;
/// Silence after which the client sends a PING: half of QUIC's idle timeout here (RFC 9000 section 10.1.2 advises to send before it ends).
pub const KEEP_ALIVE: Span = Span::from_secs(15);

/// Which frames of QUIC carry media (section 5).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Mapping {
    /// DATAGRAM frames: what is lost is asked for and sent again by RTP.
    #[default]
    Datagrams,
    /// A stream for each frame of the encoder: QUIC repairs, and no frame waits for another.
    StreamPerFrame,
    /// A stream from each key frame to the next: QUIC repairs, and frames wait for those before them.
    StreamPerGroup,
}

/// The congestion control of QUIC under that of media.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inner {
    /// This one.
    Algorithm(Algorithm),
    /// None: the congestion control of media is the only one.
    None,
}

/// The set-up of one end.
#[derive(Clone, Debug)]
pub struct Config {
    /// The call.
    pub media: rtp::Config,
    /// The connection. Its congestion control is [`Config::inner`].
    pub quic: quic::Config,
    /// The congestion control of QUIC. Default that of RFC 9002.
    pub inner: Inner,
    /// Which frames of QUIC carry media.
    pub mapping: Mapping,
}

impl Config {
    /// The defaults of an end; `stream` is the dice of QUIC's congestion control.
    pub fn new(role: Role, control: Control, stream: Stream) -> Config {
        let media = rtp::Config {
            headers: HEADERS,
            // RFC 9000 section 14: each path carries datagrams of this size.
            max_packet: sizes::IP_UDP + sizes::MIN_DATAGRAM - SPARE,
            // Traces have those of QUIC.
            traced: false,
            ..rtp::Config::new(role, control)
        };
        Config {
            media,
            quic: quic::Config::new(role, cc::NEWRENO, stream),
            inner: Inner::Algorithm(cc::NEWRENO),
            mapping: Mapping::default(),
        }
    }

    /// The set-up of the connection.
    fn connection(&self) -> quic::Config {
        let algorithm = match self.inner {
            Inner::Algorithm(algorithm) => algorithm,
            Inner::None => UNLIMITED,
        };
        let ecn = self.media.control.ecn;
        quic::Config {
            algorithm,
            ecn: algorithm.needs_ecn() || ecn != Ecn::NotEct,
            l4s: algorithm.is_l4s() || ecn == Ecn::Ect1,
            pacing: self.inner != Inner::None,
            datagrams: true,
            unidirectional: true,
            keep_alive: Some(self.quic.keep_alive.unwrap_or(KEEP_ALIVE)),
            ..self.quic.clone()
        }
    }
}

/// A call whose packets, also repairs, go into DATAGRAM frames of so many bytes of data.
pub fn fitted(media: rtp::Config, datagram: u32) -> rtp::Config {
    let payload = datagram.saturating_sub(FLOW + RTP_HEADERS + rtp::ORIGINAL);
    rtp::Config { max_packet: media.max_packet.min(media.headers + payload), ..media }
}

/// One end of a call over QUIC.
pub struct Connection {
    call: Call,
    quic: quic::Connection,
    outgoing: Outgoing,
    incoming: Incoming,
}

/// The model's QUIC as it carries a call.
struct Below<'a> {
    quic: &'a mut quic::Connection,
    outgoing: &'a mut Outgoing,
}

impl Carrier for Below<'_> {
    fn max_datagram(&mut self) -> u32 {
        self.quic.max_datagram()
    }
    fn send_datagram(&mut self, packet: Packet) {
        let bytes = FLOW + packet.bare_len();
        self.quic.send_datagram_frame(DatagramFrame { bytes, packet: Some(Arc::new(packet)) });
    }
    fn open(&mut self) -> Option<StreamId> {
        self.quic.open()
    }
    fn write(&mut self, stream: StreamId, packet: Arc<Packet>) {
        self.outgoing.write(stream, packet, self.quic);
    }
    fn finish(&mut self, stream: StreamId) {
        self.quic.finish(stream);
    }
}

impl Connection {
    /// An end that has not begun.
    pub fn new(config: Config) -> Connection {
        let quic = quic::Connection::new(config.connection());
        Connection {
            call: Call::new(config.media, config.mapping),
            quic,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
        }
    }

    /// The fates of the DATAGRAM frames of this end.
    pub fn datagram_counts(&self) -> quic::DatagramCounts {
        self.quic.datagram_counts()
    }

    /// Takes what QUIC has got; `ecn` is the mark of the packet that brought it.
    fn take(&mut self, ecn: Ecn, cx: &mut Cx<'_>) {
        while let Some(event) = self.quic.poll_event() {
            match event {
                Event::Connected => {
                    let rtt = self.quic.path_view(PathId(0)).and_then(|path| path.srtt);
                    self.call.open(rtt, cx.now);
                }
                Event::Readable(id) => {
                    let bytes = self.quic.read(id, cx.now);
                    for packet in self.incoming.read(id, bytes) {
                        self.call.on_packet(&packet, ecn, cx);
                    }
                }
                Event::Finished(id) => self.incoming.on_finished(id),
                // A call has no end of its own: the peer is silent.
                Event::Closed => self.call.fail(CloseReason::IdleTimeout),
                Event::Failed(reason) => self.call.fail(reason),
                _ => {}
            }
        }
        while let Some(frame) = self.quic.next_datagram_frame() {
            if let Some(packet) = frame.packet {
                self.call.on_packet(&packet, ecn, cx);
            }
        }
    }
}

impl Endpoint for Connection {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.quic.connect(cx);
    }

    fn on_packet(&mut self, packet: haltere_net::Packet<Body>, cx: &mut Cx<'_>) {
        self.read_packet(packet, &mut Spares::default(), cx);
    }

    fn read_packet(&mut self, packet: haltere_net::Packet<Body>, spares: &mut Spares, cx: &mut Cx<'_>) {
        let ecn = packet.ecn;
        if let Body::Quic(datagram) = &packet.body {
            self.incoming.note(datagram, &self.quic);
        }
        self.quic.read_packet(packet, spares, cx);
        self.take(ecn, cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.quic.on_wake(cx);
        self.take(Ecn::NotEct, cx);
        self.call.on_wake(cx.now);
    }

    fn next_wake(&self) -> Time {
        self.quic.next_wake().min(self.call.next_wake())
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<haltere_net::Packet<Body>> {
        self.make_packet(&mut Spares::default(), cx)
    }

    fn make_packet(&mut self, spares: &mut Spares, cx: &mut Cx<'_>) -> Option<haltere_net::Packet<Body>> {
        self.call.hand_over(&mut Below { quic: &mut self.quic, outgoing: &mut self.outgoing }, cx);
        let mut packet = self.quic.make_packet(spares, cx)?;
        if !self.call.in_datagrams()
            && let Body::Quic(datagram) = &mut packet.body
        {
            self.outgoing.note(datagram);
        }
        Some(packet)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.call.poll_event()
    }

    fn send_frame(&mut self, frame: Frame, cx: &mut Cx<'_>) -> bool {
        self.call.send_frame(frame, cx.now);
        true
    }

    fn want_key_frame(&mut self) {
        self.call.want_key_frame();
    }

    fn stats(&self) -> Stats {
        self.call.stats(self.quic.stats())
    }

    fn bytes_in_flight(&self, path: PathId) -> u64 {
        self.quic.bytes_in_flight(path)
    }

    fn migrate(&mut self, path: PathId, cx: &mut Cx<'_>) -> Result<(), PathError> {
        self.quic.migrate(path, cx)
    }

    fn on_new_address(&mut self, of: PathId, path: PathId, change: AddressChange, cx: &mut Cx<'_>) -> bool {
        self.quic.on_new_address(of, path, change, cx)
    }

    fn path_view(&self, path: PathId) -> Option<PathView> {
        self.quic.path_view(path)
    }
}

#[cfg(test)]
mod tests;
