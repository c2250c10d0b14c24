//! ARTS, the format of CAIDA's skitter (1998 to February 2008). The layout is taken from scamper's reader
//! (`scamper_file_arts.c`), as no real files were available.
//!
//! A file is a row of objects: magic 0xdfb0, type and version (28 and 4 bits), flags (32), a number (16), length of the
//! attributes (32), length of the data (32), all big-endian. Type 0x3000 is an IP path; it knows IPv4 alone.

mod write;

pub use write::Writer;

use crate::cursor::Cursor;
use crate::framed::{Fault, Format, Gave, Meant, Records};
use crate::pieces::Stateful;
use crate::{Address, Hop, Method, Stop, Trace};

pub(crate) const MAGIC: u16 = 0xdfb0;
const IP_PATH: u32 = 0x3000;
/// Flag of an object: hops have round-trip times.
const HOPS_HAVE_RTT: u32 = 1;
/// Attribute: when the object was made; of format 13, a Unix date.
const CREATION: u32 = 2;

/// The format of ARTS, which has no state.
#[derive(Clone, Default)]
pub struct Arts;

impl Stateful for Arts {}

fn word(header: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

impl Format for Arts {
    const MAGIC: [u8; 2] = MAGIC.to_be_bytes();
    const HEADER: usize = 20;
    const NOTHING: Fault = "no object begins here (0xdfb0 is missing)";

    fn body(header: &[u8]) -> usize {
        (word(header, 12) as usize).saturating_add(word(header, 16) as usize)
    }

    fn plausible(header: &[u8]) -> bool {
        // Types are 16 bits long in all files that are known; the field has 28.
        word(header, 2) >> 20 == 0
    }

    fn record(&mut self, header: &[u8], body: &[u8], trace: &mut Trace) -> Result<Meant, Fault> {
        let kind = word(header, 2);
        if kind >> 4 != IP_PATH {
            return Ok(Meant { bytes: 0, name: "other", gave: Gave::Nothing });
        }
        trace.clear();
        let mut at = Cursor::new(body);
        let attributes = Cursor::new(at.slice(word(header, 12) as usize)?);
        trace.start_us = u64::from(creation(attributes)?) * 1_000_000;
        path(&mut at, trace, kind & 0xf, word(header, 6))?;
        Ok(Meant { bytes: body.len() - at.left(), name: "ip-path", gave: Gave::Trace })
    }
}

/// When the object was made, seconds since the Unix epoch; 0 if its attributes do not say.
fn creation(mut at: Cursor) -> Result<u32, Fault> {
    let mut made = 0;
    while at.left() > 0 {
        let id = at.u32()? >> 8;
        let len = at.u32()? as usize;
        let value = at.slice(len.checked_sub(8).ok_or("an attribute that is shorter than its head")?)?;
        if id == CREATION
            && let Some(seconds) = value.first_chunk()
        {
            made = u32::from_be_bytes(*seconds);
        }
    }
    Ok(made)
}

fn path(at: &mut Cursor, trace: &mut Trace, version: u32, flags: u32) -> Result<(), Fault> {
    if version > 3 {
        return Err("a path of a version that is not known");
    }
    trace.method = Method::IcmpEcho;
    trace.source = Address::v4(at.array()?);
    trace.destination = Address::v4(at.array()?);
    if version >= 3 {
        (trace.list_id, trace.cycle_id) = (at.u32()?, at.u32()?);
    }
    let rtt_us = if version < 2 { at.instant()?.try_into().unwrap_or(Hop::NO_RTT) } else { at.u32()? };
    let distance = at.u8()?;
    let replied_and_hops = at.u8()?;
    trace.answered = replied_and_hops & 0x80 != 0;
    let count = replied_and_hops & 0x7f;
    // That the destination answered is no reason to halt: `none` stands for both.
    trace.stop = if trace.answered { Stop::Completed } else { Stop::None };
    if version > 1 || (version == 1 && trace.answered) {
        let reason = at.u8()?;
        trace.stop_data = at.u8()?;
        match reason {
            0 => {}
            1 => trace.stop = Stop::Unreach,
            2 => trace.stop = Stop::Loop,
            3 => trace.stop = Stop::GapLimit,
            _ => return Err("a halt reason that is not known"),
        }
    }
    if count == 0 && !trace.answered {
        return Ok(());
    }
    let reply_ttl = if version >= 2 { at.u8()? } else { 0 };
    let with_rtt = version == 1 || (version > 1 && flags & HOPS_HAVE_RTT != 0);
    for _ in 0..count {
        let mut hop = Hop { ttl: at.u8()?, address: Address::v4(at.array()?), icmp_type: 11, ..Hop::default() };
        if with_rtt {
            (hop.rtt_us, hop.attempt) = (at.u32()?, at.u8()?);
        }
        if hop.ttl == 0 {
            return Err("a hop without a TTL");
        }
        trace.hops.push(hop);
    }
    if trace.stop == Stop::Unreach
        && let Some(last) = trace.hops.last_mut()
    {
        (last.icmp_type, last.icmp_code) = (3, trace.stop_data);
    }
    if trace.answered {
        if distance == 0 {
            return Err("a destination that answered from no distance");
        }
        let (address, icmp_type) = (trace.destination, 0);
        trace.hops.push(Hop { address, ttl: distance, rtt_us, reply_ttl, icmp_type, ..Hop::default() });
    }
    trace.hop_count = u16::from(trace.length());
    Ok(())
}

/// Whether what was read so far begins as an ARTS file does.
pub(crate) fn detect(start: &[u8]) -> bool {
    start.starts_with(&Arts::MAGIC)
}

/// A reader of ARTS from any stream, in memory that depends on the longest object alone.
pub type Reader<R> = Records<R, Arts>;
