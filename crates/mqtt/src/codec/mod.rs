//! Packets as bytes. The bodies are encoded and decoded by the crate `mqtt-proto`; framing, the choice of the version and
//! the checks that it leaves out are here.

mod v3;
mod v5;

use crate::packet::{Packet, Version, Violation, reason};
use mqtt_proto::PollHeader;

/// The largest packet that a decoder takes if nothing else is said, bytes.
pub const LARGEST: usize = 1 << 20;
/// The most bytes that an empty buffer keeps for later.
const KEPT: usize = 1024;

/// The type of CONNECT in the first four bits of a packet.
const CONNECT: u8 = 1;
/// Where the protocol level stands in the body of CONNECT.
const LEVEL: usize = 6;
/// The highest bit of the protocol level, by which a bridge of MQTT 3.1.1 says what it is, as mosquitto's do.
const BRIDGE: u8 = 0x80;
/// The protocol level of a bridge of MQTT 3.1.1.
const BRIDGE_OF_V311: u8 = 4 | BRIDGE;

/// Appends a packet to `out`.
///
/// # Errors
/// If the packet cannot be expressed: a string of more than 65 535 bytes, a topic with wildcards, or more than 256 MB.
pub fn encode(version: Version, packet: &Packet, out: &mut Vec<u8>) -> Result<(), Violation> {
    match version {
        Version::V311 => v3::encode(packet, out),
        Version::V5 => v5::encode(packet, out),
    }
}

/// The bytes of one stream on their way to packets.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// The version; `None` until CONNECT tells it.
    version: Option<Version>,
    largest: usize,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were decoded.
    read: usize,
}

impl Decoder {
    /// A decoder for a version, or for that of the CONNECT that must come first. Packets of more than `largest` bytes are
    /// refused.
    pub fn new(version: Option<Version>, largest: usize) -> Decoder {
        Decoder { version, largest, buffer: Vec::new(), read: 0 }
    }

    /// Takes bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.read == self.buffer.len() {
            self.buffer.clear();
            self.read = 0;
            self.buffer.shrink_to(KEPT);
        } else if self.read > self.buffer.len() / 2 {
            // Less is moved than was decoded.
            self.buffer.drain(..self.read);
            self.read = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Sets the version, on a stream that has no CONNECT of its own.
    pub fn set_version(&mut self, version: Version) {
        self.version = Some(version);
    }

    /// The version, once it is known.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// Bytes that wait for the rest of their packet.
    pub fn waiting(&self) -> usize {
        self.buffer.len() - self.read
    }

    /// The next packet, once all of its bytes are there.
    ///
    /// # Errors
    /// If the bytes are no packet. The decoder is of no use after that.
    pub fn next_packet(&mut self) -> Result<Option<Packet>, Violation> {
        let bytes = &self.buffer[self.read..];
        let Some((header, length)) = frame(bytes)? else { return Ok(None) };
        if header + length > self.largest {
            let what = format!("a packet of {} bytes: at most {} are taken", header + length, self.largest);
            return Err(Violation::new(reason::PACKET_TOO_LARGE, what));
        }
        let (first, is_connect) = (bytes[0], bytes[0] >> 4 == CONNECT);
        let Some(body) = bytes.get(header..header + length) else { return Ok(None) };
        let version = match (self.version, is_connect) {
            (Some(version), _) => version,
            // [MQTT-3.1.0-1]
            (None, false) => return Err(Violation::protocol("the first packet is not CONNECT")),
            (None, true) => version_of(body)?,
        };
        if is_connect {
            check_connect(version, body)?;
        }
        let packet = match version {
            Version::V311 => v3::decode(first, body)?,
            Version::V5 => v5::decode(first, body)?,
        };
        if let Packet::Publish(publish) = &packet
            && publish.dup
            && publish.id.is_none()
        {
            // [MQTT-3.3.1-2]
            return Err(malformed("PUBLISH of QoS 0 with DUP"));
        }
        self.version = Some(version);
        self.read += header + length;
        Ok(Some(packet))
    }
}

