//! The part of real Linux hosts that is written in Rust: transfers over the kernel's TCP, packet taps, and meters.
//!
//! [`transfers::run`] makes bare TCP transfers, both ends of all flows in one thread, wherever their network
//! namespaces are. [`capture::Capture`] listens at interfaces with memory-mapped packet sockets (packet(7)). The
//! [`meters`], a crate of their own, are pure: they compute from the packets seen what the simulator counts, by the same
//! definitions, so that a real run and a simulated one can be compared.
//!
//! The crate needs Linux; on other systems only the meters are there.

#[cfg(target_os = "linux")]
pub mod capture;
#[cfg(target_os = "linux")]
mod clock;
mod error;
#[cfg(target_os = "linux")]
mod netns;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tcp_info;
#[cfg(target_os = "linux")]
pub mod transfers;

pub use error::HostError;
pub use haltere_meters as meters;
#[cfg(target_os = "linux")]
pub use transfers::congestion_controls;
