//! Two ends with a delay and losses between them, and an encoder whose frames all have one length.

use super::*;
use crate::media::News;
use crate::rtp::Arrivals;
use crate::rtp::Form;
use crate::rtp::Report;
use crate::rtp::control::{self, GCC};
use haltere_net::ComponentId;
use haltere_net::rng::Streams;
use std::collections::BTreeMap;

const FRAME: u32 = 3000;
const ALL: [Mapping; 3] = [Mapping::Datagrams, Mapping::StreamPerFrame, Mapping::StreamPerGroup];

/// The path between the ends.
struct Path {
    delay: Span,
    /// Packets towards the receiver that are lost, by their number from 1 on.
    lost: fn(u64) -> bool,
    /// Every so many frames one is a key frame.
    group: u64,
}

impl Default for Path {
    fn default() -> Path {
        Path { delay: Span::from_millis(50), lost: |_| false, group: u64::MAX }
    }
}

/// The course of a call.
struct Course {
    /// The frames in the order in which they came, each with its time.
    came: Vec<(u64, Time)>,
    sent: u64,
    stats: Stats,
    client: Connection,
    server: Connection,
}

fn config(role: Role, control: Control, mapping: Mapping) -> Config {
    let mut config = Config::new(role, control, Streams::new(1, 0).named("cc"));
    config.mapping = mapping;
    config.media.rates = [400_000, 1_500_000, 1_000_000].map(haltere_net::Rate::from_bps);
    config
}

/// A call of so many seconds whose encoder heeds nothing.
fn call(path: &Path, seconds: u64, set_up: impl Fn(Role) -> Config) -> Course {
    let (client, server) = (Connection::new(set_up(Role::Client)), Connection::new(set_up(Role::Server)));
    let mut course = Course { came: Vec::new(), sent: 0, stats: Stats::default(), client, server };
    let mut wire: BTreeMap<(Time, u64), (bool, haltere_net::Packet<Body>)> = BTreeMap::new();
    let cx = |now| Cx::new(now, ComponentId(0));
    let (mut now, mut order, mut count, mut next) = (Time::ZERO, 0, 0, Time::NEVER);
    course.client.connect(&mut cx(now));
    while now < Time::ZERO + Span::from_secs(seconds) {
        while let Some(event) = course.server.poll_event() {
            if event == Event::Connected {
                next = now;
            }
        }
        while let Some(event) = course.client.poll_event() {
            if let Event::Media(News::Frame(frame)) = event {
                course.came.push((frame.number, now));
            }
        }
        while next <= now {
            let (number, key) = (course.sent, course.sent.is_multiple_of(path.group));
            course.server.send_frame(Frame { number, bytes: FRAME, captured: now, key }, &mut cx(now));
            (course.sent, next) = (number + 1, next + Span::from_micros(33_333));
        }
        for down in [false, true] {
            let end = if down { &mut course.server } else { &mut course.client };
            while let Some(packet) = end.poll_transmit(&mut cx(now)) {
                let Body::Quic(datagram) = &packet.body else { panic!("no packet of QUIC") };
                assert_eq!(datagram.size() + 28, packet.len);
                assert!(datagram.packets.iter().all(|one| one.size == one.encoded_len()), "{datagram:?}");
                (order, count) = (order + 1, count + u64::from(down));
                if !down || !(path.lost)(count) {
                    wire.insert((now + path.delay, order), (down, packet));
                }
            }
        }
        let timers = course.client.next_wake().min(course.server.next_wake()).min(next);
        now = timers.min(wire.keys().next().map_or(Time::NEVER, |key| key.0)).max(now);
        while let Some(entry) = wire.first_entry().filter(|entry| entry.key().0 <= now) {
            let (down, packet) = entry.remove();
            let end = if down { &mut course.client } else { &mut course.server };
            end.on_packet(packet, &mut cx(now));
        }
        course.client.on_wake(&mut cx(now));
        course.server.on_wake(&mut cx(now));
    }
    course.stats = course.server.stats();
    course
}

