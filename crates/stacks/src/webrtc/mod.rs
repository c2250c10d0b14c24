//! WebRTC by str0m as an endpoint of media: ICE, DTLS, SRTP, transport-wide feedback, its pacer and its congestion control, unmodified.
//!
//! Frames go in and out as samples of VP8 ([`sample`]). Both ends know what signalling would tell them ([`peer`]): no SDP is sent. All random
//! numbers are the run's ([`dice`], [`crypto`]), and so is the calendar ([`calendar`]): two runs are the same to the byte.

mod calendar;
mod crypto;
mod dice;
mod endpoint;
mod peer;
mod sample;

pub(crate) use endpoint::endpoint;
