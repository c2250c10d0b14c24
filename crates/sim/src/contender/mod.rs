//! Contenders: `transport[@implementation]/congestion[+switch|-switch|+switch=value…]`, such as `tcp/cubic` or
//! `tcp/cubic-hystart+initial-window=20`.
//!
//! | file | holds |
//! |---|---|
//! | `switch` | the switches of handshakes and of production stacks, and names for settings of mechanisms |
//! | `file` | contenders that name files of code |
//! | `parse` | how a contender is read |
//! | `bundles` | the mechanisms of stacks of some time or house, under one name |
//! | `effective` | the value of every mechanism in a contender |
//!
//! The mechanisms of the transports are in [`haltere_transport::mechanisms`].

mod bundles;
mod effective;
mod file;
mod parse;
mod switch;

pub use bundles::{BUNDLES, Bundle};
pub use effective::{Effective, Setting as EffectiveSetting};
pub use file::SUFFIXES;
pub use switch::{About, SETTINGS, Setting, Switch};

use haltere_net::registry::{DIGEST, Registry, is_file, shown};
use haltere_net::rng::Streams;
use haltere_transport::Role;
use haltere_transport::cc::{self, Algorithm, RenoFriendly, SlowStart};
use haltere_transport::mechanisms::linux::Buffers;
use haltere_transport::mechanisms::{
    MPQUIC, MPTCP, Mechanism, QUIC, ROQ, TCP, Value, linux, paces, to_reno_friendly, unfit,
};
use haltere_transport::quic::Session;
use haltere_transport::rtp::control::{self, Control};
use haltere_transport::scheduler::Scheduler;
use haltere_transport::{mptcp, quic, roq, scheduler, tcp};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

haltere_net::named! {
    /// The transports.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Transport {
        /// TCP.
        Tcp,
        /// QUIC.
        Quic,
        /// Multipath TCP.
        Mptcp,
        /// Multipath QUIC.
        Mpquic,
        /// RTP, which carries calls.
        Rtp,
        /// RTP over QUIC, which carries calls, too.
        Roq,
    }
}

impl Transport {
    /// Its name in contenders, and a description.
    pub const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Transport::Tcp => ("tcp", "TCP as Linux does it; with TLS 1.3 and HTTP/2 when it carries https"),
            Transport::Quic => ("quic", "QUIC version 1 (RFC 9000, 9001, 9002), with HTTP/3 when it carries https"),
            Transport::Mptcp => {
                ("mptcp", "Multipath TCP (RFC 8684) as Linux does it, over all paths; otherwise as tcp")
            }
            Transport::Mpquic => {
                ("mpquic", "Multipath QUIC (draft-ietf-quic-multipath), over all paths; otherwise as quic")
            }
            Transport::Rtp => ("rtp", "RTP over UDP as in WebRTC (RFC 3550, 3711, 4585, 4588); it carries calls alone"),
            Transport::Roq => (
                "roq",
                "RTP over QUIC (draft-ietf-avtcore-rtp-over-quic), one congestion control above the other; it carries calls alone",
            ),
        }
    }

    /// Whether it is QUIC, with a single path or with several.
    pub const fn is_quic(self) -> bool {
        matches!(self, Transport::Quic | Transport::Mpquic)
    }

    /// Whether its packets are those of QUIC.
    pub const fn runs_on_quic(self) -> bool {
        self.is_quic() || matches!(self, Transport::Roq)
    }

    /// The reason why a mechanism cannot have this value with a congestion control; `None` if it can.
    fn unfit(self, algorithm: Algorithm, name: &str, value: Value) -> Option<&'static str> {
        match (name, value) {
            ("pacing", Value::Off) if !self.is_quic() && paces(algorithm) => Some("works by a pacing rate"),
            _ => unfit(algorithm, name, value),
        }
    }

    /// Whether it carries calls, and nothing else.
    pub const fn is_media(self) -> bool {
        matches!(self, Transport::Rtp | Transport::Roq)
    }

    /// Whether it uses all paths between two hosts.
    pub const fn is_multipath(self) -> bool {
        matches!(self, Transport::Mptcp | Transport::Mpquic)
    }
}

/// The congestion controls and schedulers among which contenders are read. The default has those that come with this project.
#[derive(Clone, Default, Debug)]
pub struct Registries {
    /// The congestion controls.
    pub congestion: Registry<cc::Implementation>,
    /// The path schedulers.
    pub schedulers: Registry<scheduler::Implementation>,
}

