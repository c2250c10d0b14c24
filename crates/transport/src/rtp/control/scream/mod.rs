//! SCReAM (draft-johansson-ccwg-scream-bis, version 2, which is to take the place of RFC 8298): a window that reports clock, reduced by
//! losses, marks and delay, and the encoder's rate by the window.

pub(super) mod delay;

use super::{Backlog, Feedback, Heard, Implementation, MediaControl, Range, Rates};
use self::delay::Delays;
use crate::rtp::MAX_PACKET;
use crate::rtp::packet::Form;
use haltere_net::registry::Description;
use haltere_net::{Ecn, Time};
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "scream",
        summary: "SCReAM version 2: a self-clocked window, and the encoder's rate by it; by delay and losses, without ECN",
        reference: "draft-johansson-ccwg-scream-bis; RFC 8298",
    },
    label: "SCReAM",
    ecn: Ecn::NotEct,
    feedback: Feedback::Arrivals(Form::PerPacket),
    build: |range, now| Box::new(Scream::new(range, Marks::Classic, now)),
};

// Section 4.1.1.1 of the draft: the constants, by their names there. Times are in s.
const MIN_CWND: f64 = 3000.0;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
const MSS: f64 = MAX_PACKET as f64;
const RATE_PACE_MIN: f64 = 50_000.0;
const CWND_OVERHEAD: f64 = 1.5;
const L4S_AVG_G: f64 = 1.0 / 16.0;
const QDELAY_AVG_G: f64 = 1.0 / 4.0;
const POST_CONGESTION_DELAY: f64 = 4.0;
const MUL_INCREASE_FACTOR: f64 = 0.02;
const LOW_CWND_SCALE_FACTOR: f64 = 0.1;
const VIRTUAL_RTT: f64 = 0.025;
const PACKET_PACING_HEADROOM: f64 = 1.5;
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 2.0;
/// Named in section 4.1.3 without values, which are those of its authors' ScreamV2Tx.cpp.
const BYTES_IN_FLIGHT_LIMIT: f64 = 0.9;
const BYTES_IN_FLIGHT_LIMIT_COMPENSATION: f64 = 1.5;
/// Section 4.1.2.2: `cwnd_i` is set at most this often, and a mark after so long without congestion finds a window that is too large.
const INFLECTION: f64 = 0.25;
const LONG: f64 = 5.0;
/// The frames larger than their share whose 75th percentile counts, of the last ones (section 4.1.3).
const FRAMES: usize = 100;
const PERCENTILE: f64 = 0.75;
/// The meaning of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Marks {
    /// As a loss, or nothing, as packets without ECN are not marked.
    Classic,
    /// A share of marks (RFC 9331).
    L4s,
}

/// The control.
#[derive(Debug)]
struct Scream {
    range: Range,
    marks: Marks,
    cwnd: f64,
    cwnd_i: f64,
    inflection: Option<Time>,
    in_flight: f64,
    /// The largest of the present and of the last round trip.
    most_in_flight: [f64; 2],
    target: f64,
    delays: Delays,
    /// When the round trip began.
    round: Time,
    delivered: f64,
    marked: f64,
    alpha: f64,
    last_mark: Option<Time>,
    qdelay_average: f64,
    congested: Option<Time>,
    /// Sizes of frames, of their share of the rate.
    sizes: VecDeque<f64>,
    size: f64,
    frame: Option<Time>,
    period: f64,
}

/// The congestion of a report.
#[derive(Clone, Copy, Default, Debug)]
struct Signs {
    lost: bool,
    marked: bool,
    /// How far the delay is over half of its target, up to 1.
    delayed: Option<f64>,
}

impl Scream {
    fn new(range: Range, marks: Marks, now: Time) -> Scream {
        Scream {
            range,
            marks,
            cwnd: MIN_CWND,
            cwnd_i: 1.0,
            inflection: None,
            in_flight: 0.0,
            most_in_flight: [0.0; 2],
            target: range.start,
            delays: Delays::new(),
            round: now,
            delivered: 0.0,
            marked: 0.0,
            alpha: 0.0,
            last_mark: None,
            qdelay_average: 0.0,
            congested: None,
            sizes: VecDeque::new(),
            size: 1.0,
            frame: None,
            period: 0.02,
        }
    }

