//! A controller for which an agent outside decides, such as a policy that is being trained or was.
//!
//! The agent looks at a flow from time to time and says what it wants until it looks again. Both meet at a [`Desk`]: the
//! controller writes down what it sees, the agent its decision. They never work at the same time: the agent decides while the
//! run stands still. Who drives the run may be the agent; a [`follower`] brings its agent along, as a timer of the run.

use super::{
    Ack, AckedPacket, Algorithm, Ask, Config, Congestion, CongestionController, Echo, Established, Lost, PathView, Sent,
};
use haltere_net::fault::{Faults, Timer};
use haltere_net::{Rate, Span, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The window of a sender that a rate alone holds back, bytes: more than any path holds.
const UNLIMITED: u64 = 1 << 40;
/// The retransmission timeout before the first RTT is known (RFC 6298 section 2.1). Until then, it stands for the RTT.
const UNKNOWN_RTT: Span = Span::from_secs(1);

/// The quantity for which an agent decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// The pacing rate. No window holds the sender back. Before the first decision, the rate is the initial window per RTT.
    Rate,
    /// The congestion window, in the place of a congestion control's.
    Window,
    /// The window of the flow's own congestion control, which goes on from what the agent sets.
    Adjustment,
}

/// The observations of a controller, up to a time. Bytes are those of the transport: TCP's data, QUIC's packets.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Seen {
    /// When the connection was established; `None` before that.
    pub established: Option<Time>,
    /// Bytes sent since the start, retransmissions included.
    pub sent: u64,
    /// Packets sent since the start.
    pub sent_packets: u64,
    /// Bytes delivered since the start.
    pub delivered: u64,
    /// Bytes found lost since the start.
    pub lost: u64,
    /// Acknowledgements that delivered data, since the start.
    pub acks: u64,
    /// RTT samples since the last [`Desk::begin`].
    pub rtts: Rtts,
    /// The smoothed RTT.
    pub srtt: Option<Span>,
    /// The least RTT of the connection.
    pub least_rtt: Option<Span>,
    /// Bytes in flight at the last event.
    pub in_flight: u64,
    /// The congestion window, bytes.
    pub window: u64,
    /// The slow-start threshold, bytes.
    pub ssthresh: u64,
    /// Bytes of a full packet.
    pub mss: u64,
    /// The pacing rate that the controller asks for, if it does.
    pub rate: Option<Rate>,
}

/// RTT samples of an interval.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Rtts {
    /// How many there are.
    pub count: u64,
    /// Their sum, s.
    pub sum: f64,
    /// The least, if there is one.
    pub least: Option<Span>,
    /// The last, if there is one.
    pub last: Option<Span>,
    /// The sum of the times of their arrival since the begin of the interval, s.
    times: f64,
    /// The sum of the squares of these times, s².
    squares: f64,
    /// The sum of time × RTT, s².
    products: f64,
}

impl Rtts {
    /// Their mean; `None` if there is none.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// By how many seconds a second the RTT rises: the slope of the line through the samples over the times of their arrival, by
    /// least squares; 0 if there are no two times.
    pub fn slope(&self) -> f64 {
        let n = self.count as f64;
        let spread = n * self.squares - self.times * self.times;
        // Times are whole nanoseconds, and rounding must not make a slope of samples that came together.
        if spread <= 1e-15 * n * self.squares { 0.0 } else { (n * self.products - self.times * self.sum) / spread }
    }
}

/// A number that one side writes at a time. Relaxed loads and stores cost what plain ones do.
#[derive(Default, Debug)]
struct Number(AtomicU64);

impl Number {
    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn set(&self, to: u64) {
        self.0.store(to, Relaxed);
    }

    fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }

    fn real(&self) -> f64 {
        f64::from_bits(self.get())
    }

    fn add_real(&self, more: f64) {
        self.set((self.real() + more).to_bits());
    }

    /// The time that it holds: 0 stands for none, so that times are kept one nanosecond longer.
    fn span(&self) -> Option<Span> {
        self.get().checked_sub(1).map(Span::from_nanos)
    }

    fn set_span(&self, to: Option<Span>) {
        self.set(to.map_or(0, |span| span.as_nanos().saturating_add(1)));
    }
}

#[derive(Default, Debug)]
struct Shared {
    // Decisions; 0 stands for none.
    rate: Number,
    window: Number,
    // Observations.
    established: Number,
    sent: Number,
    sent_packets: Number,
    delivered: Number,
    lost: Number,
    acks: Number,
    began: Number,
    rtt_count: Number,
    rtt_sum: Number,
    rtt_least: Number,
    rtt_last: Number,
    times: Number,
    squares: Number,
    products: Number,
    srtt: Number,
    least_rtt: Number,
    in_flight: Number,
    shown_window: Number,
    shown_rate: Number,
    ssthresh: Number,
    mss: Number,
}

