//! CDG (D. A. Hayes, G. Armitage, "Revisiting TCP congestion control using delay gradients", IFIP Networking 2011; Linux
//! 6.12 `tcp_cdg.c`).
//!
//! Reno that backs off before losses. The gradient g is the increase of the smallest and the largest RTT from one round
//! to the next, smoothed over eight rounds. The window is cut to 0.7 of itself with probability 1 - e^(-g / 3 ms)
//! (section 3.1). Five unsuccessful backoffs suspend this, as happens where other flows fill the queue (3.3). A shadow
//! window records what a backoff gave up, so that a loss does not take it a second time (3.4).
//!
//! Linux differs by an exit from slow start of HyStart's kind, and by halving the window at every loss; the paper, and CDG
//! over QUIC with it, does so only if the queue is full, as the gradients of least and largest RTT tell (3.2). In both the
//! gradient is kept as a sum, and times the rounds missing until there are eight.

use super::observed::Cumulative;
use super::windows::{Windows, by_windows};
use super::{Ack, Ask, Config, Congestion, CongestionController, Description, Implementation, PathView, Phase, Sent, SlowStart, Startup, Trigger, whole};
use haltere_net::rng::Stream;
use haltere_net::{Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    label: "CDG",
    linux: Some("cdg"),
    slow_start: Startup::OwnExit,
    ..Implementation::new(
        Description {
            name: "cdg",
            summary: "Reno that backs off at random by how fast RTTs grow",
            reference: "Hayes, Armitage, IFIP Networking 2011; Linux 6.12 tcp_cdg.c",
        },
        |config| Box::new(Cdg::new(config)),
    )
};

/// Rounds over which gradients are summed.
const ROUNDS: usize = 8;
/// 1/G of the sum of gradients, per us: 1 / (3 ms x 8 rounds), as Linux rounds it (`backoff_factor`).
const SCALE: f64 = 42e-6;
/// The window after a backoff, in 1/1024: the root of a half in Linux, 0.7 in the paper.
const BETA_LINUX: u64 = 724;
const BETA: u64 = 717;
/// The number of unsuccessful backoffs after which further ones are suspended (`use_ineff`).
const IN_VAIN: u32 = 5;
/// A sum of gradients below this, us, shows that backing off has helped.
const HELPED: i64 = -32;
/// Sums of gradients smaller than half of this, us, count as zero where the queue is estimated.
const NOISE: i64 = 64;
/// The largest count of recent delayed ACKs. While it is not 0, an ACK of one segment only lowers the smallest RTT.
const DELAYED_MOST: u32 = 5;
/// Slow start's exit: the gap that ends a train of ACKs, the smallest delay threshold, and the number of samples that a
/// round needs.
const TRAIN_GAP: Span = Span::from_millis(3);
const LEAST_DELAY: i64 = 125;
const SAMPLES: u32 = 8;

/// The least and the largest RTT of a round, or by how much they grew, us.
#[derive(Clone, Copy, Default, Debug)]
struct Extremes {
    least: i64,
    largest: i64,
}

/// The estimated state of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Queue {
    Unknown,
    Full,
    NotFull,
}

/// CDG.
#[derive(Clone, Debug)]
pub struct Cdg {
    w: Windows,
    stream: Stream,
    exit: Option<Exit>,
    rtt: Option<Extremes>,
    previous: Option<Extremes>,
    gradients: [Extremes; ROUNDS],
    next: usize,
    filled: bool,
    round_end: u64,
    shadow: u64,
    in_vain: u32,
    queue: Queue,
    acked: Cumulative,
    delayed: u32,
    reduction: Reduction,
}

/// The state of a reduction that CDG began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reduction {
    None,
    /// The transport has been asked for it.
    Asked,
    /// The window has been cut. This position must be acknowledged before the next round begins.
    Until(u64),
    /// A reduction has ended.
    Over,
}

/// The kernel's exit from slow start.
#[derive(Clone, Copy, Default, Debug)]
struct Exit {
    least: i64,
    train: Option<(Time, Time)>,
    samples: u32,
}

