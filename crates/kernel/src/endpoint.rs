//! One end of a connection between kernels as an [`Endpoint`], and the kernels of a run.

use crate::boot::Boot;
use crate::control::{Command, Launch};
use crate::end::End;
use crate::error::Error;
use crate::host::{Connection, Host, Traffic};
use crate::programs::Programs;
use crate::tcp_info::METRICS;
use haltere_net::incident::CongestionState;
use haltere_net::{Cx, Incident, Metric, Packet, PathId, Time};
use haltere_transport::path::PathError;
use haltere_transport::{Body, Endpoint, Event, Role, Stats, StreamId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The longest packet of a card, bytes.
const LONGEST: u32 = 1500;

/// The kernels of a run, one for each node that has an end of a connection. Clones share them; they end with the last one.
#[derive(Clone, Default)]
pub struct Kernels(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    hosts: BTreeMap<u32, Arc<Mutex<Host>>>,
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernels")
    }
}

/// Whether there is a kernel that can be a node.
///
/// # Errors
/// If something is missing; the error says how to get it.
pub fn ready() -> Result<(), Error> {
    Boot::found().map(|_| ())
}

impl Kernels {
    /// One end of a connection. The node's kernel is booted with its first end.
    ///
    /// # Errors
    /// If there is no kernel, or none that can be an end as it is wanted.
    pub fn end(&self, end: End) -> Result<Box<dyn Endpoint>, Error> {
        let host = self.host(&end)?;
        let number = {
            let mut host = host.lock().unwrap_or_else(PoisonError::into_inner);
            host.prepare(&end)?;
            host.listen(&end)?;
            let stats = Stats { rtts: end.rtts.then(Box::default), ..Stats::default() };
            host.add(Connection::new(&end, stats))
        };
        Ok(Box::new(KernelEndpoint {
            host,
            number,
            end,
            opening: Opening::Connect,
            ahead: None,
            opened: false,
            ended: false,
            recorded: [None; METRICS.len()],
            state: None,
        }))
    }

    /// One end of a flow whose ends are programs. A server is started at once, and a client when its end is to connect; that the client has
    /// ended is told by `Event::Closed`, or by `Event::Failed` if its status is not 0. Bytes to read are those of packets.
    ///
    /// # Errors
    /// As [`Kernels::end`]; if the server does not open its port, too.
    pub fn program(&self, end: End, programs: &Programs) -> Result<Box<dyn Endpoint>, Error> {
        let host = self.host(&end)?;
        let number = {
            let mut host = host.lock().unwrap_or_else(PoisonError::into_inner);
            host.prepare(&end)?;
            host.furnish(&programs.folder)?;
            if end.role == Role::Server {
                host.choose(&end, programs)?;
                host.serve(programs)?;
            }
            let stats = Stats { rtts: end.rtts.then(Box::default), ..Stats::default() };
            let number = host.add(Connection::new(&end, stats));
            host.carry(number, end.port, Traffic::new(end.role, programs.data));
            if end.role == Role::Client && programs.early {
                host.spawn_early(number, programs)?;
            }
            number
        };
        let opening = if programs.early { Opening::Begun } else { Opening::Spawn(programs.client.clone()) };
        Ok(Box::new(KernelEndpoint {
            host,
            number,
            end,
            opening,
            ahead: None,
            opened: false,
            ended: false,
            recorded: [None; METRICS.len()],
            state: None,
        }))
    }

    /// Starts a server that several ends on a node share, once they are there, before the run, and waits until its port is open.
    ///
    /// # Errors
    /// If it does not open its port.
    pub fn serve(&self, node: u32, programs: &Programs) -> Result<(), Error> {
        let shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let host = shared.hosts.get(&node).cloned();
        drop(shared);
        host.map_or(Ok(()), |host| host.lock().unwrap_or_else(PoisonError::into_inner).serve(programs))
    }

    /// The kernel of an end's node, which is booted if the end is its first.
    fn host(&self, end: &End) -> Result<Arc<Mutex<Host>>, Error> {
        let mtu = u16::try_from(end.mtu).ok().filter(|mtu| u32::from(*mtu) <= LONGEST).ok_or_else(|| {
            let given = end.mtu;
            Error::Missing(format!(
                "the MTU is {given} bytes, and a kernel's card has at most {LONGEST}: set mtu to 1500B"
            ))
        })?;
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let host = match shared.hosts.get(&end.node) {
            Some(host) => host.clone(),
            None => {
                let found = Boot::found()?;
                let boot = Boot { dice: end.dice, origin: found.origin + end.phase, ..found };
                let host = Arc::new(Mutex::new(Host::boot(boot, end, mtu)?));
                shared.hosts.insert(end.node, host.clone());
                host
            }
        };
        drop(shared);
        let other = host.lock().unwrap_or_else(PoisonError::into_inner).mtu;
        if other != mtu {
            return Err(Error::Missing(format!(
                "the paths from one kernel have the MTUs {other} and {mtu}: give the flows hosts of their own, or one MTU"
            )));
        }
        Ok(host)
    }
}

/// The way in which a client's end is opened.
enum Opening {
    /// The kernel connects.
    Connect,
    /// A program is started.
    Spawn(Launch),
    /// The program runs already.
    Begun,
}

/// One end of a connection on a kernel.
struct KernelEndpoint {
    host: Arc<Mutex<Host>>,
    number: u32,
    end: End,
    opening: Opening,
    /// From when until when nothing else happens, for one call.
    ahead: Option<[Time; 2]>,
    opened: bool,
    /// The application has ended its stream.
    ended: bool,
    /// The values of [`METRICS`] that were recorded last.
    recorded: [Option<u64>; METRICS.len()],
    /// The state that was told last.
    state: Option<CongestionState>,
}

