//! Texts of traceroute and mtr, from the systems on which these programs run.

use crate::common;

use common::read_all;
use haltere_paths::input::open_stream;
use haltere_paths::text::Reader;
use haltere_paths::{Stop, Trace};
use proptest::prelude::*;
use std::io::Cursor;

fn read(text: &str) -> Vec<Trace> {
    let (found, damage) = read_all(&mut Reader::new(text.as_bytes()));
    assert_eq!(damage, []);
    found
}

/// TTL, address and round-trip time (µs) of every answer.
fn hops(trace: &Trace) -> Vec<(u8, String, u32)> {
    trace.hops.iter().map(|h| (h.ttl, h.address.to_string(), h.rtt_us)).collect()
}

fn expect(trace: &Trace, destination: &str, expected: &[(u8, &str, u32)]) {
    assert_eq!(trace.destination.to_string(), destination);
    let expected: Vec<_> = expected.iter().map(|&(ttl, address, us)| (ttl, address.to_owned(), us)).collect();
    assert_eq!(hops(trace), expected);
}

const LINUX: &str = "\
traceroute to example.org (192.0.2.9), 30 hops max, 60 byte packets
 1  gateway (10.0.0.1)  0.512 ms  0.498 ms  0.490 ms
 2  * * *
 3  a.example.net (198.51.100.1)  5.010 ms b.example.net (198.51.100.2)  5.100 ms *
 4  198.51.100.3 (198.51.100.3) [AS64500]  7.000 ms <MPLS:L=24012,E=0,S=1,T=1>  7.100 ms  7.2 ms
 5  example.org (192.0.2.9)  9.000 ms  9.100 ms  9.200 ms
";

#[test]
fn linux_with_names() {
    let found = read(LINUX);
    expect(
        &found[0],
        "192.0.2.9",
        &[
            (1, "10.0.0.1", 512),
            (1, "10.0.0.1", 498),
            (1, "10.0.0.1", 490),
            (3, "198.51.100.1", 5010),
            (3, "198.51.100.2", 5100),
            (4, "198.51.100.3", 7000),
            (4, "198.51.100.3", 7100),
            (4, "198.51.100.3", 7200),
            (5, "192.0.2.9", 9000),
            (5, "192.0.2.9", 9100),
            (5, "192.0.2.9", 9200),
        ],
    );
    assert_eq!((found[0].stop, found[0].answered, found[0].hop_count), (Stop::Completed, true, 5));
}

#[test]
fn several_traces_with_numbers_alone_and_marks() {
    let found = read(
        "$ traceroute -n 192.0.2.9\ntraceroute to 192.0.2.9 (192.0.2.9), 30 hops max, 60 byte packets\n 1  10.0.0.1  0.5 ms \
         *  0.4 ms\n 2  10.0.0.2  3.000 ms !H  3.1 ms !H *\n\ntraceroute to 2001:db8::9 (2001:db8::9), 30 hops max, 80 byte \
         packets\n 1  2001:db8::1  1.0 ms !X\n",
    );
    assert_eq!(found.len(), 2);
    expect(
        &found[0],
        "192.0.2.9",
        &[(1, "10.0.0.1", 500), (1, "10.0.0.1", 400), (2, "10.0.0.2", 3000), (2, "10.0.0.2", 3100)],
    );
    assert_eq!(found[0].hops.iter().map(|h| h.attempt).collect::<Vec<_>>(), [1, 3, 1, 2]);
    assert_eq!((found[0].stop, found[0].hops[3].icmp_type, found[0].hops[3].icmp_code), (Stop::Unreach, 3, 1));
    expect(&found[1], "2001:db8::9", &[(1, "2001:db8::1", 1000)]);
    assert_eq!((found[1].hops[0].icmp_type, found[1].hops[0].icmp_code), (1, 1));
}

