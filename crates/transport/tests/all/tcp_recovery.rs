//! Loss detection and repair: RFC 5681, 6937, 8985, 3042; and undo of spurious reductions: RFC 5682, 3522, 2883.
//!
//! Where each duplicate should allow a segment, duplicates arrive 2 ms apart: within a millisecond of its last
//! transmission the sender waits for more (Linux: `tcp_tso_should_defer`).

use crate::trace;

use haltere_net::{Metric, Time};
use haltere_transport::{CloseReason, Endpoint, Event, Role};
use trace::{Bench, config, with_timestamps};

/// A server that has written more than it may send: ten segments are out, at 100 ms.
fn busy() -> Bench {
    let mut server = Bench::established(config(Role::Server));
    server.write(100_000);
    assert_eq!(server.trace().len(), 10);
    server
}

#[test]
fn the_third_duplicate_repairs_and_the_first_two_let_new_segments_go() {
    let mut server = busy();
    server.at(200.0).sack(0, &[(1000, 2000)]);
    server.at(202.0).sack(0, &[(1000, 3000)]);
    // RFC 3042: a new segment for each of the first two duplicates.
    assert_trace!(server, ["200 10000..11000", "202 11000..12000"]);
    server.at(204.0).sack(0, &[(1000, 4000)]);
    assert_trace!(server, ["204 0..1000"]);
    let stats = server.connection.stats();
    assert_eq!((stats.lost_packets, stats.retransmitted_packets, stats.timeouts), (1, 1, 0));
    // RFC 5681: half of the window of ten.
    assert_eq!(server.metric(Metric::Ssthresh), 5000);
}

#[test]
fn within_a_millisecond_of_the_last_segment_one_more_waits_for_a_larger_room() {
    let mut server = busy();
    server.at(200.0).sack(0, &[(1000, 2000)]);
    server.at(200.5).sack(0, &[(1000, 3000)]);
    assert_trace!(server, ["200 10000..11000"]);
    // In recovery nothing waits.
    server.at(201.0).sack(0, &[(1000, 4000)]);
    assert_trace!(server, ["201 0..1000"]);
}

#[test]
fn recovery_ends_when_all_is_acknowledged_with_the_window_at_its_target() {
    let mut server = busy();
    for i in 1..10 {
        server.at(199.0 + i as f64).sack(0, &[(1000, 1000 + 1000 * i)]);
    }
    server.at(302.0).ack(12_000);
    assert_eq!(server.window_in_segments(), 5);
    // The window grows again only with what was sent after the end.
    assert_eq!(server.metric(Metric::BytesInFlight), 5000);
    assert_eq!(server.connection.stats().lost_packets, 1);
}

/// RFC 6937 section 3.1, the first figure: 20 segments out, the first lost, a target of 10.
#[test]
fn prr_sends_on_every_other_ack() {
    let mut config = config(Role::Server);
    config.initial_window = 20;
    let mut server = Bench::established(config);
    server.write(100_000);
    assert_eq!(server.trace().len(), 20);
    let mut row = String::new();
    for i in 1..20 {
        server.at(200.0 + 2.0 * i as f64).sack(0, &[(1000, 1000 + 1000 * i)]);
        row.push_str(match server.trace().as_slice() {
            [] => "-",
            [one] if one.ends_with(" 0..1000") => "R",
            [_] => "N",
            _ => "+",
        });
    }
    assert_eq!(row, "NNR-N-N-N-N-N-N-N--");
    assert_eq!(server.window_in_segments(), 10);
}

#[test]
fn two_duplicates_wait_for_a_quarter_of_the_rtt() {
    let mut server = busy();
    server.at(200.0).sack(0, &[(1000, 2000)]);
    server.at(201.0).sack(0, &[(1000, 3000)]);
    server.trace();
    // RFC 8985 section 6.2: sent at 100, overdue after the RTT of 101 ms just seen and a quarter of 100 ms.
    server.at(300.0);
    assert_trace!(server, ["226 0..1000"]);
}

