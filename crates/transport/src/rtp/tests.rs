//! Two ends with a link of a rate, a queue and losses between them, and an encoder that follows its target at once.

use super::*;
use crate::media::News;
use haltere_net::{ComponentId, Ecn};

/// A link towards the receiver; the way back has the delay alone.
pub(super) struct Link {
    /// The rate from each time on, bit/s.
    pub rate: Vec<(u64, f64)>,
    pub delay: Span,
    /// The longest wait in the queue.
    pub queue: Span,
    /// Every so many packets one is lost; 0 for none.
    pub lost: u64,
    /// Packets that wait for longer are marked, if they may be.
    pub mark: Span,
}

impl Default for Link {
    fn default() -> Link {
        let (delay, queue) = (Span::from_millis(50), Span::from_millis(300));
        Link { rate: vec![(0, 1e6)], delay, queue, lost: 0, mark: Span::MAX }
    }
}

/// The course of a call.
#[derive(Default)]
pub(super) struct Course {
    /// The target at each second, bit/s.
    pub targets: Vec<f64>,
    /// The mean wait in the queue in each second, s.
    pub waits: Vec<f64>,
    /// Frames that were sent and that came.
    pub frames: (u64, u64),
    /// The sender's counters.
    pub stats: Stats,
}

impl Course {
    /// The mean target between two seconds.
    pub fn target(&self, from: usize, to: usize) -> f64 {
        self.targets[from..to].iter().sum::<f64>() / (to - from) as f64
    }
    /// The mean wait between two seconds.
    pub fn wait(&self, from: usize, to: usize) -> f64 {
        self.waits[from..to].iter().sum::<f64>() / (to - from) as f64
    }
}

struct Flow {
    client: Connection,
    server: Connection,
    target: f64,
    frame: u64,
    next_frame: Time,
    course: Course,
}

impl Flow {
    fn new(control: Control) -> Flow {
        let end = |role| Connection::new(Config::new(role, control));
        let (client, server) = (end(Role::Client), end(Role::Server));
        Flow { client, server, target: 0.0, frame: 0, next_frame: Time::NEVER, course: Course::default() }
    }

    fn events(&mut self, now: Time) {
        while let Some(event) = self.server.poll_event() {
            match event {
                Event::Media(News::TargetRate(rate)) => self.target = rate.as_bps() as f64,
                Event::Connected => self.next_frame = now,
                _ => {}
            }
        }
        while let Some(event) = self.client.poll_event() {
            if let Event::Media(News::Frame(_)) = event {
                self.course.frames.1 += 1;
            }
        }
    }

    fn encode(&mut self, cx: &mut Cx<'_>) {
        while self.next_frame <= cx.now {
            let bytes = (self.target / 8.0 / 30.0) as u32;
            let frame = Frame { number: self.frame, bytes, captured: cx.now, key: self.frame == 0 };
            self.server.send_frame(frame, cx);
            (self.frame, self.next_frame) = (self.frame + 1, self.next_frame + Span::from_micros(33_333));
        }
        self.course.frames.0 = self.frame;
    }
}

/// The courses of calls over one link for so many seconds.
pub(super) fn run(controls: &[Control], link: &Link, seconds: u64) -> Vec<Course> {
    let mut flows: Vec<Flow> = controls.iter().map(|control| Flow::new(*control)).collect();
    let mut wire: std::collections::BTreeMap<(Time, u64), (usize, bool, haltere_net::Packet<Body>)> =
        Default::default();
    let (mut now, mut order, mut count, mut free) = (Time::ZERO, 0, 0, Time::ZERO);
    let cx = |now| Cx::new(now, ComponentId(0));
    let mut second = 0;
    let mut waits = vec![(0.0, 0_u32); controls.len()];
    flows.iter_mut().for_each(|flow| flow.client.connect(&mut cx(now)));
    loop {
        for (who, flow) in flows.iter_mut().enumerate() {
            flow.events(now);
            flow.encode(&mut cx(now));
            while let Some(packet) = flow.client.poll_transmit(&mut cx(now)) {
                order += 1;
                wire.insert((now + link.delay, order), (who, false, packet));
            }
            while let Some(mut packet) = flow.server.poll_transmit(&mut cx(now)) {
                order += 1;
                count += 1;
                let rate = link.rate.iter().rev().find(|(from, _)| Time::ZERO + Span::from_secs(*from) <= now);
                let rate = rate.map_or(1e6, |(_, rate)| *rate);
                let wait = free.since(now);
                if wait > link.queue || (link.lost > 0 && count % link.lost == 0) {
                    continue;
                }
                if wait > link.mark && packet.ecn.can_be_marked() {
                    packet.ecn = Ecn::Ce;
                }
                (waits[who].0, waits[who].1) = (waits[who].0 + wait.as_secs_f64(), waits[who].1 + 1);
                free = free.max(now) + Span::from_secs_f64(8.0 * f64::from(packet.len) / rate);
                wire.insert((free + link.delay, order), (who, true, packet));
            }
        }
        let timers = flows.iter().map(|flow| flow.client.next_wake().min(flow.server.next_wake()).min(flow.next_frame));
        let next = timers.min().unwrap_or(Time::NEVER).min(wire.keys().next().map_or(Time::NEVER, |key| key.0));
        now = next.max(now);
        while second < seconds && Time::ZERO + Span::from_secs(second + 1) <= now {
            second += 1;
            for (flow, wait) in flows.iter_mut().zip(&mut waits) {
                flow.course.targets.push(flow.target);
                flow.course.waits.push(wait.0 / f64::from(wait.1.max(1)));
                *wait = (0.0, 0);
            }
        }
        if second == seconds {
            break;
        }
        while let Some(entry) = wire.first_entry().filter(|entry| entry.key().0 <= now) {
            let (who, down, packet) = entry.remove();
            let end = if down { &mut flows[who].client } else { &mut flows[who].server };
            end.on_packet(packet, &mut cx(now));
        }
        for flow in &mut flows {
            flow.client.on_wake(&mut cx(now));
            flow.server.on_wake(&mut cx(now));
        }
    }
    flows.into_iter().map(|flow| Course { stats: flow.server.stats(), ..flow.course }).collect()
}

