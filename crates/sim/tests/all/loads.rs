//! Loads: trains, constant and on-off datagrams, captures that are replayed, copies of flows and both directions.

use haltere_sim::capture::Capture;
use haltere_sim::network::describe;
use haltere_sim::{Fidelity, Files, Pcap, RunResult, Scenario, check_at, run, trace_at};

fn result(json: &str) -> RunResult {
    let result = run(&Scenario::from_json(json).expect(json), 1, 0).expect(json);
    assert_eq!(result.status, "ok", "{:?}", result.error);
    result
}

/// A scenario without flows on a link with these fields, for ten seconds.
fn alone(link: &str, load: &str) -> String {
    format!(
        r#"{{"topology": {{"kind": "point-to-point", "link": {{{link}}}}}, "duration": "10s", "loads": [{{{load}}}]}}"#
    )
}

const LINK: &str = r#""rate": "10Mbit/s", "delay": "5ms""#;

#[test]
fn a_constant_load_keeps_its_rate() {
    let found = result(&alone(LINK, r#""kind": "constant", "size": "972B", "rate": "1Mbit/s""#));
    let load = &found.loads[0];
    // A packet of 1000 bytes every 8 ms: at 0 s, at 8 ms, …, at 10 s.
    assert_eq!((load.sent_packets, load.sent_bytes), (1251, 1_251_000));
    // The last has not arrived yet.
    assert_eq!((load.received_packets, load.received_bytes), (1250, 1_250_000));
    assert_eq!(found.links[0].max_queue_packets, 0, "the link is faster than the load");
    let other = result(&alone(LINK, r#""kind": "constant", "size": "972B", "rate": "1Mbit/s", "from": "client""#));
    assert_eq!(other.links[1].offered_packets, 1251);
}

#[test]
fn a_rate_that_divides_nothing_is_exact_in_the_long_run() {
    let load = r#""kind": "constant", "size": "973B", "rate": "7Mbit/s""#;
    let sent = result(&alone(r#""delay": "0ms""#, load)).loads[0].sent_packets;
    // Packets 0 to n leave within 10 s if n * 8008 bits take at most that.
    assert_eq!(sent, 1 + 70_000_000 / 8008);
}

#[test]
fn an_overload_fills_the_queue_and_a_probe_waits_behind_it() {
    let json = alone(
        r#""rate": "10Mbit/s", "queue": "100p", "down": {"delay": "10ms"}, "up": {"delay": "0ms"}"#,
        r#""kind": "constant", "size": "1450B", "rate": "12Mbit/s""#,
    )
    .replace(r#""loads""#, r#""probes": [{"kind": "icmp", "size": "1450B", "start": "5s", "interval": "77ms", "mode": "free-running"}], "loads""#);
    let found = result(&json);
    // 1478 bytes take 1.1824 ms. An answer waits for up to 100 packets and the rest of the one that is being sent.
    let send = 1478.0 * 8.0 / 10e6;
    let (probe, empty) = (&found.probes[0], 0.010 + 2.0 * send);
    assert!(probe.rtt_max_s.unwrap() <= empty + 100.0 * send, "{probe:?}");
    assert!(probe.rtt_min_s.unwrap() >= empty + 97.0 * send, "{probe:?}");
    // A sixth of what is offered is dropped, of the probes' answers too.
    let dropped = found.links[0].dropped_queue as f64 / found.links[0].offered_packets as f64;
    assert!((0.15..0.18).contains(&dropped), "{dropped}");
}

#[test]
fn trains_follow_each_others_answers() {
    // Ten packets of 1028 bytes at 8 Mbit/s take 1.028 ms each; answers of 128 bytes 0.128 ms, and 10 ms of delay.
    let link = r#""rate": "8Mbit/s", "delay": "5ms""#;
    let found =
        result(&alone(link, r#""kind": "trains", "packets": 10, "size": "1000B", "answer": "100B", "count": 3"#));
    let load = &found.loads[0];
    assert_eq!((load.sent_packets, load.received_packets, load.answered_packets), (30, 30, 30));
    assert_eq!(load.rounds, 3);
    let train = 10.0 * 0.001_028 + 0.010 + 0.000_128;
    assert!((found.virtual_s - (3.0 * train + 2.0)).abs() < 1e-9, "{} s, not {}", found.virtual_s, 3.0 * train + 2.0);
    assert_eq!(found.links[0].max_queue_packets, 9, "they leave at once");
    let paced = r#""kind": "trains", "packets": 10, "size": "1000B", "rate": "8Mbit/s", "count": 1"#;
    assert!(result(&alone(link, paced)).links[0].max_queue_packets <= 1);
}

#[test]
fn a_train_whose_answers_are_lost_is_given_up() {
    let link = r#""rate": "8Mbit/s", "queue": "3p""#;
    let found = result(&alone(link, r#""kind": "trains", "packets": 10, "timeout": "2s", "gap": "500ms""#));
    let load = &found.loads[0];
    // Four arrive: one is being sent, three wait. The next train leaves 2 s after the last answer.
    assert_eq!(found.links[0].dropped_queue * 4, load.received_packets * 6);
    assert_eq!((load.sent_packets, load.rounds), (50, 4));
}

#[test]
fn periods_have_their_lengths() {
    let link = r#""delay": "0ms""#;
    let fixed =
        r#""kind": "on-off", "size": "972B", "rate": "1Mbit/s", "on": "80ms", "off": "20ms", "periods": "constant""#;
    let load = &result(&alone(link, fixed)).loads[0];
    // Ten packets in each of a hundred periods, and the first of the next one.
    assert_eq!((load.sent_packets, load.rounds), (1001, 100));
    let drawn = r#""kind": "on-off", "size": "972B", "rate": "8Mbit/s", "on": "10ms", "off": "30ms""#;
    let run_of = |replication| {
        run(&Scenario::from_json(&alone(link, drawn)).unwrap(), 1, replication).unwrap().loads[0].sent_packets
    };
    // A quarter of 10 000, and up to a packet more a period.
    assert!((2200..3100).contains(&run_of(0)), "{}", run_of(0));
    assert_eq!(run_of(0), run_of(0));
    assert_ne!(run_of(0), run_of(1));
}

/// The times at which packets of a scenario's only load leave, ns.
fn times(json: &str, seed: u64) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let files = Files { pcap: Some(Pcap { folder: folder.path().into(), links: Vec::new() }), ..Files::default() };
    trace_at(Fidelity::Model, &Scenario::from_json(json).unwrap(), seed, 0, &files).unwrap();
    Capture::read(&std::fs::read(folder.path().join("link.pcapng")).unwrap()).unwrap().at_ns
}

#[test]
fn times_between_packets_of_a_poisson_load_are_exponential_and_independent() {
    let json = alone(r#""delay": "0ms""#, r#""kind": "poisson", "size": "972B", "rate": "8Mbit/s""#);
    let at = times(&json, 1);
    let gaps: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
    let n = gaps.len() as f64;
    // Packets of 1000 bytes: 10 000 of them, one each millisecond in the mean. Each bound is four standard errors.
    let mean = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
    let next = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / n / variance;
    assert!((mean - 1.0).abs() < 0.04, "{mean}");
    assert!((variance - 1.0).abs() < 4.0 * (8.0 / n).sqrt(), "{variance}");
    assert!(next.abs() < 0.04, "{next}");
    assert_ne!(at, times(&json, 2));
}

#[test]
fn programs_on_real_hosts_are_told_the_times_of_a_poisson_load() {
    let json = alone(r#""delay": "0ms""#, r#""kind": "poisson", "size": "972B", "rate": "8Mbit/s""#);
    let told = describe(&Scenario::from_json(&json).unwrap(), 1, 0).unwrap();
    let told = serde_json::to_value(told).unwrap();
    let periods: Vec<u64> = serde_json::from_value(told["loads"][0]["periods_ns"].clone()).unwrap();
    let begins = periods.chunks_exact(2).scan(0, |at, pair| {
        let begin = *at;
        *at += pair[0] + pair[1];
        Some(begin)
    });
    let at = times(&json, 1);
    let begins: Vec<u64> = begins.take(at.len()).map(|begin| begin - at[0]).collect();
    let since_first: Vec<u64> = at.iter().map(|time| time - at[0]).collect();
    assert!(at.len() > 9000);
    assert_eq!(begins, since_first);
}

#[test]
fn a_duration_or_a_count_ends_a_load() {
    let found = result(&alone(LINK, r#""kind": "constant", "rate": "1Mbit/s", "duration": "1s", "start": "2s""#));
    assert!((3.0..3.1).contains(&found.virtual_s), "{}", found.virtual_s);
    assert_eq!(found.loads[0].sent_packets, 1 + 1_000_000 / (1478 * 8));
}

/// Five packets of two conversations: two ways of the first, one of the second.
const CAPTURE: &str = r#"{"at_ns": [0, 1000000, 2000000, 49000000, 50000000], "len": [60, 60, 1500, 40, 1400],
    "flow": [0, 0, 0, 1, 0], "back": [1, 4], "span_ns": 50000000}"#;

#[test]
fn a_replay_keeps_the_times_of_the_capture() {
    let load = format!(r#""kind": "replay", "capture": {CAPTURE}, "count": 2, "gap": "100ms""#);
    let json = alone(r#""delay": "5ms""#, &load);
    let found = result(&json);
    let replayed = &found.loads[0];
    assert_eq!((replayed.sent_packets, replayed.sent_bytes, replayed.rounds), (10, 2 * 3060, 2));
    let folder = tempfile::tempdir().unwrap();
    let files = Files { pcap: Some(Pcap { folder: folder.path().into(), links: Vec::new() }), ..Files::default() };
    trace_at(Fidelity::Model, &Scenario::from_json(&json).unwrap(), 1, 0, &files).unwrap();
    let seen = Capture::read(&std::fs::read(folder.path().join("link.pcapng")).unwrap()).unwrap();
    let ms: Vec<u64> = seen.at_ns.iter().map(|at| at / 1_000_000).collect();
    assert_eq!(ms, [0, 1, 2, 49, 50, 150, 151, 152, 199, 200]);
    assert_eq!(seen.len, [60, 60, 1500, 40, 1400, 60, 60, 1500, 40, 1400]);
}

#[test]
fn both_ways_of_a_capture_leave_from_their_hosts() {
    let load = format!(r#""kind": "replay", "capture": {CAPTURE}, "ways": "two", "count": 1, "from": "client""#);
    let found = result(&alone(r#""delay": "5ms""#, &load));
    let [there, back] = &found.loads[..] else { panic!("{:?}", found.loads) };
    assert_eq!((there.sent_packets, back.sent_packets), (3, 2));
    assert_eq!((found.links[1].offered_packets, found.links[0].offered_packets), (3, 2));
}

#[test]
fn a_capture_of_the_simulator_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files { pcap: Some(Pcap { folder: folder.path().into(), links: Vec::new() }), ..Files::default() };
    let json = r#"{"topology": {"kind": "point-to-point", "link": {"rate": "10Mbit/s", "delay": "5ms"}},
        "flows": [{"contender": "tcp/cubic", "size": "20kB", "app": "raw"}, {"contender": "quic/cubic", "size": "20kB"}],
        "probes": [{"kind": "icmp", "interval": "10ms"}]}"#;
    let scenario = Scenario::from_json(json).unwrap();
    let traced = trace_at(Fidelity::Model, &scenario, 1, 0, &files).unwrap();
    let seen = Capture::read(&std::fs::read(folder.path().join("link.pcapng")).unwrap()).unwrap();
    let links = &traced.result.links;
    assert_eq!(seen.len.len() as u64, links[0].delivered_packets + links[1].delivered_packets);
    let bytes: u64 = seen.len.iter().map(|len| u64::from(*len)).sum();
    assert_eq!(bytes, links[0].delivered_bytes + links[1].delivered_bytes);
    // Three conversations: TCP, QUIC, ICMP. The clients began all of them.
    assert_eq!(seen.flow.iter().max(), Some(&2));
    assert_eq!(seen.back.len() as u64, links[0].delivered_packets);
    let (there, back) = seen.split();
    assert_eq!((there.len.len() + back.len.len(), there.span()), (seen.len.len(), seen.span()));
}

#[test]
fn damaged_captures_are_refused_in_words() {
    for bytes in [&b""[..], b"nothing of this kind", &[0x0a, 0x0d, 0x0d, 0x0a, 1, 2, 3], &[0xff; 100]] {
        assert!(Capture::read(bytes).is_err(), "{bytes:?}");
    }
    let mut file = Vec::new();
    {
        use pcap_file::pcap::{PcapPacket, PcapWriter};
        let mut writer = PcapWriter::new(&mut file).unwrap();
        let arp = [0xff; 60];
        writer.write_packet(&PcapPacket::new(std::time::Duration::ZERO, 60, &arp)).unwrap();
    }
    assert_eq!(Capture::read(&file).unwrap_err(), "it has no IP packet");
    for cut in 0..file.len() {
        let _ = Capture::read(&file[..cut]);
    }
}

/// A capture file of one packet of 1500 bytes over Ethernet, of which it has `kept` bytes; its header says at most 68.
fn snapped(kept: u32, sent: u32, micros: u32) -> Vec<u8> {
    let mut frame = [0; 68];
    frame[12..14].copy_from_slice(&[0x08, 0x00]); // IPv4
    // Version and length of the header, total length 1500, time to live, UDP, addresses, ports.
    frame[14..18].copy_from_slice(&[0x45, 0, 0x05, 0xdc]);
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..38].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2, 0x10, 0, 0, 53]);
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 68, 1, 7, micros, kept, sent] {
        file.extend(u32::to_le_bytes(word));
    }
    file.extend(&frame[..frame.len().min(kept as usize)]);
    file
}

#[test]
fn a_capture_of_headers_alone_is_replayed_with_the_lengths_that_the_headers_state() {
    let seen = Capture::read(&snapped(68, 1514, 5)).unwrap();
    assert_eq!((seen.len, seen.at_ns, seen.flow), (vec![1500], vec![0], vec![0]));
    let wrong = Capture::read(&snapped(68, 60, 5)).unwrap_err();
    assert_eq!(wrong, "it is damaged: packet 1 of 60 bytes has 68 in the file");
    assert!(Capture::read(&snapped(68, 1514, 1_000_000)).unwrap_err().contains("fraction"));
    assert!(Capture::read(&snapped(70, 1514, 5)).unwrap_err().contains("damaged"), "it ends early");
}

#[test]
fn uploads_and_copies_are_flows() {
    let json = r#"{"topology": {"kind": "point-to-point", "link": {"rate": "10Mbit/s", "delay": "5ms"}}, "duration": "10s",
        "flows": [{"contender": "tcp/cubic", "app": "raw", "copies": 4},
                  {"contender": "tcp/cubic", "app": "raw", "copies": 4, "direction": "up"}],
        "probes": [{"kind": "icmp", "interval": "200ms"}]}"#;
    let found = result(json);
    assert_eq!(found.flows.len(), 8);
    for (way, flows) in found.flows.chunks(4).enumerate() {
        let goodput: f64 = flows.iter().filter_map(|f| f.goodput_bps).sum();
        assert!(goodput > 8e6, "{way}: {goodput}");
        assert!(found.links[way].delivered_bytes > 10_000_000, "{way}");
    }
    // Requests and answers both wait.
    assert!(found.probes[0].rtt_max_s.unwrap() > 1.0, "{:?}", found.probes[0].rtt_max_s);
}

#[test]
fn errors_name_the_field_and_the_remedy() {
    let cases = [
        (r#""kind": "constant""#, "loads[0]", "needs the field rate"),
        (r#""kind": "constant", "rate": "1Mbit/s", "packets": 5"#, "loads[0].packets", "leave it out"),
        (r#""kind": "constant", "rate": "0bit/s""#, "loads[0].rate", "1bit/s"),
        (r#""kind": "constant", "rate": "1Mbit/s", "size": "1500B""#, "loads[0].size", "at most 1472B"),
        (r#""kind": "trains", "packets": 0"#, "loads[0].packets", "from 1"),
        (r#""kind": "trains", "packets": 5, "gap": "0s""#, "loads[0].gap", "1us"),
        (r#""kind": "trains", "packets": 5, "count": 0"#, "loads[0].count", "at least 1"),
        (r#""kind": "on-off", "rate": "1Mbit/s", "off": "1s""#, "loads[0]", "needs the field on"),
        (r#""kind": "poison""#, "loads[0].kind", "there are trains, constant, on-off, poisson, replay"),
        (r#""kind": "replay", "capture": "office.pcap""#, "loads[0].capture", "was not read"),
        (
            r#""kind": "replay", "capture": {"at_ns": [0], "len": [9000], "flow": [0], "back": [], "span_ns": 0}, "gap": "1s""#,
            "loads[0].capture",
            "without segmentation offload",
        ),
        (
            r#""kind": "replay", "capture": {"at_ns": [0], "len": [90], "flow": [0], "back": [], "span_ns": 0}"#,
            "loads[0].gap",
            "give a gap",
        ),
        (
            r#""kind": "replay", "capture": {"at_ns": [0], "len": [90], "flow": [7], "back": [], "span_ns": 5000}"#,
            "loads[0].capture",
            "below the number of packets",
        ),
        (r#""kind": "constant", "rate": "1Mbit/s", "client": "b""#, "loads[0].client", "only a graph"),
    ];
    for (given, path, remedy) in cases {
        let parsed = Scenario::from_json(&alone(LINK, given));
        let error = parsed.and_then(|s| check_at(Fidelity::Model, &s)).expect_err(given);
        assert_eq!(error.path, path, "{given}: {error}");
        assert!(error.message.contains(remedy), "{given}: {error}");
    }
}
