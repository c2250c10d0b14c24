//! Batches of environments: the same numbers for the same seeds, however many there are and whoever steps them.

use haltere_gym::{
    Action, Autoreset, Batch, FIELDS, Limits, Observation, Outcomes, Pace, Plan, Reward, Stacked, Terms,
};
use haltere_net::rng::Streams;
use haltere_net::{Rate, Span};
use haltere_sim::Scenario;
use std::sync::Arc;

/// A link of Aurora's workload, with flows of these contenders.
fn scenario(rate: &str, delay: &str, loss: &str, contenders: &[&str], size: Option<&str>) -> Arc<Scenario> {
    let size = size.map_or(String::new(), |size| format!(r#","size":"{size}""#));
    let flows: Vec<_> =
        contenders.iter().map(|contender| format!(r#"{{"contender":"{contender}","app":"raw"{size}}}"#)).collect();
    let json = format!(
        r#"{{"duration":"300s","topology":{{"kind":"point-to-point","link":{{"rate":"{rate}","queue":"50p",
        "down":{{"delay":"{delay}","loss":"{loss}"}},"up":{{"delay":"{delay}"}}}}}},"flows":[{}]}}"#,
        flows.join(",")
    );
    Arc::new(Scenario::from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}")))
}

fn plan() -> Plan {
    let scenarios = vec![
        scenario("3Mbit/s", "50ms", "1%", &["tcp/cubic"], None),
        scenario("6Mbit/s", "20ms", "0%", &["tcp/cubic"], None),
        scenario("2Mbit/s", "100ms", "3%", &["quic/cubic"], None),
    ];
    Plan {
        scenarios,
        agents: vec![0],
        terms: Terms {
            observation: Stacked { of: Observation::Aurora, history: 10 },
            action: Action::Aurora(Limits::AURORA),
            pace: Pace::Rtts(1.0),
            delay: Span::ZERO,
        },
        reward: Reward::Aurora,
        start: None,
        steps: Some(12),
    }
}

fn batch(plan: Plan, count: usize, autoreset: Autoreset, threads: usize) -> Batch {
    plan.check().unwrap();
    Batch::new(plan, count, 7, autoreset, threads)
}

fn begin(batch: &mut Batch) -> Outcomes {
    let n = batch.len();
    batch.reset(&vec![None; n], &vec![true; n]).unwrap()
}

/// The action of environment `i` in a step, whatever else there is.
fn action(i: usize, step: usize) -> f64 {
    4.0 * Streams::new(i as u64, step as u64).named("test").normal()
}

/// The observations and rewards of environment `i` over so many steps.
fn course(count: usize, threads: usize, i: usize, autoreset: Autoreset) -> (Vec<Vec<f32>>, Vec<f64>) {
    let mut batch = batch(plan(), count, autoreset, threads);
    let width = plan().terms.observation.len();
    let of = |outcomes: &Outcomes| outcomes.observations[i * width..(i + 1) * width].to_vec();
    let (mut observations, mut rewards) = (vec![of(&begin(&mut batch))], Vec::new());
    for step in 0..30 {
        let actions: Vec<f64> = (0..count).map(|i| action(i, step)).collect();
        let outcomes = batch.step(&actions).unwrap();
        observations.push(of(&outcomes));
        rewards.push(outcomes.rewards[i]);
    }
    (observations, rewards)
}

#[test]
fn equal_seeds_give_equal_numbers_with_any_number_of_environments_and_threads() {
    for autoreset in [Autoreset::NextStep, Autoreset::SameStep] {
        let alone = course(3, 1, 2, autoreset);
        assert_eq!(alone, course(3, 3, 2, autoreset));
        assert_eq!(alone, course(17, 4, 2, autoreset));
        assert_ne!(alone, course(3, 1, 1, autoreset), "other seeds are other runs");
    }
}

#[test]
fn a_seed_begins_the_same_episodes_again() {
    let mut batch = batch(plan(), 1, Autoreset::Disabled, 1);
    let mut first = |seed| {
        batch.reset(&[seed], &[true]).unwrap();
        let found: Vec<_> = (0..5).map(|step| batch.step(&[action(0, step)]).unwrap()).collect();
        found
    };
    let (a, b, again, next) = (first(Some(3)), first(None), first(Some(3)), first(None));
    assert_eq!((&a, &b), (&again, &next));
    assert_ne!(a, b);
}

