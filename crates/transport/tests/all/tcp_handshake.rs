//! How a connection opens and ends.

use crate::trace;

use haltere_net::cx::Metric;
use haltere_net::{Span, Time};
use haltere_transport::tcp::segment::Kind;
use haltere_transport::{CloseReason, Endpoint, Event, Role};
use trace::{Bench, config, with_timestamps};

#[test]
fn client_and_server_shake_hands() {
    let mut client = Bench::new(config(Role::Client));
    client.connect();
    assert_trace!(client, ["0 S"]);
    client.at(50.0).receive(Kind::SynAck, |_| {});
    assert_trace!(client, ["50 ack 0"]);
    assert_eq!(client.events, [Event::Connected]);
    assert_eq!(client.connection.stats().min_rtt, Some(Span::from_millis(50)));

    let mut server = Bench::new(config(Role::Server));
    server.receive(Kind::Syn, |_| {});
    assert_trace!(server, ["0 S."]);
    assert_eq!(server.events, []);
    server.at(50.0).ack(0);
    assert_trace!(server, []);
    assert_eq!(server.events, [Event::Connected]);
}

#[test]
fn data_on_the_last_packet_of_the_handshake_is_taken() {
    let mut server = Bench::new(config(Role::Server));
    server.receive(Kind::Syn, |_| {});
    server.at(50.0).data(0, 300);
    assert_eq!(server.events[0], Event::Connected);
    assert_eq!(server.read(), 300);
}

#[test]
fn a_lost_syn_is_sent_again_after_one_second_then_two_and_four() {
    let mut client = Bench::new(config(Role::Client));
    client.connect().at(20_000.0);
    assert_trace!(client, ["0 S", "1000 S", "3000 S", "7000 S", "15000 S"]);
    // An answer now gives no RTT: nobody knows which SYN it answers (Karn's rule, RFC 6298 section 3).
    client.receive(Kind::SynAck, |_| {});
    assert_eq!(client.connection.stats().rtt_samples, 0);
    assert_eq!(client.events, [Event::Connected]);
    client.at(100_000.0);
    assert_trace!(client, ["20000 ack 0"]);
}

#[test]
fn syns_are_given_up_after_six_retransmissions() {
    let mut client = Bench::new(config(Role::Client));
    client.connect().at(126_999.0);
    assert_eq!(client.trace().len(), 7);
    assert_eq!(client.events, []);
    client.at(1_000_000.0);
    assert_eq!(client.events, [Event::Failed(CloseReason::HandshakeTimeout)]);
    assert_trace!(client, []);
    assert_eq!(client.connection.next_wake(), Time::NEVER);
}

#[test]
fn a_lost_syn_ack_is_sent_again_by_timer_and_by_a_second_syn() {
    let mut server = Bench::new(config(Role::Server));
    server.receive(Kind::Syn, |_| {});
    server.at(600.0).receive(Kind::Syn, |_| {});
    server.at(5000.0);
    // The second SYN starts the timer anew, at the second step of its backoff.
    assert_trace!(server, ["0 S.", "600 S.", "2600 S."]);
}

#[test]
fn a_second_syn_ack_is_answered_as_the_ack_of_the_first_was_lost() {
    let mut client = Bench::new(config(Role::Client));
    client.connect().at(50.0).receive(Kind::SynAck, |_| {});
    client.at(1050.0).receive(Kind::SynAck, |_| {});
    assert_trace!(client, ["0 S", "50 ack 0", "1050 ack 0"]);
    assert_eq!(client.events, [Event::Connected]);
}

#[test]
fn the_window_of_a_syn_is_not_scaled_and_those_after_it_are() {
    let mut config = config(Role::Client);
    config.initial_receive_window = 1_000_000;
    config.max_receive_window = 64 << 20;
    let mut client = Bench::new(config);
    client.connect().at(50.0).receive(Kind::SynAck, |_| {});
    let windows: Vec<u64> = client.segments().iter().map(|(_, s)| s.window).collect();
    // 64 MiB need a scale of 11 (RFC 7323 section 2.2): 65 535 << 10 is just less. Windows are multiples of 2 048.
    // Of the buffer's room one segment of 1000 bytes is kept back.
    assert_eq!(windows, [65_535, 999_000u64.next_multiple_of(2048)]);
}

