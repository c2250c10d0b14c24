//! Measures the cost of a queue's general path relative to drop-tail's fast path: the same packets over the same link,
//! alternating in pairs, and the median of the ratios.
//!
//! usage: queues [PAIRS] · queues once cut|served (for Callgrind)

use haltere_net::link::{Link, LinkConfig};
use haltere_net::queue::{DropTail, Limit};
use haltere_net::rng::Streams;
use haltere_net::{ComponentId, Cx, Packet, Rate, Span, Time};
use std::process::ExitCode;

/// A body as large as the simulator's.
type Body = [u64; 8];
const PACKETS: u64 = 200_000;
const LIMIT: Limit = Limit::Packets(100);

/// A link at 97 % of its rate, with bursts that fill the queue and empty it again.
fn link(served: bool) -> Link<Body> {
    let config = LinkConfig {
        rate: Some(Rate::from_bps(100_000_000)),
        delay: Span::from_millis(10),
        queue: LIMIT.into(),
        ..LinkConfig::default()
    };
    let streams = Streams::new(1, 0);
    if served {
        Link::with_discipline(&config, "l", &streams, Box::new(DropTail::new(LIMIT, None)))
    } else {
        Link::new(&config, "l", &streams)
    }
}

/// Drives the link as a simulator does: offers at their times, polls when the link asks for it.
fn drive(served: bool) -> u64 {
    let mut link = link(served);
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
fn timed(served: bool) -> f64 {
    let start = std::time::Instant::now();
    std::hint::black_box(drive(served));
    start.elapsed().as_secs_f64()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["once", "cut"] => println!("{}", drive(false)),
        ["once", "served"] => println!("{}", drive(true)),
        [] | [_] => {
            let pairs = words.first().map_or(Ok(51), |n| n.parse::<usize>());
            let Ok(pairs @ 1..) = pairs else {
                eprintln!("usage: queues [PAIRS] | queues once cut|served");
                return ExitCode::from(2);
            };
            if drive(false) != drive(true) {
                eprintln!("the two ways do not deliver the same packets at the same times");
                return ExitCode::FAILURE;
            }
            let mut ratios: Vec<f64> = (0..pairs).map(|_| (timed(false), timed(true))).map(|(a, b)| b / a).collect();
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
            eprintln!("usage: queues [PAIRS] | queues once cut|served");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
