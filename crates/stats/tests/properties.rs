//! Properties of the statistics that must always hold.

use haltere_stats::{Better, Paired, Side, Verdict, leads, mean, p_of_shift, trimmed_mean, typical};
use proptest::collection::vec;
use proptest::prelude::*;

const CONFIDENCE: f64 = 0.95;

/// Values of some contenders, as many of each.
fn contenders() -> impl Strategy<Value = Vec<Vec<f64>>> {
    (2..5_usize, prop_oneof![1..4_usize, 6..13_usize, 14..20_usize])
        .prop_flat_map(|(count, n)| vec(vec(0.5..2.0_f64, n), count))
}

/// A difference of a pair, often none.
fn some_zeros() -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(0.0), 1 => -1.0..1.5_f64, 1 => Just(1.0)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn p_is_significant_exactly_where_the_interval_leaves_out_zero(values in vec(-1.0..1.5_f64, 6..20)) {
        let (low, high) = trimmed_mean(&values, CONFIDENCE).unwrap().ends.unwrap();
        let p = p_of_shift(&values, 0.0).unwrap();
        prop_assert_eq!(low > 0.0 || high < 0.0, p <= 1.0 - CONFIDENCE);
        prop_assert!((0.0..=1.0).contains(&p));
    }

    #[test]
    fn pairs_without_a_difference_say_nothing(values in vec(some_zeros(), 2..9), zeros in 0..3_usize) {
        // Where nothing is trimmed, the test is that of the others alone.
        let others: Vec<f64> = values.iter().copied().filter(|value| *value != 0.0).collect();
        let padded = [vec![0.0; zeros.min(9 - values.len())], values].concat();
        let expected = if others.is_empty() { 1.0 } else { p_of_shift(&others, 0.0).unwrap() };
        prop_assert!((p_of_shift(&padded, 0.0).unwrap() - expected).abs() < 1e-12, "{padded:?}");
    }

    #[test]
    fn p_and_interval_agree_where_many_pairs_do_not_differ(values in vec(some_zeros(), 6..14)) {
        let (low, high) = trimmed_mean(&values, CONFIDENCE).unwrap().ends.unwrap();
        let p = p_of_shift(&values, 0.0).unwrap();
        prop_assert_eq!(low > 0.0 || high < 0.0, p <= 1.0 - CONFIDENCE, "{:?}: {} to {}, {}", values, low, high, p);
    }

    #[test]
    fn a_shift_shifts_and_a_factor_stretches(values in vec(0.1..10.0_f64, 6..20), by in 0.1..10.0_f64) {
        let of = |values: &[f64]| trimmed_mean(values, CONFIDENCE).unwrap();
        let (before, moved) = (of(&values), of(&values.iter().map(|value| value + by).collect::<Vec<_>>()));
        prop_assert!((before.value + by - moved.value).abs() < 1e-9);
        prop_assert!((before.ends.unwrap().0 + by - moved.ends.unwrap().0).abs() < 1e-6);
        let geometric = |values: &[f64]| typical(values, CONFIDENCE).unwrap();
        let (one, other) = (geometric(&values), geometric(&values.iter().map(|value| value * by).collect::<Vec<_>>()));
        prop_assert!((one.value * by / other.value - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_interval_holds_its_estimate(values in vec(0.1..10.0_f64, 3..30)) {
        for found in [mean(&values, CONFIDENCE), typical(&values, CONFIDENCE), trimmed_mean(&values, CONFIDENCE)] {
            let found = found.unwrap();
            if let Some((low, high)) = found.ends {
                prop_assert!(low <= found.value * (1.0 + 1e-12) && found.value <= high * (1.0 + 1e-12), "{found:?}");
            }
        }
    }

    #[test]
    fn turning_a_pair_round_turns_its_ratio_round(a in vec(0.5..2.0_f64, 10), b in vec(0.5..2.0_f64, 10)) {
        let (one, other) = (Paired::new(&a, &b, CONFIDENCE).unwrap(), Paired::new(&b, &a, CONFIDENCE).unwrap());
        prop_assert!((one.ratio().value * other.ratio().value - 1.0).abs() < 1e-12);
        prop_assert!((one.p().unwrap() - other.p().unwrap()).abs() < 1e-12);
    }

    #[test]
    fn nobody_is_ahead_of_the_first(values in contenders()) {
        let values: Vec<Vec<Option<f64>>> =
            values.into_iter().map(|own| own.into_iter().map(Some).collect()).collect();
        let names = (0..values.len()).map(|at| format!("c{at}")).collect();
        let verdict = Verdict {
            names, values, better: Better::Lower, alike: 0.05, has: "the lowest".into(), of: "time".into(), every: false,
        };
        let order = verdict.order().unwrap();
        prop_assert_eq!(order.len(), verdict.values.len());
        for lead in leads(&verdict.values, order[0], 0.05, CONFIDENCE).unwrap() {
            // Geometric means of times, and of ratios, agree where all have every replication.
            prop_assert!(lead.stands != Side::Above || lead.pair.n() >= 10, "{lead:?}");
            prop_assert_eq!(lead.exact(), lead.p.is_none());
        }
        prop_assert_eq!(verdict.lines().unwrap().len(), verdict.values.len());
    }
}
