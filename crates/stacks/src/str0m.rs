//! str0m: WebRTC without sockets, whose clock is an argument ([`crate::webrtc`]).

use crate::stack::{Implementation, Protocol};
use crate::webrtc;
use haltere_net::registry::Description;

/// str0m.
pub(crate) const ENTRY: Implementation = Implementation {
    protocol: Protocol::Rtp,
    ..Implementation::new(
        Description {
            name: "str0m",
            summary: "str0m, unmodified: WebRTC with ICE, DTLS, SRTP, and the congestion control of libwebrtc in Rust",
            reference: "https://docs.rs/str0m",
        },
        "0.25.0",
        &["gcc"],
        webrtc::endpoint,
    )
};
