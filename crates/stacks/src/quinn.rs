//! quinn-proto as a [`StackConnection`](crate::connection::StackConnection), through the adapter that it shares with
//! noq (`quinn_family/`); here is what is its own.

use crate::stack::Implementation;
use haltere_net::registry::Description;
use quinn_proto as proto;

/// Passes on which arguments a packet key's methods have beyond those of the other stack: none.
macro_rules! packet_key_arguments {
    ($define:ident) => {
        $define! {}
    };
}

/// Passes on what a congestion controller has beyond that of the other stack: nothing. quinn paces by the window alone:
/// an algorithm's pacing rate and burst are not asked for.
macro_rules! controller_differences {
    ($define:ident) => {
        $define! { ours {} observed {} }
    };
}

#[path = "quinn_family/mod.rs"]
mod adapter;

/// quinn-proto.
pub(crate) const ENTRY: Implementation = Implementation {
    calls: true,
    refused: &[(
        "bbr",
        "draws random numbers of the operating system's for its gain cycle: runs could not be repeated",
    )],
    ..Implementation::new(
        Description {
            name: "quinn",
            summary: "quinn-proto, unmodified: the QUIC of the quinn crate",
            reference: "https://docs.rs/quinn-proto",
        },
        "0.11.19",
        &["cubic", "newreno"],
        adapter::endpoint,
    )
};

/// Where quinn's interface is not noq's.
mod differences {
    use super::proto as p;
    use crate::addresses::AddressPair;
    use crate::clock::Clock;
    use crate::connection::Counts;
    use crate::handles::Sink;
    use crate::memory::Memory;
    use crate::meter::Meter;
    use crate::seeds;
    use bytes::{Bytes, BytesMut};
    use haltere_net::Time;
    use haltere_net::rng::Stream;
    use haltere_transport::path::PathError;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::time::Instant;

    /// How a method of a shared configuration takes it.
    pub type Receiver<'a, T> = Arc<T>;
    /// How a connection id is passed.
    pub type IdArgument<'a> = &'a p::ConnectionId;
    /// quinn's controllers tell their pacing rate in bit/s.
    pub const BITS_PER_UNIT_OF_PACING: u64 = 1;

    /// The stack's error for a handshake message that cannot be read.
    pub fn malformed_handshake() -> p::TransportError {
        p::TransportErrorCode::PROTOCOL_VIOLATION.into()
    }

    /// One datagram at a time.
    pub const ONE: usize = 1;

    pub fn endpoint(common: Arc<p::EndpointConfig>, server: Option<Arc<p::ServerConfig>>) -> p::Endpoint {
        p::Endpoint::new(common, server, true, None)
    }

    /// Has a connection write its qlog, whose times count from the start of the run.
    pub fn log(transport: &mut p::TransportConfig, sink: Sink, clock: Clock) {
        let mut qlog = p::QlogConfig::default();
        qlog.writer(Box::new(sink)).start_time(clock.instant(Time::ZERO));
        transport.qlog_stream(qlog.into_stream());
    }

    pub fn ids<F>(common: &mut p::EndpointConfig, make: F)
    where
        F: Fn() -> Box<dyn p::ConnectionIdGenerator> + Send + Sync + 'static,
    {
        common.cid_generator(make);
    }

    /// The key that seals address tokens: from the run's random numbers, or that of the earlier connection.
    pub fn token_key(memory: Option<&Memory>, random: &mut Stream) -> Arc<dyn p::crypto::HandshakeTokenKey> {
        let key = seeds::bytes::<64>(random);
        let key = memory.map_or(key, |memory| memory.token_key);
        Arc::new(ring::hkdf::Salt::new(ring::hkdf::HKDF_SHA256, &[]).extract(&key))
    }

    pub fn handle(
        endpoint: &mut p::Endpoint,
        now: Instant,
        addresses: AddressPair,
        ecn: Option<p::EcnCodepoint>,
        data: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<p::DatagramEvent> {
        // quinn replies from the address that the connection began with, which a migrating peer no longer talks to.
        // Left unsaid, the address of the peer alone names the path.
        endpoint.handle(now, addresses.remote, None, ecn, data, answer)
    }

    /// The address of the peer that the connection uses now.
    pub fn remote(connection: &p::Connection) -> Option<SocketAddr> {
        Some(connection.remote_address())
    }

    /// How far the opening of a path has come.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Opening {
        /// The peer does not allow another path yet.
        NotYet,
    }

    /// quinn has one path.
    pub fn allow_paths(_: &mut p::TransportConfig, _: usize) {}

    pub fn allows_paths(_: &p::Event, _: &p::Connection) -> bool {
        false
    }

    pub fn open_path(_: &mut p::Connection, _: Instant, _: AddressPair) -> Result<Opening, PathError> {
        Err(PathError::SinglePath)
    }

    pub fn close_path(_: &mut p::Connection, _: Instant, _: AddressPair) -> Result<(), PathError> {
        Err(PathError::SinglePath)
    }

    pub fn write(stream: &mut p::SendStream<'_>, chunk: Bytes) -> Result<usize, p::WriteError> {
        stream.write_chunks(&mut [chunk]).map(|written| written.bytes)
    }

    pub fn counts(connection: &mut p::Connection, _: &Meter) -> Counts {
        let path = connection.stats().path;
        let (sent_packets, lost_packets, min_rtt) = (path.sent_packets, path.lost_packets, path.min_rtt);
        Counts { sent_packets, lost_packets, spurious: 0, min_rtt }
    }
}
