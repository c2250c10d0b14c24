//! qlog: what each end of a connection sees and decides, one event per line (RFC 7464).
//!
//! QUIC's events are those of the schema. TCP's events use the same schema, so that the same tools read them; data that
//! the schema has no field for is added in extra fields. `docs/how-to/looking-inside.md` has the table.

mod bytes;
mod packets;
mod schema;
mod vantage;

use super::Origin;
use super::places;
use super::spool::Spool;
use crate::build::FlowPart;
use crate::world::ProcessId;
use haltere_net::{Incident, Metric, Packet, Time};
use haltere_transport::{Body, Event, Role};
use std::path::Path;
use vantage::{Identity, Vantage};

/// The files of a run, by the process that each is of.
pub(super) struct Logs(Vec<Option<Vantage>>);

impl Logs {
    /// Creates two files for each flow, `flow-N-client.sqlog` and `flow-N-server.sqlog`.
    pub(super) fn new(folder: &Path, flows: &[FlowPart], origin: &Origin) -> Result<Logs, String> {
        let mut logs = Vec::with_capacity(2 * flows.len());
        for part in flows {
            let (flow, contender) = (part.number, &part.spec.contender);
            let protocol = if contender.transport.runs_on_quic() { "QUIC" } else { "TCP" };
            let media = contender.transport.is_media();
            let stream_type = if media { packets::UNIDIRECTIONAL } else { packets::BIDIRECTIONAL };
            let (client, server) = places::ends(part.key, Role::Client);
            for (role, ProcessId(process)) in [("client", part.ends.client), ("server", part.ends.server)] {
                let spool = Spool::new(folder.join(format!("flow-{flow}-{role}.sqlog")))?;
                let who = Identity { flow, contender: contender.as_str(), protocol, stream_type, role, client, server };
                let at = process as usize;
                logs.resize_with(logs.len().max(at + 1), || None);
                logs[at] = Some(Vantage::new(spool, who, origin)?);
            }
        }
        Ok(Logs(logs))
    }

    fn of(&mut self, process: u32, act: impl FnOnce(&mut Vantage)) {
        if let Some(Some(vantage)) = self.0.get_mut(process as usize) {
            act(vantage);
        }
    }

    pub(super) fn received(&mut self, process: u32, at: Time, packet: &Packet<Body>) {
        self.of(process, |v| v.received(at, packet));
    }
    pub(super) fn done(&mut self, process: u32, at: Time) {
        self.of(process, |v| v.done(at));
    }
    pub(super) fn sent(&mut self, process: u32, at: Time, packet: &Packet<Body>) {
        self.of(process, |v| v.sent(at, packet));
    }
    pub(super) fn application_event(&mut self, process: u32, at: Time, event: Event) {
        self.of(process, |v| v.application(at, event));
    }
    pub(super) fn changed(&mut self, process: u32, at: Time, metric: Metric, value: u64) {
        self.of(process, |v| v.changed(at, metric, value));
    }
    pub(super) fn happened(&mut self, process: u32, at: Time, incident: Incident) {
        self.of(process, |v| v.happened(at, incident));
    }

    /// Completes the files.
    pub(super) fn finish(self) -> Result<(), String> {
        self.0.into_iter().flatten().try_for_each(Vantage::finish)
    }
}
