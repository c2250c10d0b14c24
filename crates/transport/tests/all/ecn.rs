//! ECN end to end over a queue that marks: RFC 3168, RFC 8257 and RFC 9768 for TCP, RFC 9000 section 13.4 for QUIC.

use crate::common;

use common::{Exchange, Pair, Seen};
use haltere_net::link::LinkConfig;
use haltere_net::queue::{Limit, QueueConfig};
use haltere_net::rng::Streams;
use haltere_net::{Ecn, Rate, Span};
use haltere_transport::cc::{self, Algorithm};
use haltere_transport::quic::{self, Frame};
use haltere_transport::tcp::{self, EchoRule, segment::Kind};
use haltere_transport::{Body, Endpoint, Role};

/// 20 Mbit/s and an RTT of 20 ms, which 33 packets fill; 20 waiting packets mark.
fn marking() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bps(20_000_000)),
        delay: Span::from_millis(10),
        queue: QueueConfig::drop_tail(Limit::Packets(300), Some(Limit::Packets(20))),
        ..LinkConfig::default()
    }
}

fn up() -> LinkConfig {
    LinkConfig { delay: Span::from_millis(10), ..LinkConfig::default() }
}

fn exchange() -> Exchange {
    Exchange { streams: vec![(200, 10_000_000)] }
}

fn tcp_pair(algorithm: Algorithm, ecn: Option<EchoRule>, down: &LinkConfig) -> Pair<tcp::Connection, tcp::Connection> {
    let end = |role| {
        let mut config = tcp::Config::new(role, algorithm, Streams::new(3, 0).named("cc"));
        config.ecn = ecn.or(config.ecn);
        tcp::Connection::new(config)
    };
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &up(), down, 4, exchange());
    pair.keep = true;
    pair
}

fn quic_pair(algorithm: Algorithm, set: fn(&mut quic::Config)) -> Pair<quic::Connection, quic::Connection> {
    let end = |role| {
        let mut config = quic::Config::new(role, algorithm, Streams::new(3, 0).named("cc"));
        set(&mut config);
        quic::Connection::new(config)
    };
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &up(), &marking(), 4, exchange());
    pair.keep = true;
    pair
}

fn segments(seen: &[Seen]) -> impl Iterator<Item = (&Seen, &tcp::Segment)> {
    seen.iter().filter_map(|s| match &s.packet.body {
        Body::Tcp(segment) => Some((s, segment)),
        _ => None,
    })
}

fn ends<C: Endpoint, S: Endpoint>(mut pair: Pair<C, S>) -> Pair<C, S> {
    assert!(pair.run(Span::from_secs(60)));
    pair.assert_exchanged();
    pair
}

#[test]
fn tcp_agrees_on_ecn_in_the_handshake_and_marks_new_data_only() {
    let pair = ends(tcp_pair(cc::NEWRENO, Some(EchoRule::Rfc3168), &marking()));
    let flags = |kind| segments(&pair.seen).find(|(_, s)| s.kind == kind).map(|(p, s)| (s.ece, s.cwr, p.packet.ecn));
    assert_eq!(flags(Kind::Syn), Some((true, true, Ecn::NotEct)));
    assert_eq!(flags(Kind::SynAck), Some((true, false, Ecn::NotEct)));
    for (packet, segment) in segments(&pair.seen).filter(|(_, s)| s.kind == Kind::Data) {
        assert_eq!(packet.packet.ecn == Ecn::Ect0, segment.len > 0, "{segment:?}");
    }
}

#[test]
fn a_mark_is_echoed_until_the_window_is_reduced_which_is_once_a_round_trip() {
    let pair = ends(tcp_pair(cc::NEWRENO, Some(EchoRule::Rfc3168), &marking()));
    let stats = pair.server.stats();
    assert_eq!((stats.lost_packets, stats.retransmitted_packets), (0, 0), "marks keep the queue from overflowing");
    assert!(pair.down.counters().marked > 20);
    let reductions = segments(&pair.seen).filter(|(p, s)| !p.by_client() && s.cwr && s.len > 0).count();
    // Reno's window swings between 26 and 53 segments at RTTs of 20 to 32 ms: about 0.7 s a tooth, 4 s in all.
    assert!((3..=9).contains(&reductions), "{reductions}");
    let echoes = segments(&pair.seen).filter(|(p, s)| p.by_client() && s.ece && s.kind == Kind::Data).count();
    assert!(echoes >= 10 * reductions, "{echoes} echoes of {reductions} reductions");
    let most = pair.down.counters().max_queue_packets;
    assert!(most < 120, "{most} packets");
}

#[test]
fn without_the_switch_nothing_is_marked() {
    let pair = ends(tcp_pair(cc::NEWRENO, None, &marking()));
    assert_eq!(pair.down.counters().marked, 0);
    assert!(pair.server.stats().lost_packets > 0);
    assert!(segments(&pair.seen).all(|(p, s)| !s.ece && !s.cwr && p.packet.ecn == Ecn::NotEct));
    let pair = ends(quic_pair(cc::NEWRENO, |_| {}));
    assert_eq!(pair.down.counters().marked, 0);
}

