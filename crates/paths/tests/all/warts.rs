//! warts as they are met in the wild: each of what some reader fails on is a test.

use crate::common;

use common::{read_all, traces, warts};
use haltere_paths::generate::Profile;
use haltere_paths::warts::{Addresses, Reader, Writer};
use haltere_paths::{Address, Damage, Hop, Method, ReadTraces, Stop, Trace};
use proptest::prelude::*;
use std::io::Read;

fn read(bytes: &[u8]) -> (Vec<Trace>, Vec<Damage>) {
    read_all(&mut Reader::new(bytes))
}

/// Start and end of every record of an undamaged file.
fn records(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut at = 0;
    let mut found = Vec::new();
    while at < bytes.len() {
        let len = u32::from_be_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        found.push(at..at + 8 + len);
        at += 8 + len;
    }
    found
}

fn same(found: &[Trace], made: &[Trace]) {
    assert_eq!(found.len(), made.len());
    found.iter().zip(made).for_each(|(f, m)| assert_eq!(f, m));
}

#[test]
fn what_was_written_is_read() {
    let made = traces(200, Profile::default());
    assert!(made.iter().any(|t| !t.extensions.is_empty()) && made.iter().any(|t| t.stop == Stop::Loop));
    let (found, damage) = read(&warts(&made, Addresses::Embedded));
    same(&found, &made);
    assert_eq!(damage, []);
}

#[test]
fn ipv6_is_read() {
    let made = traces(50, Profile { v6: true, ..Profile::default() });
    same(&read(&warts(&made, Addresses::Embedded)).0, &made);
}

#[test]
fn addresses_in_records_of_their_own_wrap_at_255() {
    let made = traces(200, Profile::default());
    let file = warts(&made, Addresses::Global);
    let mut reader = Reader::new(&file[..]);
    let (found, damage) = read_all(&mut reader);
    assert!(reader.records()["address"] > 600, "{:?}", reader.records());
    same(&found, &made);
    assert_eq!(damage, []);
}

#[test]
fn joined_files_begin_their_numbers_again() {
    let made = traces(300, Profile::default());
    for addresses in [Addresses::Embedded, Addresses::Global] {
        let file = |traces: &[Trace], id: u32, host: &str| {
            let mut writer = Writer::new(Vec::new(), addresses);
            writer.list(1, id, "tests", None).unwrap();
            writer.cycle(1, 1, 10 * id, 0, Some(host)).unwrap();
            traces.iter().for_each(|t| writer.trace(t, 1, 1).unwrap());
            writer.finish().unwrap()
        };
        let joined = [file(&made[..100], 1, "a"), file(&made[100..200], 2, "b"), file(&made[200..], 3, "c")].concat();
        let (found, damage) = read(&joined);
        assert_eq!(damage, [], "{addresses:?}");
        for (at, (found, made)) in found.iter().zip(&made).enumerate() {
            let (id, host) = [(1, "a"), (2, "b"), (3, "c")][at / 100];
            assert_eq!((found.list_id, found.cycle_id, found.monitor.as_deref()), (id, 10 * id, Some(host)));
            assert_eq!(found.hops, made.hops);
        }
        assert_eq!(found.len(), 300);
    }
}

#[test]
fn records_of_other_kinds_are_skipped_and_counted() {
    let made = traces(3, Profile::default());
    let mut writer = Writer::new(Vec::new(), Addresses::Embedded);
    writer.list(1, 1, "tests", None).unwrap();
    writer.cycle(1, 1, 1, 0, Some("m0")).unwrap();
    for (trace, kind) in made.iter().zip([7, 9, 60]) {
        writer.trace(trace, 1, 1).unwrap();
        writer.record(kind, &[0x12, 0x05, 0, 6, 0, 0, 0, 0, 1, 2, 3]).unwrap();
    }
    let file = writer.finish().unwrap();
    let mut reader = Reader::new(&file[..]);
    let (found, damage) = read_all(&mut reader);
    same(&found, &made);
    assert_eq!(damage, []);
    let counted: Vec<_> = reader.records().iter().map(|(&name, &n)| (name, n)).collect();
    assert_eq!(counted, [("cycle-start", 1), ("dealias", 1), ("list", 1), ("other", 1), ("ping", 1), ("trace", 3)]);
}

#[test]
fn an_empty_file_holds_nothing() {
    assert_eq!(read(&[]), (vec![], vec![]));
}

