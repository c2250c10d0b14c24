//! The programs of flows, and the modules of their congestion controls. They are prepared outside, by whoever knows programs; here is told where they are to run.
#![cfg_attr(not(feature = "kernels"), allow(unused_imports, reason = "only kernels carry programs"))]

use super::endpoints::{FlowPrograms, Kernels};
use crate::contender::Contender;
use crate::fidelity::{Fidelity, Subject};
use crate::network::{Network, network};
use crate::scenario::{App, Scenario, ScenarioError};
#[cfg(feature = "kernels")]
use haltere_net::registry::shown;
use haltere_net::rng::Streams;
use haltere_net::topology::NodeId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The programs and modules of flows that have some, by the number of the flow.
#[cfg(feature = "kernels")]
pub type Programs = BTreeMap<usize, haltere_kernel::Prepared>;
/// The programs of each flow: there are none.
#[cfg(not(feature = "kernels"))]
pub type Programs = BTreeMap<usize, ()>;

/// A flow that programs carry, and where they are, or whose congestion control is a module.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Placed {
    /// The number of the flow.
    pub flow: usize,
    /// Its contender in parts: transport, implementation, congestion control.
    pub transport: &'static str,
    /// See `transport`.
    pub implementation: String,
    /// See `transport`.
    pub congestion: String,
    /// Values of parameters of the congestion control.
    pub parameters: BTreeMap<String, f64>,
    /// The kind of traffic.
    pub app: App,
    /// The number of the server's node: flows with the same one share a kernel.
    pub node: u32,
    /// The address of the server.
    pub server: String,
    /// The address of the client.
    pub client: String,
    /// The server's port.
    pub port: u16,
    /// Bytes of the object, if it has a size.
    pub size: Option<u64>,
    /// Why there is no kernel here that can be a node, if so.
    pub lacking: Option<String>,
    /// The folder in which programs see the one that they share with the host.
    pub home: &'static str,
    /// With MQTT: what the clocks of the publishers' node and of the subscriber's show when the run begins, ns.
    pub epochs_ns: Option<[u64; 2]>,
}

/// The flows of a run that programs carry.
///
/// # Errors
/// As [`check_at`](super::check_at); if there are too many.
#[cfg(feature = "kernels")]
pub fn placed(
    scenario: &Scenario,
    fidelity: Fidelity,
    seed: u64,
    replication: u64,
) -> Result<Vec<Placed>, ScenarioError> {
    use super::flows::{subject, wrong};
    use super::phase;
    use super::roster::{Roster, port_of_kernel};
    use haltere_kernel::ip;
    use haltere_kernel::programs::HOME;
    let mut all = Vec::new();
    if !scenario.flows.iter().any(|flow| may_be_program(&flow.contender)) {
        return Ok(all);
    }
    let streams = Streams::new(seed, replication);
    let Network { flows, .. } = network(scenario, &streams)?;
    let epoch = |node| haltere_kernel::epoch(phase(scenario, &streams, node)).as_nanos();
    let slots = Roster::default().slots(flows.len());
    for (number, ((flow, path), slot)) in scenario.flows.iter().zip(&flows).zip(slots).enumerate() {
        let contender = &path.contender;
        if !may_be_program(contender) || !is_prepared(subject(fidelity, number, flow, contender)?) {
            continue;
        }
        all.push(Placed {
            flow: number,
            transport: contender.transport.describe().0,
            implementation: contender.implementation.clone().unwrap_or_default(),
            congestion: contender.congestion.clone(),
            parameters: contender.parameters.iter().cloned().collect(),
            app: flow.app(),
            node: path.server.0,
            server: ip(path.first().server).to_string(),
            client: ip(path.first().client).to_string(),
            port: port_of_kernel(slot.kernel_port()).map_err(|message| wrong(number, message))?,
            size: flow.total(),
            lacking: haltere_kernel::ready().err().map(|e| e.to_string()),
            home: HOME,
            epochs_ns: path.delivery.as_ref().map(|to| [path.client, to.subscriber].map(epoch)),
        });
    }
    Ok(all)
}

/// The flows of a run that programs carry: there are none.
///
/// # Errors
/// Never.
#[cfg(not(feature = "kernels"))]
pub fn placed(_: &Scenario, _: Fidelity, _: u64, _: u64) -> Result<Vec<Placed>, ScenarioError> {
    Ok(Vec::new())
}

