//! scamper's warts: the format of CAIDA's Ark since 2007. Sources: the manual page `warts(5)` of
//! scamper and, where it is silent, real files.
//!
//! A file is a row of records: magic 0x1205, type (16 bits), length of what follows (32 bits), all big-endian. Files
//! may be joined with `cat`; the identifiers of lists, cycles and addresses begin again then.

mod decode;
mod multipath;
mod state;
mod write;

pub use write::{Addresses, Writer};

use crate::Trace;
use crate::framed::{Fault, Format, Gave, Meant, Records};
use crate::pieces::Stateful;
pub(crate) use state::State;

pub(crate) const MAGIC: u16 = 0x1205;

pub(crate) mod kind {
    pub const LIST: u16 = 1;
    pub const CYCLE_START: u16 = 2;
    pub const CYCLE_DEFINITION: u16 = 3;
    pub const CYCLE_STOP: u16 = 4;
    pub const ADDRESS: u16 = 5;
    pub const TRACE: u16 = 6;
    pub const TRACELB: u16 = 8;
}

/// Names of the types, in scamper's words.
const NAMES: [&str; 17] = [
    "other",
    "list",
    "cycle-start",
    "cycle-definition",
    "cycle-stop",
    "address",
    "trace",
    "ping",
    "tracelb",
    "dealias",
    "neighbourdisc",
    "tbit",
    "sting",
    "sniff",
    "host",
    "http",
    "udpprobe",
];

/// How far beyond the last defined type a type may lie for a header that is found after damage to be accepted.
const PLAUSIBLE_TYPES: u16 = 64;

fn kind_of(header: &[u8]) -> u16 {
    u16::from_be_bytes([header[2], header[3]])
}

impl Format for State {
    const MAGIC: [u8; 2] = MAGIC.to_be_bytes();
    const HEADER: usize = 8;
    const NOTHING: Fault = "no record begins here (0x1205 is missing)";

    fn body(header: &[u8]) -> usize {
        u32::from_be_bytes([header[4], header[5], header[6], header[7]]) as usize
    }

    fn plausible(header: &[u8]) -> bool {
        (1..=PLAUSIBLE_TYPES).contains(&kind_of(header))
    }

    #[inline]
    fn record(&mut self, header: &[u8], body: &[u8], trace: &mut Trace) -> Result<Meant, Fault> {
        let kind = kind_of(header);
        let mut gave = Gave::Nothing;
        let bytes = match kind {
            kind::TRACE => {
                gave = Gave::Trace;
                decode::trace(body, trace, self)
            }
            kind::TRACELB => multipath::multipath(body, self).map(|(bytes, found)| {
                gave = Gave::Multipath(Box::new(found));
                bytes
            }),
            kind::LIST => self.list(body),
            kind::CYCLE_START | kind::CYCLE_DEFINITION => self.cycle(body),
            kind::CYCLE_STOP => self.cycle_stop(body),
            kind::ADDRESS => self.address(body),
            0 => Err("no record has type 0"),
            // Of other records nothing is known but the length.
            _ => Ok(0),
        }?;
        let name = NAMES.get(usize::from(kind)).unwrap_or(&NAMES[0]);
        Ok(Meant { bytes, name, gave })
    }

    fn lost(&mut self) {
        self.lost_record();
    }
}

impl Stateful for State {
    fn note(&mut self, header: &[u8], body: &[u8]) {
        let read = match kind_of(header) {
            kind::LIST => self.list(body),
            kind::CYCLE_START | kind::CYCLE_DEFINITION => self.cycle(body),
            kind::ADDRESS => self.address(body),
            _ => Ok(0),
        };
        if read.is_err() {
            self.lost_record();
        }
    }

    fn behind(now: &State, start: &State, end: &State) -> Option<State> {
        State::behind(now, start, end)
    }
}

/// Whether what was read so far begins as a warts file does.
pub(crate) fn detect(start: &[u8]) -> bool {
    start.starts_with(&State::MAGIC)
}

/// A reader of warts from any stream, in memory that depends on the longest record alone.
pub type Reader<R> = Records<R, State>;
