//! The integration tests of the crate, in one program: each program links everything anew.

mod determinism;
mod ends;
mod handshake;
mod multipath;
mod opening;
mod outside;
mod over_quic;
mod paths;
mod properties;
mod qlog;
mod robustness;
mod transfers;
mod webrtc;
mod worker_quiche;
mod worker_tquic;
