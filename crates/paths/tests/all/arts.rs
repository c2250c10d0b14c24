//! skitter's files.

use crate::common;

use common::{arts, as_arts, read_all, traces};
use haltere_paths::arts::{Reader, Writer};
use haltere_paths::generate::Profile;
use haltere_paths::{Damage, Hop, Stop, Trace, classify};
use proptest::prelude::*;

fn read(bytes: &[u8]) -> (Vec<Trace>, Vec<Damage>) {
    read_all(&mut Reader::new(bytes))
}

#[test]
fn every_version_is_read() {
    let made = traces(300, Profile::default());
    for version in 1..=3 {
        let (found, damage) = read(&arts(&made, version));
        assert_eq!(damage, []);
        let said: Vec<Trace> = made.iter().map(|t| as_arts(t, version)).collect();
        assert_eq!(found.len(), said.len());
        found.iter().zip(&said).for_each(|(found, said)| assert_eq!(found, said, "version {version}"));
    }
}

/// The first version has neither lists nor times of hops, and no halt reason; nothing writes it any more, so it is written
/// by hand, with its time in an attribute of 12 bytes.
#[test]
fn version_0_is_read() {
    let object = |replied: bool| {
        let mut data = vec![192, 0, 2, 1, 198, 51, 100, 7];
        data.extend_from_slice(&[0, 0, 0, 1, 0, 1, 0xe2, 0x40]); // 1 s and 123 456 µs to the destination and back
        data.extend_from_slice(&[if replied { 4 } else { 0 }, 2 | if replied { 0x80 } else { 0 }]);
        data.extend_from_slice(&[1, 10, 0, 0, 1]);
        data.extend_from_slice(&[3, 10, 0, 0, 3]);
        let attributes = [0x20d, 12, 900_000_000u32].map(u32::to_be_bytes).concat();
        let mut object = vec![0xdf, 0xb0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0];
        object.extend_from_slice(&[attributes.len() as u32, data.len() as u32].map(u32::to_be_bytes).concat());
        [object, attributes, data].concat()
    };
    let (found, damage) = read(&[object(true), object(false)].concat());
    assert_eq!((found.len(), damage), (2, vec![]));
    for (trace, replied) in found.iter().zip([true, false]) {
        assert_eq!(
            (trace.source.to_string(), trace.destination.to_string()),
            ("192.0.2.1".into(), "198.51.100.7".into())
        );
        assert_eq!((trace.start_us, trace.answered, trace.list_id), (900_000_000_000_000, replied, 0));
        let hops: Vec<_> = trace.hops.iter().map(|h| (h.ttl, h.address.to_string(), h.rtt_us)).collect();
        let mut expected = vec![(1, "10.0.0.1".into(), Hop::NO_RTT), (3, "10.0.0.3".into(), Hop::NO_RTT)];
        if replied {
            expected.push((4, "198.51.100.7".to_string(), 1_123_456));
        }
        assert_eq!(hops, expected);
    }
}

#[test]
fn that_the_destination_answered_is_a_reply_and_no_halt_reason() {
    let made = traces(50, Profile { complete: 1.0, ..Profile::default() });
    let (found, _) = read(&arts(&made, 3));
    assert!(found.iter().all(|t| t.answered && classify(t).complete));
    let halted: Vec<Trace> = made.into_iter().map(|t| Trace { stop: Stop::Loop, ..t }).collect();
    let (found, _) = read(&arts(&halted, 3));
    assert!(found.iter().all(|t| t.stop == Stop::Loop && t.answered && classify(t).looped));
}

#[test]
fn objects_of_other_kinds_are_skipped() {
    let made = traces(3, Profile::default());
    let mut writer = Writer::new(Vec::new(), 3);
    for trace in &made {
        writer.object(0x10, 0, &[], &[1, 2, 3]).unwrap();
        writer.trace(trace).unwrap();
    }
    let (found, damage) = read(&writer.finish().unwrap());
    assert_eq!((found.len(), damage.len()), (3, 0));
}

#[test]
fn a_file_that_is_cut_gives_what_is_whole() {
    let made = traces(3, Profile::default());
    let file = arts(&made, 3);
    let two = arts(&made[..2], 3).len();
    for cut in two + 1..file.len() {
        let (found, damage) = read(&file[..cut]);
        assert_eq!((found.len(), damage.len()), (2, 1), "cut at {cut}");
        assert_eq!(damage[0].offset, two as u64);
    }
}

#[test]
fn a_wrong_length_that_ends_where_another_object_does_costs_one_object() {
    let made = traces(10, Profile::default());
    let mut file = arts(&made, 3);
    let (first, second) = (arts(&made[..1], 3).len(), arts(&made[..2], 3).len());
    let attributes = 12 + (second - first) as u32;
    file[12..16].copy_from_slice(&attributes.to_be_bytes());
    let (found, damage) = read(&file);
    assert_eq!((found.len(), damage.len()), (9, 1));
    assert_eq!(damage[0].skipped, first as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Whatever one byte of one object becomes, every other object is read as it was.
    #[test]
    fn a_damaged_object_costs_that_object(which in 0usize..10, place in any::<prop::sample::Index>(), value: u8) {
        let made = traces(10, Profile::default());
        let start = arts(&made[..which], 3).len();
        let len = arts(&made[which..=which], 3).len();
        let mut file = arts(&made, 3);
        file[start + place.index(len)] = value;
        let (found, damage) = read(&file);
        let said: Vec<Trace> = made.iter().map(|t| as_arts(t, 3)).collect();
        prop_assert!(damage.len() <= 1 && (found.len() == 9 || found.len() == 10), "{damage:?}");
        prop_assert_eq!(&found[..which], &said[..which]);
        let after = 10 - (which + 1);
        prop_assert_eq!(&found[found.len() - after..], &said[10 - after..]);
    }

    #[test]
    fn any_bytes_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        version in 1u8..4,
    ) {
        let mut file = arts(&traces(5, Profile::default()), version);
        for (place, value) in changes {
            let at = place.index(file.len());
            file[at] = value;
        }
        let (_, damage) = read(&file);
        prop_assert!(damage.iter().map(|d| d.skipped).sum::<u64>() <= file.len() as u64);
    }
}
