//! QUIC (RFC 9000, RFC 9001, RFC 9002) as a sans-IO state machine.
//!
//! Payload bytes are counted, not carried, and there is no cryptography; sizes of packets, flights and headers are those
//! of the wire. A [`Connection`] owns its paths; a path owns RTT estimate, congestion controller, sent packets, pacer
//! and datagram size. With one path it is plain QUIC.
//!
//! | file | subject |
//! |---|---|
//! | `frame`, `packet`, `sizes` | what is on the wire |
//! | `connection`, `receive`, `transmit` | the machine |
//! | `opening` | what can come before or with the handshake: Version Negotiation, Retry, 0-RTT |
//! | `space` | packet number spaces: those of the handshake once, application data for each path |
//! | `multipath` | paths that come and go, and which of them a packet takes |
//! | `reinjection` | what is sent again on another path |
//! | `identifiers` | connection identifiers, where they are a limit |
//! | `keepsakes` | tokens and tickets for the client's next connection |
//! | `datagram_frames` | DATAGRAM frames |
//! | `extras` | the state of frames that few connections send |
//! | `migration` | paths whose addresses change |
//! | `numbers` | packet numbers that are left out |
//! | `path`, `recovery`, `sent`, `rtt`, `mtu` | RFC 9002 and DPLPMTUD, for each path |
//! | `received`, `frequency` | acknowledgements to be sent, and how often the peer is asked for them |
//! | `ecn` | ECN counts and their validation |
//! | `streams`, `buffer`, `flow` | streams and flow control |
//! | `trace` | what paths report to probes |
//!
//! Not modelled: 0-RTT data that the server refuses, what tokens of NEW_TOKEN frames are good for, key updates, streams of both kinds in one connection,
//! RESET_STREAM and STOP_SENDING.

mod buffer;
mod config;
mod connection;
mod datagram_frames;
mod draft;
mod ecn;
mod extras;
mod few;
mod flow;
mod frame;
mod frequency;
mod identifiers;
mod keepsakes;
mod migration;
mod mtu;
mod multipath;
mod numbers;
mod opening;
mod packet;
mod path;
mod receive;
mod received;
mod recovery;
mod reinjection;
mod rtt;
mod sent;
pub mod sizes;
mod space;
mod streams;
mod trace;
mod transmit;

pub use config::{AcksWait, Config, Design, MAX_STREAMS, Pacing, PathAcks};
pub use connection::Connection;
pub use datagram_frames::{DatagramCounts, DatagramFrame, StreamContent};
pub use ecn::EcnCounts;
pub use few::Few;
pub use frame::{Ack, AckEcn, AckFrequency, Frame, PathAck, TransportParameters, varint_len};
pub use identifiers::IdFrame;
pub use keepsakes::{Keepsake, KeepsakeSet};
pub use mtu::MtuProbes;
pub use multipath::{Controllers, Parts};
pub use packet::{Datagram, Form, QuicPacket, SpaceId, number_len};
pub use received::AckPolicy;
pub use sizes::{HandshakeSizes, Session};

/// Whether the peer keeps to the protocol. The error names the transport error (RFC 9000 section 20.1).
type Verdict = Result<(), &'static str>;
