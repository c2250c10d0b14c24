//! Production stacks of QUIC and WebRTC as endpoints of the simulator, in virtual time.
//!
//! The stacks are taken from the registry as they are: packets are real bytes, sealed by TLS 1.3, that travel through
//! the simulator's links as [`Body::Udp`](haltere_transport::Body::Udp). What a stack reads of its surroundings comes
//! from the run: the time from `Cx` ([`clock`]), its random numbers from a named stream ([`seeds`]), its certificate
//! from a file ([`tls`]). `docs/reference/stacks.md` says what is not the run's and therefore differs between two runs: the bytes
//! of TLS, not their lengths; with [`Cipher::Null`] not even these.
//!
//! A stack is one implementation of [`connection::StackConnection`], a thin layer over its own types ([`quinn`],
//! [`noq`]); what all share (streams that count bytes, events, statistics, timers) is in [`mod@endpoint`]. A stack that
//! reads the clock itself lives in a program of its own and is the same layer over messages ([`remote`]; the feature
//! `worker` builds it in). WebRTC has no streams, and is an endpoint of its own ([`webrtc`]).
//!
//! Who uses whom, without a circle: each line uses the lines above it, never those below.
//!
//! 1. `addresses` of paths; `secrets`, `seeds`, [`clock`], `meter`: they use nothing of this crate
//! 2. [`config`] plain data; [`connection`]
//! 3. [`tls`] and `worker` (the program's process and its messages)
//! 4. [`memory`] what is known from an earlier connection; `bridge` our congestion control inside a stack;
//!    [`mod@endpoint`] and, above it, `calls` RTP over QUIC
//! 5. `null` the null cipher; [`handles`] what is live: random stream, memory, qlog, key log, worker process
//! 6. `webrtc` str0m as an endpoint; `stack` what a stack is, and [`remote`]
//! 7. the adapters [`quinn`], [`noq`], [`mod@str0m`], and the entries of those in worker programs
//! 8. `earlier` the earlier connection itself

mod addresses;
mod bridge;
mod calls;
mod clock;
mod config;
mod connection;
mod earlier;
mod endpoint;
mod handles;
mod memory;
mod meter;
mod null;
mod remote;
mod secrets;
mod seeds;
mod stack;
mod tls;
mod webrtc;
mod worker;

pub use addresses::AddressPair;
pub use bridge::lacks;
pub use config::{Call, Cipher, Config, Congestion, Error, Estimate, OverQuic, Part, Windows};
pub use earlier::earlier_connection;
pub use handles::{Handles, Sink};
pub use memory::Memory;
pub use secrets::Secrets;
pub use stack::{Implementation, Protocol, Stack, endpoint};
pub use worker::Worker;

haltere_net::built_in! {
    Implementation: "QUIC stack";
    /// quinn-proto.
    QUINN = quinn,
    /// noq-proto.
    NOQ = noq,
    /// quiche, in a worker program.
    QUICHE = quiche,
    /// tquic, in a worker program.
    TQUIC = tquic,
    /// str0m.
    STR0M = str0m,
}
