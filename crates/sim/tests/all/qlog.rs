//! qlog files: a public reader (the crate `qlog`) accepts every record, and they agree with the run's counters.

use crate::common;

use common::inside::{Traced, link, look};
use qlog::events::quic::PacketHeader;
use qlog::events::{Event, EventData};
use qlog::reader::{Event as Read, QlogSeqReader};
use serde_json::json;
use std::collections::BTreeSet;

/// The events of a file, all of which must be of the schema.
fn events(run: &Traced, name: &str) -> Vec<Event> {
    let bytes = run.file(name);
    let records = bytes.iter().filter(|b| **b == 0x1e).count();
    // The reader includes the newline of the last record in the text, which is valid JSON.
    let reader = QlogSeqReader::new(Box::new(bytes.as_slice())).unwrap();
    assert_eq!((reader.qlog.qlog_version.as_str(), reader.qlog.qlog_format.as_str()), ("0.3", "JSON-SEQ"));
    let events: Vec<Event> = reader
        .map(|event| match event {
            Read::Qlog(event) => event,
            Read::Json(event) => panic!("{name}: {} is not what the schema says: {}", event.name, event.data),
        })
        .collect();
    assert_eq!(events.len() + 1, records, "{name}: the reader left records out");
    assert!(events.windows(2).all(|w| w[0].time <= w[1].time), "{name}: out of order");
    events
}

fn count(events: &[Event], wanted: impl Fn(&EventData) -> bool) -> u64 {
    events.iter().filter(|e| wanted(&e.data)).count() as u64
}

#[test]
fn a_public_reader_takes_every_record_and_counts_what_the_run_counts() {
    for loss in ["0%", "2%"] {
        for contender in ["quic/cubic", "quic/bbr", "tcp/cubic", "tcp/bbr", "tcp/newreno+notimestamps"] {
            let run = look(&link(&[contender], loss, "https"), &[]);
            let (client, server) = (events(&run, "flow-0-client.sqlog"), events(&run, "flow-0-server.sqlog"));
            let (flow, result) = (&run.traced.result.flows[0], &run.traced.result);
            let what = format!("{contender} {loss}");
            let lost = count(&server, |e| matches!(e, EventData::PacketLost(_)));
            assert_eq!(lost, flow.lost_packets, "{what}");
            assert_eq!(loss == "0%", lost == 0, "{what}");
            let sent = |e: &EventData| matches!(e, EventData::PacketSent(_));
            assert!(count(&server, sent) >= flow.sent_packets, "{what}");
            if contender.starts_with("tcp") {
                // QUIC packets may share datagrams.
                let received = count(&client, |e| matches!(e, EventData::PacketReceived(_)));
                assert_eq!(received, result.data_packets, "{what}");
                assert_eq!(count(&server, sent), result.links[0].offered_packets, "{what}");
            }
            let started = |e: &EventData| matches!(e, EventData::ConnectionStarted(_));
            let closed = |e: &EventData| matches!(e, EventData::ConnectionClosed(_));
            assert_eq!((count(&client, started), count(&server, started)), (1, 1), "{what}");
            assert!(count(&client, closed) <= 1 && count(&server, closed) <= 1, "{what}");
            for parameter in [&client, &server] {
                let set = |e: &EventData| matches!(e, EventData::TransportParametersSet(_));
                assert!(count(parameter, set) >= 1, "{what}");
                assert!(count(parameter, |e| matches!(e, EventData::LossTimerUpdated(_))) > 0, "{what}");
            }
            assert!(count(&server, |e| matches!(e, EventData::MetricsUpdated(_))) > 10, "{what}");
        }
    }
}

/// The header of a packet that was sent.
fn sent(event: &EventData) -> Option<&PacketHeader> {
    if let EventData::PacketSent(p) = event { Some(&p.header) } else { None }
}

/// The header of a packet that was received.
fn received(event: &EventData) -> Option<&PacketHeader> {
    if let EventData::PacketReceived(p) = event { Some(&p.header) } else { None }
}

/// Type and number of each packet.
fn names(events: &[Event], header: fn(&EventData) -> Option<&PacketHeader>) -> impl Iterator<Item = (String, u64)> {
    let headers = events.iter().filter_map(move |e| header(&e.data));
    headers.filter_map(|header| Some((format!("{:?}", header.packet_type), header.packet_number?)))
}

#[test]
fn what_one_end_receives_the_other_has_sent_and_no_quic_packet_is_read_twice() {
    let mut given = link(&["quic/cubic"], "3%", "https");
    given["topology"]["link"]["duplication"] = json!("5%");
    given["topology"]["link"]["jitter"] = json!({ "spread": "5ms", "reorder": true });
    let run = look(&given, &[]);
    let (client, server) = (events(&run, "flow-0-client.sqlog"), events(&run, "flow-0-server.sqlog"));
    for (from, to) in [(&client, &server), (&server, &client)] {
        let sent: BTreeSet<_> = names(from, sent).collect();
        let received: Vec<_> = names(to, received).collect();
        let once: BTreeSet<_> = received.iter().cloned().collect();
        assert_eq!(once.len(), received.len());
        assert!(once.is_subset(&sent));
        assert!(count(to, |e| matches!(e, EventData::PacketDropped(_))) > 0, "duplicates are dropped");
    }
}

#[test]
fn an_acknowledgement_is_written_behind_its_packet_and_before_what_it_brings_about() {
    let run = look(&link(&["quic/newreno"], "2%", "raw"), &[]);
    let server = events(&run, "flow-0-server.sqlog");
    let lost = server.iter().position(|e| matches!(e.data, EventData::PacketLost(_))).unwrap();
    let before = &server[..lost];
    let last = before.iter().rev().find(|e| matches!(e.data, EventData::PacketReceived(_) | EventData::PacketSent(_)));
    let Some(EventData::PacketReceived(packet)) = last.map(|e| &e.data) else { panic!("{last:?}") };
    assert!(format!("{:?}", packet.frames).contains("Ack"));
    let states: Vec<_> = server
        .iter()
        .filter_map(|e| match &e.data {
            EventData::CongestionStateUpdated(c) => Some((c.old.clone().unwrap(), c.new.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(states[0], ("slow_start".to_string(), "recovery".to_string()));
    assert!(states.windows(2).all(|w| w[0].1 == w[1].0));
}

#[test]
fn a_connection_that_fails_says_why() {
    let mut given = link(&["quic/cubic"], "100%", "raw");
    given["time_limit"] = json!("200s");
    let run = look(&given, &[]);
    let client = events(&run, "flow-0-client.sqlog");
    let closed = client.iter().find_map(|e| match &e.data {
        EventData::ConnectionClosed(closed) => Some(closed.clone()),
        _ => None,
    });
    let closed = serde_json::to_value(closed.unwrap()).unwrap();
    assert_eq!(closed["trigger"], "handshake_timeout");
    assert!(closed["reason"].as_str().unwrap().contains("handshake"));
}
