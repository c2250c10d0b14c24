//! Packets and datagrams (RFC 9000 sections 12 and 17) as typed values with their exact sizes.

use super::few::Few;
use super::frame::Frame;
use super::sizes::{self, HANDSHAKE_HEADER, INITIAL_HEADER, SHORT_HEADER, TAG};

/// Packet number space (RFC 9000 section 12.3), which with the [`Form`] tells the packet's type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SpaceId {
    /// Initial packets.
    Initial = 0,
    /// Handshake packets.
    Handshake = 1,
    /// Application data: 0-RTT and 1-RTT packets.
    Data = 2,
}

impl SpaceId {
    /// All, in the order in which they are used.
    pub const ALL: [SpaceId; 3] = [SpaceId::Initial, SpaceId::Handshake, SpaceId::Data];

    /// Bytes of a packet in this space beside its packet number and frames: header and AEAD tag.
    #[inline]
    pub const fn overhead(self) -> u32 {
        TAG + match self {
            SpaceId::Initial => INITIAL_HEADER,
            SpaceId::Handshake => HANDSHAKE_HEADER,
            SpaceId::Data => SHORT_HEADER,
        }
    }

    /// Bytes that its headers have beyond those if connection identifiers have 20 bytes: a long header has two.
    #[inline]
    pub(super) const fn longer(self) -> u32 {
        match self {
            SpaceId::Initial | SpaceId::Handshake => 2 * sizes::LONGER,
            SpaceId::Data => sizes::LONGER,
        }
    }
}

/// The form of a packet within its packet number space.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Form {
    /// An Initial, Handshake or 1-RTT packet, by its space.
    #[default]
    Plain,
    /// A 0-RTT packet (RFC 9000 section 17.2.3), in the space of application data.
    ZeroRtt,
    /// An Initial packet of a version that the server does not have.
    UnknownVersion,
    /// A Version Negotiation packet (section 17.2.1), which has neither number nor frames.
    VersionNegotiation,
    /// A Retry packet (section 17.2.5), which has neither number nor frames.
    Retry,
    /// A 1-RTT packet whose header has the number of its path (see [`super::Design::Conext2017`]).
    Numbered,
    /// A packet as [`Form::Plain`] whose connection identifiers have 20 bytes (see [`super::Config::long_ids`]).
    LongIds,
    /// A packet that does not authenticate (RFC 9001 section 5.3): damaged on its way or forged.
    Forged,
}

/// Bytes that a packet number is encoded in (RFC 9000 section 17.1 and appendix A.2): enough for twice the distance to
/// the largest one known to be acknowledged.
#[inline]
pub fn number_len(number: u64, largest_acked: Option<u64>) -> u32 {
    let unacked = largest_acked.map_or(number + 1, |acked| number.saturating_sub(acked)).max(1);
    // One bit more than the distance needs, rounded up to whole bytes.
    let bits = (64 - (unacked - 1).leading_zeros()) + 1;
    bits.div_ceil(8).clamp(1, 4)
}

/// Bytes of a token in an Initial packet beyond those of an empty one, which the header counts. A length of less than 64
/// takes as many bytes as the length 0.
#[inline]
pub(super) const fn token_bytes(token: u8) -> u32 {
    token as u32 + if token < 64 { 0 } else { 1 }
}

/// A QUIC packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuicPacket {
    /// Its packet number space.
    pub space: SpaceId,
    /// Its form within the space.
    pub form: Form,
    /// Bytes of the token in an Initial packet, 0 for none.
    pub token: u8,
    /// Bytes its number is encoded in.
    pub number_len: u8,
    /// Bytes of the whole packet, header and tag included.
    pub size: u32,
    /// Its number.
    pub number: u64,
    /// Its frames.
    pub frames: Few<Frame>,
}

impl QuicPacket {
    /// The size computed from the parts; what [`size`](QuicPacket::size) must be.
    pub fn encoded_len(&self) -> u32 {
        let body = match self.form {
            Form::Retry => return sizes::RETRY + u32::from(self.token),
            Form::VersionNegotiation => return sizes::VERSION_NEGOTIATION,
            // The header is long.
            Form::ZeroRtt => TAG + HANDSHAKE_HEADER,
            Form::Numbered => self.space.overhead() + 1,
            Form::LongIds => self.space.overhead() + self.space.longer() + token_bytes(self.token),
            _ => self.space.overhead() + token_bytes(self.token),
        };
        body + u32::from(self.number_len) + self.frames.iter().map(Frame::size).sum::<u32>()
    }

    /// Whether the peer must acknowledge it.
    pub fn ack_eliciting(&self) -> bool {
        self.frames.iter().any(Frame::ack_eliciting)
    }
}

/// The payload of a UDP datagram: one packet or several coalesced ones (RFC 9000 section 12.2).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Datagram {
    /// The packets in order.
    pub packets: Few<QuicPacket>,
}

impl Datagram {
    /// Whether the packets have the sizes that their parts have.
    pub(super) fn is_sized(&self) -> bool {
        self.packets.iter().all(|packet| packet.size == packet.encoded_len())
    }

    /// Bytes of UDP payload.
    pub fn size(&self) -> u32 {
        self.packets.iter().map(|p| p.size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_numbers_are_as_long_as_appendix_a_2_has_them() {
        // The RFC's own examples.
        assert_eq!(number_len(0xac5c02, Some(0xabe8b3)), 2);
        assert_eq!(number_len(0xace8fe, Some(0xabe8b3)), 3);
        assert_eq!(number_len(0, None), 1);
        assert_eq!(number_len(127, None), 1);
        assert_eq!(number_len(128, None), 2);
        assert_eq!(number_len(1000, Some(900)), 1);
        assert_eq!(number_len(u64::MAX >> 2, None), 4);
    }
}
