//! noq-proto as a [`StackConnection`](crate::connection::StackConnection), through the adapter that it shares with
//! quinn (`quinn_family/`); here is what is its own.

use crate::stack::Implementation;
use haltere_net::registry::Description;
use noq_proto as proto;

/// Passes on which arguments a packet key's methods have beyond those of the other stack: the path.
macro_rules! packet_key_arguments {
    ($define:ident) => {
        $define! { path: crate::noq::proto::PathId }
    };
}

/// Passes on what a congestion controller has beyond that of the other stack: packet number and sign of congestion as
/// arguments, and more methods.
macro_rules! controller_differences {
    ($define:ident) => {
        $define! {
            [packet_number: u64] [ecn: bool]
            ours {
                fn on_spurious_congestion_event(&mut self) {
                    self.0.on_undo();
                }
                fn metrics(&self) -> ControllerMetrics {
                    let (rate, quantum) = self.0.pacing();
                    let mut metrics = ControllerMetrics::default();
                    metrics.congestion_window = self.0.window();
                    metrics.pacing_rate = rate.map(|bps| bps / differences::BITS_PER_UNIT_OF_PACING);
                    metrics.send_quantum = rate.and(Some(quantum)).filter(|q| *q > 0);
                    metrics
                }
            }
            observed {
                fn on_packet_sent(&mut self, now: Instant, bytes: u16, packet_number: u64) {
                    self.inner.on_packet_sent(now, bytes, packet_number);
                }
                fn on_cwnd_limited(&mut self) {
                    self.inner.on_cwnd_limited();
                }
                fn on_packet_lost(&mut self, lost_bytes: u16, packet_number: u64, now: Instant) {
                    self.inner.on_packet_lost(lost_bytes, packet_number, now);
                }
                fn on_spurious_congestion_event(&mut self) {
                    self.inner.on_spurious_congestion_event();
                    self.note();
                }
                fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: std::time::Duration) {
                    self.inner.on_ack_frequency_update(threshold, max_ack_delay);
                }
            }
        }
    };
}

#[path = "quinn_family/mod.rs"]
#[expect(clippy::duplicate_mod, reason = "compiled once for each stack, against its own crate")]
mod adapter;

/// noq-proto.
pub(crate) const ENTRY: Implementation = Implementation {
    calls: true,
    schedulers: &["priority"],
    refused: &[(
        "bbr3",
        "draws random numbers of the operating system's for its probing times: runs could not be repeated",
    )],
    ..Implementation::new(
        Description {
            name: "noq",
            summary: "noq-proto, unmodified: descends from quinn",
            reference: "https://docs.rs/noq-proto",
        },
        "1.4.0",
        &["cubic", "newreno"],
        adapter::endpoint,
    )
};

/// Where noq's interface is not quinn's.
mod differences {
    use super::proto as p;
    use crate::addresses::AddressPair;
    use crate::clock::Clock;
    use crate::connection::Counts;
    use crate::handles::Sink;
    use crate::memory::Memory;
    use crate::meter::Meter;
    use crate::null;
    use bytes::{Bytes, BytesMut};
    use haltere_net::Time;
    use haltere_net::rng::Stream;
    use haltere_transport::path::PathError;
    use std::net::SocketAddr;
    use std::num::NonZeroUsize;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    /// How a method of a shared configuration takes it.
    pub type Receiver<'a, T> = &'a T;
    /// How a connection id is passed.
    pub type IdArgument<'a> = p::ConnectionId;
    /// noq's controllers tell their pacing rate in bytes a second.
    pub const BITS_PER_UNIT_OF_PACING: u64 = 8;

    /// The stack's error for a handshake message that cannot be read.
    pub fn malformed_handshake() -> p::TransportError {
        p::transport_parameters::Error::Malformed.into()
    }

    /// One datagram at a time.
    pub const ONE: NonZeroUsize = NonZeroUsize::MIN;

    pub fn endpoint(common: Arc<p::EndpointConfig>, server: Option<Arc<p::ServerConfig>>) -> p::Endpoint {
        p::Endpoint::new(common, server, true)
    }

    /// Has a connection write its qlog, whose times count from the start of the run.
    pub fn log(transport: &mut p::TransportConfig, sink: Sink, clock: Clock) {
        transport.qlog_factory(Arc::new(Log { sink, clock }));
    }

    struct Log {
        sink: Sink,
        clock: Clock,
    }

    impl p::QlogFactory for Log {
        fn for_connection(&self, _: p::Side, _: SocketAddr, _: p::ConnectionId, _: Instant) -> Option<p::QlogConfig> {
            let mut config = p::QlogConfig::new(Box::new(self.sink.clone()));
            config.start_time(self.clock.instant(Time::ZERO));
            Some(config)
        }
    }

