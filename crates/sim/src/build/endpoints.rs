//! The transport at each end of a flow, with the mechanisms that its contender sets.

#[cfg(feature = "kernels")]
use super::roster::port_of_kernel;
use super::transports::Kit;
#[cfg(feature = "kernels")]
use super::transports::Way;
use crate::contender::{Contender, Switch, Transport};
use crate::fidelity::Subject;
#[cfg(feature = "stacks")]
use crate::recorder;
#[cfg(feature = "stacks")]
use haltere_net::PathId;
use haltere_net::rng::Stream;
use haltere_transport::cc::{Algorithm, Desk};
#[cfg(feature = "kernels")]
use haltere_transport::mechanisms::Value;
use haltere_transport::rtp::control::Control;
use haltere_transport::{Endpoint, Role, mechanisms, mptcp, quic, roq, rtp, tcp};

/// The worker program, which all ends of a run share whose stacks need one.
#[cfg(feature = "stacks")]
pub(super) type Worker = haltere_stacks::Worker;
#[cfg(not(feature = "stacks"))]
#[derive(Clone, Default)]
pub(super) struct Worker(());

/// The module of a flow's congestion control.
#[cfg(feature = "kernels")]
pub(super) type FlowModule = haltere_kernel::Module;
#[cfg(not(feature = "kernels"))]
pub(super) struct FlowModule(());

/// The programs of a flow.
#[cfg(feature = "kernels")]
pub(super) type FlowPrograms = haltere_kernel::Programs;
#[cfg(not(feature = "kernels"))]
#[derive(Clone)]
pub(super) struct FlowPrograms(());

/// The kernels of a run.
#[cfg(feature = "kernels")]
pub(super) type Kernels = haltere_kernel::Kernels;
#[cfg(not(feature = "kernels"))]
#[derive(Clone, Default)]
pub(super) struct Kernels(());

/// The most paths of a connection: as many as a scenario may have.
const MAX_PATHS: u8 = 64;

/// The identifiers that an end of a connection whose client moves has: the least that it must allow (RFC 9000 section 18.2).
const CONNECTION_IDS: u8 = 2;

/// One end of a connection, from whose configuration its endpoint is made.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    pub kit: &'a Kit,
    /// The kit's contender, or one in its shadow.
    pub contender: &'a Contender,
    pub shadows: &'a [Contender],
    pub role: Role,
}

/// The largest UDP payload in an IPv4 packet of a path with this MTU, bytes.
pub(super) fn udp_payload(mtu: u32) -> u16 {
    udp_payload_with(mtu, quic::sizes::IP_UDP)
}

/// The largest UDP payload in a packet of a path with this MTU whose headers of IP and UDP have so many bytes, bytes.
fn udp_payload_with(mtu: u32, headers: u32) -> u16 {
    u16::try_from(mtu.saturating_sub(headers)).unwrap_or(u16::MAX)
}