#[test]
fn the_next_step_resets_or_the_same_one_or_none_does() {
    let ends = |autoreset| {
        let mut batch = batch(plan(), 1, autoreset, 1);
        begin(&mut batch);
        (1..=14).map(|_| batch.step(&[0.0])).collect::<Vec<_>>()
    };
    let next = ends(Autoreset::NextStep);
    let truncated: Vec<_> = next.iter().map(|outcomes| outcomes.as_ref().unwrap().truncated[0]).collect();
    assert_eq!(truncated, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
    let neutral: Vec<f32> = [0.0, 1.0, 1.0].repeat(10);
    let reset = next[12].as_ref().unwrap();
    assert_eq!((&reset.observations, reset.rewards[0]), (&neutral, 0.0));
    let same = ends(Autoreset::SameStep);
    let last = same[11].as_ref().unwrap();
    assert_eq!((last.truncated[0], &last.observations), (1, &neutral));
    assert_eq!(last.last, [(0, next[11].as_ref().unwrap().observations.clone())]);
    assert_eq!(last.rewards, next[11].as_ref().unwrap().rewards);
    assert!(same[12].as_ref().unwrap().last.is_empty());
    let disabled = ends(Autoreset::Disabled);
    assert!(disabled[11].is_ok());
    assert!(disabled[12].as_ref().unwrap_err().contains("call reset before step"));
}

#[test]
fn a_rate_below_the_links_is_delivered_without_a_queue_and_one_above_is_not() {
    let interval = |bps: f64| {
        let limits = Limits { least: Rate::from_bps(100_000), most: Rate::from_bps(20_000_000) };
        let scenarios = vec![scenario("6Mbit/s", "20ms", "0%", &["tcp/cubic"], None)];
        let plan = Plan {
            scenarios,
            terms: Terms { action: Action::Rate(limits), pace: Pace::Every(Span::from_millis(500)), ..plan().terms },
            reward: Reward::Nothing,
            steps: None,
            ..plan()
        };
        let mut batch = batch(plan, 1, Autoreset::Disabled, 1);
        begin(&mut batch);
        let outcomes = (0..6).map(|_| batch.step(&[bps]).unwrap()).last().unwrap();
        let of = |name| outcomes.intervals[FIELDS.iter().position(|field| field.name == name).unwrap()];
        (of("delivery_rate_bps"), of("mean_rtt_s"), of("loss_ratio"))
    };
    let (delivered, rtt, lost) = interval(3e6);
    assert!((delivered / 3e6 - 1.0).abs() < 0.1 && (0.040..0.046).contains(&rtt) && lost == 0.0, "{delivered} {rtt}");
    let (delivered, rtt, lost) = interval(8e6);
    assert!((5.0e6..6.0e6).contains(&delivered) && rtt > 0.1 && lost > 0.1, "{delivered} {rtt} {lost}");
}

#[test]
fn a_late_action_leaves_the_interval_before_it_as_it_was() {
    let sent = |delay: Span, action: f64| {
        let plan = Plan {
            scenarios: vec![scenario("6Mbit/s", "20ms", "0%", &["tcp/cubic"], None)],
            terms: Terms { pace: Pace::Every(Span::from_millis(100)), delay, ..plan().terms },
            ..plan()
        };
        let mut batch = batch(plan, 1, Autoreset::Disabled, 1);
        begin(&mut batch);
        [action; 5].map(|action| batch.step(&[action]).unwrap().intervals[2])
    };
    let (prompt, late) = (sent(Span::ZERO, 40.0), sent(Span::from_millis(200), 40.0));
    let still = sent(Span::ZERO, 0.0);
    assert_eq!(late[..2], still[..2]);
    assert!(prompt[1] > still[1] && late[4] > still[4], "{prompt:?} {late:?} {still:?}");
}

#[test]
fn agents_of_one_bottleneck_each_see_their_own_flow() {
    let plan = Plan {
        scenarios: vec![scenario("4Mbit/s", "20ms", "0%", &["tcp/cubic", "quic/bbr"], None)],
        agents: vec![1, 0],
        terms: Terms {
            action: Action::Rate(Limits::AURORA),
            pace: Pace::Every(Span::from_millis(500)),
            ..plan().terms
        },
        ..plan()
    };
    let mut batch = batch(plan, 1, Autoreset::Disabled, 1);
    begin(&mut batch);
    let outcomes = (0..8).map(|_| batch.step(&[2.4e6, 0.8e6]).unwrap()).last().unwrap();
    let rate = |agent: usize| outcomes.intervals[agent * FIELDS.len() + 13];
    assert_eq!(FIELDS[13].name, "delivery_rate_bps");
    assert!((rate(0) / 2.4e6 - 1.0).abs() < 0.1 && (rate(1) / 0.8e6 - 1.0).abs() < 0.1, "{} {}", rate(0), rate(1));
    assert_eq!(outcomes.observations.len(), 60);
}

#[test]
fn a_flow_that_begins_later_has_neutral_observations_until_then_and_its_own_first_rate() {
    let json = r#"{"duration":"300s","topology":{"kind":"point-to-point","link":{"rate":"6Mbit/s","queue":"50p",
        "down":{"delay":"20ms"},"up":{"delay":"20ms"}}},"flows":[{"contender":"tcp/cubic","app":"raw"},
        {"contender":"tcp/cubic","app":"raw","start":"2s"}]}"#;
    let plan = Plan {
        scenarios: vec![Arc::new(Scenario::from_json(json).unwrap())],
        agents: vec![0, 1],
        terms: Terms { pace: Pace::Every(Span::from_millis(500)), ..plan().terms },
        ..plan()
    };
    let mut batch = batch(plan, 1, Autoreset::Disabled, 1);
    begin(&mut batch);
    let seen: Vec<_> = (0..8).map(|_| batch.step(&[1.0, 40.0]).unwrap()).collect();
    let of = |step: usize, field: usize| seen[step].intervals[FIELDS.len() + field];
    assert_eq!((FIELDS[2].name, FIELDS[18].name), ("sent_bytes", "pacing_rate_bps"));
    assert_eq!((of(1, 2), &seen[1].observations[30..]), (0.0, &[0.0, 1.0, 1.0].repeat(10)[..]));
    // The initial window of ten packets per RTT of 40 ms, before the first of its own actions doubles it.
    let (first, second) = (of(3, 18), of(4, 18));
    assert!((2.5e6..3.0e6).contains(&first) && (second / first - 2.0).abs() < 0.01, "{first} {second}");
}