/// A parsed contender.
#[derive(Clone, PartialEq, Debug)]
pub struct Contender {
    text: String,
    /// The transport.
    pub transport: Transport,
    /// The implementation after the `@`: `model`, or a real one such as `linux`. `None` leaves the choice to the
    /// fidelity.
    pub implementation: Option<String>,
    /// The name of the congestion control. Real implementations have names of their own.
    pub congestion: String,
    /// Our algorithm of this name, if there is one; of calls none has.
    pub model: Option<Algorithm>,
    /// Of a call, our congestion control of media with this name, if there is one.
    pub media: Option<Control>,
    /// Its switches of handshakes and production stacks.
    pub switches: Vec<Switch>,
    /// The mechanisms that it sets.
    pub mechanisms: Vec<(&'static str, Value)>,
    /// The parameters of its congestion control and of its scheduler that it sets.
    pub parameters: Vec<(String, f64)>,
}

impl Contender {
    /// Parses a contender. The error lists what is known. [`Contender::modelled`] says whether the model has it.
    pub fn parse(text: &str) -> Result<Contender, String> {
        Contender::parse_among(text, &Registries::default())
    }

    /// Parses a contender whose congestion control and scheduler are among those of the registries.
    ///
    /// # Errors
    ///
    /// As [`Contender::parse`].
    pub fn parse_among(text: &str, registries: &Registries) -> Result<Contender, String> {
        parse::contender(text, registries)
    }

    /// The contender as text, as it was given. [`fmt::Display`] leaves out the digest of a file.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The model's algorithm. The error lists the model's algorithms.
    pub fn modelled(&self) -> Result<Algorithm, String> {
        self.is_model()?;
        if let Some(file) = self.unloaded() {
            return Err(Registries::default().schedulers.named(file).err().unwrap_or_default());
        }
        self.algorithm()
    }

    /// The model's congestion control of a call. The error lists those that there are.
    pub fn modelled_media(&self) -> Result<Control, String> {
        self.is_model()?;
        self.media_control()
    }

    /// Our congestion control of media with the contender's name. The error lists those that there are.
    pub(crate) fn media_control(&self) -> Result<Control, String> {
        self.media.ok_or_else(|| {
            let (name, known) = (&self.congestion, Registry::<control::Implementation>::default());
            format!("the model has no congestion control {name:?} for calls: {}", known.known(name))
        })
    }

    /// Refuses a real implementation.
    fn is_model(&self) -> Result<(), String> {
        let name = self.transport.describe().0;
        let Some(real) = self.implementation.as_ref().filter(|i| *i != "model") else { return Ok(()) };
        // Linux kernels and programs on them run in the simulator, too.
        let others = match self.transport {
            Transport::Rtp | Transport::Roq => "\"stack\"",
            Transport::Mpquic => "\"linux\" or \"testbed\"",
            _ => "\"stack\", \"linux\" or \"testbed\"",
        };
        Err(format!(
            "{real:?} is a real implementation, which the model has not: choose fidelity {others}, or write \"{name}/{}\"",
            self.congestion
        ))
    }

    /// Its path scheduler, if it names one.
    fn scheduler(&self) -> Option<Scheduler> {
        self.mechanisms.iter().find_map(|(_, value)| if let Value::Scheduler(one) = value { Some(*one) } else { None })
    }

    /// The file of its scheduler, if its code is not known.
    fn unloaded(&self) -> Option<&'static str> {
        self.scheduler().map(Scheduler::name).filter(|name| is_file(name) && !name.contains(DIGEST))
    }

