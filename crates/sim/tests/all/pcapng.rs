//! Captures of links: the file contains what the link delivered, and tshark reads it without warnings.

use crate::common;
use crate::skips;

use common::inside::{Traced, link, look};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use haltere_sim::{Fidelity, Files, Pcap, trace_at};
use pcap_file::pcapng::{Block, PcapNgReader};
use serde_json::{Value, json};
use std::process::Command;

struct Packet {
    interface: usize,
    at_ns: u64,
    bytes: Vec<u8>,
}

fn packets(run: &Traced, name: &str) -> Vec<Packet> {
    let bytes = run.file(name);
    let mut reader = PcapNgReader::new(bytes.as_slice()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            assert_eq!(packet.original_len as usize, packet.data.len());
            packets.push(Packet {
                interface: packet.interface_id as usize,
                at_ns: packet.timestamp.as_nanos() as u64,
                bytes: packet.data.to_vec(),
            });
        }
    }
    assert!(packets.windows(2).all(|w| w[0].at_ns <= w[1].at_ns), "{name}: out of order");
    packets
}

fn dumbbell() -> Value {
    let flow = |(pair, contender): (usize, &str)| json!({ "contender": contender, "pair": pair, "size": "500kB" });
    let contenders = ["tcp/cubic", "quic/cubic", "tcp/bbr+notimestamps"];
    json!({
        "topology": { "kind": "dumbbell", "pairs": 3,
            "bottleneck": { "rate": "10Mbit/s", "delay": "10ms", "queue": "50p", "loss": "1%", "duplication": "1%" } },
        "flows": contenders.into_iter().enumerate().map(flow).collect::<Vec<_>>(),
    })
}

#[test]
fn each_link_has_a_file_with_what_it_delivered() {
    let run = look(&dumbbell(), &[]);
    assert_eq!(run.traced.result.links.len(), 14);
    for pair in run.traced.result.links.chunks(2) {
        let name = format!("{}.pcapng", pair[0].link.replace(' ', "-"));
        let packets = packets(&run, &name);
        for (interface, link) in pair.iter().enumerate() {
            let own = packets.iter().filter(|p| p.interface == interface);
            assert_eq!(own.clone().count() as u64, link.delivered_packets, "{name} {}", link.direction);
            assert_eq!(
                own.map(|p| p.bytes.len() as u64).sum::<u64>(),
                link.delivered_bytes,
                "{name} {}",
                link.direction
            );
        }
    }
}

