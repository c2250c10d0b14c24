//! Contenders: `transport[@implementation]/congestion[-switch|+switch…]`, such as `tcp/cubic` or `tcp/cubic-nohystart`.

use haltere_transport::cc::{Algorithm, SlowStart};
use haltere_transport::quic::Session;

/// The transports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// QUIC.
    Quic,
}

impl Transport {
    /// All of them.
    pub const ALL: [Transport; 2] = [Transport::Tcp, Transport::Quic];

    /// Its name in contenders, and what it is.
    pub const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Transport::Tcp => ("tcp", "TCP as Linux does it; with TLS 1.3 and HTTP/2 when it carries https"),
            Transport::Quic => ("quic", "QUIC version 1 (RFC 9000, 9001, 9002), with HTTP/3 when it carries https"),
        }
    }
}

/// A mechanism switched on or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// Slow start without an early exit.
    NoHystart,
    /// HyStart as in Linux.
    Hystart,
    /// HyStart++.
    HystartPlusPlus,
    /// Window-based algorithms paced.
    Paced,
    /// ECN.
    Ecn,
    /// Every data packet acknowledged at once.
    NoDelack,
    /// No compression of SACKs.
    NoSackCompression,
    /// The retransmission timeout as in RFC 6298, never under 1 s.
    Rto1s,
    /// No timestamp option.
    NoTimestamps,
    /// Receive buffers of an untuned host.
    StockBuffers,
    /// TLS 1.2 instead of TLS 1.3.
    Tls12,
    /// A session of an earlier connection is taken up again.
    Resumed,
    /// TCP Fast Open with the cookie of an earlier connection.
    FastOpen,
    /// TLS 1.3 early data.
    EarlyData,
    /// QUIC's 0-RTT packets.
    ZeroRtt,
    /// The server has the client's address validated by a Retry packet.
    Retry,
    /// The client's first version is not the server's.
    VersionNegotiation,
    /// Our congestion control inside a production stack.
    Haltere,
    /// A production stack without encryption.
    NullCipher,
}

impl Switch {
    /// All of them.
    pub const ALL: [Switch; 19] = [
        Switch::NoHystart,
        Switch::Hystart,
        Switch::HystartPlusPlus,
        Switch::Paced,
        Switch::Ecn,
        Switch::NoDelack,
        Switch::NoSackCompression,
        Switch::Rto1s,
        Switch::NoTimestamps,
        Switch::StockBuffers,
        Switch::Tls12,
        Switch::Resumed,
        Switch::FastOpen,
        Switch::EarlyData,
        Switch::ZeroRtt,
        Switch::Retry,
        Switch::VersionNegotiation,
        Switch::Haltere,
        Switch::NullCipher,
    ];

