//! Transfers and taps in namespaces of their own. They need root and are skipped, saying so, without it.
#![cfg(target_os = "linux")]

mod common;
#[path = "../../../tests/rust/skips.rs"]
mod skips;

use common::Pair;
use haltere_host::capture::Capture;
use serde_json::{Value, json};

fn flow(pair: &Pair, number: u16, size: u64) -> Value {
    let [server, client] = pair.paths();
    json!({
        "flow": number,
        "server": { "netns": server, "address": "10.0.0.1", "port": 5000 + number },
        "client": { "netns": client, "address": "10.0.0.2" },
        "congestion": "reno", "size": size,
    })
}

fn run(spec: &Value) -> Value {
    let text = haltere_host::transfers::run_json(&spec.to_string()).expect("runs");
    serde_json::from_str(&text).expect("is JSON")
}

#[test]
fn flows_of_several_sizes_all_arrive_and_tell_their_times_in_order() {
    let Some(pair) = Pair::new("sizes") else { return };
    let flows: Vec<_> = [1, 100_000, 1_000_000].iter().zip(0..).map(|(&size, i)| flow(&pair, i, size)).collect();
    let mut spec = json!({ "flows": flows, "time_limit_ns": 10_000_000_000u64, "sample_ns": 100_000 });
    spec["flows"][0]["client"]["port"] = json!(45_000);
    spec["flows"][2]["size"] = json!(30_000_000);
    let outcome = run(&spec);
    assert_eq!(outcome["flows"][0]["client_port"], 45_000);
    for (flow, size) in outcome["flows"].as_array().expect("flows").iter().zip([1, 100_000, 30_000_000]) {
        assert_eq!((&flow["status"], &flow["bytes"]), (&json!("ok"), &json!(size)), "{flow}");
        let times = ["handshake_s", "first_byte_s", "completion_s"].map(|t| flow[t].as_f64().expect("a time"));
        assert!(times.is_sorted() && times[0] > 0.0, "{times:?}");
        assert_eq!(flow["tcp_info"]["client"]["bytes_received"], json!(size));
        assert_eq!(flow["tcp_info"]["server"]["bytes_received"], json!(1));
    }
    let series = outcome["series"].as_array().expect("series");
    let cwnd = series.iter().find(|s| s["who"] == "flow 2" && s["name"] == "cwnd").expect("a window");
    let (t, v) = (cwnd["t_s"].as_array().expect("times"), cwnd["v"].as_array().expect("values"));
    assert!(cwnd["unit"] == "B" && t.len() == v.len() && v[0].as_f64() >= Some(10.0 * 1448.0), "{cwnd}");
    assert!(t.windows(2).all(|w| w[0].as_f64() < w[1].as_f64()) && v.windows(2).all(|w| w[0] != w[1]), "{cwnd}");
}

