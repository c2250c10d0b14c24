//! The deterministic simulation of a run.
//!
//! A [`scenario::Scenario`] is data. [`run`] builds links, routes, endpoints and applications from it, drives them in
//! virtual time and returns a [`result::RunResult`]. A run is a pure function of (scenario, seed, replication).

pub mod ack;
pub mod application;
pub mod build;
pub mod call;
pub mod capture;
pub mod catalogue;
pub mod contender;
pub mod contents;
pub mod fidelity;
pub mod http;
pub mod load;
pub mod middlebox;
pub mod network;
mod noted;
pub mod page;
pub mod radio;
pub mod recorder;
pub mod result;
mod run;
pub mod scenario;
pub mod schedule;
pub mod ssh;
pub mod stack;
pub mod steps;
pub mod tls;
pub mod video;
pub mod world;

pub use build::check_at;
pub use fidelity::Fidelity;
pub use recorder::{Files, Pcap};
pub use result::RunResult;
pub use run::{run, run_at, run_with, trace, trace_at, trace_with};
pub use scenario::{Scenario, ScenarioError};
