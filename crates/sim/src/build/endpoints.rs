//! The transport at each end of a flow, with the mechanisms that its contender sets.

use crate::ack::AckSpec;
use crate::contender::{Contender, Switch, Transport};
use crate::fidelity::Subject;
#[cfg(feature = "stacks")]
use crate::recorder;
use crate::recorder::Files;
use crate::stack::Past;
#[cfg(feature = "stacks")]
use haltere_net::PathId;
use haltere_net::Span;
use haltere_net::rng::Stream;
use haltere_transport::cc::Algorithm;
use haltere_transport::{Endpoint, Role, mechanisms, mptcp, quic, tcp};

/// The worker program, which all ends of a run share whose stacks need one.
#[cfg(feature = "stacks")]
pub(super) type Worker = haltere_stacks::Worker;
#[cfg(not(feature = "stacks"))]
#[derive(Clone, Default)]
pub(super) struct Worker(());

/// The most paths of a connection: as many as a scenario may have.
const MAX_PATHS: u8 = 64;

/// The identifiers that an end of a connection whose client moves has: the least that it must allow (RFC 9000 section 18.2).
const CONNECTION_IDS: u8 = 2;

/// The configuration of one end of a flow, from which its endpoint is made.
pub(super) struct End<'a> {
    pub contender: &'a Contender,
    pub shadows: &'a [Contender],
    pub ack: Option<AckSpec>,
    pub role: Role,
    #[cfg_attr(not(feature = "stacks"), allow(dead_code, reason = "only stacks write files of their own"))]
    pub flow: u32,
    pub mtu: u32,
    pub phase: Span,
    /// Whether the distribution of RTTs is kept.
    pub rtts: bool,
    /// Whether its client moves to other addresses.
    pub moves: bool,
    /// The paths that there are between the ends.
    #[cfg_attr(not(feature = "stacks"), allow(dead_code, reason = "the model takes paths as they come"))]
    pub paths: u8,
    #[cfg_attr(not(feature = "stacks"), allow(dead_code, reason = "only stacks write files of their own"))]
    pub files: Option<&'a Files>,
    #[cfg_attr(not(feature = "stacks"), allow(dead_code, reason = "only stacks need one"))]
    pub worker: &'a Worker,
    #[cfg_attr(not(feature = "stacks"), allow(dead_code, reason = "the model needs no past to resume a session"))]
    pub past: &'a Past,
}

/// The largest UDP payload in an IPv4 packet of a path with this MTU, bytes.
pub(super) fn udp_payload(mtu: u32) -> u16 {
    u16::try_from(mtu.saturating_sub(quic::sizes::IP_UDP)).unwrap_or(u16::MAX)
}

impl End<'_> {
    /// The endpoint of a connection that draws its random numbers from `stream`.
    pub fn endpoint(&self, subject: Subject, stream: Stream) -> Result<Box<dyn Endpoint>, String> {
        match subject {
            Subject::Model(algorithm) => Ok(self.model(algorithm, stream)),
            #[cfg(feature = "stacks")]
            Subject::Stack { .. } => {
                let (mut config, mut handles) =
                    self.past.end(subject, self.contender, self.role, udp_payload(self.mtu), stream)?;
                config.multipath = self.paths > 1;
                config.rtts = self.rtts;
                config.addresses =
                    (0..self.paths).map(|k| haltere_stacks::AddressPair::of_path(self.role, PathId(k))).collect();
                let log = recorder::stack_log(self.files, self.flow, self.role)?;
                handles.qlog = log.map(haltere_stacks::Sink::new);
                handles.worker = self.worker.clone();
                haltere_stacks::endpoint(config, handles).map_err(|e| e.to_string())
            }
        }
    }

    fn model(&self, algorithm: Algorithm, stream: Stream) -> Box<dyn Endpoint> {
        match self.contender.transport {
            Transport::Tcp => Box::new(tcp::Connection::new(self.tcp(algorithm, stream))),
            Transport::Quic => Box::new(quic::Connection::new(self.quic(algorithm, stream))),
            Transport::Mptcp => Box::new(mptcp::Connection::new(self.mptcp(algorithm, stream))),
            Transport::Mpquic => Box::new(quic::Connection::new(self.mpquic(algorithm, stream))),
        }
    }

    /// The same end with a shadow's congestion control. It has the same dice, so that a shadow of itself never parts.
    fn shadows<C>(&self, stream: &Stream, make: fn(&End<'_>, Algorithm, Stream) -> C) -> Vec<C> {
        let own = |contender: &Contender| {
            let algorithm = contender.algorithm().ok()?;
            Some(make(&End { contender, shadows: &[], ..*self }, algorithm, stream.clone()))
        };
        self.shadows.iter().filter_map(own).collect()
    }

    fn tcp(&self, algorithm: Algorithm, stream: Stream) -> tcp::Config {
        let contender = self.contender;
        let shadows = self.shadows(&stream, |end, algorithm, stream| end.tcp(algorithm, stream));
        let mut config = tcp::Config::new(self.role, algorithm, stream);
        config.mtu = self.mtu;
        config.phase = self.phase;
        config.rtts = self.rtts;
        config.shadow = shadows.into_iter().rev().fold(None, |next, mut own: tcp::Config| {
            own.shadow = next;
            Some(Box::new(own))
        });
        config.fast_open = contender.has(Switch::FastOpen);
        mechanisms::apply(mechanisms::TCP, &contender.mechanisms, &mut config);
        if let Some(ack) = self.ack {
            ack.apply_to_tcp(&mut config);
        }
        config
    }

    fn mptcp(&self, algorithm: Algorithm, stream: Stream) -> mptcp::Config {
        let mut config = mptcp::Config::new(self.tcp(algorithm, stream));
        config.max_subflows = MAX_PATHS;
        mechanisms::apply(mechanisms::MPTCP, &self.contender.mechanisms, &mut config);
        config
    }

    fn mpquic(&self, algorithm: Algorithm, stream: Stream) -> quic::Config {
        let mut config = self.quic(algorithm, stream);
        config.max_paths = MAX_PATHS;
        mechanisms::apply(mechanisms::MPQUIC, &self.contender.mechanisms, &mut config);
        config
    }

    fn quic(&self, algorithm: Algorithm, stream: Stream) -> quic::Config {
        let contender = self.contender;
        let shadows = self.shadows(&stream, |end, algorithm, stream| end.quic(algorithm, stream));
        let mut config = quic::Config::new(self.role, algorithm, stream);
        config.rtts = self.rtts;
        if self.moves && self.contender.transport == Transport::Quic {
            config.connection_ids = Some(CONNECTION_IDS);
        }
        mechanisms::apply(mechanisms::QUIC, &contender.mechanisms, &mut config);
        config.max_udp_payload = u16::try_from(self.mtu.saturating_sub(config.ip_udp)).unwrap_or(u16::MAX);
        config.shadow = shadows.into_iter().rev().fold(None, |next, mut own: quic::Config| {
            own.shadow = next;
            Some(Box::new(own))
        });
        config.session = contender.session();
        config.retry = self.role == Role::Server && contender.has(Switch::Retry);
        config.unknown_version = self.role == Role::Client && contender.has(Switch::VersionNegotiation);
        if let Some(ack) = self.ack {
            ack.apply_to_quic(&mut config);
        }
        config
    }
}
