//! The use of a flow's radios.

use crate::radio::Usage;
use haltere_net::columns;
use haltere_net::columns::{About, B, Better, J, METRIC, PLAIN, S, SIMULATED, Shown};

const RADIO: About = About { better: Better::Lower, at: SIMULATED, ..PLAIN };

columns! {
    /// The use of the radio of a flow's client from its first packet to the end of the run; with MQTT, those of all publishers
    /// together.
    #[of(Flow)]
    pub struct RadioResult {
        /// How long it was on.
        pub radio_on_s: f64 = RADIO,
        /// How often it went on.
        pub radio_promotions: u64 = RADIO,
        /// Roughly the energy that it took: an estimate from measurements of other devices.
        pub radio_energy_estimate_j: f64 = RADIO,
        /// Bytes of packets that it sent and received, IP headers included.
        pub radio_bytes: u64 = RADIO,
        /// MQTT: how long the publishers' radios were on, divided by the messages delivered.
        pub radio_on_per_message_s: Option<f64> = About {
            metrics: &[Shown { name: "radio_on", label: "Radio on, for each message", scale: S, ..METRIC }],
            ..RADIO
        },
        /// MQTT: roughly the energy of the publishers' radios, divided by the messages delivered. An estimate from
        /// measurements of a phone of 2011.
        pub radio_energy_estimate_per_message_j: Option<f64> = About {
            metrics: &[Shown {
                name: "radio_energy",
                label: "Estimated radio energy, for each message",
                scale: J,
                ..METRIC
            }],
            ..RADIO
        },
        /// MQTT: bytes of the packets that the publishers sent and received, IP headers included, divided by the messages
        /// delivered.
        pub radio_bytes_per_message: Option<f64> = About {
            unit: Some("B"),
            metrics: &[Shown {
                name: "radio_bytes",
                label: "Bytes over the radio, for each message",
                scale: B,
                ..METRIC
            }],
            ..RADIO
        },
    }
}

impl RadioResult {
    /// The result; `messages` were delivered.
    pub(super) fn new(usage: Usage, messages: Option<u64>) -> RadioResult {
        let each = |value: f64| messages.filter(|count| *count > 0).map(|count| value / count as f64);
        let on = usage.on.as_secs_f64();
        RadioResult {
            radio_on_s: on,
            radio_promotions: usage.promotions,
            radio_energy_estimate_j: usage.energy_j,
            radio_bytes: usage.bytes,
            radio_on_per_message_s: each(on),
            radio_energy_estimate_per_message_j: each(usage.energy_j),
            radio_bytes_per_message: each(usage.bytes as f64),
        }
    }
}
