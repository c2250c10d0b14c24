//! Tunnels and circuit breakers in scenarios.

use crate::scenario::quantity::{Probability, Quantity};
use haltere_net::middlebox::{Breaker, Propagation, Tunnel};
use haltere_net::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

/// A tunnel through a link. Packets are longer on the link by its header; hosts know the MTU that is left, as by path MTU
/// discovery. Queues still see which flow a packet is of, as with tunnels whose ports or flow labels tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TunnelSpec {
    /// How the ECN field goes into the outer header and back (default normal).
    pub ecn: EcnInTunnel,
    /// Bytes of the outer header (default 20B, an IPv4 header).
    pub header: Option<Quantity<Bytes>>,
}

/// How a tunnel propagates the ECN field.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnInTunnel {
    /// RFC 6040 in normal mode: the outer header has a copy, and at the end both are combined as its figure 4 says.
    #[default]
    Normal,
    /// RFC 6040 in compatibility mode, RFC 3168's limited functionality: the outer header is not ECN-capable, so that queues
    /// drop in place of marking.
    Compatibility,
    /// RFC 3168's full functionality: at the end only marks are taken over.
    Rfc3168,
    /// No propagation: the outer header has a copy, and is thrown away at the end with its marks.
    None,
}

impl TunnelSpec {
    pub(super) fn config(&self) -> Tunnel {
        let ecn = match self.ecn {
            EcnInTunnel::Normal => Propagation::Normal,
            EcnInTunnel::Compatibility => Propagation::Compatibility,
            EcnInTunnel::Rfc3168 => Propagation::Rfc3168,
            EcnInTunnel::None => Propagation::None,
        };
        Tunnel { header: self.header.map_or(20, |q| u32::try_from(q.0.0).unwrap_or(u32::MAX)), ecn }
    }
}

/// A circuit breaker. Each direction of the link has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerSpec {
    /// The share of a flow's packets lost on the link in an interval beyond which it counts against the flow (default 10%).
    pub loss: Option<Quantity<Probability>>,
    /// The interval, several round-trip times long (default 1s).
    pub interval: Option<Quantity<Span>>,
    /// How many intervals one after the other end the flow: all its packets are dropped then (default 3).
    pub intervals: Option<u32>,
    /// When a flow that was ended may go on (default: never).
    pub reset: Option<Quantity<Span>>,
}

impl BreakerSpec {
    pub(super) fn config(&self) -> Breaker {
        Breaker {
            loss: self.loss.map_or(0.1, |q| q.0.0),
            interval: self.interval.map_or(Span::from_secs(1), |q| q.0),
            intervals: self.intervals.unwrap_or(3),
            reset: self.reset.map(|q| q.0),
        }
    }
}
