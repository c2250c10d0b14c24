//! One TCP endpoint alone: the test plays the peer and the clock, and reads the endpoint's output as a packet trace.
//!
//! Segments carry 1000 bytes and timers are exact, so that traces are easy to check by hand. A line of a trace is a time
//! in ms, then `S`, `S.` (SYN, SYN-ACK), `0..1000` (data; `F` for a FIN) or `ack 1000` with the SACK blocks.
#![allow(dead_code)]

use haltere_net::rng::Streams;
use haltere_net::{ComponentId, Cx, Metric, Packet, Probe, Span, Time};
use haltere_transport::cc;
use haltere_transport::tcp::segment::{Kind, Segment};
use haltere_transport::tcp::{Config, Connection};
use haltere_transport::{Body, Endpoint, Event, Role, StreamId};

pub const MSS: u64 = 1000;
const ME: ComponentId = ComponentId(0);

/// Keeps the last value of each metric.
#[derive(Default)]
struct Last([u64; Metric::ALL.len()]);

impl Probe for Last {
    fn record(&mut self, _: Time, _: ComponentId, _: haltere_net::PathId, metric: Metric, value: u64) {
        self.0[metric as usize] = value;
    }
}

/// The endpoint under test and what the peer knows.
pub struct Bench {
    pub connection: Connection,
    pub events: Vec<Event>,
    now: Time,
    sent: Vec<(Time, Segment)>,
    seen: Last,
    /// The window the peer offers.
    pub window: u64,
    /// The data that the peer has sent, for the endpoint to acknowledge.
    peer_next: u64,
    /// The timestamp the peer echoes next; what it received last unless a test says otherwise.
    pub echo: Option<u32>,
    last_timestamp: u32,
}

/// A configuration for traces: NewReno, segments of 1000 bytes, no timestamps, exact timers.
pub fn config(role: Role) -> Config {
    let mut config = Config::new(role, cc::NEWRENO, Streams::new(1, 0).named("trace"));
    config.mtu = 1040;
    config.timestamps = false;
    config.tick = Span::ZERO;
    // The whole buffer is advertised from the start, so that no acknowledgement is sent to advertise more.
    config.initial_receive_window = 65_535;
    config.max_receive_window = 65_535;
    config
}

/// The configuration with timestamps.
pub fn with_timestamps(role: Role) -> Config {
    Config { mtu: 1052, timestamps: true, ..config(role) }
}

fn ms(at: f64) -> Time {
    Time::from_nanos((at * 1e6).round() as u64)
}

impl Bench {
    /// An endpoint before its handshake.
    pub fn new(config: Config) -> Bench {
        Bench {
            connection: Connection::new(config),
            events: Vec::new(),
            now: Time::ZERO,
            sent: Vec::new(),
            seen: Last::default(),
            window: 1 << 20,
            peer_next: 0,
            echo: None,
            last_timestamp: 0,
        }
    }

    /// A server whose handshake with an RTT of 100 ms is just over, at 100 ms.
    pub fn established(config: Config) -> Bench {
        let mut bench = Bench::new(config);
        bench.receive(Kind::Syn, |_| {});
        bench.at(100.0);
        bench.ack(0);
        assert_eq!(bench.events, [Event::Connected]);
        bench.trace();
        bench
    }

    /// Advances the time; timers run when they are due.
    pub fn at(&mut self, at: f64) -> &mut Bench {
        let at = ms(at);
        assert!(at >= self.now, "time goes forward");
        loop {
            let wake = self.connection.next_wake();
            if wake > at {
                break;
            }
            assert!(wake >= self.now, "a wake-up in the past");
            self.now = wake;
            let mut cx = Cx::with_probe(self.now, ME, Some(&mut self.seen));
            self.connection.on_wake(&mut cx);
            self.pump();
            assert!(self.connection.next_wake() > self.now, "a timer that is due again at once");
        }
        self.now = at;
        self
    }

    fn pump(&mut self) {
        loop {
            let mut cx = Cx::with_probe(self.now, ME, Some(&mut self.seen));
            while let Some(event) = self.connection.poll_event() {
                self.events.push(event);
            }
            let Some(packet) = self.connection.poll_transmit(&mut cx) else { break };
            let Body::Tcp(segment) = packet.into_contents().body else { panic!("not TCP") };
            self.last_timestamp = segment.timestamp;
            self.sent.push((self.now, segment));
        }
    }

