//! Serialisation at a rate that changes, across outages that hold packets: the integral of the rate, in integers.

use super::{Outages, Profile};
use crate::link::Cellular;
use crate::time::{Span, Time};
use crate::units::{self, Bytes};
use crate::wide;

/// Bit-nanoseconds of a byte.
const BYTE: u64 = 8_000_000_000;

/// The amount of serialisation that a rate allows, in bit-nanoseconds.
#[derive(Clone, Debug)]
pub struct Supply {
    rate: Rate,
    hold: Option<Outages>,
    /// Who schedules an idle sender.
    grants: Option<Cellular>,
}

#[derive(Clone, Debug)]
enum Rate {
    Unlimited,
    Constant(u64),
    /// The profile, its period, and the amount in one period.
    Varying(Profile, Option<(Span, u128)>),
}

impl Supply {
    /// A rate of `bps` (0: unlimited), or a profile's rate. Nothing is serialised during the outages `hold`.
    pub(crate) fn new(bps: u64, profile: Option<Profile>, hold: Option<Outages>) -> Supply {
        let rate = match (profile, bps) {
            (Some(profile), _) => {
                let period = profile.period().map(|period| (period, done_in(&profile, period)));
                Rate::Varying(profile, period)
            }
            (None, 0) => Rate::Unlimited,
            (None, bps) => Rate::Constant(bps),
        };
        Supply { rate, hold, grants: None }
    }

    /// The data that an application has over time: `rate`, or what the profile says in its place, and nothing during `pauses`.
    pub fn of_application(rate: units::Rate, profile: Option<Profile>, pauses: Option<Outages>) -> Supply {
        Supply::new(rate.as_bps(), profile, pauses)
    }

    /// When the next `bytes` (at most 2 GB) are there, the first of which comes after `since`, and the work of less than a
    /// nanosecond that is left then. `rest` is what was left before.
    pub fn after(&self, since: Time, bytes: Bytes, rest: u64) -> (Time, u64) {
        self.send(since, bytes.0.saturating_mul(BYTE).saturating_add(rest))
    }

    /// A supply whose idle senders wait for a grant.
    pub(crate) fn with_grants(self, grants: Option<Cellular>) -> Supply {
        Supply { grants, ..self }
    }

    /// When a sender that was idle begins to send a packet that it has at `at`.
    pub(crate) fn granted(&self, at: Time) -> Time {
        self.grants.map_or(at, |grants| grants.granted(at))
    }

    /// When `work` bit-nanoseconds that begin at `start` are complete, rounded down, and the amount that is left then:
    /// less than a nanosecond's.
    pub(crate) fn send(&self, start: Time, work: u64) -> (Time, u64) {
        let (mut t, mut work) = (start, work);
        loop {
            let outage = self.hold.as_ref().and_then(|hold| hold.next(t));
            let outage = match outage {
                Some((from, to)) if from <= t => {
                    t = to;
                    continue;
                }
                Some((from, _)) => from,
                None => Time::NEVER,
            };
            let (bps, end) = match &self.rate {
                Rate::Unlimited => return (t, 0),
                Rate::Constant(bps) => (*bps, outage),
                Rate::Varying(profile, period) => {
                    if let Some((period, done)) = *period
                        && u128::from(work) > done
                    {
                        let done = done as u64;
                        if done == 0 {
                            return (Time::NEVER, 0);
                        }
                        let periods = (work - 1) / done;
                        let fit = outage.since(t).as_nanos() / period.as_nanos();
                        let skipped = periods.min(fit);
                        t += period * skipped;
                        work -= skipped * done;
                        if t >= outage {
                            continue;
                        }
                    }
                    let stair = profile.stair(t);
                    (stair.value, stair.end.min(outage))
                }
            };
            let done = wide::saturating_product(bps, end.since(t).as_nanos());
            if work <= done {
                return (t + Span::from_nanos(work / bps.max(1)), work % bps.max(1));
            }
            if end == Time::NEVER {
                return (Time::NEVER, 0);
            }
            work -= done;
            t = end;
        }
    }
}