impl End<'_> {
    /// The endpoint of connection number `number`, which draws its random numbers from `stream`.
    #[cfg_attr(not(feature = "stacks"), allow(unused_variables, reason = "only stacks write a log of the first one"))]
    pub fn endpoint(&self, number: u32, stream: Stream) -> Result<Box<dyn Endpoint>, String> {
        match self.kit.subject {
            Subject::Model(algorithm) => self.model(algorithm, stream),
            Subject::Media(control) if self.contender.transport == Transport::Roq => {
                Ok(Box::new(roq::Connection::new(self.roq(control, stream))))
            }
            Subject::Media(control) => {
                Ok(Box::new(rtp::Connection::new(self.call(rtp::Config::new(self.role, control)))))
            }
            #[cfg(feature = "kernels")]
            Subject::Kernel { congestion } => {
                self.kit.kernels.end(self.on_kernel(congestion)?).map_err(|e| e.to_string())
            }
            #[cfg(feature = "kernels")]
            Subject::Program => match &self.kit.programs {
                Some(programs) => self.kit.kernels.program(self.on_kernel(None)?, programs).map_err(|e| e.to_string()),
                None => Err("only flows are carried by programs: choose another contender here".into()),
            },
            #[cfg(feature = "stacks")]
            subject @ Subject::Stack { .. } => {
                let Kit { past, mtu, rtts, call, paths, log, worker, .. } = self.kit;
                let over_quic = self.over_quic(&stream);
                let (mut config, mut handles) =
                    past.end(subject, self.contender, self.role, udp_payload(*mtu), stream)?;
                config.over_quic = over_quic;
                config.multipath = *paths > 1;
                config.rtts = *rtts;
                if let Some(call) = call {
                    (config.call.start, config.call.most) = (call.start, call.most);
                }
                if self.contender.has(Switch::RawEstimate) {
                    config.call.estimate = haltere_stacks::Estimate::Raw;
                }
                config.addresses =
                    (0..*paths).map(|k| haltere_stacks::AddressPair::of_path(self.role, PathId(k))).collect();
                if let Some((folder, flow)) = log.as_ref().filter(|_| number == 0) {
                    handles.qlog = Some(haltere_stacks::Sink::new(recorder::stack_log(folder, *flow, self.role)?));
                }
                handles.worker = worker.clone();
                handles.faults = Some(self.kit.streams.faults().clone());
                haltere_stacks::endpoint(config, handles).map_err(|e| e.to_string())
            }
        }
    }

    /// The end on the kernel of its node. The first end of a node decides where the kernel's random numbers begin, by a stream of the
    /// node's own.
    #[cfg(feature = "kernels")]
    fn on_kernel(&self, congestion: Option<&'static str>) -> Result<haltere_kernel::End, String> {
        let Kit { contender, hosts, ways, port, mtu, rtts, phases, streams, module, .. } = self.kit;
        let own = usize::from(self.role == Role::Server);
        let node = hosts[own].0;
        let settings = contender.in_linux()?;
        let nagle = contender.mechanisms.iter().any(|(name, value)| (*name, *value) == ("nagle", Value::On));
        let options = haltere_kernel::Options {
            multipath: contender.transport.is_multipath(),
            paced: settings.paced,
            acks_at_once: settings.acks_at_once,
            nagle,
            tos: self.kit.tos,
        };
        let way = |way: &Way| haltere_kernel::Way { own: way.ends[own], peer: way.ends[1 - own], backup: way.backup };
        Ok(haltere_kernel::End {
            role: self.role,
            node,
            ways: ways.iter().map(way).collect(),
            port: port_of_kernel(*port)?,
            congestion: module.as_ref().map_or(congestion.unwrap_or_default().to_owned(), |module| module.name.clone()),
            module: module.as_deref().cloned(),
            contender: contender.to_string(),
            settings,
            options,
            mtu: *mtu,
            rtts: *rtts,
            faults: streams.faults().clone(),
            dice: streams.named(&format!("kernel {node}")).bits(),
            phase: phases[own],
        })
    }

    fn model(&self, algorithm: Algorithm, stream: Stream) -> Result<Box<dyn Endpoint>, String> {
        Ok(match self.contender.transport {
            Transport::Tcp => Box::new(tcp::Connection::new(self.tcp(algorithm, stream))),
            Transport::Quic => Box::new(quic::Connection::new(self.quic(algorithm, stream))),
            Transport::Mptcp => Box::new(mptcp::Connection::new(self.mptcp(algorithm, stream))),
            Transport::Mpquic => Box::new(quic::Connection::new(self.mpquic(algorithm, stream))),
            Transport::Rtp | Transport::Roq => {
                return Err("calls have congestion controls of their own: write rtp/gcc".into());
            }
        })
    }

    /// An end of a call over QUIC.
    fn roq(&self, control: Control, stream: Stream) -> roq::Config {
        let mut config = roq::Config::new(self.role, control, stream);
        config.media = self.call(config.media);
        mechanisms::apply(mechanisms::ROQ, &self.contender.mechanisms, &mut config);
        self.fit(&mut config.quic);
        config
    }

    /// The call that a stack's QUIC carries, if it carries one.
    #[cfg(feature = "stacks")]
    fn over_quic(&self, stream: &Stream) -> Option<haltere_stacks::OverQuic> {
        let control = self.contender.media.filter(|_| self.contender.transport == Transport::Roq)?;
        let roq::Config { media, mapping, .. } = self.roq(control, stream.clone());
        Some(haltere_stacks::OverQuic { media, mapping })
    }

    /// Fits a connection of QUIC to the flow.
    fn fit(&self, config: &mut quic::Config) {
        config.rtts = self.kit.rtts;
        if self.kit.moves && !self.contender.transport.is_multipath() {
            config.connection_ids = Some(CONNECTION_IDS);
        }
        config.max_udp_payload = udp_payload_with(self.kit.mtu, config.ip_udp);
        config.faults = Some(self.kit.streams.faults().clone());
    }

    /// An end of a call, fitted to the flow.
    fn call(&self, mut config: rtp::Config) -> rtp::Config {
        config.rtts = self.kit.rtts;
        config.max_packet = config.max_packet.min(self.kit.mtu);
        if let Some(call) = &self.kit.call {
            config.rates = [call.least, call.most, call.start];
            config.frames = call.frames;
        }
        config
    }

    /// Controllers like this end's with a shadow's congestion control. They have the same dice, so that a shadow of
    /// itself never parts.
    fn shadows<C>(&self, stream: &Stream, make: fn(&End<'_>, Algorithm, Stream) -> C) -> Vec<C> {
        let own = |contender: &Contender| {
            let algorithm = contender.algorithm().ok()?;
            Some(make(&End { contender, shadows: &[], ..*self }, algorithm, stream.clone()))
        };
        self.shadows.iter().filter_map(own).collect()
    }

    /// The agent that decides for this end: the one that sends.
    fn agent(&self) -> Option<Desk> {
        self.kit.agent.clone().filter(|_| self.role == Role::Server)
    }

    fn tcp(&self, algorithm: Algorithm, stream: Stream) -> tcp::Config {
        let contender = self.contender;
        let shadows = self.shadows(&stream, |end, algorithm, stream| end.tcp(algorithm, stream));
        let mut config = tcp::Config::new(self.role, algorithm, stream);
        config.mtu = self.kit.mtu;
        config.phase = self.kit.phases[usize::from(self.role == Role::Server)];
        config.rtts = self.kit.rtts;
        config.agent = self.agent();
        config.faults = Some(self.kit.streams.faults().clone());
        config.shadow = shadows.into_iter().rev().fold(None, |next, mut own: tcp::Config| {
            own.shadow = next;
            Some(Box::new(own))
        });
        config.fast_open = contender.has(Switch::FastOpen);
        mechanisms::apply(mechanisms::TCP, &contender.mechanisms, &mut config);
        if let Some(ack) = self.kit.ack {
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
        self.fit(&mut config);
        mechanisms::apply(mechanisms::QUIC, &contender.mechanisms, &mut config);
        config.max_udp_payload = udp_payload_with(self.kit.mtu, config.ip_udp);
        config.agent = self.agent();
        config.shadow = shadows.into_iter().rev().fold(None, |next, mut own: quic::Config| {
            own.shadow = next;
            Some(Box::new(own))
        });
        config.session = contender.session();
        config.retry = self.role == Role::Server && contender.has(Switch::Retry);
        config.unknown_version = self.role == Role::Client && contender.has(Switch::VersionNegotiation);
        if let Some(ack) = self.kit.ack {
            ack.apply_to_quic(&mut config);
        }
        config
    }
}
