//! A queue discipline whose decisions are those of loaded code. The packets stay here, so that none is lost or invented.

use crate::abi;
use crate::convert::{size, time};
use crate::trust::Trust;
use haltere_net::packet::{Ecn, Packet};
use haltere_net::queue::{
    Backlog, DropReason, Fates, Implementation, Length, Limit, Parameter, Parameters, Place, QueueDiscipline, Scale,
    Ticket, Value, flow_hash,
};
use haltere_net::registry::{self, Description, Maker};
use haltere_net::rng::Stream;
use haltere_net::units::QuantityError;
use haltere_net::{Rate, Time};
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// A band without packets.
pub const EMPTY: abi::Band =
    abi::Band { packets: 0, bytes: 0, head_size: abi::HALTERE_UNKNOWN, head_arrived: abi::HALTERE_UNKNOWN };

/// The state of a queue, as its discipline is told.
#[derive(Clone, PartialEq, Debug)]
pub struct Told {
    /// The present time, ns.
    pub now: i64,
    /// Packets waiting.
    pub packets: i64,
    /// Bytes waiting.
    pub bytes: i64,
    /// The limit, packets; `HALTERE_NEVER` if it is one in bytes.
    pub limit_packets: i64,
    /// The limit, bytes; `HALTERE_NEVER` if it is one in packets.
    pub limit_bytes: i64,
    /// The bands that have been used.
    pub bands: Vec<abi::Band>,
}

impl Told {
    /// An empty queue of this limit.
    pub fn new(limit: Limit) -> Told {
        let (limit_packets, limit_bytes) = match limit {
            Limit::Packets(n) => (size(n), abi::HALTERE_NEVER),
            Limit::Bytes(n) => (abi::HALTERE_NEVER, size(n)),
        };
        Told { now: 0, packets: 0, bytes: 0, limit_packets, limit_bytes, bands: Vec::new() }
    }
}

/// The things that the code of a discipline is made with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The link's rate, bit/s, or `HALTERE_UNKNOWN`.
    pub rate: i64,
    /// The base RTT of the path, ns.
    pub rtt: i64,
    /// The largest packet, bytes.
    pub mtu: i64,
    /// The values of the parameters, in their order.
    pub values: Arc<[f64]>,
    /// The dice of the queue.
    pub stream: Stream,
}

/// The questions that a discipline is asked. Others have the answers of a queue that drops what finds it full.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a function that is there or not")]
pub struct Asked {
    /// Which band a packet joins.
    pub enqueue: bool,
    /// Which band is served.
    pub next_band: bool,
    /// The fate of a packet that is about to leave.
    pub dequeue: bool,
    /// When a packet may leave.
    pub ready_at: bool,
}

/// The code of a discipline. An error is the reason for which it failed.
pub trait Decides: Send {
    /// The band of a packet that arrives, `HALTERE_DROP` or `HALTERE_FULL`.
    fn enqueue(&mut self, packet: &abi::Packet, queue: &mut Told) -> Result<i64, String>;
    /// The band whose first packet leaves.
    fn next_band(&mut self, queue: &mut Told) -> Result<i64, String>;
    /// `HALTERE_SEND`, `HALTERE_MARK` or `HALTERE_DROP`.
    fn dequeue(&mut self, packet: &abi::Packet, queue: &mut Told) -> Result<i64, String>;
    /// When the next packet may leave.
    fn ready_at(&mut self, queue: &mut Told) -> Result<i64, String>;
}

/// Makes the code of a discipline, and says what it is to be asked.
type Makes = dyn Fn(Setup) -> Result<(Box<dyn Decides>, Asked), String> + Send + Sync;

/// A file of code as a discipline.
struct Code {
    shown: &'static str,
    parameters: &'static [registry::Parameter],
    make: Box<Makes>,
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown)
    }
}

/// The discipline of a file of code. `shown` is its name in messages; `make` makes what decides in front of a link.
pub fn implementation(
    shown: &'static str,
    description: Description,
    parameters: &'static [registry::Parameter],
    make: impl Fn(Setup) -> Result<(Box<dyn Decides>, Asked), String> + Send + Sync + 'static,
) -> Result<&'static Implementation, String> {
    if parameters.iter().any(|parameter| parameter.name == LIMIT) {
        return Err(format!("{shown}: its parameter {LIMIT} is one that every queue has: give it another name"));
    }
    let code: &'static Code = Box::leak(Box::new(Code { shown, parameters, make: Box::new(make) }));
    let defaults = move |()| -> Box<dyn Parameters> {
        let values = code.parameters.iter().map(|parameter| parameter.default).collect();
        Box::new(Config { code, limit: Length::Packets(1000), values })
    };
    Ok(Box::leak(Box::new(Implementation { description, defaults: Maker::Loaded(Box::leak(Box::new(defaults))) })))
}

