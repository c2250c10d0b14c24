//! One line of a traceroute: its words, and which times belong to which address.

use crate::json::microseconds;
use crate::{Address, Hop, Trace};

/// The kind of a line.
pub(super) enum Line<'a> {
    /// The first line of a TTL.
    Hop { ttl: u8, rest: &'a str },
    /// More answers of the TTL before, as Cisco's routers print them.
    More(&'a str),
    /// Another line.
    Other,
}

impl<'a> Line<'a> {
    /// Recognises the kind of a line by its first word.
    pub fn of(text: &'a str) -> Line<'a> {
        let line = text.trim_start();
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let rest = &line[digits..];
        let ends = rest.is_empty() || rest.starts_with([' ', '\t']) || rest.starts_with(".|") || rest.starts_with(". ");
        match line[..digits].parse() {
            Ok(ttl @ 1..=255) if ends => Line::Hop { ttl, rest },
            _ if line.len() < text.len() && !line.is_empty() => Line::More(line),
            _ => Line::Other,
        }
    }
}

/// A time below a millisecond that is not given exactly (`<1 ms`) counts as one millisecond.
fn time(word: &str) -> Option<u32> {
    let number = word.strip_prefix('<').unwrap_or(word);
    number.bytes().next().filter(u8::is_ascii_digit)?;
    number.parse::<f64>().ok().and_then(microseconds)
}

/// Adds the answers that stand in a line. Most tools print an address and then its times, Windows the times first.
///
/// # Errors
/// A sentence about the fault in the line, if a word of it is garbled so that an answer would be lost or be given
/// to another address.
pub(super) fn answers(trace: &mut Trace, ttl: u8, rest: &str) -> Result<(), &'static str> {
    let mut words = rest.split_whitespace().peekable();
    let mut address = None;
    let mut waiting: Vec<(u8, u32)> = Vec::new();
    let attempts = trace.hops.iter().rev().take_while(|h| h.ttl == ttl).map(|h| h.attempt).max();
    let mut attempt = attempts.unwrap_or(0);
    let (before, mut silent) = (trace.hops.len(), false);
    while let Some(word) = words.next() {
        let unit = words.peek().is_some_and(|next| matches!(*next, "ms" | "msec"));
        let (glued, in_one) = match word.strip_suffix("ms") {
            Some(number) if !unit => (number, true),
            _ => (word, false),
        };
        if word == "*" {
            attempt = attempt.saturating_add(1);
            silent = true;
        } else if let Some(rtt_us) = time(glued).filter(|_| unit || in_one) {
            if unit {
                words.next();
            }
            attempt = attempt.saturating_add(1);
            match address {
                Some(address) => trace.hops.push(hop(address, ttl, attempt, rtt_us)),
                None => waiting.push((attempt, rtt_us)),
            }
        } else if let Some(found) = address_of(word) {
            address = Some(found);
            for (attempt, rtt_us) in waiting.drain(..) {
                trace.hops.push(hop(found, ttl, attempt, rtt_us));
            }
        } else if let Some(mark) = word.strip_prefix('!')
            && let Some(last) = trace.hops.last_mut().filter(|h| h.ttl == ttl)
        {
            (last.icmp_type, last.icmp_code) = unreachable(last, mark);
        } else if matches!(word, "ms" | "msec") {
            return Err("a time that is no number");
        } else if is_like_an_address(word) {
            return Err("an address that is none");
        }
    }
    if !waiting.is_empty() {
        return Err("times without an address");
    }
    // Windows' and scamper's remarks have stars or a word of their own; a line with nothing at all was cut.
    let told = silent || address.is_some() || trace.hops.len() > before || rest.contains("timed out");
    if told { Ok(()) } else { Err("a hop with neither an address nor a star") }
}

/// Whether a line looks as if it belonged to a trace: it holds an address with a time.
pub(super) fn holds_an_answer(line: &str) -> bool {
    let mut scratch = Trace::default();
    let _ = answers(&mut scratch, 1, line);
    !scratch.hops.is_empty()
}

/// Whether a line that has no TTL goes on with the answers of the one before, or with remarks on them: it begins with an
/// address, a name and its address, a star, or a word on MPLS.
pub(super) fn goes_on(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let bracketed = |word: &str| word.starts_with('(') && address_of(word).is_some();
    first == "*" || address_of(first).is_some() || words.next().is_some_and(bracketed) || !holds_an_answer(line)
}

/// Four numbers with dots, groups of hexadecimal digits with colons, or what stands in round brackets.
fn is_like_an_address(word: &str) -> bool {
    let bare = word.trim_matches(|c| matches!(c, '(' | ')' | '[' | ']' | ','));
    let dotted = bare.matches('.').count() == 3 && bare.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let colons = bare.matches(':').count() >= 2 && bare.bytes().all(|b| b.is_ascii_hexdigit() || b == b':');
    dotted || colons || (word.starts_with('(') && word.ends_with(')'))
}

fn hop(address: Address, ttl: u8, attempt: u8, rtt_us: u32) -> Hop {
    Hop { address, ttl, attempt, rtt_us, ..Hop::default() }
}

/// An address, bare or in brackets. Other text in brackets (`[AS64500]`, `[MPLS: …]`) is not one.
fn address_of(word: &str) -> Option<Address> {
    word.trim_matches(|c| matches!(c, '(' | ')' | '[' | ']' | ',')).parse().ok()
}

/// ICMP type and code of the marks of traceroute(8); a bare `!` is an answer whose TTL was used up.
fn unreachable(hop: &Hop, mark: &str) -> (u8, u8) {
    let v4 = hop.address.is_v4();
    let known = |code4, code6| if v4 { (3, code4) } else { (1, code6) };
    match mark {
        "" => (hop.icmp_type, hop.icmp_code),
        "N" => known(0, 0),
        "P" => known(2, 6),
        "S" => known(5, 5),
        "X" => known(13, 1),
        _ if mark.starts_with('F') => known(4, 0),
        _ => match mark.trim_matches(['<', '>']).parse() {
            Ok(code) => known(code, code),
            Err(_) => known(1, 3),
        },
    }
}
