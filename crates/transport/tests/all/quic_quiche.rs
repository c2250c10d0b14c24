//! Packets as quiche sends them: cut to what the window has left, with one STREAM frame each, and the oldest data in probes.

use crate::common;

use common::{Exchange, Pair, Seen, gigabit};
use haltere_net::Span;
use haltere_net::rng::Streams;
use haltere_transport::cc::Arithmetic;
use haltere_transport::quic::{Config, Connection, Frame, KeepsakeSet, MtuProbes, SpaceId};
use haltere_transport::{Body, Role, cc};

/// A transfer of 40 kB over a path with a one-way delay of 50 ms down and none up, unpaced.
fn pair(change: impl Fn(&mut Config)) -> Pair<Connection, Connection> {
    let end = |role| {
        let mut config = Config::new(role, cc::CUBIC, Streams::new(9, 0).named("cc"));
        config.pacing = false;
        change(&mut config);
        Connection::new(config)
    };
    let exchange = Exchange { streams: vec![(200, 40_000)] };
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &gigabit(0), &gigabit(50), 4, exchange);
    pair.keep = true;
    pair
}

fn finished(change: impl Fn(&mut Config)) -> Pair<Connection, Connection> {
    let mut pair = pair(change);
    assert!(pair.run(Span::from_secs(10)));
    pair.assert_complete();
    pair
}

/// The server's 1-RTT packets: size of the datagram, number, and frames.
fn data(pair: &Pair<Connection, Connection>) -> Vec<(u32, u64, Vec<Frame>)> {
    let of = |seen: &Seen| {
        let Body::Quic(datagram) = &seen.packet.body else { panic!("not QUIC") };
        let packet = datagram.packets.iter().find(|packet| packet.space == SpaceId::Data)?;
        Some((seen.packet.len - 28, packet.number, packet.frames.iter().cloned().collect()))
    };
    pair.seen.iter().filter(|seen| seen.from == Role::Server).filter_map(of).collect()
}

fn stream_frames(frames: &[Frame]) -> usize {
    frames.iter().filter(|frame| matches!(frame, Frame::Stream { .. })).count()
}

fn first_flight(pair: &Pair<Connection, Connection>) -> Vec<u32> {
    data(pair).iter().map(|(size, ..)| *size).take(11).collect()
}

#[test]
fn the_first_flight_fills_the_window_with_a_cut_packet_and_begins_with_the_largest_datagram() {
    let whole = finished(|config| config.mtu_probes = MtuProbes::First);
    let cut = finished(|config| (config.mtu_probes, config.cut_packets) = (MtuProbes::First, true));
    // Beside the probe of 1472 bytes the window of 12 000 has room for eight datagrams of 1200, and for 928 bytes.
    assert_eq!(first_flight(&whole)[..9], [1200, 1472, 1200, 1200, 1200, 1200, 1200, 1200, 1200]);
    assert_eq!(first_flight(&cut)[..10], [1200, 1472, 1200, 1200, 1200, 1200, 1200, 1200, 1200, 928]);
    assert_ne!(first_flight(&whole)[9], 928);
}

/// The first flight of quiche's controllers: sizes of datagrams, and bytes of data in them.
fn flight_of_quiche(change: fn(&mut Config)) -> (Vec<u32>, u64) {
    let pair = finished(|config| {
        (config.mtu_probes, config.cut_packets) = (MtuProbes::First, true);
        config.arithmetic = Arithmetic::Quiche;
        change(config);
    });
    let len = |frame: &Frame| if let Frame::Stream { len, .. } = frame { u64::from(*len) } else { 0 };
    let flight: Vec<_> = data(&pair).into_iter().take(12).collect();
    let bytes = flight.iter().flat_map(|(.., frames)| frames).map(len).sum();
    (flight.into_iter().map(|(size, ..)| size).collect(), bytes)
}