/// The parameter that every such discipline has.
const LIMIT: &str = "limit";

/// The parameters of a discipline of a file.
#[derive(Clone, Debug)]
struct Config {
    code: &'static Code,
    limit: Length,
    values: Vec<f64>,
}

impl Parameters for Config {
    fn list(&self) -> Vec<Parameter> {
        let limit = Parameter {
            name: LIMIT,
            summary: "The limit of the queue.".into(),
            example: <Length as Value>::EXAMPLE,
            default: Length::Packets(1000).text(),
        };
        let own = self.code.parameters.iter().map(|parameter| Parameter {
            name: parameter.name,
            summary: format!("{}, from {} to {}.", parameter.summary, parameter.least, parameter.most),
            example: <f64 as Value>::EXAMPLE,
            default: parameter.default.text(),
        });
        [limit].into_iter().chain(own).collect()
    }

    fn set(&mut self, name: &str, text: &str) -> Option<Result<(), QuantityError>> {
        if name == LIMIT {
            return Some(Length::parse(text).map(|limit| self.limit = limit));
        }
        let at = self.code.parameters.iter().position(|parameter| parameter.name == name)?;
        Some(<f64 as Value>::parse(text).map(|value| self.values[at] = value))
    }

    fn texts(&self) -> Vec<(&'static str, String)> {
        let own = self.code.parameters.iter().zip(&self.values);
        let own = own.map(|(parameter, value)| (parameter.name, value.to_string()));
        [(LIMIT, self.limit.to_string())].into_iter().chain(own).collect()
    }

    fn resolve(&mut self, scale: &Scale) {
        Value::resolve(&mut self.limit, scale);
    }

    fn check(&self) -> Result<(), String> {
        let mut own = self.code.parameters.iter().zip(&self.values);
        own.try_for_each(|(parameter, value)| parameter.check(*value))
            .map_err(|wrong| format!("{} {wrong}", self.code.shown))
    }

    fn build(&self, place: &Place<'_>) -> Box<dyn QueueDiscipline<Ticket>> {
        Box::new(Discipline::new(self, place))
    }

    fn boxed(&self) -> Box<dyn Parameters> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn Parameters) -> bool {
        let same = |other: &Config| {
            std::ptr::eq(self.code, other.code) && (self.limit, &self.values) == (other.limit, &other.values)
        };
        (other as &dyn Any).downcast_ref().is_some_and(same)
    }
}

/// A discipline of a file in front of a link.
struct Discipline {
    /// None if it could not be made.
    code: Option<Box<dyn Decides>>,
    asked: Asked,
    trust: Trust,
    limit: Limit,
    bands: Vec<VecDeque<Packet<Ticket>>>,
    told: Told,
    backlog: Backlog,
    /// When the next packet may leave.
    ready: Time,
}

impl Discipline {
    fn new(config: &Config, place: &Place<'_>) -> Discipline {
        let limit = config.limit.limit(&place.scale);
        let mut trust = Trust::new(config.code.shown, place.streams.faults().clone());
        let made = (config.code.make)(Setup {
            rate: place.scale.rate.map_or(abi::HALTERE_UNKNOWN, |rate: Rate| size(rate.as_bps())),
            rtt: size(place.scale.rtt.as_nanos()),
            mtu: i64::from(place.scale.mtu),
            values: config.values.clone().into(),
            stream: place.stream(),
        });
        let (code, asked) = match made {
            Ok((code, asked)) => (Some(code), asked),
            Err(reason) => {
                trust.fail("create", &reason);
                (None, Asked::default())
            }
        };
        Discipline {
            code,
            asked,
            trust,
            limit,
            bands: Vec::new(),
            told: Told::new(limit),
            backlog: Backlog::default(),
            ready: Time::NEVER,
        }
    }

    /// The answer to a question, or none if it is not asked, or was answered wrongly.
    fn answer<T>(
        &mut self,
        call: &str,
        is_asked: fn(&Asked) -> bool,
        ask: impl FnOnce(&mut dyn Decides, &mut Told) -> Result<i64, String>,
        means: impl FnOnce(i64, &Told) -> Result<T, String>,
    ) -> Option<T> {
        let code = self.code.as_deref_mut().filter(|_| is_asked(&self.asked) && !self.trust.failed())?;
        let answer = ask(code, &mut self.told).and_then(|answer| means(answer, &self.told));
        answer.map_err(|reason| self.trust.fail(call, &reason)).ok()
    }

