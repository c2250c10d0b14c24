//! A writer of warts, for tests, benches and whoever makes data: what [`Reader`](super::Reader) reads.

use super::state::ADDRESS_MODULUS;
use super::{MAGIC, kind};
use crate::{Address, Hop, Trace};
use std::collections::HashMap;
use std::io::{self, Write};

/// How addresses are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// In the records that use them, as scamper does since 2007.
    Embedded,
    /// In records of their own, to which traces refer: as the first versions did.
    Global,
}

/// Writes warts to a stream, which should be buffered.
pub struct Writer<W> {
    out: W,
    addresses: Addresses,
    global: HashMap<Address, u32>,
    body: Vec<u8>,
    table: Vec<Address>,
}

/// The fields of a record: flags, and what they announce.
#[derive(Default)]
struct Fields {
    flags: u64,
    bytes: Vec<u8>,
}

impl Fields {
    fn put(&mut self, number: u32, bytes: &[u8]) {
        self.flags |= 1 << (number - 1);
        self.bytes.extend_from_slice(bytes);
    }

    fn put_some(&mut self, number: u32, bytes: Option<impl AsRef<[u8]>>) {
        if let Some(bytes) = bytes {
            self.put(number, bytes.as_ref());
        }
    }

    fn finish(&self, body: &mut Vec<u8>) {
        let mut rest = self.flags;
        loop {
            let more = rest >> 7 != 0;
            body.push((rest & 0x7f) as u8 | if more { 0x80 } else { 0 });
            rest >>= 7;
            if !more {
                break;
            }
        }
        if self.flags != 0 {
            body.extend_from_slice(&(self.bytes.len() as u16).to_be_bytes());
            body.extend_from_slice(&self.bytes);
        }
    }
}

fn instant(us: u64) -> [u8; 8] {
    (((us / 1_000_000) << 32) | (us % 1_000_000)).to_be_bytes()
}

fn literal(address: Address) -> Vec<u8> {
    if address.is_v4() { [&[4, 1], &address.bytes()[12..]].concat() } else { [&[16, 2], &address.bytes()[..]].concat() }
}

impl<W: Write> Writer<W> {
    /// A writer whose addresses stand where `addresses` says.
    pub fn new(out: W, addresses: Addresses) -> Writer<W> {
        Writer { out, addresses, global: HashMap::new(), body: Vec::new(), table: Vec::new() }
    }

    /// Ends writing and gives the stream back.
    ///
    /// # Errors
    /// If the stream does not take what is left.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// A record of any type.
    ///
    /// # Errors
    /// If the stream does not take it.
    pub fn record(&mut self, kind: u16, body: &[u8]) -> io::Result<()> {
        self.out.write_all(&MAGIC.to_be_bytes())?;
        self.out.write_all(&kind.to_be_bytes())?;
        self.out.write_all(&(body.len() as u32).to_be_bytes())?;
        self.out.write_all(body)
    }

    /// A list: the file's number for it, a person's, and its names.
    ///
    /// # Errors
    /// If the stream does not take it.
    pub fn list(&mut self, number: u32, id: u32, name: &str, monitor: Option<&str>) -> io::Result<()> {
        let mut body = [number.to_be_bytes(), id.to_be_bytes()].concat();
        body.extend_from_slice(name.as_bytes());
        body.push(0);
        let mut fields = Fields::default();
        if let Some(monitor) = monitor {
            fields.put(2, &[monitor.as_bytes(), &[0]].concat());
        }
        fields.finish(&mut body);
        self.record(kind::LIST, &body)
    }

    /// The start of a cycle over a list: the file's number for it and for the list, a person's, when (seconds since the
    /// Unix epoch), where.
    ///
    /// # Errors
    /// If the stream does not take it.
    pub fn cycle(&mut self, number: u32, list: u32, id: u32, start_s: u32, host: Option<&str>) -> io::Result<()> {
        let mut body = [number, list, id, start_s].map(u32::to_be_bytes).concat();
        let mut fields = Fields::default();
        if let Some(host) = host {
            fields.put(2, &[host.as_bytes(), &[0]].concat());
        }
        fields.finish(&mut body);
        self.record(kind::CYCLE_START, &body)
    }

    /// The end of a cycle, by the file's number for it.
    ///
    /// # Errors
    /// If the stream does not take it.
    pub fn cycle_stop(&mut self, number: u32, stop_s: u32) -> io::Result<()> {
        let body = [&number.to_be_bytes()[..], &stop_s.to_be_bytes(), &[0]].concat();
        self.record(kind::CYCLE_STOP, &body)
    }

    /// A trace of the list and the cycle that the file calls so.
    ///
    /// # Errors
    /// If the stream does not take it.
    pub fn trace(&mut self, trace: &Trace, list: u32, cycle: u32) -> io::Result<()> {
        if self.addresses == Addresses::Global {
            self.announce(trace.source)?;
            self.announce(trace.destination)?;
            trace.hops.iter().try_for_each(|h| self.announce(h.address))?;
        }
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        self.table.clear();
        self.trace_fields(trace, list, cycle).finish(&mut body);
        body.extend_from_slice(&(trace.hops.len() as u16).to_be_bytes());
        for (at, hop) in trace.hops.iter().enumerate() {
            self.hop_fields(trace, at as u32, hop).finish(&mut body);
        }
        body.extend_from_slice(&[0, 0]);
        let written = self.record(kind::TRACE, &body);
        self.body = body;
        written
    }

