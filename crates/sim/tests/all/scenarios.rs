//! Ten thousand random scenarios: each ends well, or fails for an expected reason; no packet is made or lost without a
//! cause; nothing stalls.

use crate::common;

use common::generator::{Hope, case};
use common::{flaw, scenario};
use haltere_sim::run;

fn cases(numbers: std::ops::Range<u64>) {
    let mut wrong = Vec::new();
    for number in numbers {
        let case = case(number);
        let result = run(&scenario(&case.scenario), number, 0).unwrap_or_else(|e| panic!("case {number}: {e}"));
        let ok = result.status == "ok";
        let hope = match case.hope {
            Hope::Sure if !ok => Some(format!("failed on a fair path: {:?}", result.error)),
            Hope::None if ok => Some("got through where nothing does".to_string()),
            _ => None,
        };
        if let Some(flaw) = flaw(&case.scenario, &result).or(hope) {
            wrong.push(format!("case {number}: {flaw}\n{}\n{:?}\n", case.scenario, result));
        }
    }
    assert!(wrong.is_empty(), "{} cases went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

// In parts, so that they run in parallel.
#[test]
fn the_first_2500() {
    cases(0..2500);
}

#[test]
fn the_second_2500() {
    cases(2500..5000);
}

#[test]
fn the_third_2500() {
    cases(5000..7500);
}

#[test]
fn the_fourth_2500() {
    cases(7500..10_000);
}

/// Otherwise the tests would run much and check little.
#[test]
fn most_scenarios_must_end_well_and_some_must_not() {
    let count = |hope| (0..10_000).filter(|&n| case(n).hope == hope).count();
    assert!(count(Hope::Sure) > 4_000, "{}", count(Hope::Sure));
    assert!(count(Hope::None) > 80, "{}", count(Hope::None));
}
