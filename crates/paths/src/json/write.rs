//! A writer of RIPE Atlas results, for tests and benches: what [`Reader`](super::Reader) reads.

use crate::{Hop, Method, Trace};
use std::fmt::Write;

/// A trace as RIPE Atlas gives it, with three packets a TTL of which the first is the trace's and the others are made
/// up (a little slower); silent TTLs are three stars. Fields that such results do not have are left out.
pub fn atlas(trace: &Trace) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_atlas(&mut out, trace);
    out
}

fn write_atlas(out: &mut String, trace: &Trace) -> std::fmt::Result {
    let start_s = trace.start_us / 1_000_000;
    let af = if trace.destination.is_v4() { 4 } else { 6 };
    let proto = match trace.method {
        Method::Udp | Method::UdpParis => "UDP",
        Method::Tcp | Method::TcpAck => "TCP",
        _ => "ICMP",
    };
    let (source, destination) = (trace.source, trace.destination);
    write!(
        out,
        r#"{{"fw":5080,"mver":"2.6.2","lts":21,"endtime":{},"dst_name":"{destination}","dst_addr":"{destination}","src_addr":"{source}","proto":"{proto}","af":{af},"size":{},"paris_id":{},"result":["#,
        start_s + 9,
        trace.probe_size,
        trace.source_port,
    )?;
    for ttl in 1..=trace.length() {
        let comma = if ttl > 1 { "," } else { "" };
        write!(out, r#"{comma}{{"hop":{ttl},"result":["#)?;
        match trace.hops.iter().find(|h| h.ttl == ttl) {
            Some(hop) => (0..3).try_for_each(|n| reply(out, hop, n))?,
            None => out.push_str(r#"{"x":"*"},{"x":"*"},{"x":"*"}"#),
        }
        out.push_str("]}");
    }
    let (list, probe) = (trace.list_id, trace.probe_id);
    write!(
        out,
        r#"],"msm_id":{list},"prb_id":{probe},"timestamp":{start_s},"msm_name":"Traceroute","from":"{source}","type":"traceroute","group_id":{list},"stored_timestamp":{}}}"#,
        start_s + 70,
    )
}

fn reply(out: &mut String, hop: &Hop, n: u32) -> std::fmt::Result {
    let us = hop.rtt_us.saturating_add(n * 17);
    let comma = if n > 0 { "," } else { "" };
    let (from, size, ttl) = (hop.address, hop.reply_size, hop.reply_ttl);
    write!(out, r#"{comma}{{"from":"{from}","ttl":{ttl},"size":{size},"rtt":{}.{:03}}}"#, us / 1000, us % 1000)
}
