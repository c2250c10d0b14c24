//! Taps: packet sockets at interfaces in any namespaces, read by a thread that sleeps until a block of packets is full.
//!
//! Only headers are kept, of packets in both directions. Times are the kernel's, in nanoseconds, converted to
//! `CLOCK_MONOTONIC`. Packets for which there was no room are counted and reported.

mod analysis;
mod ring;
mod spec;

pub use spec::{
    Answer, EndSpec, FlowAnswer, FlowSpec, Heading, LinkAnswer, LinkSpec, OtherSpec, Point, Points, Spec, TapSpec,
    Transport,
};

use crate::clock;
use crate::error::{Context, HostError, parse};
use crate::netns::Namespaces;
use crate::sys::{Ring, RingSize};
use analysis::Analysis;
use haltere_net::{Span, Time};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketType, netdevice::name_to_index, socket};
use rustix::time::Timespec;
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A multiple of the page size of any machine; room for some 700 packets.
const BLOCK_BYTES: u32 = 128 << 10;
const LEAST_RING: u32 = 2 * BLOCK_BYTES;
/// The IP header and the TCP header with all its options, or enough of UDP's payload to recognise a packet by.
const SNAP: u32 = 96;
/// A block that is not full is read after this time. Stopping takes up to as long; a shorter time causes idle wake-ups.
const BLOCK_TIMEOUT_MS: u32 = 200;
/// After this many timeouts without the packets that the kernel counted, the capture fails.
const PATIENCE: u32 = 10;
/// The number of the stop descriptor in epoll; taps have lower ones.
const STOP: u64 = u64::MAX;

type Worker = JoinHandle<Result<Answer, HostError>>;

/// Listens from [`Capture::start`] to [`Capture::stop`].
pub struct Capture {
    spec: Spec,
    running: Option<(Worker, Arc<OwnedFd>, Sender<Time>)>,
}

impl Capture {
    /// Takes what to capture as JSON, a [`Spec`].
    ///
    /// # Errors
    /// If it is wrong; the error has the field's path.
    pub fn new(spec_json: &str) -> Result<Capture, HostError> {
        let spec: Spec = parse(spec_json)?;
        Analysis::new(spec.clone())?;
        if spec.ring_bytes < LEAST_RING {
            return Err(HostError::at("ring_bytes", format!("too small: give {LEAST_RING} or more")));
        }
        Ok(Capture { spec, running: None })
    }

    /// Opens the taps and returns once they listen.
    ///
    /// # Errors
    /// If it was started before, or an interface cannot be listened at.
    pub fn start(&mut self) -> Result<(), HostError> {
        if self.running.is_some() {
            return Err(HostError::at("", "the capture runs already: stop it first"));
        }
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).doing("", || "make an eventfd".into())?);
        let ((ready, is_ready), (until, when)) = (channel(), channel());
        let (spec, wish) = (self.spec.clone(), Arc::clone(&stop));
        let worker = std::thread::Builder::new().name("haltere-taps".into()).spawn(move || {
            let mut listener = match Listener::new(spec, &wish) {
                Ok(listener) => listener,
                Err(e) => {
                    let _ = ready.send(Err(e.clone()));
                    return Err(e);
                }
            };
            let _ = ready.send(Ok(()));
            listener.listen(&wish)?;
            listener.finish(when.recv().unwrap_or(Time::NEVER))
        });
        let worker = worker.doing("", || "start a thread".into())?;
        is_ready.recv().unwrap_or_else(|_| Err(died()))?;
        self.running = Some((worker, stop, until));
        Ok(())
    }

    /// Reads what is still there, closes the taps and returns the [`Answer`]. Packets offered to a link more than
    /// `until` after time zero are not counted, though they show what became of earlier ones.
    ///
    /// # Errors
    /// If it was not started, or reading failed.
    pub fn stop(&mut self, until: Option<Span>) -> Result<Answer, HostError> {
        let Some((worker, stop, send)) = self.running.take() else {
            return Err(HostError::at("", "the capture does not run: start it first"));
        };
        // If the thread has died it hears neither, and joining says why.
        let _ = send.send(until.map_or(Time::NEVER, |u| Time::ZERO + u));
        let _ = rustix::io::write(&*stop, &1u64.to_ne_bytes());
        worker.join().unwrap_or_else(|_| Err(died()))
    }

    /// As [`Capture::stop`], as JSON.
    ///
    /// # Errors
    /// As [`Capture::stop`].
    pub fn stop_json(&mut self, until: Option<Span>) -> Result<String, HostError> {
        serde_json::to_string(&self.stop(until)?).map_err(|e| HostError::at("", e.to_string()))
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if self.running.is_some() {
            let _ = self.stop(None);
        }
    }
}

