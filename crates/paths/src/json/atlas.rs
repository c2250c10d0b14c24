//! Traceroute results of RIPE Atlas (documented under "Data formats" of its manual). Versions of the probes' firmware
//! write different fields: each field is used if it is there. Only a probe's number or a destination is required.

use super::pull::{Pull, Read, Value};
use crate::{Address, Hop, Method, Stop, Trace};

/// The TTL of the last probe, sent after too many silent hops. The distance of the node that answers it is not known.
const LAST_RESORT: u8 = 255;

/// The kind of an object that was read.
pub(super) enum Kind<'a> {
    /// The trace was filled.
    Traceroute,
    /// An object of another type, which is not a traceroute.
    Typed(&'a [u8]),
    /// A report of mtr.
    Report,
    /// An object without a type.
    Untyped,
}

/// Fields of a result that can be put into the trace only after the whole result has been read.
#[derive(Default)]
struct Seen {
    protocol: u8,
    from: Address,
    failed: bool,
    named: bool,
    responded: Option<bool>,
}

/// Reads an object; the type often comes last, so that the trace is filled before it is known to be one.
pub(super) fn read<'a>(pull: &mut Pull<'a>, trace: &mut Trace) -> Read<Result<Kind<'a>, &'static str>> {
    trace.clear();
    let (mut kind, mut report, mut seen) = (None, false, Seen::default());
    pull.object(|pull, key| {
        match key {
            b"type" => {
                if let Value::Text(text) = pull.value()? {
                    kind = Some(text);
                }
            }
            b"report" => {
                report = true;
                pull.skip()?;
            }
            b"result" => pull.array(|pull| hop(pull, trace, &mut seen))?,
            _ => field(key, pull.value()?, trace, &mut seen),
        }
        Ok(())
    })?;
    Ok(match kind {
        Some(b"traceroute") => finish(trace, &seen).map(|()| Kind::Traceroute),
        Some(other) => Ok(Kind::Typed(other)),
        None if report => Ok(Kind::Report),
        None => Ok(Kind::Untyped),
    })
}

#[inline]
fn field(key: &[u8], value: Value<'_>, trace: &mut Trace, seen: &mut Seen) {
    match key {
        b"dst_addr" => {
            seen.named = true;
            trace.destination = value.address();
        }
        b"src_addr" => trace.source = value.address(),
        b"from" => seen.from = value.address(),
        b"timestamp" => trace.start_us = value.whole::<u64>().saturating_mul(1_000_000),
        b"msm_id" => trace.list_id = value.whole(),
        b"prb_id" => {
            seen.named = true;
            trace.probe_id = value.whole();
        }
        b"paris_id" => trace.source_port = value.whole(),
        b"size" => trace.probe_size = value.whole(),
        b"proto" => seen.protocol = value.text().and_then(|p| p.bytes().next()).unwrap_or(0).to_ascii_uppercase(),
        b"destination_ip_responded" => seen.responded = Some(value == Value::True),
        _ => {}
    }
}

fn finish(trace: &mut Trace, seen: &Seen) -> Result<(), &'static str> {
    if !seen.named {
        return Err("a traceroute without a probe and a destination");
    }
    if trace.source.is_none() {
        trace.source = seen.from;
    }
    let paris = trace.source_port != 0;
    trace.method = match seen.protocol {
        b'I' if paris => Method::IcmpEchoParis,
        b'I' => Method::IcmpEcho,
        b'U' if paris => Method::UdpParis,
        b'U' => Method::Udp,
        b'T' => Method::Tcp,
        _ => Method::Unknown,
    };
    let (destination, echo, size) = (trace.destination, seen.protocol == b'I', trace.probe_size);
    let mut reached = false;
    for hop in &mut trace.hops {
        let (v4, there) = (hop.address.is_v4(), hop.address == destination);
        reached |= there;
        (hop.probe_size, hop.quoted_size) = (size, size);
        // Results give a type only where something could not be reached. What the destination answers to UDP is not said.
        if hop.icmp_type == Hop::NO_ICMP && hop.is_icmp() {
            hop.icmp_type = match (there, echo, v4) {
                (true, true, true) => 0,
                (true, true, false) => 129,
                (true, false, _) => Hop::NO_ICMP,
                (false, _, true) => 11,
                (false, _, false) => 3,
            };
        }
    }
    let unreachable = |h: &Hop| h.icmp_type == if h.address.is_v4() { 3 } else { 1 } && h.is_icmp();
    trace.answered = seen.responded.unwrap_or(reached);
    trace.stop = match trace.answered {
        true => Stop::Completed,
        false if seen.failed => Stop::Error,
        false if trace.hops.last().is_some_and(unreachable) => Stop::Unreach,
        false if trace.hop_count == u16::from(LAST_RESORT) => Stop::GapLimit,
        false => Stop::None,
    };
    Ok(())
}

