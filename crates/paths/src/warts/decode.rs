//! The body of a trace record.

use super::state::{self, State};
use crate::cursor::Cursor;
use crate::framed::Fault;
use crate::{Address, Hop, Method, Stop, Trace};

impl<'a> Cursor<'a> {
    /// Flags, seven a byte, and the fields that they announce.
    #[inline]
    pub fn parameters(&mut self) -> Result<(u64, Cursor<'a>), Fault> {
        let mut flags = 0u64;
        let mut shift = 0;
        loop {
            let byte = self.u8()?;
            flags |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
            shift += 7;
            if shift > 56 {
                return Err("flags that do not end");
            }
        }
        if flags == 0 {
            return Ok((0, Cursor::new(&[])));
        }
        let len = self.u16()?;
        Ok((flags, Cursor::new(self.slice(usize::from(len))?)))
    }

    /// An address, or a reference to one that stood in this record before.
    #[inline]
    pub(super) fn address(&mut self, table: &mut Vec<Address>) -> Result<Address, Fault> {
        let len = self.u8()?;
        if len == 0 {
            let number = self.u32()?;
            return table.get(number as usize).copied().ok_or("an address that the record did not give before");
        }
        let address = self.literal(len)?;
        table.push(address);
        Ok(address)
    }

    #[inline]
    fn literal(&mut self, len: u8) -> Result<Address, Fault> {
        if len == 4
            && let Some(&[1, a, b, c, d]) = self.rest().first_chunk::<5>()
        {
            self.array::<5>()?;
            return Ok(Address::v4([a, b, c, d]));
        }
        let kind = self.u8()?;
        state::address(kind, self.slice(usize::from(len))?).ok_or("an address whose length does not fit its type")
    }
}

/// Reads the fields in turn: `fields!(flags, cursor; number => place, …)` reads field `number` where its flag is set.
macro_rules! fields {
    ($flags:expr; $($number:literal => $read:expr),* $(,)?) => {
        $(if $flags & (1 << ($number - 1)) != 0 { $read; })*
    };
}

pub(super) use fields;

/// Reads a trace record's body; returns the length of the part that was understood.
pub(super) fn trace(body: &[u8], trace: &mut Trace, state: &mut State) -> Result<usize, Fault> {
    trace.clear();
    let mut table = std::mem::take(&mut state.table);
    table.clear();
    let mut at = Cursor::new(body);
    let read = parameters(&mut at, trace, state, &mut table).and_then(|()| hops(&mut at, trace, state, &mut table));
    state.table = table;
    read?;
    Ok(body.len() - attributes(at).left())
}

fn parameters(at: &mut Cursor, t: &mut Trace, state: &mut State, table: &mut Vec<Address>) -> Result<(), Fault> {
    let (flags, mut f) = at.parameters()?;
    let (mut list, mut cycle) = (None, None);
    fields!(flags;
        1 => list = Some(f.u32()?),
        2 => cycle = Some(f.u32()?),
        3 => t.source = state.global(f.u32()?)?,
        4 => t.destination = state.global(f.u32()?)?,
        5 => t.start_us = f.instant()?,
        6 => t.stop = Stop::from_number(f.u8()?),
        7 => t.stop_data = f.u8()?,
        8 => t.flags = u32::from(f.u8()?),
        9 => t.attempts = f.u8()?,
        10 => t.hop_limit = f.u8()?,
        11 => t.method = Method::from_number(f.u8()?),
        12 => t.probe_size = f.u16()?,
        13 => t.source_port = f.u16()?,
        14 => t.destination_port = f.u16()?,
        15 => t.first_ttl = f.u8()?.max(1),
        16 => t.tos = f.u8()?,
        17 => t.wait_s = f.u8()?,
        18 => t.loops = f.u8()?,
        19 => t.hop_count = f.u16()?,
        20 => t.gap_limit = f.u8()?,
        21 => t.gap_action = f.u8()?,
        22 => t.loop_action = f.u8()?,
        23 => t.probes = f.u16()?,
        24 => t.wait_probe_cs = f.u8()?,
        25 => t.confidence = f.u8()?,
        26 => t.source = f.address(table)?,
        27 => t.destination = f.address(table)?,
        28 => t.user_id = f.u32()?,
        29 => t.offset = f.u16()?,
        // The router's address stands for itself: it does not enter the table.
        30 => { let len = f.u8()?; t.router = f.literal(len)? },
        31 => t.parallel = f.u8()?,
        32 => t.flags = f.u32()?,
        33 => t.stop_hop = f.u8()?,
    );
    if t.destination.is_none() {
        return Err("a trace without a destination");
    }
    t.answered = t.stop == Stop::Completed;
    state.name(t, list, cycle);
    Ok(())
}

