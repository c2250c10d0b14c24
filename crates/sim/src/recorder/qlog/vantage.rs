//! The file of one end of a connection.

use super::bytes::Bytes;
use super::packets::{self, millis, quic_header};
use super::schema::{
    self, CommonFields, Configuration, CongestionStateUpdated, ConnectionClosed, ConnectionStarted, ConnectionState,
    FileHeader, Header, LossTimerUpdated, MetricsUpdated, MigrationState, PacketLost, TcpParameters, TcpParametersSet,
    TraceHeader, VantagePoint,
};
use crate::recorder::Origin;
use crate::recorder::spool::Spool;
use haltere_net::incident::{CongestionState, LossSign, MigrationStep, PacketName, Reception, TimerChange, TimerName};
use haltere_net::{ConnectionId, Incident, Metric, Packet, Span, Time};
use haltere_transport::tcp::Segment;
use haltere_transport::{Body, CloseReason, Event};
use serde::Serialize;
use std::io::Write;
use std::net::SocketAddrV4;

/// Record separator and end of a JSON text (RFC 7464 section 2.2).
const SEPARATOR: u8 = 0x1e;
const END: u8 = b'\n';

/// The connection of a file, and which end of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity<'a> {
    pub flow: usize,
    pub contender: &'a str,
    /// `TCP` or `QUIC`.
    pub protocol: &'static str,
    /// The type of the streams of a connection of QUIC.
    pub stream_type: &'static str,
    /// `client` or `server`.
    pub role: &'static str,
    pub client: SocketAddrV4,
    pub server: SocketAddrV4,
}

/// The file of one end.
///
/// Reports of a component while a packet is made are written after that packet's event. Reports while a packet is
/// processed are written after the event of that packet. `pending` holds these lines until then.
pub(super) struct Vantage {
    file: Spool,
    started: bool,
    over: bool,
    client: SocketAddrV4,
    server: SocketAddrV4,
    protocol: &'static str,
    stream_type: &'static str,
    pending: Vec<u8>,
    metrics: MetricsUpdated,
    /// When the metrics changed.
    changed: Option<Time>,
    state: CongestionState,
    /// Packets of the present datagram without a report yet, and packets that are buffered for later.
    arrived: Vec<(PacketName, schema::Packet)>,
    kept: Vec<(PacketName, schema::Packet)>,
    /// TCP: each connection of the process, and the highest acknowledgements sent and received on it.
    acked: Vec<(ConnectionId, [u64; 2])>,
    /// Connections of kernels.
    bytes: Bytes,
    tcp: bool,
}

impl Vantage {
    /// Begins a file.
    pub(super) fn new(mut file: Spool, who: Identity<'_>, origin: &Origin) -> Result<Vantage, String> {
        let header = FileHeader {
            qlog_version: schema::VERSION,
            qlog_format: schema::FORMAT,
            title: format!("flow {}: {}", who.flow, who.contender),
            description: format!("{}, {}", Origin::PROGRAM, origin.text()),
            trace: TraceHeader {
                vantage_point: VantagePoint { name: who.role, kind: who.role },
                configuration: Configuration { time_offset: 0.0 },
                common_fields: CommonFields {
                    group_id: &format!("flow {}", who.flow),
                    protocol_type: [who.protocol],
                    reference_time: 0.0,
                    time_format: "relative",
                },
            },
        };
        let mut text = Vec::new();
        record(&mut text, &header);
        file.write_all(&text).map_err(|e| e.to_string())?;
        Ok(Vantage {
            file,
            started: false,
            over: false,
            client: who.client,
            server: who.server,
            protocol: who.protocol,
            stream_type: who.stream_type,
            pending: Vec::new(),
            metrics: MetricsUpdated::default(),
            changed: None,
            state: CongestionState::default(),
            arrived: Vec::new(),
            kept: Vec::new(),
            acked: Vec::new(),
            bytes: Bytes::default(),
            tcp: who.protocol == "TCP",
        })
    }

    /// Writes an event after all earlier ones.
    fn event<D: Serialize>(&mut self, at: Time, name: &'static str, data: D) {
        self.settle();
        record(&mut self.pending, &schema::Event { time: millis(at.since(Time::ZERO)), name, data });
    }

    /// Writes an event with the metrics that changed.
    fn settle(&mut self) {
        let Some(at) = self.changed.take() else { return };
        let data = std::mem::take(&mut self.metrics);
        let event = schema::Event { time: millis(at.since(Time::ZERO)), name: "recovery:metrics_updated", data };
        record(&mut self.pending, &event);
    }

    /// Writes the pending lines.
    fn flush(&mut self) {
        self.settle();
        // The spool keeps its first failure until the end.
        let _ = self.file.write_all(&self.pending);
        self.pending.clear();
    }

