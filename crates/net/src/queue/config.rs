//! Queue disciplines by name and with their parameters: the one form that scenarios, the emulator and rigs use.
//!
//! In JSON and TOML a queue is a word or a table: `"1000p"` (drop-tail of this limit), `"head-drop"` (a discipline with
//! its defaults), `"drop-tail:limit=1000p,mark=65p"` (with parameters), `{"discipline": "drop-tail", "limit": "1000p",
//! "mark": "65p"}`. Values are text with a unit; in a table plain numbers and booleans may stand without quotes.

use super::length::{Length, Limit, Scale};
use super::tickets::{Ticket, Ticketed};
use super::{DROP_TAIL, QueueDiscipline, compiled, drop_tail};
use crate::nearest::meant;
use crate::registry::{Description, Handle, Maker, Registry, shown};
use crate::rng::{Stream, Streams};
use crate::time::Span;
use crate::units::{self, Bytes, QuantityError, Rate};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::fmt;

/// A queue discipline as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct Implementation {
    /// Its name, summary and reference.
    pub description: Description,
    /// Its parameters with their defaults, from which a queue is built.
    pub defaults: Maker<(), Box<dyn Parameters>>,
}

/// A queue discipline, as configurations hold it.
pub type Discipline = Handle<Implementation>;

impl Implementation {
    /// Its parameters with their defaults.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.defaults.make(()).list()
    }
}

/// A parameter of a discipline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub summary: String,
    /// An example of a value.
    pub example: &'static str,
    /// Its default; `None` if it is off by default.
    pub default: Option<String>,
}

/// The surroundings of a queue, from which a discipline is made.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The path from which lengths in bandwidth-delay products are computed, and the MTU.
    pub scale: Scale,
    /// The name of the link direction, with which the names of its random streams begin.
    pub name: &'a str,
    /// The run's random streams.
    pub streams: &'a Streams,
}

impl Place<'_> {
    /// The random stream of the discipline here: `NAME/queue`.
    pub fn stream(&self) -> Stream {
        self.streams.named(&format!("{}/queue", self.name))
    }
}

/// The value of a parameter. It can be parsed from text and formatted as text.
pub trait Value: Sized {
    /// An example of its text.
    const EXAMPLE: &'static str;
    /// Parses it.
    fn parse(text: &str) -> Result<Self, QuantityError>;
    /// Formats it so that it can be parsed again; `None` if it is off.
    fn text(&self) -> Option<String>;
    /// Turns bandwidth-delay products into packets.
    fn resolve(&mut self, _: &Scale) {}
}

