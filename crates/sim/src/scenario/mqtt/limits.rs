//! How many publishers, topics, streams and messages a flow may have.

use super::{Arrival, Mqtt, MqttStreams};
use crate::scenario::{Flow, Scenario, ScenarioError, error};
use haltere_transport::quic::MAX_STREAMS;

/// The most publishers of a flow and of all flows, and topics of all publishers of a flow.
const MOST: u32 = 1_000_000;
/// The largest number of messages of a flow and of all flows: each takes about 40 bytes of memory.
const MOST_MESSAGES: u64 = 20_000_000;
/// The most messages of a burst.
const MOST_IN_BURST: u32 = 100_000;

impl Scenario {
    /// Whether there is memory for the publishers and messages of all flows together.
    pub(in crate::scenario) fn check_all_counts(&self) -> Result<(), ScenarioError> {
        let (mut publishers, mut messages) = (0_u64, 0_u64);
        for (i, flow) in self.flows.iter().enumerate() {
            let Some(mqtt) = &flow.mqtt else { continue };
            let copies = u64::from(flow.copies.unwrap_or(1));
            publishers = publishers.saturating_add(copies.saturating_mul(u64::from(mqtt.publishers())));
            messages = messages.saturating_add(copies.saturating_mul(mqtt.expected(self)));
            let field = if copies > 1 { "copies" } else { "mqtt.publishers" };
            for (what, count, most) in
                [("publishers", publishers, u64::from(MOST)), ("messages", messages, MOST_MESSAGES)]
            {
                if count > most {
                    let message = format!(
                        "{count} {what} of all flows up to this one, and at most {most} are kept: give fewer flows, copies or \
                         publishers"
                    );
                    return Err(error(format!("flows[{i}].{field}"), message));
                }
            }
        }
        Ok(())
    }
}

impl Mqtt {
    fn topics(&self) -> u32 {
        self.topics.unwrap_or(1)
    }

    /// The messages of all publishers, or how many of them come in the mean while the scenario lasts.
    fn expected(&self, scenario: &Scenario) -> u64 {
        if let Some(messages) = self.messages() {
            return messages;
        }
        let interval = self.interval.map_or(1_000_000_000, |q| q.0.as_nanos()).max(1);
        let times = scenario.duration.map_or(0, |q| q.0.as_nanos()) / interval + 1;
        let burst = if self.arrivals == Arrival::Bursts { u64::from(self.burst.unwrap_or(10)) } else { 1 };
        times.saturating_mul(burst).saturating_mul(u64::from(self.publishers()))
    }

    pub(super) fn check_counts(&self, path: &str, scenario: &Scenario) -> Result<(), ScenarioError> {
        let counts = [
            ("publishers", self.publishers, MOST),
            ("topics", self.topics, MOST),
            ("burst", self.burst, MOST_IN_BURST),
        ];
        for (field, count, most) in counts {
            if let Some(count) = count.filter(|count| *count > most) {
                return Err(error(format!("{path}.{field}"), format!("{count}: give at most {most}")));
            }
        }
        let topics = u64::from(self.topics()) * u64::from(self.publishers());
        if topics > u64::from(MOST) {
            let message = format!("{topics} topics of all publishers: give at most {MOST}");
            return Err(error(format!("{path}.topics"), message));
        }
        let expected = self.expected(scenario);
        if expected > MOST_MESSAGES {
            let (field, remedy) = match (&self.trace, self.messages) {
                (Some(_), _) => ("trace", "give fewer, or fewer publishers"),
                (None, Some(_)) => ("messages", "give fewer"),
                (None, None) => ("interval", "give a longer interval, a number of messages, or a shorter duration"),
            };
            let message =
                format!("{expected} messages of all publishers, and at most {MOST_MESSAGES} are kept: {remedy}");
            return Err(error(format!("{path}.{field}"), message));
        }
        Ok(())
    }

    /// A stream of a topic or publisher is not closed, so that there are never more of them than the peer allows at a time. The client's
    /// first stream is the control stream.
    pub(super) fn check_streams(&self, path: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let (publisher, subscriber) = match self.streams {
            MqttStreams::One | MqttStreams::Message => return Ok(()),
            MqttStreams::Topic => {
                (u64::from(self.topics()), u64::from(self.topics()).saturating_mul(u64::from(self.publishers())))
            }
            // They share a connection.
            MqttStreams::Publisher => (u64::from(self.publishers()), u64::from(self.publishers())),
        };
        let delivery = self.delivery.as_ref().unwrap_or(&flow.contender);
        let (who, streams, most) = if flow.contender.transport.is_quic() && publisher >= MAX_STREAMS {
            ("publishers", publisher, MAX_STREAMS - 1)
        } else if delivery.transport.is_quic() && subscriber > MAX_STREAMS {
            ("the subscriber", subscriber, MAX_STREAMS)
        } else {
            return Ok(());
        };
        let message = format!(
            "{streams} streams on a connection of {who}, and a QUIC connection has at most {most} for this: give fewer topics or \
             publishers, or streams = \"one\""
        );
        Err(error(format!("{path}.streams"), message))
    }
}
