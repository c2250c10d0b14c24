//! The receiving half: when it acknowledges, what its SACK blocks report, how its window changes.

use crate::trace;

use haltere_net::Span;
use haltere_transport::tcp::Config;
use haltere_transport::{Endpoint, Role};
use trace::{Bench, config, with_timestamps};

/// A receiver after its quick acknowledgements.
fn receiver(adjust: impl FnOnce(&mut Config)) -> Bench {
    let mut config = config(Role::Server);
    config.quick_acks = 0;
    adjust(&mut config);
    Bench::established(config)
}

#[test]
fn every_second_segment_is_acknowledged_and_a_lone_one_after_40_ms() {
    let mut receiver = receiver(|_| {});
    for (i, at) in [200.0, 201.0, 202.0, 203.0, 204.0].into_iter().enumerate() {
        receiver.at(at).data(1000 * i as u64, 1000);
        receiver.read();
    }
    receiver.at(1000.0);
    assert_trace!(receiver, ["201 ack 2000", "203 ack 4000", "244 ack 5000"]);
}

/// Linux's `tcp_cleanup_rbuf`: a pushed segment is acknowledged when the application has read all, unless
/// that answers in a dialogue.
#[test]
fn a_pushed_segment_is_acknowledged_when_it_is_read() {
    let mut receiver = receiver(|_| {});
    receiver.at(200.0).push(0, 1000);
    receiver.read();
    receiver.at(300.0).push(1000, 500);
    receiver.at(301.0);
    receiver.read();
    receiver.at(400.0);
    assert_trace!(receiver, ["200 ack 1000", "301 ack 1500"]);
}

#[test]
fn two_small_segments_do_not_make_a_full_one() {
    let mut receiver = receiver(|_| {});
    receiver.at(200.0).data(0, 250);
    receiver.at(201.0).data(250, 240);
    receiver.at(202.0).data(490, 250);
    // More than one full segment has arrived, which is supposed to have 536 bytes.
    assert_trace!(receiver, ["202 ack 740"]);
}

/// Linux's `tcp_measure_rcv_mss`: the largest segment so far is a full one, and so are two of the same size in a row without PSH.
#[test]
fn what_a_full_segment_is_follows_from_those_that_arrive() {
    let mut receiver = receiver(|_| {});
    receiver.at(200.0).data(0, 1000);
    receiver.at(201.0).data(1000, 700);
    receiver.at(202.0).data(1700, 300);
    receiver.at(203.0).data(2000, 300);
    receiver.at(204.0).data(2300, 300);
    assert_trace!(receiver, ["201 ack 1700", "203 ack 2300"]);
}

#[test]
fn the_first_segments_are_acknowledged_at_once() {
    let mut receiver = receiver(|c| c.quick_acks = 16);
    for i in 0..20 {
        receiver.at(200.0 + i as f64).data(1000 * i, 1000);
        receiver.read();
    }
    let trace = receiver.trace();
    assert_eq!(trace[..16], (1..=16).map(|i| format!("{} ack {}", 199 + i, 1000 * i)).collect::<Vec<_>>());
    assert_eq!(trace[16..], ["217 ack 18000", "219 ack 20000"]);
}

#[test]
fn without_delayed_acks_every_segment_is_acknowledged() {
    let mut receiver = receiver(|c| c.delayed_ack = false);
    for i in 0..3 {
        receiver.at(200.0 + i as f64).data(1000 * i, 1000);
    }
    assert_trace!(receiver, ["200 ack 1000", "201 ack 2000", "202 ack 3000"]);
}

#[test]
fn a_gap_is_reported_at_once_with_the_newest_block_first_and_its_filling_too() {
    let mut receiver = receiver(|_| {});
    receiver.at(200.0).data(0, 1000);
    receiver.at(201.0).data(2000, 1000);
    receiver.at(202.0).data(4000, 1000);
    receiver.at(203.0).data(3000, 1000);
    receiver.at(204.0).data(1000, 1000);
    assert_trace!(
        receiver,
        [
            "201 ack 1000 sack 2000..3000",
            "202 ack 1000 sack 4000..5000 2000..3000",
            "203 ack 1000 sack 2000..5000",
            "204 ack 5000",
        ]
    );
}

