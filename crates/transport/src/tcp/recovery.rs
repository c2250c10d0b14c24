//! Loss detection and the congestion states: RACK-TLP (RFC 8985), F-RTO (RFC 5682) and undo by D-SACK and Eifel
//! detection (RFC 3522). The decisions are taken in the same order as in Linux.

use super::scoreboard::{Delivery, Judgement, Marks, Record};
use super::segment::Segment;
use super::sender::{Forced, Order, Sender, Timer};
use super::ticks::{is_older, timestamp};
use crate::cc::{Congestion, CongestionController, Lost, Phase, Trigger};
use crate::endpoint::Stats;
use crate::recovery::{Prr, RateSampler, prr::PrrAck};
use haltere_net::{Span, Time};

/// The upper bound of the reordering degree (Linux: `tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;
/// The number of recoveries for which a wider reordering window is kept (RFC 8985 section 6.2 step 4).
const WINDOW_PERSIST: u32 = 16;

/// The meaning of an acknowledgement for the oldest data in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// It acknowledges some of it.
    Advance,
    /// It repeats the one before (RFC 5681 section 2), without a report of needless repairs.
    Duplicate,
    /// Neither.
    Other,
}

/// A tail loss probe in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tlp {
    /// The next position to send when the probe had been sent.
    pub high_seq: u64,
    /// Whether the probe retransmitted old data.
    pub retransmission: bool,
}

/// The present (or last) episode of congestion.
#[derive(Clone, Debug)]
pub(super) struct Episode {
    /// The episode ends when this position is acknowledged.
    pub high_seq: u64,
    /// The position of the head when the episode began; set while the reduction may be undone.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions that D-SACK has not yet reported as spurious; -1 before the first.
    pub(super) undo_retrans: i64,
    /// Whether an undo restores the window. A reduction by marks is not restored (Linux: `prior_ssthresh`).
    revocable: bool,
    /// Timestamp of the first retransmission.
    retrans_stamp: Option<u32>,
    /// Whether F-RTO is in progress.
    pub frto: bool,
    /// Largest degree of reordering seen, segments.
    pub reordering: u32,
    pub(super) reordering_seen: bool,
}

impl Episode {
    /// No episode yet, with this smallest degree of reordering.
    pub(super) fn new(reordering: u32) -> Episode {
        Episode {
            high_seq: 0,
            undo_marker: None,
            revocable: true,
            undo_retrans: 0,
            retrans_stamp: None,
            frto: false,
            reordering,
            reordering_seen: false,
        }
    }

    pub(super) fn on_retransmitted(&mut self, now: Time) {
        self.retrans_stamp.get_or_insert(timestamp(now));
        self.undo_retrans = self.undo_retrans.max(0) + 1;
    }

    /// A retransmission was not sent after all.
    pub(super) fn on_withdrawn(&mut self) {
        self.undo_retrans = (self.undo_retrans - 1).max(0);
    }

    /// Whether the acknowledgement echoes a timestamp older than the first retransmission, which means that the
    /// original arrived.
    fn original_arrived(&self, echo: u32) -> bool {
        self.retrans_stamp.is_none_or(|stamp| echo != 0 && is_older(echo, stamp))
    }

    fn may_undo(&self, echo: u32) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == 0 || self.original_arrived(echo))
    }
}

/// RACK's state (RFC 8985 section 5.2). Times are those with which packets are stamped.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    pub now: Time,
    /// The place, in the order of transmission, of the most recently sent segment that was delivered. RFC 8985 compares
    /// times and, if they are equal, positions. A retransmission then counts as older than new data sent just before
    /// it, if several acknowledgements arrive at one instant, as they can on a link without a rate.
    newest: u64,
    rtt: Span,
    advanced: bool,
    steps: u64,
    persist: u32,
    pub(super) duplicate_seen: bool,
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            now: Time::ZERO,
            newest: 0,
            rtt: Span::ZERO,
            advanced: false,
            steps: 1,
            persist: 0,
            duplicate_seen: false,
            last_delivered: 0,
        }
    }
}

