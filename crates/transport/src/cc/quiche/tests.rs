use super::*;
use crate::cc::bench::{ack as altered, config};
use crate::recovery::{RateSampler, TxState};

const MSS: u64 = 1472;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn of(window: u64) -> Config {
    Config { mss: MSS, initial_window: window, ..config() }
}

/// CUBIC in congestion avoidance with a window of so many datagrams, which was reached by a curve whose plateau it is.
fn avoiding(datagrams: u64) -> QuicheCubic {
    let mut cubic = QuicheCubic::new(&of(datagrams * MSS));
    cubic.shared.ssthresh = datagrams * MSS;
    cubic.shared.reduced = Some(at(0));
    (cubic.w_max, cubic.prior.lost) = ((datagrams * MSS) as f64, 0);
    cubic
}

fn tx() -> TxState {
    RateSampler::default().on_sent(Time::ZERO, 0)
}

fn lose(cc: &mut dyn CongestionController, packets: u64, ms: u64, in_flight: u64) {
    for number in 0..packets {
        let (now, sent) = (at(ms), tx());
        cc.on_lost(&Lost { now, from: number, to: number + 1, bytes: MSS, sent, total_delivered: 0, total_lost: 0 });
    }
    let (now, lost) = (at(ms), packets * MSS);
    cc.on_congestion(&Congestion { now, trigger: Trigger::Loss, new_episode: true, in_flight, lost });
}

/// An ACK at `now` of one packet, after which `in_flight` bytes are in flight.
fn ack(cc: &mut dyn CongestionController, (sent, now): (u64, u64), bytes: u64, in_flight: u64) {
    let rtt = Span::from_millis(now - sent);
    let packet = AckedPacket { now: at(now), sent: at(sent), bytes, window_limited: true, rtt };
    cc.on_packet_acked(&packet);
    let ack = altered(|ack| {
        (ack.now, ack.delivered, ack.rtt, ack.min_rtt) = (at(now), bytes, Some(rtt), Some(rtt));
        (ack.in_flight, ack.prior_in_flight) = (in_flight, in_flight + bytes);
    });
    cc.on_ack(&ack, &[]);
}

#[test]
fn newreno_grows_in_slow_start_by_a_datagram_for_each_packet_and_cubic_for_each_datagram() {
    let (mut reno, mut cubic) = (QuicheNewReno::new(&of(12_000)), QuicheCubic::new(&of(12_000)));
    for _ in 0..2 {
        ack(&mut reno, (0, 50), 100, 0);
        ack(&mut cubic, (0, 50), 1000, 0);
    }
    assert_eq!((reno.window(), cubic.window()), (12_000 + 2 * MSS, 12_000 + MSS));
}

#[test]
fn nothing_grows_while_the_application_limits() {
    let mut reno = QuicheNewReno::new(&of(12_000));
    reno.on_packet_acked(&AckedPacket { now: at(50), sent: at(0), bytes: MSS, window_limited: true, rtt: Span::ZERO });
    reno.on_ack(&altered(|ack| ack.window_limited = false), &[]);
    assert_eq!(reno.window(), 12_000);
    ack(&mut reno, (0, 50), MSS, 0);
    assert_eq!(reno.window(), 12_000 + MSS, "the first packet is forgotten");
}

#[test]
fn the_first_window_has_larger_datagrams_from_the_first_packet_after_the_handshake_on() {
    let sent = |ms| Sent {
        now: at(ms),
        bytes: MSS,
        in_flight: MSS,
        total_delivered: 0,
        after_idle: None,
        app_limited: false,
        timeout: Span::MAX,
    };
    let mut reno = QuicheNewReno::new(&of(12_000));
    reno.on_sent(&sent(1));
    reno.on_established(&Established { now: at(2), rtt: None });
    assert_eq!(reno.window(), 12_000);
    reno.on_sent(&sent(2));
    assert_eq!(reno.window(), 10 * MSS);
    let mut lossy = QuicheNewReno::new(&of(12_000));
    lose(&mut lossy, 1, 1, 0);
    lossy.on_established(&Established { now: at(2), rtt: None });
    lossy.on_sent(&sent(2));
    assert_eq!(lossy.window(), 6000, "a window that has changed stays");
}

#[test]
fn newreno_begins_avoidance_with_half_a_window_of_credit() {
    let mut reno = QuicheNewReno::new(&of(20 * MSS));
    lose(&mut reno, 1, 100, 0);
    assert_eq!((reno.window(), reno.ssthresh(), reno.credit), (10 * MSS, 10 * MSS, 5 * MSS));
    ack(&mut reno, (100, 150), 5 * MSS, 0);
    assert_eq!(reno.window(), 10 * MSS, "sent before the loss was found");
    ack(&mut reno, (101, 150), 5 * MSS, 0);
    assert_eq!((reno.window(), reno.credit), (11 * MSS, 0));
}

