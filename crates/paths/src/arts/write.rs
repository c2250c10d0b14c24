//! A writer of ARTS, for tests, benches and whoever makes data: what [`Reader`](super::Reader) reads.

use super::{CREATION, HOPS_HAVE_RTT, IP_PATH, MAGIC};
use crate::{Address, Hop, Stop, Trace};
use std::io::{self, Write};

/// Writes ARTS of version 1, 2 or 3 to a stream, which should be buffered.
pub struct Writer<W> {
    out: W,
    version: u8,
}

/// The type of a Unix date.
const UNIX_DATE: u32 = 13;

impl<W: Write> Writer<W> {
    /// A writer of objects of this version (taken into 1 to 3).
    pub fn new(out: W, version: u8) -> Writer<W> {
        Writer { out, version: version.clamp(1, 3) }
    }

    /// Ends writing and gives the stream back.
    ///
    /// # Errors
    /// If the stream does not take what is left.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// An object of any type.
    ///
    /// # Errors
    /// If the stream does not take it.
    pub fn object(&mut self, kind: u32, flags: u32, attributes: &[u8], data: &[u8]) -> io::Result<()> {
        self.out.write_all(&MAGIC.to_be_bytes())?;
        self.out.write_all(&((kind << 4) | u32::from(self.version)).to_be_bytes())?;
        self.out.write_all(&flags.to_be_bytes())?;
        self.out.write_all(&[0, 0])?;
        self.out.write_all(&(attributes.len() as u32).to_be_bytes())?;
        self.out.write_all(&(data.len() as u32).to_be_bytes())?;
        self.out.write_all(attributes)?;
        self.out.write_all(data)
    }

    /// A trace; what the format cannot express is left out: IPv6 (the last four bytes stand), times below a second, sizes, all
    /// answers of the destination but the last.
    ///
    /// # Errors
    /// If the stream does not take it.
    pub fn trace(&mut self, trace: &Trace) -> io::Result<()> {
        let start_s = (trace.start_us / 1_000_000) as u32;
        let attributes = [(CREATION << 8) | UNIX_DATE, 12, start_s].map(u32::to_be_bytes).concat();
        let last = trace.hops.last().filter(|_| trace.answered);
        let hops = &trace.hops[..trace.hops.len() - usize::from(last.is_some())];
        let hops = &hops[..hops.len().min(0x7f)];
        let mut data = [v4(trace.source), v4(trace.destination)].concat();
        if self.version >= 3 {
            data.extend_from_slice(&[trace.list_id, trace.cycle_id].map(u32::to_be_bytes).concat());
        }
        let rtt_us = last.map_or(0, |h| h.rtt_us);
        if self.version < 2 {
            data.extend_from_slice(&[rtt_us / 1_000_000, rtt_us % 1_000_000].map(u32::to_be_bytes).concat());
        } else {
            data.extend_from_slice(&rtt_us.to_be_bytes());
        }
        data.push(last.map_or(0, |h| h.ttl));
        data.push(hops.len() as u8 | if last.is_some() { 0x80 } else { 0 });
        if self.version > 1 || last.is_some() {
            let reason = match trace.stop {
                Stop::Unreach => 1,
                Stop::Loop => 2,
                Stop::GapLimit => 3,
                _ => 0,
            };
            data.extend_from_slice(&[reason, trace.stop_data]);
        }
        if self.version >= 2 && (last.is_some() || !hops.is_empty()) {
            data.push(last.map_or(0, |h| h.reply_ttl));
        }
        hops.iter().for_each(|h| hop(&mut data, h));
        self.object(IP_PATH, HOPS_HAVE_RTT, &attributes, &data)
    }
}

fn v4(address: Address) -> [u8; 4] {
    let b = address.bytes();
    [b[12], b[13], b[14], b[15]]
}

fn hop(data: &mut Vec<u8>, hop: &Hop) {
    data.push(hop.ttl);
    data.extend_from_slice(&v4(hop.address));
    data.extend_from_slice(&hop.rtt_us.to_be_bytes());
    data.push(hop.attempt);
}
