//! Mechanisms as tables: every switch of a transport by name, with its type, its default and its source.
//!
//! [`TCP`] and [`QUIC`] list them, and [`ROQ`] those of calls over QUIC. A mechanism is one entry in a list and one field of the transport's configuration.
//! An entry reads and writes that field, so its default is the one of `Config::new` and is stated nowhere else.
//!
//! A contender writes `+name` for on, `-name` for off and `+name=value` for a value. `haltere algorithms` prints the
//! tables.

pub mod linux;
mod multipath;
mod quic;
mod roq;
mod tcp;

pub use multipath::{MPQUIC, MPTCP};
pub use quic::QUIC;
pub use roq::ROQ;
pub use tcp::{TCP, to_reno_friendly};

use crate::Role;
use crate::cc::{self, Algorithm, CongestionController, Startup};
use crate::scheduler::{self, Scheduler};
use haltere_net::registry::{Registry, untuned};
use haltere_net::rng::Streams;
use haltere_net::{Span, units};
use std::fmt;

/// The type of a mechanism's value, with the values it may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// On or off.
    OnOff,
    /// A number without a unit, with its smallest and largest value.
    Count(u64, u64),
    /// A number of full segments (TCP) or datagrams (QUIC).
    Segments(u64, u64),
    /// Bytes.
    Bytes(u64, u64),
    /// A time.
    Time(Span, Span),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A path scheduler.
    Scheduler,
}

impl Kind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::OnOff => "on/off",
            Kind::Count(..) => "count",
            Kind::Segments(..) => "segments",
            Kind::Bytes(..) => "bytes",
            Kind::Time(..) => "time",
            Kind::OneOf(_) | Kind::Scheduler => "one of",
        }
    }

    /// Parses a value of this type, except for `on`, `off` and `auto`.
    fn read(self, text: &str) -> Option<Value> {
        let number = |least: u64, most: u64, n: u64| (least <= n && n <= most).then_some(Value::Number(n));
        match self {
            Kind::OnOff => None,
            Kind::Count(least, most) | Kind::Segments(least, most) => {
                let digits = text.bytes().all(|b| b.is_ascii_digit());
                number(least, most, text.parse().ok().filter(|_| digits)?)
            }
            Kind::Bytes(least, most) => number(least, most, units::parse_bytes(text).ok()?.0),
            Kind::Time(least, most) => {
                let span = units::parse_span(text).ok()?;
                (least <= span && span <= most).then_some(Value::Time(span))
            }
            Kind::OneOf(words) => words.iter().find(|w| **w == text).map(|w| Value::Word(w)),
            Kind::Scheduler => Scheduler::named(text).map(Value::Scheduler),
        }
    }
}

/// Describes the allowed values, as in "a time from 1ms to 120s".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::OnOff => write!(f, "on or off"),
            Kind::Count(least, most) => write!(f, "a number from {least} to {most}"),
            Kind::Segments(least, most) => write!(f, "a number of full packets from {least} to {most}"),
            Kind::Bytes(least, most) => write!(f, "bytes with a unit, from {least}B to {most}B"),
            Kind::Time(least, most) => write!(f, "a time with a unit, from {least} to {most}"),
            Kind::OneOf(words) => write!(f, "one of {}", words.join(", ")),
            Kind::Scheduler => {
                let known = Registry::<scheduler::Implementation>::default().names();
                write!(f, "one of {known}, or a file as in ./mine.py")
            }
        }
    }
}

/// A mechanism's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// The path or the congestion control decides.
    Auto,
    /// On.
    On,
    /// Off.
    Off,
    /// A number, in the unit of the type.
    Number(u64),
    /// A time.
    Time(Span),
    /// One of the type's words.
    Word(&'static str),
    /// A path scheduler.
    Scheduler(Scheduler),
}

impl From<bool> for Value {
    fn from(on: bool) -> Value {
        if on { Value::On } else { Value::Off }
    }
}

impl Value {
    /// Whether it is not off.
    pub fn is_on(self) -> bool {
        self != Value::Off
    }

    /// The number; 0 if the mechanism is off.
    fn number(self) -> u64 {
        if let Value::Number(n) = self { n } else { 0 }
    }

    /// The number, as `u32`.
    fn small(self) -> u32 {
        u32::try_from(self.number()).unwrap_or(u32::MAX)
    }

    /// The number, as `u16`.
    fn short(self) -> u16 {
        u16::try_from(self.number()).unwrap_or(u16::MAX)
    }

    /// The number, as `u8`.
    fn tiny(self) -> u8 {
        u8::try_from(self.number()).unwrap_or(u8::MAX)
    }

    /// The time; zero if the mechanism is off.
    fn span(self) -> Span {
        if let Value::Time(span) = self { span } else { Span::ZERO }
    }
}

/// The facts about a mechanism that do not depend on the transport's configuration.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The name in contenders.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// Its effect, in one line.
    pub summary: &'static str,
    /// Where it is specified: an RFC's section, a function or parameter of Linux, a paper.
    pub source: &'static str,
    /// The value that `+name` alone sets; `None` if a value must be given.
    pub on: Option<Value>,
    /// The value that `-name` sets; `None` if the mechanism cannot be switched off.
    pub off: Option<Value>,
    /// Why the other transport does not have it.
    pub only: Option<&'static str>,
}

