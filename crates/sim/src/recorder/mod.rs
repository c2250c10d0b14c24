//! Records of a run beside its result: series of metrics, qlog files, captures of links.
//!
//! Components report their decisions through [`Cx`](haltere_net::Cx). The world reports packets: when a process sends
//! or receives them, and when they arrive at a link's end. No transport therefore knows of a file.

mod pcapng;
mod places;
mod qlog;
mod schedule;
mod series;
mod shadows;
mod spool;

use crate::build::FlowPart;
use crate::scenario::ScenarioError;
use haltere_net::control::ShadowReport;
use haltere_net::topology::Topology;
use haltere_net::{ComponentId, Incident, Metric, Packet, PathId, Probe, Time};
use haltere_transport::{Body, Event, Role};
use pcapng::Captures;
use qlog::Logs;
pub use schedule::{Carried, Schedules};
pub use series::{AllSeries, Series};
pub use shadows::{Shadow, Shadows};
use std::path::PathBuf;

/// The records of a trace beside its series, most of them in files.
#[derive(Clone, Default, Debug)]
pub struct Files {
    /// Folder for a qlog file of each end of each flow.
    pub qlog: Option<PathBuf>,
    /// Captures of links.
    pub pcap: Option<Pcap>,
    /// Congestion controls in the shadow of each flow's: a congestion control with switches, such as `cubic-hystart`, or a
    /// contender, which follows the flows of its transport.
    pub shadows: Vec<String>,
    /// Nobody is asked for metrics: there are packets alone. A kernel that is asked for its state wakes a process, which moves its packets by
    /// some hundred nanoseconds.
    pub packets_alone: bool,
}

impl Files {
    /// Creates the folder of qlog files.
    ///
    /// # Errors
    ///
    /// If it cannot be created; the path is `qlog`.
    pub(crate) fn prepare(&self) -> Result<(), ScenarioError> {
        let folder = self.qlog.as_ref().map_or(Ok(()), |folder| spool::Spool::folder(folder));
        folder.map_err(|message| ScenarioError { path: "qlog".into(), message })
    }
}

/// Everything that was recorded, but for the files.
#[derive(Clone, Default, Debug)]
pub struct Recorded {
    /// The series, by component, path and metric.
    pub series: Vec<Series>,
    /// The packets that each process sent on each path.
    pub schedules: Schedules,
    /// Congestion controls in the shadow of others.
    pub shadows: Shadows,
}

/// Which links are captured, and where the files are written.
#[derive(Clone, Default, Debug)]
pub struct Pcap {
    /// Folder for a pcapng file of each link.
    pub folder: PathBuf,
    /// Names of the links; an empty list means all links.
    pub links: Vec<String>,
}

/// The description of a run in its files.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The run's seed.
    pub seed: u64,
    /// Its replication.
    pub replication: u64,
}

impl Origin {
    /// The program that wrote a file.
    const PROGRAM: &'static str = concat!("haltere ", env!("CARGO_PKG_VERSION"));

    fn text(&self) -> String {
        format!("simulated: seed {}, replication {}", self.seed, self.replication)
    }
}

/// The file for the log of a production stack itself: beside ours, `flow-N-ROLE-stack.sqlog`.
///
/// # Errors
///
/// If the file cannot be created.
#[cfg(feature = "stacks")]
pub(crate) fn stack_log(
    folder: &std::path::Path,
    flow: u32,
    role: Role,
) -> Result<Box<dyn std::io::Write + Send>, String> {
    let role = if role == Role::Client { "client" } else { "server" };
    let spool = spool::Spool::new(folder.join(format!("flow-{}-{role}-stack.sqlog", flow)))?;
    Ok(Box::new(spool))
}

/// Receives what components report and what the world sees. The methods that the world calls are `cold`: nearly all
/// runs have no recorder, and only test for one.
pub struct Recorder {
    /// Number of network elements. Components with higher numbers are processes.
    elements: u32,
    series: AllSeries,
    schedules: Schedules,
    shadows: Shadows,
    logs: Option<Logs>,
    captures: Option<Captures>,
    packets_alone: bool,
}

