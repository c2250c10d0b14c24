//! Multipath TCP (RFC 8684) as Linux does it, over the subflows of [`crate::tcp`].
//!
//! A connection numbers its data once; each subflow numbers the bytes that it carries again. The scheduler fills the send
//! buffers of the subflows, and each subflow sends as a TCP connection of its own, with its own congestion control, which
//! a coupled algorithm ties to the others. The receiver puts the data of all subflows in order in one buffer, and tells by
//! DATA_ACK how far it is. Data positions are offsets that never wrap; the end of the data (DATA_FIN) takes one position.
//!
//! | file | holds |
//! |---|---|
//! | [`config`] | every switch, with defaults |
//! | [`option`] | MPTCP's options and their sizes on the wire |
//! | `connection` | the [`crate::Endpoint`] interface, opening, fallback, timers |
//! | `arrival` | packets that arrive: subflows that the peer opens, mappings, DATA_ACK, the end of the data |
//! | `departure` | packets that leave, with their options and the shared window |
//! | `subflow` | a subflow: its TCP connection, its mappings, its send buffer |
//! | `sending` | the data to be sent: what no subflow has, what is outstanding, what is sent again |
//! | `share` | which subflow gets which data |
//! | `repair` | data that a subflow holds up is sent again on others |
//! | `receiving` | the shared receive buffer |

mod arrival;
pub mod config;
mod connection;
mod departure;
pub mod option;
mod receiving;
mod repair;
mod sending;
mod share;
mod subflow;

pub use config::{Config, Reinjection};
pub use connection::Connection;
pub use option::{Opening, Options, Segment};
