//! Packets that were sent, by packet number, and what each of them carried.

use super::few::Few;
use super::identifiers::IdFrame;
use super::keepsakes::Keepsake;
use crate::recovery::TxState;
use haltere_net::incident::LossSign;
use haltere_net::{PathId, Span, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// The number of packets for which an idle connection keeps memory: enough for the requests of a dialogue.
const KEPT: usize = 4;

/// A content of a packet that matters when the packet is acknowledged or lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Record {
    /// An ACK frame with this largest packet number.
    Ack { largest: u64 },
    /// A PATH_ACK frame for another path than the packet's, with this largest packet number.
    PathAck { path: PathId, largest: u64 },
    /// Handshake bytes of the packet's space.
    Crypto { offset: u64, len: u32, last: bool },
    /// Stream bytes.
    Stream { id: u64, offset: u64, len: u32, fin: bool },
    /// The connection's flow-control limit.
    MaxData,
    /// A stream's.
    MaxStreamData { id: u64 },
    /// The number of streams.
    MaxStreams,
    /// A report that a stream (or, without one, the connection) is blocked by flow control.
    Blocked { id: Option<u64> },
    /// A report that this limit lets no further stream be opened.
    StreamsBlocked { limit: u64 },
    /// The handshake is confirmed.
    HandshakeDone,
    /// How often to acknowledge, by the frame's number.
    AckFrequency { sequence: u64 },
    /// A path is abandoned.
    PathAbandon { path: PathId },
    /// A path is in reserve, or is not.
    PathStatus { path: PathId },
    /// A frame about connection identifiers.
    Identifier(IdFrame),
    /// A frame for the client's next connection.
    Keepsake(Keepsake),
    /// A DATAGRAM frame.
    Datagram,
    /// The server's further addresses.
    AddAddress,
    /// Which paths have failed.
    Paths,
}

/// A packet that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// In flight.
    Outstanding,
    /// Neither in flight nor to be acknowledged: it held ACK frames alone.
    Quiet,
    /// Acknowledged.
    Acked,
    /// Declared lost; its record has moved to where losses are remembered.
    Lost,
}

/// A packet that was sent.
#[derive(Debug)]
pub(super) struct SentPacket {
    pub sent: Time,
    pub size: u32,
    pub ack_eliciting: bool,
    pub in_flight: bool,
    /// Whether it probes for a larger datagram size.
    pub mtu_probe: bool,
    state: State,
    pub tx: TxState,
    pub records: Few<Record>,
}

impl SentPacket {
    pub fn new(sent: Time, size: u32, tx: TxState, records: Few<Record>) -> SentPacket {
        SentPacket {
            sent,
            size,
            ack_eliciting: false,
            in_flight: false,
            mtu_probe: false,
            state: State::Outstanding,
            tx,
            records,
        }
    }
}

/// A packet given up for lost and remembered for a while, in case it was not.
#[derive(Debug)]
pub(super) struct LostPacket {
    pub number: u64,
    pub size: u32,
    pub declared: Time,
    /// Whether its loss was taken for congestion.
    pub congestion: bool,
    pub records: Few<Record>,
}

/// When a packet counts as lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    /// When so many later ones are acknowledged (0: never).
    pub packets: u64,
    /// When so much time has passed since it was sent (`Span::MAX`: never).
    pub delay: Span,
    /// The first RTT sample: persistent congestion is found from there on.
    pub since: Option<Time>,
}

/// The result of one pass of loss detection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Losses {
    /// Packets, without probes of the datagram size.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of them and of lost probes, the bytes that were in flight.
    pub in_flight: u64,
    /// When the last of them was sent; probes of the datagram size do not count.
    pub last_sent: Option<Time>,
    /// The longest time between two of them that were to be acknowledged, with nothing in between acknowledged.
    pub span: Span,
    /// Packets that were sent on a path that the connection has left.
    pub left: u64,
    /// The size of a lost probe of the datagram size.
    pub mtu_probe: Option<u32>,
    /// When the first packet still missing will be lost.
    pub next: Option<Time>,
}

/// The packets of one packet number space, from the oldest in flight on.
#[derive(Default, Debug)]
pub(super) struct SentPackets {
    base: u64,
    ring: VecDeque<SentPacket>,
    lost: VecDeque<LostPacket>,
    eliciting: usize,
    last_eliciting: Option<Time>,
}

