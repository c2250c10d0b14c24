//! What one direction of a link is like, as data.

use crate::loss::{JitterModel, LossModel};
use crate::queue::{QueueConfig, Scale};
use crate::time::Span;
use crate::trace::RateTrace;
use crate::units::Rate;
use serde::{Deserialize, Serialize};

/// What one direction of a link is like. Its JSON form has the units in the names: `{"rate_bps": 40000000, "delay_ns":
/// 50000000, "mtu": 1500, "queue": "1000p", "loss": {"model": "uniform", "p": 0.01}}`; what is left out has its default.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// Serialisation rate; `None` sends in no time.
    #[serde(rename = "rate_bps")]
    pub rate: Option<Rate>,
    /// A recorded rate; takes the place of `rate`.
    #[serde(rename = "trace_ms", skip_serializing_if = "Option::is_none")]
    pub trace: Option<RateTrace>,
    /// Propagation delay.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Largest packet, in bytes with IP header.
    pub mtu: u32,
    /// Who waits, who goes next, who is dropped. Lengths in bandwidth-delay products that nobody has turned into packets
    /// are counted with this link's rate and twice its delay.
    pub queue: QueueConfig,
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
            delay: Span::ZERO,
            mtu: 1500,
            queue: QueueConfig::default(),
            loss: LossModel::None,
            jitter: JitterModel::None,
            duplication: 0.0,
        }
    }
}

impl LinkConfig {
    /// What lengths in bandwidth-delay products are counted with on a path of this base RTT.
    pub fn scale(&self, rtt: Span) -> Scale {
        Scale { rate: self.rate, rtt, mtu: self.mtu }
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