#[test]
fn a_reduction_by_one_loss_is_taken_back_and_one_by_a_fifth_of_the_window_stays() {
    for (losses, window) in [(1, 100), (13, 100), (14, 70)] {
        let mut cubic = avoiding(100);
        lose(&mut cubic, losses, 500, 99 * MSS);
        assert_eq!(cubic.window(), 70 * MSS);
        assert!(!cubic.begins_recovery(Some(at(0)), at(500)) && cubic.begins_recovery(Some(at(500)), at(501)));
        ack(&mut cubic, (501, 600), 100, 60 * MSS);
        assert_eq!(cubic.window(), window * MSS, "{losses} losses");
        let again = cubic.begins_recovery(Some(at(500)), at(400));
        assert_eq!(again, window == 100, "with the reduction its period is forgotten");
    }
}

#[test]
fn no_reduction_is_taken_back_into_slow_start() {
    let mut cubic = QuicheCubic::new(&of(100 * MSS));
    lose(&mut cubic, 1, 500, 99 * MSS);
    ack(&mut cubic, (501, 600), 100, 60 * MSS);
    assert_eq!((cubic.window(), cubic.ssthresh()), (70 * MSS, 70 * MSS));
}

#[test]
fn recovery_allows_bytes_beyond_the_window() {
    let mut cubic = avoiding(100);
    // With the loss 100 datagrams were in flight.
    lose(&mut cubic, 1, 500, 99 * MSS);
    assert_eq!(cubic.allowance(), 0);
    ack(&mut cubic, (450, 510), MSS, 98 * MSS);
    assert_eq!(cubic.allowance(), (70 * MSS).div_ceil(100), "in proportion: 70 of 100");
    cubic.prr.on_sent(MSS);
    assert_eq!(cubic.allowance(), 0);
    ack(&mut cubic, (450, 520), MSS, 60 * MSS);
    assert_eq!(cubic.allowance(), 2 * MSS, "one more than was delivered, below the threshold");
}

#[test]
fn the_curve_counts_from_the_loss_and_idle_time_does_not_count() {
    let mut cubic = avoiding(100);
    lose(&mut cubic, 20, 500, 80 * MSS);
    // K is cbrt(30 / 0.4) = 4.217 s; after 2 s and an RTT ahead of 100 ms the curve is at 100 + 0.4 (2.1 - 4.217)³ datagrams.
    let k = libm::cbrt(75.0);
    assert!((cubic.k - k).abs() < 1e-9);
    ack(&mut cubic, (2400, 2500), MSS, 60 * MSS);
    let target = (100.0 + 0.4 * (2.1 - k) * (2.1 - k) * (2.1 - k)) * MSS as f64;
    assert_eq!(cubic.lead, MSS * (target as u64 - 70 * MSS) / (70 * MSS));
    let sent = Sent {
        now: at(3500),
        bytes: MSS,
        in_flight: 0,
        total_delivered: 0,
        after_idle: Some(Span::from_secs(1)),
        app_limited: true,
        timeout: Span::MAX,
    };
    cubic.on_sent(&sent);
    assert_eq!(cubic.shared.reduced, Some(at(1500)));
}

#[test]
fn eight_packets_of_a_later_round_with_a_longer_rtt_begin_conservative_slow_start() {
    let mut hystart = HyStart::new(&of(12_000));
    hystart.on_sent(at(0));
    assert!(!hystart.on_acked(at(0), Span::from_millis(50), at(50)));
    hystart.on_sent(at(50));
    (0..7).for_each(|_| assert!(!hystart.on_acked(at(49), Span::from_millis(57), at(106))));
    assert_eq!(hystart.growth(MSS), MSS);
    assert!(!hystart.on_acked(at(49), Span::from_millis(57), at(107)));
    assert_eq!((hystart.since, hystart.growth(MSS)), (Some(at(107)), MSS / 4));
    // Four more rounds; the fifth ends slow start.
    let mut rounds = (0..5u64).map(|round| {
        let now = at(50 + 100 * round);
        hystart.on_sent(now);
        hystart.on_acked(now, Span::from_millis(57), at(150 + 100 * round))
    });
    assert_eq!(rounds.position(|over| over), Some(4));
}

#[test]
fn a_shorter_rtt_goes_back_to_slow_start_and_a_loss_forgets_the_conservative_one() {
    let mut hystart = HyStart { since: Some(at(9)), baseline: Span::from_millis(57), ..HyStart::new(&of(12_000)) };
    (0..8).for_each(|_| assert!(!hystart.on_acked(at(1), Span::from_millis(56), at(57))));
    assert_eq!(hystart.since, None);
    hystart.since = Some(at(60));
    hystart.on_congestion();
    assert_eq!((hystart.since, hystart.growth(MSS)), (None, MSS));
    let off = Config { slow_start: Some(SlowStart::Standard), ..of(12_000) };
    assert!(!HyStart::new(&off).on);
}
