//! The highest bit rate that a share of the expected throughput carries.
//!
//! The throughput that is expected is the harmonic mean of the last five chunks (rule "RB" of Yin, Jindal, Sekar, Sinopoli, SIGCOMM
//! 2015, section 7.1; the harmonic mean is that of Jiang, Sekar, Zhang, FESTIVE, CoNEXT 2012, from memory). The share that is used is that
//! of dash.js, the DASH Industry Forum's reference client (`throughputSafetyFactor` of its settings).

use super::throughputs::Throughputs;
use super::{Adaptation, Fetched, Implementation, Moment};
use haltere_net::registry::Description;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "throughput",
        summary: "the throughput: the highest bit rate below 90 % of the harmonic mean of the last five chunks",
        reference: "Yin et al., SIGCOMM 2015, section 7.1; dash.js, throughputSafetyFactor",
    },
    build: || Box::<ByThroughput>::default(),
};

/// The share of the expected throughput that is used.
const SAFETY: f64 = 0.9;

#[derive(Default)]
struct ByThroughput(Throughputs);

impl Adaptation for ByThroughput {
    fn on_chunk(&mut self, fetched: Fetched) {
        self.0.add(fetched);
    }

    fn choose(&mut self, moment: &Moment<'_>) -> usize {
        let Some(expected) = self.0.harmonic_mean() else { return 0 };
        let rungs = 0..moment.film.rates().len();
        rungs.rev().find(|rung| moment.film.rate(*rung) <= SAFETY * expected).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::video::film::tests::even;
    use haltere_net::Span;

    #[test]
    fn nine_tenths_of_the_throughput_are_used() {
        let film = even(&[300, 750, 1200, 1850, 2850, 4300], 192);
        let choose = |throughputs: &[u64]| {
            let mut by = ByThroughput::default();
            throughputs.iter().for_each(|kbps| by.on_chunk(Fetched { bytes: kbps * 125, took: Span::from_secs(1) }));
            by.choose(&Moment { film: &film, chunk: 9, last: None, level: Span::ZERO })
        };
        assert_eq!((choose(&[]), choose(&[100])), (0, 0));
        // 1333 kbit/s are not enough for 1200 kbit/s, 1334 kbit/s are.
        assert_eq!((choose(&[1333]), choose(&[1334])), (1, 2));
        // The harmonic mean of 1 and 3 Mbit/s is 1.5 Mbit/s.
        assert_eq!((choose(&[1000, 3000]), choose(&[9000])), (2, 5));
    }
}
