use super::super::packet::tests::segment;
use super::*;
use End::{Client, Server};
use proptest::prelude::*;

const ISN: u32 = u32::MAX - 2500;

fn at(offset: u32) -> u32 {
    ISN.wrapping_add(1 + offset)
}

fn data(us: u64, offset: u32) -> (Packet, End) {
    (segment(us, Server, ACK, at(offset), 2, 1000), Server)
}

fn ack(us: u64, offset: u32, sacks: &[(u32, u32)]) -> (Packet, End) {
    let sacks: Vec<_> = sacks.iter().map(|b| (at(b.0), at(b.1))).collect();
    (segment(us, Client, ACK, 2, at(offset), 0).with_sack(&sacks), Client)
}

fn run(packets: &[(Packet, End)]) -> ServerCounts {
    let mut meter = ServerMeter::default();
    let handshake = [(segment(0, Client, SYN, 1, 0, 0), Client), (segment(0, Server, SYN | ACK, ISN, 2, 0), Server)];
    handshake.iter().chain(packets).for_each(|(p, from)| meter.take(p, *from));
    meter.counts().clone()
}

fn rtts(counts: &ServerCounts) -> (u64, u128) {
    (counts.rtt_samples, counts.rtt_sum_ns / 1000)
}

#[test]
fn an_acknowledgement_of_two_gives_the_rtt_of_the_second() {
    // The handshake's sample of 50 us comes first.
    let c = run(&[ack(50, 0, &[]), data(100, 0), data(110, 1000), ack(200, 2000, &[])]);
    assert_eq!((c.sent_packets, c.retransmitted_packets, rtts(&c)), (2, 0, (2, 50 + 90)));
    assert_eq!(c.min_rtt, Some(Span::from_micros(50)));
}

#[test]
fn what_was_sent_twice_gives_no_rtt_and_what_was_sacked_gives_its_own() {
    let c = run(&[
        ack(50, 0, &[]),
        data(100, 0),
        data(110, 1000),
        data(120, 2000),
        // The first was lost: the second and the third are reported one after the other.
        ack(210, 0, &[(1000, 2000)]),
        ack(220, 0, &[(1000, 3000)]),
        data(230, 0),
        ack(330, 3000, &[]),
    ]);
    assert_eq!((c.sent_packets, c.retransmitted_packets, c.spurious_retransmissions), (4, 1, 0));
    assert_eq!(rtts(&c), (3, 50 + 100 + 100));
}

#[test]
fn a_duplicate_reported_is_a_spurious_retransmission_and_no_sample() {
    let c = run(&[ack(50, 0, &[]), data(100, 0), data(150, 0), ack(210, 1000, &[]), ack(260, 1000, &[(0, 1000)])]);
    assert_eq!((c.retransmitted_packets, c.spurious_retransmissions, c.rtt_samples), (1, 1, 1));
}

#[test]
fn timestamps_tell_which_of_two_was_acknowledged_in_milliseconds() {
    let stamp = |mut p: (Packet, End), value, echo| {
        p.0.timestamps = Some((value, echo));
        p
    };
    let c = run(&[
        stamp(ack(50, 0, &[]), 1, 500),
        stamp(data(100, 0), 500, 1),
        stamp(data(30_100, 0), 530, 1),
        stamp(ack(40_200, 1000, &[]), 40, 530),
    ]);
    assert_eq!((c.retransmitted_packets, rtts(&c)), (1, (2, 50 + 10_000)));
}

#[test]
fn a_super_segment_counts_for_what_the_card_makes_of_it() {
    let mut meter = ServerMeter::default();
    let syn = Packet { mss: Some(1460), ..segment(0, Client, SYN, 1, 0, 0) };
    let reply = Packet { mss: Some(1400), ..segment(1, Server, SYN | ACK, ISN, 2, 0) };
    let large = Packet { options: 12, ..segment(2, Server, ACK, at(0), 2, 1388 * 3 + 1) };
    for (p, from) in [(syn, Client), (reply, Server), (large, Server), (large, Server)] {
        meter.take(&p, from);
    }
    assert_eq!((meter.counts().sent_packets, meter.counts().retransmitted_packets), (8, 4));
}

#[test]
fn nothing_counts_after_a_reset() {
    let c = run(&[data(100, 0), (segment(110, Client, RST, 2, 0, 0), Client), data(120, 1000)]);
    assert_eq!(c.sent_packets, 1);
}

proptest! {
    /// Whatever is sent, lost and acknowledged: every packet counts once, and each RTT lies between two packets seen.
    #[test]
    fn counts_fit_together(steps in prop::collection::vec((any::<bool>(), 0u32..30, 0u32..30, 1u32..5), 1..200)) {
        let (mut us, mut sent) = (100, 0);
        let packets: Vec<_> = steps.iter().map(|&(send, a, b, len)| {
            us += 10;
            sent += u64::from(send);
            let block = (a.min(b) * 1000, (a.min(b) + len) * 1000);
            if send { data(us, a * 1000) } else { ack(us, b * 1000, &[block]) }
        }).collect();
        let c = run(&packets);
        prop_assert_eq!(c.sent_packets, sent);
        prop_assert!(c.retransmitted_packets < sent.max(1));
        prop_assert!(c.rtt_sum_ns <= u128::from(c.rtt_samples) * u128::from(us) * 1000);
        let mean = c.mean_rtt_s().unwrap_or_default();
        if let Some(p95) = c.rtt_p95_s() {
            prop_assert!(p95 <= 1.001e-6 * us as f64);
            prop_assert!(c.rtt_samples > 1 || (p95 / mean - 1.0).abs() < 1e-3);
        }
        prop_assert!(c.rtt_samples <= 1 + steps.iter().filter(|s| !s.0).count() as u64);
    }
}

#[test]
fn subflows_with_the_same_port_and_numbers_are_connections_of_their_own() {
    let from = |packet: &(Packet, End), last: u8, multipath| {
        let (mut p, end) = *packet;
        let client = if end == Server { &mut p.destination } else { &mut p.source };
        client.set_ip([10, 0, 1, last].into());
        (Packet { multipath, ..p }, end)
    };
    let handshake = [(segment(0, Client, SYN, 1, 0, 0), Client), (segment(0, Server, SYN | ACK, ISN, 2, 0), Server)];
    let mut meter = ServerMeter::default();
    for (last, multipath) in [(2, true), (3, false)] {
        for packet in handshake.iter().chain(&[ack(50, 0, &[]), data(100, 0), data(110, 1000)]) {
            let (p, from) = from(packet, last, multipath);
            meter.take(&p, from);
        }
    }
    let c = meter.counts();
    assert_eq!((c.sent_packets, c.retransmitted_packets, c.plain_packets), (4, 0, 2));
}