#[test]
fn without_losses_every_frame_comes_once_and_in_order() {
    for control in Control::ALL {
        for mapping in ALL {
            let course = call(&Path::default(), 10, |role| config(role, *control, mapping));
            let numbers: Vec<u64> = course.came.iter().map(|frame| frame.0).collect();
            assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "{control:?}, {mapping:?}");
            assert!(course.sent - numbers.len() as u64 <= 12, "{control:?}, {mapping:?}: {} frames", numbers.len());
            assert_eq!((course.stats.lost_packets, course.stats.retransmitted_packets), (0, 0));
            // Three packets a frame, or in all streams' frames; the rest are the reports and a handshake.
            let counts = course.server.datagram_counts();
            assert_eq!(mapping == Mapping::Datagrams, counts.sent >= 3 * numbers.len() as u64, "{counts:?}");
            assert!(counts.delivered + 40 > counts.sent && counts.lost + counts.dropped == 0, "{counts:?}");
        }
    }
}

#[test]
fn rtp_repairs_what_datagrams_lose_and_quic_what_streams_do() {
    let path = Path { lost: |number| number > 20 && number.is_multiple_of(25), ..Path::default() };
    for mapping in ALL {
        let course = call(&path, 20, |role| Config { inner: Inner::None, ..config(role, GCC, mapping) });
        let said = format!("{mapping:?}: {:?}, {} of {}", course.stats, course.came.len(), course.sent);
        let repairs = course.server.call.session.stats.retransmitted_packets;
        assert_eq!(mapping == Mapping::Datagrams, repairs > 20, "{repairs} repairs, {said}");
        assert!(course.stats.retransmitted_packets > 20 && course.stats.lost_packets > 20, "{said}");
        assert!(course.came.len() as u64 + 15 > course.sent, "{said}");
        let mut numbers: Vec<u64> = course.came.iter().map(|frame| frame.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), course.came.len(), "a frame came twice: {said}");
    }
}

#[test]
fn without_repairs_what_datagrams_lose_is_lost() {
    let path = Path { lost: |number| number > 20 && number.is_multiple_of(25), ..Path::default() };
    let course = call(&path, 20, |role| {
        let mut config = Config { inner: Inner::None, ..config(role, GCC, Mapping::Datagrams) };
        config.media.repair = false;
        config
    });
    assert!(course.came.len() as u64 + 40 < course.sent, "{} of {}", course.came.len(), course.sent);
}

#[test]
fn a_lost_packet_holds_up_its_group_on_one_stream_and_its_frame_alone_on_several() {
    // A packet of the second second.
    let path = || Path { lost: |number| number == 150, group: 30, ..Path::default() };
    let overtaken = |mapping| {
        let course = call(&path(), 4, |role| config(role, GCC, mapping));
        assert!(course.stats.lost_packets == 1 && course.came.len() as u64 + 8 > course.sent, "{:?}", course.stats);
        let frames = course.came.windows(2).filter(|pair| pair[1].0 < pair[0].0).count();
        (frames, course.server.call.session.stats.lost_packets)
    };
    // Later frames come before the one that waits, whose packets count as lost for the congestion control of media.
    let (frames, lost) = overtaken(Mapping::StreamPerFrame);
    assert!(frames == 1 && (1..=3).contains(&lost), "{frames} frames overtaken, {lost} packets told lost");
    assert_eq!(overtaken(Mapping::StreamPerGroup), (0, 0));
}

#[test]
fn streams_are_unidirectional_and_forgotten_when_they_are_over() {
    let course = call(&Path { group: 30, ..Path::default() }, 20, |role| config(role, GCC, Mapping::StreamPerFrame));
    assert!(course.came.len() > 500, "more than the peer allows at a time");
    assert!(course.client.incoming.is_quiet() && course.server.outgoing.streams() < 20);
    let first = StreamId(3);
    assert!(course.server.quic.is_over(first) && course.client.quic.is_over(first), "of the server, unidirectional");
}