/// Whether a run at a fidelity has Linux kernels, on whose version its result then depends.
pub fn has_kernels(scenario: &Scenario, fidelity: Fidelity) -> bool {
    scenario.flows.iter().any(|flow| flow.contender.at(fidelity).is_ok_and(Subject::is_on_kernels))
}

/// Whether a contender names an implementation; most do not, and are never carried by programs.
#[cfg(feature = "kernels")]
fn may_be_program(contender: &Contender) -> bool {
    contender.implementation.is_some()
}

/// Whether a flow needs what is prepared outside.
#[cfg(feature = "kernels")]
fn is_prepared(subject: Subject) -> bool {
    matches!(subject, Subject::Program | Subject::Kernel { congestion: None })
}

/// The module of a flow's congestion control.
///
/// # Errors
/// If nobody has prepared it.
#[cfg(feature = "kernels")]
pub(super) fn module_of_flow(
    all: &Programs,
    flow: usize,
    contender: &Contender,
) -> Result<haltere_kernel::Module, String> {
    all.get(&flow).and_then(|prepared| prepared.module.clone()).ok_or_else(|| {
        let file = shown(&contender.congestion);
        format!("nobody has built a module of {file}: run it by haltere's commands, or write tcp/{file} for the model")
    })
}

/// Why two flows, or two connections of one, cannot have a broker together.
pub(super) const ONE_BROKER: &str = "a broker is one program, or the model's: give all connections to it the same implementation, such as tcp@mosquitto/…";

/// The programs of a flow with MQTT.
///
/// # Errors
/// If nobody has prepared any.
#[cfg(feature = "kernels")]
pub(super) fn of_messages(all: &Programs, flow: usize, contender: &Contender) -> Result<FlowPrograms, String> {
    of_flow(all, flow, contender)
}

/// The programs of a flow with MQTT: there are none.
#[cfg(not(feature = "kernels"))]
pub(super) fn of_messages(_: &Programs, _: usize, _: &Contender) -> Result<FlowPrograms, String> {
    Err("programs were left out of this build".into())
}

/// The programs of a flow with MQTT for its publishers' connections. The broker is started once it has all its ports ([`serve`]).
#[cfg(feature = "kernels")]
pub(super) fn publishing(whole: &FlowPrograms) -> Arc<FlowPrograms> {
    Arc::new(FlowPrograms { server: None, data: haltere_kernel::programs::Data::Up, early: true, ..whole.clone() })
}

/// See above.
#[cfg(not(feature = "kernels"))]
pub(super) fn publishing(whole: &FlowPrograms) -> Arc<FlowPrograms> {
    Arc::new(whole.clone())
}

/// The programs of a flow with MQTT for its subscriber's connection.
///
/// # Errors
/// If nobody has prepared the subscriber.
#[cfg(feature = "kernels")]
pub(super) fn subscribing(whole: &FlowPrograms) -> Result<Arc<FlowPrograms>, String> {
    let client = whole.subscriber.clone().ok_or("nobody has prepared a subscriber: run it by haltere's commands")?;
    Ok(Arc::new(FlowPrograms { server: None, client, early: true, ..whole.clone() }))
}

/// See above.
#[cfg(not(feature = "kernels"))]
pub(super) fn subscribing(whole: &FlowPrograms) -> Result<Arc<FlowPrograms>, String> {
    Ok(Arc::new(whole.clone()))
}

/// Starts the broker of a flow's programs on its node, and waits until its port is open.
///
/// # Errors
/// If it does not open it.
#[cfg(feature = "kernels")]
pub(super) fn serve(kernels: &Kernels, node: NodeId, whole: &FlowPrograms) -> Result<(), String> {
    kernels.serve(node.0, whole).map_err(|e| e.to_string())
}

/// Starts no broker.
#[cfg(not(feature = "kernels"))]
pub(super) fn serve(_: &Kernels, _: NodeId, _: &FlowPrograms) -> Result<(), String> {
    Ok(())
}

/// The programs of a flow.
///
/// # Errors
/// If nobody has prepared any.
#[cfg(feature = "kernels")]
pub(super) fn of_flow(all: &Programs, flow: usize, contender: &Contender) -> Result<haltere_kernel::Programs, String> {
    all.get(&flow).and_then(|prepared| prepared.programs.clone()).ok_or_else(|| {
        let transport = contender.transport.describe().0;
        let name = contender.implementation.as_deref().unwrap_or("");
        format!(
            "{transport}@{name} is no production stack in virtual time, and nobody has prepared it as a program: run it by \
             haltere's commands, or write {transport}@model/…"
        )
    })
}