/// The meeting point of a controller and the agent that decides for it. Clones are the same desk.
#[derive(Clone, Debug)]
pub struct Desk {
    command: Command,
    shared: Arc<Shared>,
}

impl Desk {
    /// A desk at which nothing was decided yet.
    pub fn new(command: Command) -> Desk {
        Desk { command, shared: Arc::new(Shared::default()) }
    }

    /// The quantity for which the agent decides.
    pub fn command(&self) -> Command {
        self.command
    }

    /// Decides the pacing rate from now on. A rate of zero is taken as the least, 1 bit/s.
    pub fn set_rate(&self, rate: Rate) {
        let bps = rate.as_bps().max(1);
        self.shared.rate.set(bps);
        self.shared.shown_rate.set(bps);
    }

    /// Decides the window, bytes; one packet at least. With [`Command::Adjustment`], the congestion control goes on from there.
    pub fn set_window(&self, bytes: u64) {
        let bytes = bytes.max(self.shared.mss.get()).max(1);
        self.shared.window.set(bytes);
        self.shared.shown_window.set(bytes);
    }

    /// Whether nobody else is at the desk: its controller, or its agent, is gone.
    pub fn is_left(&self) -> bool {
        Arc::strong_count(&self.shared) == 1
    }

    /// Whether the connection is established.
    #[inline]
    pub fn is_established(&self) -> bool {
        self.shared.established.get() > 0
    }

    /// Begins an interval of RTT samples.
    pub fn begin(&self, now: Time) {
        let own = &*self.shared;
        own.began.set(now.as_nanos());
        let numbers = [&own.rtt_count, &own.rtt_sum, &own.rtt_least, &own.rtt_last];
        for number in numbers.into_iter().chain([&own.times, &own.squares, &own.products]) {
            number.set(0);
        }
    }

    /// The observations up to now.
    pub fn seen(&self) -> Seen {
        let own = &*self.shared;
        let rtts = Rtts {
            count: own.rtt_count.get(),
            sum: own.rtt_sum.real(),
            least: own.rtt_least.span(),
            last: own.rtt_last.span(),
            times: own.times.real(),
            squares: own.squares.real(),
            products: own.products.real(),
        };
        Seen {
            established: own.established.span().map(|since| Time::ZERO + since),
            sent: own.sent.get(),
            sent_packets: own.sent_packets.get(),
            delivered: own.delivered.get(),
            lost: own.lost.get(),
            acks: own.acks.get(),
            rtts,
            srtt: own.srtt.span(),
            least_rtt: own.least_rtt.span(),
            in_flight: own.in_flight.get(),
            window: own.shown_window.get(),
            ssthresh: own.ssthresh.get(),
            mss: own.mss.get(),
            rate: Some(own.shown_rate.get()).filter(|bps| *bps > 0).map(Rate::from_bps),
        }
    }
}

/// The controller of a path: that of its algorithm, or one for which an agent decides.
pub(crate) fn controller(algorithm: Algorithm, agent: Option<&Desk>, config: Config) -> Box<dyn CongestionController> {
    match agent {
        None => algorithm.build(config),
        Some(desk) => Box::new(Agent::new(desk.clone(), algorithm, config)),
    }
}

/// The controller of a path that follows a desk, in the place of an algorithm's. `agent`, who decides there, is started as a timer of
/// the run when the connection is established.
pub fn follower(
    desk: Desk,
    agent: Box<dyn Timer>,
    algorithm: Algorithm,
    config: Config,
) -> Box<dyn CongestionController> {
    let faults = config.faults.clone().unwrap_or_default();
    Box::new(Agent { waiting: Some((agent, faults)), ..Agent::new(desk, algorithm, config) })
}

/// The controller of a flow for which an agent decides.
struct Agent {
    desk: Desk,
    /// The flow's own congestion control, with [`Command::Adjustment`].
    own: Option<Box<dyn CongestionController>>,
    initial_window: u64,
    mss: u64,
    /// Who decides from the establishment of the connection on, and where that is started, if the agent is not outside of the run.
    waiting: Option<(Box<dyn Timer>, Faults)>,
}

impl Agent {
    /// The controller that follows a desk. `algorithm` is what the flow has without the agent.
    fn new(desk: Desk, algorithm: Algorithm, config: Config) -> Agent {
        let (initial_window, mss) = (config.initial_window, config.mss);
        let own = (desk.command == Command::Adjustment).then(|| algorithm.build(config));
        let agent = Agent { desk, own, initial_window, mss, waiting: None };
        agent.shared().mss.set(mss);
        agent.show();
        agent
    }

