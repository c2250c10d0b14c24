//! TLS over TCP: the sizes of the flights of each handshake, and the flights that carry the request and the response.
//!
//! Messages that TLS 1.3 has in common with QUIC have the sizes of QUIC's CRYPTO frames ([`HandshakeSizes::CLASSICAL`]),
//! so that the transports differ by their framing alone. All sizes are in bytes.

use haltere_transport::quic::{HandshakeSizes, Session, sizes::TICKET};

/// A record's header (RFC 8446 section 5.1, RFC 5246 section 6.2.1).
const RECORD_HEADER: u64 = 5;
/// The largest plaintext of a record.
pub const RECORD_MAX: u64 = 1 << 14;
/// A ChangeCipherSpec record; in TLS 1.3 that of middlebox compatibility mode (RFC 8446 appendix D.4).
const CHANGE_CIPHER_SPEC: u64 = RECORD_HEADER + 1;
/// Over TCP both hellos carry a session id for compatibility with middleboxes (RFC 8446 appendix D.4).
const SESSION_ID: u64 = 32;
/// Two NewSessionTicket messages, sent by the server after the handshake.
const SESSION_TICKETS: u64 = 2 * 240;
/// EndOfEarlyData: a header (RFC 8446 section 4.5).
const END_OF_EARLY_DATA: u64 = 4;

/// Bytes that TLS 1.3 adds to a ClientHello: key_share with X25519 (42), supported_versions (9) and
/// psk_key_exchange_modes (6), each with the extension's header of 4.
const NEW_IN_13: u64 = 42 + 9 + 6;
/// A session_ticket extension without a ticket (RFC 5077 section 3.2).
const TICKET_EXTENSION: u64 = 4;
/// TLS 1.2's ServerHello (RFC 5246 section 7.4.1.3): header 4, version 2, random 32, session id 1, cipher 2, compression 1,
/// extensions 2 with ALPN 9, renegotiation_info 5, extended_master_secret 4, session_ticket 4 and ec_point_formats 6.
const SERVER_HELLO_12: u64 = 4 + 2 + 32 + 1 + 2 + 1 + 2 + 9 + 5 + 4 + TICKET_EXTENSION + 6;
/// Bytes that TLS 1.3's Certificate has beside TLS 1.2's: the request context 1 and two lists of extensions 2 (RFC 8446
/// section 4.4.2), for a chain of two.
const CERTIFICATE_13: u64 = 1 + 2 * 2;
/// ServerKeyExchange (RFC 8422 section 5.4): header 4, curve 3, X25519 point 1 + 32, RSA-2048 signature 2 + 2 + 256.
const SERVER_KEY_EXCHANGE: u64 = 4 + 3 + 33 + 260;
const SERVER_HELLO_DONE: u64 = 4;
/// ClientKeyExchange: header 4, X25519 point 1 + 32.
const CLIENT_KEY_EXCHANGE: u64 = 4 + 33;
/// TLS 1.2's Finished: header 4, verify_data 12 (RFC 5246 section 7.4.9).
const FINISHED_12: u64 = 4 + 12;
/// TLS 1.2's NewSessionTicket: header 4, lifetime 4, length 2 (RFC 5077 section 3.3).
const NEW_SESSION_TICKET_12: u64 = 10 + TICKET as u64;

/// The versions of TLS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// TLS 1.2 (RFC 5246) with ECDHE and AES-GCM (RFC 5288).
    V12,
    /// TLS 1.2 whose client does not wait for the server's Finished (False Start, RFC 7918 section 3).
    FalseStart,
    /// TLS 1.3 (RFC 8446).
    V13,
}

/// The bytes that encryption adds to each record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seal(u64);

impl Seal {
    /// No records at all.
    pub const NONE: Seal = Seal(0);

    const fn of(version: Version) -> Seal {
        match version {
            // An explicit nonce of 8 and the tag (RFC 5288 section 3).
            Version::V12 | Version::FalseStart => Seal(RECORD_HEADER + 8 + 16),
            // The content type and the tag (RFC 8446 section 5.2).
            Version::V13 => Seal(RECORD_HEADER + 1 + 16),
        }
    }

