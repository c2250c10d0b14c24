//! One traceroute, in the form that all readers produce.

use crate::Address;
use haltere_net::Span;
use std::sync::Arc;

/// Why a traceroute ended; the words and numbers are scamper's (`scamper_trace.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Stop {
    /// Not said.
    #[default]
    None,
    /// The destination answered.
    Completed,
    /// An ICMP destination unreachable came back.
    Unreach,
    /// Another ICMP message ended it.
    Icmp,
    /// A loop: addresses came again.
    Loop,
    /// Too many silent hops in a row.
    GapLimit,
    /// A probe could not be sent.
    Error,
    /// The highest TTL was reached.
    HopLimit,
    /// A hop stood in the global stop set (Doubletree).
    GlobalStopSet,
    /// A user stopped it.
    Halted,
    /// A number of which this reader does not know the meaning.
    Other(u8),
}

/// Declares scamper's numbers, which count from 0, and words of a type's values, and the word for a number without one.
macro_rules! scamper {
    ($Of:ident, $other:literal: $($value:ident = $word:literal,)*) => {
        impl $Of {
            const KNOWN: &[($Of, &'static str)] = &[$(($Of::$value, $word)),*];

            /// The value with this number in warts.
            #[inline]
            pub fn from_number(number: u8) -> $Of {
                $Of::KNOWN.get(usize::from(number)).map_or($Of::Other(number), |&(value, _)| value)
            }

            /// Its number in warts.
            pub fn number(self) -> u8 {
                match self {
                    $Of::Other(number) => number,
                    known => $Of::KNOWN.iter().position(|&(value, _)| value == known).map_or(0, |n| n as u8),
                }
            }

            #[doc = concat!("scamper's word for it; `", $other, "` for a number without one.")]
            pub fn name(self) -> &'static str {
                $Of::KNOWN.iter().find(|&&(value, _)| value == self).map_or($other, |&(_, word)| word)
            }

            /// The value of this word in scamper's JSON.
            pub fn named(word: &str) -> Option<$Of> {
                $Of::KNOWN.iter().find(|&&(_, known)| known == word).map(|&(value, _)| value)
            }
        }
    };
}

scamper! {
    Stop, "OTHER":
    None = "NONE",
    Completed = "COMPLETED",
    Unreach = "UNREACH",
    Icmp = "ICMP",
    Loop = "LOOP",
    GapLimit = "GAPLIMIT",
    Error = "ERROR",
    HopLimit = "HOPLIMIT",
    GlobalStopSet = "GSS",
    Halted = "HALTED",
}

/// How the path was probed; the words and numbers are scamper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// Not said.
    #[default]
    Unknown,
    /// ICMP echo requests.
    IcmpEcho,
    /// UDP to rising ports.
    Udp,
    /// TCP SYN.
    Tcp,
    /// ICMP echo requests with a constant checksum (Paris traceroute).
    IcmpEchoParis,
    /// UDP with constant ports (Paris traceroute).
    UdpParis,
    /// TCP ACK.
    TcpAck,
    /// A number of which this reader does not know the meaning.
    Other(u8),
}

scamper! {
    Method, "other":
    Unknown = "unknown",
    IcmpEcho = "icmp-echo",
    Udp = "udp",
    Tcp = "tcp",
    IcmpEchoParis = "icmp-echo-paris",
    UdpParis = "udp-paris",
    TcpAck = "tcp-ack",
}

/// One answer to one probe. A hop that kept silent has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The address that answered.
    pub address: Address,
    /// When the probe was sent, microseconds since the Unix epoch; 0 if not said.
    pub sent_us: u64,
    /// Round-trip time in microseconds; [`Hop::NO_RTT`] if not said. See [`Hop::rtt`].
    pub rtt_us: u32,
    /// Size of the probe with its IP header, bytes.
    pub probe_size: u16,
    /// Size of the reply with its IP header, bytes.
    pub reply_size: u16,
    /// The IPv4 identification of the reply.
    pub reply_id: u16,
    /// IP length that the reply quotes, bytes; that of the probe if not said.
    pub quoted_size: u16,
    /// The next hop's MTU from a packet-too-big message, bytes.
    pub next_mtu: u16,
    /// TTL of the probe; never 0.
    pub ttl: u8,
    /// Which probe with this TTL was answered, from 1; 0 if not said.
    pub attempt: u8,
    /// TTL of the reply; 0 if not said.
    pub reply_ttl: u8,
    /// scamper's flags ([`Hop::TCP`], [`Hop::UDP`] and how times were taken).
    pub flags: u8,
    /// Type of the ICMP reply; [`Hop::NO_ICMP`] if TCP or UDP replied or it is not said.
    pub icmp_type: u8,
    /// Code of the ICMP reply.
    pub icmp_code: u8,
    /// Flags of the TCP reply.
    pub tcp_flags: u8,
    /// TTL that the reply quotes.
    pub quoted_ttl: u8,
    /// The reply's type of service.
    pub reply_tos: u8,
    /// The type of service that the reply quotes.
    pub quoted_tos: u8,
}