fn hops(at: &mut Cursor, trace: &mut Trace, state: &State, table: &mut Vec<Address>) -> Result<(), Fault> {
    let count = at.u16()?;
    for _ in 0..count {
        hop(at, trace, state, table)?;
    }
    Ok(())
}

#[inline]
fn hop(at: &mut Cursor, trace: &mut Trace, state: &State, table: &mut Vec<Address>) -> Result<(), Fault> {
    let (flags, mut f) = at.parameters()?;
    let mut h = Hop::default();
    let mut extensions: &[u8] = &[];
    fields!(flags;
        1 => h.address = state.global(f.u32()?)?,
        2 => h.ttl = f.u8()?,
        3 => h.reply_ttl = f.u8()?,
        4 => h.flags = f.u8()?,
        5 => h.attempt = f.u8()?.wrapping_add(1),
        6 => h.rtt_us = f.u32()?,
        7 => [h.icmp_type, h.icmp_code] = f.array()?,
        8 => h.probe_size = f.u16()?,
        9 => h.reply_size = f.u16()?,
        10 => h.reply_id = f.u16()?,
        11 => h.reply_tos = f.u8()?,
        12 => h.next_mtu = f.u16()?,
        13 => h.quoted_size = f.u16()?,
        14 => h.quoted_ttl = f.u8()?,
        15 => h.tcp_flags = f.u8()?,
        16 => h.quoted_tos = f.u8()?,
        17 => { let len = f.u16()?; extensions = f.slice(usize::from(len))? },
        18 => h.address = f.address(table)?,
        19 => h.sent_us = f.instant()?,
        20 => { f.string()?; },
    );
    if flags & (1 << 12) == 0 {
        h.quoted_size = h.probe_size;
    }
    if h.rtt_us > Hop::LONGEST_RTT {
        h.rtt_us = Hop::NO_RTT;
    }
    if h.ttl == 0 {
        return Err("a hop without a TTL");
    }
    if h.address.is_none() {
        return Err("a hop without an address");
    }
    trace.hops.push(h);
    if !extensions.is_empty() {
        read_extensions(extensions, trace)?;
    }
    Ok(())
}

#[cold]
fn read_extensions(bytes: &[u8], trace: &mut Trace) -> Result<(), Fault> {
    let mut at = Cursor::new(bytes);
    while at.left() > 0 {
        let len = at.u16()?;
        let (class, kind) = (at.u8()?, at.u8()?);
        trace.add_extension(class, kind, at.slice(usize::from(len))?);
    }
    Ok(())
}

/// Skips the blocks that may follow the hops (path MTU discovery, last-ditch probes, Doubletree). Each begins with four
/// bits of type and twelve of length; a zero ends them. A block of path MTU discovery can be longer than twelve bits
/// can say. None of the blocks is kept, so the trace is good even if their end is not found; the bytes after the hops
/// then count as not understood.
fn attributes(at: Cursor) -> Cursor {
    let mut ahead = at;
    while let Ok(head) = ahead.u16() {
        if head == 0 {
            return ahead;
        }
        if ahead.slice(usize::from(head & 0x0fff)).is_err() {
            break;
        }
    }
    at
}