/// The answers to the probes of one TTL.
fn hop(pull: &mut Pull<'_>, trace: &mut Trace, seen: &mut Seen) -> Read<()> {
    let (first, extensions) = (trace.hops.len(), trace.extensions.len());
    let mut ttl = 0u8;
    pull.object(|pull, key| {
        match key {
            b"hop" => ttl = pull.whole()?,
            b"error" => {
                seen.failed = true;
                pull.skip()?;
            }
            b"result" => {
                let mut attempt = 0u8;
                pull.array(|pull| {
                    attempt = attempt.saturating_add(1);
                    reply(pull, trace, attempt)
                })?;
            }
            _ => pull.skip()?,
        }
        Ok(())
    })?;
    if ttl == 0 {
        trace.hops.truncate(first);
        trace.extensions.truncate(extensions);
        return Ok(());
    }
    trace.hops[first..].iter_mut().for_each(|h| h.ttl = ttl);
    if trace.hop_count == 0 {
        trace.first_ttl = ttl;
    }
    trace.hop_count = trace.hop_count.max(u16::from(ttl));
    Ok(())
}

/// One answer. A probe without an answer, and an answer that came after the next probe was sent (`late`), give none.
#[inline]
fn reply(pull: &mut Pull<'_>, trace: &mut Trace, attempt: u8) -> Read<()> {
    let mut hop = Hop { attempt, ..Hop::default() };
    let mut late = false;
    let mut error = Value::Other;
    let mut labels = Vec::new();
    pull.object(|pull, key| {
        match key {
            b"from" => hop.address = pull.address()?,
            b"rtt" => hop.rtt_us = pull.microseconds()?.unwrap_or(Hop::NO_RTT),
            b"size" => hop.reply_size = pull.whole()?,
            b"ttl" => hop.reply_ttl = pull.whole()?,
            b"ittl" => hop.quoted_ttl = pull.whole()?,
            b"itos" => hop.quoted_tos = pull.whole()?,
            b"mtu" => hop.next_mtu = pull.whole()?,
            b"err" => error = pull.value()?,
            b"flags" => {
                hop.flags = Hop::TCP;
                hop.tcp_flags = pull.value()?.text().map_or(0, tcp_flags);
            }
            b"late" => {
                late = true;
                pull.skip()?;
            }
            b"icmpext" => extensions(pull, &mut labels)?,
            _ => pull.skip()?,
        }
        Ok(())
    })?;
    if hop.address.is_none() || late {
        return Ok(());
    }
    if let Some(told) = unreachable(error, hop.address) {
        (hop.icmp_type, hop.icmp_code) = told;
    }
    trace.hops.push(hop);
    labels.iter().for_each(|(class, kind, stack)| trace.add_extension(*class, *kind, stack));
    Ok(())
}

/// Class, type and data of the extensions of an ICMP message.
type Extensions = Vec<(u8, u8, Vec<u8>)>;

#[cold]
fn extensions(pull: &mut Pull<'_>, found: &mut Extensions) -> Read<()> {
    pull.object(|pull, key| {
        if key != b"obj" {
            return pull.skip();
        }
        pull.array(|pull| {
            let (mut class, mut kind, mut stack) = (0, 0, Vec::new());
            pull.object(|pull, key| {
                match key {
                    b"class" => class = pull.whole()?,
                    b"type" => kind = pull.whole()?,
                    b"mpls" => pull.array(|pull| label(pull, &mut stack))?,
                    _ => pull.skip()?,
                }
                Ok(())
            })?;
            found.push((class, kind, stack));
            Ok(())
        })
    })
}

/// An entry of a label stack, as the message carries it (RFC 3032, section 2.1).
fn label(pull: &mut Pull<'_>, stack: &mut Vec<u8>) -> Read<()> {
    let mut word = 0u32;
    pull.object(|pull, key| {
        let value = pull.whole::<u32>()?;
        match key {
            b"label" => word |= value << 12,
            b"exp" => word |= (value & 7) << 9,
            b"s" => word |= (value & 1) << 8,
            b"ttl" => word |= value & 255,
            _ => {}
        }
        Ok(())
    })?;
    stack.extend_from_slice(&word.to_be_bytes());
    Ok(())
}

/// Type and code of an ICMP message that says that something cannot be reached: a letter, or the code.
fn unreachable(error: Value<'_>, by: Address) -> Option<(u8, u8)> {
    let known = |code4, code6| Some(if by.is_v4() { (3, code4) } else { (1, code6) });
    match error {
        Value::Text(b"N") => known(0, 0),
        Value::Text(b"P") => known(2, 6),
        Value::Text(b"p") => known(3, 4),
        Value::Text(b"F") => known(4, 0),
        Value::Text(b"A") => known(13, 1),
        Value::Text(_) => known(1, 3),
        Value::Number(_) => known(error.whole(), error.whole()),
        _ => None,
    }
}

/// TCP flags from their letters, as S and A.
fn tcp_flags(letters: &str) -> u8 {
    letters.bytes().fold(0, |flags, letter| flags | "FSRPAUEC".bytes().position(|l| l == letter).map_or(0, |n| 1 << n))
}
