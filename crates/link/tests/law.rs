//! The emulator's own loop against the simulator's link or network interface: however late and however often it wakes up, it hands on the
//! same packets, and each one not before the link's own time for it; and for a seed it loses the same packets.
#![cfg(target_os = "linux")]

use haltere_link::EmulatorSpec;
use haltere_link::engine::{Engine, Frame, Io};
use haltere_link::unit::Unit;
use haltere_net::element::{AnyElement, Element, Port};
use haltere_net::interface::{Crediting, Ring};
use haltere_net::link::LinkConfig;
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::queue::{Limit, QueueConfig};
use haltere_net::rng::Streams;
use haltere_net::{ComponentId, Cx, Ecn, Packet, Rate, Span, Time};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A kernel in virtual time that wakes its caller late or too early, and takes time over everything.
struct Virtual {
    now: u64,
    /// Units that arrive at port 0, each with its time, ascending; the number stands in the packet.
    arrivals: VecDeque<(u64, Unit)>,
    /// How late (or, if negative, how early) the next wake-ups are, ns.
    wakes: VecDeque<i64>,
    /// Lengths of the packets that this round has read.
    pending: Vec<u32>,
    /// When each packet was read, and its length.
    read: Vec<(u64, u32)>,
    /// Units handed on: the time, and the bytes of each packet.
    sent: Vec<(u64, Vec<u8>)>,
}

impl Io for Virtual {
    fn now(&mut self) -> Time {
        // Time has passed while packets were read; they are dated by this reading.
        self.now += 700;
        self.read.extend(self.pending.drain(..).map(|len| (self.now, len)));
        Time::from_nanos(self.now)
    }

    fn receive(&mut self, port: usize) -> Option<Unit> {
        if port != 0 || self.arrivals.front()?.0 > self.now {
            return None;
        }
        let (_, unit) = self.arrivals.pop_front()?;
        self.pending.extend((0..unit.pieces()).map(|n| unit.len(n)));
        Some(unit)
    }

    fn send(&mut self, port: usize, unit: &Unit, pieces: Range<u32>, ecn: Ecn) {
        assert_eq!(port, 1);
        for n in pieces {
            let piece = unit.piece(n..n + 1, ecn);
            self.sent.push((self.now, [piece.head(), piece.payload()].concat()));
        }
    }

    fn wait(&mut self, until: Time) -> bool {
        let arrival = self.arrivals.front().map_or(u64::MAX, |a| a.0);
        let due = until.as_nanos().min(arrival);
        if due == u64::MAX {
            return false;
        }
        let error = self.wakes.pop_front().unwrap_or(0);
        self.now = self.now.max(due.saturating_add_signed(error));
        true
    }
}

/// An IPv4 packet of `len` bytes with a number, and a `virtio_net_hdr`.
fn packet(number: usize, len: usize) -> Unit {
    let mut bytes = vec![0; 10 + len];
    bytes[10] = 0x45;
    bytes[14..18].copy_from_slice(&(number as u32).to_be_bytes());
    Unit::read(&bytes).expect("an IP packet")
}

fn spec(config: &LinkConfig) -> EmulatorSpec {
    let down = serde_json::to_value(config).expect("JSON");
    let spec = serde_json::json!({
        "seed": 11, "replication": 2,
        "links": [{ "name": "l", "ends": [{ "interface": "a" }, { "interface": "b" }], "down": down }],
    });
    EmulatorSpec::from_json(&spec.to_string()).expect("a specification")
}

/// The times and numbers of packets that leave the simulator's link when they are offered at these times.
fn simulated(config: &LinkConfig, offers: &[(u64, u32)]) -> Vec<(u64, usize)> {
    let mut link: AnyElement<usize> = AnyElement::of(config, "l/down", &Streams::new(11, 2), Crediting::On);
    let packet = |n, len| Packet::new(len, n);
    let mut out = Vec::new();
    for (n, &(t, len)) in offers.iter().enumerate() {
        let mut cx = Cx::new(Time::from_nanos(t), ComponentId(0));
        link.offer(Port(0), packet(n, len), &mut cx);
    }
    let end = Time::from_nanos(u64::MAX / 2);
    while let Some((at, p)) = link.poll(end, &mut Cx::new(end, ComponentId(0))) {
        out.push((at.as_nanos(), p.body));
    }
    out
}

fn configs() -> impl Strategy<Value = LinkConfig> {
    let loss = prop_oneof![
        Just(LossModel::None),
        Just(LossModel::Uniform { p: 0.2 }),
        Just(LossModel::GilbertElliott { good_to_bad: 0.1, bad_to_good: 0.5, loss_in_bad: 0.9, loss_in_good: 0.01 })
    ];
    let jitter = prop_oneof![
        Just(JitterModel::None),
        any::<bool>().prop_map(|reorder| JitterModel::Uniform { spread: Span::from_micros(900), reorder }),
    ];
    let queue = prop_oneof![(1u64..20).prop_map(Limit::Packets), (1600u64..20_000).prop_map(Limit::Bytes)];
    let rate = prop_oneof![Just(None), (1_000_000u64..1_000_000_000).prop_map(|r| Some(Rate::from_bps(r)))];
    let ring = prop::option::of((1u64..9, any::<bool>()).prop_map(|(packets, bql)| Ring { packets, bql }));
    (rate, 0u64..5_000_000, (queue, ring), loss, jitter, prop_oneof![Just(0.0), Just(0.1)]).prop_map(
        |(rate, delay, (queue, ring), loss, jitter, duplication)| LinkConfig {
            ring,
            rate,
            delay: Span::from_nanos(delay),
            queue: QueueConfig::drop_tail(queue, Some(Limit::Packets(2))),
            loss,
            jitter,
            duplication,
            ..LinkConfig::default()
        },
    )
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, usize)>> {
    let gap = prop_oneof![3 => 0u64..2_000_000, 1 => Just(0)];
    prop::collection::vec((gap, 40usize..1600), 1..80).prop_map(|gaps| {
        let sums = gaps.into_iter().scan(0, |t, (gap, len)| {
            *t += gap;
            Some((*t, len))
        });
        sums.collect()
    })
}

