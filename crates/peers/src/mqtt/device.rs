//! A client that connects again when its connection is lost: publisher or subscriber.

use super::ledger::{Ledger, payload};
use super::spec::{Route, Schedule, Spec};
use super::wire::{News, Order, Wire};
use crate::timer::Alarm;
use crate::{Error, clock};
use haltere_mqtt::client::Event;
use haltere_mqtt::packet::Subscription;
use haltere_mqtt::{Client, Lane, Message, Output, QoS};
use haltere_net::{Span, Time};
use rustls::ClientConfig;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;

/// The only stream of a connection, which the client opens.
const LANE: Lane = Lane { ours: true, number: 0 };

/// The state that the clients of a flow in one process share.
pub struct Shared {
    pub spec: Spec,
    pub tls: Arc<ClientConfig>,
    pub ledger: RefCell<Ledger>,
    /// Something changed in the ledger.
    pub changed: Notify,
}

/// The task of a client.
pub enum Role {
    /// It publishes the messages of a schedule.
    Publisher(Publisher),
    /// It takes the messages of a flow.
    Subscriber(Subscription),
}

/// A publisher's messages.
pub struct Publisher {
    number: usize,
    schedule: Schedule,
    topics: Vec<Arc<str>>,
    /// How many were published.
    done: usize,
    /// When the schedule begins: with the first CONNACK, or with the start.
    origin: Option<Time>,
    connected: bool,
}

impl Publisher {
    /// Publisher `number` of a flow.
    pub fn new(spec: &Spec, number: usize) -> Publisher {
        let (schedule, topics) = (spec.publishers[number].clone(), spec.topics(number));
        Publisher { number, schedule, topics, done: 0, origin: None, connected: false }
    }

    /// When the next message comes, and its size.
    fn next(&self) -> Option<(Time, u64)> {
        let (after, size) = *self.schedule.messages.get(self.done)?;
        Some((self.origin? + Span::from_nanos(after), size))
    }

    /// Publishes what is due.
    fn publish(&mut self, client: &mut Client, qos: QoS, shared: &Shared, now: Time) {
        while let Some((_, size)) = self.next().filter(|(at, _)| *at <= now) {
            let mut ledger = shared.ledger.borrow_mut();
            let number = ledger.publish(self.number, size, now);
            let topic = self.topics[self.done % self.topics.len()].clone();
            let payload = payload(self.number as u32, number, size).into();
            // Its topics are allowed.
            let _ = client.publish(Message { topic, payload, qos, retain: false }, now);
            self.done += 1;
            if self.done == self.schedule.messages.len() {
                ledger.close();
                shared.changed.notify_one();
            }
        }
    }
}

/// A client with its connection.
pub struct Device {
    shared: Rc<Shared>,
    route: Route,
    client: Client,
    role: Role,
    wire: Option<Wire>,
    /// When it connects; never if it is connected.
    again: Time,
    /// When it began to connect last.
    since: Time,
}

/// The event that wakes a client.
enum Turn {
    News(Option<News>),
    Time,
}

impl Device {
    /// A client that connects at `start`.
    pub fn new(shared: &Rc<Shared>, client: Client, route: Route, role: Role, start: Time) -> Device {
        Device { shared: shared.clone(), route, client, role, wire: None, again: start, since: start }
    }

    /// Goes on until it is dropped.
    pub async fn run(mut self) -> Result<(), Error> {
        let mut alarm = Alarm::at(clock::instant())?;
        loop {
            let now = clock::now();
            self.go_on(now);
            let wake = self.wake();
            let turn = {
                let news = async {
                    match &mut self.wire {
                        Some(wire) => wire.news.recv().await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    biased;
                    news = news => Turn::News(news),
                    () = alarm.wait(wake) => Turn::Time,
                }
            };
            if let Turn::News(news) = turn {
                self.hear(news.unwrap_or_else(|| News::Gone("its task has ended".into())));
            }
        }
    }

    /// When it has something to do.
    fn wake(&self) -> Time {
        let next = match &self.role {
            Role::Publisher(publisher) => publisher.next().map_or(Time::NEVER, |(at, _)| at),
            Role::Subscriber(_) => Time::NEVER,
        };
        self.client.next_wake().min(self.again).min(next)
    }

    /// Does what is due.
    fn go_on(&mut self, now: Time) {
        if self.again <= now {
            (self.again, self.since) = (Time::NEVER, now);
            self.wire = Some(Wire::open(&self.route, &self.shared.tls, &self.shared.spec.name));
            if let Role::Publisher(publisher) = &mut self.role
                && self.shared.spec.eager
            {
                publisher.origin.get_or_insert(now);
            }
        }
        if self.client.next_wake() <= now {
            self.client.on_wake(now);
        }
        if let Role::Publisher(publisher) = &mut self.role {
            publisher.publish(&mut self.client, self.shared.spec.qos(), &self.shared, now);
        }
        self.events(now);
        self.send();
    }

    /// Something has happened to its connection.
    fn hear(&mut self, news: News) {
        let now = clock::now();
        match news {
            // A client's configuration can be expressed.
            News::Open => drop(self.client.open(now)),
            News::Bytes(bytes) => self.client.on_bytes(LANE, &bytes, now),
            News::Gone(why) => self.lose(why, now),
        }
        self.events(now);
        self.send();
    }

    fn lose(&mut self, why: String, now: Time) {
        if self.wire.take().is_some() {
            self.client.lost();
            self.shared.ledger.borrow_mut().lost(why, now);
            self.again = now + Span::from_nanos(self.shared.spec.reconnect_ns);
        }
    }

    /// Takes what has happened to the client.
    fn events(&mut self, now: Time) {
        while let Some(event) = self.client.poll_event() {
            match (event, &mut self.role) {
                (Event::Connected { .. }, Role::Publisher(publisher)) => {
                    let first = !std::mem::replace(&mut publisher.connected, true);
                    if first {
                        self.shared.ledger.borrow_mut().connected(now.since(self.since));
                        publisher.origin.get_or_insert(now);
                        publisher.publish(&mut self.client, self.shared.spec.qos(), &self.shared, now);
                    }
                }
                (Event::Connected { session_present: false }, Role::Subscriber(wanted)) => {
                    // It has just connected, and its filter is allowed.
                    let _ = self.client.subscribe(std::slice::from_ref(wanted), now);
                }
                (Event::Message(message), Role::Subscriber(_)) => {
                    self.shared.ledger.borrow_mut().deliver(&message.payload, now);
                    self.shared.changed.notify_one();
                }
                (Event::Closed(why), _) => return self.lose(why.to_string(), now),
                (Event::Refused(code), _) => return self.lose(format!("refused with code {code}"), now),
                _ => {}
            }
        }
    }

    fn send(&mut self) {
        while let Some(output) = self.client.poll_output() {
            let order = match output {
                Output::Bytes { bytes, .. } => Order::Bytes(bytes),
                Output::Close => Order::Close,
            };
            if let Some(wire) = &self.wire {
                // A connection that is gone says so itself.
                let _ = wire.orders.send(order);
            }
        }
    }
}
