//! Instants as dates and times of day, UTC.

use std::fmt;

/// Microseconds of a day.
const DAY_US: u64 = 86_400_000_000;

/// A day, counted from 1 January 1970 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u32);

impl Day {
    /// The last day whose year has four digits: 31 December 9999.
    pub const LAST: Day = Day(2_932_896);

    /// The day in which an instant lies (microseconds since the Unix epoch); none after [`Day::LAST`].
    pub fn of(us: u64) -> Option<Day> {
        u32::try_from(us / DAY_US).ok().map(Day).filter(|&day| day <= Day::LAST)
    }

    /// The day that a text such as `2011-03-01` names; none before 1970.
    pub fn named(date: &str) -> Option<Day> {
        let mut parts = date.splitn(3, '-');
        let mut next = |digits: usize| {
            let part = parts.next().filter(|p| p.len() == digits && p.bytes().all(|b| b.is_ascii_digit()))?;
            part.parse::<u32>().ok()
        };
        let (year, month, day) = (next(4)?, next(2)?, next(2)?);
        // The reverse of `Display`, which also tells whether there is such a day.
        let from_march = (month + 9) % 12;
        let year_from_march = (year + u32::from(month > 2)).checked_sub(1)?;
        let (era, of_era) = (year_from_march / 400, year_from_march % 400);
        let of_year = (153 * from_march + 2) / 5 + day.checked_sub(1)?;
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
        let found = Day(days.checked_sub(719_468)?);
        (found.to_string() == date).then_some(found)
    }

    /// When it begins, seconds since the Unix epoch.
    pub fn start_s(self) -> u64 {
        u64::from(self.0) * (DAY_US / 1_000_000)
    }

    /// The day that is this many days later.
    pub fn after(self, days: u32) -> Option<Day> {
        self.0.checked_add(days).map(Day).filter(|&day| day <= Day::LAST)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Years from March, so that the leap day comes last (Hinnant 2021, "chrono-compatible low-level date
        // algorithms").
        let z = self.0 + 719_468;
        let (era, of_era) = (z / 146_097, z % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = era * 400 + year_of_era + u32::from(month <= 2);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// Microseconds since the Unix epoch as date and time, down to seconds.
pub struct Utc(pub u64);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_day = self.0 % DAY_US / 1_000_000;
        let (h, m, s) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        match Day::of(self.0) {
            Some(day) => write!(f, "{day} {h:02}:{m:02}:{s:02} UTC"),
            None => write!(f, "after the year 9999"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (s, date) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_795_185_414, "2026-11-20 14:36:54 UTC"),
            (253_402_300_799, "9999-12-31 23:59:59 UTC"),
            (253_402_300_800, "after the year 9999"),
        ] {
            assert_eq!(Utc(s * 1_000_000).to_string(), date);
        }
    }

    #[test]
    fn every_day_is_found_by_its_name() {
        for number in (0..=Day::LAST.0).step_by(7) {
            let day = Day(number);
            assert_eq!(Day::named(&day.to_string()), Some(day));
        }
        for none in [
            "",
            "2011-02-29",
            "2011-3-1",
            "2011-13-01",
            "2011-00-01",
            "2011-01-00",
            "1969-12-31",
            "0000-01-01",
            "2011-03-01x",
        ] {
            assert_eq!(Day::named(none), None, "{none}");
        }
    }
}
