//! Measures the cost of a queue's general path relative to drop-tail's fast path: the same packets over the same link,
//! alternating in pairs, and the median of the ratios. `operations` measures how many packets a second go through each
//! discipline (or those that are named) at a steady backlog, in turn with a bare `VecDeque` of the same packets.
//!
//! usage: queues [PAIRS] · queues once cut|served (for Callgrind) · queues operations [DISCIPLINE...]

use cpu_time::ThreadTime;
use haltere_net::counters::LinkCounters;
use haltere_net::link::{Link, LinkConfig};
use haltere_net::queue::{Discipline, DropTail, Fates, Limit, Place, QueueConfig, Scale};
use haltere_net::registry::Registry;
use haltere_net::rng::Streams;
use haltere_net::{Address, ComponentId, ConnectionId, Cx, FlowKey, Packet, Rate, Span, Time};
use std::collections::VecDeque;
use std::hint::black_box;
use std::process::ExitCode;

/// A body as large as the simulator's.
type Body = [u64; 8];
const PACKETS: u64 = 200_000;
const LIMIT: Limit = Limit::Packets(100);

/// How a link's drop-tail queue works: as a discipline that serves packets, or computed ahead of time.
#[derive(Clone, Copy)]
enum Queue {
    Served,
    Computed,
}

/// A link at 97 % of its rate, with bursts that fill the queue and empty it again.
fn link(queue: Queue) -> Link<Body> {
    let config = LinkConfig {
        rate: Some(Rate::from_bps(100_000_000)),
        delay: Span::from_millis(10),
        queue: LIMIT.into(),
        ..LinkConfig::default()
    };
    let streams = Streams::new(1, 0);
    match queue {
        Queue::Served => Link::with_discipline(&config, "l", &streams, Box::new(DropTail::new(LIMIT, None))),
        Queue::Computed => Link::new(&config, "l", &streams),
    }
}

