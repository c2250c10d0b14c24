//! Endpoints and links for the tests of stacks.
#![allow(dead_code)]

pub mod calls;
#[path = "../../../../transport/tests/all/common/mod.rs"]
pub mod common;
pub mod wire;

use common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::queue::Limit;
use haltere_net::rng::Streams;
use haltere_net::{Rate, Span};
use haltere_stacks::{Cipher, Config, Congestion, Handles, NOQ, QUINN, Stack};
use haltere_transport::cc::{Algorithm, RenoFriendly};
use haltere_transport::{Endpoint, Role};

pub type Both = Pair<Dyn, Dyn>;

/// A boxed endpoint, as a world holds it.
pub struct Dyn(pub Box<dyn Endpoint>);

macro_rules! forward {
    ($($name:ident(&mut self $(, $arg:ident: $type:ty)*) $(-> $out:ty)?;)*) => {
        $(fn $name(&mut self $(, $arg: $type)*) $(-> $out)? { self.0.$name($($arg),*) })*
    };
}
use haltere_net::{Cx, Packet, PathId, Time};
use haltere_transport::path::PathError;
use haltere_transport::{Body, Event, Stats, StreamId};
impl Endpoint for Dyn {
    forward! {
        connect(&mut self, cx: &mut Cx<'_>);
        on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>);
        on_wake(&mut self, cx: &mut Cx<'_>);
        poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>>;
        poll_event(&mut self) -> Option<Event>;
        open(&mut self) -> Option<StreamId>;
        write(&mut self, stream: StreamId, bytes: u64);
        finish(&mut self, stream: StreamId);
        read(&mut self, stream: StreamId, now: Time) -> u64;
        close(&mut self);
        add_path(&mut self, path: PathId, cx: &mut Cx<'_>) -> Result<(), PathError>;
        abandon_path(&mut self, path: PathId, cx: &mut Cx<'_>) -> Result<(), PathError>;
    }
    fn can_send_early_data(&self) -> bool {
        self.0.can_send_early_data()
    }
    fn next_wake(&self) -> Time {
        self.0.next_wake()
    }
    fn stats(&self) -> Stats {
        self.0.stats()
    }
    fn bytes_in_flight(&self, path: PathId) -> u64 {
        self.0.bytes_in_flight(path)
    }
}

pub const STACKS: [Stack; 2] = [QUINN, NOQ];

pub fn controls() -> Vec<Congestion> {
    let ours = Algorithm::ALL
        .iter()
        .filter(|a| haltere_stacks::lacks(**a).is_none())
        .map(|a| Congestion::Ours(*a, None, RenoFriendly::default()));
    [Congestion::Own("cubic"), Congestion::Own("newreno")].into_iter().chain(ours).collect()
}

pub fn link(mbps: u64, delay: Span, queue: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bps(mbps * 1_000_000)),
        delay,
        queue: Limit::Bytes(queue).into(),
        ..LinkConfig::default()
    }
}

pub fn end(role: Role, stack: Stack, congestion: Congestion, cipher: Cipher, seed: u64) -> Dyn {
    let name = if role == Role::Client { "client" } else { "server" };
    let mut config = Config::new(role, stack, congestion);
    config.cipher = cipher;
    let handles = Handles::new(Streams::new(seed, 0).named(name));
    Dyn(haltere_stacks::endpoint(config, handles).unwrap())
}

/// Client and server of one stack; one link each way.
pub fn pair(
    stack: Stack,
    congestion: Congestion,
    cipher: Cipher,
    up: &LinkConfig,
    down: &LinkConfig,
    of: &[(u64, u64)],
) -> Both {
    seeded(stack, congestion, cipher, [up, down], of, 1)
}

pub fn seeded(
    stack: Stack,
    congestion: Congestion,
    cipher: Cipher,
    [up, down]: [&LinkConfig; 2],
    of: &[(u64, u64)],
    seed: u64,
) -> Both {
    let client = end(Role::Client, stack, congestion, cipher, seed);
    let server = end(Role::Server, stack, congestion, cipher, seed);
    Pair::new(client, server, up, down, seed, Exchange { streams: of.to_vec() })
}
