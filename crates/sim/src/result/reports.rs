//! The reports of a run's client programs on their transfers, put into its result: the same meaning as on real hosts
//! ([`SeenRun`](super::SeenRun)).

use super::summary::rate;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The report of a flow's client. Times are in seconds from its own start; `None` where it does not say.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientReport {
    /// The flow.
    pub flow: u64,
    /// Whether packets do not show what they repeat, as those of QUIC.
    pub encrypted: bool,
    /// Until the object was there.
    #[serde(default)]
    pub completion_s: Option<f64>,
    /// Until the handshakes were complete.
    #[serde(default)]
    pub handshake_s: Option<f64>,
    /// Until the first byte of the response.
    #[serde(default)]
    pub first_byte_s: Option<f64>,
    /// Bytes of the object.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Why the flow failed.
    #[serde(default)]
    pub error: Option<String>,
    /// The columns of its messages, with MQTT. The report then says all of times and bytes.
    #[serde(default)]
    pub messages: Option<Map<String, Value>>,
    /// The length of the measured time, if the scenario gives it, s. Only with `messages`.
    #[serde(default)]
    pub measured_s: Option<f64>,
}

impl ClientReport {
    /// Puts the report into the flow's row.
    fn put(mut self, row: &mut Map<String, Value>) {
        let mut set = |name: &str, value: Value| drop(row.insert(name.into(), value));
        if let Some(error) = self.error {
            set("status", "failed".into());
            set("error", error.into());
        }
        if self.encrypted {
            for name in ["retransmitted_packets", "lost_packets", "spurious_retransmissions"] {
                set(name, Value::Null);
            }
        }
        // The kernel's own counters are not asked for.
        set("timeouts", Value::Null);
        set("handshake_s", json!(self.handshake_s));
        set("first_byte_s", json!(self.first_byte_s));
        let number = |row: &Map<String, Value>, name: &str| row.get(name).and_then(Value::as_u64).unwrap_or(0);
        let of_messages = self.messages.is_some();
        if let Some(messages) = self.messages.take() {
            set("completion_s", json!(self.completion_s));
            // Packets do not tell when messages come.
            set("longest_gap_s", Value::Null);
            row.extend(messages);
            share_radio(row);
        }
        if let Some(bytes) = self.bytes.filter(|bytes| of_messages || *bytes > 0) {
            let wire = number(row, "wire_bytes");
            row.insert("bytes".into(), bytes.into());
            row.insert("overhead_bytes".into(), wire.saturating_sub(bytes).into());
        }
        if let Some(completion) = self.completion_s {
            row.insert("completion_s".into(), completion.into());
        }
        let lasted = row.get("completion_s").and_then(Value::as_f64).or(self.measured_s).filter(|s| *s > 0.0);
        if lasted.is_some() {
            let (bytes, wire) = (number(row, "bytes"), number(row, "wire_bytes"));
            row.insert("goodput_bps".into(), json!(rate(bytes, lasted)));
            row.insert("throughput_bps".into(), json!(rate(wire, lasted)));
        }
    }
}

/// Puts the use of the publishers' radios for each message into a row, as [`RadioResult`](super::RadioResult) has it.
fn share_radio(row: &mut Map<String, Value>) {
    let delivered = row.get("messages_delivered").and_then(Value::as_u64).filter(|count| *count > 0);
    for (whole, each) in [
        ("radio_on_s", "radio_on_per_message_s"),
        ("radio_energy_estimate_j", "radio_energy_estimate_per_message_j"),
        ("radio_bytes", "radio_bytes_per_message"),
    ] {
        if let (Some(whole), Some(count)) = (row.get(whole).and_then(Value::as_f64), delivered) {
            row.insert(each.into(), json!(whole / count as f64));
        }
    }
}

