//! Congestion controllers in the shadow of another: they receive the events that the one in command receives, and what
//! they ask for is recorded but never used.
//!
//! The events are those that the controller in command caused: which packets were sent and lost, the RTTs, whether the
//! window or the application limited the sender, and the bytes in flight. A shadow therefore shows what its algorithm
//! would decide *in this place*, not how a transfer under its command would have gone on.

use super::{
    Ack, AckedPacket, Algorithm, Arrival, Ask, Config, Congestion, CongestionController, Echo, Established, Lost,
    PathView, Phase, Sent, Trigger,
};
use haltere_net::control::{ControlEvent, Decision, Parting, PathModel, ShadowNews, ShadowReport};
use haltere_net::incident::CongestionState;
use haltere_net::{Cx, PathId, Rate, Time};

/// The controller with shadows of these algorithms and configurations, numbered from 1; the controller itself if there
/// are none.
pub(crate) fn with_shadows(
    first: Contestant,
    shadows: impl Iterator<Item = (Algorithm, Config)>,
) -> Box<dyn CongestionController> {
    let followers: Vec<Contestant> = shadows.map(|(algorithm, config)| Contestant::new(algorithm, config)).collect();
    if followers.is_empty() {
        return first.controller;
    }
    Box::new(Shadowed::new(first, followers))
}

/// A controller, and whether its transport would pace it if the algorithm does not.
pub(crate) struct Contestant {
    pub controller: Box<dyn CongestionController>,
    pub paced: bool,
}

impl Contestant {
    pub(crate) fn new(algorithm: Algorithm, config: Config) -> Contestant {
        Contestant { paced: config.paced, controller: algorithm.build(config) }
    }

    fn decision(&self, phase: Phase) -> Decision {
        let controller = &self.controller;
        Decision {
            window: controller.window(),
            ssthresh: controller.ssthresh(),
            pacing_rate: controller.pacing_rate(),
            state: match phase {
                Phase::Loss => CongestionState::Timeout,
                Phase::Recovery => CongestionState::Recovery,
                _ if controller.in_slow_start() => CongestionState::SlowStart,
                _ => CongestionState::Avoidance,
            },
        }
    }
}

/// A shadow and how far it is.
struct Follower {
    contestant: Contestant,
    last: Decision,
    told: Option<Decision>,
    parting: Option<(Parting, bool)>,
}

/// A controller in command with its shadows.
pub struct Shadowed {
    first: Contestant,
    last: Decision,
    told: Option<Decision>,
    followers: Vec<Follower>,
    phase: Phase,
    now: Time,
    in_flight: u64,
}

/// Whether two controllers ask for different things: another window, slow start or not, or another pacing rate, where
/// both ask for one.
fn differ(a: &Decision, b: &Decision) -> bool {
    let rates = a.pacing_rate.zip(b.pacing_rate).is_some_and(|(a, b)| a != b);
    a.window != b.window || a.state != b.state || rates
}

impl Shadowed {
    fn new(first: Contestant, shadows: Vec<Contestant>) -> Shadowed {
        let last = first.decision(Phase::Open);
        let follower = |contestant: Contestant| {
            let own = contestant.decision(Phase::Open);
            let mut follower = Follower { contestant, last: own, told: None, parting: None };
            follower.compare(ControlEvent::Start, Time::ZERO, 0, [last, own], [last, own]);
            follower
        };
        let followers = shadows.into_iter().map(follower).collect();
        Shadowed { first, last, told: None, followers, phase: Phase::Open, now: Time::ZERO, in_flight: 0 }
    }

    /// Passes an event to all, and looks whether they still agree.
    fn tell(&mut self, event: ControlEvent, mut pass: impl FnMut(&mut dyn CongestionController)) {
        pass(self.first.controller.as_mut());
        for follower in &mut self.followers {
            pass(follower.contestant.controller.as_mut());
        }
        self.look(event);
    }

    fn look(&mut self, event: ControlEvent) {
        let before = std::mem::replace(&mut self.last, self.first.decision(self.phase));
        for follower in &mut self.followers {
            let own = follower.contestant.decision(self.phase);
            let own_before = std::mem::replace(&mut follower.last, own);
            follower.compare(event, self.now, self.in_flight, [before, own_before], [self.last, own]);
        }
    }

