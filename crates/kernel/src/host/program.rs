//! Programs in a kernel, and the packets of their flows: all between two nodes whose server's port is the flow's, of TCP or UDP, in any
//! number of connections.

use super::{CARD, Host, LEAD};
use crate::control::{Command, Ending, Event as News, Launch};
use crate::end::End;
use crate::error::Error;
use crate::programs::{Data, HOME, Programs, Server};
use crate::segment;
use haltere_meters::{self as meters, ClientMeter, End as Side, ServerMeter};
use haltere_net::{Ecn, Span, Time};
use haltere_transport::{CloseReason, Event, Role, Stats, StreamId};
use std::path::Path;

/// The parameter of the congestion control that a kernel's connections have by default.
const CONGESTION: &str = "net.ipv4.tcp_congestion_control";

/// Whether a packet leaves an end or comes to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Out,
    In,
}

/// The packets of a flow at one of its ends, counted as at a real host.
pub(crate) struct Traffic {
    role: Role,
    /// Whether it is the end that sends the data.
    sends: bool,
    server: ServerMeter,
    client: ClientMeter,
    /// The client's first packet has left.
    began: bool,
}

impl std::fmt::Debug for Traffic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Traffic of the {:?}", self.role)
    }
}

impl Traffic {
    /// The traffic of one end.
    pub fn new(role: Role, data: Data) -> Traffic {
        let sends = (role == Role::Server) == (data == Data::Down);
        Traffic { role, sends, server: ServerMeter::default(), client: ClientMeter::default(), began: false }
    }

    /// Counts a packet. Returns the bytes of payload that the end which takes the data has received by it for the first time. To a meter,
    /// the server is the end that sends them.
    fn take(&mut self, packet: &[u8], way: Way, now: Time, stats: &mut Stats) -> u64 {
        let Some(packet) = meters::parse(now, packet) else {
            stats.invalid_packets += 1;
            return 0;
        };
        if self.sends {
            let (samples, sum) = (self.server.counts().rtt_samples, self.server.counts().rtt_sum_ns);
            self.server.take(&packet, if way == Way::Out { Side::Server } else { Side::Client });
            let counts = self.server.counts();
            stats.sent_packets = counts.sent_packets;
            stats.retransmitted_packets = counts.retransmitted_packets;
            stats.lost_packets = counts.retransmitted_packets;
            stats.spurious_retransmissions = counts.spurious_retransmissions;
            let news = u128::from(counts.rtt_samples - samples);
            for _ in 0..news {
                stats.count_rtt(Span::from_nanos(((counts.rtt_sum_ns - sum) / news) as u64));
            }
            return 0;
        }
        let (bytes, completed) = (self.client.counts().payload_bytes, self.client.counts().completed);
        self.client.take(&packet, if way == Way::Out { Side::Client } else { Side::Server });
        let counts = self.client.counts();
        // A packet that comes after the client has closed completes nothing.
        if counts.completed == completed { 0 } else { counts.payload_bytes - bytes }
    }
}

/// The last lines of what a program has printed.
fn said(folder: &str, launch: &Launch) -> String {
    let log = Path::new(&launch.log).strip_prefix(HOME).map(|log| Path::new(folder).join(log));
    let bytes = log.ok().and_then(|log| std::fs::read(log).ok()).unwrap_or_default();
    match crate::process::last_words(&String::from_utf8_lossy(&bytes)) {
        words if words.is_empty() => "it said nothing".into(),
        words => words,
    }
}

fn in_words(ending: Ending) -> String {
    match ending {
        Ending::Status(status) => format!("ended with status {status}"),
        Ending::Signal(signal) => format!("was ended by signal {signal}"),
    }
}

impl Host {
    /// Makes the kernel a machine for programs, before the run.
    pub fn furnish(&mut self, folder: &str) -> Result<(), Error> {
        if !std::mem::replace(&mut self.furnished, true) {
            self.node.command(Command::Furnish { folder: folder.into(), at: HOME.into() });
            self.set_up()?;
        }
        Ok(())
    }

    /// Gives the kernel the congestion control that a flow's server takes, before the run.
    pub fn choose(&mut self, end: &End, programs: &Programs) -> Result<(), Error> {
        if let Some(congestion) = &programs.congestion
            && self.is_new(CONGESTION.to_owned(), Some(congestion.clone()), &end.contender)?
        {
            self.node.command(Command::Set { name: CONGESTION.to_owned(), value: congestion.clone() });
            self.set_up()?;
        }
        Ok(())
    }

