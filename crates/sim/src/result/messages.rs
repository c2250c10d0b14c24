//! The results of flows with MQTT beside those that all flows have.

use super::probes::quantile;
use crate::application::Messages;
use haltere_mqtt::QoS;
use haltere_net::columns;
use haltere_net::columns::{About, Better, Comparison, METRIC, MS, PERCENT, PLAIN, SIMULATED, Shown};
use haltere_net::{Span, Time};
use serde::Deserialize;

const COST: About = About { better: Better::Lower, ..PLAIN };

columns! {
    /// The fate of a flow's messages. Delivery times are from the publisher's call to the delivery to the subscriber's
    /// application, of messages that were delivered in the measured time.
    #[of(Flow)]
    pub struct MessagesResult {
        /// Messages published.
        pub messages_published: u64,
        /// Messages of which the subscriber got at least one copy.
        pub messages_delivered: u64,
        /// Further copies that it got.
        pub messages_duplicated: u64,
        /// Messages that gave way in a full queue of the broker, or that nobody was there to take, and of which no copy
        /// came.
        pub messages_dropped: u64 = About { at: SIMULATED, ..PLAIN },
        /// Messages that were neither delivered nor dropped by a queue when the run ended.
        pub messages_lost: u64 = About {
            metrics: &[Shown {
                name: "message_loss",
                label: "Messages lost",
                scale: PERCENT,
                comparison: Comparison::Difference { alike: 0.1, full: 5.0 },
                share_of: Some("messages_published"),
                meaning: Some(
                    "MQTT: messages of which no copy was delivered, without those that gave way in a queue, as a share of \
                     those published.",
                ),
                ..METRIC
            }],
            ..COST
        },
        /// MQTT: the mean time from the publisher's call to the delivery of the message to the subscriber's application.
        pub delivery_mean_s: Option<f64> = About {
            metrics: &[Shown {
                name: "delivery_time",
                label: "Delivery time",
                scale: MS,
                comparison: Comparison::Ratio { alike: Some(0.01) },
                ..METRIC
            }],
            ..COST
        },
        /// MQTT: the median of these times.
        pub delivery_p50_s: Option<f64> = COST,
        /// MQTT: the 95th percentile of these times.
        pub delivery_p95_s: Option<f64> = COST,
        /// MQTT: the time that 99 % of the messages do not exceed on their way to the subscriber's application.
        pub delivery_p99_s: Option<f64> = About {
            metrics: &[
                Shown { name: "delivery_time_p99", label: "Delivery time, 99th percentile", scale: MS, ..METRIC },
            ],
            ..COST
        },
        /// MQTT: the longest time that a message took on its way to the subscriber's application.
        pub delivery_max_s: Option<f64> = About {
            metrics: &[Shown { name: "delivery_time_max", label: "Longest delivery time", scale: MS, ..METRIC }],
            ..COST
        },
    }
}

/// The observations of real clients of a flow's messages. Times in ns from the run's beginning.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenMessages {
    /// Messages published.
    pub published: u64,
    /// Messages of which the subscriber got at least one copy.
    pub delivered: u64,
    /// Further copies that it got.
    pub duplicated: u64,
    /// When each message was delivered, and how long after it was published.
    pub deliveries: Vec<(u64, u64)>,
    /// Deliveries count from here on.
    pub since: u64,
}

impl From<SeenMessages> for MessagesResult {
    fn from(seen: SeenMessages) -> MessagesResult {
        let SeenMessages { published, delivered, duplicated, deliveries, since } = seen;
        let ns = |(at, took)| (Time::from_nanos(at), Span::from_nanos(took));
        let deliveries = deliveries.into_iter().map(ns).collect();
        let messages = Messages { published, delivered, duplicated, deliveries, ..Messages::default() };
        MessagesResult::new(&messages, Time::from_nanos(since))
    }
}

/// The mean of the times in which the publishers of a flow were connected, s.
pub(super) fn mean_handshake_s(seen: &Messages) -> Option<f64> {
    let sum = seen.handshakes.iter().map(|took| took.as_secs_f64()).sum::<f64>();
    (!seen.handshakes.is_empty()).then(|| sum / seen.handshakes.len() as f64)
}

impl MessagesResult {
    /// The result, of deliveries from `since` on.
    pub(super) fn new(messages: &Messages, since: Time) -> MessagesResult {
        let measured = messages.deliveries.iter().filter(|(at, _)| *at >= since);
        let mut times: Vec<f64> = measured.map(|(_, took)| took.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let Messages { published, delivered, duplicated, dropped, .. } = *messages;
        MessagesResult {
            messages_published: published,
            messages_delivered: delivered,
            messages_duplicated: duplicated,
            messages_dropped: dropped,
            messages_lost: published.saturating_sub(delivered + dropped),
            delivery_mean_s: (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64),
            delivery_p50_s: quantile(&times, 0.5),
            delivery_p95_s: quantile(&times, 0.95),
            delivery_p99_s: quantile(&times, 0.99),
            delivery_max_s: times.last().copied(),
        }
    }

    /// Why the flow has failed, if it has: something is to be delivered, and with QoS 1 and 2 every message unless a queue was full
    /// or the run was cut after a time that is `measured`.
    pub(super) fn error(&self, qos: Option<QoS>, measured: Option<Span>) -> Option<String> {
        if self.messages_delivered == 0 {
            return Some(match self.messages_published {
                0 => "no publisher has published: none was connected in time".to_string(),
                published => format!("none of {published} messages was delivered"),
            });
        }
        (qos > Some(QoS::AtMostOnce) && measured.is_none() && self.messages_lost > 0)
            .then(|| format!("{} of {} messages were not delivered", self.messages_lost, self.messages_published))
    }
}