#[test]
fn windows_prints_times_first() {
    let found = read(
        "\r\nTracing route to example.org [192.0.2.9]\r\nover a maximum of 30 hops:\r\n\r\n  1    <1 ms    <1 ms     2 ms  \
         10.0.0.1\r\n  2     *        *        *     Request timed out.\r\n  3     5 ms     6 ms     *     a.example.net \
         [198.51.100.1]\r\n  4     9 ms     9 ms     9 ms  example.org [192.0.2.9]\r\n\r\nTrace complete.\r\n",
    );
    let expected = [
        (1, "10.0.0.1", 1000),
        (1, "10.0.0.1", 1000),
        (1, "10.0.0.1", 2000),
        (3, "198.51.100.1", 5000),
        (3, "198.51.100.1", 6000),
        (4, "192.0.2.9", 9000),
        (4, "192.0.2.9", 9000),
        (4, "192.0.2.9", 9000),
    ];
    expect(&found[0], "192.0.2.9", &expected);
    assert!(found[0].answered);
}

#[test]
fn bsd_and_cisco() {
    let bsd = read(
        "traceroute to example.org (192.0.2.9), 64 hops max, 40 byte packets\n 1  gw (10.0.0.1)  0.5 ms  0.6 ms\n",
    );
    expect(&bsd[0], "192.0.2.9", &[(1, "10.0.0.1", 500), (1, "10.0.0.1", 600)]);
    let cisco = read(
        "Type escape sequence to abort.\nTracing the route to 192.0.2.9\nVRF info: (vrf in name/id, vrf out name/id)\n  1 \
         10.0.0.1 [MPLS: Labels 16/24 Exp 0] 4 msec 8 msec 4 msec\n  2 10.0.1.1 12 msec\n    10.0.1.2 16 msec *\n",
    );
    let expected = [
        (1, "10.0.0.1", 4000),
        (1, "10.0.0.1", 8000),
        (1, "10.0.0.1", 4000),
        (2, "10.0.1.1", 12_000),
        (2, "10.0.1.2", 16_000),
    ];
    expect(&cisco[0], "192.0.2.9", &expected);
    assert!(!cisco[0].answered);
}

#[test]
fn scampers_text() {
    let found = read(
        "traceroute from 10.0.0.9 to 192.0.2.9\n 1  10.0.0.1  0.5 ms\n 2  *\n 3  192.0.2.9  3.25 ms\ntraceroute from \
         10.0.0.9 to 192.0.2.8\n 1  10.0.0.1  0.4 ms\n",
    );
    assert_eq!(found[0].source.to_string(), "10.0.0.9");
    expect(&found[0], "192.0.2.9", &[(1, "10.0.0.1", 500), (3, "192.0.2.9", 3250)]);
    assert_eq!(found.len(), 2);
}

#[test]
fn mtr_report() {
    let found = read(
        "Start: 2026-11-20T14:36:54+0000\nHOST: here                        Loss%   Snt   Last   Avg  Best  Wrst StDev\n  1.|-- \
         10.0.0.1                   0.0%    10    0.5   0.6   0.4   1.0   0.1\n  2.|-- ???                       100.0    10   \
          0.0   0.0   0.0   0.0   0.0\n  3.|-- example.org (192.0.2.9)    0.0%    10    9.1   9.2   9.0   9.9   0.2\n",
    );
    expect(&found[0], "192.0.2.9", &[(1, "10.0.0.1", 400), (3, "192.0.2.9", 9000)]);
    assert!(found[0].answered);
}

#[test]
fn text_is_known_by_a_line_that_opens_a_trace() {
    let mut opened = open_stream(Cursor::new(format!("# made on a Friday\n{LINUX}")), 1).unwrap();
    assert_eq!(opened.format.name(), "text");
    assert_eq!(read_all(opened.reader.as_mut()).0.len(), 1);
}

#[test]
fn a_line_without_an_end_is_damage() {
    let text = format!("{LINUX}traceroute to 192.0.2.8 (192.0.2.8), 30 hops max\n{}\n{LINUX}", "x".repeat(200_000));
    let (found, damage) = read_all(&mut Reader::new(text.as_bytes()));
    assert_eq!((found.len(), damage.len()), (2, 1));
    assert_eq!(damage[0].skipped, 200_001);
}

