//! The text of `sc_analysis_dump`: what it says, with whatever options, and what is wrong with it.

use crate::common;
use crate::skips;

use common::{read_all, traces, warts};
use haltere_paths::dump::Reader;
use haltere_paths::generate::Profile;
use haltere_paths::warts::Addresses;
use haltere_paths::{Address, Damage, Hop, Stop, Trace};
use proptest::prelude::*;
use std::io::Write;
use std::process::{Command, Stdio};

fn read(text: &str) -> (Vec<Trace>, Vec<Damage>) {
    read_all(&mut Reader::new(text.as_bytes()))
}

fn hop(ttl: u8, last: u8, rtt_us: u32) -> Hop {
    Hop { address: Address::v4([192, 0, 2, last]), ttl, rtt_us, attempt: 1, ..Hop::default() }
}

const LINE: &str = "T\t198.51.100.1\t192.0.2.9\t7\t42\t1300000000\tR\t20.5\t4\t61\tS\t0\tI\t192.0.2.1,0.5,1\tq\t\
                    192.0.2.3,10,1;192.0.2.4,11.25,2";

#[test]
fn a_line_is_a_trace() {
    let (found, damage) = read(LINE);
    assert!(damage.is_empty(), "{damage:?}");
    let trace = &found[0];
    assert_eq!((trace.source.to_string().as_str(), trace.list_id, trace.cycle_id), ("198.51.100.1", 7, 42));
    assert_eq!((trace.start_us, trace.stop, trace.answered), (1_300_000_000_000_000, Stop::Completed, true));
    let destination = Hop { reply_ttl: 61, attempt: 0, ..hop(4, 9, 20_500) };
    let expected = [hop(1, 1, 500), hop(3, 3, 10_000), Hop { attempt: 2, ..hop(3, 4, 11_250) }, destination];
    assert_eq!(trace.hops, expected);
    assert_eq!(trace.hops[0].icmp(), None, "the text does not say it");
}

#[test]
fn comments_name_the_fields_and_options_add_some() {
    let text = "# ====\n# This file contains an ASCII representation of the IP paths stored in\n#  1. Key -- T\n#  2. \
                Destination -- Destination IP being traced.\n#  3. HaltReason -- why\n#  4. HaltReasonData -- more\n#  5. \
                PathComplete -- C\n#  6. PerHopData -- first hop.\nT\t192.0.2.9\tG\t5\tI\t192.0.2.1,0.5,1,Q|-,M|254|17|0|1,T|63\n";
    let (found, damage) = read(text);
    assert!(damage.is_empty(), "{damage:?}");
    let trace = &found[0];
    assert_eq!((trace.source, trace.stop, trace.stop_data), (Address::NONE, Stop::GapLimit, 5));
    assert_eq!(trace.hops, [Hop { reply_ttl: 63, ..hop(1, 1, 500) }]);
    let labels: Vec<_> = trace.path_labels().map(|(at, label)| (at, label.label, label.ttl, label.bottom)).collect();
    assert_eq!(labels, [(0, 17, 254, true)]);
    // Texts joined with `cat`: the second has other fields.
    let (both, damage) = read(&format!("{LINE}\n{text}"));
    assert_eq!((both.len(), damage.len()), (2, 0), "{damage:?}");
}

#[test]
fn damage_costs_its_line() {
    for (from, to) in [
        ("192.0.2.3,10,1", "192.0.2.300,10,1"),
        ("192.0.2.3,10,1", "192.0.2.3,ten,1"),
        ("192.0.2.3,10,1", "192.0.2.3,10,1,9"),
        ("1300000000", "13OO000000"),
        ("\tS\t0\tI\t192.0.2.1,0.5,1\tq\t192.0.2.3,10,1;192.0.2.4,11.25,2", ""),
        ("T\t", "U\t"),
    ] {
        let damaged = LINE.replacen(from, to, 1);
        assert_ne!(damaged, LINE);
        let (found, damage) = read(&format!("{LINE}\n{damaged}\n{LINE}\n"));
        assert_eq!((found.len(), damage.len()), (2, 1), "{damaged}: {damage:?}");
        assert_eq!((damage[0].offset, damage[0].skipped), (LINE.len() as u64 + 1, damaged.len() as u64 + 1));
    }
    let without = format!("{LINE}\n").replace("T\t198.51.100.1\t192.0.2.9", "I 198.51.100.1 192.0.2.9");
    assert_eq!(read(&without).0.len(), 0, "the option -o writes another format");
}

/// The text that scamper's own tool prints of generated traces is read as these traces, as far as the text says.
#[test]
fn scampers_text_is_read_as_the_traces_it_was_made_of() {
    let made = traces(200, Profile { mpls: 0.3, ..Profile::default() });
    let file = warts(&made, Addresses::Embedded);
    for options in ["-C", "-MQT", "-e", "-CeT", "-U", "-sl"] {
        let mut command = Command::new("sc_analysis_dump");
        let spawned = command.arg(options).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = spawned else {
            return skips::skip("scamper's tools are not installed (Debian: apt-get install scamper)");
        };
        let (mut stdin, bytes) = (child.stdin.take().unwrap(), file.clone());
        let writer = std::thread::spawn(move || stdin.write_all(&bytes));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let (found, damage) = read(&String::from_utf8(output.stdout).unwrap());
        assert_eq!((found.len(), damage.len()), (made.len(), 0), "{options}: {damage:?}");
        for (found, made) in found.iter().zip(&made) {
            let of = |trace: &Trace| -> Vec<_> { trace.hops.iter().map(|h| (h.ttl, h.address, h.rtt_us)).collect() };
            assert_eq!(of(found), of(made), "{options}");
            assert_eq!((found.destination, found.answered, found.stop), (made.destination, made.answered, made.stop));
            assert_eq!(found.start_us / 1_000_000, made.start_us / 1_000_000);
            if options.contains('M') {
                // The destination's answer is printed apart, without its labels.
                let last = if made.answered { made.hops.len() - 1 } else { made.hops.len() };
                let labels = |t: &Trace| t.path_labels().filter(|l| l.0 < last).collect::<Vec<_>>();
                assert_eq!(labels(found), labels(made), "{options}");
            }
        }
    }
}

proptest! {
    /// Whatever is damaged: no panic, and no more bytes are lost than there are.
    #[test]
    fn damaged_texts_end(changes in prop::collection::vec((0usize..2000, any::<u8>()), 1..40)) {
        let mut bytes = format!("# This file contains an ASCII representation of the IP paths\n{LINE}\n").repeat(8).into_bytes();
        let len = bytes.len();
        changes.iter().for_each(|&(at, byte)| bytes[at % len] = byte);
        let (_, damage) = read_all(&mut Reader::new(&bytes[..]));
        prop_assert!(damage.iter().map(|d| d.skipped).sum::<u64>() <= len as u64);
    }
}
