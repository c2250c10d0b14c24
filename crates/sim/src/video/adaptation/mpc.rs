//! RobustMPC: of all ways to fetch the next five chunks, the best by the quality of experience (Yin, Jindal, Sekar, Sinopoli, A
//! Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP, SIGCOMM 2015, sections 4 to 6, from memory).
//!
//! The throughput that is expected is the harmonic mean of the last five chunks, divided by 1 + the largest of the last five errors of
//! that mean, as shares of the throughput that came (section 4.3, RobustMPC; the window of the errors is that of `test/mpc.py` of
//! Pensieve's authors). The quality is that of [`quality`]. The sizes of the coming chunks are known, as a film's description tells
//! them.
//!
//! The paper's choice of the time at which the film begins is left out: it begins when the buffer holds enough, and until then a plan
//! counts stalls as if it played. The first chunk has the lowest bit rate. Of plans that are equally good, the one with the higher bit
//! rates first is taken, as in `test/mpc.py`.

use super::throughputs::{CHUNKS, Throughputs};
use super::{Adaptation, Fetched, Implementation, Moment};
use crate::video::{Film, quality};
use haltere_net::registry::Description;
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "mpc",
        summary: "the best plan for the next five chunks, by the expected throughput and the buffer (RobustMPC)",
        reference: "Yin et al., SIGCOMM 2015, sections 4 to 6",
    },
    build: || Box::<Mpc>::default(),
};

/// The chunks of a plan (section 7.1).
const HORIZON: usize = 5;

#[derive(Default)]
struct Mpc {
    throughputs: Throughputs,
    /// How far the last means were from the throughput that came, as shares of that.
    errors: VecDeque<f64>,
}

impl Mpc {
    /// The throughput that is expected at least, bit/s.
    fn expected(&self) -> Option<f64> {
        let worst = self.errors.iter().copied().fold(0.0, f64::max);
        self.throughputs.harmonic_mean().map(|mean| mean / (1.0 + worst))
    }
}

impl Adaptation for Mpc {
    fn on_chunk(&mut self, fetched: Fetched) {
        let expected = self.throughputs.harmonic_mean();
        let came = self.throughputs.add(fetched);
        if let Some(expected) = expected {
            if self.errors.len() == CHUNKS {
                self.errors.pop_front();
            }
            self.errors.push_back((expected - came).abs() / came);
        }
    }

    fn choose(&mut self, moment: &Moment<'_>) -> usize {
        let Some(throughput) = self.expected() else { return 0 };
        let film = moment.film;
        let until = film.chunks().min(moment.chunk + HORIZON);
        let mut search = Search { film, throughput, until, best: f64::NEG_INFINITY, first: 0 };
        let plan = Plan { chunk: moment.chunk, last: moment.last, level: moment.level.as_secs_f64(), value: 0.0, first: None };
        search.extend(plan);
        search.first
    }
}

/// A plan for some of the next chunks.
#[derive(Clone, Copy)]
struct Plan {
    /// The chunk that comes next.
    chunk: usize,
    /// The bit rate of the chunk before, by its number.
    last: Option<usize>,
    /// The buffer, s.
    level: f64,
    /// The quality so far, bit/s.
    value: f64,
    /// The first bit rate of the plan, by its number.
    first: Option<usize>,
}

/// The search among all plans.
struct Search<'a> {
    film: &'a Film,
    throughput: f64,
    /// The first chunk beyond the plans.
    until: usize,
    /// The quality of the best plan so far, and its first bit rate.
    best: f64,
    first: usize,
}

