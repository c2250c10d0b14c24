//! The configuration of one direction of a link.

use super::cellular::Cellular;
use crate::interface::Ring;
use crate::loss::{JitterModel, LossModel};
use crate::middlebox::{Breaker, Tunnel};
use crate::queue::{QueueConfig, Scale};
use crate::time::Span;
use crate::trace::RateTrace;
use crate::units::Rate;
use crate::varying::{InOutage, Orbit, Outages, Profile, VaryingError};
use serde::{Deserialize, Serialize};

/// The configuration of one direction of a link. Its JSON form has the units in the names: `{"rate_bps": 40000000,
/// "delay_ns": 50000000, "mtu": 1500, "queue": "1000p", "loss": {"model": "uniform", "p": 0.01}}`. Absent fields have
/// their defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// Serialisation rate; `None` serialises instantly.
    #[serde(rename = "rate_bps")]
    pub rate: Option<Rate>,
    /// A recorded rate; replaces `rate`.
    #[serde(rename = "trace_ms", skip_serializing_if = "Option::is_none")]
    pub trace: Option<RateTrace>,
    /// A rate that changes with time, bit/s; replaces `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_profile: Option<Profile>,
    /// Propagation delay.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// A propagation delay that changes with time, ns; replaces `delay`. A packet has the delay at the time when its
    /// serialisation ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_profile: Option<Profile>,
    /// Satellites, whose distance is added to `delay`. The sequence is drawn from the stream `LINK/orbit`, which both
    /// directions of a link share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orbit: Option<Orbit>,
    /// Whether packets overtake earlier ones when the delay falls. Otherwise they arrive together with them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub delay_reorders: bool,
    /// When the link carries nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outages: Option<Outages>,
    /// A cellular base station's scheduler and retransmissions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cellular: Option<Cellular>,
    /// Largest packet, in bytes with IP header.
    pub mtu: u32,
    /// The queue discipline. Lengths in bandwidth-delay products that were not converted to packets before are computed
    /// from this link's rate and twice its delay.
    pub queue: QueueConfig,
    /// The driver's ring between the queue discipline and the wire. Without it packets leave the discipline one by one,
    /// each when its serialisation begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<Ring>,
    /// A tunnel that goes through the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<Tunnel>,
    /// A circuit breaker that guards the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker: Option<Breaker>,
    /// Which packets are lost.
    pub loss: LossModel,
    /// Extra delay of each packet.
    pub jitter: JitterModel,
    /// Probability that a packet arrives twice.
    pub duplication: f64,
}

impl Default for LinkConfig {
    fn default() -> LinkConfig {
        LinkConfig {
            rate: None,
            trace: None,
            rate_profile: None,
            delay: Span::ZERO,
            delay_profile: None,
            orbit: None,
            delay_reorders: false,
            outages: None,
            cellular: None,
            mtu: 1500,
            queue: QueueConfig::default(),
            ring: None,
            tunnel: None,
            breaker: None,
            loss: LossModel::None,
            jitter: JitterModel::None,
            duplication: 0.0,
        }
    }
}

impl LinkConfig {
    /// The path from which lengths in bandwidth-delay products are computed, with this base RTT. The rate is the
    /// constant rate, the largest rate of a profile, or the mean rate of a trace.
    pub fn scale(&self, rtt: Span) -> Scale {
        let profile = self.rate_profile.as_ref().map(|profile| Rate::from_bps(profile.greatest()));
        let trace = self.trace.as_ref().map(RateTrace::mean);
        Scale { rate: trace.or(profile).or(self.rate), rtt, mtu: self.mtu }
    }

    /// The longest packet of a host that passes, bytes: a tunnel's header takes its part of the MTU.
    pub fn host_mtu(&self) -> u32 {
        self.mtu.saturating_sub(self.tunnel.map_or(0, |tunnel| tunnel.header))
    }