#[test]
fn a_connection_that_is_refused_and_one_that_is_too_slow_fail_with_a_reason() {
    let Some(pair) = Pair::new("fail") else { return };
    let mut endless = flow(&pair, 1, 1 << 40);
    let outcome = run(&json!({ "flows": [endless], "time_limit_ns": 50_000_000 }));
    let error = outcome["flows"][0]["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("not finished after ") && error.contains("time_limit"), "{error}");
    // The server listens, but where the client's packets do not come by.
    endless["server"]["netns"] = json!(pair.paths()[1]);
    endless["server"]["address"] = json!("127.0.0.1");
    endless["client"] = json!({ "netns": pair.paths()[0], "address": "127.0.0.1" });
    let outcome = run(&json!({ "flows": [endless], "time_limit_ns": 5_000_000_000u64 }));
    let error = outcome["flows"][0]["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("the client cannot connect: Connection refused"), "{error}");
}

#[test]
fn an_unlimited_flow_counts_what_came_after_measuring_began() {
    let Some(pair) = Pair::new("unlimited") else { return };
    let mut unlimited = flow(&pair, 0, 1);
    unlimited["size"] = Value::Null;
    let spec = |from: u64| {
        let (limit, duration) = (1_000_000_000u64, 60_000_000);
        json!({ "flows": [unlimited], "time_limit_ns": limit, "duration_ns": duration, "measure_from_ns": from })
    };
    let measured = run(&spec(30_000_000));
    let (bytes, all) = (&measured["flows"][0]["bytes"], &measured["flows"][0]["tcp_info"]["client"]["bytes_received"]);
    assert!(bytes.as_u64() < all.as_u64() && bytes.as_u64() > Some(0), "{bytes} of {all}");
    assert_eq!(measured["flows"][0]["status"], "ok");
}

#[test]
fn what_the_kernel_does_not_have_is_refused_with_the_field() {
    let Some(pair) = Pair::new("refuse") else { return };
    let refusal = |flow: Value| {
        let spec = json!({ "flows": [flow], "time_limit_ns": 1_000_000 });
        haltere_host::transfers::run_json(&spec.to_string()).expect_err("is refused").to_string()
    };
    let mut wrong = flow(&pair, 0, 1);
    wrong["congestion"] = json!("nonesuch");
    let text = refusal(wrong);
    assert!(
        text.starts_with("flows[0].congestion: ") && text.contains("it offers ") && text.contains("reno"),
        "{text}"
    );
    let mut wrong = flow(&pair, 0, 1);
    wrong["client"]["netns"] = json!("/run/netns/nonesuch");
    assert!(refusal(wrong).starts_with("flows[0].client.netns: cannot enter "));
    let mut wrong = flow(&pair, 0, 1);
    wrong["server"]["address"] = json!("10.9.9.9");
    assert!(refusal(wrong).starts_with("flows[0].server: cannot bind to 10.9.9.9:5000"));
    let mut wrong = flow(&pair, 0, 1);
    wrong["server"]["prt"] = json!(1);
    assert!(refusal(wrong).starts_with("flows[0].server.prt: unknown field"));
}

fn capture(pair: &Pair, flow: &Value, more: &Value) -> Capture {
    let [server, client] = pair.paths();
    let end = |tap: u32, address: &str, port: Value| json!({ "tap": tap, "address": address, "port": port });
    let mut spec = json!({
        "taps": [{ "netns": server, "interface": "v0" }, { "netns": client, "interface": "v0" }],
        "flows": [{
            "flow": flow["flow"], "protocol": "tcp",
            "server": end(0, "10.0.0.1", flow["server"]["port"].clone()), "client": end(1, "10.0.0.2", Value::Null),
        }],
        "links": [
            { "link": "wire", "direction": "down", "rate_bps": 1_000_000_000_000u64,
              "offered": { "tap": 0, "heading": "outgoing" }, "arrived": { "tap": 1, "heading": "incoming" } },
            { "link": "wire", "direction": "up",
              "offered": [{ "tap": 1, "heading": "outgoing" }], "arrived": [{ "tap": 0, "heading": "incoming" }] },
        ],
    });
    for (key, value) in more.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    let mut capture = Capture::new(&spec.to_string()).expect("is right");
    capture.start().expect("starts");
    capture
}

fn stop(mut capture: Capture) -> Value {
    serde_json::from_str(&capture.stop_json(None).expect("stops")).expect("is JSON")
}

#[test]
fn what_taps_count_agrees_with_the_kernel_and_with_itself() {
    let Some(pair) = Pair::new("taps") else { return };
    // No super-segments: each packet on the wire is one of TCP's.
    pair.without_offloads();
    let flow = flow(&pair, 0, 1_000_000);
    let capture = capture(&pair, &flow, &json!({}));
    let outcome = run(&json!({ "flows": [flow], "time_limit_ns": 10_000_000_000u64 }));
    let seen = stop(capture);
    let (transfer, flow) = (&outcome["flows"][0], &seen["flows"][0]);
    let (server, client) = (&transfer["tcp_info"]["server"], &transfer["tcp_info"]["client"]);
    assert_eq!((&seen["lost_records"], &seen["error"]), (&json!(0), &Value::Null));
    assert_eq!((&flow["payload_bytes"], &flow["sent_payload"]), (&json!(1_000_000), &server["bytes_sent"]));
    assert_eq!(flow["sent_packets"], server["data_segs_out"]);
    assert_eq!(flow["received_data_packets"], client["data_segs_in"]);
    assert_eq!(flow["retransmitted_packets"], server["total_retrans"]);
    let times = ["handshake_s", "first_byte_s", "completion_s"];
    assert!(times.map(|t| flow[t].as_f64().expect("a time")).is_sorted());
    assert!(times.iter().all(|t| flow[t].as_f64() <= transfer[t].as_f64()), "{flow} {transfer}");
    let least = server["min_rtt"].as_f64().expect("a number") * 1e-6;
    assert!(
        flow["min_rtt_s"].as_f64() <= Some(least + 1e-6) && flow["mean_rtt_s"].as_f64() >= flow["min_rtt_s"].as_f64()
    );
    for link in seen["links"].as_array().expect("links") {
        assert_eq!(link["offered_packets"], link["delivered_packets"], "{link}");
        let none = ["dropped_queue", "dropped_loss", "duplicated_packets", "inside_packets", "unmatched_packets"];
        assert!(none.iter().all(|n| link[n] == json!(0)), "{link}");
    }
}

#[test]
fn a_tap_at_the_neighbour_counts_as_one_at_the_end_itself() {
    let Some(pair) = Pair::new("facing") else { return };
    pair.without_offloads();
    let flow = flow(&pair, 0, 100_000);
    let end = |tap: u32, address: &str| json!({ "tap": tap, "address": address, "facing": true });
    let flows = json!([
        { "flow": 0, "protocol": "tcp", "server": end(1, "10.0.0.1"), "client": end(0, "10.0.0.2") },
    ]);
    let capture = capture(&pair, &flow, &json!({ "flows": flows }));
    let outcome = run(&json!({ "flows": [flow], "time_limit_ns": 10_000_000_000u64 }));
    let (seen, kernel) = (&stop(capture)["flows"][0], &outcome["flows"][0]["tcp_info"]["server"]);
    assert_eq!((&seen["sent_packets"], &seen["payload_bytes"]), (&kernel["data_segs_out"], &json!(100_000)));
    assert!(seen["rtt_samples"].as_u64() > Some(1) && seen["completion_s"].as_f64() > Some(0.0), "{seen}");
}

#[test]
fn packets_can_be_kept_in_a_file() {
    let Some(pair) = Pair::new("pcap") else { return };
    let flow = flow(&pair, 0, 10_000);
    let prefix = std::env::temp_dir().join(format!("haltere-test-{}", std::process::id()));
    let capture = capture(&pair, &flow, &json!({ "pcap": prefix }));
    run(&json!({ "flows": [flow], "time_limit_ns": 10_000_000_000u64 }));
    let records = stop(capture)["records"].as_u64().expect("a number");
    let files = [0, 1].map(|tap| format!("{}.{tap}.v0.pcap", prefix.display()));
    let sizes = files.map(|name| {
        let bytes = std::fs::read(&name).expect("is there");
        std::fs::remove_file(&name).expect("can go");
        // The magic number of nanoseconds, then 16 bytes a packet besides its own.
        assert!(
            [[0xa1, 0xb2, 0x3c, 0x4d], [0x4d, 0x3c, 0xb2, 0xa1]].contains(&[bytes[0], bytes[1], bytes[2], bytes[3]])
        );
        bytes.len() as u64
    });
    assert!(sizes[0] + sizes[1] > 2 * 24 + records * (16 + 40), "{sizes:?} {records}");
}

#[test]
fn a_tap_that_cannot_be_is_refused_with_its_place() {
    let Some(pair) = Pair::new("notap") else { return };
    let refusal = |spec: Value| Capture::new(&spec.to_string()).and_then(|mut c| c.start()).expect_err("is refused");
    let text = refusal(json!({ "taps": [{ "netns": pair.paths()[0], "interface": "none" }] })).to_string();
    assert!(text.starts_with("taps[0].interface: cannot find the interface \"none\""), "{text}");
    let end = json!({ "tap": 3, "address": "10.0.0.1" });
    let flows = json!([{ "flow": 0, "protocol": "udp", "server": end, "client": end }]);
    assert_eq!(refusal(json!({ "taps": [], "flows": flows })).path, "flows[0].server.tap");
}