#[test]
fn controllers_of_quiche_begin_with_datagrams_of_the_largest_size() {
    // Ten datagrams of 1472 bytes once the handshake is complete, and not ten of 1200.
    let (sizes, _) = flight_of_quiche(|_| {});
    assert_eq!(sizes, [1200, 1472, 1200, 1200, 1200, 1200, 1200, 1200, 1200, 1200, 1200, 1200]);
}

#[test]
fn no_more_is_taken_of_the_application_s_data_than_the_window_had_room_for() {
    // The window was 12 000 bytes when the request came, and grew afterwards.
    let (sizes, bytes) = flight_of_quiche(|config| config.takes_by_window = true);
    assert_eq!((sizes.len(), bytes), (12, 12_000));
    assert!(sizes[11] < 1200, "{sizes:?}");
}

#[test]
fn a_lone_frame_does_not_share_its_packet_and_tells_its_length() {
    let most = |lone| {
        let mut pair = pair(|config| config.lone_frames = lone);
        // Two packets apart are lost, so that what is sent again is followed by other data.
        let mut number = 0;
        pair.censor = Some(Box::new(move |seen| {
            number += u64::from(seen.from == Role::Server);
            seen.from == Role::Server && [9, 11].contains(&number)
        }));
        assert!(pair.run(Span::from_secs(10)));
        pair.assert_complete();
        let data = data(&pair);
        let told = |frame: &Frame| matches!(frame, Frame::Stream { explicit_len: true, .. });
        let all = data.iter().all(|(.., frames)| frames.iter().any(told) || stream_frames(frames) == 0);
        (data.iter().map(|(.., frames)| stream_frames(frames)).max(), all)
    };
    assert_eq!(most(true), (Some(1), true));
    assert_eq!(most(false), (Some(2), false));
}

#[test]
fn probes_repeat_the_oldest_data_first_in_one_packet_and_then_in_two() {
    let probes = |oldest| {
        let mut pair = pair(|config| (config.probe_oldest, config.largest_datagram) = (oldest, Some(1200)));
        pair.censor = Some(Box::new(|seen| seen.from == Role::Server && is_data(seen)));
        pair.run(Span::from_millis(1500));
        let data = data(&pair);
        let offsets = |frames: &[Frame]| {
            frames.iter().find_map(|f| if let Frame::Stream { offset, .. } = f { Some(*offset) } else { None })
        };
        let flight = data.iter().filter_map(|(.., frames)| offsets(frames)).collect::<Vec<_>>();
        let last = flight.windows(2).position(|pair| pair[1] <= pair[0]).map_or(flight.len(), |at| at + 1);
        flight[last..].to_vec()
    };
    let (quiche, rfc) = (probes(true), probes(false));
    assert_eq!((&quiche[..2], quiche[2] > 0), (&[0, 0][..], true), "{quiche:?}");
    assert!(rfc.is_empty(), "there are new data to send: {rfc:?}");
}

fn is_data(seen: &Seen) -> bool {
    let Body::Quic(datagram) = &seen.packet.body else { return false };
    datagram.packets.iter().any(|packet| stream_frames(&packet.frames.iter().cloned().collect::<Vec<_>>()) > 0)
}

#[test]
fn long_identifiers_and_sealed_tickets_take_their_room() {
    let first = |change: fn(&mut Config)| {
        let pair = finished(|config| {
            config.connection_ids = Some(2);
            change(config);
        });
        let (.., frames) = data(&pair).into_iter().find(|(.., frames)| stream_frames(frames) > 0).unwrap();
        let len = frames.iter().find_map(|f| if let Frame::Stream { len, .. } = f { Some(*len) } else { None });
        len.unwrap()
    };
    let plain = first(|_| {});
    // 12 bytes in the header, and as many in NEW_CONNECTION_ID.
    assert_eq!(first(|config| config.long_ids = true), plain - 24);
    // Two tickets in a CRYPTO frame with four bytes of its own.
    assert_eq!(first(|config| config.keepsakes = KeepsakeSet::Quiche), plain - 400);
}
