//! What records of a warts file refer to: lists, cycles and (in old files) addresses.

use crate::cursor::Cursor;
use crate::framed::Fault;
use crate::{Address, Trace};
use std::collections::HashMap;
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

/// The tables of the file that is being read. When files were joined with `cat`, each has its own.
#[derive(Default)]
pub(crate) struct State {
    lists: HashMap<u32, List>,
    cycles: HashMap<u32, Cycle>,
    last_list: (u32, List),
    last_cycle: (u32, Cycle),
    /// The deprecated global table of addresses: their numbers count from 1.
    addresses: Vec<Address>,
    /// Whether a record was lost since the last address. If so, a number out of order is a gap, not the start of a
    /// file.
    lost: bool,
    /// The addresses of the record that is being read.
    pub table: Vec<Address>,
}

/// Modulus of the numbers in address records. `warts(5)` says the low 8 bits, but files have the remainder modulo 255.
pub(super) const ADDRESS_MODULUS: usize = 255;

impl State {
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
        if self.lists.contains_key(&number) {
            self.lists.clear();
            self.cycles.clear();
            self.addresses.clear();
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
        let [number, kind, bytes @ ..] = body else { return Err("an address record of less than two bytes") };
        let address = address(*kind, bytes).ok_or("an address record whose length does not fit its type")?;
        let number = usize::from(*number);
        if number >= ADDRESS_MODULUS {
            return Err("an address whose number is 255, which none has");
        }
        if (self.addresses.len() + 1) % ADDRESS_MODULUS != number {
            if self.lost {
                let missing =
                    (number + ADDRESS_MODULUS - (self.addresses.len() + 1) % ADDRESS_MODULUS) % ADDRESS_MODULUS;
                self.addresses.resize(self.addresses.len() + missing, Address::NONE);
            } else if number == 1 {
                self.addresses.clear();
            } else {
                return Err("an address whose number is out of turn");
            }
        }
        self.lost = false;
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
