//! The sending half of an end: frames become packets, which leave at the control's rate.

use super::Config;
use super::control::{Backlog, Heard, MediaControl, Told};
use super::packet::{Arrivals, Media, Part, Report, Summarised};
use crate::Stats;
use crate::media::Frame;
use haltere_net::{Cx, Metric, Rate, Span, Time};
use std::collections::VecDeque;

/// A packet is lost when one that was sent so many later has arrived (RFC 9002 section 6.1.1).
const THRESHOLD: u64 = 3;
/// How long a sent packet is kept for repairs at least, and in RTTs (libwebrtc, rtp_packet_history.h: `kMinPacketDuration`,
/// `kMinPacketDurationRtt`).
const KEPT: Span = Span::from_secs(1);
const KEPT_RTTS: u64 = 3;
/// A full window holds packets back for as long as this after the last one at most, so that reports come again after an outage
/// (RFC 6298 section 2.1).
const STALLED: Span = Span::from_secs(1);

/// A packet that was sent and that no report has told of.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    bytes: u32,
    told: bool,
}

/// A part that was sent, for repairs.
#[derive(Clone, Copy, Debug)]
struct Kept {
    part: Part,
    payload: u32,
    /// When it was sent last.
    at: Time,
    /// Whether its repair waits for the pacer.
    waits: bool,
    /// Whether it was asked for.
    missed: bool,
}

/// The sending half.
pub(super) struct Sender {
    config: Config,
    control: Box<dyn MediaControl>,
    /// Parts that wait for the pacer, with their payloads.
    queue: VecDeque<(Part, u32)>,
    /// Bytes of their packets.
    queued: u64,
    /// Parts to be sent again.
    repairs: VecDeque<u64>,
    sequence: u64,
    /// The parts from number `oldest` on.
    kept: VecDeque<Kept>,
    oldest: u64,
    number: u64,
    /// The packets from number `first` on.
    sent: VecDeque<Sent>,
    first: u64,
    /// Bytes that were sent, and those until the packet of the highest number that arrived.
    all_bytes: u64,
    heard_bytes: u64,
    /// The number after the highest that arrived.
    heard: u64,
    rtt: Span,
    /// When the pacer lets the next packet go, and when the last one went.
    free: Time,
    last: Time,
    /// Bytes of padding that are to be sent, and at which rate.
    probe: (u64, f64),
    told_target: Option<Rate>,
}