/// The result of a run with the reports of its clients.
pub fn with_reports(mut result: Map<String, Value>, reports: Vec<ClientReport>) -> Map<String, Value> {
    let mut failed = None;
    if let Some(Value::Array(flows)) = result.get_mut("flows") {
        let mut rows: Vec<_> = flows.iter_mut().filter_map(Value::as_object_mut).collect();
        for report in reports {
            let number = report.flow;
            let row = rows.iter_mut().find(|row| row.get("flow").and_then(Value::as_u64) == Some(number));
            if let (Some(error), None) = (&report.error, &failed) {
                failed = Some(format!("flow {number}: {error}"));
            }
            if let Some(row) = row {
                report.put(row);
            }
        }
    }
    // The reason that ended the whole run stays.
    let own = result.get("error").and_then(Value::as_str).is_some_and(|error| !error.starts_with("flow "));
    if let Some(error) = failed.filter(|_| !own) {
        result.insert("status".into(), "failed".into());
        result.insert("error".into(), error.into());
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> Map<String, Value> {
        let flow = json!({
            "flow": 0, "completion_s": 2.0, "handshake_s": null, "first_byte_s": null, "bytes": 1000, "wire_bytes": 1200,
            "overhead_bytes": 200, "goodput_bps": 4000.0, "throughput_bps": 4800.0, "retransmitted_packets": 1,
            "lost_packets": 1, "spurious_retransmissions": 0, "timeouts": 0, "status": "ok", "error": null,
        });
        let Value::Object(result) = json!({ "status": "ok", "error": null, "flows": [flow] }) else { unreachable!() };
        result
    }

    #[test]
    fn a_client_knows_its_times_better_than_packets_do() {
        let report = ClientReport {
            completion_s: Some(1.0),
            handshake_s: Some(0.1),
            bytes: Some(900),
            ..ClientReport::default()
        };
        let found = with_reports(result(), vec![report]);
        let flow = &found["flows"][0];
        assert_eq!(
            (&flow["completion_s"], &flow["handshake_s"], &flow["overhead_bytes"]),
            (&json!(1.0), &json!(0.1), &json!(300))
        );
        assert_eq!((&flow["goodput_bps"], &flow["throughput_bps"]), (&json!(7200.0), &json!(9600.0)));
        assert_eq!((&flow["retransmitted_packets"], &flow["timeouts"]), (&json!(1), &Value::Null));
    }

    #[test]
    fn a_client_that_says_nothing_changes_no_time() {
        let found = with_reports(result(), vec![ClientReport { encrypted: true, ..ClientReport::default() }]);
        let flow = &found["flows"][0];
        assert_eq!(
            (&flow["completion_s"], &flow["goodput_bps"], &flow["bytes"]),
            (&json!(2.0), &json!(4000.0), &json!(1000))
        );
        assert_eq!((&flow["retransmitted_packets"], &flow["lost_packets"]), (&Value::Null, &Value::Null));
        assert_eq!(found["status"], "ok");
    }

    #[test]
    fn clients_with_messages_say_all_of_times_and_bytes() {
        let messages = json!({ "messages_published": 3, "messages_delivered": 2, "messages_dropped": null });
        let messages = messages.as_object().cloned();
        let report = ClientReport { bytes: Some(0), measured_s: Some(4.0), messages, ..ClientReport::default() };
        let mut before = result();
        before["flows"][0]["radio_on_s"] = json!(3.0);
        let flow = &with_reports(before, vec![report])["flows"][0];
        assert_eq!(flow["radio_on_per_message_s"], json!(1.5));
        assert_eq!((&flow["messages_published"], &flow["messages_dropped"]), (&json!(3), &Value::Null));
        assert_eq!(
            (&flow["completion_s"], &flow["bytes"], &flow["goodput_bps"]),
            (&Value::Null, &json!(0), &json!(0.0))
        );
        assert_eq!((&flow["overhead_bytes"], &flow["throughput_bps"]), (&json!(1200), &json!(2400.0)));
    }

    #[test]
    fn a_client_that_failed_fails_flow_and_run() {
        let report = ClientReport { error: Some("no object".into()), ..ClientReport::default() };
        let found = with_reports(result(), vec![report]);
        assert_eq!((&found["status"], &found["error"]), (&json!("failed"), &json!("flow 0: no object")));
        assert_eq!(found["flows"][0]["error"], "no object");
    }
}
