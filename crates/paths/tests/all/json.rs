//! RIPE Atlas, scamper and mtr, as JSON.

use crate::common;

use common::{read_all, traces};
use haltere_paths::generate::Profile;
use haltere_paths::input::open_stream;
use haltere_paths::json::{Reader, atlas};
use haltere_paths::{Address, Class, Damage, Hop, Method, Stop, Trace, classify};
use proptest::prelude::*;
use std::io::Cursor;

fn read(text: &str) -> (Vec<Trace>, Vec<Damage>) {
    read_all(&mut Reader::new(text.as_bytes()))
}

fn one(text: &str) -> Trace {
    let (mut found, damage) = read(text);
    assert_eq!((found.len(), damage), (1, vec![]), "{text}");
    found.remove(0)
}

fn v4(last: u8) -> Address {
    Address::v4([192, 0, 2, last])
}

const RESULT: &str = r#"{"fw":4790,"af":4,"dst_addr":"192.0.2.9","dst_name":"example.org","src_addr":"10.0.0.7",
"from":"198.51.100.1","endtime":1300000009,"timestamp":1300000000,"msm_id":5001,"msm_name":"Traceroute","prb_id":77,
"paris_id":3,"proto":"UDP","size":40,"type":"traceroute","lts":3,"result":[
{"hop":1,"result":[{"from":"192.0.2.1","rtt":0.513,"size":68,"ttl":64},{"from":"192.0.2.1","rtt":0.4,"size":68,"ttl":64},
{"x":"*"}]},
{"hop":2,"result":[{"x":"*"},{"x":"*"},{"x":"*"}]},
{"hop":3,"result":[{"from":"192.0.2.3","rtt":10,"size":96,"ttl":253,"icmpext":{"version":2,"rfc4884":1,"obj":[
{"class":1,"type":1,"mpls":[{"exp":0,"label":24012,"s":1,"ttl":1}]}]}},{"late":2,"size":96,"ttl":253,"from":"192.0.2.4"},
{"from":"192.0.2.4","rtt":11.25,"itos":8,"ittl":2,"size":96,"ttl":253}]},
{"hop":4,"result":[{"from":"192.0.2.9","rtt":20.001,"size":28,"ttl":60}]}]}"#;

#[test]
fn a_result_of_ripe_atlas_is_read() {
    let trace = one(RESULT);
    assert_eq!(trace.source.to_string(), "10.0.0.7");
    assert_eq!((trace.destination, trace.start_us), (v4(9), 1_300_000_000_000_000));
    assert_eq!((trace.list_id, trace.probe_id, trace.source_port), (5001, 77, 3));
    assert_eq!((trace.method, trace.stop, trace.answered), (Method::UdpParis, Stop::Completed, true));
    let hops: Vec<_> = trace.hops.iter().map(|h| (h.ttl, h.attempt, h.address, h.rtt_us)).collect();
    let expected =
        [(1, 1, v4(1), 513), (1, 2, v4(1), 400), (3, 1, v4(3), 10_000), (3, 3, v4(4), 11_250), (4, 1, v4(9), 20_001)];
    assert_eq!(hops, expected, "silence and late answers are none");
    assert_eq!((trace.hops[3].quoted_ttl, trace.hops[3].quoted_tos), (2, 8));
    let labels: Vec<_> = trace.labels(&trace.extensions[0]).map(|l| (l.label, l.bottom, l.ttl)).collect();
    assert_eq!((labels, trace.extensions[0].hop), (vec![(24_012, true, 1)], 2));
    let marks = classify(&trace);
    assert!(marks.gap && marks.multi && marks.clean());
}

