//! What two ends remember of an earlier connection: TLS's session, the server's transport parameters, address tokens.
//!
//! A session cannot be made up, for TLS wants secrets that both ends share: the ends meet once beforehand, in memory and in
//! virtual time, with dice of the run.

use crate::config::{Cipher, Config, Error};
use crate::null::Past;
use crate::{endpoint, seeds, tls};
use bytes::Bytes;
use haltere_net::rng::Stream;
use haltere_net::{ComponentId, Cx, Packet, Span, Time};
use haltere_transport::quic::Session;
use haltere_transport::{Body, Endpoint, Event, Role};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// How long the ends meet: long enough for the tickets and tokens that follow a handshake.
const MEETING: Span = Span::from_millis(500);
/// How long a datagram of that connection is under way.
const DELAY: Span = Span::from_millis(1);

/// What two ends remember of each other.
#[derive(Clone)]
pub struct Memory {
    pub(crate) tls: Option<tls::Pair>,
    pub(crate) parameters: Parameters,
    pub(crate) tokens: Tokens,
    /// What the server seals its address tokens with.
    pub(crate) token_key: [u8; 64],
}

/// The server's transport parameters, where TLS does not keep them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Parameters(Arc<Mutex<Option<Vec<u8>>>>);

impl Parameters {
    pub fn get(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    pub fn keep(&self, parameters: Option<Vec<u8>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = parameters;
    }
}

/// Address tokens (RFC 9000 section 8.1.3) of the one server that there is, the latest of which is used first.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tokens(Arc<Mutex<VecDeque<Bytes>>>);

impl Tokens {
    /// How many a client keeps, as both stacks' own stores have it.
    const MOST: usize = 2;

    pub fn keep(&self, token: Bytes) {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.truncate(Tokens::MOST - 1);
        tokens.push_front(token);
    }
    /// A token, which is never given twice.
    pub fn take(&self) -> Option<Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Memory {
    /// Two ends like `config` meet at `at`, from when the age of tickets and tokens counts; `dice` are the client's and the
    /// server's.
    ///
    /// # Errors
    /// If they cannot be set up or do not come together.
    pub fn of(config: &Config, dice: [Stream; 2], at: Time) -> Result<Memory, Error> {
        let mut key = dice[1].clone();
        let memory = Memory {
            tls: (config.cipher == Cipher::Tls).then(tls::Pair::new).transpose()?,
            parameters: Parameters::default(),
            tokens: Tokens::default(),
            token_key: seeds::bytes(&mut key),
        };
        let end = |role, stream| {
            let mut end = Config::new(role, config.stack, config.congestion, stream);
            (end.cipher, end.windows, end.max_udp_payload) = (config.cipher, config.windows, config.max_udp_payload);
            end.memory = Some(memory.clone());
            endpoint(end)
        };
        let [client, server] = dice;
        let ends = [end(Role::Client, client)?, end(Role::Server, server)?];
        let meeting = Meeting { ends, under_way: Default::default(), connected: [false; 2] };
        if meeting.hold(at) {
            Ok(memory)
        } else {
            Err(Error::new(format!("two ends of {} did not come together beforehand", config.stack.describe().0)))
        }
    }

    /// What a client's or server's handshake without encryption goes by.
    pub(crate) fn past(memory: Option<&Memory>, session: Session) -> Past {
        memory.map(|m| Past { session, parameters: m.parameters.clone() }).unwrap_or_default()
    }
}

/// A connection in memory.
struct Meeting {
    ends: [Box<dyn Endpoint>; 2],
    /// Datagrams to each end.
    under_way: [Vec<Packet<Body>>; 2],
    connected: [bool; 2],
}

impl Meeting {
    /// Whether a connection was made.
    fn hold(mut self, at: Time) -> bool {
        self.ends[0].connect(&mut Cx::new(at, ComponentId(0)));
        let mut now = at;
        while now < at + MEETING {
            let arrived = std::mem::take(&mut self.under_way);
            for (i, packets) in arrived.into_iter().enumerate() {
                self.turn(i, packets, now);
            }
            now += DELAY;
        }
        self.connected == [true; 2]
    }

    fn turn(&mut self, i: usize, arrived: Vec<Packet<Body>>, now: Time) {
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
