//! The MQTT clients of a flow around a broker of any make: publishers and a subscriber, or one of the two.
//!
//! They are the state machines of `haltere-mqtt` on real sockets, in one thread, each in the network namespace of its node. Where nodes
//! are kernels of their own, publishers and subscriber are two processes. When messages come is told, to the nanosecond, by whoever drew it.
//! Clients note what happens ([`ledger`]); delivery times are differences of readings of one clock, or of two that both count from the
//! run's beginning.

mod device;
mod ledger;
mod sealed;
mod spec;
mod wire;

use crate::args::Messages;
use crate::timer::Alarm;
use crate::{Error, clock, report, tls};
use device::{Device, Publisher, Role, Shared};
use haltere_mqtt::Client;
use haltere_mqtt::packet::Subscription;
use haltere_net::{Span, Time};
use ledger::Ledger;
pub use ledger::Seen;
use spec::Spec;
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// How often the subscriber looks whether all messages are published, when it has waited for longer than that should take.
const LOOK: Span = Span::from_secs(1);

/// Publishes and takes the messages of a flow, and notes them; reasons for which a client fails are noted, too.
pub async fn run(arguments: &Messages) -> Result<(), Error> {
    let spec = Spec::read(&arguments.spec)?;
    let epoch = Time::from_nanos(spec.epoch_ns);
    let out: Box<dyn Write> = match &arguments.out {
        None => Box::new(std::io::stdout()),
        Some(file) => Box::new(std::fs::File::create(file).map_err(|e| Error::new(file.display(), e))?),
    };
    let messages: Vec<usize> = spec.publishers.iter().map(|one| one.messages.len()).collect();
    let shared = Rc::new(Shared {
        tls: Arc::new(tls::client_of(&spec.ca, b"mqtt")?),
        ledger: RefCell::new(Ledger::new(epoch, &messages, out)),
        changed: Notify::new(),
        spec,
    });
    let local = tokio::task::LocalSet::new();
    let ended = local.run_until(all(&shared, epoch)).await;
    if ended.is_err() && shared.spec.deliver.is_none() {
        // The subscriber need not wait for what nobody will publish.
        tell(&shared, shared.ledger.borrow().last_ns())?;
    }
    let noted = shared.ledger.borrow_mut().finish(ended.as_ref().err());
    ended.and(noted)
}

async fn all(shared: &Rc<Shared>, epoch: Time) -> Result<(), Error> {
    let spec = &shared.spec;
    let mut clients = JoinSet::new();
    if let Some(route) = &spec.deliver {
        let role = Role::Subscriber(Subscription::new(&spec.filter, spec.qos()));
        let subscriber = Client::new(spec.subscriber());
        clients.spawn_local(Device::new(shared, subscriber, route.clone(), role, epoch).run());
    }
    for (route, number) in spec.publish.iter().flat_map(|route| (0..spec.publishers.len()).map(move |n| (route, n))) {
        let role = Role::Publisher(Publisher::new(spec, number));
        let client = Client::new(spec.publisher(number));
        let start = epoch + Span::from_nanos(spec.publishers[number].start_ns);
        clients.spawn_local(Device::new(shared, client, route.clone(), role, start).run());
    }
    let end = epoch + Span::from_nanos(spec.end_ns);
    let mut patience = Patience::new(spec, epoch);
    let mut alarm = Alarm::at(clock::instant())?;
    loop {
        let now = clock::now();
        if now >= end {
            return Ok(());
        }
        let until = if spec.deliver.is_none() {
            patience.tell(shared)?;
            end
        } else {
            match patience.next(shared, now) {
                Some(next) => next.min(end),
                None => return Ok(()),
            }
        };
        tokio::select! {
            () = shared.changed.notified() => {}
            () = alarm.wait(until) => {}
            ended = clients.join_next() => match ended {
                // Clients go on until they fail.
                Some(Ok(Err(error))) => return Err(error),
                _ => return Err(Error::new("clients", "one has ended; this is a bug")),
            },
        }
    }
}

/// How long the subscriber waits for messages that are missing. Publishers in another process tell by a file when they have published the
/// last one.
struct Patience {
    epoch: Time,
    wait: Span,
    /// When the last message is published at the earliest.
    earliest: Time,
    /// When it was published.
    published: Option<Time>,
    look: Time,
}

impl Patience {
    fn new(spec: &Spec, epoch: Time) -> Patience {
        let last = |one: &spec::Schedule| one.start_ns.saturating_add(one.messages.last().map_or(0, |(at, _)| *at));
        let earliest = epoch + Span::from_nanos(spec.publishers.iter().map(last).max().unwrap_or(0));
        Patience { epoch, wait: Span::from_nanos(spec.wait_ns), earliest, published: None, look: Time::ZERO }
    }

    /// When the subscriber is to look again; `None` if it waits for nothing more.
    fn next(&mut self, shared: &Shared, now: Time) -> Option<Time> {
        let mut ledger = shared.ledger.borrow_mut();
        let (last, wait) = (ledger.last(), self.wait);
        let gives_up = |published: Time| published.max(last) + wait;
        if shared.spec.publish.is_some() {
            let until = ledger.all_published().map_or(Time::NEVER, |_| last + wait);
            if ledger.is_complete() || until <= now {
                ledger.over(now);
                return None;
            }
            return Some(until);
        }
        let until = gives_up(self.published.unwrap_or(self.earliest));
        let due = until.max(self.look);
        if ledger.is_complete() || (now >= until && self.published.is_some()) {
            ledger.over(now);
            return None;
        }
        if now < due {
            return Some(due);
        }
        self.published = std::fs::read_to_string(&shared.spec.published)
            .ok()
            .and_then(|text| Some(self.epoch + Span::from_nanos(text.trim().parse().ok()?)));
        match self.published.map(gives_up) {
            Some(until) if until <= now => {
                ledger.over(now);
                None
            }
            Some(until) => Some(until),
            None => {
                self.look = now + LOOK.min(self.wait).max(Span::from_millis(1));
                Some(self.look)
            }
        }
    }

    /// Publishers tell that they have published the last message.
    fn tell(&mut self, shared: &Shared) -> Result<(), Error> {
        let all = shared.ledger.borrow().all_published();
        let Some(at) = all.filter(|_| self.published.is_none()) else { return Ok(()) };
        self.published = Some(self.epoch + Span::from_nanos(at));
        tell(shared, at)
    }
}

/// Tells the subscriber when the last message was published, ns from the run's beginning.
fn tell(shared: &Shared, at: u64) -> Result<(), Error> {
    report::write(&at, Some(&shared.spec.published))
}
