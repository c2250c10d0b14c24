//! The process of some publishers on one node. Each has a connection of its own, or all share one.

use super::device::Device;
use super::traffic::{Source, Traffic};
use super::wire::Framing;
use super::{Ledger, Mark};
use crate::application::{Application, Report, Serve};
use crate::world::{Remote, SocketId, Sockets};
use haltere_mqtt::client::Event as News;
use haltere_mqtt::{Client, ClientConfig, Message, QoS};
use haltere_net::rng::Stream;
use haltere_net::{Cx, Span, Time};
use haltere_transport::{CloseReason, Event};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The work of a flow's publishers.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The number of their flow.
    pub flow: u32,
    /// How many there are.
    pub publishers: u32,
    /// The largest random delay of each one's start.
    pub spread: Span,
    /// The messages of each.
    pub traffic: Traffic,
    /// Whether all share a connection.
    pub shared: bool,
    /// How many topics each publishes to, in turn.
    pub topics: u32,
    /// With which QoS.
    pub qos: QoS,
    /// Whether each closes its connection when nothing is left to say, and opens it again for the next message.
    pub sleep: bool,
    /// How long after a loss it connects again.
    pub reconnect: Span,
    /// The configuration of their clients, but for the identifier, which is each one's own.
    pub client: ClientConfig,
}

/// When a publisher begins, and what it publishes when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// How long after the flow's start it connects.
    pub late: Span,
    /// How long after its first connection each message comes, and its payload, bytes. With `eager` they count from its
    /// start.
    pub messages: Vec<(Span, u64)>,
}

impl Plan {
    /// The schedule of each publisher, as the process of these publishers draws it from the same `dice`. It holds the messages
    /// that come within `until`; `None` if they are more than `most` in all.
    pub fn schedules(&self, dice: &Stream, until: Span, most: usize) -> Option<Vec<Schedule>> {
        let (mut spread, mut left) = (dice.part("spread"), most);
        let traffic = Arc::new(self.traffic.clone());
        let mut all = Vec::new();
        for i in 0..self.publishers {
            let late = self.late(&mut spread);
            let mut source = Source::new(&traffic, of_publisher(dice, i));
            let mut messages = Vec::new();
            source.start(Time::ZERO);
            loop {
                let at = source.next();
                if at > Time::ZERO + until {
                    break;
                }
                let Some(size) = source.take(at) else { break };
                left = left.checked_sub(1)?;
                messages.push((at.since(Time::ZERO), size));
            }
            all.push(Schedule { late, messages });
        }
        Some(all)
    }

    /// How long after the flow's start the next publisher connects.
    fn late(&self, dice: &mut Stream) -> Span {
        let spread = self.spread.as_nanos();
        // Without a spread no random number is drawn.
        Span::from_nanos(if spread > 0 { dice.below(spread) } else { 0 })
    }
}

/// The dice of a publisher's messages.
fn of_publisher(dice: &Stream, i: u32) -> Stream {
    dice.part(&format!("publisher {i}"))
}

/// The levels of topics that name a publisher: `flow/F/P`.
pub const PUBLISHER_LEVELS: u8 = 3;

/// The beginning of the topics of a flow.
pub(crate) fn topics_of(flow: u32) -> String {
    format!("flow/{flow}")
}

/// One publisher's part in a client.
#[derive(Debug)]
struct Voice {
    number: u32,
    source: Source,
    topics: Box<[Arc<str>]>,
    published: u64,
    /// How long after the connection it begins, if it shares that.
    late: Span,
    over: bool,
}

/// A connection with the publishers that have it.
#[derive(Debug)]
struct Publisher {
    device: Device,
    voices: Vec<Voice>,
    /// Whether they have begun to publish.
    begun: bool,
    /// The time for which it stands in the list of timers.
    timer: Time,
}

impl Publisher {
    fn wake(&self) -> Time {
        self.voices.iter().map(|voice| voice.source.next()).fold(self.device.alarm(), Time::min)
    }
}

/// The process.
#[derive(Debug)]
pub struct Publishers {
    plan: Plan,
    ledger: Ledger,
    all: Vec<Publisher>,
    timers: BTreeSet<(Time, u32)>,
    by_socket: BTreeMap<SocketId, u32>,
    dice: Stream,
}

impl Publishers {
    /// Publishers to `broker`. What is random is drawn from `dice`.
    pub fn new(plan: Plan, broker: Remote, framing: &Framing, ledger: &Ledger, dice: &Stream) -> Publishers {
        let (config, traffic) = (Arc::new(plan.client.clone()), Arc::new(plan.traffic.clone()));
        let voice = |number: u32| {
            let base: Arc<str> = format!("{}/{number}", topics_of(plan.flow)).into();
            let topic = |k: u32| if plan.topics > 1 { format!("{base}/{k}").into() } else { base.clone() };
            Voice {
                number,
                source: Source::new(&traffic, of_publisher(dice, number)),
                topics: (0..plan.topics.max(1)).map(topic).collect(),
                published: 0,
                late: Span::ZERO,
                over: false,
            }
        };
        let publisher = |client_id: String, voices: Vec<Voice>| {
            let client = Client::like(&config, client_id.into());
            let device = Device::new(client, broker, framing.clone(), plan.reconnect);
            Publisher { device, voices, begun: false, timer: Time::NEVER }
        };
        let all = match plan.shared {
            true => {
                let client_id = format!("{}/publishers", topics_of(plan.flow));
                vec![publisher(client_id, (0..plan.publishers).map(voice).collect())]
            }
            false => {
                let alone = |i: u32| publisher(format!("{}/{i}", topics_of(plan.flow)), vec![voice(i)]);
                (0..plan.publishers).map(alone).collect()
            }
        };
        let (timers, by_socket) = Default::default();
        Publishers { all, ledger: ledger.clone(), timers, by_socket, dice: dice.part("spread"), plan }
    }