impl KernelEndpoint {
    fn host(&self) -> MutexGuard<'_, Host> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the kernel's own state, and the newest RTT: each acknowledgement changes them, and each packet that leaves.
    fn record(&mut self, before: Option<u128>, cx: &mut Cx<'_>) {
        if !cx.probing() {
            return;
        }
        let host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(one) = host.peek(self.number) else { return };
        if let Some(rtt) = before.and_then(|before| one.stats.rtt_sum_ns.checked_sub(before)).filter(|rtt| *rtt > 0) {
            cx.record(Metric::Rtt, u64::try_from(rtt).unwrap_or(u64::MAX));
        }
        let Some(info) = &one.info else { return };
        if let Some(state) = info.state().filter(|state| self.state.replace(*state) != Some(*state)) {
            cx.tell(Incident::CongestionState(state));
        }
        for ((metric, value), recorded) in METRICS.into_iter().zip(info.metrics()).zip(&mut self.recorded) {
            // Each sample of the RTT is told above; the kernel tells their average.
            if metric != Metric::Rtt
                && let Some(value) = value
                && recorded.replace(value) != Some(value)
            {
                cx.record(metric, value);
            }
        }
    }

    /// Until when the kernel may run in a call at this time.
    fn until(&mut self, now: Time) -> Time {
        self.ahead.take().filter(|[told, _]| *told == now).map_or(now, |[_, until]| until.max(now))
    }

    fn with<T: Default>(&self, act: impl FnOnce(&mut Connection) -> T) -> T {
        self.host().get(self.number).map_or_else(T::default, act)
    }
}

impl Drop for KernelEndpoint {
    fn drop(&mut self) {
        self.host().remove(self.number);
    }
}

impl Endpoint for KernelEndpoint {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        if self.end.role == Role::Client {
            let mut host = self.host();
            host.called_by(self.number, cx.me);
            match &self.opening {
                Opening::Connect => host.connect(self.number, &self.end),
                Opening::Spawn(launch) => host.spawn(self.number, launch),
                Opening::Begun => {}
            }
            // The kernel's path manager may use them all: the world must know them.
            if self.end.ways.len() > 1
                && let Some(one) = host.get(self.number)
            {
                one.tell(Event::Multipath);
            }
            host.run(cx.now, self.number);
        }
    }

    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        let until = self.until(cx.now);
        let mut host = self.host();
        host.called_by(self.number, cx.me);
        if cx.probing() {
            host.watch(self.number);
        }
        let before = host.peek(self.number).map(|one| one.stats.rtt_sum_ns);
        let packet = packet.into_contents();
        match packet.body {
            Body::Ip(bytes) => host.deliver(self.number, bytes, packet.ecn, cx.now),
            _ => {
                if let Some(one) = host.get(self.number) {
                    one.stats.invalid_packets += 1;
                }
            }
        }
        host.run_ahead([cx.now, until], self.number);
        drop(host);
        self.record(before, cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let until = self.until(cx.now);
        self.host().run_ahead([cx.now, until], self.number);
        self.record(None, cx);
    }

    fn look_ahead(&mut self, now: Time, until: Time) {
        self.ahead = Some([now, until]);
    }

    fn next_wake(&self) -> Time {
        self.host().wake(self.number)
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let mut host = self.host();
        host.run(cx.now, self.number);
        let (path, ecn, packet) = host.take_packet(self.number)?;
        drop(host);
        self.record(None, cx);
        let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        Some(Packet::new(length, Body::Ip(packet)).with(|p| (p.ecn, p.path) = (ecn, path)))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.host().take_event(self.number)
    }

    fn open(&mut self) -> Option<StreamId> {
        (!std::mem::replace(&mut self.opened, true)).then_some(StreamId(0))
    }

    fn write(&mut self, _: StreamId, bytes: u64) {
        let mut host = self.host();
        if let Some(one) = host.get(self.number) {
            one.written = one.written.saturating_add(bytes);
        }
        host.command(self.number, |socket| Command::Write { socket, bytes });
    }

    fn unsent(&self, _: StreamId) -> u64 {
        self.host().peek(self.number).map_or(0, Connection::unsent)
    }

    fn wait_writable(&mut self, _: StreamId, below: u64) {
        self.with(|one| {
            one.low_water = below;
            one.tell_writable();
        });
    }

    fn finish(&mut self, _: StreamId) {
        self.close();
    }

    /// A client's program writes its request, and then waits for the response: it ends its stream behind both.
    fn ends_with_data(&self) -> bool {
        false
    }

    fn read(&mut self, _: StreamId, _: Time) -> u64 {
        self.with(|one| {
            let bytes = std::mem::take(&mut one.readable);
            one.tell_ends();
            bytes
        })
    }

    fn close(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.host().command(self.number, |socket| Command::Finish { socket });
        }
    }

    /// Which paths are used, and when, is the kernel's business.
    fn add_path(&mut self, path: PathId, _: &mut Cx<'_>) -> Result<(), PathError> {
        if usize::from(path.0) < self.end.ways.len() { Ok(()) } else { Err(PathError::TooMany) }
    }

    fn local_limit(&self) -> u64 {
        u64::MAX
    }

    fn stats(&self) -> Stats {
        self.host().peek(self.number).map_or_else(Stats::default, |one| one.stats.clone())
    }

    fn bytes_in_flight(&self, _: PathId) -> u64 {
        self.host().peek(self.number).map_or(0, |one| one.in_flight())
    }
}