#[test]
fn at_most_three_blocks_are_reported_the_most_recent_ones() {
    let mut receiver = receiver(|c| c.sack_compression = Span::ZERO);
    for seq in [2000, 4000, 6000, 8000, 10_000] {
        receiver.at(200.0 + seq as f64 / 1000.0).data(seq, 1000);
    }
    let trace = receiver.trace();
    assert_eq!(trace.last().unwrap(), "210 ack 0 sack 10000..11000 8000..9000 6000..7000");
}

#[test]
fn what_arrives_twice_is_reported_by_d_sack_and_delivered_once() {
    let mut receiver = receiver(|_| {});
    receiver.at(200.0).data(0, 1000);
    receiver.at(201.0).data(0, 1000);
    // RFC 2883 section 4.1: old data below the acknowledgement.
    assert_trace!(receiver, ["201 ack 1000 sack 0..1000"]);
    receiver.at(202.0).data(3000, 1000);
    receiver.at(203.0).data(3000, 1000);
    // Section 4.2: within a block that is reported beside it.
    assert_trace!(receiver, ["202 ack 1000 sack 3000..4000", "203 ack 1000 sack 3000..4000 3000..4000"]);
    receiver.at(204.0).data(1000, 2000);
    assert_eq!(receiver.read(), 4000);
}

/// A receiver after its quick acknowledgements whose RTT is 50 ms, by the timestamps that come back.
fn with_rtt(adjust: impl FnOnce(&mut Config)) -> Bench {
    let mut config = with_timestamps(Role::Server);
    config.quick_acks = 0;
    adjust(&mut config);
    let mut receiver = Bench::established(config);
    receiver.echo = Some(150);
    receiver
}

#[test]
fn duplicates_beyond_the_third_are_compressed_for_a_twentieth_of_the_rtt_and_a_millisecond_at_most() {
    let mut receiver = with_rtt(|_| {});
    receiver.at(200.0).data(0, 1000);
    receiver.at(200.0).data(1000, 1000);
    receiver.trace();
    for i in 0..30 {
        receiver.at(300.0 + 0.1 * f64::from(i)).data(3000 + 1000 * i as u64, 1000);
    }
    let times: Vec<f64> = receiver.segments().iter().map(|(at, _)| at.as_nanos() as f64 / 1e6).collect();
    assert_eq!(times[..3], [300.0, 300.1, 300.2]);
    // One timer after another: the fourth starts the first of them. Each is late by its slack of 0.1 ms.
    assert_eq!(times[3..], [301.4, 302.5]);
}

#[test]
fn compression_can_be_switched_off() {
    let mut receiver = receiver(|c| c.sack_compression = Span::ZERO);
    for i in 0..30 {
        receiver.at(300.0 + 0.1 * f64::from(i)).data(3000 + 1000 * i as u64, 1000);
    }
    assert_eq!(receiver.trace().len(), 30);
}

#[test]
fn an_ack_rides_on_data() {
    let mut receiver = receiver(|_| {});
    receiver.at(200.0).data(0, 1000);
    receiver.at(210.0).write(100);
    let sent = receiver.segments();
    assert_eq!((sent.len(), sent[0].1.ack, sent[0].1.len), (1, 1000, 100));
    receiver.at(280.0);
    assert_trace!(receiver, []);
}

#[test]
fn the_window_closes_while_nobody_reads_and_opens_when_somebody_does() {
    let mut receiver = receiver(|c| {
        c.initial_receive_window = 10_000;
        c.max_receive_window = 10_000;
    });
    for i in 0..10 {
        receiver.at(200.0 + i as f64).data(1000 * i, 1000);
    }
    let windows: Vec<u64> = receiver.segments().iter().map(|(_, s)| s.window).collect();
    assert_eq!(windows, [8000, 6000, 4000, 2000, 0]);
    receiver.at(500.0);
    assert_eq!(receiver.read(), 10_000);
    // At once, and not only with the next data.
    let sent = receiver.segments();
    assert_eq!((sent.len(), sent[0].1.window), (1, 10_000));
    assert_eq!(receiver.read(), 0);
    assert_trace!(receiver, []);
}