impl Hop {
    /// Flag: the reply was TCP.
    pub const TCP: u8 = 0x20;
    /// Flag: the reply was UDP.
    pub const UDP: u8 = 0x40;
    /// Value of `rtt_us` where no time was taken.
    pub const NO_RTT: u32 = u32::MAX;
    /// Value of `icmp_type` where it is not known. No message has this type: 255 is reserved for ICMPv4 and ICMPv6 (IANA, "ICMP
    /// Type Numbers" and "ICMPv6 'type' Numbers").
    pub const NO_ICMP: u8 = u8::MAX;
    /// Longest time that is accepted, 35 minutes. scamper subtracts time stamps in 32 bits: if a probe's is later than
    /// its answer's (seen with packet sockets and `-M`), the file holds a small negative number, read as a huge one.
    pub const LONGEST_RTT: u32 = i32::MAX as u32;

    /// Round-trip time.
    pub fn rtt(&self) -> Option<Span> {
        (self.rtt_us != Hop::NO_RTT).then(|| Span::from_micros(u64::from(self.rtt_us)))
    }

    /// Type and code of the ICMP reply, if it was one and they are known.
    pub fn icmp(&self) -> Option<(u8, u8)> {
        (self.is_icmp() && self.icmp_type != Hop::NO_ICMP).then_some((self.icmp_type, self.icmp_code))
    }

    /// Whether the reply was ICMP.
    pub fn is_icmp(&self) -> bool {
        self.flags & (Hop::TCP | Hop::UDP) == 0
    }
}

impl Default for Hop {
    fn default() -> Hop {
        Hop {
            address: Address::NONE,
            sent_us: 0,
            rtt_us: Hop::NO_RTT,
            probe_size: 0,
            reply_size: 0,
            reply_id: 0,
            quoted_size: 0,
            next_mtu: 0,
            ttl: 0,
            attempt: 0,
            reply_ttl: 0,
            flags: 0,
            icmp_type: Hop::NO_ICMP,
            icmp_code: 0,
            tcp_flags: 0,
            // RFC 792: a router answers when it has counted the TTL down to what it quotes, as a rule 1.
            quoted_ttl: 1,
            reply_tos: 0,
            quoted_tos: 0,
        }
    }
}

/// One extension object of an ICMP reply (RFC 4884, section 8); its bytes are in [`Trace::extension_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Index of the hop in [`Trace::hops`].
    pub hop: u32,
    /// Class; 1 is MPLS (RFC 4950).
    pub class: u8,
    /// Type within the class.
    pub kind: u8,
    start: u32,
    len: u16,
}

/// One entry of an MPLS label stack (RFC 3032, section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The label, 20 bits.
    pub label: u32,
    /// Traffic class, 3 bits.
    pub class: u8,
    /// Whether it is the bottom of the stack.
    pub bottom: bool,
    /// Its time to live.
    pub ttl: u8,
}

/// One traceroute. Readers fill the same value again and again, so that its buffers are allocated once.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Trace {
    /// The source, which probed; [`Address::NONE`] if not said.
    pub source: Address,
    /// The destination.
    pub destination: Address,
    /// The router to which probes were handed, if said.
    pub router: Address,
    /// When it began, microseconds since the Unix epoch; 0 if not said. See [`Trace::time_us`].
    pub start_us: u64,
    /// Why it ended.
    pub stop: Stop,
    /// More on why: the ICMP code after `UNREACH`, the error's number after `ERROR`.
    pub stop_data: u8,
    /// Whether the destination answered.
    pub answered: bool,
    /// The list of destinations: its number as a person gave it (warts, ARTS), or the measurement's (RIPE Atlas).
    pub list_id: u32,
    /// The pass over that list.
    pub cycle_id: u32,
    /// The monitor's name, if the file has it.
    pub monitor: Option<Arc<str>>,
    /// The probe's number at RIPE Atlas.
    pub probe_id: u32,
    /// How the path was probed.
    pub method: Method,
    /// Source port, or the ICMP identifier.
    pub source_port: u16,
    /// Destination port; of Paris ICMP the checksum that holds the flow together.
    pub destination_port: u16,
    /// scamper's flags of the trace.
    pub flags: u32,
    /// TTL of the first probe.
    pub first_ttl: u8,
    /// TTL of the reply that ended a trace whose probes ran ahead; 0 if not said.
    pub stop_hop: u8,
    /// How many TTLs were probed.
    pub hop_count: u16,
    /// Probes for each TTL at most.
    pub attempts: u8,
    /// Highest TTL allowed; 0 is scamper's 255.
    pub hop_limit: u8,
    /// Silent hops in a row allowed.
    pub gap_limit: u8,
    /// The prober's action at the gap limit.
    pub gap_action: u8,
    /// Loops allowed.
    pub loops: u8,
    /// The prober's action at a loop.
    pub loop_action: u8,
    /// Type of service of the probes.
    pub tos: u8,
    /// Seconds waited for an answer.
    pub wait_s: u8,
    /// Least time between probes, centiseconds.
    pub wait_probe_cs: u8,
    /// Confidence wanted that all interfaces of a hop were seen, per cent.
    pub confidence: u8,
    /// Probes under way at once.
    pub parallel: u8,
    /// Size of probes with their IP header, bytes.
    pub probe_size: u16,
    /// How many probes were sent.
    pub probes: u16,
    /// Fragment offset of the probes.
    pub offset: u16,
    /// A number the user gave.
    pub user_id: u32,
    /// The answers, in the order of the file.
    pub hops: Vec<Hop>,
    /// Extensions of the answers, in the same order.
    pub extensions: Vec<Extension>,
    /// The extensions' data.
    pub extension_bytes: Vec<u8>,
}

