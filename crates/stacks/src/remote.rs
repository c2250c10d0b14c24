//! One end of a connection in a worker program ([`crate::worker`]), as a [`StackConnection`].
//!
//! Each turn is two messages and two changes of process, so there are few: what the application writes waits until
//! datagrams are asked for; what came of a stream is read in the worker and only counted here; datagrams that are to go
//! later, as pacing wants it, wait here.

use crate::addresses::AddressPair;
use crate::clock::{Calendar, Clock};
use crate::config::{Cipher, Config, Congestion, Error, Windows};
use crate::connection::{Arrival, Counts, Departure, ReadProgress, StackConnection, StackEvent, violation};
use crate::endpoint::{Parts, around};
use crate::handles::{Handles, Sink};
use crate::meter::Meter;
use crate::secrets::Secrets;
use crate::worker::Worker;
use crate::worker::protocol::{Answer, Blob, Command, Figures, NEVER, Notice, Outgoing, Setup, Turn};
use haltere_net::{Ecn, PathId, Time};
use haltere_transport::path::PathError;
use haltere_transport::quic::Session;
use haltere_transport::{CloseReason, Endpoint, Role};
use std::collections::VecDeque;
use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Bytes of a stream that were read and not asked for yet.
struct Received {
    id: u64,
    bytes: u64,
    ended: bool,
}

/// An end that lives in a worker program.
pub(crate) struct Remote {
    worker: Worker,
    stack: &'static str,
    end: u32,
    addresses: Vec<AddressPair>,
    multipath: bool,
    role: Role,
    clock: Clock,
    meter: Meter,
    secrets: Secrets,
    qlog: Option<Sink>,
    /// Commands that were not sent yet.
    commands: Vec<Command>,
    /// Whether datagrams must be asked for before it is known that there are none.
    stale: bool,
    outgoing: VecDeque<Outgoing>,
    events: VecDeque<StackEvent>,
    /// When the worker wants a turn, ns.
    wake: u64,
    opened: u64,
    openable: u64,
    /// A stream was wanted and not allowed.
    wanted: bool,
    received: Vec<Received>,
    accepted: VecDeque<u64>,
    figures: Figures,
    failed: bool,
}

/// One end of a connection.
pub(crate) fn endpoint(config: Config, handles: Handles) -> Result<Box<dyn Endpoint>, Error> {
    around(config, handles, parts)
}

/// Makes the endpoint's parts.
fn parts(config: Config, mut handles: Handles) -> Result<Parts<Remote>, Error> {
    let setup = setup(&config, &mut handles)?;
    let paths = if config.multipath { config.addresses.len() } else { 1 };
    let (stack, few) = (config.stack.name(), !config.multipath || !config.stack.schedulers.is_empty());
    if config.addresses.len() != paths || !few {
        return Err(Error::new(format!("{stack} has one path here: give one pair of addresses, or write quic@noq/…")));
    }
    let end = handles.worker.new_end(stack)?;
    let turn = Turn { end, now: 0, commands: vec![Command::Make { setup }] };
    let answer = handles.worker.turn(stack, &turn).map_err(Error::new)?;
    if !answer.refused.is_empty() {
        return Err(Error::new(answer.refused));
    }
    let (clock, meter) = (Clock::new(), Meter::new(paths, &config));
    let connection = Remote {
        worker: handles.worker,
        stack,
        end,
        addresses: config.addresses,
        multipath: config.multipath,
        role: config.role,
        clock,
        meter: meter.clone(),
        secrets: handles.secrets,
        qlog: handles.qlog,
        commands: Vec::new(),
        stale: false,
        outgoing: VecDeque::new(),
        events: VecDeque::new(),
        wake: NEVER,
        opened: 0,
        openable: 0,
        wanted: false,
        received: Vec::new(),
        accepted: VecDeque::new(),
        figures: Figures::default(),
        failed: false,
    };
    let (role, max_udp_payload) = (config.role, config.max_udp_payload.max(1200));
    let calendar = Calendar::default();
    Ok(Parts { connection, role, clock, calendar, meter, max_udp_payload, ordered: true, early_data: false })
}

impl Remote {
    /// Sends the commands that wait; returns whether the end accepted all datagrams among them.
    fn turn(&mut self, now: Instant, command: Option<Command>) -> bool {
        self.commands.extend(command);
        self.stale = false;
        let commands = std::mem::take(&mut self.commands);
        if self.failed {
            return false;
        }
        let turn = Turn { end: self.end, now: self.clock.time(now).as_nanos(), commands };
        match self.worker.turn(self.stack, &turn) {
            Ok(answer) if answer.refused.is_empty() => self.take(answer),
            Ok(_) => self.fail("the stack's worker program refused a turn"),
            Err(why) => self.fail(why),
        }
    }