/// The course of one call.
fn one(control: Control, link: &Link, seconds: u64) -> Course {
    run(&[control], link, seconds).remove(0)
}

#[test]
fn a_rate_of_payload_and_that_of_its_packets_belong_together() {
    let config = Config::new(Role::Server, control::NADA);
    for rate in [150e3, 300e3, 800e3, 1.5e6] {
        let whole = config.whole(rate);
        assert!((config.carried(whole) - rate).abs() < 1.0, "{rate} in {whole}: {}", config.carried(whole));
    }
}

#[test]
fn a_check_opens_the_path_and_is_given_up_after_seven() {
    let mut client = Connection::new(Config::new(Role::Client, control::NADA));
    let mut now = Time::ZERO;
    client.connect(&mut Cx::new(now, ComponentId(0)));
    let mut sent = Vec::new();
    while client.next_wake() < Time::NEVER {
        while client.poll_transmit(&mut Cx::new(now, ComponentId(0))).is_some() {
            sent.push(now.as_nanos() / 1_000_000);
        }
        now = client.next_wake().max(now);
        client.on_wake(&mut Cx::new(now, ComponentId(0)));
    }
    assert_eq!(sent, [0, 500, 1500, 3500, 7500, 15_500, 31_500]);
    assert_eq!(client.poll_event(), Some(Event::Failed(CloseReason::HandshakeTimeout)));
    assert_eq!(now, Time::ZERO + Span::from_millis(39_500));
}

#[test]
fn frames_of_one_part_and_of_many_arrive_whole() {
    for control in Control::ALL {
        let course = one(*control, &Link { rate: vec![(0, 10e6)], ..Link::default() }, 10);
        let (sent, came) = course.frames;
        assert!(sent > 290 && sent - came < 10, "{control:?}: {came} of {sent}");
        assert_eq!(course.stats.lost_packets, 0, "{control:?}");
    }
}

#[test]
fn lost_parts_are_sent_again() {
    for control in Control::ALL {
        let course = one(*control, &Link { rate: vec![(0, 10e6)], lost: 20, ..Link::default() }, 20);
        let (sent, came) = course.frames;
        assert!(sent - came < 15, "{control:?}: {came} of {sent}");
        assert!(course.stats.retransmitted_packets > 10, "{control:?}: {}", course.stats.retransmitted_packets);
    }
}

/// RFC 8867 section 5.1, with its capacities.
#[test]
fn rates_follow_the_capacity_and_the_delay_stays_bounded() {
    let rate = vec![(0, 1e6), (40, 2.5e6), (60, 0.6e6), (80, 1e6)];
    for control in Control::ALL {
        let course = one(*control, &Link { rate: rate.clone(), ..Link::default() }, 100);
        let [first, high, low, last] = [(25, 40), (55, 60), (70, 80), (92, 100)].map(|(a, b)| course.target(a, b));
        let said = format!("{control:?}: {first:.0} {high:.0} {low:.0} {last:.0}, waits {:?}", course.waits);
        assert!((0.5e6..1e6).contains(&first), "{said}");
        assert!(high > 1.2 * first, "{said}");
        assert!((0.25e6..0.6e6).contains(&low), "{said}");
        assert!((0.4e6..1e6).contains(&last), "{said}");
        // NADA takes the losses of a short queue for those of others' (section 4.2 of RFC 8698), and the queue stays full meanwhile.
        assert!(course.wait(20, 40) < 0.2 && course.wait(95, 100) < 0.2, "{said}");
    }
}

/// RFC 8867 section 5.4, with three flows.
#[test]
fn three_calls_share_a_link() {
    for control in Control::ALL {
        let courses = run(&[*control; 3], &Link { rate: vec![(0, 3e6)], ..Link::default() }, 120);
        let shares: Vec<f64> = courses.iter().map(|course| course.target(80, 120)).collect();
        let (least, most) =
            (shares.iter().copied().fold(f64::MAX, f64::min), shares.iter().copied().fold(0.0, f64::max));
        // SCReAM's calls, which begin at one instant here, are farthest apart.
        assert!(least > 0.35 * most && shares.iter().sum::<f64>() < 3e6, "{control:?}: {shares:?}");
    }
}

#[test]
fn marks_of_l4s_keep_the_queue_short() {
    let link = || Link { mark: Span::from_millis(5), ..Link::default() };
    let [with, without] = [control::SCREAM_L4S, control::SCREAM].map(|control| one(control, &link(), 60));
    let [short, long] = [&with, &without].map(|course| course.wait(20, 60));
    let rate = with.target(20, 60);
    assert!(short < 0.6 * long && rate > 0.4e6, "{short} s with L4S, {long} s without, {rate} bit/s");
}

#[test]
fn many_losses_lower_the_rate() {
    for control in Control::ALL {
        let of = |lost| one(*control, &Link { rate: vec![(0, 10e6)], lost, ..Link::default() }, 60).target(40, 60);
        assert!(of(7) < 0.7 * of(0), "{control:?}: {} with one of 7 lost, {} without", of(7), of(0));
    }
}
