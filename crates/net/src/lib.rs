//! The network below every transport: time, units, named randomness, packets, links, queues and routes.
//!
//! Nothing here reads a clock, sleeps or draws from a global generator. A component receives the time through [`Cx`]
//! and draws from a [`rng::Stream`] that it was created with. It returns packets and the next time at which it must be
//! called. The same [`link::Link`] therefore runs in a simulator's virtual time and in an emulator's wall-clock time.
//!
//! Nothing here knows of any transport: links and queues are generic over the packet's body and see only its length,
//! flow, ECN mark and class.

pub mod columns;
pub mod control;
pub mod counters;
pub mod cx;
pub mod element;
pub mod fault;
pub mod incident;
pub mod interface;
pub mod link;
pub mod loss;
pub mod lte;
pub mod medium;
pub mod middlebox;
mod named;
pub mod nearest;
pub mod occupancy;
pub mod packet;
pub mod queue;
pub mod registry;
pub mod report;
pub mod ring;
pub mod rng;
mod serialiser;
pub mod time;
pub mod topology;
pub mod trace;
pub mod units;
pub mod varying;
pub mod wide;
pub mod wifi;

pub use cx::{ComponentId, Cx, Metric, NoProbe, Probe};
pub use incident::Incident;
pub use packet::{Address, ConnectionId, Contents, Ecn, FlowKey, Packet, PathId};
pub use time::{Span, Time};
pub use units::{Bytes, Rate};
