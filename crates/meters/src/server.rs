//! Measures a flow from the packets at the server's tap: packets sent, retransmissions, and round-trip times.

use super::packet::{ACK, Packet, Protocol, RST, SYN, opens};
use super::{End, Ends, Ranges, between, ends, segments, unwrap};
use haltere_net::{Span, Time};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::VecDeque;

/// The server's counts of sent data, over all connections of the flow.
#[derive(Clone, Default, Debug, Serialize)]
pub struct ServerCounts {
    /// Packets sent that carried payload.
    pub sent_packets: u64,
    /// Bytes of payload they carried.
    pub sent_payload: u64,
    /// Of the packets, those whose payload began below the highest sequence number sent before.
    pub retransmitted_packets: u64,
    /// Retransmissions of data that the client reported to have already (D-SACK, RFC 2883).
    pub spurious_retransmissions: u64,
    /// Packets with payload without an option of MPTCP.
    pub plain_packets: u64,
    /// The smallest RTT sample.
    #[serde(skip)]
    pub min_rtt: Option<Span>,
    /// Sum of the RTT samples, ns.
    #[serde(skip)]
    pub rtt_sum_ns: u128,
    /// Number of RTT samples.
    pub rtt_samples: u64,
    /// How they are distributed, ns with three significant digits; `None` before the first.
    #[serde(skip)]
    rtts: Option<Histogram<u64>>,
}

impl ServerCounts {
    fn sample(&mut self, rtt: Span) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |m| m.min(rtt)));
        self.rtt_sum_ns += u128::from(rtt.as_nanos());
        self.rtt_samples += 1;
        if self.rtts.is_none() {
            self.rtts = Histogram::new(3).ok();
        }
        if let Some(rtts) = &mut self.rtts {
            let noted = rtts.record(rtt.as_nanos());
            debug_assert!(noted.is_ok(), "the histogram grows as it must");
        }
    }

    /// The mean of the RTT samples, s.
    pub fn mean_rtt_s(&self) -> Option<f64> {
        (self.rtt_samples > 0).then(|| self.rtt_sum_ns as f64 * 1e-9 / self.rtt_samples as f64)
    }

    /// The value that 95 % of the RTT samples do not exceed, s.
    pub fn rtt_p95_s(&self) -> Option<f64> {
        self.rtts.as_ref().map(|rtts| rtts.value_at_quantile(0.95) as f64 * 1e-9)
    }
}

/// Follows one flow at the server's tap.
#[derive(Default)]
pub struct ServerMeter {
    counts: ServerCounts,
    connections: Vec<(Ends, Sender)>,
}