    fn start(&mut self, at: Time) {
        if !std::mem::replace(&mut self.started, true) {
            let started = ConnectionStarted {
                ip_version: "v4",
                src_ip: self.client.ip().to_string(),
                dst_ip: self.server.ip().to_string(),
                protocol: self.protocol,
                src_port: self.client.port(),
                dst_port: self.server.port(),
            };
            self.event(at, "connectivity:connection_started", started);
        }
    }

    fn segment(&mut self, segment: &Segment, packet: &Packet<Body>, way: usize) -> schema::Packet {
        let known = self.acked.iter().position(|(connection, _)| *connection == packet.flow.connection);
        let number = known.unwrap_or_else(|| {
            self.acked.push((packet.flow.connection, [0; 2]));
            self.acked.len() - 1
        });
        packets::tcp(segment, packet.len, number as u32, &mut self.acked[number].1[way])
    }

    /// A packet arrived.
    pub(super) fn received(&mut self, at: Time, packet: &Packet<Body>) {
        self.start(at);
        self.flush();
        match &packet.body {
            Body::Quic(datagram) => {
                self.arrived.extend(packets::quic(datagram, self.stream_type));
                if let Some(parameters) = packets::parameters(datagram) {
                    self.event(at, "transport:parameters_set", packets::parameters_set(parameters, "remote"));
                }
            }
            Body::Tcp(_) | Body::Mptcp(_) => {
                let Some(segment) = packet.body.segment() else { return };
                let mut packet = self.segment(segment, packet, 1);
                if segment.damaged {
                    (packet.trigger, packet.details) = (Some("general"), Some("its checksum is wrong"));
                    return self.event(at, "transport:packet_dropped", packet);
                }
                self.event(at, "transport:packet_received", packet);
            }
            Body::Udp(payload) => self.event(at, "transport:datagrams_received", packets::datagram(payload)),
            Body::Ip(bytes) => {
                if let Some(segment) = self.bytes.segment(bytes) {
                    let packet = self.segment(&segment, packet, 1);
                    self.event(at, "transport:packet_received", packet);
                }
            }
            // Processes that exchange datagrams have no log, nor have calls.
            Body::Datagram(_) | Body::Rtp(_) => {}
        }
    }

    /// The present packet or timer was processed.
    pub(super) fn done(&mut self, at: Time) {
        for (_, mut packet) in std::mem::take(&mut self.arrived) {
            // The connection ignored the packet.
            packet.trigger = Some("general");
            packet.details = Some("the connection is closing or over");
            self.event(at, "transport:packet_dropped", packet);
        }
        self.flush();
    }

    /// A packet leaves.
    pub(super) fn sent(&mut self, at: Time, packet: &Packet<Body>) {
        self.settle();
        let pending = std::mem::take(&mut self.pending);
        self.start(at);
        match &packet.body {
            Body::Quic(datagram) => {
                if let Some(parameters) = packets::parameters(datagram) {
                    self.event(at, "transport:parameters_set", packets::parameters_set(parameters, "local"));
                }
                for (_, packet) in packets::quic(datagram, self.stream_type) {
                    self.event(at, "transport:packet_sent", packet);
                }
            }
            Body::Tcp(_) | Body::Mptcp(_) => {
                let Some(segment) = packet.body.segment() else { return };
                let packet = self.segment(segment, packet, 0);
                self.event(at, "transport:packet_sent", packet);
            }
            Body::Udp(payload) => self.event(at, "transport:datagrams_sent", packets::datagram(payload)),
            Body::Ip(bytes) => {
                if let Some(segment) = self.bytes.segment(bytes) {
                    let packet = self.segment(&segment, packet, 0);
                    self.event(at, "transport:packet_sent", packet);
                }
            }
            Body::Datagram(_) | Body::Rtp(_) => {}
        }
        self.pending.extend(pending);
        self.flush();
    }

    /// A metric changed.
    pub(super) fn changed(&mut self, at: Time, metric: Metric, value: u64) {
        if self.changed.is_some_and(|t| t != at) {
            self.settle();
        }
        let m = &mut self.metrics;
        match metric {
            Metric::Cwnd => m.congestion_window = Some(value),
            Metric::Ssthresh if value == u64::MAX => return,
            Metric::Ssthresh => m.ssthresh = Some(value),
            Metric::BytesInFlight => m.bytes_in_flight = Some(value),
            Metric::PacingRate => m.pacing_rate = Some(value),
            // The RTT is written with its estimates. The schema has no delivery rate.
            _ => return,
        }
        self.changed = Some(at);
    }

