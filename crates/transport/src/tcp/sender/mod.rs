//! The sending half of a connection: what may be sent. Acknowledgements are processed in `acks`; the timers are in
//! `timers`; when pacing lets data go is in `pacing`; what the own node's interface holds and refuses is in `local`.

mod acks;
mod cuts;
mod local;
mod pacing;
mod timers;

use super::accurate::Estimated;
use super::clock::Clock;
use super::config::{Config, Rules};
use super::echo::EchoRule;
use super::recovery::{Episode, Rack, Tlp};
use super::rtt::Rtt;
use super::scoreboard::{Record, Scoreboard};
use super::supersegment::SuperSegment;
use super::ticks::Ticks;
use crate::cc::{self, CongestionController, Phase};
use crate::endpoint::Stats;
use crate::path::PathView;
use crate::recovery::{Pacer, Prr, RateSampler, Reported};
use haltere_net::{Cx, PathId, Span, Time};

use cuts::Cuts;
use local::Local;
pub(super) use local::Repair;
pub(super) use pacing::rate_of;

/// The purpose of the retransmission timer. There is one timer, as in Linux: arming it for one purpose disarms the
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    /// Retransmission timeout.
    Rto,
    /// Tail loss probe.
    Probe,
    /// The end of RACK's reordering window.
    Reordering,
}

/// Whether lost or new data is sent first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// Retransmissions, then new data.
    LostFirst,
    /// F-RTO's step 2b: new data only; retransmissions if there is none.
    NewOnly,
    /// New data only: repairs that are in flight seem unnecessary, and more would be, too (Linux: `tcp_try_undo_partial`).
    NoRepairs,
}

/// A segment that is sent regardless of window and pacing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Forced {
    /// A tail loss probe.
    Probe,
    /// The first segment in flight, after a timeout.
    Head,
}

/// A data segment to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub seq: u64,
    pub len: u32,
    pub fin: bool,
    /// Whether it carries data that was not sent before.
    pub fresh: bool,
    /// Whether it reports a reduced window (CWR).
    pub cwr: bool,
    /// Whether it is sent with PSH.
    pub push: bool,
    /// Whether it begins a super-segment.
    pub begins: bool,
}

impl Outgoing {
    /// A segment without data, or with retransmitted data.
    pub(super) fn plain(seq: u64, len: u32) -> Outgoing {
        Outgoing { seq, len, fin: false, fresh: false, cwr: false, push: false, begins: false }
    }
}

/// How often a process that answers reads the clock (Linux: `tcp_rcv_space_adjust`, `tcp_write_xmit`).
const READINGS: u32 = 2;

/// How much of the window was used recently (Linux: `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    limited: bool,
    max_out: u32,
    until: u64,
}