#[test]
fn a_file_cut_anywhere_gives_what_is_whole() {
    let made = traces(4, Profile::default());
    let file = warts(&made, Addresses::Embedded);
    let ends: Vec<usize> = records(&file)[2..6].iter().map(|r| r.end).collect();
    for cut in records(&file)[1].end..file.len() {
        let (found, damage) = read(&file[..cut]);
        same(&found, &made[..ends.iter().filter(|&&end| end <= cut).count()]);
        let whole = records(&file).iter().any(|r| r.end == cut);
        assert_eq!(damage.len(), usize::from(!whole), "cut at {cut}: {damage:?}");
        if let [damage] = &damage[..] {
            assert_eq!(damage.offset + damage.skipped, cut as u64);
        }
    }
}

#[test]
fn a_cut_file_joined_to_another_costs_one_record() {
    let made = traces(6, Profile::default());
    let (first, second) = (warts(&made[..3], Addresses::Embedded), warts(&made[3..], Addresses::Embedded));
    let last = records(&first)[4].clone();
    for cut in last.start + 1..last.end {
        let (found, damage) = read(&[&first[..cut], &second].concat());
        // The last two bytes say only that nothing follows the hops.
        let lost = usize::from(cut != last.end - 2);
        assert_eq!(damage.len(), lost, "cut at {cut}: {damage:?}");
        assert_eq!(found.len(), 6 - lost, "cut at {cut}");
        same(&found[3 - lost..], &made[3..]);
    }
}

#[test]
fn a_hop_may_have_several_addresses_and_several_times() {
    let mut trace = traces(1, Profile::default()).remove(0);
    let hop = trace.hops[2];
    let other = Hop { address: Address::v4([203, 0, 113, 9]), attempt: 2, ..hop };
    let again = Hop { rtt_us: hop.rtt_us + 7, attempt: 3, ..hop };
    trace.hops.splice(3..3, [other, again]);
    same(&read(&warts(std::slice::from_ref(&trace), Addresses::Embedded)).0, &[trace]);
}

/// scamper writes it where a probe's time stamp is later than its answer's: 144 µs less than nothing.
#[test]
fn a_negative_time_is_none() {
    let mut trace = traces(1, Profile::default()).remove(0);
    (trace.hops[0].rtt_us, trace.hops[1].rtt_us) = (144u32.wrapping_neg(), Hop::LONGEST_RTT);
    let (found, _) = read(&warts(std::slice::from_ref(&trace), Addresses::Embedded));
    assert_eq!((found[0].hops[0].rtt_us, found[0].hops[1].rtt_us), (Hop::NO_RTT, Hop::LONGEST_RTT));
    assert_eq!(found[0].hops[0].rtt(), None);
}

#[test]
fn every_optional_field_is_read() {
    let mut trace = traces(1, Profile::default()).remove(0);
    trace.router = Address::v4([192, 0, 2, 77]);
    (trace.flags, trace.offset, trace.user_id, trace.parallel, trace.stop_hop) = (0x2a5, 8, 99, 3, 9);
    (trace.stop, trace.stop_data, trace.answered, trace.method) = (Stop::Unreach, 13, false, Method::UdpParis);
    (trace.confidence, trace.wait_probe_cs, trace.tos, trace.loops, trace.loop_action) = (95, 7, 0x10, 2, 1);
    (trace.hop_limit, trace.first_ttl) = (40, 3);
    let hop = &mut trace.hops[1];
    (hop.next_mtu, hop.quoted_size, hop.quoted_ttl, hop.reply_tos, hop.quoted_tos) = (1400, 40, 2, 8, 4);
    let hop = &mut trace.hops[2];
    (hop.flags, hop.tcp_flags, hop.icmp_type) = (Hop::TCP, 0x12, Hop::NO_ICMP);
    trace.hops[3].rtt_us = Hop::NO_RTT;
    same(&read(&warts(std::slice::from_ref(&trace), Addresses::Embedded)).0, &[trace]);
}

