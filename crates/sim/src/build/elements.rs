//! The network elements of a topology: one for each link direction, and one for each shared medium.

use crate::middlebox::StripsOptions;
use crate::network::{Media, stream_name};
use crate::scenario::ScenarioError;
use crate::world::Elements;
use haltere_net::element::{AnyElement, Port};
use haltere_net::interface::Crediting;
use haltere_net::medium::Entry;
use haltere_net::rng::Streams;
use haltere_net::topology::{NodeId, Topology};
use haltere_transport::Body;
use std::collections::BTreeSet;

/// Makes the elements of a topology whose shared links have these media. Sockets wait for the credits of the interfaces of
/// `hosts` only. Before a link whose name `strips` confirms stands a middlebox that removes MPTCP's options.
///
/// # Errors
/// If a medium is wrong; the path is that of its field.
pub fn elements(
    (topology, media): (&Topology, &Media),
    hosts: &BTreeSet<NodeId>,
    strips: impl Fn(&str) -> bool,
    streams: &Streams,
) -> Result<Elements, ScenarioError> {
    let shared: BTreeSet<u32> = topology.media().iter().flat_map(|shared| shared.links.iter().copied()).collect();
    let mut elements: Vec<AnyElement<Body>> = Vec::with_capacity(topology.edges().len());
    let mut entries = vec![(0, Port(0)); topology.edges().len()];
    for (number, edge) in topology.edges().iter().enumerate() {
        if shared.contains(&(number as u32 / 2)) {
            continue;
        }
        let crediting = if hosts.contains(&edge.from) { Crediting::On } else { Crediting::Off };
        let link = AnyElement::of(&edge.config, &stream_name(edge), streams, crediting);
        entries[number] = (elements.len() as u32, Port(0));
        elements.push(match strips(&edge.name) {
            true => AnyElement::Other(Box::new(StripsOptions::before(link))),
            false => link,
        });
    }
    for (shared, (path, medium)) in topology.media().iter().zip(media) {
        let mut ports = Vec::with_capacity(2 * shared.links.len());
        for (station, link) in shared.links.iter().enumerate() {
            for (edge, downlink) in [(2 * link, true), (2 * link + 1, false)] {
                let direction = &topology.edges()[edge as usize];
                entries[edge as usize] = (elements.len() as u32, Port(ports.len() as u32));
                ports.push(Entry { station, downlink, config: &direction.config, name: stream_name(direction) });
            }
        }
        let element = medium.element(&shared.name, &ports, streams);
        let wrong = |(field, message)| ScenarioError { path: format!("{path}.{field}"), message };
        elements.push(AnyElement::Other(element.map_err(wrong)?));
    }
    Ok(Elements::new(elements, entries))
}