    fn waiting(&self) -> i64 {
        size(self.backlog.packets)
    }

    /// Puts a packet at the end of a band.
    fn push(&mut self, band: usize, packet: Packet<Ticket>) {
        if self.bands.len() <= band {
            self.bands.resize_with(band + 1, VecDeque::new);
            self.told.bands.resize(band + 1, EMPTY);
        }
        let len = u64::from(packet.len);
        self.backlog.packets += 1;
        self.backlog.bytes += len;
        self.told.bands[band].packets += 1;
        self.told.bands[band].bytes += size(len);
        self.bands[band].push_back(packet);
        self.tell(band);
    }

    /// Takes the first packet of a band.
    fn pop(&mut self, band: usize) -> Option<Packet<Ticket>> {
        let packet = self.bands.get_mut(band)?.pop_front()?;
        let len = u64::from(packet.len);
        self.backlog.packets -= 1;
        self.backlog.bytes -= len;
        self.told.bands[band].packets -= 1;
        self.told.bands[band].bytes -= size(len);
        self.tell(band);
        Some(packet)
    }

    /// Notes what waits.
    fn tell(&mut self, band: usize) {
        let head = self.bands[band].front();
        self.told.bands[band].head_size = head.map_or(abi::HALTERE_UNKNOWN, |packet| i64::from(packet.len));
        self.told.bands[band].head_arrived = head.map_or(abi::HALTERE_UNKNOWN, |packet| time(packet.arrived));
        (self.told.packets, self.told.bytes) = (size(self.backlog.packets), size(self.backlog.bytes));
    }

    /// The band to be served. There is one with a packet.
    fn band(&mut self) -> usize {
        let chosen = self.answer("next_band", |asked| asked.next_band, |code, told| code.next_band(told), served);
        chosen.or_else(|| self.bands.iter().position(|band| !band.is_empty())).unwrap_or(0)
    }

    /// Asks when the next packet may leave.
    fn look(&mut self) {
        let time = |at: i64, _: &Told| match u64::try_from(at) {
            Ok(_) if at == abi::HALTERE_NEVER => Ok(Time::NEVER),
            Ok(at) => Ok(Time::from_nanos(at)),
            Err(_) => Err(format!("it is {at}: give a time in nanoseconds from 0")),
        };
        self.ready = if self.waiting() == 0 {
            Time::NEVER
        } else {
            let asked = self.answer("ready_at", |asked| asked.ready_at, |code, told| code.ready_at(told), time);
            asked.unwrap_or(Time::ZERO)
        };
    }
}

/// The fate of a packet that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    Joins(usize),
    JoinsMarked(usize),
    Dropped(DropReason),
}

/// The fate of a packet that is about to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exit {
    Sent,
    Marked,
    Dropped,
}

fn entry(answer: i64, _: &Told) -> Result<Entry, String> {
    let band = |number: i64| number as usize;
    match answer {
        abi::HALTERE_DROP => Ok(Entry::Dropped(DropReason::Early)),
        abi::HALTERE_FULL => Ok(Entry::Dropped(DropReason::QueueFull)),
        0..abi::HALTERE_BANDS => Ok(Entry::Joins(band(answer))),
        abi::HALTERE_MARK..MARKED_END => Ok(Entry::JoinsMarked(band(answer - abi::HALTERE_MARK))),
        other => Err(format!("it returned {other}: give a band from 0 to {LAST_BAND}, MARK + band, DROP or FULL")),
    }
}

const LAST_BAND: i64 = abi::HALTERE_BANDS - 1;
const MARKED_END: i64 = abi::HALTERE_MARK + abi::HALTERE_BANDS;

fn served(answer: i64, queue: &Told) -> Result<usize, String> {
    let band = usize::try_from(answer).ok();
    let found = band.filter(|band| queue.bands.get(*band).is_some_and(|band| band.packets > 0));
    found.ok_or_else(|| {
        let full: Vec<_> = queue
            .bands
            .iter()
            .enumerate()
            .filter(|(_, band)| band.packets > 0)
            .map(|(n, _)| n.to_string())
            .take(8)
            .collect();
        format!("it returned {answer}, in which no packet waits: give a band with packets, such as {}", full.join(", "))
    })
}