impl Sender {
    pub fn new(config: Config, now: Time) -> Sender {
        let control = (config.control.build)(config.range(), now);
        Sender {
            config,
            control,
            queue: VecDeque::new(),
            queued: 0,
            repairs: VecDeque::new(),
            sequence: 0,
            kept: VecDeque::new(),
            oldest: 0,
            number: 0,
            sent: VecDeque::new(),
            first: 0,
            all_bytes: 0,
            heard_bytes: 0,
            heard: 0,
            rtt: Span::ZERO,
            free: now,
            last: now,
            probe: (0, 0.0),
            told_target: None,
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog { bytes: self.queued, frames: self.config.frames }
    }

    /// The rate of the encoder, if it is another than was told.
    pub fn new_target(&mut self) -> Option<Rate> {
        let [least, most, _] = self.config.rates;
        let media = self.config.carried(self.control.rates(self.backlog()).media);
        let target = Rate::from_bps(media as u64).max(least).min(most);
        (self.told_target.replace(target) != Some(target)).then_some(target)
    }

    /// Cuts a frame into parts of about the same length.
    pub fn send_frame(&mut self, frame: Frame, now: Time) {
        let parts = frame.bytes.div_ceil(self.config.payload()).max(1);
        let (each, longer) = (frame.bytes / parts, frame.bytes % parts);
        let first = self.sequence;
        for part in 0..parts {
            let payload = each + u32::from(part < longer);
            self.queue.push_back((Part { sequence: self.sequence, frame, first, parts }, payload));
            self.queued += u64::from(payload + self.config.headers);
            self.sequence += 1;
        }
        self.control.on_frame(u64::from(frame.bytes) + u64::from(parts) * u64::from(self.config.headers), now);
    }

    pub fn in_flight(&self) -> u64 {
        self.all_bytes - self.heard_bytes
    }

    /// When the next packet may leave, if one waits.
    fn due(&self) -> Time {
        if self.queue.is_empty() && self.repairs.is_empty() && self.probe.0 == 0 {
            return Time::NEVER;
        }
        let full = self.in_flight() >= self.control.window();
        if full { self.free.max(self.last + STALLED) } else { self.free }
    }

    pub fn next_wake(&self) -> Time {
        self.due().min(self.control.next_timer())
    }

    pub fn on_wake(&mut self, now: Time) {
        if self.control.next_timer() <= now {
            self.control.on_timer(self.backlog(), now);
        }
        self.take_probe(now);
    }

    /// Takes up a train that the control wants.
    fn take_probe(&mut self, now: Time) {
        if self.probe.0 == 0
            && let Some(probe) = self.control.probe(now)
        {
            self.probe = (probe.bytes, probe.rate);
        }
    }

    /// The next packet that may leave now.
    pub fn send(&mut self, cx: &mut Cx<'_>) -> Option<Media> {
        if self.due() > cx.now {
            return None;
        }
        let (part, payload, repair) = self.next(cx.now)?;
        let media = Media { number: self.number, sent: cx.now, part, repair, payload };
        let bytes = media.len_with(self.config.headers);
        let mut rate = self.control.rates(self.backlog()).pacing.max(1.0);
        if self.probe.0 > 0 {
            rate = rate.max(self.probe.1);
            self.probe.0 = self.probe.0.saturating_sub(u64::from(bytes));
        }
        self.free = self.free.max(cx.now) + Span::from_secs_f64(8.0 * f64::from(bytes) / rate);
        self.last = cx.now;
        self.sent.push_back(Sent { at: cx.now, bytes, told: false });
        self.number += 1;
        self.all_bytes += u64::from(bytes);
        self.control.on_sent(media.number, bytes, cx.now);
        if cx.probing() && self.config.traced {
            cx.record(Metric::BytesInFlight, self.in_flight());
            cx.record(Metric::PacingRate, rate as u64);
        }
        Some(media)
    }

    /// The contents of the next packet: repairs go first, then media, then padding (libwebrtc: prioritized_packet_queue.cc).
    fn next(&mut self, now: Time) -> Option<(Option<Part>, u32, bool)> {
        while let Some(sequence) = self.repairs.pop_front() {
            if let Some(kept) = self.kept_at(sequence) {
                (kept.waits, kept.at) = (false, now);
                return Some((Some(kept.part), kept.payload, true));
            }
        }
        if let Some((part, payload)) = self.queue.pop_front() {
            self.queued -= u64::from(payload + self.config.headers);
            if self.kept.is_empty() {
                self.oldest = part.sequence;
            }
            self.kept.push_back(Kept { part, payload, at: now, waits: false, missed: false });
            return Some((Some(part), payload, false));
        }
        (self.probe.0 > 0).then(|| (None, self.config.payload(), false))
    }

    fn kept_at(&mut self, sequence: u64) -> Option<&mut Kept> {
        let place = sequence.checked_sub(self.oldest)?;
        self.kept.get_mut(usize::try_from(place).ok()?)
    }

    /// Takes a report of the receiver.
    pub fn on_report(&mut self, report: &Report, stats: &mut Stats, cx: &mut Cx<'_>) {
        match report {
            Report::Arrivals(arrivals) => self.on_arrivals(arrivals, stats, cx),
            Report::Summary(summarised) => self.on_summary(summarised, stats, cx),
            Report::Missing(missing) => self.on_missing(missing, stats, cx.now),
            Report::KeyFrame => {}
        }
        self.take_probe(cx.now);
        let kept = KEPT.max(self.rtt.scaled(KEPT_RTTS, 1));
        while self.kept.front().is_some_and(|oldest| !oldest.waits && oldest.at + kept < cx.now) {
            self.kept.pop_front();
            self.oldest += 1;
        }
    }

    fn on_arrivals(&mut self, arrivals: &Arrivals, stats: &mut Stats, cx: &mut Cx<'_>) {
        let Some(&(highest, arrived, _)) = arrivals.packets.last() else { return };
        let mut told = Vec::new();
        let rtt = self.sent_at(highest).map(|sent| cx.now.since(sent.at).saturating_sub(arrivals.at.since(arrived)));
        self.advance(highest);
        for &(number, at, ecn) in &arrivals.packets {
            if let Some(sent) = self.sent_at(number).filter(|sent| !sent.told) {
                sent.told = true;
                told.push(Told { number, sent: sent.at, bytes: sent.bytes, arrived: Some((at, ecn)) });
            }
        }
        for number in self.first..self.heard.saturating_sub(THRESHOLD) {
            if let Some(sent) = self.sent_at(number).filter(|sent| !sent.told) {
                sent.told = true;
                told.push(Told { number, sent: sent.at, bytes: sent.bytes, arrived: None });
                stats.lost_packets += 1;
            }
        }
        told.sort_unstable_by_key(|one| one.number);
        self.count_rtt(rtt, stats, cx);
        let in_flight = self.in_flight();
        self.control.on_report(&Heard { now: cx.now, packets: &told, rtt, in_flight, summary: None });
        while self.sent.front().is_some_and(|oldest| oldest.told) {
            self.sent.pop_front();
            self.first += 1;
        }
    }

    fn on_summary(&mut self, summarised: &Summarised, stats: &mut Stats, cx: &mut Cx<'_>) {
        let Summarised { summary, last, held } = *summarised;
        let rtt = self.sent_at(last).map(|sent| cx.now.since(sent.at).saturating_sub(held));
        self.advance(last);
        self.count_rtt(rtt, stats, cx);
        let in_flight = self.in_flight();
        self.control.on_report(&Heard { now: cx.now, packets: &[], rtt, in_flight, summary: Some(summary) });
        // The last one may be named again.
        while self.first < last {
            self.sent.pop_front();
            self.first += 1;
        }
    }

    fn count_rtt(&mut self, rtt: Option<Span>, stats: &mut Stats, cx: &mut Cx<'_>) {
        let Some(rtt) = rtt else { return };
        self.rtt = rtt;
        stats.count_rtt(rtt);
        if self.config.traced {
            cx.record(Metric::Rtt, rtt.as_nanos());
        }
    }

    fn sent_at(&mut self, number: u64) -> Option<&mut Sent> {
        let place = number.checked_sub(self.first)?;
        self.sent.get_mut(usize::try_from(place).ok()?)
    }

    /// All packets until this one are out of the network.
    fn advance(&mut self, highest: u64) {
        while self.heard <= highest {
            let number = self.heard;
            let Some(sent) = self.sent_at(number) else { return };
            self.heard_bytes += u64::from(sent.bytes);
            self.heard += 1;
        }
    }

    /// Queues repairs; a part that was sent within an RTT is not sent again (libwebrtc: `RtpPacketHistory::GetPacketAndMarkAsPending`).
    fn on_missing(&mut self, missing: &[u64], stats: &mut Stats, now: Time) {
        let (rtt, counts) = (self.rtt, matches!(self.config.control.feedback, super::control::Feedback::Summary(..)));
        for &sequence in missing {
            let Some(kept) = self.kept_at(sequence).filter(|kept| !kept.waits && kept.at + rtt <= now) else {
                continue;
            };
            kept.waits = true;
            // Where no report tells of packets, those count as lost that are asked for.
            stats.lost_packets += u64::from(counts && !kept.missed);
            kept.missed = true;
            self.repairs.push_back(sequence);
        }
    }
}