#[test]
fn frames_wait_where_the_peer_allows_no_more_streams() {
    let few = |most| {
        call(&Path::default(), 10, |role| {
            let mut config = config(role, GCC, Mapping::StreamPerFrame);
            config.quic.max_streams = most;
            config
        })
    };
    let (one, many) = (few(1), few(100));
    // A frame each round trip, none lost.
    assert!((60..110).contains(&one.came.len()) && many.came.len() > 280, "{} and {}", one.came.len(), many.came.len());
    assert!(one.came.iter().zip(0..).all(|(came, number)| came.0 == number));
}

#[test]
fn the_inner_control_decides_when_packets_leave() {
    let path = || Path { lost: |number| number > 20 && number.is_multiple_of(12), ..Path::default() };
    let frames = |inner| {
        let course = call(&path(), 20, |role| Config { inner, ..config(role, GCC, Mapping::StreamPerFrame) });
        course.came.len() as f64 / course.sent as f64
    };
    // The encoder writes 720 kbit/s, and NewReno's window allows less than half with these losses.
    let (newreno, none) = (frames(Inner::Algorithm(cc::NEWRENO)), frames(Inner::None));
    assert!(none > 0.97 && newreno < 0.8 * none, "{newreno} with NewReno, {none} without");
}

#[test]
fn packets_have_the_mark_that_the_control_of_media_wants() {
    for (control, ecn) in [(control::GCC, Ecn::NotEct), (control::NADA, Ecn::Ect0), (control::SCREAM_L4S, Ecn::Ect1)] {
        let mut end = Connection::new(config(Role::Client, control, Mapping::Datagrams));
        end.connect(&mut Cx::new(Time::ZERO, ComponentId(0)));
        assert_eq!(end.poll_transmit(&mut Cx::new(Time::ZERO, ComponentId(0))).unwrap().ecn, ecn);
    }
}

#[test]
fn reports_that_are_too_long_go_in_parts_that_tell_the_same() {
    let mut course = call(&Path::default(), 2, |role| config(role, GCC, Mapping::Datagrams));
    let client = &mut course.client;
    let before = client.datagram_counts();
    let at = |n: u64| Time::ZERO + Span::from_micros(n);
    let packets: Vec<_> = (0..5000).map(|n| (n, at(n), Ecn::NotEct)).collect();
    let arrivals = Arrivals { packets, at: at(9000), form: Form::PerPacket };
    let reports =
        vec![Report::KeyFrame, Report::Missing((0..1000).map(|n| 20 * n).collect()), Report::Arrivals(arrivals)];
    call::send_reports(reports, &mut Below { quic: &mut client.quic, outgoing: &mut client.outgoing });
    assert_eq!(client.datagram_counts().dropped, before.dropped);
    let (mut told, mut missing, mut now) = (Vec::new(), Vec::new(), Time::ZERO + Span::from_secs(2));
    for _ in 0..100 {
        while let Some(packet) = client.quic.poll_transmit(&mut Cx::new(now, ComponentId(0))) {
            let Body::Quic(datagram) = &packet.body else { panic!("no packet of QUIC") };
            assert!(datagram.size() <= 1472);
            for frame in datagram.packets.iter().flat_map(|packet| packet.frames.iter()) {
                let quic::Frame::Datagram(frame) = frame else { continue };
                let Some(Packet::Reports(reports)) = frame.packet.as_deref() else { panic!("no reports") };
                for report in reports {
                    match report {
                        Report::Arrivals(one) => told.extend(one.packets.iter().map(|packet| packet.0)),
                        Report::Missing(one) => missing.extend(one.iter().copied()),
                        _ => {}
                    }
                }
            }
        }
        now = client.quic.next_wake().max(now).min(now + Span::from_millis(20));
        client.quic.on_wake(&mut Cx::new(now, ComponentId(0)));
    }
    assert_eq!(told, (0..5000).collect::<Vec<u64>>());
    assert_eq!(missing, (0..1000).map(|n| 20 * n).collect::<Vec<u64>>());
}

#[test]
fn a_silent_peer_ends_the_call() {
    let path = Path { lost: |number| number > 100, ..Path::default() };
    let course = call(&path, 60, |role| config(role, GCC, Mapping::Datagrams));
    assert!(course.client.call.is_over() && course.client.next_wake() == Time::NEVER);
}
