//! The null cipher: TLS 1.3's messages and QUIC's packets in their lengths, without cryptography.
//!
//! Flights are as long as those of [`crate::tls`]; messages carry the transport parameters and are padded. A packet's
//! tag is as long as an AEAD's and holds a checksum, so that damage is found as decryption would find it. Headers are
//! not protected, but there is room for the sample that protection would need. Everything is a
//! function of the run's random numbers.

use crate::memory::{Memory, Parameters};
use haltere_transport::Role;
use haltere_transport::quic::Session;

/// Length of a tag and of a header protection sample, bytes (RFC 9001 sections 5.3 and 5.4.2).
pub(crate) const TAG: usize = 16;
/// Lengths of messages as rustls writes them, without transport parameters; a test compares.
const CLIENT_HELLO: usize = 195;
const SERVER_HELLO: usize = 90;
const ENCRYPTED_EXTENSIONS: usize = 19;
/// The answer to server_name, which is not given in a session that is resumed (RFC 6066 section 3).
const SERVER_NAME: usize = 4;
/// Certificate, CertificateVerify, Finished.
const AUTHENTICATION: usize = 2900 + 72 + FINISHED;
/// A MAC by SHA-384, which belongs to the cipher that rustls prefers.
const FINISHED: usize = 4 + 48;
/// Each of two session tickets.
const TICKET: usize = 89;
/// Bytes that a returned ticket adds to a ClientHello (RFC 8446 section 4.2.11): extension 4, identities 2 + (2 + 32 +
/// age 4), binders 2 + (1 + 48). rustls's ticket is the number of a session that the server keeps, for only such may
/// have early data.
const PRE_SHARED_KEY: usize = 4 + 2 + (2 + 32 + 4) + 2 + (1 + 48);
/// Bytes that the choice of the ticket adds to a ServerHello: extension 4, number 2.
const SELECTED_IDENTITY: usize = 4 + 2;
/// The early_data extension in ClientHello and EncryptedExtensions (section 4.2.10).
const EARLY_DATA: usize = 4;

/// The kind of a message, in the lower bits of its first byte; the upper two hold the kind of session.
mod kind {
    use super::Session;

    /// How far the two upper bits are shifted.
    const LEVEL: u8 = 6;
    pub fn with(kind: u8, session: Session) -> u8 {
        kind | (session as u8) << LEVEL
    }
    pub fn apart(byte: u8) -> (u8, Session) {
        let session = match byte >> LEVEL {
            0 => Session::New,
            1 => Session::Resumed,
            _ => Session::EarlyData,
        };
        (byte & ((1 << LEVEL) - 1), session)
    }

    pub const CLIENT_HELLO: u8 = 1;
    pub const SERVER_HELLO: u8 = 2;
    pub const TICKET: u8 = 4;
    pub const FLIGHT: u8 = 8;
    pub const FINISHED: u8 = 20;
}
/// Kind and length (RFC 8446 section 4), then the length of the transport parameters.
const HEAD: usize = 4 + 2;

/// The keys that the stack has from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Handshake,
    Data,
}

/// An end's knowledge from an earlier connection.
#[derive(Clone, Default, Debug)]
pub(crate) struct Resumption {
    /// The kind of session that a client asks for and a server grants.
    pub session: Session,
    /// The server's transport parameters, as the client keeps them with a ticket.
    pub parameters: Parameters,
}

impl Resumption {
    /// The knowledge in `memory` for a handshake with this kind of session; without a memory there was no earlier
    /// connection.
    pub fn of(memory: Option<&Memory>, session: Session) -> Resumption {
        memory.map(|m| Resumption { session, parameters: m.parameters.clone() }).unwrap_or_default()
    }
}

/// One end of the handshake.
pub(crate) struct Handshake {
    role: Role,
    resumption: Resumption,
    /// The kind of session that is asked for; once the server has spoken, the kind that it grants.
    session: Session,
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
    pub fn new(role: Role, own: Vec<u8>, resumption: Resumption) -> Handshake {
        let known = role == Role::Server || resumption.parameters.get().is_some();
        let session = if known { resumption.session } else { Session::New };
        let (peer, heard, step) = (None, Vec::new(), 0);
        Handshake { role, resumption, session, own, peer, heard, greeted: false, served: false, finished: false, step }
    }

