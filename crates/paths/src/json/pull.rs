//! A reader of JSON (RFC 8259) that hands over one value after the other and builds no tree. There are billions of
//! results of RIPE Atlas, and most of their fields are not needed: a skipped value is only searched for its end.

use crate::Address;

/// Why reading stopped.
#[derive(Debug, PartialEq)]
pub(super) enum Wrong {
    /// The bytes in memory end before the value does.
    Unfinished,
    /// It is not JSON, or not the kind of value that is expected.
    Broken(&'static str),
}

pub(super) type Read<T> = Result<T, Wrong>;

/// A string without its quotes, its escapes not resolved; or the text of a number; or another value, which was skipped.
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

    /// The next byte that is not white space.
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

    /// Consumes `byte` if it is the next one.
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

    /// Calls `each` before every element of an array, which it must read; a value that is not an array is skipped.
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
        loop {
            let rest = self.bytes.get(self.at..).ok_or(Wrong::Unfinished)?;
            let plain = rest.iter().position(|&b| ENDS_PLAIN[usize::from(b)]).ok_or(Wrong::Unfinished)?;
            self.at += plain + 1;
            match rest[plain] {
                b'"' => return Ok(&self.bytes[start..self.at - 1]),
                b'\\' => self.at += 1,
                _ => return Err(Wrong::Broken("a string with a control character")),
            }
        }
    }

    /// The next value as an address; none if it is not one.
    #[inline]
    pub fn address(&mut self) -> Read<Address> {
        if self.peek()? == b'"'
            && let Some((address, n)) = v4(&self.bytes[self.at + 1..])
            && self.bytes.get(self.at + 1 + n) == Some(&b'"')
        {
            self.at += n + 2;
            return Ok(address);
        }
        Ok(self.value()?.address())
    }

    /// The next value as a whole number that is not negative; 0 if it is missing or does not fit.
    #[inline]
    pub fn whole<T: TryFrom<u64> + Default>(&mut self) -> Read<T> {
        self.peek()?;
        let rest = &self.bytes[self.at..];
        let (mut n, mut digits) = (0u64, 0);
        while let Some(digit @ b'0'..=b'9') = rest.get(digits)
            && digits < 18
        {
            n = n * 10 + u64::from(digit - b'0');
            digits += 1;
        }
        if digits > 0 && matches!(rest.get(digits), Some(b',' | b'}' | b']')) {
            self.at += digits;
            return Ok(T::try_from(n).unwrap_or_default());
        }
        Ok(self.value()?.whole())
    }

    /// The next value, which is in milliseconds, as whole microseconds, rounded.
    #[inline]
    pub fn microseconds(&mut self) -> Read<Option<u32>> {
        self.peek()?;
        let rest = &self.bytes[self.at..];
        let (mut us, mut decimals, mut at) = (0u64, None, 0);
        loop {
            match rest.get(at) {
                Some(digit @ b'0'..=b'9') if us < 1 << 40 && decimals < Some(3) => {
                    us = us * 10 + u64::from(digit - b'0');
                    decimals = decimals.map(|n| n + 1);
                }
                Some(b'.') if decimals.is_none() && at > 0 => decimals = Some(0u32),
                Some(b',' | b'}' | b']') if at > 0 => break,
                // More decimals than microseconds, an exponent, a sign, or no number.
                _ => {
                    let value = self.value()?;
                    return Ok(value.number().and_then(super::microseconds));
                }
            }
            at += 1;
        }
        self.at += at;
        let us = us * 10u64.pow(3 - decimals.unwrap_or(0));
        Ok(u32::try_from(us).ok().filter(|&us| us != u32::MAX))
    }

    /// The next value; objects and arrays are skipped.
    #[inline]
    pub fn value(&mut self) -> Read<Value<'a>> {
        match self.peek()? {
            b'"' => self.string().map(Value::Text),
            b'-' | b'0'..=b'9' => {
                let start = self.at;
                while matches!(self.bytes.get(self.at), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
                    self.at += 1;
                }
                if self.at == self.bytes.len() {
                    Err(Wrong::Unfinished)
                } else {
                    Ok(Value::Number(&self.bytes[start..self.at]))
                }
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

    /// Skips an object or an array by counting its brackets.
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
    /// The string, if it has no escapes.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => std::str::from_utf8(text).ok(),
            _ => None,
        }
    }

    /// The number, even if it was written as a string.
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

    /// The address; none if it is not one.
    #[inline]
    pub fn address(&self) -> Address {
        let Value::Text(text) = self else { return Address::NONE };
        std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
    }
}

/// Bytes at which a string is no longer plain: its end, an escape, a control character.
const ENDS_PLAIN: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 32 {
        ends[byte] = true;
        byte += 1;
    }
    ends[b'"' as usize] = true;
    ends[b'\\' as usize] = true;
    ends
};

/// An IPv4 address in its usual form at the start of a text, and its length.
#[inline]
fn v4(text: &[u8]) -> Option<(Address, usize)> {
    let (mut bytes, mut at) = ([0u8; 4], 0);
    for (part, place) in bytes.iter_mut().enumerate() {
        if part > 0 {
            if *text.get(at)? != b'.' {
                return None;
            }
            at += 1;
        }
        let start = at;
        let mut value = 0u32;
        while let Some(digit @ b'0'..=b'9') = text.get(at)
            && at < start + 3
        {
            value = value * 10 + u32::from(digit - b'0');
            at += 1;
        }
        // Neither an empty part nor one that begins with 0, which some read as octal (RFC 6943, section 3.1.1).
        if at == start || (at > start + 1 && text[start] == b'0') {
            return None;
        }
        *place = u8::try_from(value).ok()?;
    }
    Some((Address::v4(bytes), at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<u32> {
        Pull::new(format!("{text},").as_bytes()).microseconds().ok().flatten()
    }

    #[test]
    fn milliseconds_are_read_as_a_float_would_be() {
        for (text, us) in [
            ("0.513", 513),
            ("10", 10_000),
            ("1.5", 1500),
            ("2.0004", 2000),
            ("2.0006", 2001),
            ("1e1", 10_000),
            ("\"3.25\"", 3250),
            ("4.", 4000),
            ("0.1234567", 123),
            ("12345.678", 12_345_678),
        ] {
            assert_eq!(number(text), Some(us), "{text}");
        }
        for text in ["-1", "99999999999999", "9999999999999999999999", "4294967.295", "1.2.3", ".", "\"x\"", "true"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_taken_where_they_fit() {
        let whole = |text: &str| Pull::new(format!("{text},").as_bytes()).whole::<u8>();
        for (text, n) in
            [("0", 0), ("255", 255), ("256", 0), ("\"7\"", 7), ("3.9", 3), ("-1", 0), ("null", 0), ("[1,2]", 0)]
        {
            assert_eq!(whole(text), Ok(n), "{text}");
        }
    }

    #[test]
    fn addresses_are_read_as_the_standard_library_reads_them() {
        for text in [
            "1.2.3.4",
            "255.255.255.255",
            "256.1.1.1",
            "1.2.3",
            "1.2.3.4.5",
            "",
            "1..2.3",
            "0001.1.1.1",
            "01.1.1.1",
            "0.0.0.1",
            "1.2.3.04",
            "1234.1.1.1",
            "1234.1.1",
            "1.2.3.4x",
            "::1",
            "2001:db8::9",
            "*",
            "1.2.3.",
            ".1.2.3",
        ] {
            let found = Pull::new(format!("\"{text}\",").as_bytes()).address();
            assert_eq!(found, Ok(text.parse().unwrap_or_default()), "{text}");
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