#[test]
fn reordering_within_a_quarter_of_the_rtt_repairs_nothing() {
    let mut server = busy();
    server.at(200.0).sack(0, &[(1000, 2000)]);
    server.at(201.0).sack(0, &[(1000, 3000)]);
    server.at(224.0).ack(3000);
    server.at(250.0);
    assert_eq!(server.connection.stats().retransmitted_packets, 0);
    assert_eq!(server.connection.stats().lost_packets, 0);
}

#[test]
fn once_reordering_was_seen_three_duplicates_wait_too() {
    let mut server = busy();
    server.at(200.0).sack(0, &[(1000, 3000)]);
    server.at(210.0).ack(3000);
    server.trace();
    for i in 4..8 {
        server.at(207.0 + i as f64).sack(3000, &[(4000, 1000 * (i + 1))]);
    }
    let repaired = |server: &Bench| server.connection.stats().retransmitted_packets;
    server.at(238.0);
    assert_eq!(repaired(&server), 0);
    // Sent at 100, an RTT of 114 ms, a quarter of the least RTT, 100 ms.
    server.at(239.0);
    assert_eq!(repaired(&server), 1);
    assert!(server.trace().contains(&"239 3000..4000".to_string()));
}

#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    let mut server = busy();
    for i in 1..10 {
        server.at(200.0 + 2.0 * i as f64).sack(0, &[(1000, 1000 + 1000 * i)]);
    }
    // The repair went out at 206, new data at 202, 204 and from 210 on.
    assert_eq!(server.trace()[2], "206 0..1000");
    server.at(302.0).sack(0, &[(1000, 11_000)]);
    server.at(304.0).sack(0, &[(1000, 12_000)]);
    assert_eq!(server.connection.stats().retransmitted_packets, 1);
    server.trace();
    server.at(310.0).sack(0, &[(1000, 13_000)]);
    assert!(server.trace().contains(&"310 0..1000".to_string()));
    assert_eq!(server.connection.stats().lost_packets, 2);
    assert_eq!(server.connection.stats().timeouts, 0);
}

/// At one instant the order of transmission decides, not the position: see `Rack::newest`.
#[test]
fn new_data_sent_at_the_instant_of_a_repair_does_not_mark_it_lost() {
    let mut server = busy();
    server.at(196.0).sack(0, &[(1000, 2000)]);
    server.at(198.0).sack(0, &[(1000, 3000)]);
    for i in 3..10 {
        server.at(200.0).sack(0, &[(1000, 1000 + 1000 * i)]);
    }
    let sent = server.trace();
    assert_eq!(sent[..4], ["196 10000..11000", "198 11000..12000", "200 0..1000", "200 12000..13000"]);
    server.at(300.0).sack(0, &[(1000, 11_000)]);
    server.at(300.0).sack(0, &[(1000, 12_000)]);
    assert_eq!(server.connection.stats().lost_packets, 1);
    server.at(300.0).ack(12_000);
    assert_eq!(server.connection.stats().retransmitted_packets, 1);
}

#[test]
fn a_lost_tail_is_probed_after_two_rtts_with_its_last_segment() {
    let mut server = Bench::established(config(Role::Server));
    server.write(10_000);
    server.trace();
    server.at(200.0).ack(7000);
    // RFC 8985 section 7.2: twice the smoothed RTT of 100 ms after the last acknowledgement.
    server.at(450.0);
    assert_trace!(server, ["400 9000..10000"]);
    // Two of the three had been lost: the SACK of the probe finds them, without a timeout.
    server.at(500.0).sack(7000, &[(9000, 10_000)]);
    assert_trace!(server, ["500 7000..8000"]);
    server.at(600.0).sack(8000, &[(9000, 10_000)]);
    assert_trace!(server, ["600 8000..9000"]);
    server.at(700.0).ack(10_000);
    let stats = server.connection.stats();
    assert_eq!((stats.probes, stats.timeouts), (1, 0));
}

