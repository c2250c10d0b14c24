//! Any text is a queue or an error, and a queue keeps its promises under any interleaving of arrivals, departures and
//! time: no packet is lost without a fate or leaves twice, the backlog is what waits, and a flow's packets stay in order.

#![no_main]

use haltere_net::counters::LinkCounters;
use haltere_net::queue::{Backlog, Discipline, Fate, Fates, Place, QueueConfig, QueueDiscipline, Scale};
use haltere_net::rng::Streams;
use haltere_net::{ConnectionId, Ecn, FlowKey, Packet, Rate, Span, Time};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;

/// The value of a parameter: its example, a number with a unit, or any text.
fn value(u: &mut Unstructured<'_>, example: &str) -> Result<String> {
    let units = ["", "p", "B", "kB", "bdp", "ms", "us", "s", "kbit/s", "Mbit/s", "Gbit/s"];
    Ok(match u.int_in_range(0..=5)? {
        0 => example.to_string(),
        1..=3 => format!("{}{}", u.arbitrary::<u16>()?, u.choose(&units)?),
        4 => format!("0.{}", u.arbitrary::<u16>()?),
        _ => u.arbitrary::<&str>()?.chars().take(40).collect(),
    })
}

/// A word: of a discipline with some of its parameters, or any text.
fn word(u: &mut Unstructured<'_>) -> Result<String> {
    if u.ratio(1, 16)? {
        return Ok(u.arbitrary::<&str>()?.to_string());
    }
    let discipline = *u.choose(Discipline::ALL)?;
    let mut word = discipline.describe().name.to_string();
    for parameter in discipline.parameters() {
        if u.ratio(1, 2)? {
            let separator = if word.contains(':') { *u.choose(&[',', ';'])? } else { ':' };
            word.push_str(&format!("{separator}{}={}", parameter.name, value(u, parameter.example)?));
        }
    }
    Ok(word)
}

/// A queue with what is known of it.
struct Watched {
    word: String,
    queue: Box<dyn QueueDiscipline<u32>>,
    counters: LinkCounters,
    /// The lengths of the packets that wait, and the ECN field with which they came.
    waiting: HashMap<u32, (u32, u8)>,
    /// The last packet that left of each flow, class and ECN field: bands reorder classes, and dualpi2 has a queue for some
    /// of the ECN fields.
    last: HashMap<(FlowKey, u8, u8), u32>,
    now: Time,
}

impl Watched {
    fn act<T>(&mut self, act: impl FnOnce(&mut dyn QueueDiscipline<u32>, Time, &mut Fates<'_, u32>) -> T) -> T {
        let waiting = &mut self.waiting;
        let mut listener = |fate: Fate<'_, u32>| match fate {
            Fate::Dropped(packet, _) => assert!(waiting.remove(&packet.body).is_some(), "dropped twice"),
            Fate::Marked(packet) => assert_eq!(packet.ecn, Ecn::Ce),
        };
        act(&mut *self.queue, self.now, &mut Fates::with_listener(&mut self.counters, &mut listener))
    }

    fn enqueue(&mut self, packet: Packet<u32>) {
        self.waiting.insert(packet.body, (packet.len, packet.ecn as u8));
        self.act(|queue, now, fates| queue.enqueue(packet.with(|p| p.arrived = now), now, fates));
        self.check();
    }

    fn dequeue(&mut self) {
        if self.queue.ready_at() > self.now {
            return;
        }
        if let Some(packet) = self.act(|queue, now, fates| queue.dequeue(now, fates)) {
            let known = self.waiting.remove(&packet.body);
            assert!(known.is_some(), "leaves twice");
            let ecn = known.map_or(0, |(_, ecn)| ecn);
            let before = self.last.insert((packet.flow, packet.class, ecn), packet.body);
            assert!(
                before.is_none_or(|before| before < packet.body),
                "{}: {} leaves after a later one",
                self.word,
                packet.body
            );
        }
        self.check();
    }

    fn check(&self) {
        let bytes = self.waiting.values().map(|&(len, _)| u64::from(len)).sum();
        assert_eq!(self.queue.backlog(), Backlog { packets: self.waiting.len() as u64, bytes });
        assert_eq!(self.queue.ready_at() == Time::NEVER, self.waiting.is_empty());
    }
}

fn play(u: &mut Unstructured<'_>) -> Result<()> {
    let word = word(u)?;
    let Ok(config) = QueueConfig::from_word(&word) else { return Ok(()) };
    assert_eq!(QueueConfig::from_word(&config.to_string()).as_ref(), Ok(&config), "{word}");
    let rate = u.arbitrary::<Option<u32>>()?.map(|bps| Rate::from_bps(u64::from(bps).max(1)));
    let scale = Scale { rate, rtt: Span::from_micros(u.arbitrary::<u16>()?.into()), mtu: u.arbitrary::<u16>()?.into() };
    let queue = config.build(&Place { scale, name: "l/down", streams: &Streams::new(u.arbitrary()?, 0) });
    let (waiting, last) = (HashMap::new(), HashMap::new());
    let counters = LinkCounters::default();
    let mut watched = Watched { word: word.clone(), queue, counters, waiting, last, now: Time::ZERO };
    for n in 0.. {
        if u.is_empty() {
            break;
        }
        match u.int_in_range(0..=7)? {
            0 => watched.now += Span::from_nanos(u.arbitrary::<u32>()?.into()),
            1 => watched.now += Span::from_micros(u.arbitrary::<u16>()?.into()),
            2 => watched.now = watched.now.max(watched.queue.ready_at().min(watched.now + Span::from_secs(1000))),
            3 | 4 => watched.dequeue(),
            _ => {
                let flow = FlowKey { connection: ConnectionId(u.int_in_range(0..=9)?), ..FlowKey::default() };
                let ecn = *u.choose(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce])?;
                let len = if u.arbitrary()? { 1500 } else { u.arbitrary::<u16>()?.into() };
                let class = u.int_in_range(0..=63)?;
                watched.enqueue(Packet::new(len, n).with(|p| (p.flow, p.ecn, p.class) = (flow, ecn, class)));
            }
        }
    }
    // All that waits leaves or is dropped if the queue is asked whenever it is ready.
    for rounds in 0.. {
        let ready = watched.queue.ready_at();
        if ready == Time::NEVER {
            break;
        }
        assert!(rounds < 1_000_000, "{word} never empties");
        watched.now = watched.now.max(ready);
        watched.dequeue();
    }
    assert!(watched.waiting.is_empty());
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // Input that ends early has been played as far as it goes.
    let _ = play(&mut Unstructured::new(data));
});