impl Exit {
    /// Whether slow start ends with this ACK (`tcp_cdg_hystart_update`).
    fn is_due(&mut self, ack: &Ack, round: Extremes) -> bool {
        let now = ack.now;
        self.least = if self.least == 0 { round.least } else { self.least.min(round.least) };
        match self.train.filter(|_| ack.window_limited) {
            None => self.train = Some((now, now)),
            Some((start, last)) if now.since(last) < TRAIN_GAP => {
                self.train = Some((start, now));
                if now.since(start).as_micros() as i64 > (self.least / 2).max(LEAST_DELAY) {
                    return true;
                }
            }
            Some(_) => {}
        }
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        round.least > (self.least + self.least / 8).max(LEAST_DELAY)
    }

    fn begin_round(&mut self) {
        self.train = None;
        self.samples = 0;
    }
}

impl Cdg {
    pub(super) fn new(config: Config) -> Cdg {
        let w = Windows::new(&config, SlowStart::Standard);
        Cdg {
            exit: (config.slow_start.is_none() && w.as_linux()).then(Exit::default),
            shadow: w.window,
            w,
            stream: config.stream,
            rtt: None,
            previous: None,
            gradients: [Extremes::default(); ROUNDS],
            next: 0,
            filled: false,
            round_end: 0,
            in_vain: 0,
            queue: Queue::Unknown,
            acked: Cumulative::default(),
            delayed: 0,
            reduction: Reduction::None,
        }
    }

    /// Processes the ACK's RTT, unless the receiver may have delayed the ACK (`tcp_cdg_acked`).
    fn observe(&mut self, ack: &Ack) {
        let segments = self.acked.take(ack.acked_to, self.w.mss);
        let Some(rtt) = ack.rtt.map(|rtt| rtt.as_micros() as i64).filter(|rtt| *rtt > 0) else { return };
        if self.w.as_linux() && matches!(ack.phase, Phase::Open | Phase::Reducing) {
            if segments == 1 && self.delayed > 0 {
                self.delayed -= 1;
                if let Some(round) = &mut self.rtt {
                    round.least = round.least.min(rtt);
                }
                return;
            }
            if segments > 1 && self.delayed < DELAYED_MOST {
                self.delayed += 1;
            }
        }
        let round = self.rtt.get_or_insert(Extremes { least: rtt, largest: rtt });
        *round = Extremes { least: round.least.min(rtt), largest: round.largest.max(rtt) };
    }

    /// The round's gradient, summed over eight rounds (`tcp_cdg_grad`).
    fn gradient(&mut self, round: Extremes, previous: Extremes) -> i64 {
        let new = Extremes { least: round.least - previous.least, largest: round.largest - previous.largest };
        self.gradients[self.next] = new;
        self.next = (self.next + 1) % ROUNDS;
        let (least, largest) = self.gradients.iter().fold((0, 0), |sum, g| (sum.0 + g.least, sum.1 + g.largest));
        let mut gradient = if least > 0 { least } else { largest };
        if !self.filled {
            if self.next == 0 {
                self.filled = true;
            } else {
                gradient = gradient * ROUNDS as i64 / self.next as i64;
            }
        }
        if least <= HELPED || largest <= HELPED {
            self.in_vain = 0;
        }
        let (least, largest) = (nearest(least), nearest(largest));
        if least > 0 && largest <= 0 {
            self.queue = Queue::Full;
        } else if (least > 0 && largest > 0) || largest < 0 {
            self.queue = Queue::NotFull;
        }
        gradient
    }

    /// Whether to back off: a random decision that depends on whether earlier backoffs have helped.
    fn backs_off(&mut self, gradient: i64) -> bool {
        if gradient <= 0 || self.stream.unit() <= libm::exp(-SCALE * gradient as f64) {
            return false;
        }
        self.in_vain += 1;
        self.in_vain <= IN_VAIN
    }

    /// A round has ended. Returns whether the window is to be cut.
    fn end_round(&mut self, ack: &Ack) -> bool {
        let Some(round) = self.rtt.take() else { return false };
        let gradient = self.previous.map_or(0, |previous| self.gradient(round, previous));
        self.round_end = ack.sent_to;
        self.previous = Some(round);
        if let Some(exit) = &mut self.exit {
            exit.begin_round();
        }
        self.backs_off(gradient)
    }

