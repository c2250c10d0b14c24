//! Congestion control of media: one algorithm per file.
//!
//! A control hears what the receiver reports of packets, and says at which rate the encoder may write and packets may leave. It
//! counts whole packets, IP's header included; the transport takes the headers off for the encoder. Where a part of the algorithm is
//! the receiver's, that part is a [`Watcher`].
//!
//! A new algorithm is one new file here, with an `ENTRY`, and one line in the list of `built_in!`. An algorithm of another crate is
//! an [`Implementation`] that is added to a [`Registry`](haltere_net::registry::Registry).

use super::packet::Form;
use haltere_net::registry::{Description, Handle};
use haltere_net::{Ecn, Span, Time};

/// A packet that the receiver, or its silence, told of for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// Its number.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// Its length, IP's header included.
    pub bytes: u32,
    /// When it arrived, by the receiver's clock, and with which mark; `None` if it is lost.
    pub arrived: Option<(Time, Ecn)>,
}

/// A report of the receiver, as the sender understands it.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// When it arrived.
    pub now: Time,
    /// The packets that it tells of, in the order of their numbers.
    pub packets: &'a [Told],
    /// The time from a packet's leaving to the report's arrival, without that at the receiver; `None` if no packet tells.
    pub rtt: Option<Span>,
    /// Bytes that were sent after the last packet that arrived.
    pub in_flight: u64,
    /// The receiver's own part, with algorithms that have such.
    pub summary: Option<Summary>,
}

impl Heard<'_> {
    /// Whether a packet is lost.
    pub fn lost(&self) -> bool {
        self.packets.iter().any(|told| told.arrived.is_none())
    }

    /// Whether a packet arrived with a mark of congestion.
    pub fn marked(&self) -> bool {
        self.packets.iter().any(|told| told.arrived.is_some_and(|(_, ecn)| ecn == Ecn::Ce))
    }
}

/// The receiver's part of NADA (RFC 8698 section 4.3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// The aggregate congestion signal, ms.
    pub signal: f64,
    /// The rate of the packets that arrived, bit/s.
    pub received: f64,
    /// Whether the rate may grow fast: nothing was lost, and no queue grows.
    pub accelerated: bool,
}

/// The sender's queue of packets that wait for the pacer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Backlog {
    /// Its bytes.
    pub bytes: u64,
    /// Frames that the encoder writes in a second.
    pub frames: u32,
}

/// The decisions of a control. Rates are of whole packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// The rate at which the encoder may write, bit/s.
    pub media: f64,
    /// The rate at which packets leave, bit/s.
    pub pacing: f64,
}

/// The sender's part of a congestion control of media. All calls are in the order of time.
pub trait MediaControl: Send {
    /// A packet leaves.
    fn on_sent(&mut self, _number: u64, _bytes: u32, _now: Time) {}
    /// The encoder wrote a frame of so many bytes, of whole packets.
    fn on_frame(&mut self, _bytes: u64, _now: Time) {}
    /// A report of the receiver arrived.
    fn on_report(&mut self, heard: &Heard<'_>);
    /// When [`on_timer`](MediaControl::on_timer) is to be called, or [`Time::NEVER`].
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
    /// The time of a timer has come, with so much that waits for the pacer.
    fn on_timer(&mut self, _backlog: Backlog, _now: Time) {}
    /// The decisions for now.
    fn rates(&self, backlog: Backlog) -> Rates;
    /// The most bytes in flight with which a packet may leave.
    fn window(&self) -> u64 {
        u64::MAX
    }
    /// Packets of padding that are to be sent now at a rate, to measure the path; `None` if there are none.
    fn probe(&mut self, _now: Time) -> Option<Probe> {
        None
    }
}

/// A train of packets by which a path is measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Probe {
    /// The rate at which it is sent, bit/s.
    pub rate: f64,
    /// Its bytes, of whole packets.
    pub bytes: u64,
}

/// The receiver's part of a congestion control of media.
pub trait Watcher: Send {
    /// A packet arrived. Its sender wrote the time of leaving into it.
    fn on_packet(&mut self, packet: Told);
    /// The summary that is due now.
    fn summary(&mut self, now: Time) -> Summary;
}

/// The reports of a receiver of media.
#[derive(Clone, Copy, Debug)]
pub enum Feedback {
    /// The arrivals of packets.
    Arrivals(Form),
    /// The summary of a watcher, at this interval.
    Summary(Span, fn(Range) -> Box<dyn Watcher>),
}

/// The rates of an encoder, bit/s of whole packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// The least.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// The first.
    pub start: f64,
}

/// A congestion control of media as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct Implementation {
    /// Its name in contenders, summary and reference.
    pub description: Description,
    /// Its name in figures.
    pub label: &'static str,
    /// The ECN codepoint of its packets with media.
    pub ecn: Ecn,
    /// The reports that it needs of the receiver.
    pub feedback: Feedback,
    /// Makes a control for an encoder with these rates, at this time.
    pub build: fn(Range, Time) -> Box<dyn MediaControl>,
}

/// A congestion control of media, as configurations hold it.
pub type Control = Handle<Implementation>;

haltere_net::built_in! {
    Implementation: "congestion control of media";
    /// GCC.
    GCC = gcc,
    /// NADA.
    NADA = nada,
    /// SCReAM.
    SCREAM = scream,
    /// SCReAM with L4S.
    SCREAM_L4S = scream_l4s,
    /// SCReAM of RFC 8298.
    SCREAM_V1 = scream_v1,
}
