//! What the radios of a flow did.

use crate::radio::Usage;
use serde::Serialize;

/// What the radio of a flow's client did from its first packet to the end of the run; with MQTT, those of all publishers
/// together.
#[derive(Clone, Debug, Serialize)]
pub struct RadioResult {
    /// How long it was on, s.
    pub radio_on_s: f64,
    /// How often it went on.
    pub radio_promotions: u64,
    /// Roughly the energy that it took, J: an estimate from measurements of other devices.
    pub radio_energy_estimate_j: f64,
    /// Bytes of packets that it sent and received, IP headers included.
    pub radio_bytes: u64,
    /// The time that it was on, for each message delivered, s.
    pub radio_on_per_message_s: Option<f64>,
    /// The energy for each message delivered, J: an estimate as well.
    pub radio_energy_estimate_per_message_j: Option<f64>,
    /// The bytes for each message delivered.
    pub radio_bytes_per_message: Option<f64>,
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