impl Trace {
    /// Clears the trace but keeps its buffers.
    pub fn clear(&mut self) {
        let mut hops = std::mem::take(&mut self.hops);
        let mut extensions = std::mem::take(&mut self.extensions);
        let mut extension_bytes = std::mem::take(&mut self.extension_bytes);
        hops.clear();
        extensions.clear();
        extension_bytes.clear();
        let monitor = self.monitor.take();
        *self = Trace { hops, extensions, extension_bytes, monitor, first_ttl: 1, ..Trace::default() };
    }

    /// Sets the monitor, without touching the count of references where it is the same as before.
    pub(crate) fn set_monitor(&mut self, monitor: Option<&Arc<str>>) {
        let same = match (&self.monitor, monitor) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.monitor = monitor.cloned();
        }
    }

    /// When it began, microseconds since the Unix epoch: as the file says, or else the first of its probes that were
    /// answered; 0 if neither is known.
    pub fn time_us(&self) -> u64 {
        if self.start_us != 0 {
            return self.start_us;
        }
        self.hops.iter().map(|h| h.sent_us).filter(|&t| t != 0).min().unwrap_or(0)
    }

    /// The answers that belong to the path: all except those behind the reply that ended a trace whose probes ran
    /// ahead.
    pub fn path(&self) -> impl Iterator<Item = &Hop> {
        let end = if self.stop_hop == 0 { u8::MAX } else { self.stop_hop };
        self.hops.iter().filter(move |h| h.ttl <= end)
    }

    /// Path length τ: the highest TTL that was answered.
    pub fn length(&self) -> u8 {
        self.path().map(|h| h.ttl).max().unwrap_or(0)
    }

    /// Round-trip time of the path: the least of the destination's answers.
    pub fn rtt(&self) -> Option<Span> {
        if !self.answered {
            return None;
        }
        let last = self.length();
        self.path().filter(|h| h.ttl == last).filter_map(Hop::rtt).min()
    }

    /// Adds an extension to the hop that was added last.
    pub fn add_extension(&mut self, class: u8, kind: u8, data: &[u8]) {
        let (start, len) = (self.extension_bytes.len() as u32, data.len() as u16);
        let hop = self.hops.len().saturating_sub(1) as u32;
        self.extension_bytes.extend_from_slice(&data[..usize::from(len)]);
        self.extensions.push(Extension { hop, class, kind, start, len });
    }

    /// The data of one of this trace's extensions.
    pub fn data(&self, extension: &Extension) -> &[u8] {
        let start = extension.start as usize;
        self.extension_bytes.get(start..start + usize::from(extension.len)).unwrap_or_default()
    }

    /// The MPLS labels of all answers on the path, each with the place of its answer among those of [`Trace::path`].
    pub fn path_labels(&self) -> impl Iterator<Item = (usize, Label)> + '_ {
        let end = if self.stop_hop == 0 { u8::MAX } else { self.stop_hop };
        self.extensions
            .iter()
            .filter_map(move |e| {
                let hop = e.hop as usize;
                let on_path = self.hops.get(hop).is_some_and(|h| h.ttl <= end);
                on_path.then(|| (self.hops[..hop].iter().filter(|h| h.ttl <= end).count(), e))
            })
            .flat_map(|(place, e)| self.labels(e).map(move |label| (place, label)))
    }

    /// The MPLS labels in one of this trace's extensions, none if it is not of that class (RFC 4950).
    pub fn labels<'a>(&'a self, extension: &Extension) -> impl Iterator<Item = Label> + 'a {
        let data = if (extension.class, extension.kind) == (1, 1) { self.data(extension) } else { &[] };
        data.chunks_exact(4).map(|b| Label {
            label: u32::from_be_bytes([0, b[0], b[1], b[2]]) >> 4,
            class: (b[2] >> 1) & 7,
            bottom: b[2] & 1 == 1,
            ttl: b[3],
        })
    }
}
