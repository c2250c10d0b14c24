//! TCP as Linux does it: RFC 9293 with window scaling and timestamps (RFC 7323), SACK and D-SACK (RFC 2018, 2883),
//! RACK-TLP (RFC 8985), PRR (RFC 6937), F-RTO (RFC 5682), Eifel detection (RFC 3522), limited transmit (RFC 3042),
//! an initial window of 10 (RFC 6928), Fast Open (RFC 7413) and Linux's delayed-ACK, quick-ACK and SACK-compression rules.
//!
//! | file | holds |
//! |---|---|
//! | [`config`] | every mechanism's switch, with defaults |
//! | [`segment`] | segments and their sizes on the wire |
//! | `acceptance` | which segments belong to the connection |
//! | `connection` | handshake, the [`crate::Endpoint`] interface, timers |
//! | `fastopen` | data in the SYN, and an answer before the handshake is complete |
//! | `sender` | what to send and when; processing of acknowledgements |
//! | `supersegment` | how much new data is sent together, and when it waits for more |
//! | `scoreboard` | the record of each segment in flight: SACKed, lost, retransmitted |
//! | `recovery` | the congestion states Open, Disorder, Reducing (by marks), Recovery, Loss, and undo |
//! | `counting` | losses found by counting, without RACK or without SACK |
//! | `rtt` | RTT estimation and the retransmission timeout |
//! | `clock` | the unit of packets' times, and the clock of a user-mode Linux |
//! | `ticks` | the host's clock and timer wheel |
//! | `trace` | reports to the probe |
//! | `subflow` | what MPTCP does with a connection that is one of its subflows |
//! | `receiver` | reassembly, when to acknowledge, the receive window |
//! | `window` | dynamic right-sizing of the receive window |
//! | `memory` | the buffers in which data waits behind a gap or to be read, and their memory |
//! | `echo` | how marks (ECN) are echoed: RFC 3168, RFC 8257 for DCTCP, or RFC 9768 |
//! | `accurate` | accurate ECN: the count of marks, and how it is read (RFC 9768) |

mod acceptance;
mod accurate;
mod clock;
pub mod config;
mod connection;
mod counting;
mod echo;
mod fastopen;
mod memory;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
pub mod segment;
mod sender;
mod subflow;
mod supersegment;
mod ticks;
mod trace;
mod window;

pub use config::Config;
pub use connection::Connection;
pub use echo::EchoRule;
pub use segment::Segment;
pub(crate) use window::Window;