#[test]
fn headers_are_whole_and_their_checksums_right() {
    let run = look(&dumbbell(), &["bottleneck"]);
    let (mut tcp, mut udp) = (0, 0);
    for packet in packets(&run, "bottleneck.pcapng") {
        let sliced = SlicedPacket::from_ip(&packet.bytes).unwrap();
        let Some(NetSlice::Ipv4(ip)) = &sliced.net else { panic!("not IPv4") };
        let header = ip.header();
        assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
        assert_eq!(usize::from(header.total_len()), packet.bytes.len());
        // The packet has passed one router.
        assert_eq!(header.ttl(), 63);
        match &sliced.transport {
            Some(TransportSlice::Tcp(t)) => {
                let right = t.calc_checksum_ipv4(header.source(), header.destination()).unwrap();
                assert_eq!(t.checksum(), right);
                assert!(t.options_iterator().all(|o| o.is_ok()));
                tcp += 1;
            }
            Some(TransportSlice::Udp(u)) => {
                let right = u.to_header().calc_checksum_ipv4_raw(header.source(), header.destination(), u.payload());
                assert_eq!(u.checksum(), right.unwrap());
                udp += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(tcp > 500 && udp > 250, "{tcp} {udp}");
}

#[test]
fn windows_sequence_numbers_and_options_mean_what_the_model_means() {
    let run = look(&link(&["tcp/cubic"], "0%", "raw"), &[]);
    let packets = packets(&run, "link.pcapng");
    let segment = |i: usize| match SlicedPacket::from_ip(&packets[i].bytes).unwrap().transport {
        Some(TransportSlice::Tcp(t)) => (t.to_header(), t.payload().len()),
        other => panic!("{other:?}"),
    };
    // SYN up, SYN-ACK down, ACK up, a request of one byte up, the object down.
    let interfaces: Vec<usize> = packets[..4].iter().map(|p| p.interface).collect();
    assert_eq!(interfaces, [1, 0, 1, 1]);
    let ((syn, _), (synack, _), (ack, _)) = (segment(0), segment(1), segment(2));
    assert!(syn.syn && !syn.ack && synack.syn && synack.ack && !ack.syn && ack.ack);
    assert_eq!((syn.sequence_number, synack.acknowledgment_number, ack.sequence_number), (0, 1, 1));
    let offers: Vec<String> = syn.options_iterator().map(|o| format!("{:?}", o.unwrap())).collect();
    assert!(offers.contains(&"MaximumSegmentSize(1460)".to_string()), "{offers:?}");
    assert!(offers.iter().any(|o| o == "SelectiveAcknowledgementPermitted"), "{offers:?}");
    // The buffer is 16 MiB, half of which is advertised at first. The largest buffer is 128 MiB, which Linux could offer
    // with a scale of 12.
    assert!(offers.contains(&"WindowScale(12)".to_string()), "{offers:?}");
    let window = u64::from(ack.window_size) << 12;
    assert!(window.abs_diff(8 << 20) <= 1 << 12, "{window}");
    // The object arrives, and nothing is acknowledged that has not arrived.
    let (mut data, mut end, mut acked) = (0, 0, 0);
    for (i, packet) in packets.iter().enumerate() {
        let (header, len) = segment(i);
        if packet.interface == 0 {
            data += len;
            end = end.max(header.sequence_number + len as u32 + u32::from(header.fin || header.syn));
        } else {
            assert!(header.acknowledgment_number <= end, "{} {end}", header.acknowledgment_number);
            acked = header.acknowledgment_number;
        }
    }
    assert_eq!(data, 1_000_000);
    assert!(acked > 900_000, "{acked}");
}

#[test]
fn a_link_that_is_not_there_is_answered_with_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let of = |folder: &std::path::Path, name: &str| {
        let pcap = Pcap { folder: folder.to_path_buf(), links: vec![name.to_string()] };
        let files = Files { qlog: None, pcap: Some(pcap), ..Files::default() };
        trace_at(Fidelity::Model, &common::scenario(&dumbbell()), 1, 0, &files).map(drop).unwrap_err()
    };
    let error = of(folder.path(), "bottelneck");
    assert_eq!(error.path, "pcap");
    assert!(error.message.contains("\"bottelneck\"") && error.message.contains("\"bottleneck\""), "{error}");
    std::fs::write(folder.path().join("file"), "").unwrap();
    let error = of(&folder.path().join("file"), "bottleneck");
    assert!(error.path == "pcap" && error.message.contains("cannot be written"), "{error}");
}

/// Wireshark's severities of expert information (epan/proto.h: `PI_WARN`, `PI_ERROR`).
const WARNING: u64 = 0x0060_0000;
const ERROR: u64 = 0x0080_0000;

/// A packet as tshark decodes it, with the worst severity of its expert information.
#[derive(Debug)]
struct Seen {
    interface: usize,
    len: u64,
    severity: u64,
    #[allow(dead_code, reason = "shown where a test fails")]
    said: String,
}

/// The packets as tshark decodes them, with all checksums verified.
fn tshark(run: &Traced, name: &str) -> Option<Vec<Seen>> {
    let mut command = Command::new("tshark");
    command.args(["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    command
        .args(["-T", "fields", "-E", "separator=/t", "-E", "aggregator= ", "-n", "-r"])
        .arg(run.folder.path().join(name));
    for field in ["frame.interface_id", "frame.len", "_ws.expert.severity", "_ws.malformed", "_ws.expert.message"] {
        command.args(["-e", field]);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            skips::skip(&format!("tshark cannot be run ({error}); Debian has it in the package tshark"));
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields[3], "", "malformed: {line}");
        let severity = fields[2].split(' ').filter_map(|s| s.parse().ok()).max().unwrap_or(0);
        let said = fields[4].to_string();
        Seen { interface: fields[0].parse().unwrap(), len: fields[1].parse().unwrap(), severity, said }
    };
    Some(text.lines().map(line).collect())
}

#[test]
fn tshark_reads_captures_without_a_complaint_and_sees_the_same_lengths() {
    let lossless = look(&link(&["tcp/cubic", "quic/cubic", "tcp/newreno+notimestamps"], "0%", "https"), &[]);
    let lossy = look(&dumbbell(), &[]);
    for (run, name, bound) in [(&lossless, "link", WARNING), (&lossy, "bottleneck", ERROR)] {
        let Some(seen) = tshark(run, &format!("{name}.pcapng")) else { return };
        for (direction, link) in run.traced.result.links.iter().filter(|l| l.link == name).enumerate() {
            let own = seen.iter().filter(|seen| seen.interface == direction);
            assert_eq!(own.clone().count() as u64, link.delivered_packets);
            assert_eq!(own.map(|seen| seen.len).sum::<u64>(), link.delivered_bytes);
        }
        // Where packets are lost, TCP's analysis rightly warns of segments it has not seen.
        let bad: Vec<&Seen> = seen.iter().filter(|seen| seen.severity >= bound).collect();
        assert!(bad.is_empty(), "{name}: {} of {}: {:?}", bad.len(), seen.len(), bad.first());
    }
}

/// Data that was sent on a path that died is sent again on the other: its mappings name the same place in the connection's data.
#[test]
fn data_that_another_subflow_carries_again_keeps_its_mapping() {
    let given = json!({
        "topology": { "kind": "multipath", "paths": [
            { "rate": "20Mbit/s", "delay": "5ms", "queue": "50p", "outage": [{ "from": "300ms", "to": "3s" }] },
            { "rate": "10Mbit/s", "delay": "25ms", "queue": "50p" },
        ] },
        "flows": [{ "contender": "mptcp/cubic", "app": "raw", "size": "2MB" }],
    });
    let run = look(&given, &[]);
    let flow = &run.traced.result.flows[0];
    assert!(flow.completion_s.is_some() && flow.reinjected_bytes.unwrap() > 0, "{flow:?}");
    // Each mapping's first place in the data, less that of the connection, and its length.
    let mappings = |name: &str| {
        let mut command = Command::new("tshark");
        command.args([
            "-n",
            "-T",
            "fields",
            "-E",
            "separator=/t",
            "-Y",
            "tcp.len > 0 && frame.interface_id == 0",
            "-r",
        ]);
        command.arg(run.folder.path().join(name));
        let fields = ["tcp.len", "tcp.seq", "rawdataseqno", "subflowseqno", "datalvllen"];
        for (n, field) in fields.iter().enumerate() {
            let whole = if n < 2 { (*field).to_string() } else { format!("tcp.options.mptcp.{field}") };
            command.args(["-e", &whole]);
        }
        let output = command.output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let line = |line: &str| {
            let [len, seq, data, subflow, mapped] = line
                .split('\t')
                .map(|field| field.parse::<u64>().unwrap_or_else(|_| panic!("{name}: {line}")))
                .collect::<Vec<_>>()[..]
            else {
                panic!("{name}: {line}")
            };
            assert_eq!(seq, subflow, "a mapping begins with its segment: {line}");
            // The end of the data takes a position of its own.
            assert!(mapped == len || mapped == len + 1, "{line}");
            (data, data + len)
        };
        Some(String::from_utf8(output.stdout).unwrap().lines().map(line).collect::<Vec<_>>())
    };
    let (Some(first), Some(second)) = (mappings("path-0.pcapng"), mappings("path-1.pcapng")) else {
        skips::skip("tshark cannot be run; Debian has it in the package tshark");
        return;
    };
    let begin = first.iter().chain(&second).map(|m| m.0).min().unwrap();
    let mut arrived = vec![0u8; 2_000_000];
    for (path, mappings) in [(1, &first), (2, &second)] {
        for (start, end) in mappings {
            arrived[(start - begin) as usize..(end - begin) as usize].iter_mut().for_each(|by| *by |= path);
        }
    }
    let of = |paths: u8| arrived.iter().filter(|by| **by == paths).count() as u64;
    assert_eq!(of(0), 0, "every byte has arrived");
    // What arrived on both paths was given to a second subflow; what was lost on the first did not arrive there.
    assert!(of(3) <= flow.reinjected_bytes.unwrap(), "{} of {:?}", of(3), flow.reinjected_bytes);
    assert!(of(1) > 100_000 && of(2) > 100_000);
}

#[cfg(feature = "stacks")]
#[test]
fn datagrams_of_a_production_stack_stand_there_byte_for_byte_and_can_be_decrypted() {
    let given = link(&["quic@quinn/cubic"], "0%", "https");
    let run = common::inside::look_at(haltere_sim::Fidelity::Stack, &given, &[]);
    let down = &run.traced.result.links[0];
    let Some(seen) = tshark(&run, "link.pcapng") else { return };
    assert_eq!(seen.iter().filter(|s| s.interface == 0).map(|s| s.len).sum::<u64>(), down.delivered_bytes);
    let bad = seen.iter().find(|s| s.severity >= ERROR);
    assert!(bad.is_none(), "{bad:?}");
    // Frames can be seen in packets whose keys are in the file: the object of 1 MB in STREAM frames.
    let mut command = Command::new("tshark");
    command.args([
        "-n",
        "-T",
        "fields",
        "-e",
        "quic.stream.length",
        "-Y",
        "quic.stream_data && frame.interface_id == 0",
        "-r",
    ]);
    let output = command.arg(run.folder.path().join("link.pcapng")).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().lines().count() > 600);
    // The stack's own log is passed on.
    let log = String::from_utf8(run.file("flow-0-server-stack.sqlog")).unwrap();
    assert!(log.contains("packet_sent") && log.ends_with(['\n', '}']), "{}", log.len());
}
