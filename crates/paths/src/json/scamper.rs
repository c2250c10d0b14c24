//! Traces as `sc_warts2json` writes them.

use super::{Any, Word, address, microseconds, small};
use crate::{Method, Stop, Trace};
use serde::Deserialize;

/// Seconds and microseconds.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Instant {
    sec: u64,
    usec: u64,
}

impl Instant {
    pub fn us(&self) -> u64 {
        self.sec.saturating_mul(1_000_000).saturating_add(self.usec)
    }
}

/// One answer.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Hop<'a> {
    #[serde(borrow)]
    addr: Word<'a>,
    probe_ttl: u8,
    probe_id: u8,
    probe_size: u16,
    tx: Instant,
    rtt: Word<'a>,
    reply_ttl: u8,
    reply_tos: u8,
    reply_ipid: u16,
    reply_size: u16,
    icmp_type: Option<u8>,
    icmp_code: u8,
    icmp_q_ttl: Option<u8>,
    icmp_q_ipl: Option<u16>,
    icmp_q_tos: u8,
    // The colon inside the key is scamper's.
    #[serde(rename = "icmp_nhmtu:", alias = "icmp_nhmtu")]
    icmp_nhmtu: u16,
    tcp_flags: Option<u8>,
    icmpext: Vec<Extension>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Extension {
    ie_cn: u8,
    ie_ct: u8,
    mpls_labels: Vec<Label>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Label {
    mpls_label: u32,
    mpls_exp: u32,
    mpls_s: u32,
    mpls_ttl: u32,
}

/// Fills a trace from an object of type `trace`.
pub(super) fn fill(any: &Any<'_>, trace: &mut Trace) -> Result<(), &'static str> {
    trace.clear();
    trace.destination = address(&any.dst);
    if trace.destination.is_none() {
        return Err("a trace without a destination");
    }
    (trace.source, trace.router) = (address(&any.src), address(&any.rtr));
    trace.start_us = any.start.us();
    trace.stop = any.stop_reason.text().and_then(Stop::named).unwrap_or_default();
    trace.stop_data = small(&any.stop_data);
    trace.answered = trace.stop == Stop::Completed;
    trace.method = any.method.text().and_then(Method::named).unwrap_or_default();
    trace.source_port = small(&any.sport);
    trace.destination_port = small(if any.icmp_sum == Word::Missing { &any.dport } else { &any.icmp_sum });
    trace.hop_count = small(&any.hop_count);
    (trace.attempts, trace.hop_limit) = (small(&any.attempts), small(&any.hoplimit));
    trace.first_ttl = small::<u8>(&any.firsthop).max(1);
    (trace.wait_s, trace.wait_probe_cs, trace.tos) = (small(&any.wait), small(&any.wait_probe), small(&any.tos));
    (trace.probe_size, trace.probes) = (small(&any.probe_size), small(&any.probe_count));
    trace.user_id = small(&any.userid);
    any.hops.iter().try_for_each(|hop| add(trace, hop))?;
    if !any.extra_hops.is_empty() {
        // Probes ran ahead: what came after the end is told apart.
        trace.stop_hop = trace.length();
        any.extra_hops.iter().try_for_each(|hop| add(trace, hop))?;
    }
    Ok(())
}

fn add(trace: &mut Trace, hop: &Hop<'_>) -> Result<(), &'static str> {
    let from = address(&hop.addr);
    if from.is_none() || hop.probe_ttl == 0 {
        return Err("a hop without an address or a TTL");
    }
    trace.hops.push(crate::Hop {
        address: from,
        sent_us: hop.tx.us(),
        rtt_us: hop.rtt.number().and_then(microseconds).unwrap_or(crate::Hop::NO_RTT),
        probe_size: hop.probe_size,
        reply_size: hop.reply_size,
        reply_id: hop.reply_ipid,
        quoted_size: hop.icmp_q_ipl.unwrap_or(hop.probe_size),
        next_mtu: hop.icmp_nhmtu,
        ttl: hop.probe_ttl,
        attempt: hop.probe_id,
        reply_ttl: hop.reply_ttl,
        // Neither ICMP nor TCP is told of a reply by UDP.
        flags: match (hop.tcp_flags, hop.icmp_type) {
            (Some(_), _) => crate::Hop::TCP,
            (_, None) => crate::Hop::UDP,
            _ => 0,
        },
        icmp_type: hop.icmp_type.unwrap_or(crate::Hop::NO_ICMP),
        icmp_code: hop.icmp_code,
        tcp_flags: hop.tcp_flags.unwrap_or(0),
        quoted_ttl: hop.icmp_q_ttl.unwrap_or(1),
        reply_tos: hop.reply_tos,
        quoted_tos: hop.icmp_q_tos,
    });
    for e in &hop.icmpext {
        let entry = |l: &Label| {
            ((l.mpls_label << 12) | ((l.mpls_exp & 7) << 9) | ((l.mpls_s & 1) << 8) | (l.mpls_ttl & 255)).to_be_bytes()
        };
        let stack: Vec<u8> = e.mpls_labels.iter().flat_map(entry).collect();
        trace.add_extension(e.ie_cn, e.ie_ct, &stack);
    }
    Ok(())
}