    pub fn ids<F>(common: &mut p::EndpointConfig, make: F)
    where
        F: Fn() -> Box<dyn p::ConnectionIdGenerator> + Send + Sync + 'static,
    {
        common.cid_generator(Arc::new(make));
    }

    /// Address tokens with a checksum in place of a seal: nothing is gained here by keeping them secret, and noq's own
    /// key comes from the system's random numbers.
    struct OpenTokens;

    impl p::crypto::HandshakeTokenKey for OpenTokens {
        fn seal(&self, nonce: u128, data: &mut Vec<u8>) -> Result<(), p::crypto::CryptoError> {
            let len = data.len();
            data.resize(len + null::TAG, 0);
            null::seal(nonce as u64, data, 0);
            Ok(())
        }
        fn open<'a>(&self, nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], p::crypto::CryptoError> {
            let len = null::open(nonce as u64, &[], data).ok_or(p::crypto::CryptoError)?;
            Ok(&data[..len])
        }
    }

    pub fn token_key(_: Option<&Memory>, _: &mut Stream) -> Arc<dyn p::crypto::HandshakeTokenKey> {
        Arc::new(OpenTokens)
    }

    pub fn handle(
        endpoint: &mut p::Endpoint,
        now: Instant,
        addresses: AddressPair,
        ecn: Option<p::EcnCodepoint>,
        data: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<p::DatagramEvent> {
        endpoint.handle(now, four_tuple(addresses), ecn, data, answer)
    }

    /// The address of the peer that the connection uses now.
    pub fn remote(connection: &p::Connection) -> Option<SocketAddr> {
        connection.network_path(p::PathId::ZERO).ok().map(|path| path.remote())
    }

    /// How far the opening of a path has come.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Opening {
        /// The path is being validated.
        Begun,
        /// The peer does not allow another path yet: it has not given connection identifiers for one.
        NotYet,
    }

    /// Has a connection offer so many paths to its peer.
    pub fn allow_paths(transport: &mut p::TransportConfig, paths: usize) {
        transport.max_concurrent_multipath_paths(u32::try_from(paths).unwrap_or(u32::MAX));
    }

    /// Whether this event says that a client may open paths.
    pub fn allows_paths(event: &p::Event, connection: &p::Connection) -> bool {
        matches!(event, p::Event::HandshakeConfirmed)
            && connection.side().is_client()
            && connection.is_multipath_negotiated()
    }

    fn four_tuple(addresses: AddressPair) -> p::FourTuple {
        p::FourTuple::new(addresses.remote, Some(addresses.local.ip()))
    }

    /// Begins to validate a path, which is available, as noq calls it: it carries data as soon as the peer has answered.
    pub fn open_path(
        connection: &mut p::Connection,
        now: Instant,
        addresses: AddressPair,
    ) -> Result<Opening, PathError> {
        use p::PathError as E;
        match connection.open_path(four_tuple(addresses), p::PathStatus::Available, now) {
            Ok(_) => Ok(Opening::Begun),
            Err(E::RemoteCidsExhausted) => Ok(Opening::NotYet),
            Err(E::MaxPathIdReached) => Err(PathError::TooMany),
            Err(E::InvalidRemoteAddress(_) | E::ValidationFailed) => Err(PathError::Unreachable),
            Err(_) => Err(PathError::NotNegotiated),
        }
    }

    /// Gives a path up.
    pub fn close_path(connection: &mut p::Connection, now: Instant, addresses: AddressPair) -> Result<(), PathError> {
        let wanted = four_tuple(addresses);
        let id =
            connection.paths().into_iter().find(|id| connection.network_path(*id).is_ok_and(|path| path == wanted));
        let id = id.ok_or(PathError::NoSuchPath)?;
        connection.close_path(now, id, 0u8.into()).map_err(|error| match error {
            p::ClosePathError::LastOpenPath => PathError::LastPath,
            _ => PathError::NoSuchPath,
        })
    }

    pub fn write(stream: &mut p::SendStream<'_>, chunk: Bytes) -> Result<usize, p::WriteError> {
        stream.write_chunks(&mut &mut [chunk][..])
    }

    pub fn counts(connection: &mut p::Connection, meter: &Meter) -> Counts {
        let (all, paths) = (connection.stats(), connection.paths());
        let of_path = |id| connection.path_stats(id).map_or(0, |path| path.spurious_congestion_events);
        Counts {
            sent_packets: all.sent_packets,
            lost_packets: all.lost_packets,
            spurious: paths.into_iter().map(of_path).sum(),
            min_rtt: meter.rtt().map_or(Duration::ZERO, |(_, _, least)| Duration::from_nanos(least)),
        }
    }
}
