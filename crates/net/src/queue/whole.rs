//! Whole numbers in a range, as parameters of disciplines.

use super::config::Value;
use crate::units::QuantityError;

macro_rules! whole {
    ($($(#[$doc:meta])* $name:ident($type:ty) in $range:expr, $expected:literal, $example:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name(pub(super) $type);

        impl Value for $name {
            const EXAMPLE: &'static str = $example;
            fn parse(text: &str) -> Result<$name, QuantityError> {
                let number = text.trim().parse().ok().filter(|number| ($range).contains(number));
                let wrong = || QuantityError { given: text.to_string(), expected: $expected };
                number.map($name).ok_or_else(wrong)
            }
            fn text(&self) -> Option<String> {
                Some(self.0.to_string())
            }
        }
    )*};
}

whole! {
    /// A number of buckets, in the range that Linux allows.
    FlowCount(u32) in 1..=65_536, "a whole number from 1 to 65536", "1024";
    /// A percentage.
    Percent(u8) in 0..=100, "a whole number from 0 to 100, without a unit", "10";
    /// A factor that is not zero, in the range that Linux allows.
    Factor(u8) in 1..=255, "a whole number from 1 to 255", "2";
}
