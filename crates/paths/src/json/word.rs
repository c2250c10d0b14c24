//! Values that some tools write as a string and others as a number.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A string or a number, or neither.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Word<'a> {
    /// It is not there, or null.
    #[default]
    Missing,
    /// A string.
    Text(Cow<'a, str>),
    /// A number.
    Number(f64),
}

impl Word<'_> {
    /// The string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Word::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, even if it was written as a string.
    pub fn number(&self) -> Option<f64> {
        match self {
            Word::Number(n) => Some(*n),
            Word::Text(text) => text.trim().parse().ok(),
            Word::Missing => None,
        }
    }
}

struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Word<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Word<'de>, E> {
        Ok(Word::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Word<'de>, E> {
        Ok(Word::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_f64<E: Error>(self, n: f64) -> Result<Word<'de>, E> {
        Ok(Word::Number(n))
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<Word<'de>, E> {
        Ok(Word::Number(n as f64))
    }

    fn visit_i64<E: Error>(self, n: i64) -> Result<Word<'de>, E> {
        Ok(Word::Number(n as f64))
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<Word<'de>, E> {
        Ok(Word::Number(f64::from(u8::from(yes))))
    }

    fn visit_unit<E: Error>(self) -> Result<Word<'de>, E> {
        Ok(Word::Missing)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Word<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Word<'a>, D::Error> {
        from.deserialize_any(Either)
    }
}