    fn trace_fields(&mut self, t: &Trace, list: u32, cycle: u32) -> Fields {
        let mut f = Fields::default();
        f.put(1, &list.to_be_bytes());
        f.put(2, &cycle.to_be_bytes());
        if self.addresses == Addresses::Global {
            self.put_address(&mut f, 3, 26, Some(t.source));
            self.put_address(&mut f, 4, 27, Some(t.destination));
        }
        f.put(5, &instant(t.start_us));
        f.put(6, &[t.stop.number()]);
        f.put(7, &[t.stop_data]);
        f.put_some(8, (t.flags & 0xff != 0).then_some([t.flags as u8]));
        f.put(9, &[t.attempts]);
        f.put(10, &[t.hop_limit]);
        f.put(11, &[t.method.number()]);
        f.put(12, &t.probe_size.to_be_bytes());
        f.put(13, &t.source_port.to_be_bytes());
        f.put(14, &t.destination_port.to_be_bytes());
        f.put(15, &[t.first_ttl]);
        f.put(16, &[t.tos]);
        f.put(17, &[t.wait_s]);
        f.put(18, &[t.loops]);
        f.put(19, &t.hop_count.to_be_bytes());
        f.put(20, &[t.gap_limit]);
        f.put(21, &[t.gap_action]);
        f.put(22, &[t.loop_action]);
        f.put(23, &t.probes.to_be_bytes());
        f.put(24, &[t.wait_probe_cs]);
        f.put(25, &[t.confidence]);
        if self.addresses == Addresses::Embedded {
            self.put_address(&mut f, 3, 26, Some(t.source));
            self.put_address(&mut f, 4, 27, Some(t.destination));
        }
        f.put_some(28, (t.user_id != 0).then(|| t.user_id.to_be_bytes()));
        f.put_some(29, (t.offset != 0).then(|| t.offset.to_be_bytes()));
        f.put_some(30, (!t.router.is_none()).then(|| literal(t.router)));
        f.put_some(31, (t.parallel != 0).then_some([t.parallel]));
        f.put_some(32, (t.flags > 0xff).then(|| t.flags.to_be_bytes()));
        f.put_some(33, (t.stop_hop != 0).then_some([t.stop_hop]));
        f
    }

    fn hop_fields(&mut self, trace: &Trace, at: u32, h: &Hop) -> Fields {
        let mut f = Fields::default();
        if self.addresses == Addresses::Global {
            self.put_address(&mut f, 1, 18, Some(h.address));
        }
        f.put(2, &[h.ttl]);
        f.put(3, &[h.reply_ttl]);
        f.put(4, &[h.flags]);
        f.put_some(5, (h.attempt != 0).then(|| [h.attempt.wrapping_sub(1)]));
        f.put_some(6, (h.rtt_us != Hop::NO_RTT).then(|| h.rtt_us.to_be_bytes()));
        f.put_some(7, (h.flags & Hop::TCP == 0 && h.icmp_type != Hop::NO_ICMP).then_some([h.icmp_type, h.icmp_code]));
        f.put(8, &h.probe_size.to_be_bytes());
        f.put(9, &h.reply_size.to_be_bytes());
        f.put_some(10, (h.reply_id != 0).then(|| h.reply_id.to_be_bytes()));
        f.put(11, &[h.reply_tos]);
        f.put_some(12, (h.next_mtu != 0).then(|| h.next_mtu.to_be_bytes()));
        f.put_some(13, (h.quoted_size != h.probe_size).then(|| h.quoted_size.to_be_bytes()));
        f.put_some(14, (h.quoted_ttl != 1).then_some([h.quoted_ttl]));
        f.put_some(15, (h.flags & Hop::TCP != 0).then_some([h.tcp_flags]));
        f.put(16, &[h.quoted_tos]);
        let mut extensions = Vec::new();
        for e in trace.extensions.iter().filter(|e| e.hop == at) {
            let data = trace.data(e);
            extensions.extend_from_slice(&(data.len() as u16).to_be_bytes());
            extensions.extend_from_slice(&[e.class, e.kind]);
            extensions.extend_from_slice(data);
        }
        let len = (extensions.len() as u16).to_be_bytes();
        f.put_some(17, (!extensions.is_empty()).then(|| [&len[..], &extensions].concat()));
        if self.addresses == Addresses::Embedded {
            self.put_address(&mut f, 1, 18, Some(h.address));
        }
        f.put_some(19, (h.sent_us != 0).then(|| instant(h.sent_us)));
        f
    }

    fn put_address(&mut self, fields: &mut Fields, global: u32, embedded: u32, address: Option<Address>) {
        let Some(address) = address.filter(|a| !a.is_none()) else { return };
        if self.addresses == Addresses::Global {
            let number = self.global.get(&address).copied().unwrap_or(0);
            return fields.put(global, &number.to_be_bytes());
        }
        match self.table.iter().position(|&known| known == address) {
            Some(number) => fields.put(embedded, &[&[0], &(number as u32).to_be_bytes()[..]].concat()),
            None => {
                self.table.push(address);
                fields.put(embedded, &literal(address));
            }
        }
    }

    fn announce(&mut self, address: Address) -> io::Result<()> {
        if address.is_none() || self.global.contains_key(&address) {
            return Ok(());
        }
        let number = self.global.len() + 1;
        self.global.insert(address, number as u32);
        let mut body = vec![(number % ADDRESS_MODULUS) as u8];
        body.extend_from_slice(&literal(address)[1..]);
        self.record(kind::ADDRESS, &body)
    }
}
