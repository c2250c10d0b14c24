//! qlog: what each end of a connection sees and decides, one event per line (RFC 7464).
//!
//! QUIC's events are those of the schema. TCP's events use the same schema, so that the same tools read them; data that
//! the schema has no field for is added in extra fields. `docs/looking-inside.md` has the table.

mod packets;
mod schema;
mod vantage;

use super::Origin;
use super::places;
use super::spool::Spool;
use crate::network::FlowPath;
use crate::scenario::Flow;
use haltere_net::{ConnectionId, FlowKey, Incident, Metric, Packet, Time};
use haltere_transport::{Body, Event, Role};
use std::path::Path;
use vantage::{Identity, Vantage};

/// The files of a run, in the order of its processes.
pub(super) struct Logs(Vec<Vantage>);

impl Logs {
    /// Creates two files for each flow, `flow-N-client.sqlog` and `flow-N-server.sqlog`.
    pub(super) fn new(folder: &Path, flows: &[Flow], paths: &[FlowPath], origin: &Origin) -> Result<Logs, String> {
        Spool::folder(folder)?;
        let mut logs = Vec::with_capacity(2 * flows.len());
        for (flow, (given, path)) in flows.iter().zip(paths).enumerate() {
            let protocol = if path.contender.transport.is_quic() { "QUIC" } else { "TCP" };
            let way = path.first();
            let connection = ConnectionId(flow as u32);
            let key = FlowKey { source: way.client, destination: way.server, connection };
            let (client, server) = places::ends(key, Role::Client);
            for role in ["client", "server"] {
                let spool = Spool::new(folder.join(format!("flow-{flow}-{role}.sqlog")))?;
                let who = Identity { flow, contender: given.contender.as_str(), protocol, role, client, server };
                logs.push(Vantage::new(spool, who, origin)?);
            }
        }
        Ok(Logs(logs))
    }

    fn of(&mut self, process: u32, act: impl FnOnce(&mut Vantage)) {
        if let Some(vantage) = self.0.get_mut(process as usize) {
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
        self.0.into_iter().try_for_each(Vantage::finish)
    }
}
