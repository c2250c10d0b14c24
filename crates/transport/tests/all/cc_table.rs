//! Each congestion control over TCP and QUIC in situations that together reach its rules: the tables say to the microsecond how long
//! a transfer takes, and how many packets it costs. Results that change are seen here, and reviewed.
//!
//! To rewrite the table: `HALTERE_BLESS=1 cargo test -p haltere-transport --test all cc_table`

use crate::common;

use common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::queue::{Limit, QueueConfig};
use haltere_net::registry::Entry as _;
use haltere_net::rng::Streams;
use haltere_net::varying::{InOutage, Outages, Period};
use haltere_net::{Rate, Span, Time};
use haltere_transport::cc::{Algorithm, Arithmetic, Implementation, RenoFriendly};
use haltere_transport::tcp::{self, EchoRule};
use haltere_transport::{Endpoint, Role, StreamId, quic};
use std::fmt::Write;

/// A transfer: its size and the link that its data cross, with an RTT of twice the link's delay.
struct Situation {
    name: &'static str,
    bytes: u64,
    down: LinkConfig,
}

/// How much is written each time where a sender pauses.
const WRITTEN: u64 = 400_000;

fn link(mbps: u64, ms: u64, queue: QueueConfig, loss: LossModel) -> LinkConfig {
    let (rate, delay) = (Some(Rate::from_bps(mbps * 1_000_000)), Span::from_millis(ms));
    LinkConfig { rate, delay, queue, loss, ..LinkConfig::default() }
}

fn situations() -> Vec<Situation> {
    let packets = |n| QueueConfig::drop_tail(Limit::Packets(n), None);
    let marking = QueueConfig::drop_tail(Limit::Packets(300), Some(Limit::Packets(20)));
    let random = |p| LossModel::Uniform { p };
    let bursts = LossModel::GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.1, loss_in_bad: 0.8, loss_in_good: 0.0 };
    let jittered = |jitter| LinkConfig { jitter, ..link(20, 20, packets(100), LossModel::None) };
    let period = Period { from: Span::from_millis(500), to: Span::from_millis(1200) };
    let outages = Outages::new(vec![period], InOutage::Drop, None).ok();
    let silent = LinkConfig { outages, ..link(10, 20, packets(100), LossModel::None) };
    let situation = |name, bytes, down| Situation { name, bytes, down };
    vec![
        situation("short queue", 12_000_000, link(10, 30, packets(25), LossModel::None)),
        situation("long queue", 12_000_000, link(10, 30, packets(200), LossModel::None)),
        situation("short path", 8_000_000, link(20, 2, packets(20), random(0.002))),
        situation("long path", 30_000_000, link(100, 100, packets(400), random(0.0002))),
        situation("losses", 600_000, link(10, 20, packets(100), random(0.03))),
        situation("bursts", 300_000, link(10, 20, packets(100), bursts)),
        situation("silence", 1_000_000, silent),
        situation(
            "reordering",
            2_000_000,
            jittered(JitterModel::Uniform { spread: Span::from_millis(15), reorder: true }),
        ),
        situation("jitter", 2_000_000, jittered(JitterModel::Normal { sigma: Span::from_millis(5), reorder: false })),
        situation("marks", 3_000_000, link(20, 10, marking, LossModel::None)),
    ]
}

/// How long a transfer takes, and the packets that it offers to the link.
fn transfer<C: Endpoint, S: Endpoint>(client: C, server: S, situation: &Situation) -> String {
    let up = LinkConfig { delay: situation.down.delay, ..LinkConfig::default() };
    let exchange = Exchange { streams: vec![(200, situation.bytes)] };
    let mut pair = Pair::new(client, server, &up, &situation.down, 4, exchange);
    assert!(pair.run(Span::from_secs(600)), "{}", situation.name);
    pair.assert_complete();
    let took = pair.client_log.streams[0].3.unwrap().as_nanos() / 1000;
    format!("{took:>10} us {:>6} packets", pair.down.counters().offered)
}

