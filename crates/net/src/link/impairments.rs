//! What happens to packets of a link beyond its queue and its rate.

use super::LinkConfig;
use crate::loss::{Jitter, JitterModel, Loss, LossModel};
use crate::rng::{Stream, Streams};

/// Random impairments; a link without any has none of this to look at.
pub(super) struct Impairments {
    pub(super) loss: Loss,
    pub(super) jitter: Jitter,
    duplication: f64,
    stream: Stream,
}

impl Impairments {
    pub(super) fn new(config: &LinkConfig, name: &str, streams: &Streams) -> Option<Box<Impairments>> {
        let none = config.loss == LossModel::None && config.jitter == JitterModel::None && config.duplication <= 0.0;
        (!none).then(|| {
            Box::new(Impairments {
                loss: Loss::new(config.loss.clone(), streams.named(&format!("{name}/loss"))),
                jitter: Jitter::new(config.jitter, streams.named(&format!("{name}/jitter"))),
                duplication: config.duplication,
                stream: streams.named(&format!("{name}/duplication")),
            })
        })
    }

    /// How many packets one becomes.
    pub(super) fn copies(&mut self) -> u64 {
        if self.duplication > 0.0 && self.stream.chance(self.duplication) { 2 } else { 1 }
    }
}