fn number(bytes: &[u8]) -> usize {
    u32::from_be_bytes([bytes[14], bytes[15], bytes[16], bytes[17]]) as usize
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn late_and_early_wake_ups_change_nothing_but_lateness(
        config in configs(),
        arrivals in arrivals(),
        wakes in prop::collection::vec(prop_oneof![-1_000_000i64..0, 0i64..50_000, 0i64..3_000_000], 0..200),
        coalesce: bool,
    ) {
        let mut engine = Engine::new(&EmulatorSpec { coalesce, ..spec(&config) });
        let units = arrivals.iter().enumerate().map(|(n, &(t, len))| (t, packet(n, len))).collect();
        let mut world = Virtual { now: 0, arrivals: units, wakes: wakes.into(), pending: vec![], read: vec![], sent: vec![] };
        while engine.turn(&mut world) {}
        let expected = simulated(&config, &world.read);
        let sent: Vec<usize> = world.sent.iter().map(|(_, bytes)| number(bytes)).collect();
        prop_assert_eq!(&sent, &expected.iter().map(|e| e.1).collect::<Vec<_>>());
        for ((at, _), (due, _)) in world.sent.iter().zip(&expected) {
            prop_assert!(at >= due, "handed on at {at}, due only at {due}");
        }
        let leg = &engine.legs()[0];
        prop_assert!(leg.link.conserves() && leg.link.inside() == 0);
    }
}

#[test]
fn the_losses_of_a_seed_are_the_simulators_even_within_a_super_packet() {
    let config = LinkConfig { loss: LossModel::Uniform { p: 0.3 }, ..LinkConfig::default() };
    // A super-packet of 40 packets: IPv4 and TCP headers, 100 bytes of payload each.
    let mut bytes = vec![1, 1, 40, 0, 0, 0, 0, 0, 0, 0];
    bytes[4..6].copy_from_slice(&100u16.to_ne_bytes());
    bytes[6..8].copy_from_slice(&20u16.to_ne_bytes());
    bytes.extend([0x45, 0, 0x0f, 0xc8, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend([0, 80, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0x50, 0x10, 1, 1, 0, 0, 0, 0]);
    bytes.extend([0; 4000]);
    let unit = Unit::read(&bytes).expect("a super-packet");
    assert_eq!(unit.pieces(), 40);
    for coalesce in [false, true] {
        let mut engine = Engine::new(&EmulatorSpec { coalesce, ..spec(&config) });
        let arrivals = VecDeque::from([(0, unit.clone())]);
        let mut world =
            Virtual { now: 0, arrivals, wakes: VecDeque::new(), pending: vec![], read: vec![], sent: vec![] };
        while engine.turn(&mut world) {}
        // The TCP sequence number, which follows both headers of 10 and 20 bytes by 4, tells the pieces apart.
        let sequence = |b: &[u8]| u32::from_be_bytes([b[34], b[35], b[36], b[37]]) as usize / 100;
        let kept: Vec<usize> = world.sent.iter().map(|(_, bytes)| sequence(bytes)).collect();
        let expected: Vec<usize> = simulated(&config, &[(0, 140); 40]).iter().map(|e| e.1).collect();
        assert!(expected.len() < 40 && expected.len() > 15);
        assert_eq!(kept, expected, "coalesce {coalesce}");
    }
}

#[test]
fn packets_sent_before_the_end_count() {
    let config = LinkConfig { loss: LossModel::Uniform { p: 0.3 }, ..LinkConfig::default() };
    let mut engine = Engine::new(&EmulatorSpec { coalesce: true, ..spec(&config) });
    // All were sent at once, and the end comes after one round, which reads but a part of them.
    let arrivals = (0..100).map(|n| (0, packet(n, 100))).collect();
    let mut world = Virtual { now: 0, arrivals, wakes: VecDeque::new(), pending: vec![], read: vec![], sent: vec![] };
    engine.turn(&mut world);
    assert!(engine.legs()[0].link.counters().offered < 100);
    engine.finish(&mut world);
    assert_eq!(engine.legs()[0].link.counters().offered, 100);
    let kept: Vec<usize> = world.sent.iter().map(|(_, bytes)| number(bytes)).collect();
    let expected: Vec<usize> = simulated(&config, &[(0, 100); 100]).iter().map(|e| e.1).collect();
    assert_eq!(kept, expected);
}

#[test]
fn a_frame_is_small_to_copy() {
    let frame = Frame { unit: Arc::new(packet(0, 1500)), piece: 0 };
    assert!(std::mem::size_of_val(&frame) <= 16);
}
