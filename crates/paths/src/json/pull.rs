//! A reader of JSON (RFC 8259) that hands over one value after the other and builds nothing. Results of RIPE Atlas come by
//! the billion, and most of what they say is passed over: what is skipped is not looked into beyond where it ends.

use crate::Address;

/// Why reading stopped.
#[derive(Debug, PartialEq)]
pub(super) enum Wrong {
    /// What is there ends before the value does.
    Unfinished,
    /// It is no JSON, or not what it should be.
    Broken(&'static str),
}

pub(super) type Read<T> = Result<T, Wrong>;

/// A string without its quotes, escapes as they stand; or a number as it stands; or something else, passed over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Text(&'a [u8]),
    Number(&'a [u8]),
    True,
    Other,
}

pub(super) struct Pull<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Pull<'a> {
    pub fn new(bytes: &'a [u8]) -> Pull<'a> {
        Pull { bytes, at: 0 }
    }

    /// How much has been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next byte that is no space.
    #[inline]
    fn peek(&mut self) -> Read<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(&byte) => return Ok(byte),
                None => return Err(Wrong::Unfinished),
            }
        }
    }

    /// Goes on behind `byte` if it is next.
    #[inline]
    fn eat(&mut self, byte: u8) -> Read<bool> {
        let is = self.peek()? == byte;
        self.at += usize::from(is);
        Ok(is)
    }

    /// Calls `each` with every key of an object; it must read the value.
    #[inline]
    pub fn object(&mut self, mut each: impl FnMut(&mut Self, &'a [u8]) -> Read<()>) -> Read<()> {
        if !self.eat(b'{')? {
            return Err(Wrong::Broken("an object should begin here"));
        }
        if self.eat(b'}')? {
            return Ok(());
        }
        loop {
            let key = self.string()?;
            if !self.eat(b':')? {
                return Err(Wrong::Broken("a key without a colon"));
            }
            each(self, key)?;
            if self.eat(b'}')? {
                return Ok(());
            }
            if !self.eat(b',')? {
                return Err(Wrong::Broken("an object without a comma between its members"));
            }
        }
    }

    /// Calls `each` before every element of an array, which it must read; anything else than an array is passed over.
    #[inline]
    pub fn array(&mut self, mut each: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        if !self.eat(b'[')? {
            return self.skip();
        }
        if self.eat(b']')? {
            return Ok(());
        }
        loop {
            each(self)?;
            if self.eat(b']')? {
                return Ok(());
            }
            if !self.eat(b',')? {
                return Err(Wrong::Broken("an array without a comma between its elements"));
            }
        }
    }

    #[inline]
    fn string(&mut self) -> Read<&'a [u8]> {
        if !self.eat(b'"')? {
            return Err(Wrong::Broken("a string should begin here"));
        }
        let start = self.at;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => return Ok(&self.bytes[start..self.at - 1]),
                b'\\' => self.at += 1,
                0..=31 => return Err(Wrong::Broken("a string with a control character")),
                _ => {}
            }
        }
        Err(Wrong::Unfinished)
    }

    /// The next value; objects and arrays are passed over.
    #[inline]
    pub fn value(&mut self) -> Read<Value<'a>> {
        match self.peek()? {
            b'"' => self.string().map(Value::Text),
            b'-' | b'0'..=b'9' => {
                let start = self.at;
                while matches!(self.bytes.get(self.at), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
                    self.at += 1;
                }
                if self.at == self.bytes.len() { Err(Wrong::Unfinished) } else { Ok(Value::Number(&self.bytes[start..self.at])) }
            }
            b't' => self.word(b"true", Value::True),
            b'f' => self.word(b"false", Value::Other),
            b'n' => self.word(b"null", Value::Other),
            b'{' | b'[' => self.nested().map(|()| Value::Other),
            _ => Err(Wrong::Broken("a value should begin here")),
        }
    }

    pub fn skip(&mut self) -> Read<()> {
        self.value().map(drop)
    }

    fn word(&mut self, word: &'static [u8], value: Value<'a>) -> Read<Value<'a>> {
        let there = &self.bytes[self.at..];
        if there.starts_with(word) {
            self.at += word.len();
            return Ok(value);
        }
        Err(if word.starts_with(there) { Wrong::Unfinished } else { Wrong::Broken("a word that JSON does not have") })
    }

    /// Passes over an object or an array by its brackets.
    fn nested(&mut self) -> Read<()> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => self.string().map(drop)?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => self.at += 1,
            }
        }
    }
}