fn died() -> HostError {
    HostError::at("", "the taps' thread died; this is a bug")
}

/// One open tap.
struct Tap {
    ring: Ring,
    /// Packets taken from the ring.
    read: u64,
    file: Option<PcapWriter<BufWriter<File>>>,
}

/// The thread's side of a capture.
struct Listener {
    analysis: Analysis,
    taps: Vec<Tap>,
    epoll: OwnedFd,
    zero: Time,
    /// How far the clock of the packets' time stamps is ahead.
    ahead: Span,
    failure: Option<HostError>,
}

impl Listener {
    fn new(spec: Spec, stop: &OwnedFd) -> Result<Listener, HostError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).doing("", || "make an epoll instance".into())?;
        let mut spaces = Namespaces::new().doing("", || "open the present network namespace".into())?;
        let mut taps = Vec::new();
        for i in 0..spec.taps.len() {
            let tap = Tap::open(&spec, i, &mut spaces)?;
            let watched = epoll::add(&epoll, &tap.ring, EventData::new_u64(i as u64), EventFlags::IN);
            watched.doing(&format!("taps[{i}]"), || "watch the tap".into())?;
            taps.push(tap);
        }
        epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN).doing("", || "watch for the end".into())?;
        let zero = spec.epoch_ns.map_or_else(clock::now, Time::from_nanos);
        let ahead = clock::realtime_ahead();
        Ok(Listener { analysis: Analysis::new(spec)?, taps, epoll, zero, ahead, failure: None })
    }

    /// Reads until it is told to stop.
    fn listen(&mut self, stop: &OwnedFd) -> Result<(), HostError> {
        while !self.wait(None)? {}
        epoll::delete(&self.epoll, stop).doing("", || "stop".into())
    }

    /// Sleeps until blocks are full, or for a time, and reads them. Returns whether it is to stop.
    fn wait(&mut self, timeout: Option<&Timespec>) -> Result<bool, HostError> {
        let mut events = Vec::with_capacity(16);
        match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e).doing("", || "wait for packets".into()),
        }
        let mut stop = false;
        for event in &events {
            match event.data.u64() {
                STOP => stop = true,
                tap => self.read(tap as usize),
            }
        }
        Ok(stop)
    }

    /// Reads the blocks that a tap has ready.
    fn read(&mut self, number: usize) {
        let Some(tap) = self.taps.get_mut(number) else { return };
        while let Some(block) = tap.ring.block() {
            for record in ring::records(block) {
                tap.read += 1;
                let at = record.at.saturating_sub(self.ahead);
                self.analysis.take(number, record.heading, at, record.bytes);
                if let Some(file) = &mut tap.file
                    && let Err(e) = write(file, &record)
                {
                    self.failure = Some(HostError::at("pcap", format!("cannot write packets: {e}")));
                    tap.file = None;
                }
            }
            tap.ring.release();
        }
    }

    /// Shuts the taps, reads what the kernel still has and makes the answer.
    fn finish(mut self, until: Time) -> Result<Answer, HostError> {
        let mut left = Vec::new();
        let mut lost = 0;
        for (i, tap) in self.taps.iter().enumerate() {
            let path = format!("taps[{i}]");
            tap.ring.accept_ipv4(0).doing(&path, || "shut the tap".into())?;
            let (seen, dropped) = tap.ring.statistics().doing(&path, || "ask what was lost".into())?;
            left.push(seen - dropped.min(seen));
            lost += dropped;
        }
        // A block that is not full comes when its time is over.
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(BLOCK_TIMEOUT_MS) * 1_000_000 };
        let missing = |taps: &[Tap]| taps.iter().zip(&left).map(|(t, l)| l.saturating_sub(t.read)).sum::<u64>();
        let mut patience = PATIENCE;
        while missing(&self.taps) > 0 && patience > 0 {
            let before = missing(&self.taps);
            self.wait(Some(&timeout))?;
            patience -= u32::from(missing(&self.taps) == before);
        }
        lost += missing(&self.taps);
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let error = self.doubt(lost);
        let until = if until == Time::NEVER { until } else { self.zero + until.since(Time::ZERO) };
        Ok(self.analysis.finish(self.zero, until, lost, error))
    }

    fn doubt(&self, lost: u64) -> Option<String> {
        if lost > 0 {
            let bytes = self.analysis.spec().ring_bytes;
            return Some(format!("{lost} packets found no room at their taps: give ring_bytes more than {bytes}"));
        }
        let (before, after) = (self.ahead, clock::realtime_ahead());
        let step = before.saturating_sub(after) + after.saturating_sub(before);
        (step > CLOCK_STEP).then(|| format!("the clock that stamps packets was set by {step} meanwhile: run again"))
    }
}

