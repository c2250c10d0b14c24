//! The state of a warts file that its records refer to: lists, cycles and (in old files) addresses.

use super::kind;
use crate::cursor::Cursor;
use crate::framed::Fault;
use crate::{Address, Trace};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// A list of destinations as traces refer to it.
#[derive(Clone, Default)]
struct List {
    id: u32,
    monitor: Option<Arc<str>>,
}

/// A pass over a list.
#[derive(Clone, Default)]
struct Cycle {
    id: u32,
    host: Option<Arc<str>>,
}

/// The deprecated global table of addresses, in blocks that copies of it share.
#[derive(Clone, Default)]
struct Table {
    full: Vec<Arc<[Address]>>,
    last: Vec<Address>,
}

impl Table {
    const BLOCK: usize = 1024;

    fn len(&self) -> usize {
        self.full.len() * Table::BLOCK + self.last.len()
    }

    fn push(&mut self, address: Address) {
        self.last.push(address);
        if self.last.len() == Table::BLOCK {
            self.full.push(Arc::from(&self.last[..]));
            self.last.clear();
        }
    }

    fn get(&self, index: usize) -> Option<&Address> {
        let block = self.full.get(index / Table::BLOCK).map_or(&self.last[..], |block| &block[..]);
        block.get(if index / Table::BLOCK <= self.full.len() { index % Table::BLOCK } else { usize::MAX })
    }
}

/// The tables of the file that is being read. When files were joined with `cat`, each has its own.
#[derive(Clone, Default)]
pub struct State {
    lists: HashMap<u32, List>,
    cycles: HashMap<u32, Cycle>,
    last_list: (u32, List),
    last_cycle: (u32, Cycle),
    /// Their numbers count from 1.
    addresses: Table,
    /// How many addresses were added since the beginning of the stream.
    added: u64,
    /// Stands for all records that changed these tables, and their order.
    digest: u64,
    /// Whether a record was lost since the last address. If so, a number out of order is a gap, not the start of a
    /// file.
    lost: bool,
    /// The addresses of the record that is being read.
    pub table: Vec<Address>,
}

/// Modulus of the numbers in address records. `warts(5)` says the low 8 bits, but files have the remainder modulo 255.
pub(super) const ADDRESS_MODULUS: usize = 255;

impl State {
    /// Notes what changes the tables: the body of a record of a kind, and how many addresses are missing before it.
    fn changed_by(&mut self, what: u16, body: &[u8], missing: usize) {
        let mut hasher = DefaultHasher::new();
        (self.digest, what, body, missing).hash(&mut hasher);
        self.digest = hasher.finish();
    }

    /// The state behind a piece of the file without damage that was read from `start` to `end`, if a reader in the state `now`
    /// would read the same. Whether a record was lost matters only to addresses.
    pub fn behind(now: &State, start: &State, end: &State) -> Option<State> {
        let unmoved = start.added == end.added;
        let same = now.digest == start.digest && (unmoved || now.lost == start.lost);
        same.then(|| State { lost: if unmoved { now.lost } else { end.lost }, added: now.added, ..end.clone() })
    }

    /// Notes that a damaged record was skipped.
    pub fn lost_record(&mut self) {
        self.lost = true;
    }

    /// Adds a list. Lists are numbered by a counter, so a number that comes again begins another file that was joined.
    pub fn list(&mut self, body: &[u8]) -> Result<usize, Fault> {
        let mut at = Cursor::new(body);
        let number = at.u32()?;
        let mut list = List { id: at.u32()?, monitor: None };
        at.string()?;
        let (flags, mut fields) = at.parameters()?;
        if flags & 1 != 0 {
            fields.string()?;
        }
        if flags & 2 != 0 {
            list.monitor = Some(text(fields.string()?));
        }
        self.changed_by(kind::LIST, body, 0);
        if self.lists.contains_key(&number) {
            self.lists.clear();
            self.cycles.clear();
            self.addresses = Table::default();
            self.last_cycle = Default::default();
        }
        self.last_list = (number, list.clone());
        self.lists.insert(number, list);
        Ok(body.len() - at.left())
    }