    /// Reports what has changed since the last report. `rate` is the pacing rate that the transport gives a window-based
    /// algorithm, from its window and threshold.
    pub fn report(&mut self, path: PathId, rate: impl Fn(u64, u64) -> Option<Rate>, cx: &mut Cx<'_>) {
        let derived = |contestant: &Contestant, decision: Decision| {
            let own = || if contestant.paced { rate(decision.window, decision.ssthresh) } else { None };
            Decision { pacing_rate: decision.pacing_rate.or_else(own), ..decision }
        };
        let first = derived(&self.first, self.last);
        if self.told.replace(first) != Some(first) {
            cx.shadow(ShadowReport { path, number: 0, told: ShadowNews::Decided(first) });
        }
        for (number, follower) in (1..=u8::MAX).zip(&mut self.followers) {
            let own = derived(&follower.contestant, follower.last);
            if follower.told.replace(own) != Some(own) {
                cx.shadow(ShadowReport { path, number, told: ShadowNews::Decided(own) });
            }
            if let Some((parting, told @ false)) = &mut follower.parting {
                *told = true;
                if matches!(parting.event, ControlEvent::Start | ControlEvent::Undo | ControlEvent::SegmentSize { .. })
                {
                    // These events state no time; the report follows in the same instant.
                    parting.at = cx.now;
                }
                cx.shadow(ShadowReport { path, number, told: ShadowNews::Parted(parting) });
            }
        }
    }
}

impl Follower {
    fn compare(&mut self, event: ControlEvent, at: Time, in_flight: u64, before: [Decision; 2], after: [Decision; 2]) {
        if self.parting.is_none() && differ(&after[0], &after[1]) {
            self.parting = Some((Parting { at, event, in_flight, before, after }, false));
        }
    }
}

fn cause(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Loss => "loss",
        Trigger::Timeout => "retransmission timeout",
        Trigger::PersistentCongestion => "persistent congestion",
        Trigger::Ecn => "ECN marks",
        Trigger::Local => "no room at the own interface",
        Trigger::Delay => "delay",
    }
}

impl CongestionController for Shadowed {
    fn on_established(&mut self, event: &Established) {
        self.now = event.now;
        self.tell(ControlEvent::Established, |cc| cc.on_established(event));
    }

