//! The ends of a run's connections, and what all stacks share: streams that are written by number of bytes, events,
//! time.

use crate::interposed;
use crate::protocol::{Answer, Blob, Command, NEVER, Notice, Outgoing, Setup, Turn};
use crate::stack::{Chunk, Next, Stack, State};
use crate::stacks;
use haltere_net::rng::{Stream, Streams};
use std::collections::BTreeMap;
use std::time::Instant;

/// The content of streams, passed on in pieces of this length.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Room for any datagram.
const ROOM: usize = 1 << 16;

/// All ends of a run.
pub struct Ends {
    ends: BTreeMap<u32, End>,
    room: Vec<u8>,
    start: Instant,
}

/// A stream that is being written.
struct Writing {
    id: u64,
    /// Asked for, not yet taken by the stack.
    waiting: u64,
    ended: bool,
    end_passed_on: bool,
}

/// One end of a connection.
struct End {
    stack: Box<dyn Stack>,
    random: Option<Stream>,
    writing: Vec<Writing>,
    connected: bool,
    /// It was told that paths may be opened.
    allows_paths: bool,
    over: bool,
    /// When the stack wants to be asked for datagrams again.
    later: Option<Instant>,
    /// Datagrams that belong to no connection.
    answers: Vec<Vec<u8>>,
}

impl Default for Ends {
    fn default() -> Ends {
        Ends { ends: BTreeMap::new(), room: vec![0; ROOM], start: interposed::start() }
    }
}

fn refusal(why: String) -> Answer {
    Answer { refused: why, wake: NEVER, ..Answer::default() }
}

impl Ends {
    /// Takes a turn.
    pub fn turn(&mut self, turn: Turn) -> Answer {
        if let [Command::Make { setup }] = turn.commands.as_slice() {
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
        let Some(random) = end.random.take() else { return refusal("the end has lost its random stream".into()) };
        interposed::set(turn.now, random);
        let answer = end.turn(turn, start, room);
        end.random = interposed::take_random();
        answer
    }
}

impl End {
    fn new(setup: &Setup, now: u64) -> Result<End, String> {
        interposed::set(now, Streams::new(setup.seed, 0).named(&setup.stack));
        let stack = stacks::make(setup)?;
        let random = interposed::take_random();
        let (writing, answers) = (Vec::new(), Vec::new());
        Ok(End { stack, random, writing, connected: false, allows_paths: false, over: false, later: None, answers })
    }

    fn turn(&mut self, turn: Turn, start: Instant, room: &mut [u8]) -> Answer {
        let mut answer = Answer { taken: true, ..Answer::default() };
        let mut asked = false;
        for command in turn.commands {
            match command {
                Command::Make { .. } => return refusal("the end is there already".into()),
                Command::Connect {} => {
                    if let Err(why) = self.stack.connect() {
                        return refusal(why);
                    }
                }
                Command::Receive { path, datagram: Blob(mut datagram), .. } => {
                    answer.taken &= self.stack.receive(path, &mut datagram, &mut self.answers);
                }
                Command::Wake {} => self.stack.wake(),
                Command::Write { stream, bytes } => {
                    let w = self.stream(stream);
                    w.waiting = w.waiting.saturating_add(bytes);
                }
                Command::Finish { stream } => self.stream(stream).ended = true,
                Command::Close {} => self.stack.close(),
                Command::Send {} => asked = true,
                Command::AddPath { path } => self.stack.add_path(path),
                Command::AbandonPath { path } => self.stack.abandon_path(path),
            }
        }
        self.pass_on();
        self.tell(&mut answer.notices);
        // What the application may answer goes out with the answer, as it would in a program.
        if asked || answer.notices.iter().all(|notice| matches!(notice, Notice::Read { ended: false, .. })) {
            answer.sent = true;
            self.send(turn.now, start, room, &mut answer.outgoing);
            self.ending(&mut answer.notices);
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
            self.writing.push(Writing { id, waiting: 0, ended: false, end_passed_on: false });
            self.writing.len() - 1
        });
        &mut self.writing[at]
    }

    /// Passes what waits on to the stack, as much as it takes; returns whether it took anything.
    fn pass_on(&mut self) -> bool {
        if self.stack.state() != State::Connected {
            return false;
        }
        let mut fed = false;
        for w in self.writing.iter_mut().filter(|w| w.waiting > 0 || (w.ended && !w.end_passed_on)) {
            loop {
                let len = w.waiting.min(ZEROS.len() as u64) as usize;
                let last = w.ended && len as u64 == w.waiting;
                // A stream that the peer has stopped takes everything and sends nothing.
                let taken = self.stack.write(w.id, Chunk { bytes: &ZEROS[..len], last }).unwrap_or_else(|| {
                    w.waiting = len as u64;
                    w.ended = true;
                    len
                });
                w.waiting -= taken as u64;
                w.end_passed_on = w.ended && w.waiting == 0 && taken == len;
                fed |= taken > 0 || w.end_passed_on;
                if taken < len || w.waiting == 0 {
                    break;
                }
            }
        }
        fed
    }

    fn tell(&mut self, notices: &mut Vec<Notice>) {
        let state = self.stack.state();
        if !self.connected && state == State::Connected {
            self.connected = true;
            notices.push(Notice::Connected {});
            self.pass_on();
        }
        if !self.allows_paths && self.stack.allows_paths() {
            self.allows_paths = true;
            notices.push(Notice::Multipath {});
        }
        while let Some(read) = self.stack.read() {
            notices.push(Notice::Read { stream: read.stream, bytes: read.bytes, ended: read.ended });
        }
        let stack = &mut self.stack;
        self.writing.retain(|w| {
            let done = w.end_passed_on && stack.delivered(w.id);
            if done {
                notices.push(Notice::Delivered { stream: w.id });
            }
            !done
        });
        self.ending(notices);
    }

    /// Tells once how the connection ended.
    fn ending(&mut self, notices: &mut Vec<Notice>) {
        let last = match self.stack.state() {
            State::Handshake | State::Connected => return,
            State::Closed => Notice::Closed {},
            State::IdleTimeout => Notice::IdleTimeout {},
            State::Failed(code) => Notice::Failed { code },
        };
        if !std::mem::replace(&mut self.over, true) {
            notices.push(last);
        }
    }

    fn send(&mut self, now: u64, start: Instant, room: &mut [u8], outgoing: &mut Vec<Outgoing>) {
        outgoing.extend(self.answers.drain(..).map(|answer| Outgoing { at: now, path: 0, datagram: Blob(answer) }));
        self.later = None;
        let mut last = now;
        loop {
            match self.stack.send(room) {
                Next::Datagram { len, at, path } => {
                    last = last.max(nanos(at, start));
                    outgoing.push(Outgoing { at: last, path, datagram: Blob(room[..len].to_vec()) });
                }
                Next::Later(at) => {
                    self.later = Some(at);
                    return;
                }
                Next::Nothing if self.pass_on() => {}
                Next::Nothing => return,
            }
        }
    }
}

/// Time of the run at an instant.
fn nanos(at: Instant, start: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(start).as_nanos()).unwrap_or(NEVER)
}
