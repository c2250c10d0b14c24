//! QUIC.

/// A QUIC datagram.
#[derive(Clone, Debug)]
pub struct Datagram {}