/// Drives the link as a simulator does: offers at their times, polls when the link asks for it.
fn drive(queue: Queue) -> u64 {
    let mut link = link(queue);
    let mut random = Streams::new(2, 0).named("offers");
    let mut cx = Cx::new(Time::ZERO, ComponentId(0));
    let (mut offered, mut next, mut sum) = (0, Time::ZERO, 0);
    loop {
        let wake = link.next_wake();
        let due = if offered < PACKETS { next } else { Time::NEVER };
        cx.now = due.min(wake);
        if cx.now == Time::NEVER {
            return sum;
        }
        if wake <= due {
            if let Some((at, packet)) = link.poll(cx.now, &mut cx) {
                sum ^= at.as_nanos().wrapping_mul(packet.body[0]);
            }
        } else {
            link.offer(Packet::new(1500, [offered; 8]), &mut cx);
            offered += 1;
            // 32 packets at once, then a pause of 33 packets' time.
            let pause = if offered % 32 == 0 { 120_000 * 33 } else { 0 };
            next += Span::from_nanos(pause + random.bits() % 64);
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn timed<T>(act: impl FnOnce() -> T) -> f64 {
    let start = ThreadTime::now();
    black_box(act());
    start.elapsed().as_secs_f64()
}

/// Flows and packets of a backlog.
const BACKLOGS: [(u32, u32); 2] = [(1, 100), (10_000, 20_000)];
/// Packets that go through in one measurement, measurements, and the time from one packet to the next, in which no
/// discipline finds that packets wait for long.
const OPERATIONS: u32 = 200_000;
const MEASUREMENTS: usize = 31;
const APART: Span = Span::from_nanos(100);

/// A discipline that lets all packets of the measurement pass.
fn word(discipline: Discipline) -> String {
    let name = discipline.describe().name;
    let more = match name {
        "tbf" => ",rate=10000Gbit/s,burst=1GB",
        "drr" => ",flows=65536",
        "sfq" => ",flows=65408,divisor=65536",
        "fq" => ",flow_limit=100000p",
        "fq_codel" => ",flows=65536,memory_limit=1GB,target=1s,interval=10s",
        "fq_pie" => ",flows=65536",
        "dualpi2" => ",memlimit=1GB",
        // It has no limit but that of its memory.
        "cake" => return "cake:memlimit=1GB".to_string(),
        _ => "",
    };
    let limit = if name == "red" { "100GB" } else { "100000p" };
    format!("{name}:limit={limit}{more}")
}

fn packet(flow: FlowKey, now: Time) -> Packet<Body> {
    black_box(Packet::new(1500, [now.as_nanos(); 8]).with(|p| {
        p.flow = flow;
        p.arrived = now;
    }))
}

/// Sends `OPERATIONS` packets through a queue: each comes, and one leaves, whose flow gets the next one. So the backlog
/// stays as it is, also that of each flow.
fn operate(clock: &mut Time, flow: &mut FlowKey, mut pass: impl FnMut(Packet<Body>, Time) -> Option<Packet<Body>>) {
    for _ in 0..OPERATIONS {
        *clock += APART;
        if let Some(packet) = black_box(pass(packet(*flow, *clock), *clock)) {
            *flow = packet.flow;
        }
    }
}

/// Millions of operations a second of a discipline, and their rate as a share of that of a bare `VecDeque`: medians.
fn rates(discipline: Discipline, flows: u32, backlog: u32) -> Result<(f64, f64), String> {
    let scale = Scale { rate: None, rtt: Span::from_millis(10), mtu: 1500 };
    let place = Place { scale, name: "l/down", streams: &Streams::new(1, 0) };
    let word = word(discipline);
    let mut queue = QueueConfig::from_word(&word)?.build::<Body>(&place);
    let (mut bare, mut counters) = (VecDeque::new(), LinkCounters::default());
    let key = |n: u32| FlowKey { source: Address(1), destination: Address(2), connection: ConnectionId(n % flows) };
    for n in 0..backlog {
        queue.enqueue(packet(key(n), Time::ZERO), Time::ZERO, &mut Fates::new(&mut counters));
        bare.push_back(packet(key(n), Time::ZERO));
    }
    let (mut at, mut at_bare) = ((Time::ZERO, key(0)), (Time::ZERO, key(0)));
    let (mut times, mut shares) = (Vec::new(), Vec::new());
    for _ in 0..MEASUREMENTS {
        let floor = timed(|| {
            operate(&mut at_bare.0, &mut at_bare.1, |packet, _| {
                bare.push_back(packet);
                bare.pop_front()
            });
        });
        let own = timed(|| {
            operate(&mut at.0, &mut at.1, |packet, now| {
                let (mut fates, mut ready) = (Fates::new(&mut counters), Time::ZERO);
                queue.put(packet, now, &mut fates);
                queue.take(now, &mut ready, &mut fates)
            });
        });
        times.push(own);
        shares.push(floor / own);
    }
    if queue.backlog().packets != u64::from(backlog) || counters.dropped() > 0 {
        return Err(format!("{word} dropped packets of {flows} flows: the backlog was not steady"));
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Ok((f64::from(OPERATIONS) / median(&mut times) / 1e6, median(&mut shares)))
}

fn operations(names: &[&str]) -> Result<(), String> {
    let mut disciplines: Vec<Discipline> =
        names.iter().map(|name| Registry::default().named(name)).collect::<Result<_, _>>()?;
    if disciplines.is_empty() {
        disciplines = Discipline::ALL.to_vec();
    }
    println!("millions of packets a second in and out, and as a share of a bare VecDeque of the same packets");
    for discipline in disciplines {
        let mut line = format!("{:12}", discipline.describe().name);
        for (flows, backlog) in BACKLOGS {
            let (rate, share) = rates(discipline, flows, backlog)?;
            line += &format!("  {flows:5} flows, {backlog:5} waiting: {rate:6.1} ({share:.2})");
        }
        println!("{line}");
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["once", "cut"] => println!("{}", drive(Queue::Computed)),
        ["once", "served"] => println!("{}", drive(Queue::Served)),
        ["operations", ref names @ ..] => {
            if let Err(wrong) = operations(names) {
                eprintln!("{wrong}");
                return ExitCode::from(2);
            }
        }
        [] | [_] => {
            let pairs = words.first().map_or(Ok(51), |n| n.parse::<usize>());
            let Ok(pairs @ 1..) = pairs else {
                eprintln!("usage: queues [PAIRS] | queues once cut|served | queues operations [DISCIPLINE...]");
                return ExitCode::from(2);
            };
            if drive(Queue::Computed) != drive(Queue::Served) {
                eprintln!("the two ways do not deliver the same packets at the same times");
                return ExitCode::FAILURE;
            }
            let mut ratios: Vec<f64> = (0..pairs)
                .map(|_| (timed(|| drive(Queue::Computed)), timed(|| drive(Queue::Served))))
                .map(|(a, b)| b / a)
                .collect();
            ratios.sort_by(f64::total_cmp);
            let at = |share: f64| ratios[((pairs - 1) as f64 * share).round() as usize];
            println!(
                "general way / drop-tail's short cut: {:.3} (quartiles {:.3} and {:.3}, {pairs} pairs of {PACKETS} packets)",
                at(0.5),
                at(0.25),
                at(0.75)
            );
        }
        _ => {
            eprintln!("usage: queues [PAIRS] | queues once cut|served | queues operations [DISCIPLINE...]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