/// The two clocks drift apart by less than this in any run; more means that one of them was set.
const CLOCK_STEP: Span = Span::from_millis(1);

impl Tap {
    fn open(spec: &Spec, number: usize, spaces: &mut Namespaces) -> Result<Tap, HostError> {
        let path = format!("taps[{number}]");
        let TapSpec { netns, interface } = &spec.taps[number];
        spaces.enter(netns.as_deref()).doing(&format!("{path}.netns"), || {
            let name = netns.as_deref().unwrap_or("the present one");
            format!("enter {name:?} (a network namespace as `ip netns add` makes it; needs root)")
        })?;
        let size = RingSize {
            block_bytes: BLOCK_BYTES,
            blocks: spec.ring_bytes / BLOCK_BYTES,
            snap: SNAP,
            timeout_ms: BLOCK_TIMEOUT_MS,
        };
        let ring = Ring::new(size).doing(&path, || "make a packet socket (needs CAP_NET_RAW)".into())?;
        let asking = socket(AddressFamily::INET, SocketType::DGRAM, None).doing(&path, || "make a socket".into())?;
        let index = name_to_index(&asking, interface)
            .doing(&format!("{path}.interface"), || format!("find the interface {interface:?} in its namespace"))?;
        let file = spec.pcap.as_ref().map(|prefix| pcap(&format!("{prefix}.{number}.{interface}.pcap"))).transpose()?;
        ring.bind(index).doing(&path, || format!("listen at {interface:?}"))?;
        Ok(Tap { ring, read: 0, file })
    }
}

fn pcap(path: &str) -> Result<PcapWriter<BufWriter<File>>, HostError> {
    let file = File::create(path).doing("pcap", || format!("create {path}"))?;
    let header = PcapHeader {
        snaplen: SNAP,
        datalink: DataLink::RAW,
        ts_resolution: TsResolution::NanoSecond,
        ..PcapHeader::default()
    };
    PcapWriter::with_header(BufWriter::new(file), header)
        .map_err(|e| HostError::at("pcap", format!("cannot write {path}: {e}")))
}

fn write(file: &mut PcapWriter<BufWriter<File>>, record: &ring::Record<'_>) -> Result<(), pcap_file::PcapError> {
    let length = record.bytes.get(2..4).and_then(|b| b.try_into().ok()).map_or(0, u16::from_be_bytes);
    let at = Duration::from_nanos(record.at.as_nanos());
    file.write_packet(&PcapPacket::new(at, u32::from(length), record.bytes)).map(|_| ())
}