#[test]
fn an_end_without_ecn_is_left_alone() {
    let mut pair = tcp_pair(cc::NEWRENO, Some(EchoRule::Rfc3168), &marking());
    let config = tcp::Config::new(Role::Server, cc::NEWRENO, Streams::new(3, 0).named("cc"));
    pair.server = tcp::Connection::new(config);
    let pair = ends(pair);
    assert!(
        segments(&pair.seen).filter(|(_, s)| s.kind != Kind::Syn).all(|(p, s)| !s.ece && p.packet.ecn == Ecn::NotEct)
    );
}

#[test]
fn every_loss_based_control_heeds_marks() {
    for &algorithm in Algorithm::ALL {
        let heeds = ["newreno", "cubic", "reno", "dctcp", "vegas", "bic", "westwood", "htcp", "illinois", "veno"];
        if !heeds.contains(&algorithm.describe().name) {
            continue;
        }
        let pair = ends(tcp_pair(algorithm, Some(EchoRule::Rfc3168), &marking()));
        assert_eq!(pair.server.stats().lost_packets, 0, "TCP {algorithm:?}");
        let pair = ends(quic_pair(algorithm, |config| config.ecn = true));
        assert_eq!(pair.server.stats().lost_packets, 0, "QUIC {algorithm:?}");
        assert!(pair.down.counters().marked > 0, "QUIC {algorithm:?}");
    }
}

/// M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3: the queue of one flow swings by
/// sqrt((C RTT + K) / 2) packets below K + 1.
#[test]
fn dctcp_keeps_the_queue_at_the_threshold() {
    let pair = ends(tcp_pair(cc::DCTCP, None, &marking()));
    assert!(segments(&pair.seen).all(|(p, _)| p.packet.ecn == Ecn::Ect0), "all packets are ECN-capable");
    let counters = pair.down.counters();
    assert_eq!(pair.server.stats().lost_packets, 0);
    let delay = counters.queueing_ns as f64 * 1e-6 / counters.served as f64;
    // 20 packets are 12 ms; the swing is sqrt(53.3 / 2) = 5.2 packets, 3.1 ms.
    assert!((8.0..13.5).contains(&delay), "{delay} ms in the mean");
    let seconds = pair.client_log.streams[0].3.map_or(f64::NAN, |t| t.as_secs_f64());
    let ideal = 10_000_000.0 * 8.0 / 20e6 * 1500.0 / 1448.0;
    assert!(seconds < ideal * 1.03, "{seconds} s of {ideal}");
}

/// RFC 8257 section 3.2: the share of echoed bytes is that of marked ones, delayed acknowledgements or not.
#[test]
fn dctcps_echoes_are_as_many_as_the_marks() {
    let pair = ends(tcp_pair(cc::DCTCP, None, &marking()));
    let (mut echoed, mut acked) = (0, 0);
    for (_, segment) in segments(&pair.seen).filter(|(p, s)| p.by_client() && s.kind == Kind::Data) {
        let news = segment.ack.saturating_sub(acked);
        echoed += if segment.ece { news } else { 0 };
        acked = acked.max(segment.ack);
    }
    let marked = pair.down.counters().marked * 1448;
    assert!(marked > 100_000);
    let ratio = echoed as f64 / marked as f64;
    assert!((0.98..1.02).contains(&ratio), "{ratio}");
}

#[test]
fn quic_reports_marks_and_halves_its_window_for_them() {
    let pair = ends(quic_pair(cc::NEWRENO, |config| config.ecn = true));
    let counters = pair.down.counters();
    assert_eq!(pair.server.stats().lost_packets, 0);
    assert!(counters.marked > 20 && counters.max_queue_packets < 120, "{counters:?}");
    assert!(pair.seen.iter().all(|p| p.packet.ecn == Ecn::Ect0), "validation holds to the end");
    let mut reported = 0;
    for seen in pair.seen.iter().filter(|p| p.by_client()) {
        let Body::Quic(datagram) = &seen.packet.body else { panic!("not QUIC") };
        for frame in datagram.packets.iter().flat_map(|p| p.frames.iter()) {
            if let Frame::AckEcn(both) = frame {
                reported = reported.max(both.counts.ce);
            }
        }
    }
    assert_eq!(reported, counters.marked);
}

#[test]
fn dctcp_over_quic_keeps_the_queue_at_the_threshold_too() {
    let pair = ends(quic_pair(cc::DCTCP, |_| {}));
    let counters = pair.down.counters();
    assert_eq!(pair.server.stats().lost_packets, 0);
    let delay = counters.queueing_ns as f64 * 1e-6 / counters.served as f64;
    assert!((7.0..13.5).contains(&delay), "{delay} ms in the mean");
}

/// The flags of the handshake's packets: AE, CWR, ECE and the codepoint.
fn ace(pair: &Pair<tcp::Connection, tcp::Connection>, kind: Kind) -> Option<(u8, Ecn)> {
    segments(&pair.seen).find(|(_, s)| s.kind == kind).map(|(p, s)| (s.ace(), p.packet.ecn))
}

