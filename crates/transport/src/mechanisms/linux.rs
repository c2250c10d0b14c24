//! How a Linux kernel is told a contender's mechanisms: by parameters of its hosts (sysctl), by metrics of routes, by options of sockets.
//!
//! A parameter that a contender does not set has the kernel's own value. Two contenders that want a host differently cannot share it.

use super::{Facts, MPTCP, TCP, Value};
use haltere_net::Span;
use std::collections::BTreeMap;

/// The name of the parameter of receive buffers, and of send buffers: their least, first and largest size, bytes.
const RECEIVE: &str = "net.ipv4.tcp_rmem";
const SEND: &str = "net.ipv4.tcp_wmem";
/// Buffers that never limit a transfer, as the model's hosts have them.
const LEAST: u64 = 4096;
const FIRST: u64 = 16 << 20;
const LARGEST: u64 = 128 << 20;
/// The kernel's own first send buffer, bytes: how much MPTCP gives to its first subflow before there is another.
const FIRST_SEND: u64 = 16_384;
/// Bytes of the timestamp option, padded (RFC 7323).
const TIMESTAMP_OPTION: u64 = 12;
/// The parameter of the time for which duplicate ACKs are held back.
const COMPRESSION: &str = "net.ipv4.tcp_comp_sack_delay_ns";
/// The parameter of their number.
const COMPRESSED: &str = "net.ipv4.tcp_comp_sack_nr";

/// How a mechanism's value is written as a parameter's.
#[derive(Clone, Copy)]
enum Written {
    /// On as this word, off as 0.
    On(&'static str),
    /// As 1 for the classic rule and 0 for none.
    Ecn,
    /// As a number.
    Number,
    /// As a number, off as 0.
    NumberOrOff,
    /// In microseconds.
    Micros,
    /// In nanoseconds, off as 0.
    Nanos,
}

impl Written {
    fn words(self, value: Value) -> Option<String> {
        Some(match (self, value) {
            (Written::On(on), Value::On) => on.into(),
            (Written::Ecn, Value::On | Value::Word("rfc3168")) => "1".into(),
            (Written::On(_) | Written::Ecn | Written::NumberOrOff | Written::Nanos, Value::Off) => "0".into(),
            (Written::Number | Written::NumberOrOff, Value::Number(number)) => number.to_string(),
            (Written::Micros, Value::Time(span)) => span.as_micros().max(1).to_string(),
            (Written::Nanos, Value::Time(span)) => span.as_nanos().to_string(),
            _ => return None,
        })
    }
}

/// Mechanism, parameter, values.
type Parameter = (&'static str, &'static str, Written);

/// The mechanisms that one parameter sets (Documentation/networking/ip-sysctl.rst, mptcp-sysctl.rst).
const PARAMETERS: [Parameter; 19] = [
    ("timestamps", "net.ipv4.tcp_timestamps", Written::On("1")),
    ("ecn", "net.ipv4.tcp_ecn", Written::Ecn),
    ("sack", "net.ipv4.tcp_sack", Written::On("1")),
    ("rack", "net.ipv4.tcp_recovery", Written::On("1")),
    ("tlp", "net.ipv4.tcp_early_retrans", Written::On("3")),
    ("frto", "net.ipv4.tcp_frto", Written::On("2")),
    ("dsack", "net.ipv4.tcp_dsack", Written::On("1")),
    ("loss-threshold", "net.ipv4.tcp_reordering", Written::Number),
    ("idle-restart", "net.ipv4.tcp_slow_start_after_idle", Written::On("1")),
    ("tso-defer", "net.ipv4.tcp_tso_win_divisor", Written::Number),
    ("tso-least", "net.ipv4.tcp_min_tso_segs", Written::Number),
    ("tsq", "net.ipv4.tcp_limit_output_bytes", Written::Number),
    ("syn-retries", "net.ipv4.tcp_syn_retries", Written::Number),
    ("data-retries", "net.ipv4.tcp_retries2", Written::Number),
    ("sack-compression-acks", COMPRESSED, Written::Number),
    ("sack-compression-share", "net.ipv4.tcp_comp_sack_rtt_percent", Written::Number),
    ("sack-compression-slack", "net.ipv4.tcp_comp_sack_slack_ns", Written::Nanos),
    ("rto-min", "net.ipv4.tcp_rto_min_us", Written::Micros),
    ("stale-after", "net.mptcp.stale_loss_cnt", Written::NumberOrOff),
];

/// Whether a mechanism without a parameter may have this value: what options of sockets, routes and buffers set, and what the kernel does
/// anyway.
fn allowed(name: &str, value: Value) -> Option<bool> {
    Some(match (name, value) {
        ("sack-compression" | "initial-window" | "segment" | "receive-window" | "max-receive-window", value) => {
            value != Value::Auto
        }
        ("pacing" | "delack" | "add-addr" | "nagle", value) => matches!(value, Value::On | Value::Off),
        ("hystart", value) => matches!(value, Value::Word("linux") | Value::Off),
        ("rto", value) => matches!(value, Value::Word("linux" | "rfc6298")),
        ("reno-friendly", value) => value == Value::Word("linux"),
        ("growth", value) => value == Value::Word("linux"),
        ("ack-window" | "forget-sacks", value) => value == Value::On,
        ("clock-unit", value) => value == Value::Time(Span::from_micros(1)),
        ("scheduler", Value::Scheduler(scheduler)) => scheduler.name() == "linux",
        ("reinjection", value) => value == Value::Word("timer"),
        ("opportunistic" | "penalisation", value) => value == Value::Off,
        ("subflow-buffer", value) => value == Value::Auto,
        // The kernels in virtual time are built so; that of a machine may not be.
        ("header-room", value) => value == Value::Number(320),
        _ => return None,
    })
}

const OTHERS: [&str; 20] = [
    "clock-unit",
    "forget-sacks",
    "ack-window",
    "growth",
    "sack-compression",
    "initial-window",
    "segment",
    "receive-window",
    "max-receive-window",
    "pacing",
    "delack",
    "add-addr",
    "nagle",
    "hystart",
    "rto",
    "reno-friendly",
    "scheduler",
    "reinjection",
    "header-room",
    "subflow-buffer",
];

/// The buffers of hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffers {
    /// The kernel's own.
    Stock,
    /// As large as the contender says, or so large that they never limit a transfer.
    Set,
}

