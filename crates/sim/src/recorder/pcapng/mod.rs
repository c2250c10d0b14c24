//! Captures of links: one pcapng file each, with the packets in the order in which they arrive at the far end of either
//! direction.
//!
//! A dropped packet does not arrive, so it is not in the file. A duplicated packet is in it twice. Every packet has the
//! time of its arrival, so no answer comes before what it answers. Format: draft-ietf-opsawg-pcapng.

mod headers;
mod mptcp;

use super::places::{ends, ip, plain};
use super::spool::Spool;
use super::{Origin, Pcap};
use haltere_net::topology::{Edge, NodeId, Topology};
use haltere_net::{Address, FlowKey, Incident, Packet, Rate, Time};
use haltere_transport::{Body, Role};
use headers::{Handshake, write};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Decryption Secrets Block and its type of secrets for TLS key logs (draft-ietf-opsawg-pcapng section 4.7).
const SECRETS_BLOCK: u32 = 0x0000_000a;
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// `if_tsresol`: nanoseconds.
const NANOSECONDS: u8 = 9;
/// The number of link names in an error before the rest is only counted.
const NAMES_SHOWN: usize = 20;

/// One link's file.
struct Capture {
    /// Position of the link's first direction among the topology's edges. The second direction follows it.
    first_edge: u32,
    file: PcapNgWriter<Spool>,
}

/// The captures of a run.
pub(super) struct Captures {
    captures: Vec<Capture>,
    /// The offers of each process's next SYN, and those of the SYN of each end of a connection.
    offers: BTreeMap<u32, Handshake>,
    handshakes: BTreeMap<FlowKey, Handshake>,
    /// The present packet; the buffer is reused.
    bytes: Vec<u8>,
    failure: Option<String>,
}

impl Captures {
    /// Creates the files of the requested links.
    pub(super) fn new(pcap: &Pcap, topology: &Topology, origin: &Origin) -> Result<Captures, String> {
        let names: Vec<&str> = topology.edges().iter().step_by(2).map(|e| &*e.name).collect();
        if let Some(unknown) = pcap.links.iter().find(|l| !names.contains(&l.as_str())) {
            return Err(format!("there is no link {unknown:?}: {}", listed(&names)));
        }
        Spool::folder(&pcap.folder)?;
        let mut taken = BTreeSet::new();
        let mut captures = Vec::new();
        for (i, name) in names.iter().enumerate() {
            if !pcap.links.is_empty() && !pcap.links.iter().any(|l| l == name) {
                continue;
            }
            let mut file = plain(name);
            if !taken.insert(file.to_lowercase()) {
                file = format!("{file}-{i}");
                taken.insert(file.to_lowercase());
            }
            let spool = Spool::new(pcap.folder.join(format!("{file}.pcapng")))?;
            let edges = &topology.edges()[2 * i..2 * i + 2];
            let file = begin(spool, topology, edges, origin).map_err(|e| e.to_string())?;
            captures.push(Capture { first_edge: 2 * i as u32, file });
        }
        let (offers, handshakes) = Default::default();
        Ok(Captures { captures, offers, handshakes, bytes: Vec::new(), failure: None })
    }

    /// A process reported something. The scale of its windows is only in its SYN.
    pub(super) fn happened(&mut self, process: u32, incident: Incident) {
        if let Incident::Options { mss, window_scale, .. } = incident {
            self.offers.insert(process, Handshake { mss, window_scale });
        }
    }

    /// A process sends a packet. The first packet after the report of a SYN is that SYN.
    pub(super) fn sent(&mut self, process: u32, packet: &Packet<Body>) {
        if let Some(offer) = self.offers.remove(&process) {
            self.handshakes.insert(packet.flow, offer);
        }
    }

