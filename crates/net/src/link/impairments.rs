//! Impairments of a link beyond its queue and its rate.

use super::LinkConfig;
use super::cellular::Blocks;
use crate::loss::{Jitter, JitterModel, Loss, LossModel};
use crate::queue::DropReason;
use crate::rng::{Stream, Streams};
use crate::time::{Span, Time};
use crate::varying::{InOutage, Outages, Profile};

/// Random impairments. A link without any has none of this state.
pub(super) struct Impairments {
    loss: Loss,
    pub(super) jitter: Jitter,
    /// Outages whose packets are lost.
    outages: Option<Outages>,
    /// A delay that changes, and the latest arrival time it has caused so far.
    delay: Option<(Profile, Time)>,
    /// The latest arrival of a packet so far.
    pub(super) last_arrival: Time,
    /// Whether packets may overtake each other, by jitter or by a falling delay.
    pub(super) overtaking: bool,
    delay_reorders: bool,
    /// The blocks in which a base station sends packets.
    blocks: Option<Blocks>,
    duplication: f64,
    stream: Stream,
}

impl Impairments {
    pub(super) fn new(config: &LinkConfig, name: &str, streams: &Streams) -> Option<Box<Impairments>> {
        let trace = config.trace.is_some();
        let outages = config.outages.clone().filter(|o| trace || o.packets() == InOutage::Drop);
        // Both directions of a link are over the same satellites.
        let link = name.rsplit_once('/').map_or(name, |(link, _)| link);
        let orbit =
            config.orbit.and_then(|orbit| orbit.profile(config.delay, &mut streams.named(&format!("{link}/orbit"))));
        let delay = config.delay_profile.clone().or(orbit).map(|profile| (profile, Time::ZERO));
        let blocks = config.cellular.map(|cellular| Blocks::new(cellular, streams.named(&format!("{name}/harq"))));
        let steady = outages.is_none() && delay.is_none() && blocks.is_none();
        let none = config.loss == LossModel::None && config.jitter == JitterModel::None && config.duplication <= 0.0;
        let delay_reorders = delay.is_some() && config.delay_reorders;
        (!none || !steady).then(|| {
            let jitter = Jitter::new(config.jitter, streams.named(&format!("{name}/jitter")));
            Box::new(Impairments {
                outages,
                last_arrival: Time::ZERO,
                delay,
                overtaking: jitter.reorders() || delay_reorders,
                delay_reorders,
                blocks,
                loss: Loss::new(config.loss.clone(), streams.named(&format!("{name}/loss"))),
                jitter,
                duplication: config.duplication,
                stream: streams.named(&format!("{name}/duplication")),
            })
        })
    }

    /// The reason why a packet that is sent from `start` to `out` does not arrive. The loss process sees every packet.
    pub(super) fn strike(&mut self, start: Time, out: Time) -> Option<DropReason> {
        let lost = self.loss.strikes();
        let outage = self.outages.as_ref().is_some_and(|outages| outages.strike(start, out));
        if outage {
            return Some(DropReason::Outage);
        }
        lost.then_some(DropReason::Loss)
    }

    /// When a packet that is sent from `start` to `out` arrives at the far end, without jitter. `delay` is the constant
    /// delay.
    pub(super) fn arrival(&mut self, start: Time, out: Time, delay: Span) -> Time {
        let out = self.blocks.as_mut().map_or(out, |blocks| blocks.pass_on(start, out));
        let Some((profile, latest)) = &mut self.delay else { return out + delay };
        let arrival = out + Span::from_nanos(profile.value(out));
        if !self.delay_reorders {
            *latest = arrival.max(*latest);
            return *latest;
        }
        arrival
    }

    /// The number of copies of a packet that are sent.
    pub(super) fn copies(&mut self) -> u64 {
        if self.duplication > 0.0 && self.stream.chance(self.duplication) { 2 } else { 1 }
    }
}
