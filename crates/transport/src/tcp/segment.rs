//! TCP segments as the simulator represents them: positions instead of bytes, exact sizes on the wire.

/// Bytes of the IPv4 and TCP headers without options.
pub const BASE_HEADER: u32 = 40;
/// Bytes of the timestamp option, padded.
pub const TIMESTAMP_OPTION: u32 = 12;
/// Bytes of all options of a SYN: MSS, SACK permitted, timestamps, window scale.
pub const SYN_OPTIONS: u32 = 20;
/// Bytes of a SYN's options with a Fast Open cookie of 8 bytes (RFC 7413 section 4.1.1: 2 + 8), padded. Only a SYN with
/// data has a cookie.
pub const FAST_OPEN_OPTIONS: u32 = 32;
/// The largest size of all options (RFC 9293 section 3.1).
pub const MAX_OPTIONS: u32 = 40;
/// The number of SACK blocks that fit beside timestamps.
pub const MAX_SACK_BLOCKS: usize = 3;

/// The kind of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Opens a connection.
    Syn,
    /// Answers a SYN.
    SynAck,
    /// Carries an acknowledgement, and data if `len` is not 0.
    Data,
    /// Refuses or aborts a connection.
    Reset,
}

/// A block of received data, as an offset from the acknowledgement number (negative for a D-SACK of old data).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackBlock {
    start: i32,
    end: i32,
}

impl SackBlock {
    /// The block `[start, end)` beside the acknowledgement number `ack`.
    pub fn new(start: u64, end: u64, ack: u64) -> SackBlock {
        let offset = |x: u64| (x.wrapping_sub(ack) as i64).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
        SackBlock { start: offset(start), end: offset(end) }
    }
    /// The block's positions, computed from the segment's acknowledgement number.
    pub fn range(self, ack: u64) -> (u64, u64) {
        (ack.saturating_add_signed(i64::from(self.start)), ack.saturating_add_signed(i64::from(self.end)))
    }
}

/// A TCP segment. Positions are offsets in the byte stream that never wrap. The FIN takes one position after the data.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Its kind.
    pub kind: Kind,
    /// Whether it ends the stream (FIN).
    pub fin: bool,
    /// Position of its first byte.
    pub seq: u64,
    /// Data bytes.
    pub len: u32,
    /// The next position expected from the peer.
    pub ack: u64,
    /// Receive window, bytes from `ack` on (scaling applied).
    pub window: u64,
    /// Timestamp, ms of the sender's clock; 0 if there is none.
    pub timestamp: u32,
    /// The echo of the peer's timestamp; 0 if there is none.
    pub echo: u32,
    /// Number of SACK blocks.
    pub sacks: u8,
    /// Whether it echoes marks (ECE; RFC 3168 section 6.1). A SYN with this and `cwr` asks for ECN; a SYN-ACK with this
    /// alone grants it.
    pub ece: bool,
    /// Whether the sender has reduced its window (CWR).
    pub cwr: bool,
    /// With `cwr` and `ece`, the count of accurate ECN ([`Segment::ace`]; AE, RFC 9768).
    pub ae: bool,
    /// Whether it ends the written data, or a group of segments sent together (PSH).
    pub push: bool,
    /// SACK blocks.
    pub sack: [SackBlock; MAX_SACK_BLOCKS],
    /// Whether its checksum is wrong.
    pub damaged: bool,
}

impl Segment {
    /// A segment without data, acknowledgement, options and flags, whose first byte would be at `seq`.
    #[inline]
    pub fn bare(kind: Kind, seq: u64) -> Segment {
        Segment {
            kind,
            fin: false,
            seq,
            len: 0,
            ack: 0,
            window: 0,
            timestamp: 0,
            echo: 0,
            sacks: 0,
            ece: false,
            cwr: false,
            ae: false,
            push: false,
            sack: Default::default(),
            damaged: false,
        }
    }

    /// The SACK blocks as positions.
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sack.iter().take(usize::from(self.sacks)).map(|b| b.range(self.ack))
    }

    /// Reports as many of these blocks as fit. `ack` must be set before.
    pub fn set_sack(&mut self, blocks: impl Iterator<Item = (u64, u64)>) {
        self.sacks = 0;
        for (slot, (start, end)) in self.sack.iter_mut().zip(blocks) {
            *slot = SackBlock::new(start, end, self.ack);
            self.sacks += 1;
        }
    }

    /// The position after the last byte, FIN included.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.fin)
    }

    /// Length on the wire, IP header included.
    pub fn wire_len(&self) -> u32 {
        let options = match self.kind {
            Kind::Syn if self.len > 0 => FAST_OPEN_OPTIONS,
            Kind::Syn | Kind::SynAck => SYN_OPTIONS,
            Kind::Reset => 0,
            Kind::Data => {
                let stamps = if self.timestamp != 0 { TIMESTAMP_OPTION } else { 0 };
                let sack = if self.sacks > 0 { 4 + 8 * u32::from(self.sacks) } else { 0 };
                stamps + sack
            }
        };
        BASE_HEADER + options + self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_survive_the_round_trip_on_either_side_of_the_ack() {
        for (s, e) in [(5000u64, 6448), (0, 1448), (4000, 4001)] {
            assert_eq!(SackBlock::new(s, e, 4500).range(4500), (s, e));
        }
    }

    #[test]
    fn sizes_are_those_on_the_wire() {
        let mut s = Segment { len: 1448, timestamp: 1, echo: 1, ..Segment::bare(Kind::Data, 0) };
        assert_eq!(s.wire_len(), 1500);
        s.len = 0;
        assert_eq!(s.wire_len(), 52);
        s.sacks = 3;
        assert_eq!(s.wire_len(), 80);
        s.kind = Kind::Syn;
        assert_eq!(s.wire_len(), 60);
        s.len = 100;
        assert_eq!(s.wire_len(), 172);
    }
}