    /// Lets a publisher do what is due.
    fn go_on(&mut self, i: u32, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        let now = cx.now;
        self.hear(i, now);
        let (flow, qos, sleeps) = (self.plan.flow, self.plan.qos, self.plan.sleep);
        let publisher = &mut self.all[i as usize];
        for voice in &mut publisher.voices {
            while let Some(size) = voice.source.take(now) {
                let number = self.ledger.publish(voice.number, size as u32, now);
                let payload = Mark { flow, publisher: voice.number, number }.payload(size).into();
                let topic = voice.topics[(voice.published % voice.topics.len() as u64) as usize].clone();
                voice.published += 1;
                // Its topics are allowed.
                let _ = publisher.device.client.publish(Message { topic, payload, qos, retain: false }, now);
                publisher.device.rouse(now);
            }
        }
        publisher.device.send(sockets);
        let idle = publisher.device.client.pending() == 0;
        if sleeps && publisher.begun && idle && publisher.device.client.is_online() {
            publisher.device.sleep(sockets, now);
        }
        for voice in publisher.voices.iter_mut().filter(|voice| voice.source.is_over()) {
            if !std::mem::replace(&mut voice.over, true) {
                self.ledger.close();
            }
        }
        if publisher.device.again <= now
            && let Some(socket) = publisher.device.connect(sockets, cx)
        {
            self.opened(socket, i, sockets);
        }
        self.hear(i, now);
        self.set_timer(i);
    }

    /// A publisher has opened a connection.
    fn opened(&mut self, socket: SocketId, i: u32, sockets: &mut Sockets<'_>) {
        sockets.set_device(socket, i);
        self.by_socket.insert(socket, i);
    }

    /// Takes what has happened to a publisher's client.
    fn hear(&mut self, i: u32, now: Time) {
        let publisher = &mut self.all[i as usize];
        while let Some(news) = publisher.device.news(now) {
            match news {
                News::Connected { .. } if !std::mem::replace(&mut publisher.begun, true) => {
                    self.ledger.connected(now.since(publisher.device.since), now);
                    if !self.plan.client.eager {
                        publisher.voices.iter_mut().for_each(|voice| voice.source.start(now + voice.late));
                    }
                }
                News::Dropped(message) => {
                    if let Some(mark) = Mark::of(&message.payload) {
                        self.ledger.drop(mark);
                    }
                }
                _ => {}
            }
        }
        if let Some(reason) = publisher.device.failed {
            self.ledger.fail(reason);
        }
    }

    fn set_timer(&mut self, i: u32) {
        let publisher = &mut self.all[i as usize];
        let wake = publisher.wake();
        if wake != publisher.timer {
            self.timers.remove(&(publisher.timer, i));
            if wake < Time::NEVER {
                self.timers.insert((wake, i));
            }
            publisher.timer = wake;
        }
    }
}

impl Application for Publishers {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        for i in 0..self.all.len() as u32 {
            let (plan, dice) = (&self.plan, &mut self.dice);
            let mut late = || plan.late(dice);
            let publisher = &mut self.all[i as usize];
            publisher.device.again = cx.now;
            if self.plan.shared {
                publisher.voices.iter_mut().for_each(|voice| voice.late = late());
            } else {
                publisher.device.again += late();
            }
            if self.plan.client.eager {
                let from = publisher.device.again;
                publisher.voices.iter_mut().for_each(|voice| voice.source.start(from + voice.late));
            }
            self.go_on(i, sockets, cx);
        }
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        let Some(&i) = self.by_socket.get(&socket) else { return };
        if event == Event::Failed(CloseReason::AddressLeft) {
            self.by_socket.remove(&socket);
        }
        self.all[i as usize].device.on_event(socket, event, sockets, cx);
        self.go_on(i, sockets, cx);
    }

    fn alarm(&self) -> Time {
        self.timers.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        while let Some((_, i)) = self.timers.first().copied().filter(|(at, _)| *at <= cx.now) {
            let (opened, forgotten) = self.all[i as usize].device.on_alarm(sockets, cx);
            for socket in forgotten {
                self.by_socket.remove(&socket);
            }
            if let Some(socket) = opened {
                self.opened(socket, i, sockets);
            }
            self.go_on(i, sockets, cx);
        }
    }

    fn report(&self) -> Report {
        Report::Serve(Serve::default())
    }
}