    /// The delay, or the largest one of a profile.
    pub fn greatest_delay(&self) -> Span {
        let base = self.delay_profile.as_ref().map_or(self.delay, |profile| Span::from_nanos(profile.greatest()));
        base + self.orbit.map_or(Span::ZERO, |orbit| orbit.longest())
    }

    /// Checks the fields against each other.
    ///
    /// # Errors
    ///
    /// With the field, and what would be right: an empty ring, a rate of zero, two rates, outages that hold packets
    /// beside a trace, two delays that change, grants beside a trace.
    pub fn check(&self) -> Result<(), VaryingError> {
        if self.ring.is_some_and(|ring| ring.packets == 0) {
            return Err(VaryingError::new("ring", "0 packets: give a ring of at least one, or leave it out"));
        }
        let zero = self.rate.is_some_and(|rate| rate.as_bps() == 0);
        if zero {
            return Err(VaryingError::new("rate_bps", "0: give a positive rate, or null for no limit"));
        }
        if self.rate_profile.as_ref().is_some_and(|profile| profile.least() == 0) {
            let message = "there is a rate of 0: give positive rates, and outages for times without any";
            return Err(VaryingError::new("rate_profile", message));
        }
        if self.trace.is_some() && self.rate_profile.is_some() {
            let message = "there is a rate_profile too: a trace is a rate, give one of them";
            return Err(VaryingError::new("trace_ms", message));
        }
        if self.trace.is_some() && self.outages.as_ref().is_some_and(|o| o.packets() == InOutage::Hold) {
            let message =
                "a trace says itself when packets wait: leave outages that hold packets out, or let them drop";
            return Err(VaryingError::new("outages", message));
        }
        if self.orbit.is_some() && self.delay_profile.is_some() {
            let message = "there is an orbit too, which changes the delay: leave one of them out";
            return Err(VaryingError::new("delay_profile", message));
        }
        self.tunnel.as_ref().map_or(Ok(()), Tunnel::check)?;
        self.breaker.as_ref().map_or(Ok(()), Breaker::check)?;
        if self.ring.is_some() && (self.tunnel.is_some() || self.breaker.is_some()) {
            let message =
                "tunnels and circuit breakers stand between routers, a ring is a host's: leave one of them out";
            return Err(VaryingError::new("ring", message));
        }
        if let Some(cellular) = &self.cellular {
            cellular.check()?;
            if self.trace.is_some() && cellular.asks() {
                let message = "a trace says itself when packets are sent: leave grant and request_period out";
                return Err(VaryingError::new("cellular.grant", message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Limit;

    #[test]
    fn a_configuration_goes_through_json_and_back() {
        let config = LinkConfig {
            rate: Some(Rate::from_bps(40_000_000)),
            delay: Span::from_millis(50),
            queue: Limit::Bytes(64_000).into(),
            loss: LossModel::GilbertElliott {
                good_to_bad: 0.01,
                bad_to_good: 0.25,
                loss_in_bad: 1.0,
                loss_in_good: 0.0,
            },
            jitter: JitterModel::Normal { sigma: Span::from_micros(300), reorder: true },
            ..LinkConfig::default()
        };
        let json = serde_json::to_value(&config).unwrap();
        assert_eq!(json["rate_bps"], 40_000_000);
        assert_eq!(json["delay_ns"], 50_000_000);
        assert_eq!(json["queue"], serde_json::json!({ "discipline": "drop-tail", "limit": "64000B" }));
        assert_eq!(json["loss"]["model"], "gilbert-elliott");
        assert_eq!(json["jitter"]["sigma_ns"], 300_000);
        assert_eq!(serde_json::from_value::<LinkConfig>(json).unwrap(), config);
    }

    #[test]
    fn what_is_left_out_has_its_default_and_what_is_unknown_is_refused() {
        let read = |text: &str| serde_json::from_str::<LinkConfig>(text);
        assert_eq!(read(r#"{"rate_bps": null}"#).unwrap(), LinkConfig::default());
        for wrong in [r#"{"rate": 1}"#, r#"{"queue": {"packets": -1}}"#, r#"{"loss": {"model": "uniform", "q": 1}}"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