#[test]
fn orcas_factor_is_followed_by_the_flows_own_congestion_control() {
    let plan = Plan {
        scenarios: vec![scenario("6Mbit/s", "20ms", "0%", &["tcp/cubic"], None)],
        terms: Terms {
            observation: Stacked { of: Observation::Orca, history: 1 },
            action: Action::Orca,
            pace: Pace::Every(Span::from_millis(20)),
            delay: Span::ZERO,
        },
        reward: Reward::Orca,
        steps: Some(400),
        ..plan()
    };
    let run = |actions: &dyn Fn(usize) -> f64| {
        let mut batch = batch(plan.clone(), 1, Autoreset::Disabled, 1);
        begin(&mut batch);
        (0..300).map(|step| batch.step(&[actions(step)]).unwrap().intervals[16]).collect::<Vec<_>>()
    };
    assert_eq!(FIELDS[16].name, "window_bytes");
    let (left, cut) = (run(&|_| 0.0), run(&|step| if step == 200 { -1.0 } else { 0.0 }));
    assert_eq!(left[..200], cut[..200]);
    assert!(cut[200] < 0.5 * left[200] && cut[299] > cut[200], "{} {} {}", left[200], cut[200], cut[299]);
}

#[test]
fn a_flow_that_is_done_terminates_its_episode() {
    let plan = Plan {
        scenarios: vec![scenario("6Mbit/s", "20ms", "0%", &["tcp/cubic"], Some("200kB"))],
        steps: None,
        ..plan()
    };
    let mut batch = batch(plan, 1, Autoreset::NextStep, 1);
    begin(&mut batch);
    let end = (0..200).find(|_| batch.step(&[4.0]).unwrap().terminated[0] == 1);
    assert!(end.is_some_and(|steps| steps > 3), "{end:?}");
}

#[test]
fn flows_begin_at_a_part_of_the_slowest_links_rate_that_each_episode_draws() {
    let plan = Plan {
        start: Some((0.3, 1.5)),
        scenarios: vec![scenario("6Mbit/s", "20ms", "0%", &["tcp/cubic"], None)],
        ..plan()
    };
    let mut batch = batch(plan, 20, Autoreset::Disabled, 1);
    let outcomes = begin(&mut batch);
    assert_eq!(FIELDS[18].name, "pacing_rate_bps");
    let rates: Vec<f64> = outcomes.intervals.chunks(FIELDS.len()).map(|interval| interval[18]).collect();
    assert!(rates.iter().all(|rate| (1.8e6..9.0e6).contains(rate)), "{rates:?}");
    assert!(rates.iter().any(|rate| *rate < 4e6) && rates.iter().any(|rate| *rate > 7e6), "{rates:?}");
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let refused = |plan: Plan| plan.check().unwrap_err().to_string();
    let of = |contender| vec![scenario("6Mbit/s", "20ms", "0%", &[contender], None)];
    assert!(refused(Plan { scenarios: Vec::new(), ..plan() }).starts_with("scenarios: "));
    assert!(refused(Plan { agents: vec![1], ..plan() }).starts_with("scenarios[0].agents: there is no flow 1"));
    assert!(refused(Plan { agents: vec![0, 0], ..plan() }).contains("two agents"));
    let orca = Plan { terms: Terms { action: Action::Orca, ..plan().terms }, ..plan() };
    assert!(
        refused(Plan { scenarios: of("tcp/bbr"), ..orca }).contains("scenarios[0].flows[0]: tcp/bbr has no window")
    );
    assert!(refused(Plan { scenarios: of("mptcp/cubic"), ..plan() }).contains("a window for each path"));
    let fast = vec![scenario("100Mbit/s", "20ms", "0%", &["tcp/cubic"], None)];
    assert!(refused(Plan { scenarios: fast, ..plan() }).contains("give other rates"));
    assert!(refused(Plan { start: Some((2.0, 1.0)), ..plan() }).starts_with("start: "));
    let never = Terms { pace: Pace::Rtts(f64::NAN), ..plan().terms };
    assert!(refused(Plan { terms: never, ..plan() }).starts_with("interval: "));
    let mut batch = batch(plan(), 2, Autoreset::NextStep, 1);
    assert!(batch.step(&[0.0, 0.0]).unwrap_err().contains("environment 0: it was not reset"));
    begin(&mut batch);
    assert!(batch.step(&[0.0, f64::NAN]).unwrap_err().contains("environment 1: the action of agent 0 is no number"));
    assert!(batch.step(&[0.0]).unwrap_err().contains("give 2"));
}
