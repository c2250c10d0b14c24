//! Transfers and taps in namespaces of their own. They need root and are skipped, saying so, without it.
#![cfg(target_os = "linux")]

mod common;

use common::Pair;
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
    let outcome = run(&json!({ "flows": flows, "time_limit_ns": 10_000_000_000u64, "sample_ns": 1_000_000 }));
    for (flow, size) in outcome["flows"].as_array().expect("flows").iter().zip([1, 100_000, 1_000_000]) {
        assert_eq!((&flow["status"], &flow["bytes"]), (&json!("ok"), &json!(size)), "{flow}");
        let times = ["handshake_s", "first_byte_s", "completion_s"].map(|t| flow[t].as_f64().expect("a time"));
        assert!(times.is_sorted() && times[0] > 0.0, "{times:?}");
        assert_eq!(flow["tcp_info"]["client"]["bytes_received"], json!(size));
        assert_eq!(flow["tcp_info"]["server"]["bytes_received"], json!(1));
    }
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
