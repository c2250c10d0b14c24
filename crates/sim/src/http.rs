//! What a download puts on a connection beside the object: TLS flights, HTTP framing, headers. All sizes stand here.
//!
//! TLS messages have the sizes that the QUIC model uses in its CRYPTO frames ([`HandshakeSizes::CLASSICAL`]), so that the
//! transports differ by their framing alone.

use haltere_transport::quic::HandshakeSizes;

const TLS: HandshakeSizes = HandshakeSizes::CLASSICAL;
/// Over TCP both hellos carry a session id for the sake of middleboxes (RFC 8446 appendix D.4).
const SESSION_ID: u64 = 32;
const CLIENT_HELLO: u64 = TLS.client_hello as u64 + SESSION_ID;
const SERVER_HELLO: u64 = TLS.server_hello as u64 + SESSION_ID;
const SERVER_ENCRYPTED: u64 = TLS.server_flight() as u64;
const CLIENT_FINISHED: u64 = TLS.finished as u64;
/// Two NewSessionTicket messages, sent by the server after the handshake.
const SESSION_TICKETS: u64 = 2 * 240;

/// A record's header (RFC 8446 section 5.1), and what encryption adds: content type and tag.
const RECORD_HEADER: u64 = 5;
const RECORD_SEAL: u64 = RECORD_HEADER + 1 + 16;
/// The ChangeCipherSpec record of middlebox compatibility mode (appendix D.4).
const CHANGE_CIPHER_SPEC: u64 = RECORD_HEADER + 1;
/// The largest plaintext of a record.
const RECORD_MAX: u64 = 1 << 14;

/// An HTTP/2 frame header (RFC 9113 section 4.1) and the default largest frame.
const H2_FRAME: u64 = 9;
const H2_FRAME_MAX: u64 = 1 << 14;
/// Connection preface, SETTINGS with three parameters, a connection WINDOW_UPDATE, then the request's HEADERS.
const H2_CLIENT: u64 = 24 + (H2_FRAME + 18) + (H2_FRAME + 4) + (H2_FRAME + REQUEST_HEADERS);
/// SETTINGS with one parameter, the acknowledgement of the client's, then the response's HEADERS.
const H2_SERVER: u64 = (H2_FRAME + 6) + H2_FRAME + (H2_FRAME + RESPONSE_HEADERS);
/// Compressed header blocks of a first request and its response.
const REQUEST_HEADERS: u64 = 60;
const RESPONSE_HEADERS: u64 = 110;

/// HTTP/3 (RFC 9114): stream types and SETTINGS of the control and QPACK streams (counted on the request stream), and a
/// HEADERS frame.
const H3_CLIENT: u64 = 3 + 12 + (3 + REQUEST_HEADERS);
const H3_SERVER: u64 = 3 + 12 + (3 + RESPONSE_HEADERS);
/// A DATA frame's header with the body's chunk size.
const H3_FRAME: u64 = 1 + 4;
const H3_FRAME_MAX: u64 = 1 << 14;

/// Bytes of `plain` bytes in sealed records.
const fn sealed(plain: u64) -> u64 {
    plain + plain.div_ceil(RECORD_MAX) * RECORD_SEAL
}

/// What a client and a server say in turn on one stream, client first; the last turn carries the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// Bytes of each turn.
    pub turns: Vec<u64>,
}

/// A bare transfer: a one-byte request, then the object.
pub fn raw(object: u64) -> Script {
    Script { turns: vec![1, object] }
}

/// TLS 1.3 with a full handshake, then HTTP/2, on one TCP connection.
pub fn https2(object: u64) -> Script {
    let server_flight = RECORD_HEADER + SERVER_HELLO + CHANGE_CIPHER_SPEC + sealed(SERVER_ENCRYPTED);
    let request = CHANGE_CIPHER_SPEC + sealed(CLIENT_FINISHED) + sealed(H2_CLIENT);
    let frames = object.div_ceil(H2_FRAME_MAX) * H2_FRAME;
    let response = sealed(SESSION_TICKETS) + sealed(H2_SERVER + object + frames);
    Script { turns: vec![RECORD_HEADER + CLIENT_HELLO, server_flight, request, response] }
}

/// HTTP/3: the TLS handshake is QUIC's own.
pub fn https3(object: u64) -> Script {
    let frames = object.div_ceil(H3_FRAME_MAX) * H3_FRAME;
    Script { turns: vec![H3_CLIENT, H3_SERVER + object + frames] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_costs_what_the_rfcs_say() {
        // 1 MiB: 64 DATA frames of 16 KiB; the plaintext of 1 048 576 + 64 * 9 + headers needs 65 records.
        let script = https2(1 << 20);
        let plain = (1 << 20) + 64 * 9 + H2_SERVER;
        assert_eq!(script.turns[3], sealed(SESSION_TICKETS) + plain + 65 * 22);
        assert_eq!(script.turns.len(), 4);
        let overhead = https2(32 << 20).turns[3] as f64 / (32u64 << 20) as f64 - 1.0;
        assert!((0.0018..0.0020).contains(&overhead), "{overhead}");
        let overhead = https3(32 << 20).turns[1] as f64 / (32u64 << 20) as f64 - 1.0;
        assert!((0.0003..0.0004).contains(&overhead), "{overhead}");
    }
}
