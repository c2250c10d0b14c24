//! The proportional-fair scheduler of a carrier.
//!
//! In each transmission time interval (TTI) the users that have something to send are ranked by the rate that they could have now, divided by
//! the average rate that they were served with (A. Jalali, R. Padovani, R. Pankaj, "Data throughput of CDMA-HDR", IEEE VTC 2000;
//! P. Viswanath, D. Tse, R. Laroia, "Opportunistic beamforming using dumb antennas", IEEE Transactions on Information Theory
//! 48(6), 2002, section II). Scheduling is wideband: the first gets all resource blocks that it has use for, the next ones what is left.

/// A user that has something to send.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Candidate {
    /// Its number.
    pub user: usize,
    /// The bits that a resource block carries for it in this TTI.
    pub bits: f64,
    /// The average of the bits that it was served with, per TTI.
    pub average: f64,
    /// The most resource blocks that it has use for.
    pub most: u32,
}

/// The least average by which rates are divided, bits per TTI: a user that was not served for long has an average near zero.
const LEAST_AVERAGE: f64 = 1e-3;

impl Candidate {
    fn priority(&self) -> f64 {
        self.bits / self.average.max(LEAST_AVERAGE)
    }
}

/// Shares the resource blocks of a TTI. The result has each user that gets some with their number, the first in rank first. Of
/// users of equal rank, the one that stands first goes before.
pub fn share(candidates: &[Candidate], mut blocks: u32) -> Vec<(usize, u32)> {
    let mut ranked: Vec<&Candidate> = candidates.iter().filter(|one| one.bits > 0.0 && one.most > 0).collect();
    ranked.sort_by(|a, b| b.priority().total_cmp(&a.priority()));
    let mut shares = Vec::new();
    for one in ranked {
        let given = one.most.min(blocks);
        if given == 0 {
            break;
        }
        shares.push((one.user, given));
        blocks -= given;
    }
    shares
}

/// The average of the bits that a user was served with, per TTI: exponentially weighted, over a window of some TTIs.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Average {
    value: f64,
    /// The TTI before which it holds.
    until: u64,
}

impl Average {
    /// The average before a TTI, over a window of so many TTIs (at least 1). TTIs must not go back.
    pub fn before(&self, tti: u64, window: f64) -> f64 {
        let idle = tti.saturating_sub(self.until);
        if idle == 0 { self.value } else { self.value * libm::pow(1.0 - 1.0 / window, idle as f64) }
    }

    /// The user is served with so many bits in a TTI.
    pub fn serve(&mut self, tti: u64, bits: f64, window: f64) {
        self.value = self.before(tti, window) * (1.0 - 1.0 / window) + bits / window;
        self.until = tti + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    fn one(user: usize, bits: f64, average: f64, most: u32) -> Candidate {
        Candidate { user, bits, average, most }
    }

    #[test]
    fn the_first_gets_what_it_has_use_for_and_the_next_what_is_left() {
        let users = [one(0, 100.0, 50.0, 40), one(1, 90.0, 10.0, 30), one(2, 500.0, 1000.0, 50), one(3, 0.0, 0.0, 50)];
        assert_eq!(share(&users, 50), [(1, 30), (0, 20)]);
        assert_eq!(share(&users, 0), []);
        assert_eq!(share(&users[2..], 50), [(2, 50)]);
        // A user that was never served goes first; of two, the one with the better channel.
        assert_eq!(
            share(&[one(0, 9.0, 1.0, 5), one(1, 1.0, 0.0, 5), one(2, 2.0, 0.0, 5)], 12),
            [(2, 5), (1, 5), (0, 2)]
        );
    }

    #[test]
    fn an_average_is_the_same_whether_idle_ttis_are_asked_for_or_not() {
        let (mut asked, mut lazy) = (Average::default(), Average::default());
        asked.serve(0, 800.0, 100.0);
        lazy.serve(0, 800.0, 100.0);
        for tti in 1..50 {
            asked.serve(tti, 0.0, 100.0);
        }
        assert!((asked.before(50, 100.0) - lazy.before(50, 100.0)).abs() < 1e-9);
        assert!((lazy.before(1, 100.0) - 8.0).abs() < 1e-12);
    }

    /// The throughput and the TTIs of users whose rates in each TTI `draw` gives.
    fn run(users: usize, ttis: u64, mut draw: impl FnMut(usize) -> f64) -> Vec<(f64, u64)> {
        let window = 1000.0;
        let mut averages = vec![Average::default(); users];
        let mut served = vec![(0.0, 0); users];
        for tti in 0..ttis {
            let candidates: Vec<Candidate> =
                (0..users).map(|user| one(user, draw(user), averages[user].before(tti, window), 1)).collect();
            let [(user, _)] = share(&candidates, 1)[..] else { panic!("one block, one user") };
            averages[user].serve(tti, candidates[user].bits, window);
            served[user] = (served[user].0 + candidates[user].bits, served[user].1 + 1);
        }
        served
    }

    /// With independent Rayleigh fading and rates in proportion to the power, the best of k users has on average the power of
    /// 1 + 1/2 + … + 1/k users (the mean of the largest of k exponential deviates), and with equal means all have equal shares. Users
    /// whose means differ by a factor have the same share of the time and differ by that factor in rate.
    #[test]
    fn diversity_gains_what_rayleigh_fading_allows() {
        for users in [1usize, 2, 4, 8] {
            let ttis = 200_000;
            let mut dice = Streams::new(3, 0).named("fading");
            let mean = |user: usize| if user == 0 { 400.0 } else { 100.0 };
            let served = run(users, ttis, |user| mean(user) * dice.exponential());
            let expected: f64 = (1..=users).map(|k| 1.0 / k as f64).sum();
            for (user, (bits, turns)) in served.iter().enumerate() {
                let share = *turns as f64 * users as f64 / ttis as f64;
                assert!((share - 1.0).abs() < 0.02, "user {user} of {users}: {share}");
                let gain = bits * users as f64 / (ttis as f64 * mean(user));
                assert!((gain / expected - 1.0).abs() < 0.03, "user {user} of {users}: {gain}, not {expected}");
            }
        }
    }

    /// Without fading there is nothing to gain: the users take turns.
    #[test]
    fn without_fading_users_take_turns() {
        let served = run(4, 40_000, |user| 100.0 * (user + 1) as f64);
        for (user, (_, turns)) in served.iter().enumerate() {
            assert!(turns.abs_diff(10_000) < 300, "user {user}: {turns}");
        }
    }
}