    /// A cycle that starts, or that started in another file.
    pub fn cycle(&mut self, body: &[u8]) -> Result<usize, Fault> {
        let mut at = Cursor::new(body);
        let number = at.u32()?;
        at.u32()?; // the list's number
        let mut cycle = Cycle { id: at.u32()?, host: None };
        at.u32()?; // start, seconds since the epoch
        let (flags, mut fields) = at.parameters()?;
        if flags & 1 != 0 {
            fields.u32()?;
        }
        if flags & 2 != 0 {
            cycle.host = Some(text(fields.string()?));
        }
        self.changed_by(kind::CYCLE_START, body, 0);
        self.last_cycle = (number, cycle.clone());
        self.cycles.insert(number, cycle);
        Ok(body.len() - at.left())
    }

    /// The end of a cycle, which changes nothing that traces refer to.
    pub fn cycle_stop(&mut self, body: &[u8]) -> Result<usize, Fault> {
        let mut at = Cursor::new(body);
        at.u32()?;
        at.u32()?;
        at.parameters()?;
        Ok(body.len() - at.left())
    }

    /// An address of the global table.
    pub fn address(&mut self, body: &[u8]) -> Result<usize, Fault> {
        let [number, of, bytes @ ..] = body else { return Err("an address record of less than two bytes") };
        let address = address(*of, bytes).ok_or("an address record whose length does not fit its type")?;
        let number = usize::from(*number);
        if number >= ADDRESS_MODULUS {
            return Err("an address whose number is 255, which none has");
        }
        let mut missing = 0;
        if (self.addresses.len() + 1) % ADDRESS_MODULUS != number {
            if self.lost {
                missing = (number + ADDRESS_MODULUS - (self.addresses.len() + 1) % ADDRESS_MODULUS) % ADDRESS_MODULUS;
                (0..missing).for_each(|_| self.addresses.push(Address::NONE));
            } else if number == 1 {
                self.addresses = Table::default();
            } else {
                return Err("an address whose number is out of turn");
            }
        }
        self.changed_by(kind::ADDRESS, body, missing);
        (self.lost, self.added) = (false, self.added + 1);
        self.addresses.push(address);
        Ok(body.len())
    }

    /// The address with this number in the global table; 0 is none.
    pub fn global(&self, number: u32) -> Result<Address, Fault> {
        let Some(index) = (number as usize).checked_sub(1) else { return Ok(Address::NONE) };
        match self.addresses.get(index) {
            Some(address) if !address.is_none() => Ok(*address),
            _ => Err("an address that the file did not give before"),
        }
    }

    /// Gives a trace the monitor, and the numbers that people gave the list and the cycle that it refers to. If the
    /// file has not defined these, the trace stays without: the definition may have been in a damaged record.
    #[inline]
    pub fn name(&mut self, trace: &mut Trace, list: Option<u32>, cycle: Option<u32>) {
        if let Some(number) = list
            && self.last_list.0 != number
        {
            self.last_list = (number, self.lists.get(&number).cloned().unwrap_or_default());
        }
        if let Some(number) = cycle
            && self.last_cycle.0 != number
        {
            self.last_cycle = (number, self.cycles.get(&number).cloned().unwrap_or_default());
        }
        let list = list.map(|_| &self.last_list.1);
        let cycle = cycle.map(|_| &self.last_cycle.1);
        trace.list_id = list.map_or(0, |l| l.id);
        trace.cycle_id = cycle.map_or(0, |c| c.id);
        trace.set_monitor(list.and_then(|l| l.monitor.as_ref()).or(cycle.and_then(|c| c.host.as_ref())));
    }
}

/// The address of this type; [`Address::NONE`] if it is not an address of the network layer.
pub(super) fn address(kind: u8, bytes: &[u8]) -> Option<Address> {
    match (kind, bytes.len()) {
        (1, 4) => Some(Address::v4(*bytes.first_chunk()?)),
        (2, 16) => Some(Address::v6(*bytes.first_chunk()?)),
        (1 | 2, _) | (0, _) => None,
        _ => Some(Address::NONE),
    }
}

fn text(bytes: &[u8]) -> Arc<str> {
    Arc::from(String::from_utf8_lossy(bytes))
}