impl Rack {
    /// Section 6.2 step 2: records the most recently sent of the segments that were delivered; it was stamped with `sent`.
    ///
    /// If a retransmission seems to have taken less than the minimum RTT, its original arrived. The RFC's other test,
    /// by timestamps, is left out as in Linux: while the first hole is open, a receiver echoes an old timestamp, so
    /// that every SACK of a retransmission would be attributed to its original.
    pub(super) fn advance(&mut self, r: &Record, sent: Time, min_rtt: Option<Span>) {
        let rtt = self.now.since(sent);
        if r.marks.has(Marks::EVER_RETRANS) && min_rtt.is_some_and(|min| rtt < min) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max(r.order);
    }

    /// Section 6.2 step 4: a D-SACK widens the reordering window by a quarter of the minimum RTT, once per round trip.
    pub(super) fn update_window(&mut self, prior_delivered: Option<u64>, delivered: u64) {
        let Some(prior) = prior_delivered.filter(|p| *p > 0) else { return };
        if prior < self.last_delivered {
            self.duplicate_seen = false;
        }
        if self.duplicate_seen {
            self.steps = (self.steps + 1).min(255);
            self.duplicate_seen = false;
            self.last_delivered = delivered;
            self.persist = WINDOW_PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// For how long a segment that was stamped with `sent` is not lost yet.
    fn overdue(&self, sent: Time, window: Span) -> Span {
        (sent + self.rtt + window).since(self.now)
    }
}

/// Counts a segment that is newly lost and informs the controller.
pub(super) fn tell_lost(
    r: &Record,
    now: Time,
    bytes: u64,
    sampler: &mut RateSampler,
    stats: &mut Stats,
    cc: &mut dyn CongestionController,
) {
    sampler.on_lost(bytes);
    stats.lost_packets += 1;
    let (total_delivered, total_lost) = (sampler.delivered(), sampler.lost());
    cc.on_lost(&Lost { now, from: r.seq, to: r.end, bytes, sent: r.tx, total_delivered, total_lost });
}

impl Sender {
    fn reordering_window(&self) -> Span {
        if !self.episode.reordering_seen
            && (self.phase >= Phase::Recovery || self.board.sacked() >= self.episode.reordering)
        {
            return Span::ZERO;
        }
        let quarter = self.rtt.min().unwrap_or(Span::ZERO) / 4;
        (quarter * self.rack.steps).min(self.rtt.srtt().unwrap_or(Span::MAX))
    }

    /// Section 6.2 step 5: marks overdue segments as lost; returns the longest remaining wait of the others.
    fn detect_loss(&mut self) -> Span {
        if !self.rules.rack {
            return self.detect_loss_by_count();
        }
        let window = self.reordering_window();
        let mut wait = Span::ZERO;
        let Sender { board, rack, cc, sampler, stats, mss, clock, .. } = self;
        let judge = |r: &Record| {
            if r.marks.has(Marks::LOST) && !r.marks.has(Marks::RETRANS) {
                return Judgement::Wait;
            }
            if r.order >= rack.newest {
                return Judgement::Stop;
            }
            let left = rack.overdue(clock.stamp(r.sent), window);
            if left.is_zero() {
                Judgement::Lost
            } else {
                wait = wait.max(left);
                Judgement::Wait
            }
        };
        let now = rack.now;
        board.detect_lost(judge, |r| tell_lost(r, now, *mss, sampler, stats, cc.as_mut()));
        wait
    }

    /// Looks for losses if the ACK delivered something. Returns whether the timer was set for the reordering window.
    fn identify_loss(&mut self, now: Time) -> bool {
        if !std::mem::take(&mut self.rack.advanced) || self.board.is_empty() {
            return false;
        }
        let wait = self.detect_loss();
        if wait.is_zero() {
            return false;
        }
        self.set_timer(Timer::Reordering, now, wait + self.ticks.slack());
        true
    }

    /// A segment that was never retransmitted was delivered below the highest one SACKed before. This shows reordering.
    pub(super) fn check_reordering(&mut self, d: &Delivery, prior_highest: u64) {
        if let Some(from) = d.reordered_from.filter(|&r| r < prior_highest) {
            self.note_reordering(from, prior_highest);
        }
    }

    fn note_reordering(&mut self, from: u64, highest: u64) {
        let degree = (highest - from).div_ceil(self.mss) as u32;
        self.episode.reordering = self.episode.reordering.max(degree.min(MAX_REORDERING));
        self.episode.reordering_seen = true;
    }

    /// RFC 8985 section 7.4: decides whether the probe repaired a loss. If the acknowledgement only repeats the one before,
    /// both the original and the probe have arrived.
    pub(super) fn take_probe_ack(&mut self, ack: u64, duplicate: Option<(u64, u64)>, answer: Answer, now: Time) {
        let Some(tlp) = self.tlp.filter(|t| ack >= t.high_seq) else { return };
        if !tlp.retransmission || duplicate.is_some_and(|b| b.1 == tlp.high_seq) {
            self.tlp = None;
        } else if ack > tlp.high_seq {
            self.tlp = None;
            self.episode.high_seq = self.nxt;
            let event = self.congestion(Trigger::Loss, now);
            self.cc.on_congestion(&event);
            self.cwr = true;
            self.prr = None;
            // The probe repaired a loss: the reduction ends as soon as it has begun.
            self.cc.on_recovered(now);
            self.keep_open();
        } else if answer == Answer::Duplicate {
            self.tlp = None;
        }
    }

    /// Notes congestion that begins an episode, and describes it for the controller.
    fn congestion(&mut self, trigger: Trigger, now: Time) -> Congestion {
        self.note_loss();
        let (in_flight, lost) = (self.in_flight(), u64::from(self.board.lost()) * self.mss);
        Congestion { now, trigger, new_episode: true, in_flight, lost }
    }

    fn any_retransmission_done(&self) -> bool {
        self.board.retransmitted() > 0 || self.board.head().is_some_and(|h| h.marks.has(Marks::EVER_RETRANS))
    }

    fn keep_open(&mut self) {
        let disorder = self.board.sacked() + self.board.lost() > 0 || self.any_retransmission_done();
        let phase = if disorder { Phase::Disorder } else { Phase::Open };
        if self.phase != phase {
            self.phase = phase;
            self.episode.high_seq = self.nxt;
        }
    }

    fn try_to_open(&mut self, now: Time) {
        if !self.any_retransmission_done() {
            self.episode.retrans_stamp = None;
        }
        if self.ece {
            self.begin_reduction(Trigger::Ecn, now);
        }
        if self.phase != Phase::Reducing {
            self.keep_open();
        }
    }

    /// RFC 3168 section 6.1.2: marks reduce the window as a loss would, once per round trip (Linux: `tcp_enter_cwr`).
    /// The algorithm may also request this itself.
    pub(super) fn begin_reduction(&mut self, trigger: Trigger, now: Time) {
        self.episode.revocable = false;
        if self.phase < Phase::Reducing {
            self.episode.undo_marker = None;
            self.reduce(trigger, now);
            self.phase = Phase::Reducing;
        }
    }

    /// Reduces the window step by step to the target that the controller sets (Linux: `tcp_init_cwnd_reduction`).
    fn reduce(&mut self, trigger: Trigger, now: Time) {
        let prior = self.cc.window();
        self.episode.high_seq = self.nxt;
        self.tlp = None;
        let event = self.congestion(trigger, now);
        self.cc.on_congestion(&event);
        if self.rules.prr && !self.cc.owns_recovery() {
            self.prr = Some(Prr::new(prior, self.cc.ssthresh()));
        }
        self.cwr = true;
    }

    fn begin_undo(&mut self) {
        if !self.rules.undo {
            return;
        }
        let probe = i64::from(self.tlp.is_some_and(|t| t.retransmission));
        let out = i64::from(self.board.retransmitted()) + probe;
        self.episode.undo_marker = Some(self.una);
        self.episode.undo_retrans = if out == 0 { -1 } else { out };
    }

    /// Takes the reduction back and all that is marked lost for delivered.
    fn undo_with_losses(&mut self) {
        self.sampler.on_found(u64::from(self.board.lost()) * self.mss);
        self.board.unmark_lost();
        self.undo();
    }

    /// Takes the reduction back.
    fn undo(&mut self) {
        let reached = self.prr.take().map(|prr| prr.window());
        if self.episode.revocable {
            self.cc.on_undo();
            self.cwr = false;
        } else if let Some(window) = reached {
            // Marks are not taken back: the window stays where the reduction has come to (Linux: `prior_ssthresh` is 0).
            self.cc.set_window(window);
        }
        self.episode.undo_marker = None;
        self.rack.advanced = true;
    }

    fn undo_by_duplicates(&mut self) -> bool {
        if self.episode.undo_marker.is_none() || self.episode.undo_retrans != 0 {
            return false;
        }
        self.rack.persist = (self.rack.persist + 1).min(WINDOW_PERSIST);
        self.undo();
        true
    }

    /// All data of the episode is acknowledged.
    fn leave(&mut self, echo: u32, now: Time) {
        if self.episode.may_undo(echo) {
            self.undo();
        } else if self.rack.persist > 0 {
            self.rack.persist -= 1;
        }
        self.phase = Phase::Open;
        self.prr = None;
        self.cc.on_recovered(now);
    }

    fn enter_recovery(&mut self, now: Time) {
        if !self.any_retransmission_done() {
            self.episode.retrans_stamp = None;
        }
        self.begin_undo();
        if self.phase == Phase::Reducing {
            // A reduction of the window is already in progress.
            let event = Congestion { new_episode: false, ..self.congestion(Trigger::Loss, now) };
            self.cc.on_congestion(&event);
            self.cc.on_loss_while_reducing(self.window());
            if let Some(prr) = &mut self.prr {
                prr.aim(self.cc.ssthresh());
            }
        } else {
            self.episode.revocable = !self.ece;
            self.reduce(Trigger::Loss, now);
        }
        self.phase = Phase::Recovery;
        if self.is_held() && self.board.head().is_some_and(|h| h.marks.has(Marks::LOST)) {
            // RFC 6675 section 5 step 4.3: the first retransmission is sent regardless of the window, which is already
            // reduced.
            self.force(Forced::Head);
            self.restart_timeout(now);
        }
    }

    /// Whether the window stays where a reduction has set it at once. This is so without PRR.
    pub(super) fn is_held(&self) -> bool {
        !self.rules.prr && matches!(self.phase, Phase::Reducing | Phase::Recovery) && !self.cc.owns_recovery()
    }

    /// The congestion state machine. It runs for each ACK that is not ordinary. Returns whether the timer was set for
    /// the reordering window.
    pub(super) fn fast_retransmit_alert(&mut self, s: &Segment, d: &Delivery, answer: Answer, now: Time) -> bool {
        self.episode.revocable &= !self.ece;
        if self.phase == Phase::Open {
            self.episode.retrans_stamp = None;
        } else if !self.rules.sack && self.una == self.episode.high_seq && self.phase == Phase::Recovery {
            // RFC 6582 section 4: without SACK the state is kept until more is acknowledged. Otherwise the duplicates
            // of retransmitted data would look like another loss (Linux: `tcp_is_non_sack_preventing_reopen`).
            self.board.keep_duplicates(0);
            return false;
        } else if self.una >= self.episode.high_seq && self.phase == Phase::Recovery {
            self.leave(s.echo, now);
        } else if self.una > self.episode.high_seq && self.phase == Phase::Reducing {
            // Data sent after the reduction is acknowledged, so the peer has received the CWR flag.
            self.prr = None;
            self.phase = Phase::Open;
            self.cc.on_recovered(now);
        }
        let mut keep_timer = false;
        match self.phase {
            Phase::Recovery => {
                if answer == Answer::Advance && self.undo_partially(s.echo) {
                    self.order = Order::NoRepairs;
                    return false;
                }
                if self.undo_by_duplicates() {
                    self.try_to_open(now);
                }
                keep_timer |= self.identify_loss(now);
                if self.phase == Phase::Recovery || self.board.lost() == 0 {
                    return keep_timer;
                }
            }
            Phase::Loss => {
                self.process_loss(s, d, answer, now);
                let before = self.board.retransmitted();
                keep_timer |= self.identify_loss(now);
                let lost_again = before > self.board.retransmitted();
                if self.phase != Phase::Open && !lost_again {
                    return keep_timer;
                }
                return self.open_or_recover(now) | keep_timer;
            }
            Phase::Open | Phase::Disorder | Phase::Reducing => return self.open_or_recover(now),
        }
        self.enter_recovery(now);
        keep_timer
    }

    fn open_or_recover(&mut self, now: Time) -> bool {
        if self.phase <= Phase::Disorder {
            self.undo_by_duplicates();
        }
        let keep_timer = self.identify_loss(now);
        if self.board.lost() == 0 {
            self.try_to_open(now);
        } else {
            self.enter_recovery(now);
        }
        keep_timer
    }

    /// A partial ACK in recovery that the original caused. Returns whether processing ends here because retransmissions
    /// are still in flight.
    fn undo_partially(&mut self, echo: u32) -> bool {
        if self.episode.undo_marker.is_none() || !self.episode.original_arrived(echo) {
            return false;
        }
        let highest = self.board.highest_sacked(self.una);
        if highest > self.una {
            self.note_reordering(self.una, highest);
        }
        if self.board.retransmitted() > 0 {
            return true;
        }
        if !self.any_retransmission_done() {
            self.episode.retrans_stamp = None;
        }
        self.undo_with_losses();
        self.keep_open();
        false
    }

    /// RFC 5682 section 3.1, with SACK.
    fn process_loss(&mut self, s: &Segment, d: &Delivery, answer: Answer, now: Time) {
        let recovered = self.una >= self.episode.high_seq;
        if answer == Answer::Advance && self.episode.may_undo(s.echo) {
            return self.undo_loss(now);
        }
        if self.episode.frto {
            if d.original_delivered && self.rules.undo {
                return self.undo_loss(now);
            }
            if self.nxt > self.episode.high_seq {
                if d.sacked > 0 || answer == Answer::Duplicate {
                    self.episode.frto = false;
                }
            } else if answer == Answer::Advance && !recovered {
                self.episode.high_seq = self.nxt;
                if self.can_send_new() {
                    self.order = Order::NewOnly;
                    return;
                }
                self.episode.frto = false;
            }
        }
        if recovered {
            self.leave(s.echo, now);
        }
    }

    fn undo_loss(&mut self, now: Time) {
        self.undo_with_losses();
        self.retransmits = 0;
        self.phase = Phase::Open;
        self.cc.on_recovered(now);
    }

    /// The timer of the reordering window expired.
    pub(super) fn on_reordering_timeout(&mut self, now: Time) {
        let (before, lost) = (self.board.in_flight(), self.stats.lost_packets);
        self.detect_loss();
        if before != self.board.in_flight() && self.phase != Phase::Recovery {
            self.enter_recovery(now);
            let (in_flight, mss) = (self.in_flight(), self.mss);
            let safe = lost == self.stats.lost_packets;
            if let Some(prr) = &mut self.prr {
                prr.on_ack(PrrAck { delivered: mss, in_flight, safe, mss });
            }
        }
        if self.timer() != Some(Timer::Rto) {
            self.rearm_rto(now);
        }
    }

    /// RFC 6298 section 5.4 to 5.6, RFC 5682 step 1.
    pub(super) fn on_retransmission_timeout(&mut self, now: Time) {
        if self.board.is_empty() {
            return;
        }
        let Sender { board, rack, rules, cc, sampler, stats, mss, clock, .. } = self;
        let news = |r: &Record| tell_lost(r, now, *mss, sampler, stats, cc.as_mut());
        let is_lost = |r: &Record| !rules.rack || rack.overdue(clock.stamp(r.sent), Span::ZERO).is_zero();
        board.mark_all_lost(is_lost, news);
        let reduce = self.phase <= Phase::Disorder
            || self.episode.high_seq <= self.una
            || (self.phase == Phase::Loss && self.retransmits == 0);
        self.prr = None;
        self.board.keep_duplicates(0);
        let event = Congestion { new_episode: reduce, ..self.congestion(Trigger::Timeout, now) };
        self.cc.on_congestion(&event);
        if reduce {
            self.begin_undo();
            self.episode.revocable = true;
        }
        self.cwr = true;
        if self.phase <= Phase::Disorder && self.board.sacked() >= self.rules.loss_threshold {
            self.episode.reordering = self.episode.reordering.min(self.rules.loss_threshold);
        }
        self.episode.frto = self.rules.frto && (self.phase < Phase::Recovery || self.retransmits > 0);
        self.phase = Phase::Loss;
        self.episode.high_seq = self.nxt;
        self.tlp = None;
        self.retransmits += 1;
        self.stats.timeouts += 1;
        self.rtt.back_off();
        self.set_timer(Timer::Rto, now, self.rto());
        self.force(Forced::Head);
    }
}
