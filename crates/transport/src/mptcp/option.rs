//! MPTCP's options on segments, and their sizes on the wire (RFC 8684 section 3). Options are padded to four bytes.

use crate::path::PathStatus;
use crate::tcp::segment::{self, Kind};
use haltere_net::PathId;

/// Bytes of a DSS option with a DATA_ACK of 64 bits (section 3.3: 4 + 8).
pub const DATA_ACK: u32 = 12;
/// Bytes of a DSS option with a mapping of 64 bits and a DATA_ACK, without a checksum (4 + 8 + 8 + 4 + 2, padded).
pub const DATA_OPTIONS: u32 = 28;
/// Bytes of MP_CAPABLE in a SYN, in a SYN-ACK, in the third segment, and in the first with data (section 3.1).
const CAPABLE: [u32; 4] = [4, 12, 20, 24];
/// Bytes of MP_JOIN in a SYN, in a SYN-ACK, and in the third segment (section 3.2).
const JOIN: [u32; 3] = [12, 16, 24];
/// Bytes of ADD_ADDR for IPv4 (section 3.4.1: 8 + 8 of HMAC), and of its echo.
const ADD_ADDRESS: [u32; 2] = [16, 8];
/// Bytes of REMOVE_ADDR with one identifier (section 3.4.2), and of MP_PRIO (section 3.3.8), padded.
const REMOVE_ADDRESS: u32 = 4;
const PRIORITY: u32 = 4;

/// The option with which a subflow is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// MP_CAPABLE: the first subflow of a connection.
    Capable,
    /// MP_JOIN: a further one, and the use that is wanted of it.
    Join(PathStatus),
}

/// The options of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// MP_CAPABLE or MP_JOIN.
    pub opening: Option<Opening>,
    /// DATA_ACK: the next position of the data that the receiver expects.
    pub data_ack: Option<u64>,
    /// The mapping: the position in the data of the segment's first byte.
    pub mapping: Option<u64>,
    /// DATA_FIN: the position at which the data ends.
    pub data_fin: Option<u64>,
    /// ADD_ADDR: the sender has another address.
    pub add_address: bool,
    /// The echo of an ADD_ADDR.
    pub echo: bool,
    /// REMOVE_ADDR: the subflow of an address that the sender has no more.
    pub remove: Option<PathId>,
    /// MP_PRIO: the use that is wanted of the subflow from now on.
    pub priority: Option<PathStatus>,
}

impl Options {
    /// Their bytes in a segment of this kind with `len` bytes of data.
    pub fn wire_len(&self, kind: Kind, len: u32) -> u32 {
        let opening = match (self.opening, kind) {
            (None, _) | (_, Kind::Reset) => 0,
            (Some(Opening::Capable), Kind::Syn) => CAPABLE[0],
            (Some(Opening::Capable), Kind::SynAck) => CAPABLE[1],
            (Some(Opening::Capable), Kind::Data) if len == 0 => CAPABLE[2],
            (Some(Opening::Capable), Kind::Data) => CAPABLE[3],
            (Some(Opening::Join(_)), Kind::Syn) => JOIN[0],
            (Some(Opening::Join(_)), Kind::SynAck) => JOIN[1],
            (Some(Opening::Join(_)), Kind::Data) => JOIN[2],
        };
        // MP_CAPABLE with data holds the mapping.
        let mapped = (self.mapping.is_some() && self.opening != Some(Opening::Capable)) || self.data_fin.is_some();
        let dss = match (mapped, self.data_ack) {
            (true, _) => DATA_OPTIONS,
            (false, Some(_)) => DATA_ACK,
            (false, None) => 0,
        };
        let when = |there: bool, bytes: u32| if there { bytes } else { 0 };
        opening
            + dss
            + when(self.add_address, ADD_ADDRESS[0])
            + when(self.echo, ADD_ADDRESS[1])
            + when(self.remove.is_some(), REMOVE_ADDRESS)
            + when(self.priority.is_some(), PRIORITY)
    }
}

/// A segment of a subflow.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The TCP segment.
    pub tcp: segment::Segment,
    /// MPTCP's options on it.
    pub options: Options,
    /// Which subflow it belongs to.
    pub subflow: PathId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_rfc_8684() {
        let capable = Options { opening: Some(Opening::Capable), ..Options::default() };
        let join = Options { opening: Some(Opening::Join(PathStatus::Backup)), ..Options::default() };
        let sizes = |o: Options| [Kind::Syn, Kind::SynAck, Kind::Data].map(|kind| o.wire_len(kind, 0));
        assert_eq!(sizes(capable), [4, 12, 20]);
        assert_eq!(sizes(join), [12, 16, 24]);
        let first = Options { mapping: Some(0), ..capable };
        assert_eq!(first.wire_len(Kind::Data, 100), 24, "2 bytes of length, no checksum: 22, padded");
        let ack = Options { data_ack: Some(7), ..Options::default() };
        assert_eq!(ack.wire_len(Kind::Data, 0), 12);
        let data = Options { mapping: Some(7), ..ack };
        assert_eq!(data.wire_len(Kind::Data, 1420), 28);
        assert_eq!(Options { data_fin: Some(9), ..ack }.wire_len(Kind::Data, 0), 28);
        assert_eq!(Options { data_fin: Some(9), ..data }.wire_len(Kind::Data, 10), 28, "the flag is in the mapping");
        assert_eq!(Options { add_address: true, ..ack }.wire_len(Kind::Data, 0), 28);
        assert_eq!(Options { echo: true, ..ack }.wire_len(Kind::Data, 0), 20);
    }
}