    /// Its name, the transports it applies to, and what it does.
    pub const fn describe(self) -> (&'static str, &'static [Transport], &'static str) {
        const BOTH: &[Transport] = &Transport::ALL;
        const TCP: &[Transport] = &[Transport::Tcp];
        const QUIC: &[Transport] = &[Transport::Quic];
        match self {
            Switch::NoHystart => ("nohystart", BOTH, "slow start ends by loss only"),
            Switch::Hystart => ("hystart", BOTH, "slow start ends early by HyStart, as in Linux (CUBIC's default)"),
            Switch::HystartPlusPlus => ("hystartpp", BOTH, "slow start ends early by HyStart++ (RFC 9406)"),
            Switch::Paced => ("paced", TCP, "window-based algorithms are paced, as with a pacing queue discipline"),
            Switch::Ecn => {
                ("ecn", BOTH, "packets are ECN-capable and marks heeded (RFC 3168, RFC 9000; always for dctcp)")
            }
            Switch::NoDelack => ("nodelack", BOTH, "every data packet is acknowledged at once"),
            Switch::NoSackCompression => ("nosackcompression", TCP, "duplicate ACKs are never held back"),
            Switch::Rto1s => ("rto1s", TCP, "retransmission timeout as in RFC 6298, never under 1 s"),
            Switch::StockBuffers => (
                "stockbuffers",
                BOTH,
                "TCP: receive buffer of an untuned Linux, 128 KiB, at most 6 MiB; production QUIC stacks: their own windows",
            ),
            Switch::Haltere => ("haltere", QUIC, "our congestion control of that name inside a production stack"),
            Switch::NullCipher => ("nullcipher", QUIC, "a production stack without encryption; sizes stay"),
            Switch::NoTimestamps => ("notimestamps", TCP, "no timestamp option: 12 more data bytes a packet"),
            Switch::Tls12 => ("tls12", TCP, "TLS 1.2 instead of 1.3: one round trip more, unless resumed"),
            Switch::Resumed => ("resumed", BOTH, "a session taken up again: no certificate is sent"),
            Switch::FastOpen => ("tfo", TCP, "TCP Fast Open (RFC 7413), cookie at hand: data in the SYN"),
            Switch::EarlyData => {
                ("earlydata", TCP, "TLS 1.3 early data: the request with the ClientHello; implies resumed")
            }
            Switch::ZeroRtt => ("0rtt", QUIC, "the request in 0-RTT packets; implies resumed"),
            Switch::Retry => ("retry", QUIC, "the server answers with a Retry packet first: one round trip more"),
            Switch::VersionNegotiation => {
                ("versionnegotiation", QUIC, "the client's first version is not the server's: one round trip more")
            }
        }
    }
}

/// A parsed contender.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contender {
    /// The transport.
    pub transport: Transport,
    /// The implementation after the `@`: `model`, or a real one such as `linux`; `None` leaves it to the fidelity.
    pub implementation: Option<String>,
    /// The name of the congestion control; real implementations have their own.
    pub congestion: String,
    /// Slow start's exit, if a switch sets it.
    pub slow_start: Option<SlowStart>,
    /// All switches.
    pub switches: Vec<Switch>,
}

impl Contender {
    /// Reads a contender; the error says what is known. Whether the model has it, [`Contender::modelled`] tells.
    pub fn parse(text: &str) -> Result<Contender, String> {
        let Some((transport, rest)) = text.split_once('/') else {
            return Err(format!("{text:?} is not a contender: write transport/congestion, as in \"tcp/cubic\""));
        };
        let (name, implementation) = transport.split_once('@').map_or((transport, None), |(t, i)| (t, Some(i)));
        let transport = Transport::ALL.into_iter().find(|t| t.describe().0 == name).ok_or_else(|| {
            let known = join(Transport::ALL.iter().map(|t| t.describe().0));
            format!("{text:?} names the unknown transport {name:?}: there are {known}")
        })?;
        let well_formed = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+_.".contains(&b))
        };
        if let Some(wrong) = implementation.filter(|i| !well_formed(i)) {
            return Err(format!(
                "{text:?} names the implementation {wrong:?}: write small letters and digits, as in \"{name}@linux/…\""
            ));
        }
        let mut words = rest.split(['-', '+']);
        let congestion = words.next().unwrap_or_default();
        if !well_formed(congestion) {
            let known = join(Algorithm::ALL.iter().map(|a| a.describe().name));
            return Err(format!("{text:?} names no congestion control: the model has {known}"));
        }
        let mut contender = Contender {
            transport,
            implementation: implementation.map(str::to_string),
            congestion: congestion.to_string(),
            slow_start: None,
            switches: Vec::new(),
        };
        for word in words {
            contender.switch(text, word)?;
        }
        if contender.has(Switch::Tls12) && contender.has(Switch::EarlyData) {
            return Err(format!("{text:?} asks for early data, which TLS 1.2 has not: leave tls12 or earlydata out"));
        }
        Ok(contender)
    }

    fn switch(&mut self, text: &str, word: &str) -> Result<(), String> {
        let applies = |s: &Switch| s.describe().1.contains(&self.transport);
        let Some(switch) = Switch::ALL.into_iter().find(|s| s.describe().0 == word && applies(s)) else {
            let known = join(Switch::ALL.iter().filter(|s| applies(s)).map(|s| s.describe().0));
            let name = self.transport.describe().0;
            return Err(format!("{text:?} has the unknown switch {word:?}: {name} knows {known}"));
        };
        let slow_start = match switch {
            Switch::NoHystart => Some(SlowStart::Standard),
            Switch::Hystart => Some(SlowStart::HyStart),
            Switch::HystartPlusPlus => Some(SlowStart::HyStartPlusPlus),
            _ => None,
        };
        let own_startup = Algorithm::named(&self.congestion).is_some_and(|a| !a.describe().slow_start);
        if slow_start.is_some() && own_startup {
            let name = &self.congestion;
            return Err(format!("{text:?} has the switch {word:?}, but {name} has its own startup: leave it out"));
        }
        self.slow_start = slow_start.or(self.slow_start);
        self.switches.push(switch);
        Ok(())
    }

    /// The model's algorithm; the error says what the model has.
    pub fn modelled(&self) -> Result<Algorithm, String> {
        let name = self.transport.describe().0;
        if let Some(real) = self.implementation.as_ref().filter(|i| *i != "model") {
            return Err(format!(
                "{real:?} is a real implementation, which the model has not: choose fidelity \"linux\" or \"testbed\", or \
                 write \"{name}/{}\"",
                self.congestion
            ));
        }
        self.algorithm()
    }

    /// Our algorithm of the contender's name; the error says what there is.
    pub(crate) fn algorithm(&self) -> Result<Algorithm, String> {
        Algorithm::named(&self.congestion).ok_or_else(|| {
            let known = join(Algorithm::ALL.iter().map(|a| a.describe().name));
            format!("the model has no congestion control {:?}: there are {known}", self.congestion)
        })
    }

    /// Whether a session is taken up again, and whether the request goes ahead of the handshake.
    pub fn session(&self) -> Session {
        if self.has(Switch::EarlyData) || self.has(Switch::ZeroRtt) {
            Session::Early
        } else if self.has(Switch::Resumed) {
            Session::Resumed
        } else {
            Session::New
        }
    }

    /// Whether a switch is set.
    pub fn has(&self, switch: Switch) -> bool {
        self.switches.contains(&switch)
    }
}

