//! Linux kernels as nodes of the simulator.
//!
//! A user-mode Linux with `time-travel=ext` does not own its clock: it asks when it may run. Its network cards are served from outside
//! (vhost-user). [`Kernel`] is both sides of that in one value that is driven like every other component: frames and the time go in, frames
//! and the time of the next run come out.
//!
//! [`Kernels`] makes [`Endpoint`](haltere_transport::Endpoint)s of it. The crate needs Linux; elsewhere it says so.

#[cfg(target_os = "linux")]
mod boot;
#[cfg(target_os = "linux")]
pub mod card;
mod checksum;
pub mod control;
#[cfg(target_os = "linux")]
mod direction;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod end;
#[cfg(target_os = "linux")]
mod endpoint;
mod error;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod node;
#[cfg(target_os = "linux")]
mod pin;
#[cfg(target_os = "linux")]
mod process;
pub mod programs;
pub mod segment;
#[cfg(target_os = "linux")]
mod sys;
pub mod tcp_info;
#[cfg(target_os = "linux")]
pub mod travel;
pub mod vhost;

#[cfg(target_os = "linux")]
pub use boot::Boot;
#[cfg(target_os = "linux")]
pub use card::Identity;
pub use control::Options;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Kernels, epoch, ready};
pub use end::{CONGESTION, End, Way, ip};
#[cfg(target_os = "linux")]
pub use endpoint::{Kernels, ready};
pub use error::{Error, Fault};
#[cfg(target_os = "linux")]
pub use host::epoch;
#[cfg(target_os = "linux")]
pub use kernel::Kernel;
#[cfg(target_os = "linux")]
pub use node::Node;
pub use programs::{Module, Prepared, Programs};