/// The sending half.
pub(super) struct Sender {
    pub mss: u64,
    pub(super) board: Scoreboard,
    pub(super) cc: Box<dyn CongestionController>,
    pub(super) rtt: Rtt,
    pub(super) sampler: RateSampler,
    pub(super) pacer: Pacer,
    paced: bool,
    pub(super) rules: Rules,
    /// The data that is sent together, and is paced together.
    pub(super) together: SuperSegment,
    /// When pacing allows the next segment, if one waits for that; otherwise [`Time::NEVER`].
    pacing_wake: Time,
    /// First position not acknowledged.
    pub una: u64,
    /// Next position to send.
    pub nxt: u64,
    pub(super) written: u64,
    pub(super) fin: bool,
    pub(super) window_end: u64,
    /// The largest window the peer has offered.
    pub(super) largest_window: u64,
    /// Segments that the peer said arrived twice (Linux: `dsack_dups`).
    pub(super) duplicates: u32,
    /// Whether a timer has just expired.
    firing: bool,
    pub(super) phase: Phase,
    pub(super) episode: Episode,
    pub(super) rack: Rack,
    pub(super) tlp: Option<Tlp>,
    pub(super) prr: Option<Prr>,
    pub(super) order: Order,
    pub(super) ticks: Ticks,
    pub(super) clock: Clock,
    timer: Option<(Timer, Time)>,
    /// When the timer was set, and for how long.
    timer_set: (Time, Span),
    pub retransmits: u32,
    forced: Option<Forced>,
    usage: Usage,
    sent_new: bool,
    /// How marks are echoed if the connection uses ECN, the count of accurate ECN, and whether the present
    /// acknowledgement reports marks.
    pub ecn: Option<EchoRule>,
    pub(super) estimated: Estimated,
    pub(super) ece: bool,
    /// Bytes delivered by acknowledgements that echoed marks.
    marked: u64,
    /// Whether the next new segment reports a reduced window.
    pub(super) cwr: bool,
    pub(super) last_send: Time,
    local: Local,
    /// Where the last segment ended that was not full (Linux: `snd_sml`).
    small_end: u64,
    /// Boundaries in the data that segments do not cross.
    pub(super) cuts: Cuts,
    /// Whether more data than was written is about to be written, so that its end is no reason to push.
    pub(super) more: bool,
    /// Whether what is sent together has a mapping of its own: a subflow of MPTCP.
    pub(in crate::tcp) mapped: bool,
    /// The paths of the connection of which this is a subflow, as coupled congestion controls see them; empty without one.
    pub(super) siblings: Vec<PathView>,
    /// Bytes delivered when the last two losses were found.
    pub(super) losses: (u64, u64),
    pub(super) path: PathId,
    pub(super) reported: Option<Box<Reported>>,
    pub stats: Stats,
}

impl Sender {
    pub(super) fn new(config: &Config, stream: &haltere_net::rng::Stream) -> Sender {
        let mss = config.mss();
        let cc = config.controller(stream);
        let paced = config.paced || cc.pacing_rate().is_some();
        let clock = Clock::new(config);
        Sender {
            mss,
            board: Scoreboard::default(),
            cc,
            rtt: Rtt::new(config.rto, clock.unit()),
            sampler: RateSampler::default(),
            pacer: Pacer::new(0),
            paced,
            rules: config.rules(),
            together: SuperSegment::default(),
            pacing_wake: Time::NEVER,
            una: 0,
            nxt: 0,
            written: 0,
            fin: false,
            window_end: 0,
            largest_window: 0,
            duplicates: 0,
            firing: false,
            phase: Phase::Open,
            episode: Episode::new(config.loss_threshold),
            rack: Rack::default(),
            tlp: None,
            prr: None,
            order: Order::LostFirst,
            ticks: Ticks::new(config.tick, config.phase.as_nanos()),
            clock,
            timer: None,
            timer_set: (Time::ZERO, Span::ZERO),
            retransmits: 0,
            forced: None,
            usage: Usage::default(),
            sent_new: false,
            ecn: None,
            estimated: Estimated::default(),
            ece: false,
            marked: 0,
            cwr: false,
            last_send: Time::ZERO,
            local: Local::default(),
            small_end: 0,
            cuts: Cuts::default(),
            more: false,
            mapped: false,
            siblings: Vec::new(),
            losses: (0, 0),
            path: config.path,
            reported: None,
            stats: Stats { rtts: config.rtts.then(Default::default), ..Stats::default() },
        }
    }

    /// The handshake is complete: sets the peer's window and the RTT of the handshake, unless a packet was
    /// retransmitted.
    pub(super) fn open(&mut self, window: u64, rtt: Option<Span>, now: Time) {
        self.offer(window);
        self.confirm(rtt, now);
        self.clock.wake_process(now);
        self.cc.on_established(&cc::Established { now: self.clock.stamp(now), rtt });
    }

    /// The peer's first window allows this many bytes.
    pub(super) fn offer(&mut self, window: u64) {
        self.window_end = self.una + window;
        self.largest_window = window;
    }