macro_rules! values {
    ($($type:ty, $example:literal, $parse:expr;)*) => {$(
        impl Value for $type {
            const EXAMPLE: &'static str = $example;
            fn parse(text: &str) -> Result<Self, QuantityError> {
                $parse(text)
            }
            fn text(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}
values! {
    Span, "5ms", units::parse_span;
    Rate, "10Mbit/s", units::parse_rate;
    bool, "true", |text: &str| read(text, "\"true\" or \"false\"");
    u64, "1024", |text: &str| read(text, "a whole number");
    f64, "0.5", |text: &str| read(text, "a number").and_then(finite);
}

fn read<T: std::str::FromStr>(text: &str, expected: &'static str) -> Result<T, QuantityError> {
    text.trim().parse().map_err(|_| QuantityError { given: text.to_string(), expected })
}

fn finite(number: f64) -> Result<f64, QuantityError> {
    let wrong = QuantityError { given: number.to_string(), expected: "a finite number" };
    if number.is_finite() { Ok(number) } else { Err(wrong) }
}

impl Value for Bytes {
    const EXAMPLE: &'static str = "64kB";
    fn parse(text: &str) -> Result<Self, QuantityError> {
        units::parse_bytes(text)
    }
    fn text(&self) -> Option<String> {
        Some(format!("{}B", self.0))
    }
}

impl Value for Length {
    const EXAMPLE: &'static str = "1000p";
    fn parse(text: &str) -> Result<Self, QuantityError> {
        Length::parse(text)
    }
    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }
    fn resolve(&mut self, scale: &Scale) {
        *self = self.limit(scale).into();
    }
}

impl<V: Value> Value for Option<V> {
    const EXAMPLE: &'static str = V::EXAMPLE;
    fn parse(text: &str) -> Result<Self, QuantityError> {
        V::parse(text).map(Some)
    }
    fn text(&self) -> Option<String> {
        self.as_ref().and_then(V::text)
    }
    fn resolve(&mut self, scale: &Scale) {
        if let Some(value) = self {
            value.resolve(scale);
        }
    }
}

/// The parameters of a discipline, by name. [`parameters!`](crate::queue::parameters) implements it.
pub trait Parameters: Any + fmt::Debug + Send + Sync {
    /// All parameters with their defaults.
    fn list(&self) -> Vec<Parameter>;
    /// Sets a parameter; `None` if there is none of this name.
    fn set(&mut self, name: &str, text: &str) -> Option<Result<(), QuantityError>>;
    /// The parameters that are not off, in order.
    fn texts(&self) -> Vec<(&'static str, String)>;
    /// Turns bandwidth-delay products into packets.
    fn resolve(&mut self, scale: &Scale);
    /// Checks the parameters against their ranges and against each other. The error names the parameter and says what
    /// would be right.
    fn check(&self) -> Result<(), String>;
    /// An empty queue. Values that `check` refuses are brought into their ranges.
    fn build(&self, place: &Place<'_>) -> Box<dyn QueueDiscipline<Ticket>>;
    /// A copy.
    fn boxed(&self) -> Box<dyn Parameters>;
    /// Whether the other parameters are of the same discipline and have the same values.
    fn equals(&self, other: &dyn Parameters) -> bool;
}

/// Declares the parameters of a discipline: a struct, its defaults, and how they are parsed and formatted. The discipline
/// after `for` has `at(&Config, &Place)`. After the struct may stand `check(FUNCTION)`, a function that checks the whole of
/// it.
#[macro_export]
macro_rules! queue_parameters {
    (
        $(#[$doc:meta])*
        pub struct $config:ident for $discipline:ident {
            $($(#[doc = $summary:literal])+ $field:ident: $type:ty = $default:expr,)*
        }
        $(check($check:path))?
    ) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $config {
            $($(#[doc = $summary])+ pub $field: $type,)*
        }

        impl Default for $config {
            fn default() -> $config {
                $config { $($field: $default,)* }
            }
        }

        impl $crate::queue::Parameters for $config {
            fn list(&self) -> Vec<$crate::queue::Parameter> {
                use $crate::queue::{Parameter, Value};
                let default = $config::default();
                vec![$(Parameter {
                    name: stringify!($field),
                    summary: concat!($($summary),+).trim().to_string(),
                    example: <$type as Value>::EXAMPLE,
                    default: default.$field.text(),
                },)*]
            }
            fn set(&mut self, name: &str, text: &str) -> Option<Result<(), $crate::units::QuantityError>> {
                use $crate::queue::Value;
                match name {
                    $(stringify!($field) => Some(<$type as Value>::parse(text).map(|value| self.$field = value)),)*
                    _ => None,
                }
            }
            fn texts(&self) -> Vec<(&'static str, String)> {
                use $crate::queue::Value;
                [$((stringify!($field), self.$field.text()),)*]
                    .into_iter()
                    .filter_map(|(name, text)| Some((name, text?)))
                    .collect()
            }
            fn resolve(&mut self, scale: &$crate::queue::Scale) {
                use $crate::queue::Value;
                $(self.$field.resolve(scale);)*
            }
            fn check(&self) -> Result<(), String> {
                $($check(self)?;)?
                Ok(())
            }
            fn build(
                &self,
                place: &$crate::queue::Place<'_>,
            ) -> Box<dyn $crate::queue::QueueDiscipline<$crate::queue::Ticket>> {
                Box::new($discipline::at(self, place))
            }
            fn boxed(&self) -> Box<dyn $crate::queue::Parameters> {
                Box::new(self.clone())
            }
            fn equals(&self, other: &dyn $crate::queue::Parameters) -> bool {
                (other as &dyn std::any::Any).downcast_ref::<$config>() == Some(self)
            }
        }
    };
}

/// A queue discipline with its parameters.
#[derive(Debug)]
pub struct QueueConfig {
    discipline: Discipline,
    parameters: Box<dyn Parameters>,
}

impl Clone for QueueConfig {
    fn clone(&self) -> QueueConfig {
        QueueConfig { discipline: self.discipline, parameters: self.parameters.boxed() }
    }
}

impl PartialEq for QueueConfig {
    fn eq(&self, other: &QueueConfig) -> bool {
        self.discipline == other.discipline && self.parameters.equals(&*other.parameters)
    }
}

impl QueueConfig {
    /// This discipline with its defaults.
    pub fn of(discipline: Discipline) -> QueueConfig {
        QueueConfig { discipline, parameters: discipline.defaults.make(()) }
    }

    /// A drop-tail queue of this limit that marks ECN-capable packets from `mark` on.
    pub fn drop_tail(limit: Limit, mark: Option<Limit>) -> QueueConfig {
        let parameters = drop_tail::Config { limit: limit.into(), mark: mark.map(Length::from) };
        QueueConfig { discipline: DROP_TAIL, parameters: Box::new(parameters) }
    }

    /// The limit and the mark of a drop-tail queue; `None` for other disciplines.
    pub fn as_drop_tail(&self) -> Option<(Length, Option<Length>)> {
        self.parameters::<drop_tail::Config>().map(|config| (config.limit, config.mark))
    }

    /// The parameters as their own type; `None` if they are those of another discipline.
    pub fn parameters<P: Parameters>(&self) -> Option<&P> {
        let parameters: &dyn Any = &*self.parameters;
        parameters.downcast_ref()
    }

    /// The discipline.
    pub fn discipline(&self) -> Discipline {
        self.discipline
    }

    /// Turns lengths in bandwidth-delay products into packets.
    pub fn resolve(&mut self, scale: &Scale) {
        self.parameters.resolve(scale);
    }

    /// Whether a length is given in bandwidth-delay products, so that it depends on the path.
    pub fn has_bdp(&self) -> bool {
        let at = |rtt| {
            let mut config = self.clone();
            config.resolve(&Scale { rate: Some(Rate::from_bps(1_000_000_000_000)), rtt, mtu: 1500 });
            config
        };
        at(Span::from_secs(1)) != at(Span::from_secs(1_000_000))
    }

    /// Checks the parameters against their ranges and against each other.
    ///
    /// # Errors
    ///
    /// If one is out of its range. The error names it and says what would be right.
    pub fn check(&self) -> Result<(), String> {
        self.parameters.check()
    }

    /// An empty queue of this discipline. Values that `check` refuses are brought into their ranges.
    pub fn build<B: Send + 'static>(&self, place: &Place<'_>) -> Box<dyn QueueDiscipline<B>> {
        compiled(&*self.parameters, place).unwrap_or_else(|| Box::new(Ticketed::new(self.parameters.build(place))))
    }

    /// Sets a parameter from text such as `64kB`.
    ///
    /// # Errors
    ///
    /// If the discipline has no such parameter, or the value is invalid. The error says what would be right.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        match self.parameters.set(name, text) {
            Some(set) => set.map_err(|wrong| format!("{name}: {wrong}")),
            None => {
                let known: Vec<_> = self.parameters.list().iter().map(|p| p.name).collect();
                let meant = meant(name, known.iter().copied());
                let (its, known) = (shown(self.discipline.name()), known.join(", "));
                Err(format!("the queue discipline {its} has no parameter {name:?}: {meant}it has {known}"))
            }
        }
    }

    /// The parameters that are not off, as text with units.
    pub fn texts(&self) -> Vec<(&'static str, String)> {
        self.parameters.texts()
    }

    /// The value of a parameter as text; `None` if it is off or the discipline has none of this name.
    pub fn get(&self, name: &str) -> Option<String> {
        self.texts().into_iter().find(|(its, _)| *its == name).map(|(_, text)| text)
    }
}

impl Default for QueueConfig {
    /// Drop-tail with its default limit.
    fn default() -> QueueConfig {
        QueueConfig::of(DROP_TAIL)
    }
}

impl From<Limit> for QueueConfig {
    fn from(limit: Limit) -> QueueConfig {
        QueueConfig::drop_tail(limit, None)
    }
}

impl Serialize for QueueConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("discipline", self.discipline.name())?;
        for (name, text) in self.texts() {
            map.serialize_entry(name, &text)?;
        }
        map.end()
    }
}

/// A value in a table: text, or a plain number or boolean.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string with a unit, a number or a boolean")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_string()))
            }
            fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Text, E> {
                Ok(Text(n.to_string()))
            }
            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Text, E> {
                Ok(Text(n.to_string()))
            }
            fn visit_f64<E: serde::de::Error>(self, x: f64) -> Result<Text, E> {
                Ok(Text(x.to_string()))
            }
            fn visit_bool<E: serde::de::Error>(self, yes: bool) -> Result<Text, E> {
                Ok(Text(yes.to_string()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl<'de> Deserialize<'de> for QueueConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<QueueConfig, D::Error> {
        Among(&Registry::default()).deserialize(deserializer)
    }
}

/// Reads a queue whose discipline is one of a registry.
#[derive(Clone, Copy, Debug)]
pub struct Among<'r>(pub &'r Registry<Implementation>);

impl<'de> DeserializeSeed<'de> for Among<'_> {
    type Value = QueueConfig;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<QueueConfig, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Among<'_> {
    type Value = QueueConfig;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a queue: a limit such as \"1000p\", a discipline such as \"head-drop:limit=100p\", or a table with \
             discipline and parameters",
        )
    }
    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<QueueConfig, E> {
        QueueConfig::from_word_among(word, self.0).map_err(E::custom)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<QueueConfig, A::Error> {
        let (mut config, mut given) = (QueueConfig::default(), Vec::new());
        while let Some(name) = map.next_key::<String>()? {
            let Text(text) = map.next_value()?;
            match name.as_str() {
                "discipline" => config = QueueConfig::of(self.0.named(&text).map_err(A::Error::custom)?),
                _ => given.push((name, text)),
            }
        }
        // The short form of a drop-tail queue's limit in the core's JSON.
        let unit = given.first().map(|(name, _)| name.as_str()).filter(|_| given.len() == 1);
        if let Some(unit @ ("packets" | "bytes")) = unit.filter(|_| config.discipline == DROP_TAIL) {
            let letter = if unit == "packets" { "p" } else { "B" };
            given = vec![("limit".to_string(), format!("{}{letter}", given[0].1))];
        }
        for (name, text) in given {
            config.set(&name, &text).map_err(A::Error::custom)?;
        }
        config.check().map_err(A::Error::custom)?;
        Ok(config)
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
