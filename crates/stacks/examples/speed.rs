//! How fast stacks run: packets a CPU-second of a bare pair of endpoints on a link, for profilers.
//!
//! `speed STACK CIPHER MEGABYTES MBITS [CONGESTION]`, such as `speed quinn null 200 1000`; `haltere bench` measures whole
//! scenarios.

#[path = "../tests/all/ends/mod.rs"]
mod ends;

use cpu_time::ThreadTime;
use ends::{link, pair};
use haltere_net::Span;
use haltere_stacks::{Cipher, Congestion, QUINN, Stack};
use haltere_transport::cc::{Algorithm, RenoFriendly};

#[expect(clippy::disallowed_methods, reason = "it measures the machine")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize, or: &'static str| words.get(i).map_or(or, String::as_str);
    let number = |i, or| word(i, or).parse::<u64>().unwrap_or(1);
    let stack = Stack::named(word(0, "quinn")).unwrap_or(QUINN);
    let cipher = if word(1, "tls") == "null" { Cipher::Null } else { Cipher::Tls };
    let (megabytes, mbits) = (number(2, "20"), number(3, "50"));
    let congestion = match Algorithm::named(word(4, "")) {
        Some(ours) => Congestion::Ours(ours, None, RenoFriendly::default()),
        None => Congestion::Own("cubic"),
    };
    let wire = link(mbits, Span::from_millis(10), mbits * 2500);
    for _ in 0..5 {
        let start = ThreadTime::now();
        let mut pair = pair(stack, congestion, cipher, &wire, &wire, &[(100, megabytes * 1_000_000)]);
        pair.run(Span::from_secs(3600));
        let cpu = start.elapsed().as_secs_f64();
        let packets = pair.up.counters().delivered + pair.down.counters().delivered;
        let done = pair.client_log.streams.first().and_then(|s| s.3);
        println!("{packets} packets in {cpu:.3} s: {:.0} a CPU-second; done at {done:?}", packets as f64 / cpu);
    }
}