    /// Whether queues mark packets as L4S has it.
    fn l4s_active(&self, now: Time) -> bool {
        self.marks == Marks::L4s && self.last_mark.is_some_and(|last| now.since(last).as_secs_f64() < LONG)
    }

    /// Ends a round trip, if one has passed.
    fn end_round(&mut self, now: Time) {
        if now.since(self.round).as_secs_f64() < self.delays.srtt {
            return;
        }
        self.round = now;
        if self.delivered > 0.0 {
            self.alpha = L4S_AVG_G * (self.marked / self.delivered) + (1.0 - L4S_AVG_G) * self.alpha;
        }
        (self.delivered, self.marked) = (0.0, 0.0);
        self.qdelay_average = match self.delays.qdelay < self.qdelay_average {
            true => self.delays.qdelay,
            false => QDELAY_AVG_G * self.delays.qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_average,
        };
        self.most_in_flight = [self.in_flight, self.most_in_flight[0]];
        self.delays.end_round();
    }

    /// The signs of congestion that count: those of at most one report in a round trip.
    fn signs(&self, heard: &Heard<'_>) -> Signs {
        if self.congested.is_some_and(|last| heard.now.since(last).as_secs_f64() < self.delays.srtt) {
            return Signs::default();
        }
        let half = self.delays.target / 2.0;
        let least = 2.0 / self.target * MSS * 8.0 / self.delays.srtt.max(1e-3);
        let by_delay = self.delays.qdelay > half && (self.alpha < least || !self.l4s_active(heard.now));
        Signs {
            lost: heard.lost(),
            marked: heard.marked(),
            delayed: by_delay.then(|| ((self.qdelay_average - half) / half).clamp(0.0, 1.0)),
        }
    }

    /// The scale of changes of the window, in segments.
    fn scale(&self) -> f64 {
        LOW_CWND_SCALE_FACTOR + MUL_INCREASE_FACTOR * self.cwnd / MSS
    }

    /// Section 4.1.2.2: actions when congestion is detected.
    fn reduce(&mut self, signs: Signs, now: Time) {
        if !signs.lost && !signs.marked && signs.delayed.is_none() {
            return;
        }
        if self.inflection.is_none_or(|last| now.since(last).as_secs_f64() > INFLECTION) {
            (self.inflection, self.cwnd_i) = (Some(now), self.cwnd);
        }
        let scale = self.scale();
        if signs.lost {
            self.cwnd *= BETA_LOSS;
        }
        if signs.marked {
            self.cwnd *= match self.marks {
                Marks::Classic => BETA_ECN,
                Marks::L4s => 1.0 - self.by_marks(scale, now),
            };
        }
        if let Some(delayed) = signs.delayed {
            self.cwnd *= 1.0 - delayed / 2.0;
        }
        self.cwnd = self.cwnd.max(MIN_CWND);
        self.congested = Some(now);
    }

    /// The share by which marks of L4S reduce the window.
    fn by_marks(&mut self, scale: f64, now: Time) -> f64 {
        let mut share = self.alpha / 2.0 * scale.min(1.0) * (1.0 - 2.0 * MSS / self.cwnd).max(0.8);
        if self.congested.is_none_or(|last| now.since(last).as_secs_f64() > LONG) {
            // The window may have grown far beyond what is used.
            self.cwnd = self.cwnd.min(self.most_in_flight[1]).max(MIN_CWND);
            share = share.max(0.25);
            self.alpha = 0.25;
        }
        share
    }

