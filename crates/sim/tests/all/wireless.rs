//! Cellular links, satellites and presets in scenarios.

use crate::common;

use common::{result, scenario};
use haltere_sim::scenario::{Link, Preset};
use haltere_sim::{RunResult, Scenario, run};
use serde_json::{Value, json};

fn point_to_point(link: Value) -> Value {
    json!({
        "topology": { "kind": "point-to-point", "link": link },
        "flows": [{ "contender": "tcp/cubic", "size": "1MB" }],
    })
}

fn refused(link: Value) -> (String, String) {
    let wrong = Scenario::from_json(&point_to_point(link).to_string()).unwrap_err();
    (wrong.path, wrong.message)
}

/// The RTTs of small requests, one a second, for two minutes, in ms.
fn rtts(topology: Value) -> Vec<f64> {
    let probe = json!({ "kind": "icmp", "size": "64B", "interval": "1s", "count": 120, "mode": "free-running" });
    let result = result(&json!({ "topology": topology, "probes": [probe] }));
    result.probes[0].rtt_s.iter().flatten().map(|s| s * 1e3).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn block_errors_delay_packets_and_lose_none() {
    let run = |error: &str| {
        let cellular = json!({ "tti": "1ms", "block_error": error, "harq": "8ms", "rlc": "40ms" });
        let link = json!({ "rate": "20Mbit/s", "delay": "20ms", "down": { "cellular": cellular } });
        result(&point_to_point(link))
    };
    let (clean, errors) = (run("0%"), run("10%"));
    for result in [&clean, &errors] {
        assert_eq!(result.links.iter().map(|l| l.dropped_loss).sum::<u64>(), 0);
        assert_eq!(result.flows[0].retransmitted_packets, 0);
    }
    let mean = |r: &RunResult| r.flows[0].mean_rtt_s.unwrap();
    assert!(mean(&errors) > mean(&clean) + 0.002, "{} {}", mean(&clean), mean(&errors));
}

/// Each 15 s another satellite, and a pause of 40 ms before it.
#[test]
fn satellites_follow_each_other_on_both_directions() {
    let link = json!({ "rate": "50Mbit/s", "delay": "5ms", "satellite": { "orbit": "leo", "handover": "0ms" } });
    let rtts = rtts(json!({ "kind": "point-to-point", "link": link }));
    assert_eq!(rtts.len(), 120);
    for slot in rtts.chunks(15) {
        assert!(slot[1..].iter().all(|rtt| (rtt - slot[1]).abs() < 0.001), "{slot:?}");
        assert!((10.0 + 7.3..10.0 + 15.1).contains(&slot[1]), "{slot:?}");
    }
    let satellites: Vec<f64> = rtts.chunks(15).map(|slot| slot[1]).collect();
    assert!(satellites.windows(2).all(|pair| (pair[0] - pair[1]).abs() > 0.001), "{satellites:?}");
}

#[test]
fn packets_wait_for_the_next_satellite() {
    let given = |handover: &str| {
        let satellite = json!({ "orbit": "leo", "interval": "1s", "handover": handover });
        let mut given = point_to_point(json!({ "rate": "2Mbit/s", "delay": "5ms", "satellite": satellite }));
        given["flows"][0]["contender"] = json!("tcp/newreno");
        result(&given)
    };
    let (none, long) = (given("0ms"), given("200ms"));
    // 1 MB at 2 Mbit/s are 4 s, with some four handovers of 200 ms.
    let later = long.flows[0].completion_s.unwrap() - none.flows[0].completion_s.unwrap();
    assert!((0.6..1.3).contains(&later), "{later} s");
    assert_eq!(long.links.iter().map(|l| l.dropped_outage).sum::<u64>(), 0);
}

#[test]
fn a_geostationary_satellite_stands_still() {
    let link = json!({ "satellite": { "orbit": "geo", "elevation": 90 } });
    let rtts = rtts(json!({ "kind": "point-to-point", "link": link }));
    assert!(rtts.iter().all(|rtt| (rtt - 477.5).abs() < 1.0), "{rtts:?}");
}

/// Round-trip times are those of the table of presets.
#[test]
fn presets_have_the_round_trip_times_of_their_sources() {
    for (preset, range) in [
        ("4g", 44.1..66.4),
        ("5g", 18.0..26.0),
        ("geo", 628.0..632.0),
        ("leo", 43.0..47.0),
        ("lorawan-backhaul", 60.0..120.0),
    ] {
        let median = median(rtts(json!({ "kind": "point-to-point", "link": { "preset": preset } })));
        println!("{preset}: {median:.1} ms");
        assert!(range.contains(&median), "{preset}: {median} ms");
    }
}

#[test]
fn every_preset_carries_every_transport() {
    for preset in Preset::ALL {
        let name = preset.describe().0;
        for contender in ["tcp/cubic", "quic/bbr"] {
            let topology = match preset.is_cell() {
                true => json!({ "kind": "cell", "cell": { "preset": name } }),
                false => json!({ "kind": "point-to-point", "link": { "preset": name } }),
            };
            let flows = json!([{ "contender": contender, "size": "300kB" }]);
            let result = result(&json!({ "topology": topology, "flows": flows }));
            assert_eq!(result.status, "ok", "{name}: {:?}", result.error);
        }
    }
}

/// Fields beside a preset replace its values, also where the preset has one for each direction.
#[test]
fn fields_beside_a_preset_go_before_it() {
    let configs = |spec: Value| Link::from_json(&spec.to_string()).map(|link| (link.down, link.up)).unwrap();
    let (down, up) = configs(json!({ "preset": "4g", "rate": "10Mbit/s", "up": { "cellular": { "tti": "2ms" } } }));
    assert_eq!([&down, &up].map(|config| config.rate.unwrap().as_bps()), [10_000_000; 2]);
    assert_eq!(down.cellular.unwrap().block_error, 0.1);
    assert_eq!((up.cellular.unwrap().block_error, up.cellular.unwrap().grant.as_nanos()), (0.0, 0));
    let (down, _) = configs(json!({ "preset": "leo", "satellite": { "orbit": "geo" }, "loss": "0%" }));
    assert!(down.orbit.is_none() && down.delay.as_secs_f64() > 0.25);
    let cell = json!({ "kind": "cell", "cell": { "preset": "wifi", "stations": 2, "retries": 0, "loss": "20%" } });
    let flows = json!([{ "contender": "quic/cubic", "size": "100kB", "pairs": "all" }]);
    let given = scenario(&json!({ "topology": cell, "flows": flows }));
    let result = run(&given, 1, 0).unwrap();
    assert!(result.cells[0].retries == 0 && result.cells[0].dropped_retries > 5);
    // A standard without block acknowledgements takes the preset without them, and refuses the field.
    let cell = |fields: Value| {
        Scenario::from_json(&json!({ "topology": { "kind": "cell", "cell": fields }, "flows": flows }).to_string())
    };
    assert!(cell(json!({ "preset": "ns3", "standard": "802.11a" })).is_ok());
    assert!(cell(json!({ "preset": "ns3", "aggregate": 1 })).is_ok());
    let refused = cell(json!({ "standard": "802.11a", "block_ack_request": true })).unwrap_err();
    assert_eq!(refused.path, "topology.cell.block_ack_request");
}

#[test]
fn what_is_wrong_is_refused_with_place_and_remedy() {
    let geo = |field: &str, value: Value| json!({ "satellite": { "orbit": "geo", field: value } });
    let leo = |field: &str, value: Value| json!({ "satellite": { "orbit": "leo", field: value } });
    let cellular = |field: &str, value: Value| json!({ "cellular": { field: value } });
    let up = |field: &str, value: Value| json!({ "up": { "cellular": { field: value } } });
    let cases = [
        (geo("altitude", json!("550km")), "topology.link.satellite.altitude", "choose orbit = \"leo\""),
        (geo("elevation", json!(91)), "topology.link.satellite.elevation", "from 0 to 90"),
        (leo("elevation", json!(9)), "topology.link.satellite.elevation", "least_elevation"),
        (leo("altitude", json!("5km")), "topology.link.satellite.altitude", "from 100km"),
        (leo("interval", json!("5ms")), "topology.link.satellite.interval", "from 1s"),
        (leo("handover", json!("20s")), "topology.link.satellite.handover", "not shorter"),
        (cellular("block_error", json!("95%")), "topology.link.cellular.block_error", "90%"),
        (cellular("block_error", json!("5%")), "topology.link.cellular.tti", "\"1ms\""),
        (up("tti", json!("1us")), "topology.link.up.cellular.tti", "62500ns"),
        (json!({ "preset": "wifi" }), "topology.link.preset", "cell.preset"),
        (json!({ "preset": "6g" }), "topology.link.preset", "lorawan-backhaul"),
    ];
    for (link, path, remedy) in cases {
        let (at, message) = refused(link.clone());
        assert_eq!(at, path, "{link}: {message}");
        assert!(message.contains(remedy), "{link}: {message}");
    }
    let mut outage = leo("least_elevation", json!(30));
    outage["outage"] = json!([{ "from": "1s", "to": "2s" }]);
    assert_eq!(refused(outage).0, "topology.link.outage");
    let cell = json!({ "topology": { "kind": "cell", "cell": { "preset": "4g" } }, "flows": [{ "contender": "tcp/cubic", "size": "1kB" }] });
    assert_eq!(Scenario::from_json(&cell.to_string()).unwrap_err().path, "topology.cell.preset");
}