impl Search<'_> {
    fn extend(&mut self, plan: Plan) {
        if plan.chunk >= self.until {
            if plan.value > self.best {
                (self.best, self.first) = (plan.value, plan.first.unwrap_or(0));
            }
            return;
        }
        let highest = self.film.highest();
        // No plan that begins like this is better than one with the highest bit rate from here on, without stalls and switches.
        if plan.value + (self.until - plan.chunk) as f64 * self.film.rate(highest) <= self.best {
            return;
        }
        for rung in (0..=highest).rev() {
            self.extend(self.with(plan, rung));
        }
    }

    /// The plan with one more chunk.
    fn with(&self, plan: Plan, rung: usize) -> Plan {
        let film = self.film;
        let takes = 8.0 * film.size(plan.chunk, rung) as f64 / self.throughput;
        let stalls = (takes - plan.level).max(0.0);
        let level = (plan.level - takes).max(0.0) + film.duration(plan.chunk).as_secs_f64();
        let rate = film.rate(rung);
        let change = plan.last.map_or(0.0, |last| (rate - film.rate(last)).abs());
        Plan {
            chunk: plan.chunk + 1,
            last: Some(rung),
            level: level.min(film.buffer().as_secs_f64()),
            value: plan.value + rate - quality::SWITCH * change - film.rate(film.highest()) * stalls,
            first: plan.first.or(Some(rung)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::video::film::tests::even;
    use haltere_net::Span;

    fn after(kbps: &[u64]) -> Mpc {
        let mut mpc = Mpc::default();
        kbps.iter().for_each(|kbps| mpc.on_chunk(Fetched { bytes: kbps * 125, took: Span::from_secs(1) }));
        mpc
    }

    #[test]
    fn the_worst_of_the_last_five_errors_lowers_the_mean() {
        assert_eq!(after(&[]).expected(), None);
        assert_eq!(after(&[2000]).expected(), Some(2e6));
        // 2 Mbit/s were expected and 1 Mbit/s came, an error of 1; the mean of both is 4/3 Mbit/s.
        let expected = after(&[2000, 1000]).expected().unwrap();
        assert!((expected - 4e6 / 3.0 / 2.0).abs() < 1.0, "{expected}");
        // Five good predictions later it is forgotten: of eight chunks, the last five means were 1 Mbit/s.
        let later = [&[2000][..], &[1000; 10]].concat();
        assert!((after(&later).expected().unwrap() - 1e6).abs() < 1.0);
    }

    #[test]
    fn a_last_chunk_is_worked_by_hand() {
        // One chunk is left, of 4 s at 1 or 3 Mbit/s, and 2 Mbit/s are expected: it takes 2 s or 6 s. With a buffer of 4 s the higher
        // stalls for 2 s: 3 - 2 (switch) - 6 (stall) against 1. With 6 s neither stalls: 3 - 2 = 1 is as good as 1, and the higher wins.
        let film = even(&[1000, 3000], 40);
        let choose = |level, last| {
            let moment = Moment { film: &film, chunk: 9, last: Some(last), level: Span::from_millis(level) };
            after(&[2000]).choose(&moment)
        };
        assert_eq!((choose(4000, 0), choose(6000, 0), choose(5999, 0)), (0, 1, 0));
        // From the higher down: 1 - 2 = -1 against 3 less 3 for each second of stall, which is as good with 4/3 s of it.
        assert_eq!((choose(4700, 1), choose(4600, 1)), (1, 0));
    }

    #[test]
    fn a_plan_looks_five_chunks_ahead() {
        // At 2 Mbit/s each chunk of 3 Mbit/s takes 6 s and lowers the buffer by 2 s. With 14 s in the buffer all five are without a
        // stall; from 1 Mbit/s that is worth 15 - 2 against 5.
        let film = even(&[1000, 3000], 400);
        let choose = |level| {
            let moment = Moment { film: &film, chunk: 9, last: Some(0), level: Span::from_secs(level) };
            after(&[2000]).choose(&moment)
        };
        // With 4 s in the buffer, a first chunk at 3 Mbit/s costs a stall of 2 s; to begin low gains 2 s a chunk.
        assert_eq!((choose(14), choose(4)), (1, 0));
    }

    /// All plans, one after the other, without a bound.
    fn exhaustive(search: &Search<'_>, plan: Plan) -> f64 {
        if plan.chunk >= search.until {
            return plan.value;
        }
        let each = (0..=search.film.highest()).map(|rung| exhaustive(search, search.with(plan, rung)));
        each.fold(f64::NEG_INFINITY, f64::max)
    }

    #[test]
    fn the_bound_of_the_search_loses_no_plan() {
        let film = even(&[300, 750, 1200, 1850, 2850, 4300], 192);
        for throughput in [0.2e6, 0.9e6, 1.7e6, 3.3e6, 9e6] {
            for level in [0.0, 3.0, 11.0, 58.0] {
                for last in [None, Some(0), Some(3)] {
                    let plan = Plan { chunk: 7, last, level, value: 0.0, first: None };
                    let mut search = Search { film: &film, throughput, until: 12, best: f64::NEG_INFINITY, first: 0 };
                    search.extend(plan);
                    assert_eq!(search.best, exhaustive(&search, plan), "{throughput} bit/s, {level} s, {last:?}");
                }
            }
        }
    }
}