#[test]
fn the_right_edge_of_the_window_never_moves_back() {
    let mut receiver = receiver(|_| {});
    let mut edge = 0;
    for i in 0..60 {
        receiver.at(200.0 + i as f64).data(1000 * i, 1000);
        if i % 7 == 0 {
            receiver.read();
        }
        for (_, s) in receiver.segments() {
            assert!(s.ack + s.window >= edge);
            edge = s.ack + s.window;
        }
    }
}

/// Dynamic right-sizing (Linux: `tcp_rcv_space_adjust`): the window follows twice what is read in a round trip.
#[test]
fn the_window_grows_with_what_is_read_in_a_round_trip_and_stops_at_its_maximum() {
    let mut config = with_timestamps(Role::Server);
    config.max_receive_window = 1_000_000;
    let mut receiver = Bench::established(config);
    let (mut seq, mut rate, mut windows) = (0, 20u64, Vec::new());
    for round in 0..8 {
        for i in 0..rate {
            receiver.at(200.0 + 100.0 * f64::from(round) + i as f64 * 90.0 / rate as f64);
            // The peer echoes what it got a round trip ago.
            receiver.echo = Some((100.0 + 100.0 * f64::from(round)) as u32);
            receiver.data(seq, 1000);
            seq += 1000;
            receiver.read();
        }
        windows.push(receiver.segments().last().map_or(0, |(_, s)| s.window));
        rate *= 2;
    }
    assert!(windows.windows(2).all(|w| w[0] <= w[1]), "{windows:?}");
    // Room for at least twice what came in the round trip before, until the maximum, which is 130 of 153 parts with segments of 1000 bytes.
    for (round, window) in windows.iter().enumerate().skip(2) {
        let before = 20_000 << (round - 1);
        assert!(*window >= (2 * before).min(840_000), "round {round}: {windows:?}");
    }
    assert!(windows.last().is_some_and(|w| *w <= 1_000_000), "{windows:?}");
}

#[test]
fn a_window_that_is_not_used_grows_no_further_than_the_buffer_has_room() {
    let mut config = with_timestamps(Role::Server);
    config.max_receive_window = 64 << 20;
    let mut receiver = Bench::established(config);
    // Half of the buffer is offered at first; segments of 1000 bytes show that data may take 130 of 256 parts of it.
    // The segment that opens the window takes memory itself: 960 bytes beside its data.
    let share = 1000_u64 * 256 / 1960;
    let room = (65_535 * share / 128 - (1960 * share).div_ceil(256)).next_multiple_of(2048);
    for i in 0..100u64 {
        receiver.at(200.0 + 50.0 * i as f64).data(1000 * i, 1000);
        receiver.read();
    }
    let windows: Vec<u64> = receiver.segments().iter().map(|(_, s)| s.window).collect();
    assert_eq!(windows.iter().max(), Some(&room), "{windows:?}");
    assert_eq!(receiver.connection.stats().sent_packets, 0);
}

/// Linux's `tcp_grow_window`: each data packet lets two segments more be offered, and the peer is told at once.
#[test]
fn while_the_window_opens_every_packet_is_acknowledged() {
    let mut receiver = receiver(|c| {
        c.quick_acks = 0;
        c.initial_receive_window = 128_000;
        c.max_receive_window = 64 << 20;
    });
    for i in 0..6 {
        receiver.at(200.0 + i as f64).data(1000 * i, 1000);
    }
    // Room for 2004 bytes more, at 2000 a packet: two packets, then every second one.
    let acks: Vec<u64> = receiver.segments().iter().map(|(_, s)| s.ack / 1000).collect();
    assert_eq!(acks, [1, 2, 4, 6]);
}

#[test]
fn a_policy_says_after_how_many_segments_and_how_long_acknowledgements_go() {
    let mut receiver = receiver(|c| {
        c.ack_every = 4;
        c.max_ack_delay = Span::from_millis(20);
        c.hurried_acks = false;
    });
    for (i, at) in [200.0, 201.0, 202.0, 203.0, 204.0].into_iter().enumerate() {
        receiver.at(at).data(1000 * i as u64, 1000);
        receiver.read();
    }
    receiver.at(1000.0);
    assert_trace!(receiver, ["203 ack 4000", "224 ack 5000"]);
}

