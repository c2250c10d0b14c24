//! Copies over SSH: the round trips of the handshake, the bytes on the wire, and the channel's window.

use crate::common;

use serde_json::{Value, json};

fn copy(link: Value, size: &str) -> Value {
    json!({
        "topology": { "kind": "point-to-point", "link": link },
        "flows": [{ "contender": "tcp/cubic-tsq-hystart", "app": "ssh", "size": size }],
    })
}

/// OpenSSH's client waits for ten answers after TCP's handshake, the last of which is the file.
#[test]
fn the_file_comes_after_eleven_round_trips() {
    let result = common::result(&copy(json!({ "delay": "50ms" }), "1kB"));
    assert_eq!(result.error, None);
    let flow = &result.flows[0];
    assert_eq!((flow.handshake_s, flow.first_byte_s, flow.completion_s), (Some(1.0), Some(1.1), Some(1.1)));
    // The server's flights, with the data in one packet of SSH, in segments with 52 bytes of headers; a SYN-ACK of 60.
    let flights = 1129 + 1564 + 44 + 68 + 100 + 440 + 44 + 72 + 60 + 1036;
    let segments = 11;
    let acks = flow.wire_bytes - flights - 60 - 52 * segments;
    assert_eq!((flow.bytes, acks % 52), (1000, 0), "{}", flow.wire_bytes);
}

/// Bytes in flight are bounded by the channel's window, less those read since the window was last opened: a copy gets a
/// window a round trip, however fast the path is.
#[test]
fn the_window_bounds_a_copy() {
    let rate = |app: &str| {
        let link = json!({ "rate": "1Gbit/s", "delay": "50ms", "queue": "1bdp" });
        let mut given = copy(link, "800MB");
        given["flows"][0]["app"] = json!(app);
        let result = common::result(&given);
        assert_eq!(result.error, None);
        result.flows[0].goodput_bps.unwrap()
    };
    let window = 8.0 * f64::from(2 << 20) / 0.1;
    let ssh = rate("ssh");
    assert!(ssh < window && ssh > 0.9 * window, "{ssh} {window}");
    assert!(rate("raw") > 2.0 * window);
}

/// A queue that never overflows holds a window at most, however many bytes it could take.
#[test]
fn a_queue_holds_a_window_of_a_copy() {
    let link = json!({ "rate": "10Mbit/s", "delay": "5ms", "down": { "queue": "100000p" } });
    let result = common::result(&copy(link, "20MB"));
    assert_eq!(result.error, None);
    let down = result.links.iter().find(|l| l.direction == "down").unwrap();
    let most = down.max_queue_bytes as f64 / f64::from(2 << 20);
    assert!((0.95..1.05).contains(&most), "{most} windows");
    // 20 MB are 611 packets; the client opens the window after each four of them. Its packets have 52 bytes of headers, its
    // SYN 60, and its flights 3637 bytes. The client's timers, which meet an RTT that grows, change that number by a few.
    assert!(down.delivered_bytes > 20_000_000 + 611 * 36);
    let up = result.links.iter().find(|l| l.direction == "up").unwrap();
    let adjusts = up.delivered_bytes - 52 * up.delivered_packets - 8 - 3637;
    assert!(adjusts.is_multiple_of(36) && (150..160).contains(&(adjusts / 36)), "{adjusts}");
}

/// The end of the transfer, and its failures, are those of any other flow.
#[test]
fn losses_do_not_stop_a_copy() {
    for loss in [2, 10] {
        let link = json!({ "rate": "10Mbit/s", "delay": "20ms", "loss": format!("{loss}%") });
        let given = copy(link, "3MB");
        let result = common::result(&given);
        assert_eq!(result.error, None);
        assert_eq!(common::flaw(&given, &result), None);
        assert_eq!(result.flows[0].bytes, 3_000_000);
    }
}

#[test]
fn what_a_copy_cannot_be_is_refused() {
    let refused = |field: &str, value: Value| {
        let mut given = copy(json!({}), "1kB");
        given["flows"][0][field] = value;
        haltere_sim::Scenario::from_json(&given.to_string()).map(|_| ()).unwrap_err().to_string()
    };
    let error = refused("contender", json!("quic/cubic"));
    assert!(error.contains("SSH goes over TCP: give a tcp contender"), "{error}");
    let error = refused("contender", json!("tcp/cubic+tls12"));
    assert!(error.contains("which app = \"ssh\" has not"), "{error}");
}