impl SentPackets {
    /// Keeps a packet; they come in the order of their numbers, without gaps.
    #[inline(always)]
    pub fn push(&mut self, mut packet: SentPacket) {
        debug_assert!(self.ring.back().is_none_or(|last| last.sent <= packet.sent), "packets are sent in order");
        let quiet = !packet.in_flight;
        if packet.ack_eliciting {
            self.eliciting += 1;
            self.last_eliciting = Some(packet.sent);
        }
        if quiet && self.ring.is_empty() {
            self.base += 1;
            return;
        }
        packet.state = if quiet { State::Quiet } else { State::Outstanding };
        if self.ring.capacity() == 0 {
            // A connection that sends little has one packet in flight.
            self.ring.reserve_exact(1);
        }
        self.ring.push_back(packet);
    }

    /// Whether anything that is to be acknowledged is outstanding.
    #[inline]
    pub fn awaits(&self) -> bool {
        self.eliciting > 0
    }
    /// When the last packet that is to be acknowledged was sent.
    #[inline]
    pub fn last_eliciting(&self) -> Option<Time> {
        self.last_eliciting
    }

    /// Takes the packets of `range` for acknowledged; hands over each that was not before.
    #[inline]
    pub fn acknowledge(&mut self, range: &Range<u64>, mut f: impl FnMut(u64, &SentPacket)) {
        let end = self.base + self.ring.len() as u64;
        let (from, to) = (range.start.max(self.base), range.end.min(end));
        if from == self.base && from < to {
            // In order: what is acknowledged leaves at once.
            for number in from..to {
                let Some(packet) = self.ring.front() else { break };
                if packet.state == State::Outstanding {
                    self.eliciting -= usize::from(packet.ack_eliciting);
                    f(number, packet);
                }
                self.ring.pop_front();
            }
            self.base = to;
            return;
        }
        for number in from..to {
            let Some(packet) = self.ring.get_mut((number - self.base) as usize) else { break };
            match packet.state {
                State::Outstanding => {
                    packet.state = State::Acked;
                    self.eliciting -= usize::from(packet.ack_eliciting);
                    f(number, packet);
                    packet.records = Few::default();
                }
                State::Quiet => packet.state = State::Acked,
                State::Acked | State::Lost => {}
            }
        }
    }

