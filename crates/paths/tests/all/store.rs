//! Traces that go into a lake come out of it, whatever the files' order, and nothing that was not finished.

use crate::common;

use common::{arts, traces, warts};
use haltere_paths::count::Progress;
use haltere_paths::generate::Profile;
use haltere_paths::store::{Became, FileReport, Lake, Options, Refusal, ingest, sources};
use haltere_paths::warts::Addresses;
use haltere_paths::{Address, Class, Hop, Method, Stop, Trace, classify};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn options(threads: usize) -> Options {
    Options { source: None, threads }
}

fn take_in(lake: &Path, paths: &[PathBuf], options: &Options) -> Result<Vec<FileReport>, Refusal> {
    let lake = Lake::open(lake)?;
    let files = sources(paths, lake.root())?;
    ingest(&lake, &files, options, &Progress::default())
}

/// All files below a folder, but for the lock.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(folder: &Path, top: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, top, found);
            } else if path.file_name().unwrap() != ".lock" {
                found.insert(path.strip_prefix(top).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, folder, &mut found);
    found
}

/// The rows of a lake in the order of its files, `name=value` each.
fn rows(lake: &Path) -> Vec<String> {
    let mut rows = Vec::new();
    for path in tree(lake).into_keys().filter(|path| path.extension().is_some_and(|e| e == "parquet")) {
        let reader = SerializedFileReader::new(File::open(lake.join(path)).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let cells = row.get_column_iter().filter(|(name, _)| *name != "key");
            rows.push(cells.map(|(name, field)| format!("{name}={}", text(field))).collect::<Vec<_>>().join(" "));
        }
    }
    rows
}

fn keys(lake: &Path) -> Vec<u64> {
    let mut keys = Vec::new();
    for path in tree(lake).into_keys().filter(|path| path.extension().is_some_and(|e| e == "parquet")) {
        let reader = SerializedFileReader::new(File::open(lake.join(path)).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let Field::ULong(key) = row.unwrap().get_column_iter().next().unwrap().1.clone() else { panic!() };
            keys.push(key);
        }
    }
    keys.sort_unstable();
    keys
}

fn text(field: &Field) -> String {
    match field {
        Field::Null => "-".to_owned(),
        Field::Bytes(bytes) => bytes.data().iter().map(|b| format!("{b:02x}")).collect(),
        Field::ListInternal(list) => list.elements().iter().map(text).collect::<Vec<_>>().join(","),
        Field::TimestampMicros(us) => us.to_string(),
        Field::Str(word) => word.clone(),
        Field::UByte(n) => n.to_string(),
        Field::UShort(n) => n.to_string(),
        Field::UInt(n) => n.to_string(),
        Field::Bool(holds) => u8::from(*holds).to_string(),
        other => panic!("a field of another type: {other:?}"),
    }
}

