//! Settings of a contender beside the mechanisms of its transport: the handshake, and the implementation that runs it.

use super::Transport;
use haltere_transport::mechanisms::Value;
use haltere_transport::tcp::config::WINDOW_SHARE;

haltere_net::named! {
    /// A switch that is off by default.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Switch {
        /// Buffers of an untuned host, or a production stack's own windows.
        StockBuffers,
        /// TLS 1.2 instead of TLS 1.3.
        Tls12,
        /// TLS 1.2 whose client does not wait for the server's Finished.
        FalseStart,
        /// A session of an earlier connection is resumed.
        Resumed,
        /// TCP Fast Open with the cookie of an earlier connection.
        FastOpen,
        /// TLS 1.3 early data.
        EarlyData,
        /// QUIC's 0-RTT packets.
        ZeroRtt,
        /// The server validates the client's address with a Retry packet.
        Retry,
        /// The client's first version differs from the server's.
        VersionNegotiation,
        /// Our congestion control inside a production stack.
        Haltere,
        /// A production stack without encryption.
        NullCipher,
        /// The encoder of a call follows each estimate of a production stack.
        RawEstimate,
    }
}

/// A switch's entry where switches are listed.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name in contenders.
    pub name: &'static str,
    /// The transports it applies to.
    pub transports: &'static [Transport],
    /// A description in one line.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
}

const BOTH: &[Transport] = &[Transport::Tcp, Transport::Quic, Transport::Mptcp, Transport::Mpquic];
const TCP: &[Transport] = &[Transport::Tcp, Transport::Mptcp];
const QUIC: &[Transport] = &[Transport::Quic, Transport::Mpquic];
const ON_QUIC: &[Transport] = &[Transport::Quic, Transport::Mpquic, Transport::Roq];
const RTP: &[Transport] = &[Transport::Rtp];
/// A join has no room for a cookie: the options of a SYN are 40 bytes.
const TCP_ONLY: &[Transport] = &[Transport::Tcp];

impl Switch {
    /// The switch's entry.
    pub const fn describe(self) -> About {
        let (name, transports, summary, source) = match self {
            Switch::StockBuffers => (
                "stockbuffers",
                BOTH,
                "TCP: receive buffer of an untuned Linux, 128 KiB, at most 6 MiB; production QUIC stacks: their own windows",
                "tcp_rmem",
            ),
            Switch::Tls12 => {
                ("tls12", TCP, "TLS 1.2 instead of 1.3: one round trip more, unless resumed", "RFC 5246 section 7.3")
            }
            Switch::FalseStart => (
                "falsestart",
                TCP,
                "TLS 1.2 False Start: the request with the client's Finished, a round trip less; implies tls12",
                "RFC 7918",
            ),
            Switch::Resumed => {
                ("resumed", BOTH, "a session taken up again: no certificate is sent", "RFC 8446 section 2.2, RFC 5077")
            }
            Switch::FastOpen => {
                ("tfo", TCP_ONLY, "TCP Fast Open, cookie at hand: data in the SYN", "RFC 7413; tcp_fastopen")
            }
            Switch::EarlyData => (
                "earlydata",
                TCP,
                "TLS 1.3 early data: the request with the ClientHello; implies resumed",
                "RFC 8446 section 2.3",
            ),
            Switch::ZeroRtt => ("0rtt", QUIC, "the request in 0-RTT packets; implies resumed", "RFC 9001 section 4.6"),
            Switch::Retry => (
                "retry",
                QUIC,
                "the server answers with a Retry packet first: one round trip more",
                "RFC 9000 section 8.1.2",
            ),
            Switch::VersionNegotiation => (
                "versionnegotiation",
                QUIC,
                "the client's first version is not the server's: one round trip more",
                "RFC 9000 section 6",
            ),
            Switch::Haltere => (
                "haltere",
                ON_QUIC,
                "our congestion control of that name inside a production stack",
                "docs/reference/stacks.md",
            ),
            Switch::NullCipher => {
                ("nullcipher", ON_QUIC, "a production stack without encryption; sizes stay", "docs/reference/stacks.md")
            }
            Switch::RawEstimate => (
                "rawestimate",
                RTP,
                "production WebRTC: the encoder follows each estimate, and not the mean of 3 s that str0m tells it",
                "str0m, src/bwe/smoother.rs",
            ),
        };
        About { name, transports, summary, source }
    }
}

/// A name for a setting of mechanisms.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name in contenders.
    pub name: &'static str,
    /// The transports it applies to.
    pub transports: &'static [Transport],
    /// The mechanisms it sets.
    pub sets: &'static [(&'static str, Value)],
}

/// All settings that have a name. Names that begin with "no" may follow either sign, as they did before a hyphen came
/// to mean "off".
pub const SETTINGS: &[Setting] = &[
    Setting { name: "nohystart", transports: BOTH, sets: &[("hystart", Value::Off)] },
    Setting { name: "hystartpp", transports: BOTH, sets: &[("hystart", Value::Word("rfc9406"))] },
    Setting { name: "paced", transports: TCP, sets: &[("pacing", Value::On)] },
    Setting { name: "nodelack", transports: BOTH, sets: &[("delack", Value::Off)] },
    Setting { name: "nosackcompression", transports: TCP, sets: &[("sack-compression", Value::Off)] },
    Setting { name: "rto1s", transports: TCP, sets: &[("rto", Value::Word("rfc6298"))] },
    Setting { name: "notimestamps", transports: TCP, sets: &[("timestamps", Value::Off)] },
    Setting {
        name: "stockbuffers",
        transports: TCP,
        // Half of 128 KiB, as for a window without scaling; and the window of an untuned host, from at most 6 MiB.
        sets: &[
            ("receive-window", Value::Number(65_535)),
            ("max-receive-window", Value::Number((6 << 20) / 256 * WINDOW_SHARE)),
        ],
    },
];

impl Setting {
    /// The settings it stands for, as contenders write them.
    pub fn means(&self) -> String {
        let transport = self.transports.first().copied().unwrap_or(Transport::Tcp);
        self.sets.iter().map(|(name, value)| written(transport, name, *value)).collect()
    }

    /// Whether the name means that something is left out.
    pub fn is_negative(&self) -> bool {
        self.name.starts_with("no")
    }
}

/// A mechanism's setting, as contenders write it.
pub(super) fn written(transport: Transport, name: &str, value: Value) -> String {
    match value {
        Value::Off => format!("-{name}"),
        Value::On => format!("+{name}"),
        value => {
            let facts = super::parse::facts(transport).find(|f| f.name == name);
            format!("+{name}={}", facts.map_or_else(String::new, |f| f.show(value)))
        }
    }
}