#[test]
fn acknowledgements_that_are_not_hurried_begin_with_the_second_segment() {
    let mut receiver = receiver(|c| {
        c.quick_acks = 16;
        c.hurried_acks = false;
    });
    for i in 0..4 {
        receiver.at(200.0 + i as f64).data(1000 * i, 1000);
        receiver.read();
    }
    assert_trace!(receiver, ["201 ack 2000", "203 ack 4000"]);
}

/// The timer of delayed acknowledgements runs on after its acknowledgement was sent; when it expires, what is compressed is
/// sent (Linux: `tcp_delack_timer_handler`).
#[test]
fn a_delay_timer_that_was_left_running_sends_what_is_compressed() {
    let mut receiver = with_rtt(|_| {});
    receiver.at(199.0).data(0, 1000);
    receiver.at(200.0).data(1000, 1000);
    receiver.trace();
    // The timer was set at 199 ms for 40 ms. The fourth duplicate, at 238.6 ms, would wait until 239.6 ms.
    for i in 0..4 {
        receiver.at(238.0 + 0.2 * f64::from(i)).data(3000 + 1000 * i as u64, 1000);
    }
    receiver.at(240.0);
    let times: Vec<f64> = receiver.segments().iter().map(|(at, _)| at.as_nanos() as f64 / 1e6).collect();
    assert_eq!(times, [238.0, 238.2, 238.4, 239.0]);
}

/// The acknowledgement of the compression timer carries the time of the last arrival (Linux: `tcp_compressed_ack_kick` refreshes
/// none), that of an arrival its own.
#[test]
fn an_acknowledgement_of_the_compression_timer_is_stamped_with_the_last_arrival() {
    let mut receiver = with_rtt(|_| {});
    receiver.at(200.0).data(0, 1000);
    receiver.at(200.0).data(1000, 1000);
    receiver.segments();
    for i in 0..4 {
        receiver.at(300.0 + f64::from(i)).data(3000 + 1000 * i as u64, 1000);
    }
    receiver.at(310.0);
    let stamps: Vec<_> = receiver.segments().iter().map(|(at, s)| (at.as_nanos() / 100_000, s.timestamp)).collect();
    assert_eq!(stamps, [(3000, 301), (3010, 302), (3020, 303), (3041, 304)]);
}

/// An acknowledgement that is held back goes out when a segment opens or extends a third block, and stands for that segment (Linux:
/// `tcp_sack_compress_send_ack`): a block that is extended is reported so, a new one is not.
#[test]
fn an_acknowledgement_for_the_sake_of_a_third_block_stands_for_the_segment() {
    let held_back = || {
        let mut receiver = with_rtt(|_| {});
        receiver.at(200.0).data(0, 1000);
        receiver.at(200.0).data(1000, 1000);
        for (i, seq) in [4000, 7000, 10_000, 10_000, 11_000].into_iter().enumerate() {
            receiver.at(300.0 + 0.01 * i as f64).data(seq, 1000);
        }
        receiver.trace();
        receiver
    };
    let mut extended = held_back();
    extended.at(300.5).data(5000, 1000);
    extended.at(302.0);
    assert_trace!(extended, ["300.5 ack 2000 sack 10000..12000 7000..8000 4000..6000"]);
    let mut new = held_back();
    new.at(300.5).data(14_000, 1000);
    new.at(302.0);
    assert_trace!(new, ["300.5 ack 2000 sack 10000..12000 7000..8000 4000..5000"]);
}

/// Without SACK the window stays while there is a gap, so that duplicates are recognized (Linux: `tcp_data_queue_ofo`), and none is
/// held back.
#[test]
fn without_sack_duplicates_offer_the_same_window_at_once() {
    let mut receiver = with_rtt(|c| c.sack = false);
    receiver.at(200.0).data(0, 1000);
    receiver.at(200.0).data(1000, 1000);
    receiver.segments();
    for i in 0..8 {
        receiver.at(300.0 + 0.1 * f64::from(i)).data(3000 + 1000 * i as u64, 1000);
    }
    let segments = receiver.segments();
    assert_eq!(segments.len(), 8);
    assert!(segments.iter().all(|(_, s)| s.window == segments[0].1.window && s.ack == 2000 && s.sacks == 0));
}
