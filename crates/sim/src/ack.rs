//! A flow's acknowledgement policy: the table `ack` of a scenario.

use crate::contender::Contender;
use crate::scenario::{Quantity, ScenarioError};
use haltere_net::Span;
use haltere_transport::mechanisms::Value;
use haltere_transport::{quic, tcp};
use schemars::JsonSchema;
use serde::Deserialize;

/// QUIC states its `max_ack_delay` in milliseconds below 2^14 (RFC 9000 section 18.2).
const LONGEST_QUIC: Span = Span::from_millis((1 << 14) - 1);
/// TCP must acknowledge within half a second (RFC 9293 section 3.8.6.3).
const LONGEST_TCP: Span = Span::from_millis(500);

/// The `min_ack_delay` that either end of the acknowledgement-frequency extension advertises.
pub(crate) const MIN_ACK_DELAY: Span = Span::from_millis(1);

/// When both ends of a flow acknowledge. Fields that are absent have the transport's default.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckSpec {
    /// Packets (QUIC) or full segments (TCP) for each acknowledgement (default 2).
    pub every: Option<u32>,
    /// The longest delay of an acknowledgement (default 25ms for QUIC, 200ms for TCP).
    pub max_delay: Option<Quantity<Span>>,
    /// QUIC: both ends use the acknowledgement-frequency extension, and the sender asks for four acknowledgements per
    /// round trip (default false).
    pub frequency: Option<bool>,
    /// TCP: acknowledgements are sent at once at the start, after disorder, to advertise a larger window, and after a
    /// pushed segment was read (default true).
    pub quick: Option<bool>,
}

impl AckSpec {
    /// Checks whether a contender supports the policy; `path` is the path of the field.
    pub(crate) fn check(&self, path: &str, contender: &Contender) -> Result<(), ScenarioError> {
        let error = |field: &str, message: String| Err(ScenarioError { path: format!("{path}.{field}"), message });
        let (of_tcp, longest) = if contender.transport.is_quic() { (false, LONGEST_QUIC) } else { (true, LONGEST_TCP) };
        if let Some(every) = self.every.filter(|n| !(1..=1000).contains(n)) {
            return error("every", format!("{every}: give a number of packets from 1 to 1000"));
        }
        if self.every.is_some() && contender.mechanism("delack") == Some(Value::Off) {
            let word = if contender.as_str().contains("nodelack") { "nodelack" } else { "-delack" };
            return error("every", format!("{word} acknowledges every packet: leave one of them out"));
        }
        let given = [
            ("every", "ack-every", self.every.is_some()),
            ("max_delay", "ack-delay", self.max_delay.is_some()),
            ("frequency", "ack-frequency", self.frequency.is_some()),
            ("quick", "hurried-acks", self.quick.is_some()),
        ];
        for (field, mechanism, _) in given.into_iter().filter(|(.., given)| *given) {
            if contender.mechanism(mechanism).is_some() {
                let message = format!("{contender} has the switch {mechanism}, which says it too: leave one out");
                return error(field, message);
            }
        }
        if let (Some(true), Some(Value::Time(delay))) = (self.frequency, contender.mechanism("ack-delay"))
            && delay < MIN_ACK_DELAY
        {
            let message = format!("it needs an ack-delay of at least {MIN_ACK_DELAY}, and {contender} sets {delay}");
            return error("frequency", message);
        }
        let least = if self.frequency == Some(true) { MIN_ACK_DELAY } else { Span::from_nanos(1) };
        if let Some(Quantity(delay)) = self.max_delay.filter(|d| d.0 < least || d.0 > longest) {
            return error("max_delay", format!("{delay}: give a time from {least} to {longest}"));
        }
        if of_tcp && self.frequency.is_some() {
            return error("frequency", "it is an extension of QUIC: leave it out, or give a quic contender".into());
        }
        if !of_tcp && self.quick.is_some() {
            return error("quick", "quick acknowledgements are TCP's: leave it out, or give a tcp contender".into());
        }
        Ok(())
    }

    pub(crate) fn apply_to_tcp(&self, config: &mut tcp::Config) {
        config.ack_every = self.every.unwrap_or(config.ack_every);
        config.max_ack_delay = self.max_delay.map_or(config.max_ack_delay, |d| d.0);
        config.hurried_acks = self.quick.unwrap_or(config.hurried_acks);
    }

    pub(crate) fn apply_to_quic(&self, config: &mut quic::Config) {
        config.ack.every = self.every.unwrap_or(config.ack.every);
        config.ack.max_delay = self.max_delay.map_or(config.ack.max_delay, |d| d.0);
        config.ack_frequency = self.frequency.unwrap_or(config.ack_frequency);
    }
}