    /// Processes the RTT of the handshake.
    pub(super) fn confirm(&mut self, rtt: Option<Span>, now: Time) {
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, 0, 0);
            self.rtt.sample_min(now, rtt);
            self.stats.count_rtt(rtt);
        } else {
            self.rtt.fall_back();
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        // Linux checks at each write whether the sender had run out of data (draft-cheng-iccrg-delivery-rate-estimation
        // 3.4).
        self.local.retry();
        if self.unsent() < self.mss
            && self.local.is_empty()
            && self.in_flight() < self.window()
            && self.board.lost() <= self.board.retransmitted()
        {
            self.sampler.on_app_limited(self.in_flight());
        }
        self.together.extend(self.written);
        match self.unsent() {
            0 if self.mapped => self.together.begin_mapped(self.written),
            0 => self.together.begin(),
            _ => {}
        }
        self.written += bytes;
    }

    pub(super) fn finish(&mut self) {
        self.fin = true;
    }

    /// The position after all that was written, FIN included.
    fn write_end(&self) -> u64 {
        self.written + u64::from(self.fin)
    }

    pub(super) fn unsent(&self) -> u64 {
        self.write_end().saturating_sub(self.nxt)
    }

    /// Whether our stream was ended and all of it, FIN included, was acknowledged.
    pub(super) fn has_finished(&self) -> bool {
        self.fin && self.una == self.write_end()
    }

    /// Data bytes that one segment may carry. It is at most half of the largest window the peer has offered. Otherwise
    /// a sender of large segments and a receiver of small windows would wait for each other forever (RFC 9293 section
    /// 3.8.6.2.1; Linux: `tcp_bound_to_half_wnd`).
    fn largest_segment(&self) -> u64 {
        self.mss.min((self.largest_window / 2).max(1)).min(self.buffer())
    }

    /// Whether everything that was sent is acknowledged.
    #[inline]
    pub(super) fn has_nothing_in_flight(&self) -> bool {
        self.board.is_empty()
    }

    /// Whether only the peer's window blocks data while nothing is in flight that would bring a window update.
    pub(super) fn is_blocked_by_peer(&self) -> bool {
        let data = self.written.saturating_sub(self.nxt).min(self.largest_segment());
        data > 0 && self.board.is_empty() && data > self.window_end.saturating_sub(self.nxt)
    }

    /// Bytes in flight, counted in whole segments as Linux does.
    pub(super) fn in_flight(&self) -> u64 {
        u64::from(self.board.in_flight()) * self.mss
    }

    /// The window in force: PRR's during recovery, the controller's otherwise.
    pub(super) fn window(&self) -> u64 {
        self.prr.map_or_else(|| self.cc.window(), |p| p.window())
    }

    /// Sends `what` at the next opportunity.
    pub(super) fn force(&mut self, what: Forced) {
        self.forced = Some(what);
    }

    /// Whether there is new data that the peer's window allows.
    pub(super) fn can_send_new(&self) -> bool {
        self.unsent() > 0 && self.sendable_end() > self.nxt
    }

    /// Whether new data can be sent at once.
    pub(super) fn is_ready(&self) -> bool {
        self.can_send_new() && self.has_room()
    }

    fn has_room(&self) -> bool {
        self.in_flight() + self.mss <= self.window()
    }

    /// The next segment that may be sent now. It counts as sent.
    pub(super) fn poll(&mut self, cx: &mut Cx<'_>) -> Option<Outgoing> {
        self.pacing_wake = Time::NEVER;
        let may_send = !self.has_nothing_to_send() && !self.local.is_refused() && self.may_pace(cx.now);
        // A timeout and a probe set their timers themselves.
        let repairs = if self.forced.is_none() { self.stats.retransmitted_packets } else { u64::MAX };
        let out = if may_send { self.pick(cx) } else { None };
        match out {
            Some(segment) => {
                self.charge(cx.now, u64::from(segment.len));
                self.last_send = cx.now;
                if repairs < self.stats.retransmitted_packets && segment.seq <= self.una {
                    self.restart_timeout(cx.now);
                }
            }
            None => {
                self.settle(cx.now);
                self.trace(cx);
            }
        }
        out
    }

    /// Whether there is neither new data nor anything in flight, as mostly at a receiver.
    #[inline]
    fn has_nothing_to_send(&self) -> bool {
        self.board.is_empty() && self.unsent() == 0 && self.forced.is_none() && self.order == Order::LostFirst
    }

    fn pick(&mut self, cx: &mut Cx<'_>) -> Option<Outgoing> {
        if self.forced.is_none() && self.together.is_begun() {
            let lost = self.board.next_lost();
            if let Some(record) = lost
                && self.together.is_again()
            {
                return Some(self.retransmit(&record, cx.now));
            }
            let new = self.send_next(cx.now);
            if self.tlp.is_some_and(|probe| self.nxt <= probe.high_seq) {
                // The rest of a probe arms no other.
                self.sent_new = false;
            }
            if new.is_some() || lost.is_none() {
                return new;
            }
            // The peer's window ends within the super-segment. What is lost must not wait for the rest of it.
            let sent = self.together.withdraw(0);
            self.pace(cx.now, sent);
        }
        match self.forced.take() {
            Some(Forced::Probe) => return self.send_probe(cx.now),
            Some(Forced::Head) => {
                let head = *self.board.head()?;
                return Some(self.retransmit(&head, cx.now));
            }
            None => {}
        }
        if self.order == Order::NoRepairs {
            return self.send_new(cx.now);
        }
        if self.order == Order::NewOnly {
            if let Some(new) = self.send_new(cx.now) {
                return Some(new);
            }
            if self.nxt <= self.episode.high_seq {
                self.episode.frto = false;
                self.order = Order::LostFirst;
            }
        }
        if self.order == Order::LostFirst
            && let Some(record) = self.board.next_lost()
            && self.has_room()
            && !self.is_held_back(1, Repair::Yes)
        {
            self.begin_again();
            return Some(self.retransmit(&record, cx.now));
        }
        self.send_new(cx.now)
    }

    fn send_new(&mut self, now: Time) -> Option<Outgoing> {
        if self.unsent() == 0 {
            return None;
        }
        let window = self.window();
        let room = window.saturating_sub(self.in_flight()) / self.mss;
        if room == 0 || !self.begin_together(window, room, now) {
            return None;
        }
        self.send_next(now)
    }

    /// Sends the next new segment regardless of the congestion window.
    fn send_next(&mut self, now: Time) -> Option<Outgoing> {
        let room = self.sendable_end().saturating_sub(self.nxt);
        let data = (self.written.min(self.cuts.next()).saturating_sub(self.nxt)).min(self.largest_segment());
        if data > room || self.unsent() == 0 || (data == 0 && !self.fin) {
            return None;
        }
        let fin = self.fin && self.nxt + data == self.written;
        let small = data < self.largest_segment();
        if small && !fin && self.rules.nagle && self.nxt + data == self.written && self.small_end > self.una {
            return None;
        }
        if small {
            self.small_end = self.nxt + data;
        }
        if self.board.is_empty() && self.together.is_fresh() {
            self.clock.begin_to_write(READINGS, now);
        } else if self.together.begins() {
            self.clock.write_on(now);
        }
        let now = self.clock.written(now);
        let idle = (self.board.is_empty() && self.stats.sent_packets > 0).then(|| now.since(self.last_send));
        let stamp = self.clock.stamp(now);
        self.tell_sent(stamp, data, idle);
        let seq = self.nxt;
        let outstanding = u64::from(self.board.out()) * self.mss;
        let tx = self.sampler.on_sent(stamp, outstanding).with_in_flight(self.in_flight() + self.mss);
        let push = self.together.ends_several() || (data > 0 && seq + data == self.written && !self.more);
        let cwr = self.ecn.is_some() && std::mem::take(&mut self.cwr);
        let begins = self.together.begins();
        let out = Outgoing { seq, len: data as u32, fin, fresh: data > 0, cwr, push, begins };
        self.board.push(&out, self.clock.read(now), tx);
        self.nxt = seq + data + u64::from(fin);
        self.cuts.pass(self.nxt);
        self.sent_new = true;
        self.stats.sent_packets += 1;
        if let Some(prr) = &mut self.prr {
            prr.on_sent(self.mss);
        }
        Some(out)
    }

    /// Tells the congestion control of data that leaves, at a time as the clock has it.
    // A call would cost more than what is done.
    #[inline(always)]
    fn tell_sent(&mut self, stamp: Time, bytes: u64, after_idle: Option<Span>) {
        self.cc.on_sent(&cc::Sent {
            now: stamp,
            bytes,
            in_flight: self.in_flight(),
            total_delivered: self.sampler.delivered(),
            after_idle,
            app_limited: self.sampler.is_app_limited(),
            timeout: if self.rules.idle_restart { self.rto() } else { Span::MAX },
        });
    }

    /// Retransmits a segment. The caller decides whether that counts as a repair.
    fn send_again(&mut self, record: &Record, now: Time) -> Outgoing {
        let &Record { seq, end, fin, .. } = record;
        let stamp = self.clock.stamp(now);
        self.tell_sent(stamp, end - seq - u64::from(fin), None);
        let outstanding = u64::from(self.board.out()) * self.mss;
        let tx = self.sampler.on_sent(stamp, outstanding).with_in_flight(self.in_flight() + self.mss);
        let mut push = self.board.send_again(seq, self.clock.read(now), tx);
        if self.together.ends_several() {
            self.board.mark_pushed();
            push = true;
        }
        self.stats.sent_packets += 1;
        self.stats.retransmitted_packets += 1;
        Outgoing { fin, push, ..Outgoing::plain(seq, (end - seq - u64::from(fin)) as u32) }
    }

    fn retransmit(&mut self, record: &Record, now: Time) -> Outgoing {
        let out = self.send_again(record, now);
        self.board.mark_retransmitted(record.seq);
        self.episode.on_retransmitted(now);
        if let Some(prr) = &mut self.prr {
            prr.on_sent(self.mss);
        }
        out
    }

    /// A tail loss probe (RFC 8985 section 7.3): new data if there is any, otherwise the last segment again. As in
    /// Linux, it is not a repair of a loss: it neither counts as in flight nor affects undo.
    /// New data is a super-segment as far as the window has room, and one segment at least (Linux: `tcp_write_xmit`).
    fn send_probe(&mut self, now: Time) -> Option<Outgoing> {
        if self.unsent() > 0 {
            let window = self.window();
            self.fill_together(window, (window.saturating_sub(self.in_flight()) / self.mss).max(1));
        }
        let new = self.send_next(now);
        let rest = self.together.left() * self.mss;
        let out = match new {
            Some(out) => Some(out),
            None => {
                let last = *self.board.last()?;
                Some(self.send_again(&last, now))
            }
        };
        self.sent_new = false;
        self.stats.probes += 1;
        let high_seq = (self.nxt + rest).min(self.written + u64::from(self.fin)).min(self.sendable_end().max(self.nxt));
        self.tlp = Some(Tlp { high_seq, retransmission: new.is_none() });
        self.timer = None;
        self.rearm_rto(now);
        out
    }

    /// After a group of segments: records how much of the window was used, and arms the timers.
    fn settle(&mut self, now: Time) {
        self.together.settle(self.nxt);
        let sent = std::mem::take(&mut self.sent_new);
        let waited = self.together.waited_for_window();
        if !sent && self.unsent() == 0 {
            return;
        }
        let limited = waited || !self.has_room();
        if sent || limited {
            let u = &mut self.usage;
            let out = self.board.out();
            if self.una >= u.until || limited || (!u.limited && out > u.max_out) {
                *u = Usage { limited, max_out: out, until: self.nxt };
            }
        }
        if sent {
            if matches!(self.timer, None | Some((Timer::Probe, _))) {
                self.rearm_rto(now);
            }
            self.schedule_probe(now, self.head_sent(now));
        }
    }

    /// Linux's `tcp_is_cwnd_limited`.
    fn window_limited(&self) -> bool {
        self.usage.limited
            || (self.cc.in_slow_start() && self.cc.window() < 2 * u64::from(self.usage.max_out) * self.mss)
    }
}
