//! A call: the video of an encoder whose rate NADA sets (RFC 8867 section 4.3, RFC 8698).

use super::nada::{DELTA, Nada};
use super::{Fields, LoadKind, Pattern, Round, Shape, Shapes, Told};
use crate::scenario::ScenarioError;
use haltere_net::registry::Description;
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};
use haltere_transport::datagram::{Datagram, HEADERS, Protocol};
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) const ENTRY: LoadKind = LoadKind {
    description: Description {
        name: "media",
        summary: "The video of a call, at the rate that NADA finds by the answers to its packets.",
        reference: "RFC 8867 section 4.3, RFC 8698",
    },
    fields: &["size", "rate"],
    shapes,
};

/// The range of the encoder's rate (RFC 8867 section 4.3).
const RATES: [Rate; 2] = [Rate::from_bps(150_000), Rate::from_bps(1_500_000)];
/// The time of a frame at 30 frames a second, which the RFC gives as the largest number.
const FRAME: Span = Span::from_nanos(33_333_333);
/// How far the rate of a second is from the target at most.
const VARIATION: f64 = 0.05;
/// How long the encoder takes to follow a new target.
const RESPONSE: Span = Span::from_millis(100);
/// Payload of a packet, bytes, if nothing is said of it: what fits into 1280 bytes with IPv6, UDP and RTP.
const PAYLOAD: u32 = 1200;
/// Payload of an answer, bytes: a receiver report of RTP (RFC 3550 section 6.4.2).
const ANSWER: u32 = 32;

fn shapes(fields: &Fields<'_>) -> Result<Shapes, ScenarioError> {
    let payload = fields.payload("size", fields.given.size, PAYLOAD)?;
    let rate = fields.given.rate.map_or(RATES[1], |q| q.0);
    if rate < RATES[0] {
        let message = format!("{rate} is less than the least rate of the encoder: give at least {}", RATES[0]);
        return Err(fields.error("rate", message));
    }
    Ok((Arc::new(Media { payload, rate }), None))
}

/// A stream of video.
#[derive(Clone, Copy, Debug)]
struct Media {
    /// The largest payload of a packet.
    payload: u32,
    /// The largest rate.
    rate: Rate,
}

impl Shape for Media {
    fn payload(&self) -> u32 {
        self.payload
    }

    fn answer(&self) -> Option<u32> {
        Some(ANSWER)
    }

    fn pattern(&self, stream: &Stream) -> Box<dyn Pattern> {
        Box::new(Running {
            shape: *self,
            drawn: stream.clone(),
            nada: None,
            targets: VecDeque::new(),
            variation: (Time::ZERO, 1.0),
            frame: (1, 0),
            left: 0.0,
            sent: VecDeque::new(),
            first: 0,
        })
    }

    fn told(&self) -> Told {
        Told { rate: Some(self.rate), ..Told::default() }
    }
}

/// The stream as it runs. A round is a frame, whose packets leave evenly in its time.
struct Running {
    shape: Media,
    drawn: Stream,
    /// The congestion control, and when it is updated next, from the start on.
    nada: Option<(Nada, Time)>,
    /// Targets with the times from which on the encoder follows them; the first holds.
    targets: VecDeque<(Time, f64)>,
    /// Until when this share of the target is sent.
    variation: (Time, f64),
    /// Packets of the frame, and the length of each, bytes.
    frame: (u64, u32),
    /// Bytes that earlier frames lack of the rate.
    left: f64,
    /// The times and lengths of packets that are not answered, from number `first` on.
    sent: VecDeque<(Time, u32)>,
    first: u64,
}

impl Running {
    /// The rate of the encoder, bit/s.
    fn rate(&mut self, at: Time) -> f64 {
        let range = (RATES[0].as_bps() as f64, self.shape.rate.as_bps() as f64);
        let (nada, due) = self.nada.get_or_insert_with(|| (Nada::new(range, at), at + DELTA));
        if *due <= at {
            nada.update(at);
            *due = at + DELTA;
            self.targets.push_back((at + RESPONSE, nada.rate()));
        }
        while self.targets.get(1).is_some_and(|next| next.0 <= at) {
            self.targets.pop_front();
        }
        let target = self.targets.front().filter(|first| first.0 <= at).map_or(range.0, |first| first.1);
        if self.variation.0 <= at {
            let share = 1.0 + VARIATION * (2.0 * self.drawn.unit() - 1.0);
            self.variation = (at + Span::from_secs(1), share);
        }
        target * self.variation.1
    }
}

impl Pattern for Running {
    fn begin(&mut self, at: Time) -> Time {
        let bytes = self.rate(at) * FRAME.as_secs_f64() / 8.0 + self.left;
        let packets = (bytes / f64::from(self.shape.payload + HEADERS)).ceil().max(1.0);
        let length = (bytes / packets).floor().max(f64::from(HEADERS) + 1.0);
        self.left = bytes - packets * length;
        self.frame = (packets as u64, length as u32);
        at
    }

    fn is_over(&self, round: &Round) -> bool {
        round.sent == self.frame.0
    }

    fn packet(&self, _: &Round, number: u64, _: u32) -> (usize, Datagram) {
        (0, Datagram::new(Protocol::Udp, number, self.frame.1 - HEADERS))
    }

    fn next(&mut self, round: &Round, now: Time, bytes: u32) -> Time {
        self.sent.push_back((now, bytes));
        round.since + FRAME.scaled(round.sent, self.frame.0)
    }

    fn heard(&mut self, number: u64, now: Time) {
        let Some(place) = number.checked_sub(self.first).map(|place| place as usize) else { return };
        let Some(&(left, bytes)) = self.sent.get(place) else { return };
        if let Some((nada, _)) = &mut self.nada {
            nada.on_answer(number, now, now.since(left), bytes);
        }
        // Answers to much earlier packets do not come any more.
        while self.sent.front().is_some_and(|oldest| now.since(oldest.0) > Span::from_secs(10)) {
            self.sent.pop_front();
            self.first += 1;
        }
    }
}