    /// Starts the server of a flow, before the run, and waits until its port is open.
    pub fn serve(&mut self, programs: &Programs) -> Result<(), Error> {
        let Some(Server { launch, ready }) = &programs.server else { return Ok(()) };
        self.made += 1;
        let child = self.made;
        self.node.command(Command::Spawn { child, launch: launch.clone() });
        let Some((protocol, port)) = *ready else { return self.set_up() };
        self.node.command(Command::Await { child, protocol, port });
        let failed = |how: String| {
            let (program, said) = (launch.argv.first().map_or("", String::as_str), said(&programs.folder, launch));
            Err(Error::Program(format!("the server {program} {how}: {said}")))
        };
        loop {
            self.node.run(self.set_up)?;
            while let Some(news) = self.node.poll_event() {
                match news {
                    News::Listening { child: one } if one == child => return Ok(()),
                    News::Exited { child: one, ending } if one == child => {
                        return failed(format!("{} before its port {port} was open", in_words(ending)));
                    }
                    News::Failed { socket, errno } if socket == child => {
                        return failed(format!("cannot be started ({})", std::io::Error::from_raw_os_error(errno)));
                    }
                    _ => {}
                }
            }
            let wake = self.node.next_wake();
            if wake >= Time::ZERO + LEAD {
                self.node.command(Command::Kill { child });
                self.node.run(self.set_up)?;
                return failed(format!("did not open its port {port} within {LEAD}"));
            }
            self.set_up = wake.max(self.set_up);
        }
    }

    /// Gives the packets with this port of the server's to the flow of a connection.
    pub fn carry(&mut self, number: u32, port: u16, traffic: Traffic) {
        self.programs.insert(port, number);
        if let Some(one) = self.connections.get_mut(&number) {
            one.traffic = Some(Box::new(traffic));
        }
    }

    /// Starts the client of a flow.
    pub fn spawn(&mut self, number: u32, launch: &Launch) {
        self.node.command(Command::Spawn { child: number, launch: launch.clone() });
        self.pending = true;
    }

    /// Starts the client of a flow before the run, and lets it come to rest.
    ///
    /// # Errors
    /// If it fails at once.
    pub fn spawn_early(&mut self, number: u32, programs: &Programs) -> Result<(), Error> {
        let launch = &programs.client;
        self.node.command(Command::Spawn { child: number, launch: launch.clone() });
        self.set_up()?;
        let mut events = self.connections.get(&number).map(|one| one.events.iter()).into_iter().flatten();
        let failed = events.find_map(|(_, event)| if let Event::Failed(reason) = event { Some(*reason) } else { None });
        failed.map_or(Ok(()), |reason| {
            let said = said(&programs.folder, launch);
            Err(Error::Program(format!("{}: {said}", reason.text())))
        })
    }

    /// Ends the client of a flow that is forgotten. What it has printed is written to its log then.
    pub(super) fn end_program(&mut self, number: u32) {
        self.programs.retain(|_, one| *one != number);
        if !self.over {
            self.node.command(Command::Kill { child: number });
            // Whoever forgets a flow needs it no more: it does not matter if the kernel fails now.
            self.over = self.node.run((self.now + LEAD).max(self.node.passed())).is_err();
        }
    }

    /// Hands a packet of a program's flow to the kernel.
    pub(super) fn deliver_to_program(&mut self, number: u32, mut packet: Vec<u8>, ecn: Ecn, now: Time) {
        let Some(one) = self.connections.get_mut(&number) else { return };
        let Some(traffic) = &mut one.traffic else { return };
        let fresh = traffic.take(&packet, Way::In, now, &mut one.stats);
        one.at = now;
        if fresh > 0 {
            if one.readable == 0 {
                one.tell(Event::Readable(StreamId(0)));
            }
            one.readable += fresh;
        }
        if ecn == Ecn::Ce {
            segment::mark(&mut packet);
        }
        self.node.deliver(CARD, &packet);
        self.pending = true;
    }

    /// Gives a packet that leaves to the flow of the program that sent it. Returns the packet if it is no program's.
    pub(super) fn sort_of_program(&mut self, packet: Vec<u8>, by: u32) -> Option<Vec<u8>> {
        if self.programs.is_empty() {
            return Some(packet);
        }
        let Some((ecn, [from, to])) = segment::ends(&packet) else { return Some(packet) };
        let Some(number) = self.programs.get(&to.port()).or_else(|| self.programs.get(&from.port())).copied() else {
            return Some(packet);
        };
        let Some(one) = self.connections.get_mut(&number) else { return Some(packet) };
        let Some(traffic) = &mut one.traffic else { return Some(packet) };
        traffic.take(&packet, Way::Out, self.now, &mut one.stats);
        one.stats.sent_all += 1;
        one.at = self.now;
        if traffic.role == Role::Client && !std::mem::replace(&mut traffic.began, true) {
            one.open(self.now);
        }
        let path = one.path(*from.ip(), *to.ip());
        one.packets.push_back((self.now, (path, ecn, packet)));
        if number != by {
            self.ring(number);
        }
        None
    }

    /// Takes an event of a program to its flow, whose number is returned.
    pub(super) fn learn_of_program(&mut self, news: &News) -> Option<u32> {
        let (number, event) = match *news {
            News::Exited { child, ending: Ending::Status(0) } => (child, Event::Closed),
            News::Exited { child, ending: Ending::Status(status) } => {
                (child, Event::Failed(CloseReason::Exited(status)))
            }
            News::Exited { child, ending: Ending::Signal(signal) } => {
                (child, Event::Failed(CloseReason::Killed(signal)))
            }
            News::Failed { socket, errno } => (socket, Event::Failed(CloseReason::NotStarted(errno))),
            _ => return None,
        };
        let one = self.connections.get_mut(&number).filter(|one| one.traffic.is_some())?;
        one.at = self.now;
        one.tell(event);
        Some(number)
    }
}
