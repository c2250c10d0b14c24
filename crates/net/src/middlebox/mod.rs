//! Boxes at the two ends of a link, whatever its packets carry: a tunnel, a circuit breaker.

mod breaker;
mod tunnel;

pub use breaker::{Breaker, Guarded};
pub use tunnel::{Propagation, Tunnel, Tunnelled};