fn hex(address: Address) -> String {
    let bytes = match address.ip() {
        std::net::IpAddr::V4(v4) => v4.octets().to_vec(),
        std::net::IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The row that a trace must have become.
fn row(trace: &Trace, monitor: &str) -> String {
    let end = |address: Address| if address.is_none() { "-".to_owned() } else { hex(address) };
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let marks = classify(trace);
    let class = match marks.class() {
        Class::Clean => "clean",
        Class::Loop => "loop",
        Class::Repeat => "repeat",
        Class::TooLong => "toolong",
        Class::Incomplete => "incomplete",
    };
    let flags = [
        ("complete", marks.complete),
        ("toolong", marks.too_long),
        ("loop", marks.looped),
        ("gap", marks.gap),
        ("adjdup", marks.adjacent),
        ("multi", marks.multi),
    ];
    let flags: Vec<String> = flags.iter().map(|&(name, holds)| format!("{name}={}", u8::from(holds))).collect();
    let each = |what: fn(&Hop) -> String| trace.path().map(what).collect::<Vec<_>>().join(",");
    let rtt = |h: &Hop| if h.rtt_us == Hop::NO_RTT { "-".to_owned() } else { h.rtt_us.to_string() };
    let port = |n: u16| if n == 0 { "-".to_owned() } else { n.to_string() };
    let icmp = |h: &Hop, code: bool| match h.icmp() {
        Some(both) if code => both.1.to_string(),
        Some(both) => both.0.to_string(),
        None => "-".to_owned(),
    };
    // Each label with the number of answers on the path before it.
    let (mut labels, mut place) = (Vec::new(), 0);
    for (at, hop) in trace.hops.iter().enumerate().filter(|(_, h)| trace.stop_hop == 0 || h.ttl <= trace.stop_hop) {
        assert!(hop.ttl > 0);
        let of_hop = trace.extensions.iter().filter(|e| e.hop as usize == at);
        labels.extend(of_hop.flat_map(|e| trace.labels(e)).map(|label| (place, label)));
        place += 1;
    }
    let of_labels =
        |what: fn(&(usize, haltere_paths::Label)) -> String| labels.iter().map(what).collect::<Vec<_>>().join(",");
    let start = Some(trace.time_us()).filter(|&us| us != 0).map(|us| us.to_string());
    format!(
        "monitor={monitor} src={} dst={} start={} method={} stop={} class={class} {} hops={} rtt_us={} list_id={} cycle_id={} \
         hop_ttl={} hop_addr={} hop_rtt_us={} sport={} dport={} hop_icmp_type={} hop_icmp_code={} hop_reply_ttl={} \
         mpls_hop={} mpls_label={} mpls_ttl={}",
        end(trace.source),
        end(trace.destination),
        or_none(start),
        trace.method.name(),
        trace.stop.name(),
        flags.join(" "),
        trace.length(),
        or_none(trace.rtt().map(|rtt| (rtt.as_nanos() / 1000).to_string())),
        trace.list_id,
        trace.cycle_id,
        each(|h| h.ttl.to_string()),
        each(|h| hex(h.address)),
        each(rtt),
        port(trace.source_port),
        port(trace.destination_port),
        trace.path().map(|h| icmp(h, false)).collect::<Vec<_>>().join(","),
        trace.path().map(|h| icmp(h, true)).collect::<Vec<_>>().join(","),
        each(|h| if h.reply_ttl == 0 { "-".to_owned() } else { h.reply_ttl.to_string() }),
        of_labels(|(place, _)| place.to_string()),
        of_labels(|(_, label)| label.label.to_string()),
        of_labels(|(_, label)| label.ttl.to_string()),
    )
}

/// A folder with a lake's place and files in it.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new(files: &[(&str, &[u8])]) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("files")).unwrap();
        let bench = Bench { folder };
        files.iter().for_each(|(name, bytes)| bench.put(name, bytes));
        bench
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.files().join(name), bytes).unwrap();
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    fn lake(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    fn take_in(&self) -> Vec<FileReport> {
        take_in(&self.lake(), &[self.files()], &options(2)).unwrap()
    }
}

/// Traces with whatever a row can lack or have: silent, without times, with several answers, cut short, IPv6.
fn odd_traces() -> Vec<Trace> {
    let mut odd = traces(40, Profile { mpls: 0.5, ..Profile::default() });
    odd.extend(traces(40, Profile { v6: true, ..Profile::default() }));
    odd[0].hops.clear();
    odd[1].hops[0].rtt_us = Hop::NO_RTT;
    odd[2].hops.iter_mut().for_each(|h| h.rtt_us = Hop::NO_RTT);
    (odd[3].start_us, odd[4].source) = (0, Address::NONE);
    odd[5].start_us = 0;
    odd[5].hops.iter_mut().for_each(|h| h.sent_us = 0);
    odd[6].stop_hop = odd[6].hops[0].ttl;
    (odd[7].method, odd[7].stop, odd[8].stop) = (Method::Other(77), Stop::Other(99), Stop::Unreach);
    (odd[7].answered, odd[8].answered) = (false, false);
    let again = odd[9].hops[0];
    odd[9].hops.insert(0, Hop { rtt_us: 7, ..again });
    odd[10].hops.clear();
    (odd[11].hops[0].flags, odd[11].hops[0].icmp_type) = (Hop::TCP, Hop::NO_ICMP);
    (odd[11].hops[1].icmp_type, odd[11].hops[1].icmp_code) = (3, 13);
    (odd[12].hops[0].icmp_type, odd[12].hops[0].reply_ttl) = (Hop::NO_ICMP, 0);
    (odd[13].source_port, odd[13].destination_port) = (65_535, 0);
    odd[14].stop_hop = odd[14].hops[1].ttl;
    odd
}

#[test]
fn rows_are_the_traces() {
    let made = odd_traces();
    let bench = Bench::new(&[("m0.warts", &warts(&made, Addresses::Embedded))]);
    let report = &bench.take_in()[0];
    assert_eq!(report.became, Became::Ingested);
    let mut found = rows(&bench.lake());
    let mut expected: Vec<String> = made.iter().map(|trace| row(trace, "m0")).collect();
    assert_eq!(found.len(), expected.len());
    found.sort();
    expected.sort();
    found.iter().zip(&expected).for_each(|(a, b)| assert_eq!(a, b));
    let entry = report.entry.as_ref().unwrap();
    assert_eq!(entry.days.keys().collect::<Vec<_>>(), ["2011-03-13", "unknown"]);
    assert_eq!(entry.days["unknown"], 1);
    assert_eq!(entry.monitors, BTreeMap::from([("m0".to_owned(), 80)]));
    assert!(entry.adds_up());
}

#[test]
fn a_copy_of_a_trace_has_its_key_in_either_format() {
    let made: Vec<Trace> = traces(300, Profile::default()).iter().map(|trace| common::as_arts(trace, 3)).collect();
    let plain: Vec<Trace> = made
        .iter()
        .map(|trace| {
            let mut trace = trace.clone();
            trace.hops.iter_mut().for_each(|h| h.sent_us = 0);
            trace
        })
        .collect();
    let mut writer = haltere_paths::warts::Writer::new(Vec::new(), Addresses::Embedded);
    writer.list(1, 1, "tests", None).unwrap();
    writer.cycle(1, 1, 1, 1_300_000_000, None).unwrap();
    plain.iter().for_each(|trace| writer.trace(trace, 1, 1).unwrap());
    let as_warts = Bench::new(&[("a", &writer.finish().unwrap())]);
    let as_arts = Bench::new(&[("a", &arts(&made, 3))]);
    as_warts.take_in();
    as_arts.take_in();
    let (warts, arts) = (keys(&as_warts.lake()), keys(&as_arts.lake()));
    assert_eq!(warts, arts);
    assert!(warts.windows(2).all(|w| w[0] < w[1]), "keys of different traces differ");
    assert!(as_arts.lake().join("traces/source=skitter").is_dir());
}

#[test]
fn neither_order_nor_threads_nor_pauses_change_a_byte() {
    let files: Vec<Vec<u8>> = (0..6)
        .map(|n| warts(&traces(200 + n, Profile { v6: n == 3, ..Profile::default() }), Addresses::Embedded))
        .collect();
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut named: Vec<(&str, &[u8])> = names.iter().zip(&files).map(|(n, f)| (*n, &f[..])).collect();
    // Two names for the same bytes: the first stands in the ledger.
    named.push(("g", &files[0]));
    let bench = Bench::new(&named);
    let reports = bench.take_in();
    assert_eq!(reports.iter().filter(|r| r.became == Became::Ingested).count(), 6);
    let whole = tree(&bench.lake());
    let of = |name: &str| bench.files().join(name);
    for (threads, turns) in [
        (1, vec![vec![bench.files()]]),
        (4, vec![vec![of("g"), of("f"), of("e"), of("d"), of("c"), of("b"), of("a")]]),
        (2, vec![vec![of("e"), of("c")], vec![of("a")], vec![bench.files()]]),
    ] {
        let other = tempfile::tempdir().unwrap();
        turns.iter().for_each(|paths| drop(take_in(other.path(), paths, &options(threads)).unwrap()));
        assert!(tree(other.path()) == whole, "{threads} threads, {turns:?}");
    }
    let again = bench.take_in();
    assert!(again.iter().all(|report| report.became == Became::Known));
    assert!(tree(&bench.lake()) == whole, "a second time changes nothing");
}

/// A file of several pieces, in the middle of which bytes are missing.
#[test]
fn one_file_that_several_threads_decode_gives_the_same_bytes() {
    let mut made = warts(&traces(9_000, Profile::default()), Addresses::Embedded);
    let middle = made.len() / 2;
    drop(made.drain(middle..middle + 40_001));
    let bench = Bench::new(&[("a", &made)]);
    let lakes = [1, 2, 5].map(|threads| {
        let lake = tempfile::tempdir().unwrap();
        let reports = take_in(lake.path(), &[bench.files()], &options(threads)).unwrap();
        assert_eq!(reports[0].entry.as_ref().map(|entry| entry.counts.damaged), Some(1));
        tree(lake.path())
    });
    assert!(lakes[0] == lakes[1] && lakes[0] == lakes[2]);
}

#[test]
fn what_was_not_finished_is_swept() {
    let made = warts(&traces(50, Profile::default()), Addresses::Embedded);
    let bench = Bench::new(&[("a", &made)]);
    bench.take_in();
    let whole = tree(&bench.lake());
    let lake = bench.lake();
    let day = lake.join("traces/source=ark/day=2011-03-14");
    fs::create_dir_all(&day).unwrap();
    fs::create_dir_all(lake.join("unfinished/x")).unwrap();
    fs::write(day.join(format!("{}-0.parquet", "0".repeat(64))), "half").unwrap();
    fs::write(lake.join("unfinished/x/0.parquet"), "half").unwrap();
    fs::write(lake.join("ingested/.writing-x.json"), "{").unwrap();
    bench.take_in();
    assert!(tree(&lake) == whole);
    assert!(!day.exists());
}

#[test]
fn damaged_joined_and_empty_files_are_taken_as_they_are_counted() {
    let one = warts(&traces(100, Profile::default()), Addresses::Global);
    let mut damaged = one.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 300].fill(0xee);
    let two = warts(&traces(70, Profile { v6: true, ..Profile::default() }), Addresses::Embedded);
    let joined = [&one[..], &two, &one[..one.len() - 40]].concat();
    let bench = Bench::new(&[
        ("1-damaged", &damaged),
        ("2-empty", b""),
        ("3-joined", &joined),
        ("4-notes", b"nothing of it\n"),
        ("5-else", b"{\"a\": 1}"),
    ]);
    let reports = bench.take_in();
    let became: Vec<Became> = reports.iter().map(|r| r.became).collect();
    assert_eq!(became, [Became::Ingested, Became::Ingested, Became::Ingested, Became::Unreadable, Became::Unreadable]);
    assert!(reports[3].note.as_deref().unwrap().contains("not a file of traceroutes"));
    assert!(reports[4].note.as_deref().unwrap().contains("nothing in it can be read"));
    let files = sources(&[bench.files()], &bench.lake()).unwrap();
    let mut all = 0;
    for (report, source) in reports.iter().zip(&files).take(3) {
        let counted = haltere_paths::count::count_file(&source.path, 1, &Progress::default());
        let entry = report.entry.as_ref().unwrap();
        assert_eq!((&entry.counts, &entry.damage), (&counted.counts, &counted.damage));
        assert!(entry.adds_up(), "{}", report.file);
        all += entry.rows as usize;
    }
    assert!(reports[0].entry.as_ref().unwrap().counts.damaged > 0);
    assert_eq!(reports[1].entry.as_ref().unwrap().source, "unknown");
    assert_eq!(rows(&bench.lake()).len(), all);
}

