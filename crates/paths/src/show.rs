//! Traces as text, for people.

use crate::{Class, Hop, Trace, classify};
use std::fmt::{self, Display, Write as _};

/// A trace as text: a line that says whose it is and how it ended, then a line a TTL.
pub struct Shown<'a>(pub &'a Trace);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trace = self.0;
        f.write_str("traceroute")?;
        if !trace.source.is_none() {
            write!(f, " from {}", trace.source)?;
        }
        write!(f, " to {}", trace.destination)?;
        if let Some(monitor) = &trace.monitor {
            write!(f, ", monitor {}", monitor.escape_default())?;
        }
        if trace.time_us() != 0 {
            write!(f, ", {}", Utc(trace.time_us()))?;
        }
        writeln!(f, ", {}, {}: {}", trace.method.name(), trace.stop.name(), word(classify(trace).class()))?;
        let mut order: Vec<usize> = (0..trace.hops.len()).collect();
        order.sort_by_key(|&i| trace.hops[i].ttl);
        let mut silent_from = trace.first_ttl.max(1);
        for hops in order.chunk_by(|&a, &b| trace.hops[a].ttl == trace.hops[b].ttl) {
            let ttl = trace.hops[hops[0]].ttl;
            (silent_from..ttl).try_for_each(|silent| writeln!(f, "{silent:3}  *"))?;
            silent_from = ttl.saturating_add(1);
            write!(f, "{ttl:3}")?;
            let mut before = None;
            for &at in hops {
                answer(f, trace, at, before)?;
                before = Some(trace.hops[at].address);
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}

/// The word for a class.
pub fn word(class: Class) -> &'static str {
    match class {
        Class::Clean => "clean",
        Class::Incomplete => "incomplete",
        Class::TooLong => "too long",
        Class::Loop => "loop",
    }
}

fn answer(f: &mut fmt::Formatter<'_>, trace: &Trace, at: usize, before: Option<crate::Address>) -> fmt::Result {
    let hop = &trace.hops[at];
    if before != Some(hop.address) {
        write!(f, "  {}", hop.address)?;
    }
    match hop.rtt_us {
        Hop::NO_RTT => f.write_str("  ?")?,
        us => write!(f, "  {}.{:03} ms", us / 1000, us % 1000)?,
    }
    if let Some(mark) = unreachable(hop) {
        write!(f, " {mark}")?;
    }
    for extension in trace.extensions.iter().filter(|e| e.hop as usize == at) {
        for label in trace.labels(extension) {
            write!(f, " [MPLS label {} ttl {}]", label.label, label.ttl)?;
        }
    }
    Ok(())
}

/// The marks of traceroute(8) for destinations that a router says cannot be reached (RFC 792, RFC 4443).
fn unreachable(hop: &Hop) -> Option<&'static str> {
    let kind = (hop.is_icmp(), hop.address.is_v4(), hop.icmp_type, hop.icmp_code);
    Some(match kind {
        (true, true, 3, 0) | (true, false, 1, 0) => "!N",
        (true, true, 3, 1) | (true, false, 1, 3) => "!H",
        (true, true, 3, 2) => "!P",
        (true, true, 3, 13) | (true, false, 1, 1) => "!X",
        (true, true, 3, 4) | (true, false, 2, _) => "!F",
        _ => return None,
    })
}

/// Microseconds since the Unix epoch as date and time.
struct Utc(u64);

impl Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000;
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        // Years from March, so that the leap day comes last (Hinnant 2021, "chrono-compatible low-level date algorithms").
        let z = days + 719_468;
        let (era, of_era) = (z / 146_097, z % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let (h, m, s) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02} UTC")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Stop};

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (s, date) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_795_185_414, "2026-11-20 14:36:54 UTC"),
        ] {
            assert_eq!(Utc(s * 1_000_000).to_string(), date);
        }
    }

    #[test]
    fn a_trace_reads_like_traceroute() {
        let hop = |ttl, last, rtt_us| Hop { address: Address::v4([10, 0, 0, last]), ttl, rtt_us, ..Hop::default() };
        let mut trace = Trace { destination: Address::v4([10, 0, 0, 9]), first_ttl: 1, ..Trace::default() };
        trace.hops = vec![hop(1, 1, 500), hop(1, 2, 1250), hop(3, 9, 20_001)];
        (trace.stop, trace.answered) = (Stop::Completed, true);
        trace.add_extension(1, 1, &[0, 0, 0x11, 7]);
        assert_eq!(
            Shown(&trace).to_string(),
            "traceroute to 10.0.0.9, unknown, COMPLETED: clean\n  1  10.0.0.1  0.500 ms  10.0.0.2  1.250 ms\n  \
             2  *\n  3  10.0.0.9  20.001 ms [MPLS label 1 ttl 7]\n"
        );
    }
}