    /// The application receives an event.
    pub(super) fn application(&mut self, at: Time, event: Event) {
        let (reason, trigger) = match event {
            Event::Connected => {
                let state = ConnectionState { new: "handshake_completed" };
                return self.event(at, "connectivity:connection_state_updated", state);
            }
            Event::Closed => (None, "clean"),
            Event::Failed(reason) => (
                Some(reason.text().into_owned()),
                match reason {
                    CloseReason::HandshakeTimeout => "handshake_timeout",
                    CloseReason::IdleTimeout => "idle_timeout",
                    _ => "error",
                },
            ),
            _ => return,
        };
        if !std::mem::replace(&mut self.over, true) {
            self.event(at, "connectivity:connection_closed", ConnectionClosed { reason, trigger });
        }
    }

    /// The transport reports an incident.
    pub(super) fn happened(&mut self, at: Time, incident: Incident) {
        match incident {
            Incident::Received(name, reception) => self.taken(at, name, reception),
            Incident::Lost(name, sign) => {
                let trigger = match sign {
                    LossSign::Reordering => "reordering_threshold",
                    LossSign::Time => "time_threshold",
                    LossSign::Timeout => "pto_expired",
                };
                self.event(at, "recovery:packet_lost", PacketLost { header: self.header(name), trigger });
            }
            Incident::RttSampled { latest, smoothed, min, variation } => {
                if self.changed.is_some_and(|t| t != at) {
                    self.settle();
                }
                self.metrics.latest_rtt = Some(millis(latest));
                self.metrics.smoothed_rtt = Some(millis(smoothed));
                self.metrics.min_rtt = Some(millis(min));
                self.metrics.rtt_variance = Some(millis(variation));
                self.changed = Some(at);
            }
            Incident::CongestionState(state) => {
                let old = std::mem::replace(&mut self.state, state);
                let data = CongestionStateUpdated { old: state_name(old), new: state_name(state) };
                self.event(at, "recovery:congestion_state_updated", data);
            }
            Incident::Timer(timer, change) => {
                let timer_type = match timer {
                    TimerName::Loss => "ack",
                    TimerName::Probe => "pto",
                };
                let (event_type, delta) = match change {
                    TimerChange::Set(until) => ("set", Some(millis(until.since(at)))),
                    TimerChange::Cancelled => ("cancelled", None),
                    TimerChange::Expired => ("expired", Some(millis(Span::ZERO))),
                };
                self.event(at, "recovery:loss_timer_updated", LossTimerUpdated { timer_type, event_type, delta });
            }
            Incident::Migration { path, step } => {
                let new = match step {
                    MigrationStep::ProbingStarted => "probing_started",
                    MigrationStep::ProbingAbandoned => "probing_abandoned",
                    MigrationStep::Started => "migration_started",
                    MigrationStep::Complete => "migration_complete",
                    MigrationStep::Abandoned => "migration_abandoned",
                };
                self.event(at, "connectivity:migration_state_updated", MigrationState { new, path: path.0 });
            }
            // The packet's frames say so.
            Incident::Carried { .. } => {}
            Incident::Options { mss, window_scale, timestamps } => {
                let tcp = TcpParameters { mss, window_scale, timestamps };
                let data = TcpParametersSet { owner: "local", unknown_parameters: [], tcp };
                self.event(at, "transport:parameters_set", data);
            }
        }
    }

    fn header(&self, name: PacketName) -> Header {
        if self.tcp { packets::tcp_header(name.number, packets::TCP_DATA) } else { quic_header(name) }
    }

    /// A QUIC packet was read, buffered or dropped. This event comes before the events that the packet causes.
    fn taken(&mut self, at: Time, name: PacketName, reception: Reception) {
        let found = [&mut self.arrived, &mut self.kept].into_iter().find_map(|list| {
            let at = list.iter().position(|(n, _)| *n == name)?;
            Some(list.remove(at).1)
        });
        let Some(mut packet) = found else { return };
        match reception {
            Reception::Read => self.event(at, "transport:packet_received", packet),
            Reception::Kept => {
                self.kept.push((name, packet.clone()));
                packet.trigger = Some("keys_unavailable");
                packet.frames = None;
                self.event(at, "transport:packet_buffered", packet);
            }
            Reception::Dropped(details) => {
                packet.trigger = Some("general");
                packet.details = Some(details);
                packet.frames = None;
                self.event(at, "transport:packet_dropped", packet);
            }
        }
    }

    /// Completes the file.
    pub(super) fn finish(mut self) -> Result<(), String> {
        self.flush();
        self.file.finish()
    }
}

fn state_name(state: CongestionState) -> &'static str {
    match state {
        CongestionState::SlowStart => "slow_start",
        CongestionState::Avoidance => "congestion_avoidance",
        CongestionState::Recovery => "recovery",
        CongestionState::Timeout => "timeout_recovery",
    }
}

/// Appends a record. It consists of numbers and strings only, so that nothing can fail.
fn record<T: Serialize>(text: &mut Vec<u8>, value: &T) {
    text.push(SEPARATOR);
    let from = text.len();
    if serde_json::to_writer(&mut *text, value).is_err() {
        text.truncate(from - 1);
        return;
    }
    text.push(END);
}
