//! Linux kernels as nodes of the simulator.
//!
//! A user-mode Linux with `time-travel=ext` does not own its clock: it asks when it may run. Its network cards are served from outside
//! (vhost-user). [`Kernel`] is both sides of that in one value that is driven like every other component: frames and the time go in, frames
//! and the time of the next run come out.
//!
//! The crate needs Linux.

#[cfg(target_os = "linux")]
mod boot;
#[cfg(target_os = "linux")]
mod card;
mod checksum;
pub mod control;
mod error;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod node;
#[cfg(target_os = "linux")]
mod pin;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod travel;
mod vhost;

#[cfg(target_os = "linux")]
pub use boot::Boot;
#[cfg(target_os = "linux")]
pub use card::Identity;
pub use error::{Error, Fault};
#[cfg(target_os = "linux")]
pub use kernel::Kernel;
#[cfg(target_os = "linux")]
pub use node::Node;
