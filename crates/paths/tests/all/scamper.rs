//! Trace by trace the same as scamper's own reader says, where Debian's package `scamper` is installed.

use crate::common;
use crate::skips;

use common::{arts, read_all, traces, warts};
use haltere_paths::generate::Profile;
use haltere_paths::warts::{Addresses, Reader};
use haltere_paths::{Address, Hop, Method, Stop, Trace};
use serde_json::Value;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const NO_SCAMPER: &str = "scamper's tools are not installed (Debian: apt-get install scamper)";

/// The traces in warts, as `sc_warts2json` describes them; none where the program is missing.
fn scamper_says(bytes: &[u8]) -> Option<Vec<Value>> {
    scamper_says_of(&mut Command::new("sc_warts2json"), bytes.to_vec())
}

fn scamper_says_of(command: &mut Command, input: Vec<u8>) -> Option<Vec<Value>> {
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = spawned else {
        skips::skip(NO_SCAMPER);
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let objects = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    Some(objects.filter(|o| o["type"] == "trace").collect())
}

fn address(value: &Value) -> Address {
    value.as_str().map_or(Address::NONE, |text| text.parse().unwrap())
}

fn instant(value: &Value) -> u64 {
    value["sec"].as_u64().unwrap_or(0) * 1_000_000 + value["usec"].as_u64().unwrap_or(0)
}

#[track_caller]
fn number(value: &Value, ours: impl Into<u64>) {
    assert_eq!(value.as_u64().unwrap(), ours.into());
}

fn same_trace(said: &Value, ours: &Trace) {
    assert_eq!(address(&said["src"]), ours.source);
    assert_eq!(address(&said["dst"]), ours.destination);
    assert_eq!(Stop::named(said["stop_reason"].as_str().unwrap()).unwrap(), ours.stop);
    assert_eq!(Method::named(said["method"].as_str().unwrap()).unwrap(), ours.method);
    assert_eq!(instant(&said["start"]), ours.start_us);
    number(&said["userid"], ours.user_id);
    number(&said["stop_data"], ours.stop_data);
    // scamper derives the number of hops where the file does not tell it.
    number(&said["hop_count"], if ours.hop_count == 0 { u16::from(ours.length()) } else { ours.hop_count });
    number(&said["attempts"], ours.attempts);
    number(&said["hoplimit"], ours.hop_limit);
    number(&said["firsthop"], ours.first_ttl);
    number(&said["wait"], ours.wait_s);
    number(&said["wait_probe"], ours.wait_probe_cs);
    number(&said["tos"], ours.tos);
    number(&said["probe_size"], ours.probe_size);
    number(&said["probe_count"], ours.probes);
    if let Some(port) = said["dport"].as_u64().or(said["icmp_sum"].as_u64()) {
        assert_eq!(port, u64::from(ours.destination_port));
    }
    if !said["sport"].is_null() {
        number(&said["sport"], ours.source_port);
    }
    let hops = said["hops"].as_array().map_or(&[][..], Vec::as_slice);
    let mut order: Vec<usize> = (0..ours.hops.len()).collect();
    order.sort_by_key(|&at| ours.hops[at].ttl);
    assert_eq!(hops.len(), order.len());
    hops.iter().zip(order).for_each(|(said, at)| same_hop(said, ours, at));
}

fn same_hop(said: &Value, trace: &Trace, at: usize) {
    let ours: &Hop = &trace.hops[at];
    assert_eq!(address(&said["addr"]), ours.address);
    let rtt_us = (said["rtt"].as_f64().unwrap() * 1000.0).round() as u32;
    let believed = if rtt_us > Hop::LONGEST_RTT { 0 } else { rtt_us };
    assert_eq!(believed, if ours.rtt_us == Hop::NO_RTT { 0 } else { ours.rtt_us });
    assert_eq!(instant(&said["tx"]), ours.sent_us);
    number(&said["probe_ttl"], ours.ttl);
    number(&said["probe_id"], ours.attempt);
    number(&said["probe_size"], ours.probe_size);
    number(&said["reply_ttl"], ours.reply_ttl);
    number(&said["reply_tos"], ours.reply_tos);
    number(&said["reply_size"], ours.reply_size);
    number(&said["reply_ipid"], ours.reply_id);
    if ours.is_icmp() {
        number(&said["icmp_type"], ours.icmp_type);
        number(&said["icmp_code"], ours.icmp_code);
    } else {
        number(&said["tcp_flags"], ours.tcp_flags);
    }
    if !said["icmp_q_ttl"].is_null() {
        number(&said["icmp_q_ttl"], ours.quoted_ttl);
        number(&said["icmp_q_ipl"], ours.quoted_size);
    }
    if !said["icmp_q_tos"].is_null() {
        number(&said["icmp_q_tos"], ours.quoted_tos);
    }
    let extensions: Vec<_> = trace.extensions.iter().filter(|e| e.hop as usize == at).collect();
    let said = said["icmpext"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(said.len(), extensions.len());
    for (said, ours) in said.iter().zip(extensions) {
        number(&said["ie_cn"], ours.class);
        number(&said["ie_ct"], ours.kind);
        number(&said["ie_dl"], trace.data(ours).len() as u64);
        let stack = said["mpls_labels"].as_array().map_or(&[][..], Vec::as_slice);
        let labels: Vec<_> = trace.labels(ours).collect();
        assert_eq!(stack.len(), labels.len());
        for (said, ours) in stack.iter().zip(labels) {
            number(&said["mpls_label"], ours.label);
            number(&said["mpls_exp"], ours.class);
            number(&said["mpls_s"], u8::from(ours.bottom));
            number(&said["mpls_ttl"], ours.ttl);
        }
    }
}

fn same(bytes: &[u8]) {
    let Some(said) = scamper_says(bytes) else { return };
    let (ours, damage) = read_all(&mut Reader::new(bytes));
    assert_eq!(damage, []);
    assert_eq!(said.len(), ours.len());
    said.iter().zip(&ours).for_each(|(said, ours)| same_trace(said, ours));
}

/// With addresses in the records: the reader of 20211212 refuses any record of type 5, although the format has them.
#[test]
fn generated_traces_are_read_as_scamper_reads_them() {
    for profile in [Profile::default(), Profile { v6: true, mpls: 0.3, ..Profile::default() }] {
        let made = traces(1000, profile);
        same(&warts(&made, Addresses::Embedded));
    }
}

#[test]
fn all_fields_are_read_as_scamper_reads_them() {
    let mut made = traces(40, Profile { silent: 0.0, ..Profile::default() });
    for (n, trace) in made.iter_mut().enumerate() {
        let n8 = n as u8;
        trace.method = Method::from_number(1 + n8 % 6);
        trace.stop = Stop::from_number(n8 % 10);
        (trace.stop_data, trace.tos, trace.wait_probe_cs, trace.user_id) = (n8, 2 * n8, n8, 7 * n as u32);
        trace.hop_limit = 40 + n8;
        if n % 3 == 0 {
            trace.router = Address::v4([192, 0, 2, n8]);
        }
        let hop = &mut trace.hops[0];
        (hop.quoted_ttl, hop.quoted_tos, hop.quoted_size, hop.reply_tos) = (2 + n8, n8, 40, n8);
        (hop.flags, hop.tcp_flags) = if n % 4 == 0 { (Hop::TCP, 0x12) } else { (0x10, 0) };
        if hop.flags == Hop::TCP {
            (hop.icmp_type, hop.icmp_code) = (0, 0);
        }
        let again = Hop { attempt: 2, address: Address::v4([198, 51, 100, n8]), ..trace.hops[0] };
        trace.hops.insert(1, again);
    }
    same(&warts(&made, Addresses::Embedded));
}

#[test]
fn real_files_are_read_as_scamper_reads_them() {
    let Some(folder) = std::env::var_os("HALTERE_PATHS_SAMPLES") else {
        return skips::skip("HALTERE_PATHS_SAMPLES names no folder of warts files");
    };
    for entry in std::fs::read_dir(Path::new(&folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "warts") {
            same(&std::fs::read(path).unwrap());
        }
    }
}

/// The fixture holds traces that scamper itself wrote: `tests/data/paths`, whose README says how.
#[test]
fn the_fixture_is_read_as_scamper_reads_it() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/paths");
    let mut files = 0;
    for period in ["2006", "2011"] {
        for entry in std::fs::read_dir(fixture.join(period)).unwrap() {
            let packed = std::fs::File::open(entry.unwrap().path()).unwrap();
            let mut bytes = Vec::new();
            flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
            same(&bytes);
            files += 1;
        }
    }
    assert_eq!(files, 17);
}

/// scamper reads ARTS too, and has a tool that writes skitter's text; the one of 20211212 falls over loops.
#[test]
fn arts_is_read_as_scamper_reads_it() {
    let made = traces(500, Profile { looped: 0.0, ..Profile::default() });
    for version in 1..=3 {
        let bytes = arts(&made, version);
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("version-{version}.arts"));
        std::fs::write(&file, &bytes).unwrap();
        let Ok(output) = Command::new("sc_analysis_dump").arg(&file).output() else {
            return skips::skip(NO_SCAMPER);
        };
        let text = String::from_utf8(output.stdout).unwrap();
        let said: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let (ours, damage) = read_all(&mut haltere_paths::arts::Reader::new(&bytes[..]));
        assert_eq!((said.len(), damage.len()), (ours.len(), 0));
        for (said, ours) in said.iter().zip(&ours) {
            let fields: Vec<&str> = said.split('\t').collect();
            let (head, hops) = skitter_text(ours);
            assert_eq!(fields[1..9].join(" "), head);
            assert_eq!(fields[13..].join(" "), hops);
        }
    }
}