    /// The client connects.
    pub fn connect(&mut self) -> &mut Bench {
        self.connection.connect(&mut Cx::new(self.now, ME));
        self.pump();
        self
    }

    /// The application writes.
    pub fn write(&mut self, bytes: u64) -> &mut Bench {
        self.connection.write(StreamId(0), bytes);
        self.pump();
        self
    }

    /// The application ends its stream.
    pub fn finish(&mut self) -> &mut Bench {
        self.connection.finish(StreamId(0));
        self.pump();
        self
    }

    /// The application reads what is ready.
    pub fn read(&mut self) -> u64 {
        let bytes = self.connection.read(StreamId(0), self.now);
        self.pump();
        bytes
    }

    /// A segment of the peer arrives.
    pub fn receive(&mut self, kind: Kind, fill: impl FnOnce(&mut Segment)) -> &mut Bench {
        let mut segment = Segment {
            window: self.window,
            timestamp: (self.now.as_nanos() / 1_000_000) as u32 + 1,
            echo: self.echo.unwrap_or(self.last_timestamp),
            ..Segment::bare(kind, self.peer_next)
        };
        fill(&mut segment);
        if segment.fin {
            self.peer_next = self.peer_next.max(segment.end());
        }
        if self.last_timestamp == 0 {
            (segment.timestamp, segment.echo) = (0, 0);
        }
        let packet = Packet::new(segment.wire_len(), Body::Tcp(segment));
        let mut cx = Cx::with_probe(self.now, ME, Some(&mut self.seen));
        self.connection.on_packet(packet, &mut cx);
        self.pump();
        self
    }

    /// The peer acknowledges everything below `ack`.
    pub fn ack(&mut self, ack: u64) -> &mut Bench {
        self.sack(ack, &[])
    }

    /// The peer acknowledges, with SACK blocks.
    pub fn sack(&mut self, ack: u64, blocks: &[(u64, u64)]) -> &mut Bench {
        self.receive(Kind::Data, |s| {
            s.ack = ack;
            s.set_sack(blocks.iter().copied());
        })
    }

    /// The peer sends data.
    pub fn data(&mut self, seq: u64, len: u32) -> &mut Bench {
        self.peer_next = self.peer_next.max(seq + u64::from(len));
        self.receive(Kind::Data, |s| (s.seq, s.len) = (seq, len))
    }

    /// The peer sends data and pushes it.
    pub fn push(&mut self, seq: u64, len: u32) -> &mut Bench {
        self.peer_next = self.peer_next.max(seq + u64::from(len));
        self.receive(Kind::Data, |s| (s.seq, s.len, s.push) = (seq, len, true))
    }

    /// The segments that were sent since the last call.
    pub fn trace(&mut self) -> Vec<String> {
        std::mem::take(&mut self.sent).iter().map(|(at, s)| line(*at, s)).collect()
    }

    /// The segments themselves.
    pub fn segments(&mut self) -> Vec<(Time, Segment)> {
        std::mem::take(&mut self.sent)
    }

    /// The last value the endpoint reported.
    pub fn metric(&self, metric: Metric) -> u64 {
        self.seen.0[metric as usize]
    }

    /// The congestion window, segments.
    pub fn window_in_segments(&self) -> u64 {
        self.metric(Metric::Cwnd) / MSS
    }
}

fn line(at: Time, s: &Segment) -> String {
    let ms = at.as_nanos() as f64 / 1e6;
    let kind = match s.kind {
        Kind::Syn => "S".to_string(),
        Kind::SynAck => "S.".to_string(),
        Kind::Reset => "R".to_string(),
        Kind::Data if s.len == 0 && !s.fin => format!("ack {}", s.ack),
        Kind::Data => format!("{}..{}{}", s.seq, s.seq + u64::from(s.len), if s.fin { " F" } else { "" }),
    };
    let blocks: Vec<String> = s.sack_blocks().map(|(a, b)| format!(" {a}..{b}")).collect();
    let sack = if blocks.is_empty() { String::new() } else { format!(" sack{}", blocks.concat()) };
    format!("{ms} {kind}{sack}")
}

/// Asserts that a trace is this one.
#[macro_export]
macro_rules! assert_trace {
    ($bench:expr, [$($line:expr),* $(,)?]) => {
        assert_eq!($bench.trace(), [$($line.to_string()),*] as [String; 0 $(+ { let _ = $line; 1 })*])
    };
}
