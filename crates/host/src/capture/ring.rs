//! The layout of blocks of `TPACKET_V3` (linux/if_packet.h): bytes go in, records come out.

use super::spec::Heading;
use haltere_net::Time;

/// Offsets in `struct tpacket_block_desc`…
const NUMBER: usize = 12;
const FIRST: usize = 16;
/// …in `struct tpacket3_hdr`…
const NEXT: usize = 0;
const SECONDS: usize = 4;
const NANOSECONDS: usize = 8;
const SNAP: usize = 12;
const NET: usize = 26;
/// …and of `sll_pkttype` in the `struct sockaddr_ll` behind it.
const PACKET_TYPE: usize = 48 + 10;
/// `PACKET_OUTGOING`: the host itself sent it.
const OUTGOING: u8 = 4;

/// A packet in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record<'a> {
    /// The time, by `CLOCK_REALTIME`.
    pub(super) at: Time,
    /// Its direction.
    pub(super) heading: Heading,
    /// The bytes from the IP header on.
    pub(super) bytes: &'a [u8],
}

/// The records of a block. The iteration ends early if a block is shorter than its header says.
pub(super) fn records(block: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let number = word(block, NUMBER).unwrap_or(0);
    let mut at = word(block, FIRST).unwrap_or(0) as usize;
    (0..number).map_while(move |_| {
        let header = block.get(at..)?;
        let record = Record {
            at: Time::from_nanos(
                u64::from(word(header, SECONDS)?) * 1_000_000_000 + u64::from(word(header, NANOSECONDS)?),
            ),
            heading: if *header.get(PACKET_TYPE)? == OUTGOING { Heading::Outgoing } else { Heading::Incoming },
            bytes: {
                let start = usize::from(u16::from_ne_bytes(header.get(NET..NET + 2)?.try_into().ok()?));
                header.get(start..start + word(header, SNAP)? as usize)?
            },
        };
        at += word(header, NEXT)? as usize;
        Some(record)
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A block of records (direction, bytes) as the kernel lays it out.
    fn block(packets: &[(Heading, Vec<u8>)]) -> Vec<u8> {
        let mut block = vec![0; 48];
        block[NUMBER..NUMBER + 4].copy_from_slice(&(packets.len() as u32).to_ne_bytes());
        block[FIRST..FIRST + 4].copy_from_slice(&48u32.to_ne_bytes());
        for (i, (heading, bytes)) in packets.iter().enumerate() {
            let mut header = vec![0; 96];
            let mut put = |at: usize, value: u32| header[at..at + 4].copy_from_slice(&value.to_ne_bytes());
            put(NEXT, 96 + bytes.len() as u32);
            put(SECONDS, 1);
            put(NANOSECONDS, i as u32);
            put(SNAP, bytes.len() as u32);
            header[NET..NET + 2].copy_from_slice(&96u16.to_ne_bytes());
            header[PACKET_TYPE] = if *heading == Heading::Outgoing { OUTGOING } else { 0 };
            block.extend(header);
            block.extend(bytes);
        }
        block
    }

    proptest! {
        #[test]
        fn every_record_is_read_and_no_broken_block_makes_it_panic(
            packets in prop::collection::vec((prop_oneof![Just(Heading::Incoming), Just(Heading::Outgoing)], prop::collection::vec(any::<u8>(), 0..90)), 0..20),
            hurt in any::<prop::sample::Index>(), to in any::<u8>(), cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = block(&packets);
            let read: Vec<_> = records(&bytes).map(|r| (r.heading, r.bytes.to_vec())).collect();
            prop_assert_eq!(read, packets);
            let times: Vec<u64> = records(&bytes).map(|r| r.at.as_nanos()).collect();
            prop_assert!(times.iter().enumerate().all(|(i, t)| *t == 1_000_000_000 + i as u64));
            let at = hurt.index(bytes.len());
            bytes[at] = to;
            prop_assert!(records(&bytes).count() <= 1 << 32);
            bytes.truncate(cut.index(bytes.len() + 1));
            prop_assert!(records(&bytes).map(|r| r.bytes.len()).max() <= Some(bytes.len()));
        }
    }
}
