//! noq-proto behind the skin of a [`Machine`](crate::machine::Machine). What noq shares with its kin stands in `../kin`; here is
//! what is its own.

mod control;
mod counting;
mod crypto;
#[path = "../kin/machine.rs"]
#[expect(clippy::duplicate_mod, reason = "compiled once for each of the kin, against its own crate")]
mod machine;
#[path = "../kin/setup.rs"]
#[expect(clippy::duplicate_mod, reason = "compiled once for each of the kin, against its own crate")]
mod setup;

use noq_proto as proto;
pub(crate) use setup::parts;
use std::sync::Arc;

/// The factory of a congestion controller.
type Factory = Arc<dyn proto::congestion::ControllerFactory + Send + Sync>;

/// Where noq's interface is not that of its kin.
mod seam {
    use super::proto as p;
    use crate::clock::Clock;
    use crate::handles::Sink;
    use crate::machine::Counts;
    use crate::memory::Memory;
    use crate::meter::Meter;
    use crate::null;
    use bytes::{Bytes, BytesMut};
    use haltere_net::Time;
    use haltere_net::rng::Stream;
    use std::net::SocketAddr;
    use std::num::NonZeroUsize;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

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

    /// Address tokens with a checksum in place of a seal: there is nobody here from whom to keep them, and noq's own key comes
    /// from the system's dice.
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
        peer: SocketAddr,
        ecn: Option<p::EcnCodepoint>,
        data: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<p::DatagramEvent> {
        endpoint.handle(now, p::FourTuple::from_remote(peer), ecn, data, answer)
    }

    pub fn write(stream: &mut p::SendStream<'_>, chunk: Bytes) -> Result<usize, p::WriteError> {
        stream.write_chunks(&mut &mut [chunk][..])
    }

    pub fn counts(connection: &mut p::Connection, meter: &Meter) -> Counts {
        let path = connection.path_stats(p::PathId::ZERO).unwrap_or_default();
        Counts {
            sent_packets: path.sent_packets,
            lost_packets: path.lost_packets,
            spurious: path.spurious_congestion_events,
            min_rtt: meter.rtt().map_or(Duration::ZERO, |(_, _, _, least)| Duration::from_nanos(least)),
        }
    }
}