fn exit(answer: i64, _: &Told) -> Result<Exit, String> {
    match answer {
        abi::HALTERE_SEND => Ok(Exit::Sent),
        abi::HALTERE_MARK => Ok(Exit::Marked),
        abi::HALTERE_DROP => Ok(Exit::Dropped),
        other => Err(format!("it returned {other}: give SEND, MARK or DROP")),
    }
}

/// A packet as the interface has it, without room for it.
fn form(packet: &Packet<Ticket>) -> abi::Packet {
    abi::Packet {
        size: i64::from(packet.len),
        arrived: time(packet.arrived),
        flow: (flow_hash(&packet.flow, 0) >> 1) as i64,
        ecn: match packet.ecn {
            Ecn::NotEct => abi::HALTERE_NOT_ECT,
            Ecn::Ect1 => abi::HALTERE_ECT_1,
            Ecn::Ect0 => abi::HALTERE_ECT_0,
            Ecn::Ce => abi::HALTERE_CE,
        },
        dscp: u32::from(packet.class),
        fits: false,
    }
}

impl QueueDiscipline<Ticket> for Discipline {
    fn enqueue(&mut self, mut packet: Packet<Ticket>, now: Time, fates: &mut Fates<'_, Ticket>) {
        self.told.now = time(now);
        let fits = self.limit.admits(self.backlog, packet.len);
        let seen = abi::Packet { fits, ..form(&packet) };
        let ask = |code: &mut dyn Decides, told: &mut Told| code.enqueue(&seen, told);
        match self.answer("enqueue", |asked| asked.enqueue, ask, entry).unwrap_or(Entry::Joins(0)) {
            Entry::Dropped(reason) => fates.drop(packet, reason),
            Entry::Joins(_) | Entry::JoinsMarked(_) if !fits => fates.drop(packet, DropReason::QueueFull),
            Entry::JoinsMarked(_) if !fates.mark(&mut packet) => fates.drop(packet, DropReason::Early),
            Entry::Joins(band) | Entry::JoinsMarked(band) => self.push(band, packet),
        }
        self.look();
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, Ticket>) -> Option<Packet<Ticket>> {
        self.told.now = time(now);
        let mut leaves = None;
        while self.waiting() > 0 && leaves.is_none() {
            let band = self.band();
            let Some(mut packet) = self.pop(band) else { break };
            let seen = form(&packet);
            let ask = |code: &mut dyn Decides, told: &mut Told| code.dequeue(&seen, told);
            match self.answer("dequeue", |asked| asked.dequeue, ask, exit).unwrap_or(Exit::Sent) {
                Exit::Marked if !fates.mark(&mut packet) => fates.drop(packet, DropReason::Early),
                Exit::Sent | Exit::Marked => leaves = Some(packet),
                Exit::Dropped => fates.drop(packet, DropReason::Early),
            }
        }
        self.look();
        leaves
    }