fn join(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_are_read_with_their_switches() {
        let c = Contender::parse("tcp/cubic-nohystart+nodelack").unwrap();
        assert_eq!(
            (c.transport, c.modelled(), c.slow_start),
            (Transport::Tcp, Ok(Algorithm::Cubic), Some(SlowStart::Standard))
        );
        assert!(c.has(Switch::NoDelack) && !c.has(Switch::Paced));
        assert!(Contender::parse("quic@model/bbr").is_ok());
    }

    #[test]
    fn a_real_implementation_has_a_congestion_control_of_its_own() {
        let c = Contender::parse("tcp@apache+wget2/westwood").unwrap();
        assert_eq!((c.implementation.as_deref(), c.congestion.as_str()), (Some("apache+wget2"), "westwood"));
        assert!(c.modelled().is_err());
    }

    #[test]
    fn what_is_unknown_is_named_with_what_there_is() {
        let cases = [
            ("cubic", "tcp/cubic"),
            ("sctp/cubic", "tcp, quic"),
            ("tcp/qubic", "newreno, cubic, bbr"),
            ("tcp/cubic+warp", "nohystart"),
            ("quic/cubic+paced", "nodelack"),
            ("tcp@linux/bbr", "fidelity"),
            ("tcp@Linux!/bbr", "small letters"),
            ("tcp/bbr+hystart", "own startup"),
            ("tcp/cubic+tls12+earlydata", "leave tls12 or earlydata out"),
            ("tcp/cubic+0rtt", "tfo"),
            ("quic/cubic+tfo", "0rtt"),
            ("tcp/", "newreno"),
            ("", "tcp/cubic"),
        ];
        for (given, hint) in cases {
            let error = Contender::parse(given).and_then(|c| c.modelled().map(|_| ())).unwrap_err();
            assert!(error.contains(hint), "{given}: {error}");
        }
    }
}
