//! A node of the simulator that is a kernel: its connections, and what happens to each when the kernel runs. One connection's call may have
//! the kernel send packets of another, whose process is then told so (`Faults::ring`).

mod connection;
mod program;

use crate::boot::{Boot, ORIGIN};
use crate::card::Identity;
use crate::control::{Command, Event as News, HOST};
use crate::end::{End, ip};
use crate::error::Error;
use crate::node::Node;
use crate::programs::Module;
use crate::segment::{self, Segment};
use crate::tcp_info::TcpInfo;
pub(crate) use connection::Connection;
use connection::{Sent, Tuple, first};
use haltere_net::fault::Faults;
use haltere_net::{Address, ComponentId, Ecn, Span, Time};
use haltere_transport::{Event, Role, StreamId};
pub(crate) use program::Traffic;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};

/// The card of the network.
const CARD: usize = 1;
/// All hosts are in one network, 10.0.0.0/8. Which path a packet takes is the simulator's business, by its addresses.
const PREFIX: u8 = 8;
/// The first port of clients, as Linux's `ip_local_port_range` has it.
const FIRST_PORT: u16 = 32_768;
/// The kernel's time at the start of the run, counted from the end of its boot: it is set up in between.
///
/// Servers take their time: Apache looks after its children once a second. A run without a phase starts at an edge of the coarsest level of
/// the kernel's timer wheels, as the model's does: its count of ticks began with [`INITIAL_TICKS`], and is a multiple of 512 then.
const LEAD: Span = Span::from_millis(TICK_MS * (INITIAL_TICKS - 135 * 512) - ORIGIN.as_nanos() / 1_000_000);
/// How many ticks before zero a kernel's count begins (Linux: `INITIAL_JIFFIES`, five minutes).
const INITIAL_TICKS: u64 = 300 * 1000 / TICK_MS;
/// A tick at HZ = 250.
const TICK_MS: u64 = 4;
/// The time of a kernel's own clock (`CLOCK_MONOTONIC`) when the run begins, of a kernel with this phase ([`End::phase`]).
pub fn epoch(phase: Span) -> Span {
    ORIGIN + phase + LEAD
}

/// A kernel that wants to rest for so long has done what it was told.
const REST: Span = Span::from_micros(50);
/// Parameters of every host: memory that never limits a transfer, and nothing remembered of earlier connections.
const PARAMETERS: [(&str, &str); 2] =
    [("net.ipv4.tcp_mem", "1048576 1048576 1048576"), ("net.ipv4.tcp_no_metrics_save", "1")];
/// The further subflows of a connection at most, as the kernel takes them (`MPTCP_PM_ADDR_MAX`).
const SUBFLOWS: u8 = 8;
/// Flags of the path manager's addresses (linux/mptcp_pm.h).
const SIGNAL: u32 = 1;
const SUBFLOW: u32 = 2;
const BACKUP: u32 = 4;
/// The largest file of a module, bytes.
const LARGEST_MODULE: usize = 1 << 20;
/// The kernel-wide parameter of HyStart, which only CUBIC has.
const HYSTART: &str = "tcp_cubic.hystart";
const CUBIC: &str = "cubic";

fn is_without_hystart(end: &End) -> bool {
    end.congestion == CUBIC && end.settings.without_hystart
}

/// A kernel with its connections.
pub(crate) struct Host {
    node: Node,
    /// Its addresses, in the order in which they were given.
    addresses: Vec<Address>,
    /// The settings that somebody asks for, and who.
    settings: BTreeMap<String, (Option<String>, String)>,
    /// CUBIC has no HyStart.
    without_hystart: bool,
    pub mtu: u16,
    connections: BTreeMap<u32, Connection>,
    by_tuple: BTreeMap<Tuple, u32>,
    /// The connections by their server's port, which no two flows share.
    by_port: BTreeMap<u16, BTreeSet<u32>>,
    by_socket: BTreeMap<u32, u32>,
    /// The ports on which it listens, with their sockets.
    listeners: BTreeMap<u16, u32>,
    made: u32,
    /// How far it was set up, by the kernel's time.
    set_up: Time,
    /// The time of what the kernel has done last.
    now: Time,
    /// The time in the world.
    world: Time,
    /// There is something for the next run.
    pending: bool,
    /// The connection whose process is called when the kernel wants to run.
    leader: Option<u32>,
    faults: Faults,
    over: bool,
    /// It is a machine for programs.
    furnished: bool,
    /// The flows of programs, by their server's port.
    programs: BTreeMap<u16, u32>,
}