#[test]
fn segments_fill_the_mtu() {
    for (timestamps, data) in [(true, 1448), (false, 1460)] {
        let mut config = if timestamps { with_timestamps(Role::Server) } else { config(Role::Server) };
        config.mtu = 1500;
        let mut server = Bench::established(config);
        server.write(3000);
        let lengths: Vec<(u32, u32)> = server.segments().iter().map(|(_, s)| (s.len, s.wire_len())).collect();
        assert_eq!(lengths, [(data, 1500), (data, 1500), (3000 - 2 * data, 3000 - 2 * data + 1500 - data)]);
    }
}

#[test]
fn data_beside_sack_blocks_stays_within_the_mtu() {
    let mut server = Bench::established(with_timestamps(Role::Server));
    server.data(5000, 1000).write(1000);
    for (_, segment) in server.segments() {
        assert!(segment.wire_len() <= 1052, "{segment:?}");
    }
}

#[test]
fn both_ends_close_in_order() {
    let mut server = Bench::established(config(Role::Server));
    server.data(0, 100);
    server.at(200.0).receive(Kind::Data, |s| (s.seq, s.fin) = (100, true));
    assert_trace!(server, ["100 ack 100", "200 ack 101"]);
    assert_eq!(server.read(), 100);
    assert_eq!(server.events.last(), Some(&Event::Finished(Default::default())));
    server.write(1500).finish();
    assert_trace!(server, ["200 0..1000", "200 1000..1500", "200 1500..1500 F"]);
    server.at(300.0).ack(1500);
    assert!(!server.events.contains(&Event::Closed), "the FIN is not acknowledged yet");
    server.ack(1501);
    assert_eq!(server.events.last(), Some(&Event::Closed));
    server.at(10_000.0);
    assert_trace!(server, []);
}

/// Linux answers what lies before its window (`tcp_send_dupack`), acknowledgements without data once in 500 ms.
#[test]
fn a_segment_that_was_overtaken_is_answered_and_counts_for_nothing() {
    let mut server = Bench::established(config(Role::Server));
    server.data(0, 1000).data(1000, 1000).write(1000);
    assert_trace!(server, ["100 ack 1000", "100 ack 2000", "100 0..1000"]);
    let overtaken = |server: &mut Bench, at: f64| {
        server.at(at).receive(Kind::Data, |s| (s.seq, s.ack) = (500, 1000));
    };
    overtaken(&mut server, 110.0);
    overtaken(&mut server, 120.0);
    assert_trace!(server, ["110 ack 2000"]);
    server.at(130.0).data(0, 1000);
    assert_trace!(server, ["130 ack 2000 sack 0..1000"]);
    overtaken(&mut server, 611.0);
    assert!(server.segments().iter().any(|(_, s)| s.len == 0 && s.ack == 2000));
    // The overtaken segments acknowledged nothing: the data is in flight until an acknowledgement in order comes.
    assert_eq!(server.metric(Metric::BytesInFlight), 1000);
    server.ack(1000);
    assert_eq!(server.metric(Metric::BytesInFlight), 0);
}

/// PAWS (RFC 7323 section 5): data whose timestamp is more than a millisecond older than that of a segment in order is not stored.
#[test]
fn data_that_is_older_than_data_in_order_is_not_stored() {
    let blocks = |stale: u32| {
        let mut server = Bench::established(with_timestamps(Role::Server));
        server.at(200.0).data(0, 1000);
        server.at(210.0).receive(Kind::Data, |s| (s.seq, s.len, s.timestamp) = (2000, 1000, s.timestamp - 10 - stale));
        server.segments().last().map(|(_, s)| (s.ack, s.sack_blocks().collect::<Vec<_>>()))
    };
    assert_eq!(blocks(1), Some((1000, vec![(2000, 3000)])));
    assert_eq!(blocks(2), Some((1000, vec![])));
}

#[test]
fn a_lost_fin_is_sent_again_and_a_closed_end_still_answers_one() {
    let mut server = Bench::established(config(Role::Server));
    server.finish();
    server.at(2000.0);
    // The probe after two RTTs and the time a delayed ACK takes, then the timeout, and its backoff.
    let trace = server.trace();
    assert_eq!(trace[0], "100 0..0 F");
    assert!(trace.len() >= 3 && trace.iter().all(|l| l.ends_with("0..0 F")), "{trace:?}");
    server.receive(Kind::Data, |s| (s.fin, s.ack) = (true, 1));
    server.read();
    assert_eq!(server.events[1..], [Event::Finished(Default::default()), Event::Closed]);
    server.trace();
    // The peer did not get our acknowledgement of its FIN.
    server.at(2300.0).receive(Kind::Data, |s| (s.seq, s.fin, s.ack) = (0, true, 1));
    assert_trace!(server, ["2300 ack 1 sack 0..1"]);
}
