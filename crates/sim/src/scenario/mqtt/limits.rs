//! How many publishers, topics, streams and messages flows may have.

use super::Mqtt;
use crate::application::Arrivals;
use crate::scenario::flow::Repeated;
use crate::scenario::{Frame, MAX_FLOWS, ScenarioError, error};
use haltere_mqtt::Streams;
use haltere_transport::quic::MAX_STREAMS;

/// The most publishers of a flow and of all flows, and topics of all publishers of a flow.
const MOST: u32 = 1_000_000;
/// The largest number of messages of a flow and of all flows: each takes about 40 bytes of memory.
const MOST_MESSAGES: u64 = 20_000_000;
/// The most messages of a burst.
const MOST_IN_BURST: u32 = 100_000;

/// The totals of the flows up to one.
#[derive(Default)]
pub(in crate::scenario) struct Totals {
    flows: usize,
    publishers: u64,
    messages: u64,
}

impl Totals {
    /// Adds a flow of a file; `path` is its path.
    ///
    /// # Errors
    /// If there is no memory for all of them together.
    pub fn add(&mut self, repeated: &Repeated, path: &str, frame: &Frame<'_>) -> Result<(), ScenarioError> {
        self.flows = self.flows.saturating_add(repeated.count());
        if self.flows > MAX_FLOWS {
            let message = format!("{} flows are too many: at most {MAX_FLOWS}", self.flows);
            return Err(error("flows", message));
        }
        let Some(mqtt) = repeated.flow.mqtt() else { return Ok(()) };
        let copies = u64::from(repeated.copies);
        self.publishers = self.publishers.saturating_add(copies.saturating_mul(u64::from(mqtt.publishers())));
        self.messages = self.messages.saturating_add(copies.saturating_mul(mqtt.expected(frame)));
        let field = if copies > 1 { "copies" } else { "mqtt.publishers" };
        let counts = [("publishers", self.publishers, u64::from(MOST)), ("messages", self.messages, MOST_MESSAGES)];
        match counts.into_iter().find(|(_, count, most)| count > most) {
            None => Ok(()),
            Some((what, count, most)) => {
                let message = format!(
                    "{count} {what} of all flows up to this one, and at most {most} are kept: give fewer flows, copies or \
                     publishers"
                );
                Err(error(format!("{path}.{field}"), message))
            }
        }
    }
}

/// The ends with QUIC connections.
pub(super) struct OnQuic {
    pub(super) publishers: bool,
    pub(super) subscriber: bool,
}

impl Mqtt {
    /// The messages of all publishers, or how many of them come in the mean while the scenario lasts.
    fn expected(&self, frame: &Frame<'_>) -> u64 {
        if let Some(messages) = self.messages() {
            return messages;
        }
        let traffic = &self.publishers.traffic;
        let times = frame.duration.map_or(0, |span| span.as_nanos()) / traffic.interval.as_nanos().max(1) + 1;
        let burst = if let Arrivals::Bursts(burst) = traffic.arrivals { u64::from(burst) } else { 1 };
        times.saturating_mul(burst).saturating_mul(u64::from(self.publishers()))
    }

    pub(super) fn check_counts(&self, path: &str, frame: &Frame<'_>) -> Result<(), ScenarioError> {
        let (plan, traffic) = (&self.publishers, &self.publishers.traffic);
        let burst = if let Arrivals::Bursts(burst) = traffic.arrivals { burst } else { 1 };
        let counts =
            [("publishers", plan.publishers, MOST), ("topics", plan.topics, MOST), ("burst", burst, MOST_IN_BURST)];
        if let Some((field, count, most)) = counts.into_iter().find(|(_, count, most)| count > most) {
            return Err(error(format!("{path}.{field}"), format!("{count}: give at most {most}")));
        }
        let topics = u64::from(plan.topics) * u64::from(plan.publishers);
        if topics > u64::from(MOST) {
            let message = format!("{topics} topics of all publishers: give at most {MOST}");
            return Err(error(format!("{path}.topics"), message));
        }
        let expected = self.expected(frame);
        if expected > MOST_MESSAGES {
            let (field, remedy) = match (&traffic.arrivals, traffic.messages) {
                (Arrivals::Trace(_), _) => ("trace", "give fewer, or fewer publishers"),
                (_, Some(_)) => ("messages", "give fewer"),
                (_, None) => ("interval", "give a longer interval, a number of messages, or a shorter duration"),
            };
            let message =
                format!("{expected} messages of all publishers, and at most {MOST_MESSAGES} are kept: {remedy}");
            return Err(error(format!("{path}.{field}"), message));
        }
        Ok(())
    }

    /// A stream of a topic or publisher is not closed, so that there are never more of them than the peer allows at a time. The client's
    /// first stream is the control stream.
    pub(super) fn check_streams(&self, path: &str, quic: OnQuic) -> Result<(), ScenarioError> {
        let (topics, publishers) = (u64::from(self.publishers.topics), u64::from(self.publishers()));
        let (publisher, subscriber) = match self.streams {
            Streams::One | Streams::Message => return Ok(()),
            Streams::Topic => (topics, topics.saturating_mul(publishers)),
            // They share a connection.
            Streams::Levels(_) => (publishers, publishers),
        };
        let (who, streams, most) = if quic.publishers && publisher >= MAX_STREAMS {
            ("publishers", publisher, MAX_STREAMS - 1)
        } else if quic.subscriber && subscriber > MAX_STREAMS {
            ("the subscriber", subscriber, MAX_STREAMS)
        } else {
            return Ok(());
        };
        let message = format!(
            "{streams} streams on a connection of {who}, and a QUIC connection has at most {most} for this: give fewer topics or \
             publishers, or streams = \"one\""
        );
        Err(error(path, message))
    }
}
