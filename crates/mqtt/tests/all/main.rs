//! The integration tests of the crate, in one program: each program links everything anew.

mod bridges;
#[path = "common/client.rs"]
mod client;
mod common;
mod conformance_broker;
mod conformance_client;
mod conformance_delivery;
mod conformance_features;
mod conformance_formats;
mod conformance_table;
mod exchange;
mod hostile;
mod mosquitto;
#[path = "common/raw.rs"]
mod raw;
#[path = "../../../../tests/rust/skips.rs"]
mod skips;