impl ServerMeter {
    /// Takes the next packet of the flow.
    pub fn take(&mut self, p: &Packet, from: End) {
        if p.protocol != Protocol::Tcp {
            if from == End::Server && p.payload > 0 {
                self.counts.sent_packets += 1;
                self.counts.sent_payload += u64::from(p.payload);
            }
            return;
        }
        let sender = between(&mut self.connections, ends(p, from));
        if sender.over && opens(p) {
            *sender = Sender::default();
        }
        sender.over |= p.has(RST);
        match from {
            _ if sender.over => {}
            End::Server => sender.on_sent(p, &mut self.counts),
            End::Client => sender.on_received(p, &mut self.counts),
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> &ServerCounts {
        &self.counts
    }
}

/// A range of payload, as it was first sent.
struct Sent {
    start: u64,
    end: u64,
    at: Time,
    again: bool,
    sacked: bool,
}

/// The sending half of one TCP connection. Sequence numbers are 64 bits wide, the SYN having number 0.
#[derive(Default)]
struct Sender {
    isn: Option<u32>,
    high: u64,
    una: u64,
    sent: VecDeque<Sent>,
    sacked: Ranges,
    /// When the SYN-ACK was sent, unless it was acknowledged or sent twice.
    syn_ack: Option<Time>,
    client_mss: Option<u32>,
    server_mss: Option<u32>,
    clock: TimestampClock,
    /// One end has reset the connection: later packets are not part of it.
    over: bool,
}

impl Sender {
    fn on_sent(&mut self, p: &Packet, counts: &mut ServerCounts) {
        if let Some((value, _)) = p.timestamps {
            self.clock.on_sent(p.at, value);
        }
        if p.has(SYN) {
            self.syn_ack = (self.isn != Some(p.seq)).then_some(p.at);
            self.server_mss = p.mss.map(u32::from);
            self.isn = Some(p.seq);
            (self.high, self.una) = (1, 1);
            return;
        }
        // A tap that came late has not seen the SYN.
        let isn = *self.isn.get_or_insert_with(|| {
            (self.high, self.una) = (1, 1);
            p.seq.wrapping_sub(1)
        });
        if p.payload == 0 {
            return;
        }
        let start = unwrap(p.seq, isn, self.high);
        let end = start + u64::from(p.payload);
        let mss = self.mss(p);
        counts.sent_packets += segments(p.payload, mss);
        counts.plain_packets += u64::from(!p.multipath);
        counts.sent_payload += u64::from(p.payload);
        if start < self.high {
            counts.retransmitted_packets += segments((end.min(self.high) - start) as u32, mss);
            let first = self.sent.partition_point(|s| s.end <= start);
            self.sent.range_mut(first..).take_while(|s| s.start < end).for_each(|s| s.again = true);
        }
        if end > self.high {
            let new = start.max(self.high);
            self.sent.push_back(Sent { start: new, end, at: p.at, again: start < self.high, sacked: false });
            self.high = end;
        }
    }

    /// The most payload that a packet with such a header can have on the wire.
    fn mss(&self, p: &Packet) -> Option<u32> {
        let both = self.client_mss.into_iter().chain(self.server_mss).min()?;
        Some(both.saturating_sub(u32::from(p.options)))
    }

    fn on_received(&mut self, p: &Packet, counts: &mut ServerCounts) {
        if p.has(SYN) {
            self.client_mss = p.mss.map(u32::from);
            return;
        }
        let Some(isn) = self.isn.filter(|_| p.has(ACK)) else { return };
        if let Some(at) = self.syn_ack.take() {
            counts.sample(p.at.since(at));
        }
        // A FIN takes a number too.
        let ack = unwrap(p.ack, isn, self.una).min(self.high + 1);
        let duplicate = self.take_duplicate(p, isn, ack, counts);
        let acked = self.acknowledge(ack);
        let sacked = self.take_sacks(p.sacks().get(usize::from(duplicate)..).unwrap_or_default(), isn);
        // As Linux does, and the simulator's `take_rtt`: what was selectively acknowledged comes last. If all was sent
        // twice, timestamps tell which of the two was meant.
        let newest = sacked.or(acked.newest).map(|at| p.at.since(at));
        let echo = p.timestamps.map(|t| t.1).filter(|_| acked.any);
        if let Some(rtt) = newest.or_else(|| self.clock.since(p.at, echo?)) {
            counts.sample(rtt);
        }
    }

    /// Counts a D-SACK: a first block below the acknowledgement or within the second (RFC 2883 section 4).
    fn take_duplicate(&self, p: &Packet, isn: u32, ack: u64, counts: &mut ServerCounts) -> bool {
        let mut blocks = p.sacks().iter().map(|b| (unwrap(b.0, isn, ack), unwrap(b.1, isn, ack)));
        let Some((start, end)) = blocks.next() else { return false };
        let duplicate = end <= ack || blocks.next().is_some_and(|(s, e)| s <= start && end <= e);
        if duplicate {
            let bytes = u32::try_from(end.saturating_sub(start)).unwrap_or(0);
            let more = segments(bytes, self.client_mss.into_iter().chain(self.server_mss).min());
            counts.spurious_retransmissions =
                (counts.spurious_retransmissions + more).min(counts.retransmitted_packets);
        }
        duplicate
    }

    fn acknowledge(&mut self, ack: u64) -> Acked {
        let mut acked = Acked { any: false, newest: None };
        let mut again = false;
        let covered = self.sent.partition_point(|s| s.end <= ack);
        for sent in self.sent.drain(..covered) {
            acked.any = true;
            again |= sent.again;
            if !sent.sacked && !sent.again {
                acked.newest = Some(sent.at);
            }
        }
        if again {
            acked.newest = None;
        }
        if ack > self.una {
            self.una = ack;
            self.sacked.forget_below(ack);
        }
        acked
    }

    /// Marks what these blocks report for the first time. Returns when the last of it was sent, if it was sent only
    /// once.
    fn take_sacks(&mut self, blocks: &[(u32, u32)], isn: u32) -> Option<Time> {
        let mut newest = None;
        for &(start, end) in blocks {
            let (start, end) = (unwrap(start, isn, self.una).max(self.una), unwrap(end, isn, self.una).min(self.high));
            let (sent, mut fresh) = (&mut self.sent, Vec::new());
            self.sacked.insert(start, end, |s, e| fresh.push((s, e)));
            for (s, e) in fresh {
                let first = sent.partition_point(|x| x.start < s);
                for x in sent.range_mut(first..).take_while(|x| x.end <= e).filter(|x| !x.sacked) {
                    x.sacked = true;
                    if !x.again {
                        newest = Some(x.at);
                    }
                }
            }
        }
        newest
    }
}

struct Acked {
    any: bool,
    /// When the last of the acknowledged data was sent, if all of it was sent only once.
    newest: Option<Time>,
}

/// The clock behind a server's TSval, which ticks in milliseconds from an unknown origin.
#[derive(Default)]
struct TimestampClock {
    first: Option<u32>,
    /// The earliest that the tick of `first` can have begun, ns.
    origin: i128,
}

impl TimestampClock {
    fn tick(&self, value: u32, first: u32) -> i128 {
        i128::from(value.wrapping_sub(first).cast_signed())
    }

    fn on_sent(&mut self, at: Time, value: u32) {
        let first = *self.first.get_or_insert(value);
        let begun = i128::from(at.as_nanos()) - self.tick(value, first) * 1_000_000;
        self.origin = if value == first && self.origin == 0 { begun } else { self.origin.min(begun) };
    }

    /// Ticks from the one echoed to now, at least one.
    fn since(&self, at: Time, echo: u32) -> Option<Span> {
        let first = self.first.filter(|_| echo != 0)?;
        let now = (i128::from(at.as_nanos()) - self.origin) / 1_000_000;
        let ticks = u64::try_from((now - self.tick(echo, first)).max(1)).ok()?;
        Some(Span::from_millis(ticks))
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
