//! The body of a tracelb record. Source: scamper's `scamper_file_warts_tracelb`, as the manual page `warts(5)` is silent on it,
//! and what scamper itself wrote.

use super::decode::fields;
use super::state::State;
use crate::cursor::Cursor;
use crate::framed::Fault;
use crate::multipath::{Gathered, Multipath};
use crate::{Address, Hop, Trace};

/// Reads a tracelb record's body; returns the length of the part that was understood, too.
pub(super) fn multipath(body: &[u8], state: &mut State) -> Result<(usize, Multipath), Fault> {
    let mut table = std::mem::take(&mut state.table);
    table.clear();
    let mut at = Cursor::new(body);
    let read = record(&mut at, state, &mut table);
    state.table = table;
    Ok((body.len() - at.left(), read?))
}

fn record(at: &mut Cursor, state: &mut State, table: &mut Vec<Address>) -> Result<Multipath, Fault> {
    let mut m = Multipath { method: Multipath::method_of_number(0), ..Multipath::default() };
    let (flags, mut f) = at.parameters()?;
    let (mut list, mut cycle, mut nodes, mut links) = (None, None, 0, 0);
    fields!(flags;
        1 => list = Some(f.u32()?),
        2 => cycle = Some(f.u32()?),
        3 => m.source = state.global(f.u32()?)?,
        4 => m.destination = state.global(f.u32()?)?,
        5 => m.start_us = f.instant()?,
        6 => m.source_port = f.u16()?,
        7 => m.destination_port = f.u16()?,
        8 => { f.u16()?; }, // size of probes
        9 => m.method = Multipath::method_of_number(f.u8()?),
        10 => { f.u8()?; }, // first TTL
        11 => { f.u8()?; }, // seconds waited
        12 => { f.u8()?; }, // time between probes
        13 => { f.u8()?; }, // attempts
        14 => m.confidence = f.u8()?,
        15 => { f.u8()?; }, // type of service
        16 => nodes = f.u16()?,
        17 => links = f.u16()?,
        18 => m.probes = f.u32()?,
        19 => { f.u32()?; }, // most probes
        20 => { f.u8()?; }, // gap limit
        21 => m.source = f.address(table)?,
        22 => m.destination = f.address(table)?,
    );
    if m.destination.is_none() {
        return Err("a tracelb without a destination");
    }
    let mut named = Trace::default();
    state.name(&mut named, list, cycle);
    (m.list_id, m.cycle_id, m.monitor) = (named.list_id, named.cycle_id, named.monitor);
    let nodes = (0..nodes).map(|_| node(at, state, table)).collect::<Result<Vec<_>, _>>()?;
    let mut gathered = Gathered::default();
    (0..links).try_for_each(|_| link(at, &nodes, &mut gathered, state, table))?;
    m.links = gathered.links();
    Ok(m)
}

fn node(at: &mut Cursor, state: &State, table: &mut Vec<Address>) -> Result<Address, Fault> {
    let (flags, mut f) = at.parameters()?;
    let mut address = Address::NONE;
    fields!(flags;
        1 => address = state.global(f.u32()?)?,
        2 => { f.u8()?; }, // flags
        3 => { f.u16()?; }, // number of links
        4 => { f.u8()?; }, // quoted TTL
        5 => address = f.address(table)?,
    );
    Ok(address)
}

fn link(
    at: &mut Cursor,
    nodes: &[Address],
    gathered: &mut Gathered,
    state: &State,
    table: &mut Vec<Address>,
) -> Result<(), Fault> {
    let (flags, mut f) = at.parameters()?;
    let (mut from, mut hops) = (0, 0);
    fields!(flags;
        1 => from = f.u16()?,
        2 => { f.u16()?; }, // the node at its end, which the last set has too
        3 => hops = f.u8()?,
    );
    gathered.begin(*nodes.get(usize::from(from)).ok_or("a link from a node that is not there")?);
    for _ in 0..hops {
        let (flags, mut f) = at.parameters()?;
        let mut probes = 0;
        fields!(flags; 1 => probes = f.u16()?);
        (0..probes).try_for_each(|_| probe(at, gathered, state, table))?;
        gathered.next_set();
    }
    Ok(())
}

fn probe(at: &mut Cursor, gathered: &mut Gathered, state: &State, table: &mut Vec<Address>) -> Result<(), Fault> {
    let (flags, mut f) = at.parameters()?;
    let (mut sent_us, mut flow, mut ttl, mut replies) = (0, 0, 0, 0);
    fields!(flags;
        1 => sent_us = f.instant()?,
        2 => flow = f.u16()?,
        3 => ttl = f.u8()?,
        4 => { f.u8()?; }, // attempt
        5 => replies = f.u16()?,
    );
    for _ in 0..replies {
        let (flags, mut f) = at.parameters()?;
        let (mut came_us, mut from) = (0, Address::NONE);
        fields!(flags;
            1 => came_us = f.instant()?,
            2 => { f.u16()?; }, // IP identification
            3 => { f.u8()?; }, // TTL
            4 => { f.u8()?; }, // flags
            5 => { f.u16()?; }, // ICMP type and code
            6 => { f.u8()?; }, // TCP flags
            7 => { let len = f.u16()?; f.slice(usize::from(len))?; }, // ICMP extensions
            8 => { f.u8()?; }, // quoted TTL
            9 => { f.u8()?; }, // quoted type of service
            10 => from = state.global(f.u32()?)?,
            11 => from = f.address(table)?,
        );
        let rtt_us = came_us.checked_sub(sent_us).filter(|_| sent_us > 0).and_then(|us| u32::try_from(us).ok());
        gathered.answer(flow, ttl, from, rtt_us.filter(|&us| us <= Hop::LONGEST_RTT));
    }
    Ok(())
}