    fn back_off(&mut self, ack: &Ack) {
        self.shadow = self.shadow.max(self.w.window);
        if self.w.as_linux() {
            self.reduction = Reduction::Asked;
        } else {
            let (target, now) = (self.backed_off(), ack.now);
            let event =
                Congestion { now, trigger: Trigger::Delay, new_episode: true, in_flight: ack.in_flight, lost: 0 };
            self.w.reduce(&event, target);
            self.reduction = Reduction::Until(ack.sent_to);
        }
    }

    fn backed_off(&self) -> u64 {
        self.w.window * if self.w.as_linux() { BETA_LINUX } else { BETA } / 1024
    }

    /// A reduction has ended: rounds restart (`CA_EVENT_COMPLETE_CWR`).
    fn resume(&mut self, ack: &Ack) {
        self.reduction = Reduction::None;
        self.queue = Queue::Unknown;
        self.round_end = ack.sent_to;
        self.previous = self.rtt.take();
    }

    fn grow(&mut self, ack: &Ack) {
        if !ack.window_limited {
            self.shadow = self.shadow.min(self.w.window);
            return;
        }
        let before = self.w.window;
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if let Some(rest) = self.w.grow(ack, delivered) {
            self.w.additive_reno(rest);
        }
        self.shadow += self.w.window - before;
    }
}

/// In units of `NOISE`, rounded to the nearest.
fn nearest(sum: i64) -> i64 {
    (sum + sum.signum() * NOISE / 2) / NOISE
}

impl CongestionController for Cdg {
    by_windows!(on_undo, window, ssthresh, set_mss, set_window);

    fn on_sent(&mut self, sent: &Sent) {
        let before = self.w.window;
        self.w.restart_after(sent);
        if self.w.window < before {
            // Measurements from before an idle time are out of date (`CA_EVENT_CWND_RESTART`).
            (self.rtt, self.previous, self.gradients) = (None, None, Default::default());
            (self.next, self.filled, self.in_vain, self.delayed) = (0, false, 0, 0);
            self.queue = Queue::Unknown;
            self.shadow = self.w.window;
        }
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.observe(ack);
        match self.reduction {
            Reduction::Over => self.resume(ack),
            Reduction::Until(end) if ack.acked_to >= end => self.resume(ack),
            Reduction::Until(_) => return,
            Reduction::None | Reduction::Asked => {}
        }
        if !ack.may_grow {
            return;
        }
        if let (true, Some(exit), Some(round)) = (self.w.in_slow_start(), &mut self.exit, self.rtt)
            && exit.is_due(ack, round)
        {
            self.w.ssthresh = self.w.window;
        }
        if ack.acked_to > self.round_end && self.end_round(ack) {
            return self.back_off(ack);
        }
        self.grow(ack);
    }

    fn asks(&self) -> Ask {
        if self.reduction == Reduction::Asked { Ask::Reduce } else { Ask::Nothing }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let window = self.w.window;
        let target = if event.trigger == Trigger::Delay {
            self.backed_off()
        } else if self.queue == Queue::NotFull && !self.w.as_linux() && event.trigger == Trigger::Loss {
            window
        } else {
            if event.new_episode {
                self.shadow = whole(self.shadow / 2, self.w.grain).min(window);
            }
            self.shadow.max(window / 2)
        };
        self.w.reduce(event, target);
        self.reduction = match (event.trigger, self.reduction) {
            (Trigger::Timeout | Trigger::PersistentCongestion, _) => Reduction::None,
            (_, Reduction::Asked) => Reduction::None,
            (_, reduction) => reduction,
        };
    }