    /// A packet arrived at a link's end.
    pub(super) fn arrived(&mut self, link: u32, at: Time, packet: &Packet<Body>, sender: Role) {
        let Ok(capture) = self.captures.binary_search_by_key(&(link & !1), |c| c.first_edge) else { return };
        let handshake = self.handshakes.get(&packet.flow).copied().unwrap_or_default();
        self.bytes.clear();
        let (own, other) = ends(packet.flow, sender);
        let written = write(packet, own, other, handshake, &mut self.bytes);
        let block = EnhancedPacketBlock {
            interface_id: link & 1,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: self.bytes.len() as u32,
            data: Cow::Borrowed(&self.bytes),
            options: Vec::new(),
        };
        let file = &mut self.captures[capture].file;
        let written = written.and_then(|()| file.write_pcapng_block(block).map(drop).map_err(|e| e.to_string()));
        if let Err(failure) = written {
            self.failure.get_or_insert(failure);
        }
    }

    /// Writes TLS secrets into all files.
    pub(super) fn secrets(&mut self, lines: &str) {
        let mut value = Vec::with_capacity(lines.len() + 12);
        value.extend_from_slice(&TLS_KEY_LOG.to_le_bytes());
        value.extend_from_slice(&(lines.len() as u32).to_le_bytes());
        value.extend_from_slice(lines.as_bytes());
        value.resize(value.len().next_multiple_of(4), 0);
        for capture in &mut self.captures {
            let block = UnknownBlock::new(SECRETS_BLOCK, value.len() as u32, &value);
            if let Err(failure) = capture.file.write_pcapng_block(block) {
                self.failure.get_or_insert(failure.to_string());
            }
        }
    }

    /// Completes the files.
    pub(super) fn finish(self) -> Result<(), String> {
        self.failure.map_or(Ok(()), Err)?;
        self.captures.into_iter().try_for_each(|c| c.file.into_inner().finish())
    }
}

/// The blocks before the first packet.
fn begin(spool: Spool, topology: &Topology, edges: &[Edge], origin: &Origin) -> Result<PcapNgWriter<Spool>, PcapError> {
    let comment = format!(
        "{}; payloads of the model's packets are zeros, and its QUIC packets are UDP datagrams of the right length",
        origin.text()
    );
    let section = SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![
            SectionHeaderOption::Comment(comment.into()),
            SectionHeaderOption::UserApplication(Origin::PROGRAM.into()),
        ],
        ..SectionHeaderBlock::default()
    };
    let mut file = PcapNgWriter::with_section_header(spool, section)?;
    let names: Vec<String> = topology.nodes().map(plain).collect();
    for edge in edges {
        file.write_pcapng_block(interface(edge, &names))?;
    }
    let records = (0..).zip(topology.interfaces()).map(|(n, interface)| {
        let names = names.get(interface.node.0 as usize).map(|name| Cow::from(name.clone())).into_iter().collect();
        Record::Ipv4(Ipv4Record { ip_addr: Cow::from(ip(Address(n)).octets().to_vec()), names })
    });
    file.write_pcapng_block(NameResolutionBlock { records: records.collect(), options: Vec::new() })?;
    Ok(file)
}

fn interface(edge: &Edge, names: &[String]) -> InterfaceDescriptionBlock<'static> {
    let node = |id: NodeId| names.get(id.0 as usize).map_or("?", String::as_str);
    let description = format!("{} to {}, at the far end", node(edge.from), node(edge.to));
    let mut options = vec![
        InterfaceDescriptionOption::IfName(format!("{} {}", edge.name, edge.direction.name()).into()),
        InterfaceDescriptionOption::IfDescription(description.into()),
        InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
    ];
    // A recorded trace of a rate cannot be given as one number.
    if let (Some(rate), None) = (edge.config.rate, &edge.config.trace) {
        options.push(InterfaceDescriptionOption::IfSpeed(Rate::as_bps(rate)));
    }
    InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: 0, options }
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|n| format!("{n:?}")).collect();
    let more = names.len().saturating_sub(NAMES_SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("there are {}{rest}", shown.join(", "))
}
