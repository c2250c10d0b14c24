//! Captures of packets that a load replays: times, lengths and conversations. Addresses and payloads are left out.

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use haltere_net::Span;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, TsResolution};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// The largest number of packets of a capture.
const MAX_PACKETS: usize = 50_000_000;
/// Length of the header of Linux's cooked captures, bytes. Its last two are the EtherType.
const COOKED: usize = 16;
/// The first bytes of a pcapng file (draft-ietf-opsawg-pcapng section 4.1).
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Recorded packets, a list for each of their properties.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// When each packet was seen, ns after the first. Never earlier than the one before.
    pub at_ns: Vec<u64>,
    /// Length of each IP packet, bytes.
    pub len: Vec<u32>,
    /// The conversation of each packet: packets between the same two addresses and ports, by the same protocol, have the
    /// same number. They are numbered from 0.
    pub flow: Vec<u32>,
    /// The numbers of the packets that go back to who began their conversation.
    pub back: Vec<u64>,
    /// The length of the whole capture, ns.
    pub span_ns: u64,
}

impl JsonSchema for Capture {
    fn schema_name() -> Cow<'static, str> {
        "Capture".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "the name of a capture (pcap or pcapng), or what was read from one",
            "anyOf": [{ "type": "string", "examples": ["office.pcap"] }, { "type": "object" }],
        })
    }
}

/// Both ends of a conversation, the smaller first, and the protocol.
type Tuple = ((Vec<u8>, u16), (Vec<u8>, u16), u8);

impl Capture {
    /// Its length in time.
    pub fn span(&self) -> Span {
        Span::from_nanos(self.span_ns)
    }

    /// The longest packet, bytes.
    pub fn longest(&self) -> u32 {
        self.len.iter().copied().max().unwrap_or(0)
    }

    /// Whether it can be replayed.
    ///
    /// # Errors
    /// A sentence about the fault in the capture.
    pub fn check(&self) -> Result<(), String> {
        let packets = self.at_ns.len();
        if self.len.len() != packets || self.flow.len() != packets {
            return Err("at_ns, len and flow are not of the same length".into());
        }
        if packets > MAX_PACKETS {
            return Err(format!("{packets} packets are too many: at most {MAX_PACKETS}"));
        }
        let sorted = self.at_ns.windows(2).all(|pair| pair[0] <= pair[1]);
        if !sorted || self.at_ns.last().is_some_and(|last| *last > self.span_ns) {
            return Err("the times are not in order".into());
        }
        if self.back.iter().any(|n| *n >= packets as u64) {
            return Err("back names a packet that is not there".into());
        }
        // They are used as positions in a list.
        if self.flow.iter().any(|flow| *flow as usize >= packets) {
            return Err("flow has a number that is not below the number of packets".into());
        }
        Ok(())
    }

    /// The packets of those who began a conversation, and the others.
    pub fn split(&self) -> (Capture, Capture) {
        debug_assert_eq!(self.flow.len(), self.at_ns.len(), "each packet has a conversation");
        let mut parts = [Capture::default(), Capture::default()];
        let mut back = vec![false; self.at_ns.len()];
        for &number in &self.back {
            if let Some(is) = back.get_mut(number as usize) {
                *is = true;
            }
        }
        // Conversations are numbered anew in each part.
        let mut numbers = [BTreeMap::new(), BTreeMap::new()];
        for (n, (&at, &len)) in self.at_ns.iter().zip(&self.len).enumerate() {
            let side = usize::from(back[n]);
            let (part, known) = (&mut parts[side], &mut numbers[side]);
            let next = known.len() as u32;
            part.at_ns.push(at);
            part.len.push(len);
            part.flow.push(*known.entry(self.flow.get(n).copied().unwrap_or(0)).or_insert(next));
        }
        let [there, back] = parts.map(|part| Capture { span_ns: self.span_ns, ..part });
        (there, back)
    }