    /// Whether any packet that was given up for lost is remembered.
    #[inline]
    pub fn remembers_losses(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The ranges, highest first, in which something may be outstanding.
    #[inline]
    pub fn reached<'a>(&self, ranges: &'a [Range<u64>]) -> &'a [Range<u64>] {
        &ranges[..ranges.partition_point(|range| range.end > self.base)]
    }

    /// Hands over the packets of the ranges, highest first, that had been given up for lost.
    pub fn find_lost<'a>(&mut self, ranges: impl Iterator<Item = &'a Range<u64>>, mut f: impl FnMut(LostPacket)) {
        // Those from here on are above the ranges that come.
        let mut end = self.lost.len();
        for range in ranges {
            while end > 0 && self.lost[end - 1].number >= range.end {
                end -= 1;
            }
            let mut from = end;
            while from > 0 && self.lost[from - 1].number >= range.start {
                from -= 1;
            }
            if from < end {
                self.lost.drain(from..end).for_each(&mut f);
                end = from;
            }
            if end == 0 {
                break;
            }
        }
    }

    /// Drops what has left the window from its front, and forgets losses declared before `horizon`.
    #[inline]
    pub fn trim(&mut self, horizon: impl FnOnce() -> Time) {
        while self.ring.front().is_some_and(|p| p.state != State::Outstanding) {
            self.ring.pop_front();
            self.base += 1;
        }
        if !self.lost.is_empty() {
            let horizon = horizon();
            while self.lost.front().is_some_and(|p| p.declared < horizon) {
                self.lost.pop_front();
            }
        }
        if self.ring.is_empty() {
            // An idle connection does not keep the memory of a long flight.
            self.ring.shrink_to(KEPT);
            self.lost.shrink_to(0);
        }
    }

    /// Declares packets lost (RFC 9002 section 6.1). `lost` receives the contents of these packets. `tell` is called with each packet's number, the rule by which it is lost, its size and the delivery state when it was
    /// sent. Probes of the datagram size have neither size nor state there.
    pub fn detect(
        &mut self,
        largest_acked: u64,
        now: Time,
        &Thresholds { packets, delay, since }: &Thresholds,
        lost: &mut Vec<Record>,
        mut tell: impl FnMut(u64, LossSign, Option<(u32, TxState)>),
    ) -> Losses {
        let mut found = Losses::default();
        let mut run: Option<Time> = None;
        let before = now.saturating_sub(delay);
        let by_time = delay != Span::MAX;
        let packets = if packets > 0 { packets } else { u64::MAX >> 1 };
        for i in 0..self.ring.len() {
            let number = self.base + i as u64;
            if number > largest_acked {
                break;
            }
            let packet = &mut self.ring[i];
            match packet.state {
                State::Acked => run = None,
                State::Quiet | State::Lost => {}
                State::Outstanding if (packet.sent <= before && by_time) || largest_acked >= number + packets => {
                    packet.state = State::Lost;
                    let by_number = largest_acked >= number + packets;
                    let sign = if by_number { LossSign::Reordering } else { LossSign::Time };
                    let congestion = packet.in_flight && !packet.mtu_probe;
                    tell(number, sign, congestion.then_some((packet.size, packet.tx)));
                    self.eliciting -= usize::from(packet.ack_eliciting);
                    if packet.in_flight {
                        found.in_flight += u64::from(packet.size);
                    }
                    let records = std::mem::take(&mut packet.records);
                    lost.extend(records.iter());
                    if !packet.in_flight {
                        found.left += 1;
                    } else if packet.mtu_probe {
                        found.mtu_probe = Some(packet.size);
                    } else {
                        found.packets += 1;
                        found.bytes += u64::from(packet.size);
                        found.last_sent = Some(packet.sent);
                    }
                    // Section 7.6.2: only packets that were to be acknowledged and were sent after the first RTT sample.
                    if packet.ack_eliciting && packet.in_flight && since.is_some_and(|since| packet.sent > since) {
                        let start = *run.get_or_insert(packet.sent);
                        found.span = found.span.max(packet.sent.since(start));
                    }
                    let remembered = LostPacket { number, size: packet.size, declared: now, congestion, records };
                    let at = self.lost.partition_point(|p| p.number < number);
                    self.lost.insert(at, remembered);
                }
                State::Outstanding => {
                    // Later packets were sent later: none of them is lost either.
                    found.next = by_time.then(|| packet.sent + delay);
                    break;
                }
            }
        }
        found
    }

    /// The contents of the oldest `packets` of those in flight, to be sent in probes.
    pub fn oldest(&self, packets: usize, records: &mut Vec<Record>) {
        let outstanding = self.ring.iter().filter(|p| p.state == State::Outstanding && p.ack_eliciting && !p.mtu_probe);
        for packet in outstanding.take(packets) {
            records.extend(packet.records.iter());
        }
    }

    /// The contents of the oldest `packets` in flight that have data of streams or of the handshake, to be sent in probes.
    pub fn oldest_with_data(&self, packets: usize, records: &mut Vec<Record>) {
        let data = |record: &Record| matches!(record, Record::Stream { .. } | Record::Crypto { .. });
        let outstanding = self.ring.iter().filter(|p| p.state == State::Outstanding && p.records.iter().any(data));
        outstanding.take(packets).for_each(|packet| records.extend(packet.records.iter()));
    }

    /// Takes the contents, acknowledgements aside, of the oldest packet in flight that has any, to be sent in a probe. It has none
    /// from then on.
    pub fn take_oldest(&mut self) -> Few<Record> {
        let wanted = |record: &Record| !matches!(record, Record::Ack { .. } | Record::PathAck { .. });
        let mut outstanding = self.ring.iter_mut().filter(|p| p.state == State::Outstanding && p.ack_eliciting);
        let found = outstanding.find(|packet| packet.records.iter().any(wanted));
        found.map_or_else(Few::default, |packet| std::mem::take(&mut packet.records))
    }

    /// The contents beside stream data and acknowledgements of the oldest `packets` in flight that have any, to be sent in probes.
    pub fn oldest_beside_streams(&self, packets: usize, records: &mut Vec<Record>) {
        let wanted =
            |record: &&Record| !matches!(record, Record::Stream { .. } | Record::Ack { .. } | Record::PathAck { .. });
        let outstanding = self.ring.iter().filter(|p| p.state == State::Outstanding && p.ack_eliciting && !p.mtu_probe);
        for packet in outstanding.filter(|p| p.records.iter().any(|record| wanted(&record))).take(packets) {
            records.extend(packet.records.iter().filter(wanted));
        }
    }

    /// The packets outstanding were sent on a path that the connection has left: what becomes of them says nothing of the
    /// path in use (RFC 9000 section 9.4). They are awaited as if they had been sent `now`.
    pub fn leave_path(&mut self, now: Time) {
        self.last_eliciting = self.last_eliciting.map(|_| now);
        self.ring
            .iter_mut()
            .filter(|p| p.state == State::Outstanding)
            .for_each(|p| (p.in_flight, p.mtu_probe) = (false, false));
        self.lost.iter_mut().for_each(|p| p.congestion = false);
    }

    /// The earliest stream data in flight: the stream with the lowest number, and its offset.
    pub fn first_data(&self) -> Option<(u64, u64)> {
        let outstanding = self.ring.iter().filter(|p| p.state == State::Outstanding);
        let data = |record: &Record| match record {
            Record::Stream { id, offset, .. } => Some((*id, *offset)),
            _ => None,
        };
        outstanding.flat_map(|packet| packet.records.iter()).filter_map(data).min()
    }

    /// The contents of the packet that was sent last.
    pub fn newest(&self) -> Few<Record> {
        self.ring.back().map_or_else(Few::default, |packet| packet.records.clone())
    }

    /// Forgets everything; returns the bytes that were in flight.
    pub fn discard(&mut self) -> u64 {
        let in_flight = self.ring.iter().filter(|p| p.state == State::Outstanding && p.in_flight);
        let bytes = in_flight.map(|p| u64::from(p.size)).sum();
        self.base += self.ring.len() as u64;
        (self.ring, self.lost) = (VecDeque::new(), VecDeque::new());
        self.eliciting = 0;
        self.last_eliciting = None;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::RateSampler;

    fn seconds(s: f64) -> Time {
        Time::ZERO + Span::from_secs_f64(s)
    }

    fn sent(times: &[f64]) -> SentPackets {
        let mut packets = SentPackets::default();
        let tx = RateSampler::default().on_sent(Time::ZERO, 0);
        for &at in times {
            let packet = SentPacket::new(seconds(at), 1200, tx, Few::default());
            packets.push(SentPacket { ack_eliciting: true, in_flight: true, ..packet });
        }
        packets
    }

    fn ack(packets: &mut SentPackets, range: Range<u64>) -> Vec<u64> {
        let mut numbers = Vec::new();
        packets.acknowledge(&range, |n, _| numbers.push(n));
        numbers
    }

    #[test]
    fn three_later_packets_or_nine_eighths_of_the_rtt_make_a_loss() {
        let mut packets = sent(&[0.0, 0.001, 0.002, 0.003, 0.004]);
        assert_eq!(ack(&mut packets, 3..4), [3]);
        let thresholds = Thresholds { packets: 3, delay: Span::from_secs_f64(0.1125), since: None };
        let found = packets.detect(3, seconds(0.103), &thresholds, &mut Vec::new(), |_, _, _| {});
        assert_eq!((found.packets, found.next), (1, Some(seconds(0.1135))));
        let found = packets.detect(3, seconds(0.1135), &thresholds, &mut Vec::new(), |_, _, _| {});
        assert_eq!((found.packets, found.next), (1, Some(seconds(0.1145))));
        assert!(packets.awaits());
        let mut late = 0;
        packets.find_lost(std::iter::once(&(0..1)), |p| late += p.number + 1);
        assert_eq!(late, 1);
    }

    #[test]
    fn the_example_of_rfc_9002_section_7_6_3_is_persistent_congestion() {
        // Times of the section's table; packet 1 is acknowledged at 1.2, packet 9 at 12.2; the PTO is 2 s.
        let mut packets = sent(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0]);
        assert_eq!(ack(&mut packets, 0..1), [0]);
        assert_eq!(ack(&mut packets, 8..9), [8]);
        let thresholds = Thresholds { packets: 3, delay: Span::from_millis(300), since: Some(seconds(0.5)) };
        let found = packets.detect(8, seconds(12.2), &thresholds, &mut Vec::new(), |_, _, _| {});
        assert_eq!((found.packets, found.span), (7, Span::from_secs(7)));
        assert!(found.span >= Span::from_secs(2) * 3);
        // Had one in the middle been acknowledged, neither part would be long enough.
        let mut packets = sent(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0]);
        ack(&mut packets, 0..1);
        ack(&mut packets, 4..5);
        ack(&mut packets, 8..9);
        let found = packets.detect(8, seconds(12.2), &thresholds, &mut Vec::new(), |_, _, _| {});
        assert_eq!((found.packets, found.span), (6, Span::from_secs(3)));
    }

    #[test]
    fn acknowledgements_in_any_order_leave_nothing_behind() {
        let mut packets = sent(&[0.0; 10]);
        assert_eq!(ack(&mut packets, 4..6), [4, 5]);
        assert_eq!(ack(&mut packets, 0..5), [0, 1, 2, 3]);
        packets.trim(|| Time::ZERO);
        assert_eq!(ack(&mut packets, 0..20), [6, 7, 8, 9]);
        assert!(!packets.awaits() && packets.ring.is_empty() && packets.base == 10);
    }
}
