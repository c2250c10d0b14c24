//! Quantities as scenarios write them: text with a unit.

use haltere_net::units::{self, QuantityError};
use haltere_net::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::Deserializer;
use std::borrow::Cow;

/// A quantity read from a string such as `40Mbit/s`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quantity<T>(pub T);

/// A type that is written as a string with a unit.
pub trait FromText: Sized {
    /// Its name in the schema, and an example.
    const SCHEMA: (&'static str, &'static str);
    /// Reads it.
    fn from_text(text: &str) -> Result<Self, QuantityError>;
}

/// A probability between 0 and 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Probability(pub f64);

macro_rules! text_quantity {
    ($type:ty, $name:literal, $example:literal, $parse:expr) => {
        impl FromText for $type {
            const SCHEMA: (&'static str, &'static str) = ($name, $example);
            fn from_text(text: &str) -> Result<Self, QuantityError> {
                $parse(text)
            }
        }
    };
}
text_quantity!(Rate, "Rate", "40Mbit/s", units::parse_rate);
text_quantity!(Span, "Time", "50ms", units::parse_span);
text_quantity!(Bytes, "Bytes", "32MiB", units::parse_bytes);
text_quantity!(Probability, "Probability", "1%", |t: &str| units::parse_probability(t).map(Probability));
text_quantity!(QueueLimit, "Queue", "1000p", QueueLimit::parse);

impl<'de, T: FromText> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<T: FromText> serde::de::Visitor<'_> for Visitor<T> {
            type Value = Quantity<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "a string with a unit, as in {:?}", T::SCHEMA.1)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                T::from_text(text).map(Quantity).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor(std::marker::PhantomData))
    }
}

impl<T: FromText> JsonSchema for Quantity<T> {
    fn schema_name() -> Cow<'static, str> {
        T::SCHEMA.0.into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "examples": [T::SCHEMA.1] })
    }
}

/// How much may wait in a queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QueueLimit {
    /// `1000p`
    Packets(u64),
    /// `64kB`
    Bytes(u64),
    /// `1bdp`: times rate × base RTT of the path.
    Bdp(f64),
}

impl QueueLimit {
    fn parse(text: &str) -> Result<QueueLimit, QuantityError> {
        let expected =
            "a queue length: write packets (\"1000p\"), bytes (\"64kB\") or bandwidth-delay products (\"1bdp\")";
        let wrong = || QuantityError { given: text.to_string(), expected };
        let plain = text.trim();
        if let Some(number) = plain.strip_suffix("bdp") {
            let x: f64 = number.trim().parse().map_err(|_| wrong())?;
            return (x > 0.0 && x <= 1e6).then_some(QueueLimit::Bdp(x)).ok_or_else(wrong);
        }
        if let Some(number) = plain.strip_suffix('p') {
            let n: u64 = number.trim().parse().map_err(|_| wrong())?;
            return (n <= 1_000_000_000).then_some(QueueLimit::Packets(n)).ok_or_else(wrong);
        }
        units::parse_bytes(plain).map(|b| QueueLimit::Bytes(b.0)).map_err(|_| wrong())
    }
}
