//! The ends of a run's connections, and what all stacks share: streams that are written by number of bytes, events, and
//! time.

use crate::interposed;
use crate::protocol::{Answer, Ask, Blob, NEVER, Outgoing, Setup, Told, Turn};
use crate::stack::{Next, Stack, State};
use crate::stacks;
use haltere_net::rng::{Stream, Streams};
use std::collections::BTreeMap;
use std::time::Instant;

/// The payload of streams, handed over in pieces of this length.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Room for any datagram.
const ROOM: usize = 1 << 16;

/// All ends of a run.
pub struct Host {
    ends: BTreeMap<u32, End>,
    room: Vec<u8>,
    start: Instant,
}

/// A stream that is being written.
struct Writing {
    id: u64,
    /// Bytes that the simulator asked to write and the stack has not taken yet.
    waiting: u64,
    ended: bool,
    told: bool,
}

/// One end of a connection.
struct End {
    stack: Box<dyn Stack>,
    dice: Option<Stream>,
    writing: Vec<Writing>,
    connected: bool,
    over: bool,
    /// When the stack wants to be asked for datagrams again.
    later: Option<Instant>,
    /// Datagrams that belong to no connection.
    answers: Vec<Vec<u8>>,
}

impl Default for Host {
    fn default() -> Host {
        Host { ends: BTreeMap::new(), room: vec![0; ROOM], start: interposed::start() }
    }
}

fn refusal(why: String) -> Answer {
    Answer { refused: why, wake: NEVER, ..Answer::default() }
}

impl Host {
    /// Takes a turn.
    pub fn turn(&mut self, turn: Turn) -> Answer {
        if let [Ask::Make { setup }] = turn.asks.as_slice() {
            return match End::new(setup, turn.now) {
                Ok(end) => {
                    self.ends.insert(turn.end, end);
                    Answer { wake: NEVER, ..Answer::default() }
                }
                Err(why) => refusal(why),
            };
        }
        let (start, room) = (self.start, &mut self.room);
        let Some(end) = self.ends.get_mut(&turn.end) else { return refusal("there is no such end".into()) };
        let Some(dice) = end.dice.take() else { return refusal("the end has lost its dice".into()) };
        interposed::set(turn.now, dice);
        let answer = end.turn(turn, start, room);
        end.dice = interposed::take_dice();
        answer
    }
}

impl End {
    fn new(setup: &Setup, now: u64) -> Result<End, String> {
        interposed::set(now, Streams::new(setup.seed, 0).named(&setup.stack));
        let stack = stacks::make(setup)?;
        let dice = interposed::take_dice();
        let (writing, answers) = (Vec::new(), Vec::new());
        Ok(End { stack, dice, writing, connected: false, over: false, later: None, answers })
    }

    fn turn(&mut self, turn: Turn, start: Instant, room: &mut [u8]) -> Answer {
        let mut answer = Answer { taken: true, ..Answer::default() };
        let mut asked = false;
        for ask in turn.asks {
            match ask {
                Ask::Make { .. } => return refusal("the end is there already".into()),
                Ask::Connect {} => {
                    if let Err(why) = self.stack.connect() {
                        return refusal(why);
                    }
                }
                Ask::Receive { datagram: Blob(mut datagram), .. } => {
                    answer.taken &= self.stack.receive(&mut datagram, &mut self.answers);
                }
                Ask::Wake {} => self.stack.wake(),
                Ask::Write { stream, bytes } => {
                    let w = self.stream(stream);
                    w.waiting = w.waiting.saturating_add(bytes);
                }
                Ask::Finish { stream } => self.stream(stream).ended = true,
                Ask::Close {} => self.stack.close(),
                Ask::Send {} => asked = true,
            }
        }
        self.feed();
        self.tell(&mut answer.told);
        // What the application may answer goes out with the answer, as it would in a program.
        if asked || answer.told.iter().all(|told| matches!(told, Told::Read { ended: false, .. })) {
            answer.sent = true;
            self.send(turn.now, start, room, &mut answer.outgoing);
            self.ending(&mut answer.told);
        }
        let wake = [self.stack.timeout(), self.later].into_iter().flatten().min();
        answer.wake = wake.map_or(NEVER, |at| nanos(at, start));
        answer.openable = self.stack.openable();
        answer.figures = self.stack.figures();
        answer.secrets = String::from_utf8_lossy(&self.stack.secrets()).into_owned();
        answer.qlog = Blob(self.stack.qlog());
        answer
    }

    fn stream(&mut self, id: u64) -> &mut Writing {
        let at = self.writing.iter().position(|w| w.id == id).unwrap_or_else(|| {
            self.writing.push(Writing { id, waiting: 0, ended: false, told: false });
            self.writing.len() - 1
        });
        &mut self.writing[at]
    }

    /// Gives the stack what it takes; returns whether it took anything.
    fn feed(&mut self) -> bool {
        if self.stack.state() != State::Connected {
            return false;
        }
        let mut fed = false;
        for w in self.writing.iter_mut().filter(|w| w.waiting > 0 || (w.ended && !w.told)) {
            loop {
                let len = w.waiting.min(ZEROS.len() as u64) as usize;
                let last = w.ended && len as u64 == w.waiting;
                // A stream that the peer has stopped takes everything and sends nothing.
                let taken = self.stack.write(w.id, &ZEROS[..len], last).unwrap_or_else(|| {
                    w.waiting = len as u64;
                    w.ended = true;
                    len
                });
                w.waiting -= taken as u64;
                w.told = w.ended && w.waiting == 0 && taken == len;
                fed |= taken > 0 || w.told;
                if taken < len || w.waiting == 0 {
                    break;
                }
            }
        }
        fed
    }

    fn tell(&mut self, told: &mut Vec<Told>) {
        let state = self.stack.state();
        if !self.connected && state == State::Connected {
            self.connected = true;
            told.push(Told::Connected {});
            self.feed();
        }
        while let Some(read) = self.stack.read() {
            told.push(Told::Read { stream: read.stream, bytes: read.bytes, ended: read.ended });
        }
        let stack = &mut self.stack;
        self.writing.retain(|w| {
            let done = w.told && stack.delivered(w.id);
            if done {
                told.push(Told::Delivered { stream: w.id });
            }
            !done
        });
        self.ending(told);
    }

    /// Tells once how the connection ended.
    fn ending(&mut self, told: &mut Vec<Told>) {
        let last = match self.stack.state() {
            State::Handshake | State::Connected => return,
            State::Closed => Told::Closed {},
            State::Silent => Told::Silent {},
            State::Failed(code) => Told::Failed { code },
        };
        if !std::mem::replace(&mut self.over, true) {
            told.push(last);
        }
    }

    fn send(&mut self, now: u64, start: Instant, room: &mut [u8], outgoing: &mut Vec<Outgoing>) {
        outgoing.extend(self.answers.drain(..).map(|answer| Outgoing { at: now, datagram: Blob(answer) }));
        self.later = None;
        let mut last = now;
        loop {
            match self.stack.send(room) {
                Next::Datagram(len, at) => {
                    last = last.max(nanos(at, start));
                    outgoing.push(Outgoing { at: last, datagram: Blob(room[..len].to_vec()) });
                }
                Next::Later(at) => {
                    self.later = Some(at);
                    return;
                }
                Next::Nothing if self.feed() => {}
                Next::Nothing => return,
            }
        }
    }
}

/// Time of the run at an instant.
fn nanos(at: Instant, start: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(start).as_nanos()).unwrap_or(NEVER)
}