impl Host {
    /// Boots the kernel on which this end is the first.
    pub fn boot(mut boot: Boot, end: &End, mtu: u16) -> Result<Host, Error> {
        let [a, b] = (end.node as u16).to_be_bytes();
        boot.cards = vec![Identity { mac: [2, 0, 0, 0, a, b], mtu }];
        let without_hystart = is_without_hystart(end);
        if without_hystart {
            boot.parameters.push(format!("{HYSTART}=0"));
        }
        let mut host = Host {
            node: Node::boot(&boot)?,
            addresses: Vec::new(),
            settings: BTreeMap::new(),
            without_hystart,
            mtu,
            connections: BTreeMap::new(),
            by_tuple: BTreeMap::new(),
            by_port: BTreeMap::new(),
            by_socket: BTreeMap::new(),
            listeners: BTreeMap::new(),
            made: 0,
            set_up: Time::ZERO,
            now: Time::ZERO,
            world: Time::ZERO,
            pending: false,
            leader: None,
            faults: end.faults.clone(),
            over: false,
            furnished: false,
            programs: BTreeMap::new(),
        };
        for (name, value) in PARAMETERS {
            host.node.command(Command::Set { name: name.into(), value: value.into() });
        }
        Ok(host)
    }

    /// Sets the host up for one more end: its addresses, what its contender asks for. Before the run.
    ///
    /// # Errors
    /// If another end wants the host otherwise, or the kernel does not know what is set.
    pub fn prepare(&mut self, end: &End) -> Result<(), Error> {
        for (name, value) in &end.settings.parameters {
            if self.is_new((*name).to_owned(), value.clone(), &end.contender)?
                && let Some(value) = value
            {
                self.node.command(Command::Set { name: (*name).to_owned(), value: value.clone() });
            }
        }
        // The kernel was told at its boot.
        if end.congestion == CUBIC && is_without_hystart(end) != self.without_hystart {
            let contender = &end.contender;
            return Err(Error::Missing(format!(
                "{contender} and what is before it want {HYSTART} set differently on one host: give each its own hosts"
            )));
        }
        for way in &end.ways {
            if self.addresses.contains(&way.own) {
                continue;
            }
            let alias = u8::try_from(self.addresses.len()).unwrap_or(u8::MAX);
            self.node.command(Command::Address { card: CARD as u8, alias, address: ip(way.own), prefix: PREFIX });
            self.addresses.push(way.own);
        }
        self.load(end)?;
        self.tell_routes(end)?;
        if end.options.multipath {
            self.tell_path_manager(end)?;
        }
        if self.node.has_commands() { self.set_up() } else { Ok(()) }
    }

