//! Reports of `mtr --json`: one line a TTL, summed over its probes.

use super::{Any, Word, microseconds};
use crate::{Address, Hop, Stop, Trace};
use serde::Deserialize;

/// The report.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Report<'a> {
    #[serde(borrow)]
    mtr: About<'a>,
    hubs: Vec<Hub<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct About<'a> {
    #[serde(borrow)]
    dst: Word<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Hub<'a> {
    #[serde(borrow)]
    count: Word<'a>,
    host: Word<'a>,
    #[serde(rename = "Best")]
    best: Word<'a>,
}

/// Fills a trace from a report: for each TTL the address and the least of its round-trip times.
pub(super) fn fill(any: &Any<'_>, trace: &mut Trace) -> Result<(), &'static str> {
    trace.clear();
    let Some(report) = &any.report else { return Err("a report without its contents") };
    for hub in &report.hubs {
        let Some(ttl @ 1..=255) = hub.count.number().map(|n| n as u8) else {
            return Err("a hub without its number");
        };
        trace.hop_count = trace.hop_count.max(u16::from(ttl));
        let Some(address) = hub.host.text().and_then(host) else { continue };
        let rtt_us = hub.best.number().and_then(microseconds).unwrap_or(Hop::NO_RTT);
        trace.hops.push(Hop { address, ttl, rtt_us, ..Hop::default() });
    }
    let named = report.mtr.dst.text().and_then(host);
    finish(trace, named);
    Ok(())
}

/// The address of a host, which is written as an address, or as a name with its address in brackets.
pub(crate) fn host(text: &str) -> Option<Address> {
    let text = text.trim();
    let inside = text.rsplit_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or(text, |(inside, _)| inside);
    inside.parse().ok()
}

/// mtr stops at the destination. Where that is a name, the last hub is it, if it answered.
pub(crate) fn finish(trace: &mut Trace, named: Option<Address>) {
    let last = trace.hops.last().filter(|h| u16::from(h.ttl) == trace.hop_count).map(|h| h.address);
    trace.destination = named.or(last).unwrap_or_default();
    trace.answered = last.is_some_and(|l| l == trace.destination);
    trace.stop = if trace.answered { Stop::Completed } else { Stop::None };
}
