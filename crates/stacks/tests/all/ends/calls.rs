//! An end with what a call does at it, and the link of a call.

use haltere_net::link::LinkConfig;
use haltere_net::queue::Limit;
use haltere_net::rng::Streams;
use haltere_net::{Cx, Packet, PathId, Rate, Span, Time};
use haltere_stacks::{Config, Handles};
use haltere_transport::media::{Frame, News};
use haltere_transport::{Body, Endpoint, Event, Role, Stats};

/// Between two frames: 30 a second.
const FRAME: Span = Span::from_nanos(33_333_333);

/// An end with what a call does at it: the server's encoder makes frames at the rate that it is told, up to a bound; the client looks at
/// what arrives.
pub struct End {
    pub inner: Box<dyn Endpoint>,
    sends: bool,
    most: Rate,
    rate: Rate,
    next: Time,
    key: bool,
    now: Time,
    pub sent: Vec<Frame>,
    /// Frames that arrived, and when.
    pub shown: Vec<(Time, Frame)>,
    /// The rates that were told.
    pub told: Vec<(Time, Rate)>,
    pub wanted: u64,
}

impl End {
    pub fn new(config: Config, seed: u64) -> End {
        let name = if config.role == Role::Client { "client" } else { "server" };
        let (role, most) = (config.role, config.call.most);
        End {
            inner: haltere_stacks::endpoint(config, Handles::new(Streams::new(seed, 0).named(name))).unwrap(),
            sends: role == Role::Server,
            most,
            rate: Rate::from_bps(300_000),
            next: Time::NEVER,
            key: true,
            now: Time::ZERO,
            sent: Vec::new(),
            shown: Vec::new(),
            told: Vec::new(),
            wanted: 0,
        }
    }

    fn encode(&mut self, cx: &mut Cx<'_>) {
        let bytes = u32::try_from(self.rate.as_bps().min(self.most.as_bps()) / 8 / 30).unwrap();
        let frame = Frame { number: self.sent.len() as u64, bytes, captured: cx.now, key: self.key };
        self.key = false;
        self.sent.push(frame);
        assert!(self.inner.send_frame(frame, cx));
        self.next = cx.now + FRAME;
    }

    /// Mean rate of what was told between two times, bit/s.
    pub fn mean(&self, from: u64, to: u64) -> u64 {
        let of: Vec<u64> = self.told.iter().filter(|t| within(t.0, from, to)).map(|t| t.1.as_bps()).collect();
        of.iter().sum::<u64>() / of.len().max(1) as u64
    }

    /// Mean rate of the frames that arrived between two times, bit/s.
    pub fn received(&self, from: u64, to: u64) -> u64 {
        self.shown.iter().filter(|s| within(s.0, from, to)).map(|s| u64::from(s.1.bytes) * 8).sum::<u64>() / (to - from)
    }
}

fn within(at: Time, from: u64, to: u64) -> bool {
    (from * 1_000_000_000..to * 1_000_000_000).contains(&at.as_nanos())
}

impl Endpoint for End {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.inner.connect(cx);
    }
    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        self.now = cx.now;
        self.inner.on_packet(packet, cx);
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.now = cx.now;
        if self.inner.next_wake() <= cx.now {
            self.inner.on_wake(cx);
        }
        if self.next <= cx.now {
            self.encode(cx);
        }
    }
    fn next_wake(&self) -> Time {
        self.inner.next_wake().min(self.next)
    }
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.inner.poll_transmit(cx)
    }
    fn poll_event(&mut self) -> Option<Event> {
        let event = self.inner.poll_event()?;
        match event {
            Event::Connected if self.sends => self.next = self.now + Span::from_nanos(1),
            Event::Media(News::Frame(frame)) => self.shown.push((self.now, frame)),
            Event::Media(News::TargetRate(rate)) => {
                self.rate = rate;
                self.told.push((self.now, rate));
            }
            Event::Media(News::KeyFrameWanted) => {
                self.key = true;
                self.wanted += 1;
            }
            _ => {}
        }
        Some(event)
    }
    fn want_key_frame(&mut self) {
        self.inner.want_key_frame();
    }
    fn close(&mut self) {
        self.next = Time::NEVER;
        self.inner.close();
    }
    fn stats(&self) -> Stats {
        self.inner.stats()
    }
    fn bytes_in_flight(&self, path: PathId) -> u64 {
        self.inner.bytes_in_flight(path)
    }
}

pub fn link(kbps: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bps(kbps * 1_000)),
        delay: Span::from_millis(25),
        queue: Limit::Bytes(kbps * 300 / 8).into(),
        ..LinkConfig::default()
    }
}