/// A trace as `sc_analysis_dump` writes it: source to hop distance, and the hops before the destination.
fn skitter_text(trace: &Trace) -> (String, String) {
    let ms = |us: u32| format!("{}.{:03}", us / 1000, us % 1000);
    let (reply, hops) = match trace.hops.split_last() {
        Some((last, hops)) if trace.answered => (Some(last), hops),
        _ => (None, &trace.hops[..]),
    };
    let (word, rtt, distance) = reply.map_or(("N", "0".into(), 0), |h| ("R", ms(h.rtt_us), h.ttl));
    let (source, destination) = (trace.source, trace.destination);
    let (list, cycle, start_s) = (trace.list_id, trace.cycle_id, trace.start_us / 1_000_000);
    let head = format!("{source} {destination} {list} {cycle} {start_s} {word} {rtt} {distance}");
    let end = reply.map_or_else(|| hops.last().map_or(0, |h| h.ttl), |h| h.ttl - 1);
    let at = |ttl| hops.iter().find(|h| h.ttl == ttl);
    let shown =
        (1..=end).map(|ttl| at(ttl).map_or("q".into(), |h| format!("{},{},{}", h.address, ms(h.rtt_us), h.attempt)));
    // The tool leaves out silence right before the destination.
    (head, shown.collect::<Vec<String>>().join(" ").trim_end_matches(" q").to_owned())
}