/// The amount that a profile allows in one period.
fn done_in(profile: &Profile, period: Span) -> u128 {
    let end = Time::ZERO + period;
    let (mut t, mut done) = (Time::ZERO, 0);
    while t < end {
        let stair = profile.stair(t);
        done += u128::from(stair.value) * u128::from(stair.end.since(t).as_nanos());
        t = stair.end;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::super::{Between, InOutage, Period};
    use super::*;

    const MS: u64 = 1_000_000;

    fn profile(points: &[(u64, u64)], between: Between, repeat: Option<u64>) -> Option<Profile> {
        let at: Vec<Span> = points.iter().map(|p| Span::from_millis(p.0)).collect();
        let value: Vec<u64> = points.iter().map(|p| p.1).collect();
        Profile::new(&at, &value, between, repeat.map(Span::from_millis)).ok()
    }

    fn out(supply: &Supply, start_ms: u64, bytes: u64) -> f64 {
        supply.send(Time::from_nanos(start_ms * MS), bytes * BYTE).0.as_nanos() as f64 / MS as f64
    }

    #[test]
    fn a_packet_across_a_step_is_sent_at_both_rates() {
        // 1000 bytes: 1 ms at 8 Mbit/s, 10 ms at 800 kbit/s.
        let supply = Supply::new(0, profile(&[(0, 8_000_000), (10, 800_000)], Between::Step, None), None);
        assert_eq!([out(&supply, 0, 1000), out(&supply, 9, 1000), out(&supply, 20, 1000)], [1.0, 10.0, 30.0]);
        assert_eq!(out(&supply, 9, 2000), 20.0);
    }

    #[test]
    fn a_ramp_gives_its_integral_at_its_end() {
        // From 8 to 16 Mbit/s in 10 ms: 12 Mbit/s on average, 15 000 bytes.
        let supply = Supply::new(0, profile(&[(0, 8_000_000), (10, 16_000_000)], Between::Ramp, None), None);
        assert_eq!(out(&supply, 0, 15_000), 10.0);
        // Half of the time: 5 ms at 10 Mbit/s on average.
        assert_eq!(out(&supply, 0, 6250), 5.0);
    }

    #[test]
    fn whole_periods_are_skipped_without_changing_the_sum() {
        // 1 bit/s in one half of the time and 3 bit/s in the other: 2 bit/s.
        let supply = Supply::new(0, profile(&[(0, 1), (1, 3)], Between::Step, Some(2)), None);
        assert_eq!(supply.send(Time::ZERO, 60_000 * BYTE), (Time::from_nanos(240_000_000_000_000), 0));
        let held =
            Outages::new(vec![Period { from: Span::from_secs(1), to: Span::from_secs(11) }], InOutage::Hold, None);
        let supply = Supply { hold: held.ok(), ..supply };
        assert_eq!(supply.send(Time::ZERO, 60_000 * BYTE), (Time::from_nanos(240_010_000_000_000), 0));
    }

    #[test]
    fn an_outage_that_holds_stops_the_clock() {
        let period = Period { from: Span::from_millis(10), to: Span::from_millis(60) };
        let hold = Outages::new(vec![period], InOutage::Hold, Some(Span::from_millis(100))).ok();
        let supply = Supply::new(8_000_000, None, hold.clone());
        assert_eq!([out(&supply, 0, 1000), out(&supply, 9, 2000), out(&supply, 30, 1000)], [1.0, 61.0, 61.0]);
        // 45 000 bytes are 45 ms: 10, then the 35 after the outage.
        assert_eq!(out(&supply, 0, 45_000), 95.0);
        // 60 000 bytes meet the next outage too.
        assert_eq!(out(&supply, 0, 60_000), 110.0);
        let unlimited = Supply::new(0, None, hold);
        assert_eq!([out(&unlimited, 9, 1000), out(&unlimited, 10, 1000)], [9.0, 60.0]);
    }
}
