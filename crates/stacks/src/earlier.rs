//! The earlier connection of two ends that resume a session.
//!
//! A session cannot be made up, for both ends must share its secrets. So the ends make a connection beforehand, in this
//! process and in virtual time, with random numbers of the run.

use crate::addresses::AddressPair;
use crate::config::{Config, Error};
use crate::handles::Handles;
use crate::memory::Memory;
use crate::stack::endpoint;
use haltere_net::rng::Stream;
use haltere_net::{ComponentId, Cx, Packet, PathId, Span, Time};
use haltere_transport::quic::Session;
use haltere_transport::{Body, Endpoint, Event, Role};

/// How long the connection lasts: long enough for the session tickets and address tokens that follow a handshake.
const DURATION: Span = Span::from_millis(500);
/// One-way delay of its datagrams.
const DELAY: Span = Span::from_millis(1);

/// Makes the memory that two ends like `config` keep of a connection that began at `at`. The age of tickets and tokens
/// counts from then. The ends draw from `streams`: the client's and the server's.
///
/// # Errors
/// If the ends cannot be set up or do not connect.
pub fn earlier_connection(config: &Config, streams: [Stream; 2], at: Time) -> Result<Memory, Error> {
    let memory = Memory::empty(config.cipher, &mut streams[1].clone())?;
    let end = |role, stream| {
        let addresses = vec![AddressPair::of_path(role, PathId(0))];
        let (session, retry, unknown_version) = (Session::New, false, false);
        let config = Config { role, addresses, session, retry, unknown_version, ..config.clone() };
        endpoint(config, Handles { memory: Some(memory.clone()), ..Handles::new(stream) })
    };
    let [client, server] = streams;
    let ends = [end(Role::Client, client)?, end(Role::Server, server)?];
    let earlier = Earlier { ends, under_way: Default::default(), connected: [false; 2] };
    if earlier.run(at) {
        Ok(memory)
    } else {
        Err(Error::new(format!("two ends of {} made no connection beforehand", config.stack.name())))
    }
}

/// A connection in this process.
struct Earlier {
    ends: [Box<dyn Endpoint>; 2],
    /// Datagrams to each end.
    under_way: [Vec<Packet<Body>>; 2],
    connected: [bool; 2],
}

impl Earlier {
    /// Runs it; returns whether both ends connected.
    fn run(mut self, at: Time) -> bool {
        self.ends[0].connect(&mut Cx::new(at, ComponentId(0)));
        let mut now = at;
        while now < at + DURATION {
            let arrived = std::mem::take(&mut self.under_way);
            for (i, packets) in arrived.into_iter().enumerate() {
                self.step(i, packets, now);
            }
            now += DELAY;
        }
        self.connected == [true; 2]
    }

    fn step(&mut self, i: usize, arrived: Vec<Packet<Body>>, now: Time) {
        let (end, mut cx) = (&mut self.ends[i], Cx::new(now, ComponentId(i as u32)));
        if end.next_wake() <= now {
            end.on_wake(&mut cx);
        }
        for packet in arrived {
            end.on_packet(packet, &mut cx);
        }
        while let Some(event) = end.poll_event() {
            self.connected[i] |= event == Event::Connected;
        }
        while let Some(packet) = end.poll_transmit(&mut cx) {
            self.under_way[1 - i].push(packet);
        }
    }
}
