//! The integration tests of the crate, in one program: each program links everything anew.

mod acks;
mod bridges;
mod cells;
mod columns;
mod common;
mod copies;
mod determinism;
mod flows;
mod found;
mod handshakes;
mod hostile;
mod links;
mod loads;
mod marks;
mod mechanisms;
mod migration;
mod mqtt;
mod multipath;
mod nodes;
mod outside;
mod pages;
mod pcapng;
mod probes;
mod qlog;
mod scenarios;
mod shadows;
#[path = "../../../../tests/rust/skips.rs"]
mod skips;
mod snapshot;
mod stacks;
mod supply;
mod tandems;
mod theory;
mod transmit_path;
mod wireless;
mod worker_quiche;
