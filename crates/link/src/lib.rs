//! The emulator: the very [`haltere_net::link::Link`] of the simulator between two TUN devices, on the machine's clock.
//!
//! [`engine`] is the whole of it without the kernel: packets and readings of a clock go in, packets and the time of the
//! next departure come out. Departures follow from the link's own schedule and the time at which a packet was read; a
//! wake-up that comes late is recorded as lateness and changes no later departure. The rest joins the engine to the
//! kernel: [`tun`] makes devices, `port` waits, reads and writes, [`emulator`] runs it all in a thread, [`shell`] puts
//! a command behind a link.
#![cfg(target_os = "linux")]

mod clock;
pub mod emulator;
pub mod engine;
mod port;
pub mod report;
pub mod shell;
pub mod spec;
mod sys;
pub mod tun;
pub mod unit;

pub use emulator::Emulator;
pub use report::Report;
pub use spec::{EmulatorError, EmulatorSpec};