    /// Reads a file of the forms pcap or pcapng. What is not IP is left out.
    ///
    /// # Errors
    /// A sentence about the fault in the file.
    pub fn read(bytes: &[u8]) -> Result<Capture, String> {
        let mut seen = if bytes.starts_with(&PCAPNG) { pcapng(bytes)? } else { pcap(bytes)? };
        // Captures of several interfaces are not always in order.
        seen.sort_by_key(|packet| packet.0);
        let mut capture = Capture::default();
        let Some(first) = seen.first().map(|packet| packet.0) else {
            return Err("it has no IP packet".into());
        };
        let mut flows: BTreeMap<Tuple, (u32, bool)> = BTreeMap::new();
        for (number, (at, len, (source, destination, protocol))) in seen.into_iter().enumerate() {
            let turned = source > destination;
            let key = if turned { (destination, source, protocol) } else { (source, destination, protocol) };
            let next = flows.len() as u32;
            // The direction of its first packet is that of who began it.
            let (flow, began) = *flows.entry(key).or_insert((next, turned));
            let at = u64::try_from((at - first).as_nanos()).map_err(|_| "its times are too far apart")?;
            capture.at_ns.push(at);
            capture.len.push(len);
            capture.flow.push(flow);
            if turned != began {
                capture.back.push(number as u64);
            }
            capture.span_ns = at;
        }
        capture.check()?;
        Ok(capture)
    }
}

/// A packet's time, its length and its conversation.
type Seen = (Duration, u32, Tuple);

fn pcap(bytes: &[u8]) -> Result<Vec<Seen>, String> {
    let mut reader = PcapReader::new(bytes).map_err(|e| format!("it is neither pcap nor pcapng: {e}"))?;
    let link = reader.header().datalink;
    let mut seen = Vec::new();
    let unit_ns: u64 = match reader.header().ts_resolution {
        TsResolution::MicroSecond => 1000,
        TsResolution::NanoSecond => 1,
    };
    let mut number = 0_u64;
    // The raw packets: the others are refused where a capture has only their beginnings.
    while let Some(packet) = reader.next_raw_packet() {
        number += 1;
        let packet = packet.map_err(|e| format!("it is damaged: {e}"))?;
        let (kept, sent) = (packet.incl_len, packet.orig_len);
        if kept > sent {
            return Err(format!("it is damaged: packet {number} of {sent} bytes has {kept} in the file"));
        }
        let fraction = u64::from(packet.ts_frac) * unit_ns;
        if fraction >= 1_000_000_000 {
            return Err(format!("it is damaged: the time of packet {number} has a fraction above a second"));
        }
        let at = Duration::from_secs(u64::from(packet.ts_sec)) + Duration::from_nanos(fraction);
        seen.extend(parse(link, at, &packet.data)?);
    }
    Ok(seen)
}

fn pcapng(bytes: &[u8]) -> Result<Vec<Seen>, String> {
    let mut reader = PcapNgReader::new(bytes).map_err(|e| format!("it is no pcapng: {e}"))?;
    let (mut links, mut seen) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.map_err(|e| format!("it is damaged: {e}"))? {
            Block::SectionHeader(_) => links.clear(),
            Block::InterfaceDescription(interface) => links.push(interface.linktype),
            Block::EnhancedPacket(packet) => {
                let link = links.get(packet.interface_id as usize).ok_or("a packet is of no interface")?;
                seen.extend(parse(*link, packet.timestamp, &packet.data)?);
            }
            _ => {}
        }
    }
    Ok(seen)
}

/// The IP packet in a frame, if there is one.
fn parse(link: DataLink, at: Duration, data: &[u8]) -> Result<Option<Seen>, String> {
    // A packet of which the capture has only the beginning still has its header.
    let sliced = match link {
        DataLink::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok(),
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => LaxSlicedPacket::from_ip(data).ok(),
        DataLink::LINUX_SLL => data.split_at_checked(COOKED).map(|(head, packet)| {
            let ether_type = u16::from_be_bytes([head[COOKED - 2], head[COOKED - 1]]);
            LaxSlicedPacket::from_ether_type(EtherType(ether_type), packet)
        }),
        other => return Err(format!("its link type {other:?} is not known: capture on Ethernet, or raw IP")),
    };
    let Some(sliced) = sliced else { return Ok(None) };
    let (source, destination, protocol, len) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let len = u32::from(header.total_len());
            (header.source().to_vec(), header.destination().to_vec(), header.protocol().0, len)
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let len = u32::from(header.payload_length()) + 40;
            (header.source().to_vec(), header.destination().to_vec(), header.next_header().0, len)
        }
        _ => return Ok(None),
    };
    let (from, to) = match &sliced.transport {
        Some(TransportSlice::Udp(udp)) => (udp.source_port(), udp.destination_port()),
        Some(TransportSlice::Tcp(tcp)) => (tcp.source_port(), tcp.destination_port()),
        _ => (0, 0),
    };
    Ok(Some((at, len.max(20), ((source, from), (destination, to), protocol))))
}