    /// Listens at the port of a server's end, before the run.
    ///
    /// # Errors
    /// If the kernel does not.
    pub fn listen(&mut self, end: &End) -> Result<(), Error> {
        if end.role == Role::Server && !self.listeners.contains_key(&end.port) {
            self.made += 1;
            let (socket, local) = (self.made, SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, end.port));
            self.node.command(Command::Listen {
                socket,
                local,
                congestion: end.congestion.clone(),
                options: end.options,
            });
            self.listeners.insert(end.port, socket);
        }
        if self.node.has_commands() { self.set_up() } else { Ok(()) }
    }

    /// Whether nobody has asked for a setting before.
    ///
    /// # Errors
    /// If somebody wants another value.
    fn is_new(&mut self, name: String, value: Option<String>, contender: &str) -> Result<bool, Error> {
        match self.settings.get(&name) {
            None => {
                self.settings.insert(name, (value, contender.to_owned()));
                Ok(true)
            }
            Some((before, _)) if *before == value => Ok(false),
            Some((_, whose)) => Err(Error::Missing(format!(
                "{contender} and {whose} want {name} set differently on one host: give each its own hosts"
            ))),
        }
    }

    /// Loads the module of an end's congestion control.
    fn load(&mut self, end: &End) -> Result<(), Error> {
        let Some(Module { name, path, options }) = &end.module else { return Ok(()) };
        if !self.is_new(format!("the module {name}"), Some(options.clone()), &end.contender)? {
            return Ok(());
        }
        let image = std::fs::read(path).ok().filter(|image| image.len() <= LARGEST_MODULE).ok_or_else(|| {
            Error::Missing(format!("{path} is no module of at most {LARGEST_MODULE} bytes: run the contender again"))
        })?;
        self.set_up()?;
        self.node.command(Command::Load { image, options: options.clone() });
        let refused = self.settle()?.map(std::io::Error::from_raw_os_error);
        refused.map_or(Ok(()), |why| {
            let set = if options.is_empty() { "none is set" } else { options };
            let contender = &end.contender;
            Err(Error::Missing(format!(
                "{contender}: its module does not start ({why}): are the values of its parameters valid ({set}), and does its \
                 module_init register one tcp_congestion_ops?"
            )))
        })
    }

    fn tell_routes(&mut self, end: &End) -> Result<(), Error> {
        let metric = |name| end.settings.metrics.get(name).copied();
        let (advmss, initcwnd) = (metric("advmss"), metric("initcwnd"));
        let told = format!("advmss {advmss:?}, initcwnd {initcwnd:?}");
        for way in &end.ways {
            let to = ip(way.peer);
            let is_new = self.is_new(format!("the route to {to}"), Some(told.clone()), &end.contender)?;
            if is_new && !end.settings.metrics.is_empty() {
                self.node.command(Command::Route { card: CARD as u8, to, advmss, initcwnd });
            }
        }
        Ok(())
    }

    /// Tells MPTCP's path manager the addresses of an end. A client opens a subflow from each of its other addresses as soon as the
    /// server has acknowledged data. If the server announces its own, it is told those in their place, and the client connects to them.
    fn tell_path_manager(&mut self, end: &End) -> Result<(), Error> {
        let announces = end.settings.announces;
        if self.is_new("MPTCP's addresses".into(), Some(format!("announced: {announces}")), &end.contender)? {
            self.node.command(Command::Subflows(SUBFLOWS));
        }
        if announces != (end.role == Role::Server) {
            return Ok(());
        }
        for way in &end.ways {
            let backup = if way.backup { BACKUP } else { 0 };
            let flags = if announces { SIGNAL } else { SUBFLOW | backup };
            let address = ip(way.own);
            if self.is_new(format!("MPTCP's address {address}"), Some(flags.to_string()), &end.contender)? {
                self.node.command(Command::Endpoint { address, flags });
            }
        }
        Ok(())
    }

    /// Runs what was commanded before the run; whatever fails is an error.
    fn set_up(&mut self) -> Result<(), Error> {
        self.settle()?.map_or(Ok(()), |errno| {
            let why = std::io::Error::from_raw_os_error(errno);
            Err(Error::Missing(format!(
                "a kernel cannot be set up ({why}): build another one by `haltere kernel build`"
            )))
        })
    }

    /// Runs what was commanded before the run. Returns the number of the error if something failed.
    fn settle(&mut self) -> Result<Option<i32>, Error> {
        loop {
            self.node.run(self.set_up)?;
            let wake = self.node.next_wake();
            if wake.since(self.set_up) > REST {
                break;
            }
            self.set_up = wake;
        }
        if self.set_up >= Time::ZERO + LEAD {
            return Err(Error::Missing("a kernel cannot have so many listeners: take fewer flows".into()));
        }
        let mut failed = None;
        while let Some(news) = self.node.poll_event() {
            // A client that was started early has ended: its flow is told when the run begins.
            if self.learn_of_program(&news).is_some() {
                continue;
            }
            if let News::Failed { errno, .. } = news {
                failed = failed.or(Some(errno));
            }
        }
        Ok(failed)
    }

    /// Takes up a connection.
    pub fn add(&mut self, connection: Connection) -> u32 {
        self.made += 1;
        self.by_port.entry(connection.port).or_default().insert(self.made);
        self.connections.insert(self.made, connection);
        self.made
    }

    /// Forgets a connection; what it has written is still sent if the kernel runs.
    pub fn remove(&mut self, number: u32) {
        let Some(connection) = self.connections.remove(&number) else { return };
        if connection.traffic.is_some() {
            self.end_program(number);
        }
        if let Some(others) = self.by_port.get_mut(&connection.port) {
            others.remove(&number);
        }
        if let Some(tuple) = connection.tuple {
            self.by_tuple.remove(&tuple);
        }
        if let Some(socket) = connection.socket {
            self.by_socket.remove(&socket);
            self.node.command(Command::Close { socket });
            self.pending = true;
        }
        if self.leader == Some(number) {
            self.leader = None;
            self.lead();
        }
    }

    /// Chooses a connection whose process is called when the kernel wants to run, and tells the process.
    fn lead(&mut self) {
        if self.leader.is_none() {
            self.leader = self.connections.iter().find(|(_, one)| one.machine.is_some()).map(|(number, _)| *number);
        }
        let machine = self.leader.and_then(|leader| self.connections.get(&leader)?.machine);
        if let Some(machine) = machine {
            self.faults.ring(machine);
        }
    }

    pub fn get(&mut self, number: u32) -> Option<&mut Connection> {
        self.connections.get_mut(&number)
    }

    pub fn peek(&self, number: u32) -> Option<&Connection> {
        self.connections.get(&number)
    }

    /// A connection is called by this machine.
    pub fn called_by(&mut self, number: u32, machine: ComponentId) {
        if let Some(one) = self.connections.get_mut(&number) {
            one.machine = Some(machine);
        }
        if self.leader.is_none() {
            self.leader = Some(number);
        }
    }

    /// Opens a connection.
    pub fn connect(&mut self, number: u32, end: &End) {
        let Some(way) = end.ways.first() else { return };
        let own = FIRST_PORT + (number % u32::from(u16::MAX - FIRST_PORT)) as u16;
        let (local, remote) = (SocketAddrV4::new(ip(way.own), own), SocketAddrV4::new(ip(way.peer), end.port));
        let (congestion, options) = (end.congestion.clone(), end.options);
        self.node.command(Command::Connect { socket: number, local, remote, congestion, options });
        self.by_socket.insert(number, number);
        self.by_tuple.insert((local, remote), number);
        if let Some(one) = self.connections.get_mut(&number) {
            (one.socket, one.tuple) = (Some(number), Some((local, remote)));
        }
        self.pending = true;
    }

    /// Commands something for a connection that has a socket.
    pub fn command(&mut self, number: u32, command: impl FnOnce(u32) -> Command) {
        if let Some(socket) = self.connections.get(&number).and_then(|one| one.socket) {
            self.node.command(command(socket));
            self.pending = true;
        }
    }

    /// Has the kernel's own state of a connection told with each of its runs. A kernel that is asked wakes its program, after which it rounds
    /// the times of its timers anew: packets move by some tens of nanoseconds.
    pub fn watch(&mut self, number: u32) {
        if let Some(one) = self.connections.get_mut(&number) {
            one.watched = true;
        }
    }

    /// Hands a packet of a connection to the kernel.
    pub fn deliver(&mut self, number: u32, mut packet: Vec<u8>, ecn: Ecn, now: Time) {
        let Some(one) = self.connections.get_mut(&number) else { return };
        one.at = now;
        one.stats.received_packets += 1;
        one.stats.received_wire_bytes += packet.len() as u64;
        if one.traffic.is_some() {
            return self.deliver_to_program(number, packet, ecn, now);
        }
        let Some(segment) = Segment::parse(&packet) else {
            one.stats.invalid_packets += 1;
            return;
        };
        let tuple = (segment.destination, segment.source);
        if let Some(direction) = one.directions.get_mut(&tuple) {
            direction.on_received(&segment, now, &mut one.stats);
        }
        one.tell_ends();
        if one.tuple.is_none() {
            one.tuple = Some(tuple);
            self.by_tuple.insert(tuple, number);
        }
        if ecn == Ecn::Ce && segment.ecn != Ecn::Ce {
            segment::mark(&mut packet);
        }
        self.node.deliver(CARD, &packet);
        self.pending = true;
    }

    /// Runs the kernel if it has something to do at this time.
    pub fn run(&mut self, now: Time, by: u32) {
        self.run_ahead([now, now], by);
    }

    /// Whether the kernel may run on through instants at which nothing comes to it: nobody but its programs works on its connections.
    fn looks_ahead(&self) -> bool {
        self.furnished && self.programs.len() == self.connections.len()
    }

    /// Runs the kernel if it has something to do at this time, and on until something else may happen.
    pub fn run_ahead(&mut self, [now, until]: [Time; 2], by: u32) {
        self.world = now;
        if self.over || !(self.pending || self.node.next_wake() <= now + LEAD) {
            return;
        }
        if let Some(socket) = self.connections.get(&by).filter(|one| one.watched).and_then(|one| one.socket) {
            self.node.command(Command::Sample { socket });
        }
        let until = if self.looks_ahead() { until } else { now };
        self.pending = false;
        match self.node.run_ahead(now + LEAD, until + LEAD) {
            Ok(at) => self.now = Time::ZERO + at.since(Time::ZERO + LEAD),
            Err(why) => {
                self.over = true;
                self.faults.raise(why.to_string());
                return;
            }
        }
        self.sort_packets(by);
        while let Some(news) = self.node.poll_event() {
            if let Some(number) = self.learn(news)
                && number != by
            {
                self.ring(number);
            }
        }
        if self.leader != Some(by) {
            self.lead();
        }
    }

    fn ring(&self, number: u32) {
        if let Some(machine) = self.connections.get(&number).and_then(|one| one.machine) {
            self.faults.ring(machine);
        }
    }

    /// The connection of a packet that leaves. What begins inside the kernel, as a subflow does, has no tuple that is known: it belongs
    /// to the first connection with the server's port.
    fn owner(&self, source: SocketAddrV4, destination: SocketAddrV4) -> Option<u32> {
        let of_port = |port: u16| self.by_port.get(&port).and_then(|all| all.first());
        let known = self.by_tuple.get(&(source, destination));
        known.or_else(|| of_port(destination.port())).or_else(|| of_port(source.port())).copied()
    }

    /// The next packet of a connection that was sent by now.
    pub fn take_packet(&mut self, number: u32) -> Option<Sent> {
        let (world, one) = (self.world, self.connections.get_mut(&number)?);
        first(&mut one.packets, world)
    }

    /// The next event of a connection that happened by now.
    pub fn take_event(&mut self, number: u32) -> Option<Event> {
        let (world, one) = (self.world, self.connections.get_mut(&number)?);
        first(&mut one.events, world)
    }

    /// Gives each packet to its connection. Packets of connections that nobody has any more go nowhere.
    fn sort_packets(&mut self, by: u32) {
        while let Some((_, packet)) = self.node.take() {
            let Some(packet) = self.sort_of_program(packet, by) else { continue };
            let Some(segment) = Segment::parse(&packet) else { continue };
            let Some(number) = self.owner(segment.source, segment.destination) else { continue };
            let Some(one) = self.connections.get_mut(&number) else { continue };
            let direction = one.directions.entry((segment.source, segment.destination)).or_default();
            direction.on_sent(&segment, self.now, &mut one.stats);
            one.at = self.now;
            let path = one.path(*segment.source.ip(), *segment.destination.ip());
            one.packets.push_back((self.now, (path, segment.ecn, packet)));
            one.tell_writable();
            if number != by {
                self.ring(number);
            }
        }
    }

    /// Takes an event to its connection, whose number is returned.
    fn learn(&mut self, news: News) -> Option<u32> {
        if let Some(number) = self.learn_of_program(&news) {
            return Some(number);
        }
        if let News::Accepted { listener, socket, remote } = news {
            let port = self.listeners.iter().find(|(_, own)| **own == listener).map(|(port, _)| *port)?;
            let own = self.addresses.iter().map(|own| SocketAddrV4::new(ip(*own), port));
            let number = own.into_iter().find_map(|own| self.by_tuple.get(&(own, remote)).copied())?;
            self.by_socket.insert(socket, number);
            let one = self.connections.get_mut(&number)?;
            (one.socket, one.at) = (Some(socket), self.now);
            one.open(self.now);
            return Some(number);
        }
        let socket = match news {
            News::Connected { socket } | News::Received { socket, .. } | News::Finished { socket } => socket,
            News::Failed { socket: HOST, errno } => {
                let why = std::io::Error::from_raw_os_error(errno);
                self.faults.raise(format!("the program inside a kernel cannot obey: {why}"));
                return None;
            }
            News::Failed { socket, .. } | News::Info { socket, .. } => socket,
            News::Ready { .. } | News::Accepted { .. } | News::Listening { .. } | News::Exited { .. } => return None,
        };
        let number = *self.by_socket.get(&socket)?;
        let one = self.connections.get_mut(&number)?;
        one.at = self.now;
        match news {
            News::Connected { .. } => one.open(self.now),
            News::Received { bytes, .. } => {
                if one.readable == 0 {
                    one.tell(Event::Readable(StreamId(0)));
                }
                one.readable += bytes;
            }
            News::Finished { .. } => {
                one.ended = true;
                one.tell_ends();
            }
            News::Failed { errno, .. } => {
                one.socket = None;
                one.fail(errno);
            }
            News::Info { info, .. } => one.info = Some(TcpInfo::new(info)),
            _ => {}
        }
        Some(number)
    }

    /// When the kernel wants to run next.
    fn next_wake(&self) -> Time {
        match self.node.next_wake() {
            Time::NEVER => Time::NEVER,
            wake => Time::ZERO + wake.since(Time::ZERO + LEAD),
        }
    }

    /// When the process of a connection is to be called.
    pub fn wake(&self, number: u32) -> Time {
        if self.over {
            return Time::NEVER;
        }
        match self.connections.get(&number) {
            Some(one) if self.leader == Some(number) => one.output().unwrap_or(Time::NEVER).min(self.next_wake()),
            Some(one) => one.output().unwrap_or(Time::NEVER),
            None => Time::NEVER,
        }
    }
}