    fn on_sent(&mut self, sent: &Sent) {
        (self.now, self.in_flight) = (sent.now, sent.in_flight);
        self.tell(ControlEvent::Sent { after_idle: sent.after_idle }, |cc| cc.on_sent(sent));
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]) {
        (self.now, self.in_flight, self.phase) = (ack.now, ack.in_flight, ack.phase);
        let event = ControlEvent::Acknowledged { delivered: ack.delivered, rtt: ack.rtt };
        self.tell(event, |cc| cc.on_ack(ack, siblings));
    }

    fn wants_packets(&self) -> bool {
        self.first.controller.wants_packets() || self.followers.iter().any(|f| f.contestant.controller.wants_packets())
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        self.now = packet.now;
        self.first.controller.on_packet_acked(packet);
        self.followers.iter_mut().for_each(|follower| follower.contestant.controller.on_packet_acked(packet));
    }

    fn on_echo(&mut self, echo: &Echo) {
        self.now = echo.now;
        self.tell(ControlEvent::Echo { marked: echo.total_marked }, |cc| cc.on_echo(echo));
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        self.now = arrival.now;
        self.tell(ControlEvent::Arrival { rtt: arrival.rtt }, |cc| cc.on_arrival(arrival));
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.now = lost.now;
        self.tell(ControlEvent::Lost { bytes: lost.bytes }, |cc| cc.on_lost(lost));
    }

    fn on_congestion(&mut self, event: &Congestion) {
        (self.now, self.in_flight) = (event.now, event.in_flight);
        self.phase = match event.trigger {
            Trigger::Loss => Phase::Recovery,
            Trigger::Timeout => Phase::Loss,
            Trigger::PersistentCongestion => Phase::Open,
            Trigger::Ecn | Trigger::Local | Trigger::Delay => Phase::Reducing,
        };
        let about = ControlEvent::Congestion { cause: cause(event.trigger) };
        if event.trigger == Trigger::Delay {
            // The algorithm in command asked for this reduction itself (`Ask::Reduce`); the path did not.
            let asked = |follower: &Follower| follower.contestant.controller.asks() == Ask::Reduce;
            self.first.controller.on_congestion(event);
            for follower in self.followers.iter_mut().filter(|follower| asked(follower)) {
                follower.contestant.controller.on_congestion(event);
            }
            return self.look(about);
        }
        self.tell(about, |cc| cc.on_congestion(event));
    }

    fn on_loss_while_reducing(&mut self, window: u64) {
        self.tell(ControlEvent::Congestion { cause: cause(Trigger::Loss) }, |cc| cc.on_loss_while_reducing(window));
    }

    fn on_undo(&mut self) {
        self.tell(ControlEvent::Undo, |cc| cc.on_undo());
    }

    fn on_recovered(&mut self, now: Time) {
        (self.now, self.phase) = (now, Phase::Open);
        self.tell(ControlEvent::Recovered, |cc| cc.on_recovered(now));
    }

    fn window(&self) -> u64 {
        self.first.controller.window()
    }
    fn ssthresh(&self) -> u64 {
        self.first.controller.ssthresh()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.first.controller.pacing_rate()
    }
    fn send_quantum(&self) -> u64 {
        self.first.controller.send_quantum()
    }
    fn allowance(&self) -> u64 {
        self.first.controller.allowance()
    }
    fn begins_recovery(&self, start: Option<Time>, sent: Time) -> bool {
        self.first.controller.begins_recovery(start, sent)
    }
    fn owns_recovery(&self) -> bool {
        self.first.controller.owns_recovery()
    }
    fn asks(&self) -> Ask {
        self.first.controller.asks()
    }
    fn in_slow_start(&self) -> bool {
        self.first.controller.in_slow_start()
    }

    fn set_mss(&mut self, mss: u64, wire: u64) {
        self.tell(ControlEvent::SegmentSize { bytes: mss }, |cc| cc.set_mss(mss, wire));
    }

    fn path_model(&self) -> Option<PathModel> {
        self.first.controller.path_model()
    }

    fn shadows(&mut self) -> Option<&mut Shadowed> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SlowStart;
    use super::super::bench::{Bench, Path, ack, config};
    use super::*;
    use crate::recovery::RateSampler;
    use haltere_net::control::BbrState;
    use haltere_net::{ComponentId, Probe, Span};
    use std::sync::{Arc, Mutex};

    #[derive(Default)]
    struct Seen(Vec<(u8, Decision)>, Vec<Parting>);

    impl Probe for Seen {
        fn record(&mut self, _: Time, _: ComponentId, _: PathId, _: haltere_net::Metric, _: u64) {}
        fn shadowed(&mut self, _: Time, _: ComponentId, report: ShadowReport<'_>) {
            match report.told {
                ShadowNews::Decided(decision) => self.0.push((report.number, decision)),
                ShadowNews::Parted(parting) => self.1.push(*parting),
            }
        }
    }

    fn contestant(algorithm: Algorithm, slow_start: Option<SlowStart>) -> Contestant {
        Contestant::new(algorithm, Config { slow_start, ..config() })
    }

    /// The windows of a controller in a closed loop, and what is seen of its shadow at the end.
    fn raced(first: Algorithm, shadow: Option<(Algorithm, Option<SlowStart>)>) -> (Vec<u64>, Seen) {
        let followers = shadow.into_iter().map(|(algorithm, exit)| contestant(algorithm, exit)).collect();
        let cc = Shadowed::new(contestant(first, None), followers);
        let mut path = Path::new(20, 40);
        path.queue = 100;
        let mut bench = Bench::with(cc, path);
        let mut windows = Vec::new();
        bench.run(Span::from_secs(2), |bench| windows.push(bench.cc.window()));
        let mut seen = Seen::default();
        let mut cx = Cx::with_probe(bench.now, ComponentId(0), Some(&mut seen));
        bench.cc.report(PathId(0), |_, _| None, &mut cx);
        (windows, seen)
    }

    #[test]
    fn a_shadow_of_itself_never_parts() {
        for algorithm in Algorithm::ALL.iter().copied().filter(|a| !a.coupled) {
            let (_, seen) = raced(algorithm, Some((algorithm, None)));
            assert_eq!(seen.1, [], "{algorithm:?}");
            assert_eq!(seen.0[0].1, seen.0[1].1, "{algorithm:?}");
        }
    }

    #[test]
    fn a_shadow_changes_nothing() {
        for algorithm in [crate::cc::CUBIC, crate::cc::BBR, crate::cc::CDG, crate::cc::COPA] {
            let (alone, _) = raced(algorithm, None);
            let (followed, _) = raced(algorithm, Some((crate::cc::BBR3, None)));
            assert_eq!(alone, followed, "{algorithm:?}");
        }
    }

    #[test]
    fn cubic_parts_from_cubic_without_hystart_where_hystart_ends_slow_start() {
        let (_, seen) = raced(crate::cc::CUBIC, Some((crate::cc::CUBIC, Some(SlowStart::Standard))));
        let [parting] = seen.1[..] else { panic!("{:?}", seen.1) };
        assert!(matches!(parting.event, ControlEvent::Acknowledged { .. }), "{parting:?}");
        let states = |of: [Decision; 2]| of.map(|decision| decision.state);
        assert_eq!(parting.before[0], parting.before[1]);
        assert_eq!(states(parting.before), [CongestionState::SlowStart; 2]);
        assert_eq!(states(parting.after), [CongestionState::Avoidance, CongestionState::SlowStart]);
        assert!(parting.after[0].ssthresh < u64::MAX && parting.after[1].ssthresh == u64::MAX);
    }
    /// A controller that notes what it is told, and answers each question with a value of its own.
    struct Noting(Arc<Mutex<Vec<&'static str>>>);

    impl Noting {
        fn note(&self, call: &'static str) {
            self.0.lock().unwrap().push(call);
        }
    }

    impl CongestionController for Noting {
        fn on_established(&mut self, _: &Established) {
            self.note("established");
        }
        fn on_sent(&mut self, _: &Sent) {
            self.note("sent");
        }
        fn on_ack(&mut self, _: &Ack, _: &[PathView]) {
            self.note("ack");
        }
        fn on_echo(&mut self, _: &Echo) {
            self.note("echo");
        }
        fn on_arrival(&mut self, _: &Arrival) {
            self.note("arrival");
        }
        fn on_lost(&mut self, _: &Lost) {
            self.note("lost");
        }
        fn on_congestion(&mut self, _: &Congestion) {
            self.note("congestion");
        }
        fn on_undo(&mut self) {
            self.note("undo");
        }
        fn on_recovered(&mut self, _: Time) {
            self.note("recovered");
        }
        fn window(&self) -> u64 {
            7000
        }
        fn ssthresh(&self) -> u64 {
            9000
        }
        fn pacing_rate(&self) -> Option<Rate> {
            Some(Rate::from_bps(3_000_000))
        }
        fn send_quantum(&self) -> u64 {
            1234
        }
        fn owns_recovery(&self) -> bool {
            true
        }
        fn asks(&self) -> Ask {
            Ask::MarkAppLimited
        }
        fn in_slow_start(&self) -> bool {
            false // unlike what its window and threshold say
        }
        fn set_mss(&mut self, _: u64, _: u64) {
            self.note("segment size");
        }
        fn wants_packets(&self) -> bool {
            true
        }
        fn on_packet_acked(&mut self, _: &AckedPacket) {
            self.note("packet");
        }
        fn path_model(&self) -> Option<PathModel> {
            let (state, max_bandwidth) = (BbrState::Startup, Rate::from_bps(3_000_000));
            Some(PathModel {
                state,
                max_bandwidth,
                short_term_bandwidth: None,
                long_term_inflight: None,
                short_term_inflight: None,
                extra_acked: 0,
                min_rtt: None,
                rounds: 0,
                full_rounds: 0,
            })
        }
    }

    /// Tells a controller one of each event, with these triggers of congestion.
    fn tell_all(cc: &mut dyn CongestionController, triggers: &[Trigger]) {
        let now = Time::from_nanos(5);
        cc.on_established(&Established { now, rtt: None });
        let sent = Sent {
            now,
            bytes: 1000,
            in_flight: 0,
            total_delivered: 0,
            after_idle: None,
            app_limited: false,
            timeout: Span::from_secs(1),
        };
        cc.on_sent(&sent);
        cc.on_ack(&ack(|_| {}), &[]);
        cc.on_echo(&Echo { now, acked_to: 0, sent_to: 0, total_delivered: 0, total_marked: 0 });
        cc.on_arrival(&Arrival {
            now,
            rtt: None,
            srtt: None,
            min_rtt: None,
            acked_to: 0,
            sent_to: 0,
            total_delivered: 0,
            prior_delivered: None,
            in_flight: 0,
            stamps: None,
        });
        let sent = RateSampler::default().on_sent(now, 0);
        cc.on_lost(&Lost { now, from: 0, to: 1, bytes: 1, sent, total_delivered: 0, total_lost: 1 });
        for &trigger in triggers {
            cc.on_congestion(&Congestion { now, trigger, new_episode: true, in_flight: 0, lost: 1 });
        }
        cc.on_packet_acked(&AckedPacket { now, sent: now, bytes: 1, window_limited: true, rtt: Span::ZERO });
        cc.on_undo();
        cc.on_recovered(now);
        cc.set_mss(1000, 1040);
    }

    #[test]
    fn the_one_in_command_and_its_shadows_are_told_all_and_the_one_in_command_answers() {
        let notes = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
        let [first, follower] = notes.clone().map(|notes| Contestant {
            controller: Box::new(Noting(notes)) as Box<dyn CongestionController>,
            paced: true,
        });
        let mut cc = Shadowed::new(first, vec![follower]);
        tell_all(&mut cc, &[Trigger::Loss]);
        let told = [
            "established",
            "sent",
            "ack",
            "echo",
            "arrival",
            "lost",
            "congestion",
            "packet",
            "undo",
            "recovered",
            "segment size",
        ];
        assert_eq!(notes.map(|notes| notes.lock().unwrap().clone()), [told.to_vec(), told.to_vec()]);
        assert_eq!((cc.window(), cc.ssthresh(), cc.pacing_rate()), (7000, 9000, Some(Rate::from_bps(3_000_000))));
        assert_eq!((cc.send_quantum(), cc.owns_recovery(), cc.asks()), (1234, true, Ask::MarkAppLimited));
        assert!(!cc.in_slow_start() && cc.shadows().is_some() && cc.path_model().is_some());
        // Either of both can ask for packets; all else is said of the one in command.
        let plain = || contestant(crate::cc::NEWRENO, None);
        let noting = || Contestant { controller: Box::new(Noting(Arc::default())), paced: true };
        let asked = [(noting(), plain()), (plain(), noting()), (plain(), plain())]
            .map(|(first, follower)| Shadowed::new(first, vec![follower]).wants_packets());
        assert_eq!(asked, [true, true, false]);
        let cc = Shadowed::new(plain(), vec![noting()]);
        assert!(!cc.owns_recovery() && cc.in_slow_start() && cc.path_model().is_none());
    }

    #[test]
    fn a_shadow_that_did_not_ask_for_a_reduction_is_not_told_of_one_for_delay() {
        let notes = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
        let [first, follower] = notes.clone().map(|notes| Contestant {
            controller: Box::new(Noting(notes)) as Box<dyn CongestionController>,
            paced: true,
        });
        tell_all(&mut Shadowed::new(first, vec![follower]), &[Trigger::Delay]);
        assert_eq!(notes.map(|notes| notes.lock().unwrap().contains(&"congestion")), [true, false]);
    }

    #[test]
    fn states_are_named_by_the_phase_and_each_cause_by_its_own_word() {
        let of = |phase| contestant(crate::cc::NEWRENO, None).decision(phase).state;
        let states = [Phase::Open, Phase::Recovery, Phase::Loss].map(of);
        assert_eq!(states, [CongestionState::SlowStart, CongestionState::Recovery, CongestionState::Timeout]);
        let causes = [Trigger::Loss, Trigger::Timeout, Trigger::PersistentCongestion, Trigger::Ecn].map(cause);
        assert_eq!(causes, ["loss", "retransmission timeout", "persistent congestion", "ECN marks"]);
    }

    #[test]
    fn two_decisions_differ_by_window_state_or_rate_and_not_by_a_rate_that_only_one_has() {
        let decision = contestant(crate::cc::NEWRENO, None).decision(Phase::Open);
        let rate = |bps| Decision { pacing_rate: Some(Rate::from_bps(bps)), ..decision };
        assert!(!differ(&decision, &decision) && !differ(&decision, &rate(1)) && !differ(&rate(1), &rate(1)));
        assert!(differ(&rate(1), &rate(2)));
        assert!(differ(&decision, &Decision { window: decision.window + 1, ..decision }));
        assert!(differ(&decision, &Decision { state: CongestionState::Timeout, ..decision }));
    }
}
