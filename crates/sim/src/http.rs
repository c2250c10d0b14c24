//! The bytes of a download beside the object: HTTP framing and headers, and the order in which the two sides send them.
//!
//! The handshakes of TLS are in [`crate::tls`].

use crate::tls::{Flights, RECORD_MAX};

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

/// HTTP/1.1: a browser's GET with Host, User-Agent, Accept, Accept-Language, Accept-Encoding, Referer and Connection, and the
/// head of a response with Date, Server, Content-Type, Content-Length, Last-Modified, ETag, Cache-Control and Accept-Ranges.
const H1_REQUEST: u64 = 400;
const H1_RESPONSE: u64 = 300;

/// How requests and responses are framed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// HTTP/1.1 (RFC 9112).
    Http1,
    /// HTTP/2 (RFC 9113).
    Http2,
    /// HTTP/3 (RFC 9114).
    Http3,
}

impl Framing {
    /// Bytes of a request with a header of this size. The first request on a connection, on which none has `begun`, carries
    /// the client's settings too.
    pub fn request(self, header: Option<u64>, begun: &mut bool) -> u64 {
        let first = !std::mem::replace(begun, true);
        let more = |all: u64, without: u64| if first { all - without } else { 0 };
        match self {
            Framing::Http1 => header.unwrap_or(H1_REQUEST),
            Framing::Http2 => {
                let settings = more(H2_CLIENT, H2_FRAME + REQUEST_HEADERS);
                settings + H2_FRAME + header.unwrap_or(REQUEST_HEADERS)
            }
            Framing::Http3 => more(H3_CLIENT, 3 + REQUEST_HEADERS) + 3 + header.unwrap_or(REQUEST_HEADERS),
        }
    }

    /// Bytes of a response's head. The first response on a connection, on which none has `begun`, carries the server's
    /// settings too.
    pub fn response(self, begun: &mut bool) -> u64 {
        match (self, std::mem::replace(begun, true)) {
            (Framing::Http1, _) => H1_RESPONSE,
            (Framing::Http2, false) => H2_SERVER,
            (Framing::Http2, true) => H2_FRAME + RESPONSE_HEADERS,
            (Framing::Http3, false) => H3_SERVER,
            (Framing::Http3, true) => 3 + RESPONSE_HEADERS,
        }
    }

    /// Bytes of the header of a frame with part of a body, and the largest part of the body that the frame holds after
    /// `head` bytes. Over TLS this is as much as fills a record.
    pub fn frame(self, head: u64) -> (u64, u64) {
        match self {
            Framing::Http1 => (0, RECORD_MAX - head),
            Framing::Http2 => (H2_FRAME, RECORD_MAX - head - H2_FRAME),
            Framing::Http3 => (H3_FRAME, H3_FRAME_MAX),
        }
    }
}

/// A message that one side sends once it has received enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Say {
    /// The number of bytes it must have received.
    pub after: u64,
    /// The number of bytes it then sends.
    pub bytes: u64,
}

/// The messages of a client and a server on one stream. The client receives the response last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// The client's messages.
    pub client: Vec<Say>,
    /// The server's messages.
    pub server: Vec<Say>,
    /// The number of the client's message that has the request.
    pub request: usize,
    /// The position at which the response begins in the bytes that the client receives.
    pub response: u64,
    /// The position at which the response ends.
    pub end: u64,
}

impl Script {
    /// A request and its response, sent along with the flights of a handshake.
    pub fn new(flights: &Flights, request: u64, response: u64) -> Script {
        let with = |of: &[u64], at: usize, more: u64| -> Vec<u64> {
            of.iter().enumerate().map(|(i, bytes)| bytes + if i == at { more } else { 0 }).collect()
        };
        let client = with(&flights.client, flights.request, request);
        let server = with(&flights.server, flights.response, response);
        let until = |of: &[u64], n: usize| of.iter().take(n).sum();
        Script {
            request: flights.request,
            response: until(&server, flights.response),
            end: until(&server, server.len()),
            client: (0..client.len()).map(|k| Say { after: until(&server, k), bytes: client[k] }).collect(),
            server: (0..server.len()).map(|k| Say { after: until(&client, k + 1), bytes: server[k] }).collect(),
        }
    }
}

/// A bare transfer: a one-byte request, then the object.
pub fn raw(object: u64) -> Script {
    Script::new(&Flights::none(), 1, object)
}

/// TLS and HTTP/2 on one TCP connection.
pub fn https2(flights: &Flights, object: u64) -> Script {
    let frames = object.div_ceil(H2_FRAME_MAX) * H2_FRAME;
    Script::new(flights, flights.seal.records(H2_CLIENT), flights.seal.records(H2_SERVER + object + frames))
}

/// TLS and HTTP/1.1 on one TCP connection.
pub fn http1(flights: &Flights, object: u64) -> Script {
    Script::new(flights, flights.seal.records(H1_REQUEST), flights.seal.records(H1_RESPONSE + object))
}

/// HTTP/3: the TLS handshake is QUIC's own.
pub fn https3(object: u64) -> Script {
    let frames = object.div_ceil(H3_FRAME_MAX) * H3_FRAME;
    Script::new(&Flights::none(), H3_CLIENT, H3_SERVER + object + frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::Version;
    use haltere_transport::quic::Session;

    fn tls(version: Version, session: Session) -> Flights {
        Flights::tls(version, session)
    }

    #[test]
    fn framing_costs_what_the_rfcs_say() {
        // 1 MiB: 64 DATA frames of 16 KiB; the plaintext of 1 048 576 + 64 * 9 + headers needs 65 records. Two tickets of
        // 240 go before them.
        let full = tls(Version::V13, Session::New);
        let script = https2(&full, 1 << 20);
        let plain = (1 << 20) + 64 * 9 + H2_SERVER;
        assert_eq!(script.end - script.response, 480 + 22 + plain + 65 * 22);
        let response = |script: Script| (script.end - script.response) as f64 / (32u64 << 20) as f64 - 1.0;
        let overhead = response(https2(&full, 32 << 20));
        assert!((0.0018..0.0020).contains(&overhead), "{overhead}");
        let overhead = response(https3(32 << 20));
        assert!((0.0003..0.0004).contains(&overhead), "{overhead}");
    }

    #[test]
    fn a_request_waits_for_as_many_answers_as_its_handshake_has_round_trips() {
        use Session::{EarlyData, New, Resumed};
        let cases =
            [(Version::V12, New, 2), (Version::V12, Resumed, 1), (Version::V13, New, 1), (Version::V13, Resumed, 1)];
        let others = [(Version::FalseStart, New, 1), (Version::FalseStart, Resumed, 1), (Version::V13, EarlyData, 0)];
        for (version, session, round_trips) in cases.into_iter().chain(others) {
            let flights = tls(version, session);
            let script = https2(&flights, 1000);
            assert_eq!(flights.request, round_trips, "{version:?} {session:?}");
            let heard: u64 = script.server.iter().take(round_trips).map(|s| s.bytes).sum();
            assert_eq!(script.client[flights.request].after, heard);
            // Certificate and signature are 3164 bytes of a full handshake.
            assert_eq!(script.server[0].bytes > 3164, session == New, "{version:?} {session:?}");
        }
    }
}