    fn shared(&self) -> &Shared {
        &self.desk.shared
    }

    /// The window that was decided and is not given to the congestion control yet.
    fn decided(&self) -> Option<u64> {
        Some(self.shared().window.get()).filter(|bytes| *bytes > 0)
    }

    /// The flow's own congestion control, which has been given what was decided.
    fn own(&mut self) -> Option<&mut Box<dyn CongestionController>> {
        let decided = self.decided();
        let own = self.own.as_mut()?;
        if let Some(bytes) = decided {
            own.set_window(bytes);
            self.desk.shared.window.set(0);
        }
        Some(own)
    }

    /// Writes down what the controller asks for.
    fn show(&self) {
        let shared = self.shared();
        shared.shown_window.set(self.window());
        shared.ssthresh.set(self.ssthresh());
        shared.shown_rate.set(self.pacing_rate().map_or(0, Rate::as_bps));
    }

    fn sample(&self, now: Time, rtt: Span) {
        let shared = self.shared();
        let (at, rtt_s) = (now.since(Time::from_nanos(shared.began.get())).as_secs_f64(), rtt.as_secs_f64());
        shared.rtt_count.add(1);
        shared.rtt_sum.add_real(rtt_s);
        shared.rtt_least.set_span(Some(shared.rtt_least.span().map_or(rtt, |least| least.min(rtt))));
        shared.least_rtt.set_span(Some(shared.least_rtt.span().map_or(rtt, |least| least.min(rtt))));
        shared.rtt_last.set_span(Some(rtt));
        shared.times.add_real(at);
        shared.squares.add_real(at * at);
        shared.products.add_real(at * rtt_s);
    }
}

impl CongestionController for Agent {
    fn on_established(&mut self, event: &Established) {
        let shared = self.shared();
        shared.established.set_span(Some(event.now.since(Time::ZERO)));
        shared.srtt.set_span(event.rtt);
        if let Some(rtt) = event.rtt {
            shared.least_rtt.set_span(Some(rtt));
        }
        if let Some(own) = self.own() {
            own.on_established(event);
        }
        self.show();
        if let Some((agent, faults)) = self.waiting.take() {
            faults.start(agent);
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        let shared = self.shared();
        shared.sent.add(sent.bytes);
        shared.sent_packets.add(1);
        shared.in_flight.set(sent.in_flight + sent.bytes);
        if let Some(own) = self.own() {
            own.on_sent(sent);
        }
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]) {
        let shared = self.shared();
        shared.delivered.add(ack.delivered);
        shared.acks.add(1);
        shared.in_flight.set(ack.in_flight);
        shared.srtt.set_span(ack.srtt);
        if let Some(rtt) = ack.rtt {
            self.sample(ack.now, rtt);
        }
        if let Some(own) = self.own() {
            own.on_ack(ack, siblings);
        }
        self.show();
    }

    fn wants_packets(&self) -> bool {
        // Whether the agent has an algorithm of its own may change.
        true
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        if let Some(own) = self.own() {
            own.on_packet_acked(packet);
        }
    }

    fn on_echo(&mut self, echo: &Echo) {
        if let Some(own) = self.own() {
            own.on_echo(echo);
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.shared().lost.add(lost.bytes);
        if let Some(own) = self.own() {
            own.on_lost(lost);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if let Some(own) = self.own() {
            own.on_congestion(event);
        }
        self.show();
    }

    fn on_loss_while_reducing(&mut self, window: u64) {
        if let Some(own) = self.own() {
            own.on_loss_while_reducing(window);
        }
        self.show();
    }

    fn on_undo(&mut self) {
        if let Some(own) = self.own() {
            own.on_undo();
        }
        self.show();
    }

    fn on_recovered(&mut self, now: Time) {
        if let Some(own) = self.own() {
            own.on_recovered(now);
        }
        self.show();
    }

    fn window(&self) -> u64 {
        match (&self.own, self.desk.command) {
            (Some(own), _) => self.decided().unwrap_or_else(|| own.window()),
            (None, Command::Rate) => UNLIMITED,
            (None, _) => self.decided().unwrap_or(self.initial_window),
        }
    }

    fn ssthresh(&self) -> u64 {
        // An agent has no slow start.
        self.own.as_ref().map_or(0, |own| own.ssthresh())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if let Some(own) = &self.own {
            return own.pacing_rate();
        }
        if self.desk.command != Command::Rate {
            return None;
        }
        let shared = self.shared();
        let decided = shared.rate.get();
        if decided > 0 {
            return Some(Rate::from_bps(decided));
        }
        let rtt = shared.least_rtt.span().unwrap_or(UNKNOWN_RTT).max(Span::from_nanos(1));
        let bps = u128::from(self.initial_window) * 8_000_000_000 / u128::from(rtt.as_nanos());
        Some(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1)))
    }