/// A trace record with parameters that no version of the format defines yet, and with data after the hops.
#[test]
fn fields_of_later_versions_are_passed_over() {
    let mut body = vec![0x80, 0x80, 0x80, 0xa0, 0x80, 0x80, 0x01, 0, 9];
    body.extend_from_slice(&[4, 1, 192, 0, 2, 1]); // flag 27: destination
    body.extend_from_slice(&[1, 2, 3]); // flag 43
    body.extend_from_slice(&[0, 1]); // one hop
    body.extend_from_slice(&[0x82, 0x80, 0x88, 0x80, 0x01, 0, 9, 5, 4, 1, 192, 0, 2, 9, 0xaa, 0xbb]); // flags 2, 18, 29
    body.extend_from_slice(&[0x30, 2, 7, 7, 0, 0]); // Doubletree's data, the end
    let mut writer = Writer::new(Vec::new(), Addresses::Embedded);
    writer.record(6, &body).unwrap();
    let (found, damage) = read(&writer.finish().unwrap());
    assert_eq!(damage, []);
    assert_eq!(found[0].destination.to_string(), "192.0.2.1");
    assert_eq!((found[0].hops[0].ttl, found[0].hops[0].address.to_string().as_str()), (5, "192.0.2.9"));
}

#[test]
fn a_list_that_was_lost_costs_no_trace() {
    let made = traces(5, Profile::default());
    let file = warts(&made, Addresses::Embedded);
    let (found, damage) = read(&file[records(&file)[1].end..]);
    assert_eq!((found.len(), damage.len()), (5, 0));
    assert_eq!((found[0].list_id, found[0].monitor.as_deref()), (0, None));
}

#[test]
fn an_address_record_that_was_lost_costs_what_refers_to_it() {
    let made = traces(100, Profile::default());
    let file = warts(&made, Addresses::Global);
    let at = records(&file).into_iter().filter(|r| file[r.start + 3] == 5).nth(400).unwrap();
    let lost = Address::v4(file[at.end - 4..at.end].try_into().unwrap());
    let mut broken = file.clone();
    broken[at.start + 9] = 1; // IPv4
    broken[at.start] = 0; // and no header
    let (found, damage) = read(&broken);
    let whole: Vec<Trace> =
        made.into_iter().filter(|t| t.destination != lost && t.hops.iter().all(|h| h.address != lost)).collect();
    assert!(whole.len() < 100);
    same(&found, &whole);
    assert_eq!(damage.len(), 1 + 100 - whole.len());
}

#[test]
fn damage_is_told_with_its_place() {
    let made = traces(3, Profile::default());
    let file = warts(&made, Addresses::Embedded);
    let at = records(&file)[3].clone();
    let mut broken = file.clone();
    broken[at.start + 8] = 0; // no parameters: no destination
    let (found, damage) = read(&broken);
    assert_eq!(found.len(), 2);
    let expected =
        Damage { offset: at.start as u64, skipped: at.len() as u64, what: "a trace without a destination".into() };
    assert_eq!(damage, [expected]);
}

/// Gives one byte at a time.
struct Slowly<'a>(&'a [u8]);

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.len().min(buffer.len()).min(1);
        self.0.read(&mut buffer[..n])
    }
}

#[test]
fn it_does_not_matter_in_what_pieces_a_stream_comes() {
    let made = traces(20, Profile::default());
    let mut file = warts(&made, Addresses::Embedded);
    let at = records(&file)[9].start;
    file[at + 6] = 9; // a length that runs over several records
    assert_eq!(read_all(&mut Reader::new(Slowly(&file))), read(&file));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever one byte of one record becomes, every other record is read as it was.
    #[test]
    fn a_damaged_record_costs_that_record(which in 2usize..12, place in any::<prop::sample::Index>(), value: u8) {
        let made = traces(10, Profile::default());
        let file = warts(&made, Addresses::Embedded);
        let at = records(&file)[which].clone();
        let mut broken = file.clone();
        broken[at.start + place.index(at.len())] = value;
        let (found, damage) = read(&broken);
        prop_assert!(damage.len() <= 1, "{damage:?}");
        let (before, after) = (which - 2, 10 - (which - 1));
        prop_assert!(found.len() == 9 || found.len() == 10, "{} traces, {damage:?}", found.len());
        prop_assert_eq!(&found[..before], &made[..before]);
        prop_assert_eq!(&found[found.len() - after..], &made[10 - after..]);
    }

    /// Whatever the bytes are, reading ends, and what is lost lies inside the file.
    #[test]
    fn any_bytes_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..60),
        cut in any::<prop::sample::Index>(),
        global: bool,
    ) {
        let addresses = if global { Addresses::Global } else { Addresses::Embedded };
        let mut file = warts(&traces(6, Profile::default()), addresses);
        for (place, value) in changes {
            let at = place.index(file.len());
            file[at] = value;
        }
        file.truncate(cut.index(file.len()));
        let (found, damage) = read(&file);
        prop_assert!(found.len() <= 7);
        prop_assert!(damage.iter().map(|d| d.skipped).sum::<u64>() <= file.len() as u64);
    }
}