#[test]
fn lines_arrays_and_pretty_objects_are_the_same() {
    let line = RESULT.replace('\n', "");
    let lines = format!("{line}\n{line}\n");
    let array = format!("[{line},{line}]");
    let spread = format!("[\n  {RESULT},\n  {RESULT}\n]\n");
    let expected = read(&lines);
    assert_eq!((expected.0.len(), expected.1.len()), (2, 0));
    for text in [array, spread, format!("[{line},\n{line}]"), format!("\u{feff}{lines}")] {
        assert_eq!(read(&text), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_reached_is_told_by_letters_or_numbers() {
    let with = |err: &str| {
        one(&format!(
            r#"{{"type":"traceroute","prb_id":1,"dst_addr":"192.0.2.9","proto":"ICMP","result":[
            {{"hop":1,"result":[{{"from":"192.0.2.1","rtt":1.0,"err":{err}}}]}}]}}"#
        ))
    };
    for (err, code) in [("\"N\"", 0), ("\"H\"", 1), ("\"P\"", 2), ("\"p\"", 3), ("\"A\"", 13), ("10", 10)] {
        let trace = with(err);
        assert_eq!((trace.hops[0].icmp_type, trace.hops[0].icmp_code, trace.stop), (3, code, Stop::Unreach), "{err}");
    }
}

#[test]
fn firmware_differs_in_what_it_tells() {
    // No source address, a name that was not found.
    let failed = one(
        r#"{"from":"198.51.100.1","fw":4460,"msm_id":1,"prb_id":2,"timestamp":5,"type":"traceroute","dst_name":"nowhere",
        "result":[{"error":"name resolution failed: non-recoverable failure"}]}"#,
    );
    assert_eq!((failed.source.to_string().as_str(), failed.destination), ("198.51.100.1", Address::NONE));
    assert_eq!((failed.stop, classify(&failed).class(), failed.hops.len()), (Stop::Error, Class::Incomplete, 0));
    // A last probe with TTL 255 after too many silent hops.
    let silent = one(
        r#"{"prb_id":2,"dst_addr":"192.0.2.9","type":"traceroute","result":[{"hop":1,"result":[{"from":"192.0.2.1",
        "rtt":1}]},{"hop":255,"result":[{"x":"*"}]}]}"#,
    );
    assert_eq!((silent.stop, silent.length(), silent.hop_count), (Stop::GapLimit, 1, 255));
    // The newest say whether the destination answered; TCP tells flags.
    let tcp =
        one(r#"{"prb_id":2,"dst_addr":"192.0.2.9","proto":"TCP","destination_ip_responded":true,"type":"traceroute",
        "result":[{"hop":1,"result":[{"from":"192.0.2.9","rtt":1,"flags":"SA"}]}]}"#);
    assert_eq!((tcp.answered, tcp.hops[0].tcp_flags, tcp.hops[0].flags), (true, 0x12, Hop::TCP));
    // IPv6.
    let v6 =
        one(r#"{"prb_id":2,"dst_addr":"2001:db8::9","proto":"ICMP","type":"traceroute","result":[{"hop":1,"result":[
        {"from":"2001:db8::1","rtt":1.5}]},{"hop":2,"result":[{"from":"2001:db8::9","rtt":2}]}]}"#);
    let types: Vec<u8> = v6.hops.iter().map(|h| h.icmp_type).collect();
    assert_eq!((types, v6.answered), (vec![3, 129], true));
}

#[test]
fn other_measurements_are_skipped_and_counted() {
    let line = RESULT.replace('\n', "");
    let text = format!(
        "{{\"type\":\"ping\",\"prb_id\":1,\"result\":[{{\"rtt\":1}}]}}\n{line}\n{{\"type\":\"dns\",\"result\":{{\"ID\":3}}}}\n"
    );
    let mut reader = Reader::new(text.as_bytes());
    let (found, damage) = read_all(&mut reader);
    assert_eq!((found.len(), damage.len()), (1, 0), "{damage:?}");
    let counted: Vec<_> = haltere_paths::ReadTraces::records(&mut reader).iter().map(|(&k, &n)| (k, n)).collect();
    assert_eq!(counted, [("dns", 1), ("ping", 1), ("traceroute", 1)]);
}

#[test]
fn a_damaged_object_costs_that_object() {
    let made = traces(5, Profile::default());
    let lines: Vec<String> = made.iter().map(atlas).collect();
    let whole = read(&lines.join("\n")).0;
    assert_eq!(whole.len(), 5);
    for separator in ["\n", ",\n", ",", ", "] {
        let mut broken = lines.clone();
        broken[2] = broken[2].replacen("\"rtt\":", "\"rtt\"=", 1);
        let text = format!("[{}]", broken.join(separator));
        let (found, damage) = read(&text);
        assert_eq!((found.len(), damage.len()), (4, 1), "{separator:?}: {damage:?}");
        assert_eq!([&found[..2], &found[2..]], [&whole[..2], &whole[3..]]);
        assert_eq!(damage[0].offset as usize, text.find(&broken[2]).unwrap());
    }
    let cut = &lines.join("\n")[..lines[0].len() + 100];
    let (found, damage) = read(cut);
    assert_eq!((found.len(), damage.len()), (1, 1));
    assert_eq!(damage[0].what, "the file ends in an object");
}

