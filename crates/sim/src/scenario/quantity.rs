//! Quantities in scenarios: text with a unit.

use haltere_net::lte::Speed;
use haltere_net::queue::Length;
use haltere_net::units::{self, QuantityError};
use haltere_net::wifi::{Metres, Width};
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
    /// Parses the text.
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
text_quantity!(Metres, "Distance", "5m", |t: &str| units::parse_metres(t).map(Metres));
text_quantity!(Speed, "Speed", "3km/h", |t: &str| units::parse_speed(t).map(Speed));
text_quantity!(Width, "ChannelWidth", "20MHz", |t: &str| units::parse_mhz(t).map(Width));
text_quantity!(Length, "QueueLength", "1000p", Length::parse);

/// The number and the unit of a quantity, as in `0.5bdp`.
pub fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim_start()))
}

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