/// The output of `sc_warts2json` is read as the warts that it was made of are.
#[test]
fn scampers_json_and_text_say_what_its_warts_say() {
    let made = traces(300, Profile { mpls: 0.2, ..Profile::default() });
    let bytes = warts(&made, Addresses::Embedded);
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("said.warts");
    std::fs::write(&file, &bytes).unwrap();
    let said = |tool: &str| Command::new(tool).arg(&file).output().ok().map(|output| output.stdout);
    let (Some(json), Some(text)) = (said("sc_warts2json"), said("sc_warts2text")) else {
        return skips::skip(NO_SCAMPER);
    };
    let (found, damage) = read_all(&mut haltere_paths::json::Reader::new(&json[..]));
    assert_eq!((found.len(), damage), (made.len(), vec![]));
    for (found, made) in found.iter().zip(&made) {
        // JSON tells no flags of how times were taken, and neither lists nor gap limits.
        let mut told = Trace { list_id: 0, cycle_id: 0, monitor: None, source_port: 0, flags: 0, ..made.clone() };
        (told.gap_limit, told.gap_action) = (0, 0);
        told.hops.iter_mut().for_each(|h| h.flags = 0);
        assert_eq!(found, &told);
    }
    let (found, damage) = read_all(&mut haltere_paths::text::Reader::new(&text[..]));
    assert_eq!((found.len(), damage), (made.len(), vec![]));
    for (found, made) in found.iter().zip(&made) {
        let seen = |t: &Trace| t.hops.iter().map(|h| (h.ttl, h.address, h.rtt_us)).collect::<Vec<_>>();
        assert_eq!((found.source, found.destination, seen(found)), (made.source, made.destination, seen(made)));
    }
}