/// The parts of a contender that a kernel is told.
#[derive(Clone, Copy, Debug)]
pub struct Wishes<'a> {
    /// Its mechanisms.
    pub mechanisms: &'a [(&'static str, Value)],
    /// Whether it is MPTCP.
    pub multipath: bool,
    /// Whether its congestion control works by marks.
    pub needs_ecn: bool,
    /// The buffers of its hosts.
    pub buffers: Buffers,
}

/// How the hosts of a flow and its sockets are set up. Both hosts are set up alike, as data may go either way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Parameters, by name. Values are `None` where the kernel's own stay.
    pub parameters: BTreeMap<&'static str, Option<String>>,
    /// Metrics of the routes to the peer, by iproute2's names: `initcwnd` in segments, `advmss` in bytes.
    pub metrics: BTreeMap<&'static str, u32>,
    /// Sockets are paced (`SO_MAX_PACING_RATE` without a limit).
    pub paced: bool,
    /// Data is acknowledged at once (`TCP_QUICKACK`).
    pub acks_at_once: bool,
    /// CUBIC has no HyStart, which is a parameter of the whole kernel.
    pub without_hystart: bool,
    /// The server announces its other addresses, and the client waits for that (MPTCP).
    pub announces: bool,
}

/// Both buffers, as the hosts of all flows have them: `receive` is the first and the largest receive buffer.
fn sizes(receive: [u64; 2], first_send: u64) -> [(&'static str, String); 2] {
    let [first, largest] = receive;
    [(RECEIVE, format!("{LEAST} {first} {largest}")), (SEND, format!("{LEAST} {first_send} {LARGEST}"))]
}

impl Settings {
    /// How hosts are set up for a program whose transport is its own, such as QUIC.
    pub fn of_programs(buffers: Buffers) -> Settings {
        let given = (buffers == Buffers::Set).then(|| sizes([FIRST, LARGEST], FIRST));
        Settings { parameters: with_buffers(given), ..Settings::default() }
    }

    /// How a kernel is told a contender's mechanisms.
    ///
    /// # Errors
    /// If a kernel has no such mechanism, or not with this value.
    pub fn of(wishes: Wishes<'_>) -> Result<Settings, String> {
        let Wishes { mechanisms, multipath, needs_ecn, buffers } = wishes;
        mechanisms.iter().try_for_each(|(name, value)| refuse(name, *value))?;
        let given = |name: &str| mechanisms.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
        let number = |name: &str| given(name).map(Value::number);
        let mut parameters = with_buffers((buffers == Buffers::Set).then(|| {
            // A window is half of the buffer at first (`scaling_ratio` 128 of 256).
            let first = number("receive-window").map_or(FIRST, |window| 2 * window);
            let largest = number("max-receive-window").map_or(LARGEST, |window| first.max(window * 256 / 153));
            sizes([first, largest], if multipath { FIRST_SEND } else { FIRST })
        }));
        for (mechanism, name, written) in PARAMETERS {
            let value = match (mechanism, given(mechanism)) {
                ("ecn", None) if needs_ecn => Some("1".to_owned()),
                // The kernel's timeout keeps its form; its least comes as near to the RFC's as it can.
                ("rto-min", None) if given("rto") == Some(Value::Word("rfc6298")) => Some("1000000".to_owned()),
                (_, value) => value.and_then(|value| written.words(value)),
            };
            parameters.insert(name, value);
        }
        let mut compression = given("sack-compression");
        if compression.take_if(|value| *value == Value::Off).is_some() {
            parameters.insert(COMPRESSED, Some("0".to_owned()));
        }
        parameters.insert(COMPRESSION, compression.map(|value| value.span().as_nanos().to_string()));
        let mut metrics = BTreeMap::new();
        if let Some(segment) = number("segment") {
            let option = if given("timestamps") == Some(Value::Off) { 0 } else { TIMESTAMP_OPTION };
            metrics.insert("advmss", u32::try_from(segment + option).unwrap_or(u32::MAX));
        }
        metrics.extend(given("initial-window").map(|window| ("initcwnd", window.small())));
        Ok(Settings {
            parameters,
            metrics,
            paced: given("pacing") == Some(Value::On),
            acks_at_once: given("delack") == Some(Value::Off),
            without_hystart: given("hystart") == Some(Value::Off),
            announces: given("add-addr") == Some(Value::On),
        })
    }
}

fn with_buffers(given: Option<[(&'static str, String); 2]>) -> BTreeMap<&'static str, Option<String>> {
    let mut parameters = BTreeMap::from([(RECEIVE, None), (SEND, None)]);
    parameters.extend(given.into_iter().flatten().map(|(name, value)| (name, Some(value))));
    parameters
}

/// Refuses a mechanism that a kernel has not, or not with this value.
fn refuse(name: &str, value: Value) -> Result<(), String> {
    let written = PARAMETERS.iter().find(|(own, ..)| *own == name).map(|(.., written)| written.words(value).is_some());
    match written.or_else(|| allowed(name, value)) {
        Some(true) => Ok(()),
        Some(false) => {
            let facts = facts(name).map_or_else(String::new, |facts| facts.show(value));
            Err(format!("the kernel has no {name}={facts}, the model has: choose another value, or fidelity \"model\""))
        }
        None => Err(unknown(name)),
    }
}

/// Why a kernel cannot be told this.
pub fn unknown(name: &str) -> String {
    let mut known: Vec<&str> = PARAMETERS.iter().map(|(name, ..)| *name).chain(OTHERS).collect();
    known.extend(["opportunistic", "penalisation", "stockbuffers"]);
    known.sort_unstable();
    let known = known.join(", ");
    format!("the kernel has no switch '{name}', the model has: choose fidelity \"model\", or of {known}")
}

fn facts(name: &str) -> Option<Facts> {
    TCP.iter().map(|one| one.facts).chain(MPTCP.iter().map(|one| one.facts)).find(|facts| facts.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mechanisms: &[(&'static str, Value)]) -> Result<Settings, String> {
        Settings::of(Wishes { mechanisms, multipath: false, needs_ecn: false, buffers: Buffers::Set })
    }

    #[test]
    fn mechanisms_are_parameters_and_what_is_not_set_is_the_kernels() {
        let settings =
            of(&[("rack", Value::Off), ("segment", Value::Number(536)), ("rto", Value::Word("rfc6298"))]).unwrap();
        let value = |name: &str| settings.parameters[name].as_deref();
        assert_eq!((value("net.ipv4.tcp_recovery"), value("net.ipv4.tcp_rto_min_us")), (Some("0"), Some("1000000")));
        assert_eq!(value("net.ipv4.tcp_early_retrans"), None);
        assert_eq!(settings.metrics, BTreeMap::from([("advmss", 548)]));
        assert!(Settings::of_programs(Buffers::Stock).parameters.values().all(Option::is_none));
    }

    #[test]
    fn every_mechanism_that_is_known_is_one_of_the_model() {
        for name in PARAMETERS.iter().map(|(name, ..)| *name).chain(OTHERS) {
            assert!(facts(name).is_some(), "{name}");
        }
        for name in OTHERS {
            assert!(allowed(name, Value::Number(1)).is_some() || name == "scheduler", "{name}");
        }
    }

    #[test]
    fn what_a_kernel_has_not_is_refused() {
        let error = of(&[("reno-friendly", Value::Word("quinn"))]).unwrap_err();
        assert!(error.starts_with("the kernel has no reno-friendly=quinn"), "{error}");
        let error = of(&[("prr", Value::Off)]).unwrap_err();
        assert!(error.starts_with("the kernel has no switch 'prr'") && error.contains("rack"), "{error}");
    }
}