    fn ready_at(&self) -> Time {
        self.ready
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::Span;
    use haltere_net::queue::QueueConfig;
    use haltere_net::registry::Handle;
    use haltere_net::rng::Streams;
    use std::sync::Mutex;

    /// Answers by its dice: mostly what is valid, and notes what it is told.
    struct Moody {
        dice: Stream,
        told: Arc<Mutex<Vec<(i64, Told)>>>,
    }

    impl Moody {
        fn one_of(&mut self, queue: &Told, answers: &[i64]) -> Result<i64, String> {
            let answer = answers[self.dice.below(answers.len() as u64) as usize];
            self.told.lock().unwrap().push((answer, queue.clone()));
            Ok(answer)
        }
    }

    impl Decides for Moody {
        fn enqueue(&mut self, _: &abi::Packet, queue: &mut Told) -> Result<i64, String> {
            self.one_of(queue, &[0, 1, 2, 1 + abi::HALTERE_MARK, abi::HALTERE_DROP, abi::HALTERE_FULL])
        }
        fn next_band(&mut self, queue: &mut Told) -> Result<i64, String> {
            let full: Vec<i64> = (0..).zip(&queue.bands).filter(|(_, band)| band.packets > 0).map(|(n, _)| n).collect();
            self.one_of(queue, &full)
        }
        fn dequeue(&mut self, _: &abi::Packet, queue: &mut Told) -> Result<i64, String> {
            self.one_of(queue, &[abi::HALTERE_SEND, abi::HALTERE_SEND, abi::HALTERE_MARK, abi::HALTERE_DROP])
        }
        fn ready_at(&mut self, queue: &mut Told) -> Result<i64, String> {
            Ok(queue.now)
        }
    }

    const ALL: Asked = Asked { enqueue: true, next_band: true, dequeue: true, ready_at: true };

    /// A queue of numbered packets whose discipline answers by dice.
    fn queue(limit: &str, told: &Arc<Mutex<Vec<(i64, Told)>>>, streams: &Streams) -> Box<dyn QueueDiscipline<u64>> {
        let description = Description { name: "./moody", summary: "", reference: "" };
        let told = told.clone();
        let make = move |setup: Setup| {
            assert_eq!((setup.rate, setup.mtu), (8_000_000, 1500));
            Ok((Box::new(Moody { dice: setup.stream, told: told.clone() }) as Box<dyn Decides>, ALL))
        };
        let mut config = QueueConfig::of(Handle(implementation("./moody", description, &[], make).unwrap()));
        config.set("limit", limit).unwrap();
        let scale = Scale { rate: Some(Rate::from_bps(8_000_000)), rtt: Span::from_millis(9), mtu: 1500 };
        config.build(&Place { scale, name: "l/down", streams })
    }

    #[test]
    fn packets_leave_or_are_dropped_once_whatever_the_code_says() {
        for (limit, seed) in [("20p", 1), ("15kB", 2), ("1p", 3)] {
            let (told, streams) = (Arc::default(), Streams::new(seed, 0));
            let mut queue = queue(limit, &told, &streams);
            let mut counters = haltere_net::counters::LinkCounters::default();
            let (mut dropped, mut left) = (Vec::new(), Vec::new());
            let mut drop = |fate: haltere_net::queue::Fate<'_, u64>| {
                if let haltere_net::queue::Fate::Dropped(packet, _) = fate {
                    dropped.push(packet.body);
                }
            };
            let mut fates = Fates::with_listener(&mut counters, &mut drop);
            for n in 0..3000u64 {
                let now = Time::from_nanos(n * 1000);
                let len = 100 + (n % 9) as u32 * 150;
                let ecn = if n % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
                queue.enqueue(Packet::new(len, n).with(|p| (p.ecn, p.arrived) = (ecn, now)), now, &mut fates);
                if n % 3 > 0 {
                    left.extend(queue.dequeue(now, &mut fates).map(|packet| packet.body));
                }
            }
            while queue.ready_at() != Time::NEVER {
                left.extend(queue.dequeue(Time::from_nanos(4_000_000), &mut fates).map(|packet| packet.body));
            }
            assert_eq!((queue.backlog(), streams.faults().raised()), (Backlog::default(), None));
            assert!(left.len() > 300 && dropped.len() > 300, "{limit}: {} and {}", left.len(), dropped.len());
            let mut all = [left, dropped].concat();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..3000), "{limit}: each packet has one fate");
            for (_, told) in told.lock().unwrap().iter() {
                let sum = |field: fn(&abi::Band) -> i64| told.bands.iter().map(field).sum::<i64>();
                assert_eq!((sum(|band| band.packets), sum(|band| band.bytes)), (told.packets, told.bytes));
                assert!(told.bands.iter().all(|band| (band.packets > 0) == (band.head_size > 0)));
            }
        }
    }

    #[test]
    fn answers_mean_what_they_say_and_others_are_refused() {
        let mut two = Told::new(Limit::Packets(9));
        two.bands = vec![EMPTY, abi::Band { packets: 3, ..EMPTY }];
        assert_eq!(entry(3, &two), Ok(Entry::Joins(3)));
        assert_eq!(entry(65_535, &two), Ok(Entry::Joins(65_535)));
        assert_eq!(entry(65_536 + 7, &two), Ok(Entry::JoinsMarked(7)));
        assert_eq!(entry(-1, &two), Ok(Entry::Dropped(DropReason::Early)));
        assert_eq!(entry(-2, &two), Ok(Entry::Dropped(DropReason::QueueFull)));
        assert!(entry(-3, &two).unwrap_err().starts_with("it returned -3: give a band from 0 to 65535, MARK + band"));
        assert!(entry(131_072, &two).is_err());
        assert_eq!((served(1, &two), exit(65_536, &two)), (Ok(1), Ok(Exit::Marked)));
        for wrong in [0, 2, -1] {
            let said = served(wrong, &two).unwrap_err();
            assert_eq!(
                said,
                format!("it returned {wrong}, in which no packet waits: give a band with packets, such as 1")
            );
        }
        assert_eq!(exit(1, &two).unwrap_err(), "it returned 1: give SEND, MARK or DROP");
    }
}
