//! Bridges: connections between two brokers. They have no process of their own: a broker opens them, another accepts them.

use super::mqtt::Brokers;
use super::roster::Slot;
use super::transports::{Kit, Maker};
use super::{Site, talk};
use crate::network::Between;
use crate::scenario::{Bridge, ScenarioError};
use haltere_mqtt::{ClientConfig, Streams};
use haltere_net::Time;
use haltere_transport::Role;
use std::sync::Arc;

/// Gives all bridges of a scenario to their brokers. Each connects to its slot.
///
/// # Errors
/// If a contender cannot be configured.
pub(super) fn join(
    site: &Site<'_>,
    between: Vec<Between>,
    slots: impl Iterator<Item = Slot>,
    brokers: &mut Brokers,
) -> Result<(), ScenarioError> {
    let specs = site.scenario.brokers.iter().enumerate();
    let specs = specs.flat_map(|(i, broker)| broker.bridges.iter().enumerate().map(move |(k, spec)| (i, k, spec)));
    for (n, (((i, k, spec), between), slot)) in specs.zip(between).zip(slots).enumerate() {
        let wrong = |message| ScenarioError { path: format!("brokers[{i}].bridges[{k}].contender"), message };
        let subject = spec.contender.at(site.fidelity).map_err(wrong)?;
        let kit = Kit::new(
            site,
            format!("bridge {n}"),
            (&Arc::new(spec.contender.clone()), subject),
            [between.from, between.to],
            between.mtu,
            Time::ZERO,
        );
        let kit = Kit { port: slot.kernel_port(), ..kit.map_err(wrong)? };
        one(n, spec, &between, (kit, slot), brokers).map_err(wrong)?;
    }
    Ok(())
}

/// Gives bridge number `n` to its brokers.
fn one(
    n: usize,
    spec: &Bridge,
    between: &Between,
    (kit, slot): (Kit, Slot),
    brokers: &mut Brokers,
) -> Result<(), String> {
    let framing = brokers.framing(&spec.contender, spec.tls.then(|| talk::flights(&spec.contender)));
    brokers.listen(between.to, (&kit, slot), &framing, Streams::One)?;
    let config = ClientConfig { client_id: format!("bridge {n}").as_str().into(), ..spec.client.clone() };
    let maker = Maker::new(kit, Role::Client)?;
    let home = brokers.at(between.from);
    home.ports.0.insert(slot.port(), (maker, 0));
    home.process.add_bridge(config, &spec.topics, slot.at(between.address), &framing, spec.reconnect);
    Ok(())
}
