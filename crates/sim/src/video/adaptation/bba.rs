//! BBA-0: the bit rate is read from the level of the buffer (Huang, Johari, McKeown, Trunnell, Watson, A Buffer-Based Approach to Rate
//! Adaptation: Evidence from a Large Video Streaming Service, SIGCOMM 2014, section 4 and algorithm 1).
//!
//! Up to a reservoir the bit rate is the lowest. Above it, over the cushion, a line leads from the lowest to the highest. The bit rate
//! stays until the line has passed the next one. The paper's buffer holds 240 s, with a reservoir of 90 s and a line that ends at 216 s
//! (section 4.1). Of another buffer, both are the same shares. Numbers are from memory of the paper.
//!
//! BBA-1 and BBA-2 of the paper, which know the sizes of chunks and hurry at the start, are not here.

use super::{Adaptation, Implementation, Moment};
use haltere_net::Span;
use haltere_net::registry::Description;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "bba",
        summary: "the level of the buffer (BBA-0): the lowest bit rate in the reservoir, then a line up to the highest",
        reference: "Huang et al., SIGCOMM 2014, algorithm 1",
    },
    build: || Box::new(Bba),
};

/// The reservoir, and where the line ends, as shares of the buffer: 90 s and 216 s of 240 s.
const RESERVOIR: (u64, u64) = (90, 240);
const TOP: (u64, u64) = (216, 240);

struct Bba;

impl Adaptation for Bba {
    fn choose(&mut self, moment: &Moment<'_>) -> usize {
        let film = moment.film;
        let share = |(part, of): (u64, u64)| film.buffer().scaled(part, of);
        let (reservoir, top) = (share(RESERVOIR), share(TOP));
        if moment.level <= reservoir {
            return 0;
        }
        if moment.level >= top {
            return film.highest();
        }
        let seconds = |span: Span| span.as_secs_f64();
        let along = seconds(moment.level - reservoir) / seconds(top - reservoir);
        let (least, most) = (film.rate(0), film.rate(film.highest()));
        let line = least + along * (most - least);
        let last = moment.last.unwrap_or(0).min(film.highest());
        let (above, below) = ((last + 1).min(film.highest()), last.saturating_sub(1));
        let rungs = || 0..film.rates().len();
        if line >= film.rate(above) {
            rungs().rev().find(|rung| film.rate(*rung) < line).unwrap_or(last)
        } else if line <= film.rate(below) {
            rungs().find(|rung| film.rate(*rung) > line).unwrap_or(last)
        } else {
            last
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::video::film::tests::even;

    #[test]
    fn the_level_of_the_buffer_chooses() {
        // A buffer of 60 s: reservoir 22.5 s, the line ends at 54 s and passes 1200 kbit/s at 22.5 + 31.5 * 900 / 4000 = 29.59 s and
        // 2850 kbit/s at 42.58 s.
        let film = even(&[300, 750, 1200, 1850, 2850, 4300], 192);
        let choose = |level: f64, last: usize| {
            let (level, last) = (Span::from_secs_f64(level), Some(last));
            Bba.choose(&Moment { film: &film, chunk: 3, last, level })
        };
        assert_eq!((choose(0.0, 5), choose(22.5, 5), choose(54.0, 0), choose(60.0, 0)), (0, 0, 5, 5));
        // It stays at 750 kbit/s until the line has passed 1200 kbit/s, and then takes what is below the line.
        assert_eq!((choose(29.5, 1), choose(29.7, 1), choose(42.7, 1)), (1, 2, 4));
        // Down, it stays at 2850 kbit/s until the line has passed 1850 kbit/s, at 34.71 s, and then takes what is above the line.
        assert_eq!((choose(34.8, 4), choose(34.6, 4), choose(29.5, 4)), (4, 3, 2));
        assert_eq!(Bba.choose(&Moment { film: &film, chunk: 0, last: None, level: Span::ZERO }), 0);
    }
}
