//! The null cipher: TLS 1.3's messages and QUIC's packets in their lengths, without cryptography.
//!
//! Flights are as long as those of [`crate::tls`]; messages carry the transport parameters and are padded. A packet's
//! tag is as long as an AEAD's and holds a checksum, so that damage is found as decryption would find it. Headers are not
//! protected, but the sample that protection would need is kept room for. Everything is a function of the run's dice.

use haltere_transport::Role;

/// Length of a tag and of a header protection sample, bytes (RFC 9001 sections 5.3 and 5.4.2).
pub(crate) const TAG: usize = 16;
/// Lengths of messages as rustls writes them, without transport parameters; a test compares.
const CLIENT_HELLO: usize = 195;
const SERVER_HELLO: usize = 90;
const ENCRYPTED_EXTENSIONS: usize = 23;
/// Certificate, CertificateVerify, Finished.
const AUTHENTICATION: usize = 2900 + 72 + FINISHED;
/// A MAC by SHA-384, which goes with the cipher that rustls likes best.
const FINISHED: usize = 4 + 48;
/// Each of two session tickets.
const TICKET: usize = 89;

/// What a message is, in its first byte.
mod kind {
    pub const CLIENT_HELLO: u8 = 1;
    pub const SERVER_HELLO: u8 = 2;
    pub const TICKET: u8 = 4;
    pub const FLIGHT: u8 = 8;
    pub const FINISHED: u8 = 20;
}
/// Kind and length (RFC 8446 section 4), then the length of the transport parameters.
const HEAD: usize = 4 + 2;

/// Which keys the stack has from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Handshake,
    Data,
}

/// One end of the handshake.
pub(crate) struct Handshake {
    role: Role,
    own: Vec<u8>,
    peer: Option<Vec<u8>>,
    heard: Vec<u8>,
    /// Messages taken, and steps written.
    greeted: bool,
    served: bool,
    finished: bool,
    step: u8,
}

impl Handshake {
    /// An end with these transport parameters.
    pub fn new(role: Role, own: Vec<u8>) -> Handshake {
        Handshake { role, own, peer: None, heard: Vec::new(), greeted: false, served: false, finished: false, step: 0 }
    }

    /// The peer's transport parameters, once it has told them.
    pub fn peer(&self) -> Option<&[u8]> {
        self.peer.as_deref()
    }

    pub fn is_handshaking(&self) -> bool {
        match self.role {
            Role::Client => self.step < 2,
            Role::Server => !self.finished,
        }
    }

    pub fn is_client(&self) -> bool {
        self.role == Role::Client
    }

    /// Takes what came; true the first time that the peer is known.
    pub fn read(&mut self, bytes: &[u8]) -> Result<bool, &'static str> {
        self.heard.extend_from_slice(bytes);
        let knew = self.peer.is_some();
        while let Some(head) = self.heard.first_chunk::<HEAD>() {
            let len = 4 + usize::from(u16::from_be_bytes([head[2], head[3]]));
            let parameters = usize::from(u16::from_be_bytes([head[4], head[5]]));
            if len < HEAD + parameters {
                return Err("a message of the null handshake is malformed");
            }
            if self.heard.len() < len {
                break;
            }
            let kind = head[0];
            let message: Vec<u8> = self.heard.drain(..len).collect();
            let parameters = &message[HEAD..HEAD + parameters];
            match (self.role, kind) {
                (Role::Server, kind::CLIENT_HELLO) => {
                    self.greeted = true;
                    self.peer = Some(parameters.to_vec());
                }
                (Role::Client, kind::SERVER_HELLO) => self.greeted = true,
                (Role::Client, kind::FLIGHT) => {
                    self.served = true;
                    self.peer = Some(parameters.to_vec());
                }
                (Role::Server, kind::FINISHED) => self.finished = true,
                (Role::Client, kind::TICKET) => {}
                _ => return Err("a message of the null handshake is out of place"),
            }
        }
        Ok(!knew && self.peer.is_some())
    }

    /// Writes what is to be said now; returns the keys that are there afterwards, if they are new.
    pub fn write(&mut self, into: &mut Vec<u8>) -> Option<Level> {
        let none: &[u8] = &[];
        match (self.role, self.step) {
            (Role::Client, 0) if into.is_empty() && !self.greeted => {
                // Written once: the next call finds the step unchanged but the parameters taken.
                if let Some(own) = take(&mut self.own) {
                    message(into, kind::CLIENT_HELLO, CLIENT_HELLO + own.len(), &own);
                }
                None
            }
            (Role::Client, 0) if self.greeted => {
                self.step = 1;
                Some(Level::Handshake)
            }
            (Role::Client, 1) if self.served => {
                self.step = 2;
                message(into, kind::FINISHED, FINISHED, none);
                Some(Level::Data)
            }
            (Role::Server, 0) if self.greeted => {
                self.step = 1;
                message(into, kind::SERVER_HELLO, SERVER_HELLO, none);
                Some(Level::Handshake)
            }
            (Role::Server, 1) => {
                self.step = 2;
                let own = std::mem::take(&mut self.own);
                message(into, kind::FLIGHT, ENCRYPTED_EXTENSIONS + own.len() + AUTHENTICATION, &own);
                Some(Level::Data)
            }
            (Role::Server, 2) if self.finished => {
                self.step = 3;
                message(into, kind::TICKET, TICKET, none);
                message(into, kind::TICKET, TICKET, none);
                None
            }
            _ => None,
        }
    }
}