#[test]
fn a_probe_sends_new_data_if_there_are_any() {
    let mut server = busy();
    server.at(350.0);
    assert_trace!(server, ["300 10000..11000"]);
    assert_eq!(server.connection.stats().retransmitted_packets, 0);
}

#[test]
fn a_probe_that_repaired_a_loss_halves_the_window() {
    let mut server = Bench::established(config(Role::Server));
    server.write(10_000);
    server.at(200.0).ack(8000);
    server.at(400.0);
    assert_eq!(server.connection.stats().probes, 1);
    // Acknowledged without a D-SACK: the probe's segment had been lost, and nothing tells but the probe (RFC 8985
    // section 7.4.2).
    server.at(500.0).ack(10_000);
    server.write(1000);
    server.at(600.0).ack(11_000);
    // Half of ten and the ten segments that slow start has added.
    assert_eq!(server.metric(Metric::Ssthresh), 10_000);
}

#[test]
fn a_probe_that_arrived_twice_does_not_halve_the_window() {
    let mut server = Bench::established(config(Role::Server));
    server.write(10_000);
    server.at(200.0).ack(8000);
    server.at(400.0);
    assert_eq!(server.connection.stats().probes, 1);
    server.at(410.0).ack(10_000);
    server.at(500.0).sack(10_000, &[(9000, 10_000)]);
    server.write(1000);
    server.at(600.0).ack(11_000);
    assert_eq!(server.metric(Metric::Ssthresh), u64::MAX);
}

#[test]
fn timeouts_double_up_to_two_minutes_and_end_the_connection_after_fifteen() {
    let mut server = Bench::established(config(Role::Server));
    server.write(10_000);
    server.trace();
    server.at(900_000.0);
    let heads: Vec<f64> =
        server.segments().iter().filter(|(_, s)| s.seq == 0).map(|(at, _)| at.as_nanos() as f64 / 1e6).collect();
    // From the probe at 300: an RTT of 100 ms and four times a deviation of 50 ms, which is Linux's floor too.
    let constant = (1..=6).map(|i| 153_600.0 + 120_000.0 * f64::from(i));
    assert_eq!(heads[..9], [600.0, 1200.0, 2400.0, 4800.0, 9600.0, 19_200.0, 38_400.0, 76_800.0, 153_600.0]);
    assert_eq!(heads[9..], constant.collect::<Vec<_>>());
    server.at(993_599.0);
    assert_eq!(server.events, [Event::Connected]);
    server.at(993_600.0);
    assert_eq!(server.events[1], Event::Failed(CloseReason::RetransmissionTimeout));
    assert_eq!(server.connection.next_wake(), Time::NEVER);
}

#[test]
fn after_a_timeout_the_window_is_one_segment_and_slow_start_repairs() {
    let mut server = busy();
    server.at(650.0);
    assert_trace!(server, ["300 10000..11000", "600 0..1000"]);
    assert_eq!(server.window_in_segments(), 1);
    // Only what was sent again arrives: the rest was lost.
    server.at(700.0).ack(1000);
    server.trace();
    server.at(800.0).sack(1000, &[(11_000, 12_000)]);
    assert!(server.connection.stats().retransmitted_packets >= 2);
    assert_eq!(server.metric(Metric::Ssthresh), 5000);
}

/// RFC 5682 section 3.1: a delay spike of half a second.
#[test]
fn f_rto_takes_back_a_timeout_that_a_delay_spike_caused() {
    let mut server = busy();
    server.at(605.0);
    assert_eq!(server.window_in_segments(), 1);
    server.trace();
    // The originals' acknowledgements come after all. Step 2b: new data, not the next of the "lost".
    server.at(610.0).ack(1000);
    assert_trace!(server, ["610 11000..12000", "610 12000..13000"]);
    // Step 3b: data that was never sent again is acknowledged; the timeout was spurious.
    server.at(611.0).ack(2000);
    assert!(server.window_in_segments() >= 10);
    server.at(612.0).ack(11_000);
    let stats = server.connection.stats();
    assert_eq!((stats.timeouts, stats.retransmitted_packets), (1, 1));
}

