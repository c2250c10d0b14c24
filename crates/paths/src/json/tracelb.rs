//! Multipath measurements as `sc_warts2json` writes them.

use super::{Any, Word, address, microseconds, small};
use crate::multipath::{Gathered, Multipath};
use serde::Deserialize;

/// A node, and the sets of probes that found the links from it: those of each link follow one another, one a TTL.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Node<'a> {
    #[serde(borrow)]
    addr: Word<'a>,
    links: Vec<Vec<Answering<'a>>>,
}

/// The probes of a set that one address answered.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Answering<'a> {
    #[serde(borrow)]
    addr: Word<'a>,
    probes: Vec<Probe<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Probe<'a> {
    ttl: u8,
    flowid: u16,
    #[serde(borrow)]
    replies: Vec<Reply<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Reply<'a> {
    #[serde(borrow)]
    rtt: Word<'a>,
}

/// The multipath measurement in an object of type `tracelb`.
pub(super) fn read(any: &Any<'_>) -> Result<Multipath, &'static str> {
    let mut gathered = Gathered::default();
    for node in &any.nodes {
        let mut last = None;
        for set in &node.links {
            let ttl = set.iter().flat_map(|of| &of.probes).map(|probe| probe.ttl).min();
            // A TTL that does not rise is the first of another link.
            match (last, ttl) {
                (Some(last), Some(ttl)) if ttl > last => gathered.next_set(),
                (Some(_), None) => gathered.next_set(),
                _ => gathered.begin(address(&node.addr)),
            }
            last = ttl.or(last);
            set.iter().for_each(|of| answers(of, &mut gathered));
        }
    }
    let destination = address(&any.dst);
    if destination.is_none() {
        return Err("a tracelb without a destination");
    }
    Ok(Multipath {
        source: address(&any.src),
        destination,
        start_us: any.start.us(),
        method: any.method.text().map_or("unknown", Multipath::method_named),
        source_port: small(&any.sport),
        destination_port: small(&any.dport),
        confidence: small(&any.confidence),
        probes: small(&any.probec),
        links: gathered.links(),
        ..Multipath::default()
    })
}

fn answers(of: &Answering<'_>, gathered: &mut Gathered) {
    let from = address(&of.addr);
    for probe in &of.probes {
        for reply in &probe.replies {
            gathered.answer(probe.flowid, probe.ttl, from, reply.rtt.number().and_then(microseconds));
        }
    }
}