    fn send_quantum(&self) -> u64 {
        self.own.as_ref().map_or(self.mss, |own| own.send_quantum())
    }

    fn owns_recovery(&self) -> bool {
        self.own.as_ref().is_none_or(|own| own.owns_recovery())
    }

    fn asks(&self) -> Ask {
        self.own.as_ref().map_or(Ask::Nothing, |own| own.asks())
    }

    fn in_slow_start(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.in_slow_start())
    }

    fn set_mss(&mut self, mss: u64, wire: u64) {
        self.mss = mss;
        self.shared().mss.set(mss);
        if let Some(own) = self.own() {
            own.set_mss(mss, wire);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{MSS, ack, config};
    use crate::cc::{BBR, CUBIC};

    const MS: Span = Span::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    fn agent(command: Command) -> (Desk, Agent) {
        let desk = Desk::new(command);
        (desk.clone(), Agent::new(desk, CUBIC, config()))
    }

    #[test]
    fn a_rate_begins_with_the_initial_window_per_rtt_and_then_is_what_was_decided() {
        let (desk, mut agent) = agent(Command::Rate);
        agent.on_established(&Established { now: at(100), rtt: Some(MS * 100) });
        assert_eq!(agent.pacing_rate(), Some(Rate::from_bps(10 * MSS * 8 * 10)));
        desk.set_rate(Rate::from_bps(5_000_000));
        assert_eq!((agent.pacing_rate(), agent.window()), (Some(Rate::from_bps(5_000_000)), UNLIMITED));
        assert!(agent.owns_recovery() && !agent.in_slow_start());
        assert_eq!(desk.seen().established, Some(at(100)));
    }

    #[test]
    fn a_window_is_what_was_decided_and_a_packet_at_least() {
        let (desk, agent) = agent(Command::Window);
        assert_eq!((agent.window(), agent.pacing_rate()), (10 * MSS, None));
        desk.set_window(7 * MSS);
        assert_eq!(agent.window(), 7 * MSS);
        desk.set_window(0);
        assert_eq!(agent.window(), MSS);
    }

    #[test]
    fn an_adjusted_congestion_control_goes_on_from_the_window_that_was_decided() {
        let (desk, mut agent) = agent(Command::Adjustment);
        desk.set_window(40 * MSS);
        assert_eq!(agent.window(), 40 * MSS);
        agent.on_ack(&ack(|ack| (ack.window_limited, ack.may_grow, ack.delivered) = (true, true, 2 * MSS)), &[]);
        assert_eq!(agent.window(), 42 * MSS, "slow start goes on from there");
        assert_eq!(desk.seen().window, 42 * MSS);
    }

    #[test]
    fn congestion_controls_without_a_window_of_their_own_say_so() {
        assert!(CUBIC.build(config()).set_window(20 * MSS));
        assert!(!BBR.build(config()).set_window(20 * MSS));
    }

    #[test]
    fn the_slope_of_rtts_is_that_of_the_line_through_them_and_begins_anew_with_an_interval() {
        let (desk, mut agent) = agent(Command::Rate);
        let mut sample = |now: u64, rtt: u64| {
            agent.on_ack(&ack(|ack| (ack.now, ack.rtt, ack.delivered) = (at(now), Some(MS * rtt), MSS)), &[]);
        };
        sample(50, 500);
        desk.begin(at(1000));
        for (now, rtt) in [(1010, 101), (1020, 102), (1030, 103)] {
            sample(now, rtt);
        }
        let seen = desk.seen();
        assert!((seen.rtts.slope() - 0.1).abs() < 1e-9, "{}", seen.rtts.slope());
        assert!((seen.rtts.mean().unwrap() - 0.102).abs() < 1e-12);
        assert_eq!((seen.rtts.least, seen.rtts.last, seen.least_rtt), (Some(MS * 101), Some(MS * 103), Some(MS * 101)));
        assert_eq!((seen.delivered, seen.acks), (4 * MSS, 4));
        desk.begin(at(2000));
        assert_eq!((desk.seen().rtts.count, desk.seen().rtts.slope()), (0, 0.0));
        sample(2010, 101);
        sample(2010, 109);
        assert_eq!(desk.seen().rtts.slope(), 0.0, "two samples at one time have no slope");
    }
}