/// RFC 3522: the echoed timestamp is older than the retransmission.
#[test]
fn a_timestamp_takes_back_a_timeout_at_once() {
    let mut server = Bench::established(with_timestamps(Role::Server));
    server.write(100_000);
    server.at(605.0);
    assert_eq!(server.window_in_segments(), 1);
    server.echo = Some(101);
    server.at(610.0).ack(1000);
    assert!(server.window_in_segments() >= 10);
    assert_eq!(server.connection.stats().retransmitted_packets, 1);
}

/// That acknowledgement, but it echoes the retransmission: the original was lost.
#[test]
fn a_timeout_that_repaired_a_loss_is_not_taken_back() {
    let mut server = Bench::established(with_timestamps(Role::Server));
    server.write(100_000);
    server.at(605.0);
    server.echo = Some(601);
    server.at(700.0).ack(1000);
    assert!(server.window_in_segments() < 5);
    assert_eq!(server.metric(Metric::Ssthresh), 5000);
}

/// RFC 2883, RFC 3708: the retransmission was not needed.
#[test]
fn a_d_sack_takes_back_a_reduction() {
    let mut server = busy();
    for i in 1..5 {
        server.at(200.0 + i as f64).sack(0, &[(1000, 1000 + 1000 * i)]);
    }
    assert_eq!(server.metric(Metric::Ssthresh), 5000);
    server.at(206.0).ack(5000);
    server.at(304.0).sack(10_000, &[(0, 1000)]);
    let stats = server.connection.stats();
    assert_eq!((stats.retransmitted_packets, stats.spurious_retransmissions), (1, 1));
    assert!(server.window_in_segments() >= 10, "{}", server.window_in_segments());
}

/// The reduction can be undone even when nothing is in flight any more.
#[test]
fn a_d_sack_after_everything_is_acknowledged_counts_too() {
    let mut server = Bench::established(config(Role::Server));
    server.write(10_000);
    for i in 1..4 {
        server.at(200.0 + i as f64).sack(0, &[(1000, 1000 + 1000 * i)]);
    }
    server.at(206.0).ack(10_000);
    assert_eq!(server.metric(Metric::Ssthresh), 5000);
    assert!(server.window_in_segments() <= 6);
    server.at(304.0).sack(10_000, &[(0, 1000)]);
    assert_eq!(server.connection.stats().spurious_retransmissions, 1);
    // The window is restored at the next opportunity to send.
    server.write(1000);
    assert_eq!(server.window_in_segments(), 10);
}

#[test]
fn a_closed_window_is_probed_with_backoff_until_it_opens() {
    let mut server = Bench::new(config(Role::Server));
    server.window = 3000;
    server.receive(haltere_transport::tcp::segment::Kind::Syn, |_| {});
    server.at(100.0).ack(0);
    server.write(10_000);
    server.trace();
    server.window = 0;
    server.at(200.0).ack(3000);
    server.at(2500.0);
    let probes: Vec<(f64, u64, u32)> =
        server.segments().iter().map(|(at, s)| (at.as_nanos() as f64 / 1e6, s.seq, s.len)).collect();
    // An old byte each, which makes the peer answer; the pauses double.
    let pauses: Vec<f64> = probes.windows(2).map(|w| w[1].0 - w[0].0).collect();
    assert!(probes.len() >= 3 && probes.iter().all(|p| (p.1, p.2) == (2999, 1)), "{probes:?}");
    assert!(pauses.windows(2).all(|w| w[1] == 2.0 * w[0]), "{probes:?}");
    assert_eq!(server.connection.stats().retransmitted_packets, 0);
    server.window = 4000;
    server.ack(3000);
    assert_eq!(server.trace().len(), 4);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut server = Bench::established(config(Role::Server));
    for i in 1..50u64 {
        server.at(100.0 * i as f64 + 100.0).write(1000);
        server.at(100.0 * i as f64 + 150.0).ack(1000 * i);
    }
    assert!(server.window_in_segments() <= 10, "{}", server.window_in_segments());
}
