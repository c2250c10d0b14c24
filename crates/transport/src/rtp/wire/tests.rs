//! Packets come back from their bytes as they went, have the lengths that are counted, and any bytes can be read.

use super::*;
use crate::media::Frame;
use crate::rtp::control::Summary;
use crate::rtp::{Arrivals, Form, Media, Packet, Part, Report, Summarised};
use haltere_net::Time;
use proptest::prelude::*;

fn time(ns: u64) -> Time {
    Time::from_nanos(ns)
}

/// A packet with a part of a frame, the second of two.
fn media(number: u64, sequence: u64) -> Media {
    let frame = Frame { number: 1 << 40, bytes: 2000, captured: time(77_123_456_789), key: true };
    let part = Some(Part { sequence, frame, first: sequence - 1, parts: 2 });
    Media { number, sent: time(77_200_000_001), part, repair: false, payload: 1000 }
}

fn read(reader: &mut Reader, packet: &Packet) -> Packet {
    let bytes = write(packet);
    assert_eq!(bytes.len() as u32, packet.bare_len(), "{packet:?}");
    reader.read(&bytes).unwrap()
}

fn arrivals(packets: &[(u64, u64, Ecn)], at: u64, form: Form) -> Packet {
    let packets = packets.iter().map(|(number, at, ecn)| (*number, time(*at), *ecn)).collect();
    Packet::Reports(vec![Report::Arrivals(Arrivals { packets, at: time(at), form })])
}

fn told(packet: &Packet) -> &Arrivals {
    let Packet::Reports(reports) = packet else { panic!("{packet:?}") };
    let [Report::Arrivals(arrivals)] = &reports[..] else { panic!("{reports:?}") };
    arrivals
}

#[test]
fn media_comes_back_as_it_went_beyond_numbers_of_16_bits() {
    let mut reader = Reader::default();
    for step in 0..200_000u64 {
        let plain = media(step, 1 + step);
        let sent = match step % 3 {
            0 => plain,
            1 => Media { repair: true, ..media(step, 1 + step.saturating_sub(300)) },
            _ => Media { part: None, ..plain },
        };
        let back = read(&mut reader, &Packet::Media(sent));
        assert_eq!(format!("{back:?}"), format!("{:?}", Packet::Media(sent)));
    }
}

#[test]
fn a_part_that_is_too_short_for_its_description_is_lengthened() {
    let short = Media { payload: 1, ..media(0, 1) };
    let back = Reader::default().read(&write(&Packet::Media(short)));
    let Some(Packet::Media(back)) = back else { panic!("{back:?}") };
    assert_eq!((back.payload, back.part), (LEAST_PAYLOAD, short.part));
}

#[test]
fn feedback_tells_numbers_exactly_and_times_as_coarsely_as_its_format() {
    let mut reader = Reader::default();
    reader.on_sent(&media(70_020, 70_000));
    let came: Vec<(u64, u64, Ecn)> = [70_000, 70_001, 70_003, 70_009, 70_011]
        .iter()
        .map(|number| (*number, 90_000_123_456 + (number - 70_000) * 5_432_100, Ecn::Ce))
        .collect();
    for (form, unit, ecn) in [(Form::TransportWide, TICK, Ecn::NotEct), (Form::PerPacket, 1_000_000, Ecn::Ce)] {
        let back = read(&mut reader, &arrivals(&came, 90_100_000_000, form));
        let back = told(&back);
        assert_eq!(back.packets.len(), came.len());
        for (one, (number, at, _)) in back.packets.iter().zip(&came) {
            assert!(one.0 == *number && one.2 == ecn && one.1.as_nanos().abs_diff(*at) <= unit, "{one:?}, {at}");
        }
        assert!(back.at.as_nanos().abs_diff(90_100_000_000) < 16_000, "{back:?}");
    }
}

#[test]
fn times_that_are_far_apart_or_not_in_order_take_two_bytes() {
    let mut reader = Reader::default();
    let packets = [(0, 64_000_000, Ecn::NotEct), (1, 700_000_000, Ecn::NotEct), (2, 400_000_000, Ecn::NotEct)];
    let packet = arrivals(&packets, 800_000_000, Form::TransportWide);
    let bytes = write(&packet);
    assert_eq!((packet.bare_len(), bytes.len()), (28, 28), "12, 8, 2, and 5 of times in the place of 3, padded");
    let back = reader.read(&bytes).unwrap();
    let times: Vec<u64> = told(&back).packets.iter().map(|packet| packet.1.as_nanos()).collect();
    assert_eq!(times, [64_000_000, 700_000_000, 400_000_000]);
}

#[test]
fn wishes_and_summaries_come_back() {
    let mut reader = Reader::default();
    reader.on_sent(&media(100_000, 90_000));
    let missing = vec![80_000, 80_001, 80_016, 80_017, 89_999];
    let summary = Summary { signal: 12.345, received: 1_234_567.0, accelerated: true };
    let held = Span::from_nanos(1_000_000_000);
    let packet = Packet::Reports(vec![
        Report::KeyFrame,
        Report::Missing(missing.clone()),
        Report::Summary(Summarised { summary, last: 99_999, held }),
    ]);
    let Packet::Reports(back) = read(&mut reader, &packet) else { panic!("no reports") };
    let [Report::KeyFrame, Report::Missing(asked), Report::Summary(told)] = &back[..] else { panic!("{back:?}") };
    assert_eq!((asked, told.summary, told.last, told.held), (&missing, summary, 99_999, held));
}

#[test]
fn a_report_tells_of_no_more_than_numbers_of_16_bits_can() {
    let mut reader = Reader::default();
    let packets = [(0, 1_000_000, Ecn::NotEct), (1 << 40, 2_000_000, Ecn::NotEct), (u64::MAX, 3_000_000, Ecn::NotEct)];
    for form in [Form::TransportWide, Form::PerPacket] {
        let bytes = write(&arrivals(&packets, 4_000_000, form));
        assert!(bytes.len() < 40 && reader.read(&bytes).is_some_and(|back| told(&back).packets.len() == 1));
    }
}

#[test]
fn the_clock_of_reports_goes_on_where_32_bits_end() {
    let mut reader = Reader::default();
    for hours in 0..60 {
        let at = hours * 3_600_000_000_000;
        let bytes = write(&arrivals(&[(1, at, Ecn::NotEct)], at, Form::PerPacket));
        let back = reader.read(&bytes).unwrap();
        assert!(told(&back).at.as_nanos().abs_diff(at) < 16_000, "{hours} hours: {back:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(
        first in prop::sample::select(vec![0x90u8, 0x81, 0x8b, 0x8f, 0x9f, 0]),
        second in prop::sample::select(vec![96u8, 97, 98, 205, 206, 224]),
        rest in prop::collection::vec(any::<u8>(), 0..200),
        words in 0u16..60,
    ) {
        let mut bytes = vec![first, second];
        bytes.extend(words.to_be_bytes());
        bytes.extend(rest);
        let mut reader = Reader::default();
        for cut in 0..=bytes.len() {
            reader.read(&bytes[..cut]);
        }
    }
}