    /// Section 4.1.2.2: congestion window increase.
    fn grow(&mut self, acked: f64, now: Time) {
        let mut more = acked * MSS / self.cwnd;
        let short = (self.delays.srtt / VIRTUAL_RTT).min(1.0);
        more *= short * short;
        if !self.l4s_active(now) {
            let distance = 4.0 * (self.cwnd - self.cwnd_i) / self.cwnd_i;
            more *= (distance * distance).clamp(0.1, 1.0);
        }
        let mut scale = self.scale();
        if scale > 1.0 {
            let since = self.congested.map_or(POST_CONGESTION_DELAY, |last| now.since(last).as_secs_f64());
            scale = 1.0 + (scale - 1.0) * (since / POST_CONGESTION_DELAY).clamp(0.0, 1.0);
        }
        more *= scale;
        let used = self.most_in_flight[0].max(self.most_in_flight[1]);
        if self.cwnd + more <= MSS + used * BYTES_IN_FLIGHT_HEAD_ROOM {
            self.cwnd += more;
        }
    }

    /// Section 4.1.3: the rate of the encoder; the window was used to `ratio` when the report came.
    fn set_target(&mut self, ratio: f64, now: Time) {
        if self.delays.srtt == 0.0 {
            return;
        }
        let mut share = 1.0;
        if !self.l4s_active(now) && ratio > BYTES_IN_FLIGHT_LIMIT {
            share /= (ratio / BYTES_IN_FLIGHT_LIMIT).min(BYTES_IN_FLIGHT_LIMIT_COMPENSATION);
        }
        share *= 1.0 - (MSS / self.cwnd - 0.1).clamp(0.0, 0.8);
        share /= self.size;
        self.target = (share * 8.0 * self.cwnd / self.delays.srtt).clamp(self.range.least, self.range.most);
    }
}

impl MediaControl for Scream {
    fn on_sent(&mut self, _: u64, bytes: u32, _: Time) {
        self.in_flight += f64::from(bytes);
        self.most_in_flight[0] = self.most_in_flight[0].max(self.in_flight);
    }

    fn on_frame(&mut self, bytes: u64, now: Time) {
        if let Some(last) = self.frame.replace(now) {
            self.period += (now.since(last).as_secs_f64() - self.period) / 8.0;
        }
        let size = 8.0 * bytes as f64 / (self.target * self.period);
        if size > 1.0 {
            self.sizes.push_back(size);
            if self.sizes.len() > FRAMES {
                self.sizes.pop_front();
            }
            let mut sizes: Vec<f64> = self.sizes.iter().copied().collect();
            sizes.sort_by(f64::total_cmp);
            self.size = sizes[(PERCENTILE * (sizes.len() - 1) as f64) as usize];
        }
    }

    fn on_report(&mut self, heard: &Heard<'_>) {
        let now = heard.now;
        let ratio = self.in_flight / self.cwnd;
        let acked = (self.in_flight - heard.in_flight as f64).max(0.0);
        self.in_flight = heard.in_flight as f64;
        self.delays.measure(heard);
        let came = |mark: fn(Ecn) -> bool| {
            let came = heard.packets.iter().filter(|told| told.arrived.is_some_and(|(_, ecn)| mark(ecn)));
            (came.clone().count() as f64, came.map(|told| f64::from(told.bytes)).sum::<f64>())
        };
        let ((all, _), (marked, marked_bytes)) = (came(|_| true), came(|ecn| ecn == Ecn::Ce));
        (self.delivered, self.marked) = (self.delivered + all, self.marked + marked);
        if marked > 0.0 {
            self.last_mark = Some(now);
        }
        let signs = self.signs(heard);
        self.end_round(now);
        self.reduce(signs, now);
        self.grow((acked - marked_bytes).max(0.0), now);
        self.set_target(ratio, now);
    }

    fn rates(&self, _: Backlog) -> Rates {
        Rates { media: self.target, pacing: self.target.max(RATE_PACE_MIN) * PACKET_PACING_HEADROOM }
    }

    fn window(&self) -> u64 {
        (self.cwnd * CWND_OVERHEAD * self.size) as u64
    }
}

/// A control whose packets ask for L4S.
pub(super) fn with_l4s(range: Range, now: Time) -> Box<dyn MediaControl> {
    Box::new(Scream::new(range, Marks::L4s, now))
}