    fn on_recovered(&mut self, _: Time) {
        self.reduction = Reduction::Over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{MSS, ack, config};
    use haltere_net::rng::Streams;

    fn cdg(grain: u64, replication: u64) -> Cdg {
        let stream = Streams::new(3, replication).named("cdg");
        let mut cc = Cdg::new(Config { grain, stream, ..config() });
        (cc.w.window, cc.w.ssthresh) = (100 * MSS, 100 * MSS);
        cc.shadow = 100 * MSS;
        cc
    }

    /// A round whose ACKs have this RTT.
    fn round(cc: &mut Cdg, us: u64) {
        let end = cc.round_end;
        cc.on_ack(&ack(|a| {
            a.rtt = Some(Span::from_micros(us));
            (a.acked_to, a.sent_to) = (end + MSS, end + 100 * MSS);
        }), &[]);
    }

    /// How many of 1000 back off at the end of a round whose RTTs, like those of the seven before, grew by this.
    fn backoffs(gradient_us: u64) -> usize {
        let backs_off = |replication| {
            let mut cc = cdg(1, replication);
            (cc.filled, cc.next) = (true, 0);
            cc.previous = Some(Extremes { least: 100_000, largest: 100_000 });
            cc.gradients = [Extremes { least: gradient_us as i64, largest: gradient_us as i64 }; ROUNDS];
            round(&mut cc, 100_000 + gradient_us);
            cc.w.window < 100 * MSS
        };
        (0..1000).filter(|&n| backs_off(n)).count()
    }

    /// Section 3.1: 1 - e^(-g/G), G = 3 ms.
    #[test]
    fn the_probability_of_a_backoff_is_exponential_in_the_gradient() {
        assert_eq!(backoffs(0), 0);
        for ms in [1.0, 3.0, 6.0] {
            let expected = 1000.0 * (1.0 - libm::exp(-ms / 3.0));
            let got = backoffs((1000.0 * ms) as u64) as f64;
            assert!((got - expected).abs() < 50.0, "{ms} ms: {got}, {expected}");
        }
    }

    #[test]
    fn a_backoff_leaves_seven_tenths_and_a_loss_after_it_does_not_halve_again() {
        let mut cc = cdg(1, 0);
        cc.back_off(&ack(|_| {}));
        assert!((cc.w.window as f64 / (100 * MSS) as f64 - 0.7).abs() < 1e-3);
        // The shadow, 100, is halved to 50; 0.7 / 2 would be 35.
        let now = Time::ZERO;
        cc.on_congestion(&Congestion { now, trigger: Trigger::Loss, new_episode: true, in_flight: 0, lost: MSS });
        assert_eq!(cc.w.window, 50 * MSS);
    }

    #[test]
    fn in_whole_segments_the_transport_is_asked_for_the_reduction() {
        let mut cc = cdg(MSS, 0);
        cc.back_off(&ack(|_| {}));
        assert_eq!((cc.asks(), cc.w.window), (Ask::Reduce, 100 * MSS));
        let now = Time::ZERO;
        cc.on_congestion(&Congestion { now, trigger: Trigger::Delay, new_episode: true, in_flight: 0, lost: 0 });
        assert_eq!((cc.asks(), cc.w.window), (Ask::Nothing, 70 * MSS));
    }

    #[test]
    fn five_backoffs_in_vain_suspend_them() {
        let mut cc = cdg(1, 0);
        let certain = 10_000_000;
        assert_eq!((0..9).filter(|_| cc.backs_off(certain)).count(), 5);
        cc.gradient(Extremes { least: 100, largest: 100 }, Extremes { least: 200, largest: 200 });
        assert!(cc.backs_off(certain), "RTTs fell: it helped");
    }

    /// Section 3.2: while RTTs rise all the time, or fall, the queue is not full, and a loss is not caused by
    /// congestion.
    #[test]
    fn over_quic_a_loss_with_a_queue_that_is_not_full_takes_nothing() {
        let lose = |cc: &mut Cdg| {
            let now = Time::ZERO;
            cc.on_congestion(&Congestion { now, trigger: Trigger::Loss, new_episode: true, in_flight: 0, lost: MSS });
            cc.w.window / MSS
        };
        for (largest, grain, left) in [(200, 1, 100), (0, 1, 50), (200, MSS, 50)] {
            let mut cc = cdg(grain, 0);
            let rose = Extremes { least: 1100, largest: 1100 + largest };
            cc.gradient(Extremes { largest: 2000 + largest, ..rose }, Extremes { least: 1000, largest: 2000 });
            assert_eq!(lose(&mut cc), left, "{largest} {grain}");
        }
    }
}
