//! The key of a trace, by which copies of it are recognised.

use crate::{Address, Hop, Trace};
use twox_hash::XxHash64;

/// The key of a trace: XXH64 with seed 0 of what its row holds, so that copies of a trace have the same key wherever
/// they come from, and keys are distributed like random numbers. The bytes that are hashed, numbers in network order:
///
/// source (16 bytes, IPv4 as IPv4-mapped IPv6, zeros if not said) · destination (16) · start, microseconds since the
/// Unix epoch (8, 0 if not said) · list (4) · cycle (4) · method, its number in warts (1) · length of the monitor's
/// name (4) · the name, UTF-8 · of each answer on the path, in the file's order: address (16), RTT in microseconds (4,
/// all ones where no time was taken), TTL (1).
#[derive(Default)]
pub(super) struct Keys(Vec<u8>);

impl Keys {
    /// The key of a trace, measured by `monitor` from `start_us` on.
    pub fn of(&mut self, trace: &Trace, monitor: &str, start_us: u64) -> u64 {
        let Keys(bytes) = self;
        bytes.clear();
        bytes.extend_from_slice(trace.source.bytes());
        bytes.extend_from_slice(trace.destination.bytes());
        bytes.extend_from_slice(&start_us.to_be_bytes());
        bytes.extend_from_slice(&trace.list_id.to_be_bytes());
        bytes.extend_from_slice(&trace.cycle_id.to_be_bytes());
        bytes.push(trace.method.number());
        bytes.extend_from_slice(&(monitor.len() as u32).to_be_bytes());
        bytes.extend_from_slice(monitor.as_bytes());
        trace.path().for_each(|hop| bytes.extend_from_slice(&answer(hop)));
        XxHash64::oneshot(0, bytes)
    }
}

fn answer(hop: &Hop) -> [u8; 21] {
    const ADDRESS: usize = Address::NONE.bytes().len();
    let mut bytes = [0; 21];
    bytes[..ADDRESS].copy_from_slice(hop.address.bytes());
    bytes[ADDRESS..20].copy_from_slice(&hop.rtt_us.to_be_bytes());
    bytes[20] = hop.ttl;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Method;

    fn trace() -> Trace {
        let hop = |ttl, last, rtt_us| Hop { address: Address::v4([10, 0, 0, last]), ttl, rtt_us, ..Hop::default() };
        Trace {
            source: Address::v4([192, 0, 2, 1]),
            destination: Address::v4([192, 0, 2, 9]),
            list_id: 2,
            cycle_id: 3,
            method: Method::UdpParis,
            hops: vec![hop(1, 1, 500), hop(3, 3, Hop::NO_RTT)],
            ..Trace::default()
        }
    }

    fn key(trace: &Trace) -> u64 {
        Keys::default().of(trace, "ams-nl", 1_300_000_000_000_000)
    }

    /// Lakes are used with later versions of the program, so this number must never change.
    #[test]
    fn keys_are_for_ever() {
        assert_eq!(key(&trace()), 0xad53_7139_1ab7_4aaa);
    }

    #[test]
    fn whatever_differs_changes_the_key() {
        let changes: [fn(&mut Trace); 11] = [
            |t| t.source = t.destination,
            |t| t.destination = t.source,
            |t| t.list_id += 1,
            |t| t.cycle_id += 1,
            |t| std::mem::swap(&mut t.list_id, &mut t.cycle_id),
            |t| t.method = Method::Udp,
            |t| t.hops[0].address = t.hops[1].address,
            |t| t.hops[0].rtt_us += 1,
            |t| t.hops[0].ttl += 1,
            |t| t.hops.swap(0, 1),
            |t| t.hops.truncate(1),
        ];
        let mut keys = vec![key(&trace()), Keys::default().of(&trace(), "ams", 1_300_000_000_000_000)];
        keys.push(Keys::default().of(&trace(), "ams-nl", 1_300_000_000_000_001));
        for change in changes {
            let mut changed = trace();
            change(&mut changed);
            keys.push(key(&changed));
        }
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }

    #[test]
    fn what_a_row_does_not_hold_does_not_change_it() {
        let mut more = trace();
        (more.first_ttl, more.probes, more.hops[0].reply_ttl, more.hops[0].attempt) = (1, 9, 250, 2);
        more.hops.push(Hop { ttl: 9, ..Hop::default() });
        more.stop_hop = 5;
        assert_eq!(key(&more), key(&trace()));
    }
}