fn take(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    (!bytes.is_empty()).then(|| std::mem::take(bytes))
}

fn message(into: &mut Vec<u8>, kind: u8, len: usize, parameters: &[u8]) {
    let start = into.len();
    let len = len.max(HEAD + parameters.len());
    into.extend_from_slice(&[kind, 0]);
    into.extend_from_slice(&((len - 4) as u16).to_be_bytes());
    into.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
    into.extend_from_slice(parameters);
    into.resize(start + len, 0);
}

/// The tag of a packet. Any single change of header, payload or number changes it.
pub(crate) fn tag(number: u64, header: &[u8], payload: &[u8]) -> [u8; TAG] {
    let (a, b) = (sum(header, number), sum(payload, !number));
    let mut tag = [0; TAG];
    tag[..8].copy_from_slice(&a.to_le_bytes());
    tag[8..].copy_from_slice(&b.to_le_bytes());
    tag
}

fn sum(bytes: &[u8], start: u64) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut total = words.iter().fold(start, |s, w| s.wrapping_add(u64::from_le_bytes(*w)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    total = total.wrapping_add(u64::from_le_bytes(last));
    total.rotate_left(29) ^ (bytes.len() as u64)
}

/// Seals a packet in place: the last bytes of `packet` are room for the tag.
pub(crate) fn seal(number: u64, packet: &mut [u8], header: usize) {
    let (plain, room) = packet.split_at_mut(packet.len() - TAG);
    let (header, payload) = plain.split_at(header);
    room.copy_from_slice(&tag(number, header, payload));
}

/// Length of the payload of a sealed packet without its tag, if the tag is right.
pub(crate) fn open(number: u64, header: &[u8], sealed: &[u8]) -> Option<usize> {
    let len = sealed.len().checked_sub(TAG)?;
    (sealed[len..] == tag(number, header, &sealed[..len])).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_is_found() {
        let mut packet = vec![7u8; 100];
        seal(5, &mut packet, 20);
        assert_eq!(open(5, &packet[..20], &packet[20..]), Some(64));
        assert_eq!(open(6, &packet[..20], &packet[20..]), None);
        for bit in 0..800 {
            let mut damaged = packet.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(5, &damaged[..20], &damaged[20..]), None, "bit {bit}");
        }
        assert_eq!(open(5, &packet[..20], &packet[20..30]), None);
    }

    #[test]
    fn a_handshake_gives_both_ends_the_others_parameters() {
        let (mut client, mut server) =
            (Handshake::new(Role::Client, vec![1; 60]), Handshake::new(Role::Server, vec![2; 80]));
        let mut wire = Vec::new();
        assert_eq!(client.write(&mut wire), None);
        assert_eq!((wire.len(), client.write(&mut Vec::new())), (CLIENT_HELLO + 60, None));
        // In two pieces, as a CRYPTO stream may come.
        assert_eq!((server.read(&wire[..9]), server.read(&wire[9..])), (Ok(false), Ok(true)));
        let mut wire = Vec::new();
        assert_eq!((server.write(&mut wire), server.write(&mut wire)), (Some(Level::Handshake), Some(Level::Data)));
        assert_eq!(client.read(&wire), Ok(true));
        let mut wire = Vec::new();
        assert_eq!((client.write(&mut wire), client.write(&mut wire)), (Some(Level::Handshake), Some(Level::Data)));
        assert!(!client.is_handshaking() && server.is_handshaking());
        assert_eq!(server.read(&wire), Ok(false));
        assert!(!server.is_handshaking());
        assert_eq!((client.peer(), server.peer()), (Some(&[2; 80][..]), Some(&[1; 60][..])));
        assert!(client.read(&[20, 0, 0, 2, 0, 0]).is_err());
    }
}