    /// The peer's transport parameters, once they were received; before that, those that a client with early keys
    /// remembers.
    pub fn peer(&self) -> Option<Vec<u8>> {
        let remembered = || if self.is_client() && self.early() { self.resumption.parameters.get() } else { None };
        self.peer.clone().or_else(remembered)
    }

    /// Whether there are keys for 0-RTT packets. A client's are there from the start, until the server refuses them.
    pub fn early(&self) -> bool {
        self.session == Session::EarlyData && (self.is_client() || self.greeted)
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
            let (kind, session) = kind::apart(head[0]);
            let message: Vec<u8> = self.heard.drain(..len).collect();
            let parameters = &message[HEAD..HEAD + parameters];
            match (self.role, kind) {
                (Role::Server, kind::CLIENT_HELLO) => {
                    self.greeted = true;
                    self.peer = Some(parameters.to_vec());
                    // What the client has not asked for is not granted.
                    self.session = if (session as u8) < self.session as u8 { session } else { self.session };
                }
                (Role::Client, kind::SERVER_HELLO) => self.greeted = true,
                (Role::Client, kind::FLIGHT) => {
                    self.served = true;
                    self.session = session;
                    self.peer = Some(parameters.to_vec());
                }
                (Role::Server, kind::FINISHED) => self.finished = true,
                (Role::Client, kind::TICKET) => self.resumption.parameters.keep(self.peer.clone()),
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
                    let asked = self.of_session(PRE_SHARED_KEY, PRE_SHARED_KEY + EARLY_DATA);
                    let kind = kind::with(kind::CLIENT_HELLO, self.session);
                    message(into, kind, CLIENT_HELLO + asked + own.len(), &own);
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
                let granted = self.of_session(SELECTED_IDENTITY, SELECTED_IDENTITY);
                message(into, kind::SERVER_HELLO, SERVER_HELLO + granted, none);
                Some(Level::Handshake)
            }
            (Role::Server, 1) => {
                self.step = 2;
                let own = std::mem::take(&mut self.own);
                let rest = match self.session {
                    Session::New => SERVER_NAME + AUTHENTICATION,
                    Session::Resumed => FINISHED,
                    Session::EarlyData => EARLY_DATA + FINISHED,
                };
                let len = ENCRYPTED_EXTENSIONS + own.len() + rest;
                message(into, kind::with(kind::FLIGHT, self.session), len, &own);
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

    /// Bytes that a message has more in a session that is resumed, and in one with early data.
    fn of_session(&self, resumed: usize, early: usize) -> usize {
        match self.session {
            Session::New => 0,
            Session::Resumed => resumed,
            Session::EarlyData => early,
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

/// The tag of a Retry packet, which depends on the id that the client addressed its first packet to (RFC 9001 section
/// 5.8): so that a Retry packet for another attempt is recognised.
pub(crate) fn retry_tag(first_id: &[u8], packet: &[u8]) -> [u8; TAG] {
    tag(first_id.len() as u64, first_id, packet)
}

/// Whether a Retry packet, its tag at the end, is for this attempt.
pub(crate) fn is_valid_retry(first_id: &[u8], header: &[u8], payload: &[u8]) -> bool {
    let whole = [header, payload].concat();
    whole.split_last_chunk::<TAG>().is_some_and(|(packet, tag)| *tag == retry_tag(first_id, packet))
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
    use crate::clock::Calendar;
    use crate::tls::{NAME, Pair};
    use rustls::quic::{ClientConnection, KeyChange, ServerConnection, Version};
    use std::sync::Arc;

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
    fn a_server_that_remembers_nothing_grants_nothing() {
        let resumption = Resumption { session: Session::EarlyData, ..Resumption::default() };
        resumption.parameters.keep(Some(vec![3; 70]));
        let mut client = Handshake::new(Role::Client, vec![1; 60], resumption);
        let mut server = Handshake::new(Role::Server, vec![2; 80], Resumption::default());
        let mut wire = Vec::new();
        client.write(&mut wire);
        assert_eq!((client.early(), client.peer()), (true, Some(vec![3; 70])));
        server.read(&wire).unwrap();
        let mut wire = Vec::new();
        while server.write(&mut wire).is_some() {}
        client.read(&wire).unwrap();
        assert_eq!((client.early(), server.early(), client.peer()), (false, false, Some(vec![2; 80])));
    }

    #[test]
    fn a_handshake_gives_both_ends_the_others_parameters() {
        let (mut client, mut server) = (
            Handshake::new(Role::Client, vec![1; 60], Resumption::default()),
            Handshake::new(Role::Server, vec![2; 80], Resumption::default()),
        );
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
        assert_eq!((client.peer(), server.peer()), (Some(vec![2; 80]), Some(vec![1; 60])));
        assert!(client.read(&[20, 0, 0, 2, 0, 0]).is_err());
    }

    /// Lengths of TLS's messages in turn: client's hello; server's hello, flight; client's end; server's tickets.
    fn of_tls(pair: &Pair, session: Session, client_parameters: usize, server_parameters: usize) -> [usize; 5] {
        let calendar = Calendar::default();
        let (client, server) = (Arc::new(pair.client(&calendar, session)), pair.server(&calendar));
        let name = NAME.try_into().unwrap();
        let mut client = ClientConnection::new(client, Version::V1, name, vec![0; client_parameters]).unwrap();
        let mut server = ServerConnection::new(Arc::new(server), Version::V1, vec![0; server_parameters]).unwrap();
        let (mut hello, mut answer, mut flight, mut end, mut tickets) = (vec![], vec![], vec![], vec![], vec![]);
        assert!(client.write_hs(&mut hello).is_none());
        assert_eq!(client.zero_rtt_keys().is_some(), session == Session::EarlyData);
        server.read_hs(&hello).unwrap();
        assert_eq!(server.zero_rtt_keys().is_some(), session == Session::EarlyData);
        assert!(matches!(server.write_hs(&mut answer), Some(KeyChange::Handshake { .. })));
        assert!(matches!(server.write_hs(&mut flight), Some(KeyChange::OneRtt { .. })));
        client.read_hs(&answer).unwrap();
        assert!(client.write_hs(&mut vec![]).is_some());
        client.read_hs(&flight).unwrap();
        assert!(client.write_hs(&mut end).is_some());
        server.read_hs(&end).unwrap();
        assert!(server.write_hs(&mut tickets).is_none());
        client.read_hs(&tickets).unwrap();
        [hello, answer, flight, end, tickets].map(|m| m.len())
    }

    fn of_null(resumption: &Resumption, client_parameters: usize, server_parameters: usize) -> [usize; 5] {
        let mut client = Handshake::new(Role::Client, vec![0; client_parameters], resumption.clone());
        let mut server = Handshake::new(Role::Server, vec![0; server_parameters], resumption.clone());
        let (mut hello, mut answer, mut flight, mut end, mut tickets) = (vec![], vec![], vec![], vec![], vec![]);
        assert!(client.write(&mut hello).is_none());
        assert_eq!(client.early(), resumption.session == Session::EarlyData);
        server.read(&hello).unwrap();
        assert_eq!(server.early(), resumption.session == Session::EarlyData);
        assert_eq!(server.write(&mut answer), Some(Level::Handshake));
        assert_eq!(server.write(&mut flight), Some(Level::Data));
        client.read(&answer).unwrap();
        assert_eq!(client.write(&mut vec![]), Some(Level::Handshake));
        client.read(&flight).unwrap();
        assert_eq!(client.write(&mut end), Some(Level::Data));
        server.read(&end).unwrap();
        assert_eq!(server.write(&mut tickets), None);
        client.read(&tickets).unwrap();
        [hello, answer, flight, end, tickets].map(|m| m.len())
    }

    #[test]
    fn the_null_cipher_says_as_much_as_tls() {
        for (client, server) in [(60, 80), (75, 101)] {
            let (pair, parameters) = (Pair::new().unwrap(), Parameters::default());
            for session in [Session::New, Session::Resumed, Session::EarlyData] {
                let resumption = Resumption { session, parameters: parameters.clone() };
                let (tls, null) = (of_tls(&pair, session, client, server), of_null(&resumption, client, server));
                assert_eq!(tls, null, "{session:?}");
            }
        }
    }
}
