//! Cells of LTE in scenarios: from the file to the result.

use crate::common;

use common::{result, scenario};
use haltere_sim::network::describe;
use haltere_sim::{Scenario, run, trace};
use serde_json::{Value, json};

fn cell(lte: Value, flows: Value) -> Value {
    json!({
        "topology": { "kind": "lte", "lte": lte, "link": { "rate": "1Gbit/s", "delay": "10ms" } },
        "flows": flows,
    })
}

/// Without fading and shadowing the rate is that of the formula: 10 MHz have 50 resource blocks of 180 kHz.
#[test]
fn a_user_downloads_at_the_rate_of_its_channel() {
    for (sinr_db, direction, most) in [(0.0, "down", 0.6), (10.0, "down", 0.6 * 11f64.log2()), (0.0, "up", 0.4)] {
        let user = json!({ "users": [{ "sinr_db": sinr_db }], "fading": "none", "antennas": 1, "block_error": "0%" });
        let given =
            cell(user, json!([{ "contender": "tcp/cubic", "size": "4MB", "app": "raw", "direction": direction }]));
        let result = result(&given);
        assert_eq!(result.status, "ok", "{:?}", result.error);
        let throughput = result.flows[0].throughput_bps.unwrap();
        let capacity = 9e6 * most;
        assert!(
            (0.85..1.0).contains(&(throughput / capacity)),
            "{sinr_db} dB {direction}: {throughput} of {capacity} bit/s"
        );
        let carriers = &result.cells[0].carriers;
        let found = if direction == "down" { carriers.down_efficiency } else { carriers.up_efficiency };
        assert!((0.97..=1.0).contains(&(found.unwrap() / most)), "{found:?} of {most} bit/s/Hz");
    }
}

#[test]
fn users_of_one_channel_share_it_evenly_and_what_is_lost_is_counted() {
    let user = json!({ "sinr_db": 5 });
    let given = cell(
        json!({ "users": [user, user, user], "queue": "20p" }),
        json!([{ "contender": "tcp/newreno", "app": "raw", "pairs": "all" }]),
    );
    let mut given = given;
    given["duration"] = json!("30s");
    let result = result(&given);
    assert_eq!(result.status, "ok", "{:?}", result.error);
    let rates: Vec<f64> = result.flows.iter().map(|flow| flow.goodput_bps.unwrap()).collect();
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    assert!(sum * sum / (3.0 * squares) > 0.95, "{rates:?}");
    assert!(result.links.iter().any(|link| link.link == "user 0" && link.dropped_queue > 0));
    assert_eq!((result.cells[0].cell.as_str(), result.cells[0].stations), ("lte", 3));
}

#[test]
fn a_run_with_a_cell_of_lte_is_repeated_to_the_byte() {
    let given = cell(
        json!({ "users": 4, "speed": "30km/h", "case": 3 }),
        json!([{ "contender": "quic/cubic", "size": "100kB", "pairs": "all" }]),
    );
    let text = |replication| serde_json::to_string(&run(&scenario(&given), 7, replication).unwrap()).unwrap();
    assert_eq!(text(0), text(0));
    assert_ne!(text(0), text(1));
    let traced = trace(&scenario(&given), 7, 0).unwrap();
    assert_eq!(serde_json::to_string(&traced.result).unwrap(), text(0));
    assert!(traced.series.iter().any(|s| s.who == "flow 3" && s.name == "cwnd"));
}