    /// Size of `plain` bytes in encrypted records.
    pub const fn records(self, plain: u64) -> u64 {
        plain + plain.div_ceil(RECORD_MAX) * self.0
    }
}

/// The flights of a handshake. The client sends flight k after the server's flight k - 1. The server sends flight k
/// after the client's flight k.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flights {
    /// The client's flights, in order.
    pub client: Vec<u64>,
    /// The server's flights, in order.
    pub server: Vec<u64>,
    /// The client's flight that carries the request.
    pub request: usize,
    /// The server's flight that carries the response.
    pub response: usize,
    /// The encryption of the bytes that follow.
    pub seal: Seal,
}

impl Flights {
    /// No TLS: the request comes first, then the response.
    pub fn none() -> Flights {
        Flights { client: vec![0], server: vec![0], request: 0, response: 0, seal: Seal::NONE }
    }

    /// The flights of a version of TLS. TLS 1.2 has no early data; a session is only resumed there.
    pub fn tls(version: Version, session: Session) -> Flights {
        match version {
            Version::V12 => Flights::tls12(session),
            Version::FalseStart => Flights::false_start(session),
            Version::V13 => Flights::tls13(session),
        }
    }

    fn tls13(session: Session) -> Flights {
        let seal = Seal::of(Version::V13);
        let sizes = HandshakeSizes::CLASSICAL.with(session);
        let hello = RECORD_HEADER + u64::from(sizes.client_hello) + SESSION_ID;
        let answer = RECORD_HEADER + u64::from(sizes.server_hello) + SESSION_ID;
        let server = answer + CHANGE_CIPHER_SPEC + seal.records(u64::from(sizes.server_flight()));
        let (tickets, finished) = (seal.records(SESSION_TICKETS), u64::from(sizes.finished));
        if session == Session::EarlyData {
            // The ChangeCipherSpec precedes the early data (RFC 8446 appendix D.4). The tickets need not wait for the
            // client's Finished (section 4.6.1).
            let last = seal.records(END_OF_EARLY_DATA) + seal.records(finished);
            let client = vec![hello + CHANGE_CIPHER_SPEC, last];
            return Flights { client, server: vec![server + tickets], request: 0, response: 0, seal };
        }
        let client = vec![hello, CHANGE_CIPHER_SPEC + seal.records(finished)];
        Flights { client, server: vec![server, tickets], request: 1, response: 1, seal }
    }

    /// The request goes with the client's Finished, the response with the server's. A resumed session has nothing to start falsely: its
    /// client has the server's Finished already.
    fn false_start(session: Session) -> Flights {
        let mut flights = Flights::tls12(session);
        if session == Session::New {
            flights.client.pop();
            flights.server.pop();
            (flights.request, flights.response) = (1, 1);
        }
        flights
    }

    fn tls12(session: Session) -> Flights {
        let seal = Seal::of(Version::V12);
        let plain = u64::from(HandshakeSizes::CLASSICAL.client_hello) - NEW_IN_13 + TICKET_EXTENSION;
        let finished = CHANGE_CIPHER_SPEC + seal.records(FINISHED_12);
        if session != Session::New {
            // RFC 5077 section 3.4: the client invents a session id. If the server returns it, the ticket was accepted.
            let hello = RECORD_HEADER + plain + SESSION_ID + u64::from(TICKET);
            let server = RECORD_HEADER + SERVER_HELLO_12 + SESSION_ID + finished;
            return Flights { client: vec![hello, finished], server: vec![server, 0], request: 1, response: 1, seal };
        }
        let certificate = u64::from(HandshakeSizes::CLASSICAL.certificate) - CERTIFICATE_13;
        let server = RECORD_HEADER + SERVER_HELLO_12 + certificate + SERVER_KEY_EXCHANGE + SERVER_HELLO_DONE;
        let client = vec![RECORD_HEADER + plain, RECORD_HEADER + CLIENT_KEY_EXCHANGE + finished, 0];
        let server = vec![server, RECORD_HEADER + NEW_SESSION_TICKET_12 + finished, 0];
        Flights { client, server, request: 2, response: 2, seal }
    }
}