    fn fail(&mut self, why: &'static str) -> bool {
        self.failed = true;
        self.wake = NEVER;
        self.outgoing.clear();
        self.events.push_back(StackEvent::Failed(CloseReason::ProtocolViolation(why)));
        false
    }

    fn take(&mut self, answer: Answer) -> bool {
        self.stale = !answer.sent;
        self.outgoing.extend(answer.outgoing);
        self.wake = answer.wake;
        self.openable = answer.openable;
        for notice in answer.notices {
            self.notice(notice);
        }
        if self.wanted && self.opened < self.openable {
            self.wanted = false;
            self.events.push_back(StackEvent::Openable);
        }
        self.count(answer.figures);
        if !answer.secrets.is_empty() {
            self.secrets.add(&answer.secrets);
        }
        if let Some(sink) = self.qlog.as_mut().filter(|_| !answer.qlog.0.is_empty()) {
            // A log that cannot be written says so when it is closed.
            let _ = sink.write_all(&answer.qlog.0);
        }
        answer.taken
    }

    fn notice(&mut self, notice: Notice) {
        let events = match notice {
            Notice::Connected {} => StackEvent::Connected,
            Notice::Read { stream, bytes, ended } => {
                if let Some(known) = self.received.iter_mut().find(|r| r.id == stream) {
                    known.bytes += bytes;
                    known.ended |= ended;
                    StackEvent::Readable(stream)
                } else {
                    self.received.push(Received { id: stream, bytes, ended });
                    self.first_received(stream)
                }
            }
            Notice::Delivered { stream } => StackEvent::Delivered(stream),
            Notice::Closed {} => StackEvent::Closed,
            Notice::IdleTimeout {} => StackEvent::IdleTimeout,
            Notice::Failed { code } => StackEvent::Failed(violation(code)),
            Notice::Multipath {} => StackEvent::Multipath,
        };
        self.events.push_back(events);
    }

    /// The event of a stream's first bytes: the peer opened the stream, or answers on it.
    fn first_received(&mut self, stream: u64) -> StackEvent {
        let ours = stream & 1 == u64::from(self.role == Role::Server);
        if ours || stream & 2 != 0 {
            return StackEvent::Readable(stream);
        }
        self.accepted.push_back(stream);
        StackEvent::Opened
    }

    fn count(&mut self, figures: Figures) {
        let fired = figures.timeouts.saturating_sub(self.figures.timeouts);
        self.meter.lost(0, fired);
        for (k, path) in figures.paths.iter().enumerate().take(self.meter.paths()) {
            let (meter, before) = (self.meter.of(k), self.figures.paths.get(k).map_or(0, |before| before.rtt));
            meter.acknowledged(path.in_flight, (path.rtt != before).then(|| Duration::from_nanos(path.rtt)));
            meter.control(path.window, None, None);
        }
        self.figures = figures;
    }
}

fn setup(config: &Config, handles: &mut Handles) -> Result<Setup, Error> {
    let name = config.stack.name();
    let Congestion::Own(own) = config.congestion else {
        let why = format!(
            "{name} takes no congestion control from outside: leave +haltere out, or write quic@quinn/…+haltere"
        );
        return Err(Error::new(why));
    };
    if config.cipher == Cipher::Null {
        return Err(Error::new(format!(
            "{name} cannot do without its TLS, whose bytes repeat anyway: leave +nullcipher out"
        )));
    }
    if config.session != Session::New || config.retry || config.unknown_version {
        let why =
            format!("{name} makes the plain handshake only: leave resumed, 0rtt, retry and versionnegotiation out");
        return Err(Error::new(why));
    }
    let (stream_window, connection_window) = match config.windows {
        Windows::Wide => (Windows::WIDE.0.into(), Windows::WIDE.1.into()),
        Windows::Stock => STOCK,
    };
    Ok(Setup {
        stack: name.into(),
        server: config.role == Role::Server,
        congestion: own.into(),
        seed: handles.stream.bits(),
        max_udp_payload: config.max_udp_payload.max(1200),
        stream_window,
        connection_window,
        qlog: handles.qlog.is_some(),
        paths: if config.multipath { config.addresses.len() as u8 } else { 1 },
        scheduler: config.scheduler.filter(|_| config.multipath).unwrap_or_default().into(),
    })
}

/// Receive windows of quiche's programs at the start, bytes: of a stream, of the connection; quiche lets them grow to
/// 16 and 24 MiB (`apps/src/args.rs`).
const STOCK: (u64, u64) = (1_000_000, 10_000_000);

