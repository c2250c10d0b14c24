//! The MQTT clients of a flow around a broker of any make: publishers and a subscriber.
//!
//! They are the state machines of `haltere-mqtt` on real sockets, in one thread, each in the network namespace of its node.
//! One thread has one clock: delivery times are differences of its readings. When messages come is told, to the
//! nanosecond, by whoever drew it.

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
use spec::Spec;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// Publishes and takes the messages of a flow, and reports; the report is written even if a client fails.
pub async fn run(arguments: &Messages) -> Result<(), Error> {
    let spec = Spec::read(&arguments.spec)?;
    let epoch = Time::from_nanos(spec.epoch_ns);
    let shared = Rc::new(Shared {
        tls: Arc::new(tls::client_of(&spec.ca, b"mqtt")?),
        ledger: RefCell::new(Ledger::new(epoch, spec.publishers.len())),
        changed: Notify::new(),
        spec,
    });
    let local = tokio::task::LocalSet::new();
    let ended = local.run_until(all(&shared, epoch)).await;
    let error = ended.as_ref().err().map(ToString::to_string);
    let written = report::write(shared.ledger.borrow_mut().finish(error), arguments.out.as_deref());
    ended.and(written)
}

async fn all(shared: &Rc<Shared>, epoch: Time) -> Result<(), Error> {
    let spec = &shared.spec;
    let mut clients = JoinSet::new();
    let role = Role::Subscriber(Subscription::new(&spec.filter, spec.qos()));
    let subscriber = Client::new(spec.subscriber());
    clients.spawn_local(Device::new(shared, subscriber, spec.deliver.clone(), role, epoch).run());
    for number in 0..spec.publishers.len() {
        let role = Role::Publisher(Publisher::new(spec, number));
        let client = Client::new(spec.publisher(number));
        let start = epoch + Span::from_nanos(spec.publishers[number].start_ns);
        clients.spawn_local(Device::new(shared, client, spec.publish.clone(), role, start).run());
    }
    let (end, wait) = (epoch + Span::from_nanos(spec.end_ns), Span::from_nanos(spec.wait_ns));
    let mut alarm = Alarm::at(clock::instant())?;
    loop {
        let now = clock::now();
        if now >= end || shared.ledger.borrow_mut().is_over(wait, now) {
            return Ok(());
        }
        let until = end.min(shared.ledger.borrow().gives_up(wait));
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