/// Cells and flows of all kinds: what holds of every result holds of theirs. A user out of coverage may fail.
#[test]
fn many_cells_of_lte_have_results_without_a_flaw() {
    let mut stream = haltere_net::rng::Streams::new(1, 0).named("cells of LTE");
    let mut ended = 0;
    for number in 0..60 {
        let mut pick = |values: &[Value]| values[stream.below(values.len() as u64) as usize].clone();
        let size = json!("60000B");
        let mut flow = json!({
            "contender": pick(&["tcp/cubic", "quic/bbr", "tcp/newreno", "rtp/gcc", "rtp/nada"].map(Value::from)),
            "direction": pick(&["down", "up"].map(Value::from)),
            "pairs": "all",
        });
        let given_call = flow["contender"].as_str().unwrap().starts_with("rtp");
        flow[if given_call { "duration" } else { "size" }] = if given_call { json!("2s") } else { size };
        let mut given = cell(
            json!({
                "users": pick(&[1, 2, 5, 9].map(Value::from)),
                "radius": pick(&["100m", "577m"].map(Value::from)),
                "bandwidth": pick(&["3MHz", "10MHz", "20MHz"].map(Value::from)),
                "activity": pick(&["0%", "50%", "100%"].map(Value::from)),
                "speed": pick(&["0km/h", "3km/h", "300km/h"].map(Value::from)),
                "fading": pick(&["none", "flat", "typical-urban"].map(Value::from)),
                "antennas": pick(&[1, 2, 4].map(Value::from)),
                "window": pick(&["1ms", "100ms", "2s"].map(Value::from)),
                "block_error": pick(&["0%", "10%", "50%"].map(Value::from)),
                "queue": pick(&["5p", "1000p", "fq_codel", "pfifo_fast"].map(Value::from)),
            }),
            json!([flow]),
        );
        if given_call {
            given["duration"] = json!("4s");
        }
        let result = result(&given);
        assert_eq!(common::flaw(&given, &result), None, "{number}: {given}");
        ended += usize::from(result.status == "ok");
    }
    assert!(ended >= 45, "{ended} of 60");
}

#[test]
fn what_is_wrong_with_a_cell_of_lte_is_refused_with_place_and_remedy() {
    let said = |text: Value| {
        let flows = json!([{ "contender": "tcp/cubic", "size": "1kB" }]);
        let wrong = Scenario::from_json(&cell(text, flows).to_string()).unwrap_err();
        (wrong.path, wrong.message)
    };
    let cases = [
        (json!({ "users": 0 }), "topology.lte.users", "from 1 to 200"),
        (json!({ "users": "many" }), "topology.lte.users", "a number of users"),
        (json!({ "case": 2 }), "topology.lte.case", "give 1 or 3"),
        (json!({ "case": 1, "radius": "100m" }), "topology.lte.radius", "leave it or the case out"),
        (json!({ "radius": "1m" }), "topology.lte.radius", "from 50m to 5000m"),
        (json!({ "bandwidth": "7MHz" }), "topology.lte.bandwidth", "10MHz"),
        (json!({ "speed": "900km/h" }), "topology.lte.speed", "to 500km/h"),
        (json!({ "speed": "3" }), "topology.lte.speed", "km/h"),
        (json!({ "antennas": 9 }), "topology.lte.antennas", "to 8"),
        (json!({ "fading": "rician" }), "topology.lte.fading", "typical-urban"),
        (json!({ "queue": "1bdp" }), "topology.lte.queue", "1000p"),
        (json!({ "up": { "block_error": "95%" } }), "topology.lte.up.block_error", "90%"),
        (json!({ "mtu": "100B" }), "topology.lte.mtu", "576B"),
        (json!({ "users": [{ "distance": "10m", "sinr_db": 1 }] }), "topology.lte.users[0].sinr_db", "leave it or"),
        (json!({ "stations": 3 }), "topology.lte.stations", "users"),
    ];
    for (text, path, remedy) in cases {
        let (at, message) = said(text.clone());
        assert_eq!(at, path, "{text}: {message}");
        assert!(message.contains(remedy), "{text}: {message}");
    }
    let mut pair = cell(json!({ "users": 2 }), json!([{ "contender": "tcp/cubic", "size": "1kB", "pair": 2 }]));
    let wrong = Scenario::from_json(&pair.to_string()).unwrap_err();
    assert!(wrong.path == "flows[0].pair" && wrong.message.contains("2 users, numbered from 0 to 1"), "{wrong}");
    pair["flows"][0]["pair"] = json!(1);
    let Err(wrong) = describe(&scenario(&pair), 1, 0) else { panic!("a rig cannot build a cell of LTE") };
    assert!(wrong.path == "topology.lte" && wrong.message.contains("fidelity \"model\""), "{wrong}");
}