/// RFC 9768 section 3.1.1: the SYN asks with all three flags, the SYN-ACK and the ACK reflect the codepoint of what they
/// answer, and from then on every segment carries the count, which begins with 5.
#[test]
fn accurate_ecn_is_agreed_on_and_counts_every_mark() {
    let mut pair = tcp_pair(cc::NEWRENO, Some(EchoRule::Accurate), &marking());
    pair.keep = true;
    let pair = ends(pair);
    assert_eq!(ace(&pair, Kind::Syn), Some((0b111, Ecn::NotEct)));
    assert_eq!(ace(&pair, Kind::SynAck), Some((0b010, Ecn::NotEct)));
    assert_eq!(ace(&pair, Kind::Data), Some((0b010, Ecn::Ect0)), "the ACK of the SYN-ACK");
    let from_server = segments(&pair.seen).filter(|(p, s)| !p.by_client() && s.kind == Kind::Data);
    assert!(
        from_server.into_iter().all(|(p, s)| s.ace() == 5 && p.packet.ecn == Ecn::Ect0),
        "nothing is marked upward"
    );
    // Every step of the field is a mark; no ACK here covers more than 7 packets.
    let counts = segments(&pair.seen).filter(|(p, s)| p.by_client() && s.kind == Kind::Data).skip(1);
    let (_, counted) = counts.fold((5, 0), |(last, sum), (_, s)| (s.ace(), sum + u64::from((s.ace() + 8 - last) % 8)));
    let marked = pair.down.counters().marked;
    assert!(marked > 20);
    assert_eq!(counted, marked);
    assert_eq!(pair.server.stats().lost_packets, 0, "marks keep the queue from overflowing");
    assert!(pair.down.counters().max_queue_packets < 120);
}

#[test]
fn an_end_with_accurate_ecn_takes_what_the_other_has() {
    let server = |rule| {
        let mut config = tcp::Config::new(Role::Server, cc::NEWRENO, Streams::new(3, 0).named("cc"));
        config.ecn = rule;
        tcp::Connection::new(config)
    };
    // RFC 3168's server answers with ECE alone; marks are then echoed by the flag.
    let mut pair = tcp_pair(cc::NEWRENO, Some(EchoRule::Accurate), &marking());
    pair.server = server(Some(EchoRule::Rfc3168));
    let pair = ends(pair);
    assert_eq!(ace(&pair, Kind::SynAck), Some((0b001, Ecn::NotEct)));
    assert!(segments(&pair.seen).any(|(p, s)| p.by_client() && s.kind == Kind::Data && s.ace() == 0b001));
    assert!(pair.down.counters().marked > 20 && pair.server.stats().lost_packets == 0);
    // A client of RFC 3168 asks without AE.
    let mut pair = tcp_pair(cc::NEWRENO, Some(EchoRule::Rfc3168), &marking());
    pair.server = server(Some(EchoRule::Accurate));
    let pair = ends(pair);
    assert_eq!(ace(&pair, Kind::SynAck), Some((0b001, Ecn::NotEct)));
    // RFC 9331 section 4.1: without the count there is no ECT(1).
    let mut pair = tcp_pair(cc::PRAGUE, None, &marking());
    pair.server = server(Some(EchoRule::Rfc3168));
    let pair = ends(pair);
    assert!(segments(&pair.seen).all(|(p, _)| p.packet.ecn != Ecn::Ect1 || !p.by_client()));
}

/// The queue of one flow at a step threshold stays there, at full rate.
#[test]
fn prague_keeps_the_queue_at_the_threshold() {
    let pair = ends(tcp_pair(cc::PRAGUE, None, &marking()));
    let counters = pair.down.counters();
    assert_eq!(pair.server.stats().lost_packets, 0);
    let data = segments(&pair.seen).filter(|(p, s)| !p.by_client() && s.kind == Kind::Data);
    assert!(data.into_iter().all(|(p, _)| p.packet.ecn == Ecn::Ect1));
    let delay = counters.queueing_ns as f64 * 1e-6 / counters.served as f64;
    assert!((6.0..13.5).contains(&delay), "{delay} ms in the mean");
    let seconds = pair.client_log.streams[0].3.map_or(f64::NAN, |t| t.as_secs_f64());
    let ideal = 10_000_000.0 * 8.0 / 20e6 * 1500.0 / 1448.0;
    assert!(seconds < ideal * 1.04, "{seconds} s of {ideal}");
    let quic = ends(quic_pair(cc::PRAGUE, |_| {}));
    assert_eq!(quic.server.stats().lost_packets, 0);
    assert!(quic.seen.iter().all(|p| p.packet.ecn == Ecn::Ect1), "validation holds to the end");
    let counters = quic.down.counters();
    let delay = counters.queueing_ns as f64 * 1e-6 / counters.served as f64;
    assert!((6.0..13.5).contains(&delay), "QUIC: {delay} ms in the mean");
}