    /// Our algorithm with the contender's name. The error lists the algorithms.
    pub(crate) fn algorithm(&self) -> Result<Algorithm, String> {
        self.model.ok_or_else(|| {
            if is_file(&self.congestion) {
                return Registries::default().congestion.named(&self.congestion).err().unwrap_or_default();
            }
            let name = &self.congestion;
            if file::SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
                return format!("the model has no congestion control {name:?}: write ./{name} for the file");
            }
            format!("the model has no congestion control {name:?}: {}", Registries::default().congestion.known(name))
        })
    }

    /// How TLS opens the connection: a full handshake, a resumed session, or early data.
    pub fn session(&self) -> Session {
        if self.has(Switch::EarlyData) || self.has(Switch::ZeroRtt) {
            Session::EarlyData
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

    /// The value to which the contender sets a mechanism, if it does.
    pub fn mechanism(&self, name: &str) -> Option<Value> {
        self.mechanisms.iter().find(|(n, _)| *n == name).map(|(_, value)| *value)
    }

    /// The exit of slow start that the contender sets, if it does.
    pub fn slow_start(&self) -> Option<SlowStart> {
        match self.mechanism("hystart")? {
            Value::Off => Some(SlowStart::Standard),
            Value::Word("rfc9406") => Some(SlowStart::HyStartPlusPlus),
            _ => Some(SlowStart::HyStart),
        }
    }

    /// The rule of CUBIC's Reno-friendly region that the contender sets, or the default.
    pub fn reno_friendly(&self) -> RenoFriendly {
        self.mechanism("reno-friendly").map_or_else(RenoFriendly::default, to_reno_friendly)
    }

    /// All its settings, by name, with their values as text. A switch that is off by default has the value `on`.
    pub fn switched(&self) -> BTreeMap<String, String> {
        let parameters = self.parameters.iter().map(|(name, value)| (name.clone(), value.to_string()));
        self.switches_alone().into_iter().chain(parameters).collect()
    }

    /// Its settings, as [`Contender::switched`] has them, without the parameters of its congestion control.
    pub fn switches_alone(&self) -> BTreeMap<String, String> {
        let switches = self.switches.iter().map(|s| (s.describe().name.to_string(), "on".to_string()));
        let mechanism = |(name, value): &(&'static str, Value)| {
            let facts = parse::facts(self.transport).find(|f| f.name == *name)?;
            Some((name.to_string(), shown(&facts.show(*value))))
        };
        switches.chain(self.mechanisms.iter().filter_map(mechanism)).collect()
    }
}

impl Contender {
    /// How a Linux kernel is told what the contender switches; the congestion control's parameters are none of a kernel's.
    ///
    /// # Errors
    /// If a kernel has not what is switched.
    pub fn in_linux(&self) -> Result<linux::Settings, String> {
        let buffers = if self.has(Switch::StockBuffers) { Buffers::Stock } else { Buffers::Set };
        if self.transport.is_quic() {
            return Ok(linux::Settings::of_programs(buffers));
        }
        let of_ours = self.switches.iter().map(|switch| switch.describe().name);
        let unknown = of_ours.filter(|name| *name != Switch::StockBuffers.describe().name);
        let parameters = self.parameters.iter().map(|(name, _)| name.as_str()).filter(|_| !is_file(&self.congestion));
        if let Some(name) = unknown.chain(parameters).next() {
            return Err(linux::unknown(name));
        }
        linux::Settings::of(linux::Wishes {
            mechanisms: &self.mechanisms,
            multipath: self.transport.is_multipath(),
            needs_ecn: self.model.is_some_and(|algorithm| algorithm.needs_ecn()),
            buffers,
        })
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.text))
    }
}

impl<'de> Deserialize<'de> for Contender {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Contender::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// One row of the table of what contenders of a transport can set.
#[derive(Serialize, Clone, Debug)]
pub struct Row {
    /// The transport's name.
    pub transport: &'static str,
    /// The switch's name.
    pub name: &'static str,
    /// The type of its value.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The allowed values.
    pub values: String,
    /// The default value.
    pub default: String,
    /// Its effect, in one line.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
}

/// Everything that contenders can set: for each transport its mechanisms, then its switches. MPTCP and MPQUIC have those
/// of TCP and QUIC, too, which are not repeated.
pub fn catalogue() -> Vec<Row> {
    let stream = || Streams::new(0, 0).named("catalogue");
    let tcp_config = tcp::Config::new(Role::Server, cc::CUBIC, stream());
    let quic = quic::Config::new(Role::Server, cc::CUBIC, stream());
    let of_switches = |transport: Transport| {
        let about = Switch::ALL.into_iter().map(Switch::describe).filter(move |a| a.transports.contains(&transport));
        about.map(move |about| Row {
            transport: transport.describe().0,
            name: about.name,
            kind: "on/off",
            values: "on".into(),
            default: "off".into(),
            summary: about.summary,
            source: about.source,
        })
    };
    let tcp = rows(Transport::Tcp, TCP, &tcp_config).chain(of_switches(Transport::Tcp)).collect::<Vec<_>>();
    let quic_rows = rows(Transport::Quic, QUIC, &quic).chain(of_switches(Transport::Quic));
    let mptcp = mptcp::Config::new(tcp_config);
    let several = rows(Transport::Mptcp, MPTCP, &mptcp).chain(rows(Transport::Mpquic, MPQUIC, &quic));
    let over_quic = roq::Config::new(Role::Server, control::GCC, stream());
    let of_roq = rows(Transport::Roq, ROQ, &over_quic).chain(of_switches(Transport::Roq));
    let calls = of_switches(Transport::Rtp).chain(of_roq);
    tcp.into_iter().chain(quic_rows).chain(several).chain(calls).collect()
}

fn rows<'a, C>(transport: Transport, table: &'a [Mechanism<C>], fresh: &'a C) -> impl Iterator<Item = Row> + 'a {
    table.iter().map(move |mechanism| {
        let facts = mechanism.facts;
        Row {
            transport: transport.describe().0,
            name: facts.name,
            kind: facts.kind.name(),
            values: facts.kind.to_string(),
            default: facts.show(mechanism.get(fresh)),
            summary: facts.summary,
            source: facts.source,
        }
    })
}

#[cfg(test)]
mod tests;