impl Value<'_> {
    /// The string, if it is one of letters as they stand.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => std::str::from_utf8(text).ok(),
            _ => None,
        }
    }

    /// The number, also where it was written as a string.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(digits) | Value::Text(digits) => std::str::from_utf8(digits).ok()?.trim().parse().ok(),
            _ => None,
        }
    }

    /// The whole number that is not negative; 0 if it is missing or does not fit.
    #[inline]
    pub fn whole<T: TryFrom<u64> + Default>(&self) -> T {
        let (Value::Number(digits) | Value::Text(digits)) = self else { return T::default() };
        let plain = digits.len() < 19 && digits.iter().all(u8::is_ascii_digit);
        let n = if plain {
            digits.iter().fold(0, |n, d| n * 10 + u64::from(d - b'0'))
        } else {
            self.number().filter(|n| *n >= 0.0).map_or(0, |n| n as u64)
        };
        T::try_from(n).unwrap_or_default()
    }

    /// Milliseconds as whole microseconds, rounded.
    #[inline]
    pub fn microseconds(&self) -> Option<u32> {
        let Value::Number(digits) = self else { return self.number().and_then(super::microseconds) };
        let (mut us, mut decimals, mut point) = (0u64, 0, false);
        for digit in *digits {
            match digit {
                b'0'..=b'9' if decimals < 3 && us < 1 << 40 => {
                    us = us * 10 + u64::from(digit - b'0');
                    decimals += u32::from(point);
                }
                b'.' if !point => point = true,
                // More decimals than microseconds, an exponent, a sign.
                _ => return self.number().and_then(super::microseconds),
            }
        }
        u32::try_from(us * 10u64.pow(3 - decimals)).ok().filter(|&us| us != u32::MAX)
    }

    /// The address; none if it is not one.
    #[inline]
    pub fn address(&self) -> Address {
        let Value::Text(text) = self else { return Address::NONE };
        v4(text).or_else(|| self.text()?.parse().ok()).unwrap_or_default()
    }
}

/// An IPv4 address in its usual form.
#[inline]
fn v4(text: &[u8]) -> Option<Address> {
    let (mut bytes, mut part, mut digits, mut value) = ([0u8; 4], 0, 0, 0u32);
    for byte in text {
        match byte {
            b'0'..=b'9' if digits < 3 => {
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
            }
            b'.' if digits > 0 && part < 3 => {
                bytes[part] = u8::try_from(value).ok()?;
                (part, digits, value) = (part + 1, 0, 0);
            }
            _ => return None,
        }
    }
    bytes[3] = u8::try_from(value).ok()?;
    (part == 3 && digits > 0).then(|| Address::v4(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<u32> {
        Value::Number(text.as_bytes()).microseconds()
    }

    #[test]
    fn milliseconds_are_read_as_a_float_would_be() {
        for (text, us) in [("0.513", 513), ("10", 10_000), ("1.5", 1500), ("2.0004", 2000), ("2.0006", 2001), ("1e1", 10_000)] {
            assert_eq!(number(text), Some(us), "{text}");
        }
        for text in ["-1", "99999999999999", "4294967.295", "1.2.3", "."] {
            assert_eq!(number(text).filter(|&us| us > 0), None, "{text}");
        }
        assert_eq!(Value::Text(b"3.25").microseconds(), Some(3250));
    }

    #[test]
    fn addresses_are_read_as_the_standard_library_reads_them() {
        for text in ["1.2.3.4", "255.255.255.255", "256.1.1.1", "1.2.3", "1.2.3.4.5", "", "1..2.3", "0001.1.1.1", "::1", "*"] {
            assert_eq!(Value::Text(text.as_bytes()).address(), text.parse().unwrap_or_default(), "{text}");
        }
    }

    #[test]
    fn what_is_cut_is_unfinished_and_what_is_wrong_is_broken() {
        let whole = br#"{"a":[1,{"b":"x\"y"}],"c":true,"d":null,"e":-1.5e3} "#;
        let read = |bytes: &[u8]| Pull::new(bytes).object(|p, _| p.skip());
        assert_eq!(read(whole), Ok(()));
        for cut in 0..whole.len() - 1 {
            assert_eq!(read(&whole[..cut]), Err(Wrong::Unfinished), "cut at {cut}");
        }
        for text in ["[1]", "{1:2}", "{\"a\"=1}", "{\"a\":x}", "{\"a\":1;}", "{\"a\":tru!}", "{\"a\n\":1}"] {
            assert!(matches!(read(text.as_bytes()), Err(Wrong::Broken(_))), "{text}");
        }
    }
}
