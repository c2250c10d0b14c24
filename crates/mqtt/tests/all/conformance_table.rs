//! The table of `docs/reference/mqtt-conformance.md` and the tests agree.

use std::collections::BTreeSet;
use std::path::Path;

/// A row: the statement's section and number, its side, and what stands for its tests.
struct Row {
    section: String,
    number: u32,
    side: String,
    tests: String,
}

fn rows() -> Vec<Row> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/mqtt-conformance.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.lines().skip_while(|line| !line.starts_with("|---"));
    table.skip(1).map(row).collect()
}

fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    let [statement, asks, side, tests] = cells[..] else { panic!("{line}") };
    let (section, number) = statement.rsplit_once('-').unwrap();
    assert!(!asks.is_empty(), "{line}");
    Row { section: section.into(), number: number.parse().unwrap(), side: side.into(), tests: tests.into() }
}

/// The conformance tests, as `file::name`.
fn tests() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all");
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_stem().and_then(|name| name.to_str()).unwrap();
        let Some(file) = file.strip_prefix("conformance_").filter(|file| *file != "table") else { continue };
        let text = std::fs::read_to_string(&path).unwrap();
        for after in text.split("#[test]\nfn ").skip(1) {
            let name = after.split('(').next().unwrap();
            found.extend(name.starts_with("mqtt_").then(|| format!("{file}::{name}")));
        }
    }
    found
}

#[test]
fn the_table_names_the_tests_that_there_are_and_no_others() {
    let known = tests();
    let mut named = BTreeSet::new();
    for row in rows() {
        if row.tests.starts_with("does not apply: ") {
            continue;
        }
        for test in row.tests.split(", ") {
            let test = test.trim_matches('`').to_string();
            assert!(known.contains(&test), "{}-{}: there is no test {test}", row.section, row.number);
            named.insert(test);
        }
    }
    let missing: Vec<_> = known.difference(&named).collect();
    assert!(missing.is_empty(), "the table does not name {missing:?}");
    assert!(named.len() > 100, "{}", named.len());
}

#[test]
fn the_statements_of_a_section_are_all_there_in_their_order() {
    let mut last: Option<(Vec<u32>, u32)> = None;
    for row in rows() {
        assert!(["broker", "client", "both"].contains(&row.side.as_str()), "{}", row.side);
        let section: Vec<u32> = row.section.split('.').map(|part| part.parse().unwrap()).collect();
        let first = if row.section == "2.2.1" { 2 } else { 1 };
        let wanted = match &last {
            Some((before, number)) if *before == section => number + 1,
            Some((before, _)) => {
                assert!(*before < section, "{} comes too late", row.section);
                first
            }
            None => first,
        };
        assert_eq!(row.number, wanted, "section {}", row.section);
        last = Some((section, row.number));
    }
}
