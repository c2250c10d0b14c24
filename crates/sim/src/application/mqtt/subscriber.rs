//! The process of a subscriber.

use super::device::Device;
use super::publishers::topics_of;
use super::wire::Framing;
use super::{Ledger, Mark};
use crate::application::{Application, Report};
use crate::world::{Remote, SocketId, Sockets};
use haltere_mqtt::client::Event as News;
use haltere_mqtt::packet::Subscription;
use haltere_mqtt::{Client, ClientConfig, QoS};
use haltere_net::{Cx, Span, Time};
use haltere_transport::Event;

/// Receives the messages of a flow. Its session is at the broker from the beginning, so that no message comes before its
/// subscription.
#[derive(Debug)]
pub struct Subscriber {
    device: Device,
    ledger: Ledger,
    /// How long missing messages are waited for.
    wait: Span,
    look: Time,
}

impl Subscriber {
    /// The identifier of a flow's subscriber.
    pub fn client_id(flow: u32) -> String {
        format!("{}/subscriber", topics_of(flow))
    }

    /// Its subscription, with the highest QoS that it wants.
    pub fn subscription(flow: u32, qos: QoS) -> Subscription {
        Subscription::new(&format!("{}/#", topics_of(flow)), qos)
    }

    /// A subscriber at `broker`. The run is over once nothing came for `wait` after the last message was published.
    pub fn new(
        flow: u32,
        config: ClientConfig,
        broker: Remote,
        framing: &Framing,
        ledger: &Ledger,
        wait: Span,
    ) -> Subscriber {
        let config = ClientConfig { client_id: Subscriber::client_id(flow).as_str().into(), ..config };
        let device = Device::new(Client::new(config), broker, framing.clone(), Span::from_secs(1));
        Subscriber { device, ledger: ledger.clone(), wait, look: Time::NEVER }
    }

    fn hear(&mut self, now: Time) {
        while let Some(news) = self.device.news(now) {
            if let News::Message(message) = news
                && let Some(mark) = Mark::of(&message.payload)
            {
                self.ledger.deliver(mark, now);
            }
        }
        if let Some(reason) = self.device.failed {
            self.ledger.fail(reason);
        }
    }
}

impl Application for Subscriber {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.look = cx.now + self.wait;
        self.device.connect(sockets, cx);
        self.hear(cx.now);
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.device.on_event(socket, event, sockets, cx);
        self.hear(cx.now);
        self.device.send(sockets);
    }

    fn alarm(&self) -> Time {
        self.device.alarm().min(self.look)
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        if self.look <= cx.now {
            let over = self.ledger.is_given_up(self.wait, cx.now);
            self.look = if over { Time::NEVER } else { cx.now + self.wait };
        }
        self.device.on_alarm(sockets, cx);
        self.hear(cx.now);
    }

    fn is_over(&self) -> bool {
        self.ledger.is_over()
    }

    fn report(&self) -> Report {
        Report::Messages(Box::new(self.ledger.seen()))
    }

    fn received(&self) -> u64 {
        self.ledger.received()
    }
}
