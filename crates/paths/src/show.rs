//! Traces as text, for people.

use crate::calendar::Utc;
use crate::{Class, Hop, Multipath, Trace, classify};
use std::fmt::{self, Display, Write as _};

/// A trace as text: a line with its ends and how it ended, then a line for each TTL.
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
        let class = match classify(trace).class() {
            Class::TooLong => "too long",
            class => class.name(),
        };
        writeln!(f, ", {}, {}: {class}", trace.method.name(), trace.stop.name())?;
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

impl Display for Multipath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tracelb")?;
        if !self.source.is_none() {
            write!(f, " from {}", self.source)?;
        }
        write!(f, " to {}", self.destination)?;
        if let Some(monitor) = &self.monitor {
            write!(f, ", monitor {}", monitor.escape_default())?;
        }
        if self.start_us != 0 {
            write!(f, ", {}", Utc(self.start_us))?;
        }
        writeln!(f, ", {}: {} links, {} probes", self.method, self.links.len(), self.probes)?;
        for link in &self.links {
            write!(f, "{:3}  {} -> {}  {} flows", link.ttl, link.near, link.far, link.flows)?;
            match link.rtt_us {
                Some(us) => writeln!(f, "  {}.{:03} ms", us / 1000, us % 1000)?,
                None => f.write_char('\n')?,
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Stop};

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
