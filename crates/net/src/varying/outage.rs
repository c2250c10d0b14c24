//! Outages: periods in which a link carries nothing.

use super::VaryingError;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// The shortest period of outages that repeat.
const SHORTEST: Span = Span::from_millis(100);
/// The latest time.
const LATEST: Span = Span::from_secs(1_000_000_000);

/// An outage. It includes its first instant, but not its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// When it begins.
    #[serde(rename = "from_ns")]
    pub from: Span,
    /// When the link is back.
    #[serde(rename = "to_ns")]
    pub to: Span,
}

/// The fate of packets in an outage.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InOutage {
    /// The link continues to send, and the packets are lost: every packet whose serialisation overlaps with the outage.
    #[default]
    Drop,
    /// The link stops, and packets wait in its queue. A packet whose serialisation has begun before the outage is
    /// continued after it.
    Hold,
}

/// The outages of a link. In JSON: `{"periods": [{"from_ns": 3000000000, "to_ns": 4000000000}], "packets": "drop",
/// "repeat_ns": 20000000000}`. What has left the sender before an outage arrives.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Outages {
    periods: Vec<Period>,
    packets: InOutage,
    repeat: Option<Span>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    periods: Vec<Period>,
    #[serde(default)]
    packets: InOutage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat_ns: Option<Span>,
}

impl TryFrom<Written> for Outages {
    type Error = VaryingError;
    fn try_from(w: Written) -> Result<Outages, VaryingError> {
        Outages::new(w.periods, w.packets, w.repeat_ns)
    }
}

impl From<Outages> for Written {
    fn from(o: Outages) -> Written {
        Written { periods: o.periods, packets: o.packets, repeat_ns: o.repeat }
    }
}

impl Outages {
    /// Outages at these times, which repeat with the period `repeat`.
    ///
    /// # Errors
    ///
    /// If an outage ends before it begins, or begins before the previous one has ended; or if the period does not
    /// contain all of them and some time without an outage, or is shorter than 100 ms.
    pub fn new(periods: Vec<Period>, packets: InOutage, repeat: Option<Span>) -> Result<Outages, VaryingError> {
        let mut free = Span::ZERO;
        let mut out = Span::ZERO;
        for (n, p) in periods.iter().enumerate() {
            let wrong = |message: String| Err(VaryingError::new("periods", format!("number {}: {message}", n + 1)));
            if p.to <= p.from || p.to > LATEST {
                return wrong(format!("from {} to {}: give an end after the beginning, up to {LATEST}", p.from, p.to));
            }
            if p.from < free {
                return wrong(format!(
                    "begins at {}, before {free}: give outages in order that do not overlap",
                    p.from
                ));
            }
            free = p.to;
            out += p.to - p.from;
        }
        match repeat {
            Some(repeat) if repeat < free || repeat <= out || repeat < SHORTEST || repeat > LATEST => {
                let message = format!(
                    "{repeat}: give a period of at least {SHORTEST} that holds all outages (the last ends at {free}) \
                     and some time without"
                );
                Err(VaryingError::new("repeat", message))
            }
            _ => Ok(Outages { periods, packets, repeat }),
        }
    }

    /// The fate of packets.
    pub fn packets(&self) -> InOutage {
        self.packets
    }

    /// The first outage that ends after `t`.
    pub(super) fn next(&self, t: Time) -> Option<(Time, Time)> {
        let t = t.as_nanos();
        let offset = self.repeat.map_or(t, |period| t % period.as_nanos());
        let base = t - offset;
        let number = self.periods.partition_point(|p| p.to.as_nanos() <= offset);
        let (base, period) = match (self.periods.get(number), self.repeat) {
            (Some(period), _) => (base, period),
            (None, Some(repeat)) => (base.saturating_add(repeat.as_nanos()), self.periods.first()?),
            (None, None) => return None,
        };
        Some((Time::from_nanos(base) + period.from, Time::from_nanos(base) + period.to))
    }

    /// Whether a packet that is sent from `start` to `out` meets an outage.
    pub(crate) fn strike(&self, start: Time, out: Time) -> bool {
        self.next(start).is_some_and(|(from, _)| from <= start || from < out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outages(periods: &[(u64, u64)], repeat: Option<u64>) -> Result<Outages, VaryingError> {
        let period = |&(from, to)| Period { from: Span::from_millis(from), to: Span::from_millis(to) };
        Outages::new(periods.iter().map(period).collect(), InOutage::Drop, repeat.map(Span::from_millis))
    }

    #[test]
    fn packets_meet_outages_that_they_touch() {
        let once = outages(&[(100, 200), (200, 300), (500, 600)], None).unwrap();
        let again = outages(&[(100, 300), (500, 600)], Some(1000)).unwrap();
        for (start, out, meets) in
            [(0, 100, false), (0, 101, true), (100, 100, true), (299, 400, true), (300, 500, false), (700, 800, false)]
        {
            for (o, base) in [(&once, 0), (&again, 0), (&again, 3000)] {
                let at = |ms: u64| Time::from_nanos((base + ms) * 1_000_000);
                assert_eq!(o.strike(at(start), at(out)), meets, "{start} to {out}");
            }
        }
        let late = |ms: u64| Time::from_nanos(ms * 1_000_000);
        assert!(again.strike(late(900), late(1101)) && !once.strike(late(900), late(1101)));
        assert!(!outages(&[], None).unwrap().strike(late(0), late(9)));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_field() {
        for (periods, repeat, field) in [
            (&[(5, 5)][..], None, "periods"),
            (&[(5, 9), (8, 10)], None, "periods"),
            (&[(0, 200)], Some(200), "repeat"),
            (&[(0, 200)], Some(150), "repeat"),
            (&[(0, 20)], Some(50), "repeat"),
        ] {
            assert_eq!(outages(periods, repeat).unwrap_err().field, field, "{periods:?}");
        }
    }
}