/// Decodes a packet of `mqtt-proto`, whose header `H` says of which version; `wrong` says what its errors mean.
fn raw<H: PollHeader>(first: u8, body: &[u8], wrong: fn(H::Error) -> Violation) -> Result<H::Packet, Violation> {
    let length = u32::try_from(body.len()).map_err(|_| malformed("too long"))?;
    let header = H::new_with(first, length, length).map_err(wrong)?;
    let mut offset = 0;
    let packet = match header.build_empty_packet() {
        Some(empty) => empty,
        None => header.decode_buffer(body, &mut offset).map_err(wrong)?,
    };
    match body.len() - offset {
        0 => Ok(packet),
        more => Err(malformed(format!("{more} bytes too many in a packet"))),
    }
}

fn malformed(what: impl Into<String>) -> Violation {
    Violation::new(reason::MALFORMED_PACKET, what)
}

/// Length of the fixed header, and of what follows it, once the header is complete (section 2.1).
fn frame(bytes: &[u8]) -> Result<Option<(usize, usize)>, Violation> {
    let mut length = 0;
    for (i, &byte) in bytes.iter().skip(1).take(4).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            // [MQTT-1.5.5-1]: the fewest bytes.
            return match byte == 0 && i > 0 {
                true => Err(malformed("a length that is longer than need be")),
                false => Ok(Some((i + 2, length))),
            };
        }
    }
    if bytes.len() > 4 { Err(malformed("a length of more than four bytes")) } else { Ok(None) }
}

/// The version of a CONNECT.
fn version_of(body: &[u8]) -> Result<Version, Violation> {
    match body {
        [0, 4, b'M', b'Q', b'T', b'T', 4 | BRIDGE_OF_V311, ..] => Ok(Version::V311),
        [0, 4, b'M', b'Q', b'T', b'T', 5, ..] => Ok(Version::V5),
        // [MQTT-3.1.2-2]
        [0, 4, b'M', b'Q', b'T', b'T', other, ..] => {
            let what = format!("protocol level {other}: 4 (MQTT 3.1.1) and 5 are spoken");
            Err(Violation::new(reason::UNSUPPORTED_VERSION, what))
        }
        // [MQTT-3.1.2-1]
        _ => Err(malformed("CONNECT of another protocol than MQTT")),
    }
}

/// The combinations of flags that are not allowed (section 3.1.2).
fn check_connect(version: Version, body: &[u8]) -> Result<(), Violation> {
    let Some(&flags) = body.get(7) else { return Err(malformed("CONNECT ends too early")) };
    let [will, retain, password, name] = [0x04, 0x20, 0x40, 0x80].map(|bit| flags & bit != 0);
    if retain && !will {
        // [MQTT-3.1.2-13] (3.1.1: [MQTT-3.1.2-15])
        return Err(malformed("CONNECT with Will Retain and without a will"));
    }
    if version == Version::V311 && password && !name {
        // 3.1.1: [MQTT-3.1.2-22]
        return Err(malformed("CONNECT with a password and without a user name"));
    }
    Ok(())
}

/// Whether a string may be in a packet `[MQTT-1.5.4-2]`.
fn check_text(text: &str) -> Result<(), Violation> {
    match text.contains('\0') {
        true => Err(malformed("a string with the character U+0000")),
        false => Ok(()),
    }
}

/// Whether a string that is sent is short enough for its length field.
fn check_length(text: &str) -> Result<(), Violation> {
    match text.len() > usize::from(u16::MAX) {
        true => Err(malformed(format!("a string of {} bytes: at most 65535 fit", text.len()))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arrivals of a busy stream end in the middle of packets, so that something always waits.
    #[test]
    fn what_was_decoded_is_not_kept() {
        let mut decoder = Decoder::new(Some(Version::V5), LARGEST);
        let pingreq = [0xC0, 0];
        decoder.push(&pingreq[..1]);
        for _ in 0..10_000 {
            decoder.push(&[pingreq[1], pingreq[0]]);
            assert_eq!(decoder.next_packet(), Ok(Some(Packet::Pingreq)));
            assert_eq!((decoder.next_packet(), decoder.waiting()), (Ok(None), 1));
        }
        assert!(decoder.buffer.len() < 10, "{}", decoder.buffer.len());
    }
}
