//! Whatever a kernel says and has in its memory, its clock, its network cards and its packets are read or refused, and nothing is read
//! beyond its memory.

#![no_main]

use haltere_kernel::card::{Answer, Card, Identity, Memory};
use haltere_kernel::control::{Command, Event, Frames, records};
use haltere_kernel::segment::{Segment, ends, mark};
use haltere_kernel::tcp_info::TcpInfo;
use haltere_kernel::travel::Message;
use haltere_kernel::vhost::{HEADER, Header, Request};
use libfuzzer_sys::fuzz_target;
use vm_memory::{Bytes, GuestAddress};

const BYTES: usize = 1 << 14;

/// Numbers of two bytes that name places in the memory, or nearly.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<2>().0.iter().map(|pair| u64::from(u16::from_le_bytes(*pair)))
}

fuzz_target!(|bytes: &[u8]| {
    let _ = Message::parse(bytes);
    let _ = TcpInfo::new(bytes.to_vec()).metrics();
    let _ = records::<Command>(bytes);
    let _ = records::<Event>(bytes);
    let mut frames = Frames::<Event>::default();
    let _ = bytes.chunks(40).map(|payload| frames.take(payload)).collect::<Vec<_>>();
    let mut packet = bytes.to_vec();
    if let Some(segment) = Segment::parse(&packet) {
        assert!(segment.data as usize <= packet.len());
        assert!(ends(&packet).is_some());
    }
    let _ = ends(&packet);
    mark(&mut packet);

    let Ok(mut card) = Card::new(Identity { mac: [2, 0, 0, 0, 0, 1], mtu: 1500 }) else { return };
    let Ok(memory) = Memory::from_ranges(&[(GuestAddress(0), BYTES)]) else { return };
    card.remember(memory.clone());
    let Some((setup, rest)) = bytes.split_at_checked(16) else { return };
    let Ok(plain) = Header::parse(&[3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]) else { return };
    let mut numbers = numbers(setup);
    for ring in 0..2 {
        let mut next = || numbers.next().unwrap_or(0);
        let (size, descriptors, used, available) = (next() as u32, next(), next(), next());
        for request in [
            Request::Size { ring, size },
            Request::Addresses { ring, descriptors, used, available },
            Request::Enable { ring, on: true },
        ] {
            let _ = card.answer(plain, request);
        }
    }
    let _ = memory.write(rest, GuestAddress(0));
    let mut at = rest;
    for _ in 0..8 {
        let _ = card.deliver(&[5; 1514]);
        let _ = card.take(|frame| assert!(frame.len() <= 1 << 16));
        let _ = card.wants_room();
        // A request from the same bytes.
        let Some((head, more)) = at.split_first_chunk::<HEADER>() else { return };
        at = more;
        if let Ok(header) = Header::parse(head)
            && let Ok(request) = header.request(&more[..header.payload.min(more.len())])
            && let Ok(Answer::Bytes(answer)) = card.answer(header, request)
        {
            assert!(answer.len() < 1024);
        }
    }
});