impl StackConnection for Remote {
    fn connect(&mut self, now: Instant) -> Result<(), &'static str> {
        self.turn(now, Some(Command::Connect {}));
        Ok(())
    }

    fn has_early_keys(&self) -> bool {
        false
    }

    fn was_early_data_taken(&self) -> bool {
        false
    }

    fn receive(&mut self, now: Instant, arrival: Arrival, datagram: Vec<u8>, _: &mut VecDeque<Vec<u8>>) -> bool {
        self.turn(
            now,
            Some(Command::Receive { path: arrival.path.0, ecn: arrival.ecn as u8, datagram: Blob(datagram) }),
        )
    }

    fn wake(&mut self, now: Instant) {
        // Else a datagram is due that waits here.
        if self.clock.time(now) >= Time::from_nanos(self.wake) {
            self.turn(now, Some(Command::Wake {}));
        }
    }

    fn timeout(&mut self) -> Option<Instant> {
        let at = match (self.events.is_empty(), self.outgoing.front()) {
            // They came with the last datagrams, and are to be handled at once.
            (false, _) => 0,
            (true, Some(first)) => self.wake.min(first.at),
            (true, None) => self.wake,
        };
        (at != NEVER).then(|| self.clock.instant(Time::from_nanos(at)))
    }

    fn transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Departure> {
        if self.stale || !self.commands.is_empty() {
            self.turn(now, Some(Command::Send {}));
        }
        let due = self.clock.time(now).as_nanos();
        self.outgoing.front().filter(|first| first.at <= due)?;
        let first = self.outgoing.pop_front()?;
        *into = first.datagram.0;
        let &AddressPair { local, remote } = self.addresses.get(usize::from(first.path))?;
        Some(Departure { source: Some(local.ip()), destination: remote, ecn: Ecn::NotEct })
    }

    fn remote(&self) -> Option<SocketAddr> {
        self.addresses.first().map(|pair| pair.remote)
    }

    fn add_path(&mut self, _: Instant, path: PathId, _: AddressPair) -> Result<(), PathError> {
        if !self.multipath {
            return Err(PathError::SinglePath);
        }
        self.commands.push(Command::AddPath { path: path.0 });
        Ok(())
    }

    fn abandon_path(&mut self, _: Instant, addresses: AddressPair) -> Result<(), PathError> {
        let path = self.addresses.iter().position(|pair| *pair == addresses).ok_or(PathError::NoSuchPath)?;
        if !self.multipath {
            return Err(PathError::SinglePath);
        }
        self.commands.push(Command::AbandonPath { path: path as u8 });
        Ok(())
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        self.events.pop_front()
    }

    fn open(&mut self) -> Option<u64> {
        self.wanted = self.opened >= self.openable;
        if self.wanted {
            return None;
        }
        self.opened += 1;
        Some((self.opened - 1) << 2 | u64::from(self.role == Role::Server))
    }

    fn accept(&mut self) -> Option<u64> {
        self.accepted.pop_front()
    }

    fn write(&mut self, stream: u64, bytes: u64) -> u64 {
        self.commands.push(Command::Write { stream, bytes });
        bytes
    }

    fn finish(&mut self, stream: u64) {
        self.commands.push(Command::Finish { stream });
    }

    fn read(&mut self, stream: u64, progress: &mut ReadProgress) -> bool {
        let Some(received) = self.received.iter_mut().find(|r| r.id == stream) else { return false };
        progress.take(progress.prefix, std::mem::take(&mut received.bytes));
        received.ended
    }

    fn close(&mut self, _: Instant) {
        self.commands.push(Command::Close {});
    }

    fn counts(&mut self) -> Counts {
        let figures = &self.figures;
        let sampled = figures.paths.iter().map(|path| path.min_rtt).filter(|rtt| *rtt > 0);
        Counts {
            sent_packets: figures.sent_packets,
            lost_packets: figures.lost_packets,
            spurious: figures.spurious,
            min_rtt: Duration::from_nanos(sampled.min().unwrap_or(0)),
        }
    }
}

#[cfg(all(test, feature = "worker", unix))]
mod tests {
    use crate::stack::endpoint;
    use crate::worker::worker_that;
    use crate::{Config, Congestion, Handles, QUICHE};
    use haltere_net::rng::Streams;
    use haltere_net::{ComponentId, Cx, Time};
    use haltere_transport::{CloseReason, Event, Role};

    #[test]
    fn a_worker_that_ends_in_the_middle_of_a_run_fails_the_connection() {
        let (_folder, worker) = worker_that("exit 3");
        let (own, random) = (Congestion::Own("cubic"), Streams::new(1, 0).named("client"));
        let config = Config::new(Role::Client, QUICHE, own);
        let mut end = endpoint(config, Handles { worker, ..Handles::new(random) }).unwrap();
        let mut cx = Cx::new(Time::ZERO, ComponentId(0));
        end.connect(&mut cx);
        let event = end.poll_event();
        assert!(
            matches!(event, Some(Event::Failed(CloseReason::ProtocolViolation(why))) if why.contains("ended")),
            "{event:?}"
        );
        assert!(end.poll_transmit(&mut cx).is_none() && end.next_wake() == Time::NEVER);
    }
}