proptest! {
    #[test]
    fn any_text_is_survived(lines in prop::collection::vec("[0-9 .a-f:*!<>()\\[\\]ms]{0,60}|traceroute to [0-9.]{1,12}.*", 0..40)) {
        let text = lines.join("\n");
        let (found, _) = read_all(&mut Reader::new(text.as_bytes()));
        prop_assert!(found.len() <= lines.len());
    }
}

/// How many traces a text holds, and the faults that are reported of it.
fn told(text: &str) -> (usize, Vec<String>) {
    let (found, damage) = read_all(&mut Reader::new(text.as_bytes()));
    (found.len(), damage.into_iter().map(|d| d.what.into_owned()).collect())
}

#[test]
fn a_garbled_first_line_does_not_join_two_traces() {
    for garbled in [
        "tracerXute to example.org (192.0.2.9), 30 hops max, 60 byte packets",
        "traceroute to example.org (192.0.2.)",
        "\u{1}\u{2}",
    ] {
        let second = LINUX.replacen(LINUX.lines().next().unwrap(), garbled, 1);
        let (traces, damage) = told(&format!("{LINUX}{second}{LINUX}"));
        assert_eq!(
            (traces, damage.as_slice()),
            (2, &["hops of a trace whose first line cannot be read".to_owned()][..]),
            "{garbled}"
        );
        let (traces, damage) = told(&second);
        assert_eq!((traces, damage.len()), (0, 1), "{garbled}, alone");
    }
}

#[test]
fn damage_of_text_has_its_place() {
    let bad = LINUX.replace("198.51.100.3 (198.51.100.3)", "198.51.100.999 garbage");
    let (found, damage) = read_all(&mut Reader::new(format!("{LINUX}{bad}{LINUX}").as_bytes()));
    assert_eq!(found.len(), 2);
    assert_eq!((damage[0].offset, damage[0].skipped), (LINUX.len() as u64, bad.len() as u64));
    assert_eq!(damage[0].what, "an address that is none");
}

#[test]
fn garbled_hops_are_damage_and_not_silent_hops() {
    for (from, to, what) in [
        ("10.0.0.1)", "10.0.0.999)", "an address that is none"),
        ("gateway (10.0.0.1)", "10.0.0.999 garbage", "an address that is none"),
        ("gateway (10.0.0.1)", "gateway", "times without an address"),
        ("7.000 ms", "7.0x0 ms", "a time that is no number"),
        (" 2  * * *", " 2  ", "a hop with neither an address nor a star"),
        (" 4  198", "x4  198", "a hop without a TTL"),
        (" 4  198", " x4  198", "a hop whose TTL cannot be read"),
        (" 4  198", " 2  198", "TTLs that do not rise"),
        ("(198.51.100.2)", "(198.51.100.2x)", "an address that is none"),
    ] {
        assert!(LINUX.contains(from), "{from}");
        let (traces, damage) = told(&format!("{}{LINUX}", LINUX.replacen(from, to, 1)));
        assert_eq!((traces, damage), (1, vec![what.to_owned()]), "{from} → {to}");
    }
}

#[test]
fn what_tools_print_beside_hops_is_no_damage() {
    let text = format!(
        "user@host:~$ traceroute example.org\n{LINUX}user@host:~$ date\nFri 20 Nov 2026\n 6  * * *\n\n# a remark of 3 words, 5 ms\n"
    );
    assert_eq!(told(&text), (1, vec![]));
    let junos = "traceroute to 192.0.2.9 (192.0.2.9), 30 hops max, 52 byte packets\n 1  10.0.0.1 (10.0.0.1)  1.0 ms  1.1 ms  1.2 ms\n     \
                 MPLS Label=100448 CoS=0 TTL=1 S=1\n 2  192.0.2.9 (192.0.2.9)  2.0 ms  2.1 ms  2.2 ms\n";
    assert_eq!(told(junos), (1, vec![]));
}