#[test]
fn another_source_for_a_known_file_is_told() {
    let bench = Bench::new(&[("a", &warts(&traces(5, Profile::default()), Addresses::Embedded))]);
    bench.take_in();
    let said = |name: &str| Options { source: Some(name.to_owned()), threads: 1 };
    let same = take_in(&bench.lake(), &[bench.files()], &said("ark")).unwrap();
    assert_eq!(same[0].became, Became::Known);
    let other = take_in(&bench.lake(), &[bench.files()], &said("mine")).unwrap();
    assert!(other[0].note.as_deref().unwrap().contains("as measured by ark"), "{other:?}");
    let refused = take_in(&bench.lake(), &[bench.files()], &said("a/b")).unwrap_err();
    assert_eq!(refused.place, "--source");
}

#[test]
fn a_folder_that_is_no_lake_of_this_version_is_refused() {
    let bench = Bench::new(&[("a", b"")]);
    let refused = take_in(&bench.files(), &[], &options(1)).unwrap_err();
    assert!(refused.problem.contains("other things"), "{refused}");
    bench.take_in();
    fs::write(bench.lake().join("lake.json"), r#"{"format": 999}"#).unwrap();
    let refused = take_in(&bench.lake(), &[], &options(1)).unwrap_err();
    assert!(refused.problem.contains("format 999"), "{refused}");
    fs::write(bench.lake().join("lake.json"), "{").unwrap();
    assert!(take_in(&bench.lake(), &[], &options(1)).is_err());
    let below_a_file = bench.files().join("a/lake");
    assert!(take_in(&below_a_file, &[], &options(1)).unwrap_err().problem.contains("cannot be written"));
    let none = take_in(&bench.folder.path().join("other"), &[bench.files().join("none")], &options(1));
    assert!(none.unwrap_err().problem.contains("no such file"));
}

#[test]
fn a_broken_entry_of_the_ledger_is_told() {
    let bench = Bench::new(&[("a", &warts(&traces(5, Profile::default()), Addresses::Embedded))]);
    let digest = bench.take_in()[0].entry.as_ref().unwrap().digest.clone();
    fs::write(bench.lake().join(format!("ingested/{digest}.json")), "{").unwrap();
    let refused = take_in(&bench.lake(), &[bench.files()], &options(1)).unwrap_err();
    assert!(refused.problem.contains("no entry of the ledger"), "{refused}");
}

#[test]
fn only_one_writes_to_a_lake() {
    let bench = Bench::new(&[]);
    let held = Lake::open(&bench.lake()).unwrap();
    assert!(Lake::open(&bench.lake()).unwrap_err().problem.contains("another ingest"));
    drop(held);
    Lake::open(&bench.lake()).unwrap();
}

#[test]
fn a_lake_inside_the_folder_that_is_read_is_left_out() {
    let bench = Bench::new(&[("a", &warts(&traces(5, Profile::default()), Addresses::Embedded)), (".hidden", b"x")]);
    let lake = bench.files().join("lake");
    for became in [Became::Ingested, Became::Known] {
        let reports = take_in(&lake, &[bench.files()], &options(1)).unwrap();
        assert_eq!(reports.iter().map(|r| r.became).collect::<Vec<_>>(), [became]);
    }
}

#[test]
fn who_cancels_leaves_nothing_half_done() {
    let bench = Bench::new(&[("a", &warts(&traces(50, Profile::default()), Addresses::Embedded))]);
    let lake = Lake::open(&bench.lake()).unwrap();
    let progress = Progress::default();
    progress.cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
    let files = sources(&[bench.files()], lake.root()).unwrap();
    assert!(ingest(&lake, &files, &options(1), &progress).unwrap().is_empty());
    assert_eq!(tree(&bench.lake()).keys().collect::<Vec<_>>(), [Path::new("lake.json")]);
}

#[test]
fn parts_that_are_missing_or_cut_are_made_again() {
    let bench = Bench::new(&[("a.warts", &warts(&traces(60, Profile::default()), Addresses::Embedded))]);
    let files = [bench.folder.path().join("files")];
    let lake = bench.folder.path().join("lake");
    let options = Options { source: Some("mine".to_owned()), threads: 1 };
    take_in(&lake, &files, &options).unwrap();
    let whole = tree(&lake);
    let part = whole.keys().find(|path| path.extension().is_some_and(|e| e == "parquet")).unwrap();
    for damage in [None, Some(0), Some(100)] {
        match damage {
            None => fs::remove_file(lake.join(part)).unwrap(),
            Some(left) => fs::write(lake.join(part), &whole[part][..left]).unwrap(),
        }
        let report = take_in(&lake, &files, &self::options(1)).unwrap();
        assert_eq!(report[0].became, Became::Ingested, "{damage:?}");
        assert_eq!(tree(&lake), whole, "{damage:?}");
        assert_eq!(take_in(&lake, &files, &self::options(1)).unwrap()[0].became, Became::Known);
    }
}

/// A lake of format 1 lacks columns: whoever opens it to write makes it one of this format, and files that are ingested
/// again get them.
#[test]
fn a_lake_of_the_old_format_is_taken_over() {
    let bench = Bench::new(&[("a", &warts(&traces(30, Profile::default()), Addresses::Embedded))]);
    let digest = bench.take_in()[0].entry.as_ref().unwrap().digest.clone();
    let whole = tree(&bench.lake());
    let entry = bench.lake().join(format!("ingested/{digest}.json"));
    for path in [&bench.lake().join("lake.json"), &entry] {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, text.replace(&format!("\"format\": {}", haltere_paths::store::FORMAT), "\"format\": 1"))
            .unwrap();
    }
    assert_ne!(tree(&bench.lake()), whole);
    assert_eq!(bench.take_in()[0].became, Became::Ingested);
    assert_eq!(tree(&bench.lake()), whole);
    assert_eq!(bench.take_in()[0].became, Became::Known);
}