impl Facts {
    /// The value that `+name` (`sign` is `+`) or `-name` sets, or with `given`, `+name=value`.
    ///
    /// # Errors
    /// If the mechanism does not take this value. The error says which values it takes.
    pub fn value(&self, sign: char, given: Option<&str>) -> Result<Value, String> {
        let Facts { name, kind, .. } = self;
        match (sign, given) {
            ('-', Some(value)) => Err(format!("-{name} switches off and takes no value: write +{name}={value}")),
            ('-', None) => self.off.ok_or_else(|| format!("{name} cannot be off: write +{name}=…, with {kind}")),
            (_, None) => self.on.ok_or_else(|| format!("{name} needs a value: write +{name}=…, with {kind}")),
            (_, Some("on")) if self.on.is_some() => self.value('+', None),
            (_, Some("off")) if self.off.is_some() => self.value('-', None),
            (_, Some(text)) => kind.read(text).ok_or_else(|| {
                let off = if self.off.is_some() && *kind != Kind::OnOff { ", or off" } else { "" };
                format!("{name} cannot be {text:?}: give {kind}{off}")
            }),
        }
    }

    /// Formats a value as contenders write it.
    pub fn show(&self, value: Value) -> String {
        match (value, self.kind) {
            (Value::Auto, _) => "auto".into(),
            (Value::On, _) => "on".into(),
            (Value::Off, _) => "off".into(),
            (Value::Number(n), Kind::Bytes(..)) => format!("{n}B"),
            (Value::Number(n), _) => n.to_string(),
            (Value::Time(span), _) => span.to_string(),
            (Value::Word(word), _) => word.into(),
            (Value::Scheduler(scheduler), _) => untuned(scheduler.name()).into(),
        }
    }
}

/// Functions that read a mechanism from a configuration and set it there.
type Access<C> = (fn(&C) -> Value, fn(&mut C, Value));

/// A mechanism of a transport with the configuration `C`.
#[derive(Debug)]
pub struct Mechanism<C: 'static> {
    /// Its facts.
    pub facts: Facts,
    get: fn(&C) -> Value,
    set: fn(&mut C, Value),
}

impl<C: 'static> Mechanism<C> {
    /// A new entry. A mechanism of type on or off can be switched by its name alone.
    const fn new(
        name: &'static str,
        kind: Kind,
        summary: &'static str,
        source: &'static str,
        (get, set): Access<C>,
    ) -> Mechanism<C> {
        let (on, off) = match kind {
            Kind::OnOff => (Some(Value::On), Some(Value::Off)),
            _ => (None, None),
        };
        Mechanism { facts: Facts { name, kind, summary, source, on, off, only: None }, get, set }
    }

    /// The entry, where `+name` alone sets `value`.
    const fn on(mut self, value: Value) -> Mechanism<C> {
        self.facts.on = Some(value);
        self
    }

    /// The entry, where `-name` switches the mechanism off.
    const fn off(mut self) -> Mechanism<C> {
        self.facts.off = Some(Value::Off);
        self
    }

    /// The entry, with the reason why the other transport does not have the mechanism.
    const fn only(mut self, reason: &'static str) -> Mechanism<C> {
        self.facts.only = Some(reason);
        self
    }

    /// The value in a configuration.
    pub fn get(&self, config: &C) -> Value {
        (self.get)(config)
    }

    /// Sets the value in a configuration.
    pub fn set(&self, config: &mut C, value: Value) {
        (self.set)(config, value);
    }
}

/// Maps zero to off.
fn off_at_zero(n: u64) -> Value {
    if n == 0 { Value::Off } else { Value::Number(n) }
}

/// Sets the mechanisms in the order of the table, so that the order in which they are given does not matter.
pub fn apply<C>(table: &[Mechanism<C>], given: &[(&'static str, Value)], config: &mut C) {
    for mechanism in table {
        if let Some((_, value)) = given.iter().find(|(name, _)| *name == mechanism.facts.name) {
            mechanism.set(config, *value);
        }
    }
}

/// A controller of the algorithm.
fn fresh(algorithm: Algorithm) -> Box<dyn CongestionController> {
    algorithm.build(cc::Config {
        role: Role::Server,
        mss: 1000,
        wire: 1000,
        grain: 1,
        connections: 1,
        initial_window: 10_000,
        slow_start: None,
        reno_friendly: cc::RenoFriendly::default(),
        arithmetic: cc::Arithmetic::default(),
        paced: false,
        tick: Span::ZERO,
        phase: Span::ZERO,
        stream: Streams::new(0, 0).named("mechanisms"),
        values: &[],
        faults: None,
    })
}

/// Whether an algorithm has a pacing rate of its own. TCP cannot switch pacing off then.
pub fn paces(algorithm: Algorithm) -> bool {
    fresh(algorithm).pacing_rate().is_some()
}

/// Whether an algorithm has a window that somebody outside can set ([`CongestionController::set_window`]).
pub fn settable_window(algorithm: Algorithm) -> bool {
    fresh(algorithm).set_window(10_000)
}

/// The reason why a mechanism cannot have this value with a congestion control, over any transport; `None` if it can. The
/// reason is always that the algorithm would ignore the value.
pub fn unfit(algorithm: Algorithm, name: &str, value: Value) -> Option<&'static str> {
    match (name, value) {
        ("hystart", _) if algorithm.slow_start == Startup::Own => Some("has its own startup"),
        ("reno-friendly", _) if !algorithm.heeds.contains(&name) => Some("has no Reno-friendly region"),
        ("ecn", Value::Off) if algorithm.needs_ecn() => Some("works by marks"),
        ("prr", _) if fresh(algorithm).owns_recovery() => Some("sets its window during recovery itself"),
        ("growth", _) if !algorithm.heeds.contains(&name) => Some("is not of quinn: cubic and newreno are"),
        ("emulated-connections", _) if !algorithm.heeds.contains(&name) => Some("is always that of one connection"),
        ("idle-restart", _) if paces(algorithm) => Some("restarts at its pacing rate"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
