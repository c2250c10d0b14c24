//! quinn-proto behind the skin of a [`Machine`](crate::machine::Machine). What quinn shares with its kin stands in `../kin`; here is
//! what is its own.

mod control;
mod counting;
mod crypto;
#[path = "../kin/machine.rs"]
mod machine;
#[path = "../kin/setup.rs"]
mod setup;

use quinn_proto as proto;
pub(crate) use setup::parts;
use std::sync::Arc;

/// The factory of a congestion controller.
type Factory = Arc<dyn proto::congestion::ControllerFactory + Send + Sync>;

/// Where quinn's interface is not that of its kin.
mod seam {
    use super::proto as p;
    use crate::clock::Clock;
    use crate::handles::Sink;
    use crate::machine::Counts;
    use crate::memory::Memory;
    use crate::meter::Meter;
    use crate::seeds;
    use bytes::{Bytes, BytesMut};
    use haltere_net::Time;
    use haltere_net::rng::Stream;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::time::Instant;

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

    /// What seals address tokens: a key from the run's dice, or that of the earlier connection.
    pub fn token_key(memory: Option<&Memory>, dice: &mut Stream) -> Arc<dyn p::crypto::HandshakeTokenKey> {
        let key = seeds::bytes::<64>(dice);
        let key = memory.map_or(key, |memory| memory.token_key);
        Arc::new(ring::hkdf::Salt::new(ring::hkdf::HKDF_SHA256, &[]).extract(&key))
    }

    pub fn handle(
        endpoint: &mut p::Endpoint,
        now: Instant,
        peer: SocketAddr,
        ecn: Option<p::EcnCodepoint>,
        data: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<p::DatagramEvent> {
        endpoint.handle(now, peer, None, ecn, data, answer)
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