/// How much has arrived a little after each of three writes, between which the sender is idle for four seconds.
fn with_pauses(client: tcp::Connection, server: tcp::Connection) -> String {
    let (up, down) = (link(10, 20, QueueConfig::default(), LossModel::None), situations().swap_remove(0).down);
    let mut pair = Pair::new(client, server, &up, &down, 4, Exchange { streams: Vec::new() });
    pair.run(Span::from_secs(1));
    let mut arrived = String::new();
    for second in [1, 5, 9] {
        pair.go_on(Span::from_secs(second));
        pair.now = Time::ZERO + Span::from_secs(second);
        pair.server_writes(StreamId(0), WRITTEN);
        pair.go_on(Span::from_secs(second) + Span::from_millis(250));
        write!(arrived, "{:>8} ", pair.client_log.bytes()).unwrap();
    }
    format!("{arrived}bytes")
}

/// A control, and how it counts.
#[derive(Clone, Copy)]
struct Contender {
    algorithm: Algorithm,
    label: &'static str,
    friendly: RenoFriendly,
    arithmetic: Arithmetic,
    connections: u8,
}

impl Contender {
    fn tcp(self, role: Role) -> tcp::Connection {
        let mut config = tcp::Config::new(role, self.algorithm, Streams::new(5, 0).named("cc"));
        (config.reno_friendly, config.arithmetic) = (self.friendly, self.arithmetic);
        config.emulated_connections = self.connections;
        config.ecn = config.ecn.or(Some(EchoRule::Rfc3168));
        tcp::Connection::new(config)
    }

    fn quic(self, role: Role) -> quic::Connection {
        let mut config = quic::Config::new(role, self.algorithm, Streams::new(5, 0).named("cc"));
        (config.reno_friendly, config.arithmetic) = (self.friendly, self.arithmetic);
        (config.emulated_connections, config.ecn) = (self.connections, true);
        quic::Connection::new(config)
    }
}

/// All controls, and CUBIC and NewReno by their other rules.
fn contenders() -> Vec<Contender> {
    let (friendly, arithmetic) = (RenoFriendly::default(), Arithmetic::default());
    let of = |algorithm| Contender { algorithm, label: "", friendly, arithmetic, connections: 1 };
    let named = |name| of(Algorithm::named(name).unwrap());
    let mut all: Vec<Contender> = Implementation::BUILT_IN.iter().map(|control| of(*control)).collect();
    all.extend([
        Contender { label: " rfc9438", friendly: RenoFriendly::Rfc9438, ..named("cubic") },
        Contender { label: " linux", arithmetic: Arithmetic::Linux, ..named("cubic") },
        Contender { label: " quinn", arithmetic: Arithmetic::Quinn, ..named("cubic") },
        Contender { label: " friendly", friendly: RenoFriendly::Quinn, ..named("cubic") },
        Contender { label: " twice", connections: 2, ..named("cubic") },
        Contender { label: " quinn", arithmetic: Arithmetic::Quinn, ..named("newreno") },
    ]);
    all
}

/// The contender's transfers over TCP and QUIC; an arithmetic that belongs to one of them runs over that alone.
fn rows(contender: Contender, situation: &Situation) -> Vec<(&'static str, String)> {
    let tcp = |role| contender.tcp(role);
    let quic = |role| contender.quic(role);
    let mut rows = Vec::new();
    if contender.arithmetic != Arithmetic::Quinn {
        rows.push(("tcp", transfer(tcp(Role::Client), tcp(Role::Server), situation)));
    }
    if contender.arithmetic != Arithmetic::Linux {
        rows.push(("quic", transfer(quic(Role::Client), quic(Role::Server), situation)));
    }
    rows
}

#[test]
fn each_control_does_what_the_table_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/controls.txt");
    let mut now = String::from("# Regenerate: HALTERE_BLESS=1 cargo test -p haltere-transport --test all cc_table\n");
    for contender in contenders() {
        let name = format!("{}{}", contender.algorithm.description.name, contender.label);
        for situation in situations() {
            for (transport, found) in rows(contender, &situation) {
                writeln!(now, "{:<18} {:<12} {found}", format!("{transport}/{name}"), situation.name).unwrap();
            }
        }
        if contender.arithmetic != Arithmetic::Quinn {
            let found = with_pauses(contender.tcp(Role::Client), contender.tcp(Role::Server));
            writeln!(now, "{:<18} {:<12} {found}", format!("tcp/{name}"), "pauses").unwrap();
        }
    }
    if std::env::var_os("HALTERE_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    let changed: Vec<String> =
        kept.lines().zip(now.lines()).filter(|(a, b)| a != b).map(|(a, b)| format!("- {a}\n+ {b}")).collect();
    assert!(kept == now, "results have changed:\n{}", changed.join("\n"));
}