impl Recorder {
    /// A recorder for these flows. It creates its files.
    ///
    /// # Errors
    ///
    /// If a link does not exist, or a file cannot be created; the path is `pcap` or `qlog`.
    pub(crate) fn new(
        topology: &Topology,
        flows: &[FlowPart],
        files: &Files,
        origin: &Origin,
    ) -> Result<Recorder, ScenarioError> {
        let pcap = files.pcap.as_ref().map(|pcap| Captures::new(pcap, topology, origin));
        let qlog = files.qlog.as_ref().map(|folder| Logs::new(folder, flows, origin));
        let wrong = |path: &str| {
            let path = path.to_string();
            move |message| ScenarioError { path, message }
        };
        Ok(Recorder {
            elements: topology.elements() as u32,
            series: AllSeries::default(),
            schedules: Schedules::default(),
            shadows: Shadows::default(),
            captures: pcap.transpose().map_err(wrong("pcap"))?,
            logs: qlog.transpose().map_err(wrong("qlog"))?,
            packets_alone: files.packets_alone,
        })
    }

    /// Whoever takes reports of metrics, if anybody does.
    pub fn probe(&mut self) -> Option<&mut dyn Probe> {
        if self.packets_alone { None } else { Some(self) }
    }

    /// A packet that this end of its connection sent arrived at a link's end.
    #[cold]
    pub fn arrived(&mut self, link: u32, at: Time, packet: &Packet<Body>, sender: Role) {
        if let Some(captures) = &mut self.captures {
            captures.arrived(link, at, packet, sender);
        }
    }

    /// A process receives a packet. Its reports about the packet follow, until [`done`](Self::done).
    #[cold]
    pub fn received(&mut self, process: u32, at: Time, packet: &Packet<Body>) {
        if let Some(logs) = &mut self.logs {
            logs.received(process, at, packet);
        }
    }

    /// A process has processed its packet or its timers, and has not sent anything yet.
    #[cold]
    pub fn done(&mut self, process: u32, at: Time) {
        if let Some(logs) = &mut self.logs {
            logs.done(process, at);
        }
    }

    /// A process sends a packet.
    #[cold]
    pub fn sent(&mut self, process: u32, at: Time, packet: &Packet<Body>) {
        if let Some(captures) = &mut self.captures {
            captures.sent(process, packet);
        }
        if let Some(logs) = &mut self.logs {
            logs.sent(process, at, packet);
        }
    }

    /// A transport of a process reported an event to the application.
    #[cold]
    pub fn application_event(&mut self, process: u32, at: Time, event: Event) {
        if let Some(logs) = &mut self.logs {
            logs.application_event(process, at, event);
        }
    }

    /// A process has new TLS secrets, as lines of `SSLKEYLOGFILE`. In captures they come before the packets that they
    /// decrypt.
    #[cold]
    pub fn secrets(&mut self, lines: &str) {
        if let Some(captures) = &mut self.captures {
            captures.secrets(lines);
        }
    }

    /// Completes the files and returns everything else that was recorded.
    ///
    /// # Errors
    ///
    /// The first write that failed; the path is `pcap` or `qlog`.
    pub fn finish(self) -> Result<Recorded, ScenarioError> {
        let wrong = |path: &str, message| ScenarioError { path: path.to_string(), message };
        self.captures.map_or(Ok(()), Captures::finish).map_err(|m| wrong("pcap", m))?;
        self.logs.map_or(Ok(()), Logs::finish).map_err(|m| wrong("qlog", m))?;
        Ok(Recorded { series: self.series.into_series(), schedules: self.schedules, shadows: self.shadows })
    }
}

impl Probe for Recorder {
    fn record(&mut self, at: Time, who: ComponentId, path: PathId, metric: Metric, value: u64) {
        self.series.record(at, (who, path), metric, value);
        // The events of qlog's recovery schema describe a connection with a single path.
        if let (Some(logs), Some(process), PathId(0)) = (&mut self.logs, who.0.checked_sub(self.elements), path) {
            logs.changed(process, at, metric, value);
        }
    }

    fn happened(&mut self, at: Time, who: ComponentId, incident: Incident) {
        let Some(process) = who.0.checked_sub(self.elements) else { return };
        if let Incident::Carried { path, stream, start, len, again } = incident {
            self.schedules.add(process, Carried { at, path, stream, start, len, again });
        }
        if let Some(captures) = &mut self.captures {
            captures.happened(process, incident);
        }
        if let Some(logs) = &mut self.logs {
            logs.happened(process, at, incident);
        }
    }
    fn shadowed(&mut self, at: Time, who: ComponentId, report: ShadowReport<'_>) {
        if let Some(process) = who.0.checked_sub(self.elements) {
            self.shadows.add(at, process, report);
        }
    }
}