#[test]
fn generated_results_keep_what_results_tell() {
    let made = traces(100, Profile { silent: 0.2, ..Profile::default() });
    let lines: Vec<String> = made.iter().map(atlas).collect();
    let (found, damage) = read(&lines.join("\n"));
    assert_eq!((found.len(), damage.len()), (100, 0));
    for (found, made) in found.iter().zip(&made) {
        assert_eq!((found.destination, found.answered), (made.destination, made.answered));
        assert_eq!(found.length(), made.length());
        let first = |t: &Trace| t.hops.iter().map(|h| (h.ttl, h.address, h.rtt_us, h.reply_ttl)).collect::<Vec<_>>();
        let mut found = found.clone();
        found.hops.retain(|h| h.attempt == 1);
        assert_eq!(first(&found), first(made));
    }
}

#[test]
fn mtr_reports_are_read() {
    let trace = one(
        r#"{"report":{"mtr":{"src":"me","dst":"example.org","tos":"0x0","psize":"64","bitpattern":"0x00","tests":"10"},
        "hubs":[{"count":"1","host":"192.0.2.1","Loss%":0.00,"Snt":10,"Last":0.5,"Avg":0.6,"Best":0.4,"Wrst":1.0,"StDev":0.1},
        {"count":2,"host":"???","Loss%":100.0,"Snt":10,"Last":0.0,"Avg":0.0,"Best":0.0,"Wrst":0.0,"StDev":0.0},
        {"count":3,"host":"example.org (192.0.2.9)","Loss%":0,"Snt":10,"Last":9.1,"Avg":9.2,"Best":9.0,"Wrst":9.9,"StDev":0.2}]}}"#,
    );
    let hops: Vec<_> = trace.hops.iter().map(|h| (h.ttl, h.address, h.rtt_us)).collect();
    assert_eq!(hops, [(1, v4(1), 400), (3, v4(9), 9000)]);
    assert_eq!((trace.destination, trace.answered), (v4(9), true));
}

#[test]
fn json_is_known_by_how_it_begins() {
    for text in [RESULT.to_owned(), format!("  [{RESULT}]"), format!("\u{feff}{RESULT}\n")] {
        let mut opened = open_stream(Cursor::new(text), 1).unwrap();
        assert_eq!(opened.format.name(), "json");
        assert_eq!(read_all(opened.reader.as_mut()).0.len(), 1);
    }
}

/// Without a limit to what is tried again, these would take hours.
#[test]
fn objects_that_never_end_are_given_up() {
    for part in ["{\"a\":[1, ", ",{\"type\":[", "\n{\"type\":\"traceroute\",\"result\":[{\"hop\":1,\"result\":["] {
        let text = part.repeat(3_000_000 / part.len());
        let (found, damage) = read(&text);
        assert!(found.is_empty() && damage.iter().map(|d| d.skipped).sum::<u64>() <= text.len() as u64, "{part}");
    }
    let line = RESULT.replace('\n', "");
    let (found, damage) = read(&format!("{{\"a\":[{}\n{line}\n", "{ ".repeat(100_000)));
    assert_eq!((found.len(), damage.len()), (1, 1), "what follows is found again");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_bytes_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), Just(b'{'), Just(b'"')]), 0..30),
        cut in any::<prop::sample::Index>(),
    ) {
        let lines: Vec<String> = traces(3, Profile::default()).iter().map(atlas).collect();
        let mut bytes = format!("[{}]", lines.join(",\n")).into_bytes();
        for (place, value) in changes {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()));
        let (found, damage) = read_all(&mut Reader::new(&bytes[..]));
        prop_assert!(found.len() <= 3);
        prop_assert!(damage.iter().map(|d| d.skipped).sum::<u64>() <= bytes.len() as u64);
    }
}
