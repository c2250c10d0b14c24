//! The network elements of a scenario: one for each link direction, and one for each shared medium.

use crate::middlebox::StripsOptions;
use crate::network::stream_name;
use crate::scenario::{Scenario, ScenarioError};
use crate::world::Elements;
use haltere_net::element::{AnyElement, Port};
use haltere_net::interface::Crediting;
use haltere_net::medium::{Cell, Entry};
use haltere_net::rng::Streams;
use haltere_net::topology::{NodeId, Topology};
use haltere_transport::Body;
use std::collections::BTreeSet;

/// Makes them. Sockets wait for the credits of the interfaces of `hosts` only.
pub(super) fn elements(
    scenario: &Scenario,
    topology: &Topology,
    hosts: &BTreeSet<NodeId>,
    streams: &Streams,
) -> Result<Elements, ScenarioError> {
    let shared: BTreeSet<u32> = topology.media().iter().flat_map(|medium| medium.links.iter().copied()).collect();
    let mut elements: Vec<AnyElement<Body>> = Vec::with_capacity(topology.edges().len());
    let mut entries = vec![(0, Port(0)); topology.edges().len()];
    for (number, edge) in topology.edges().iter().enumerate() {
        if shared.contains(&(number as u32 / 2)) {
            continue;
        }
        let crediting = if hosts.contains(&edge.from) { Crediting::On } else { Crediting::Off };
        let link = AnyElement::of(&edge.config, &stream_name(edge), streams, crediting);
        entries[number] = (elements.len() as u32, Port(0));
        elements.push(match scenario.topology.strips_options(&edge.name) {
            true => AnyElement::Other(Box::new(StripsOptions::before(link))),
            false => link,
        });
    }
    for (medium, (path, _)) in topology.media().iter().zip(scenario.topology.all_cells()) {
        let mut ports = Vec::with_capacity(2 * medium.links.len());
        for (station, link) in medium.links.iter().enumerate() {
            for (edge, downlink) in [(2 * link, true), (2 * link + 1, false)] {
                let direction = &topology.edges()[edge as usize];
                entries[edge as usize] = (elements.len() as u32, Port(ports.len() as u32));
                ports.push(Entry { station, downlink, config: &direction.config, name: stream_name(direction) });
            }
        }
        let cell = Cell::new(&medium.config, &medium.name, &ports, streams);
        let cell = cell.map_err(|(field, message)| ScenarioError { path: format!("{path}.{field}"), message })?;
        elements.push(AnyElement::Other(Box::new(cell)));
    }
    Ok(Elements::new(elements, entries))
}
