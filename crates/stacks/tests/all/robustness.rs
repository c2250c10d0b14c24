//! Damaged and foreign packets are dropped and counted, and do no harm.

use crate::ends;

use ends::{Dyn, STACKS, end};
use haltere_net::rng::Streams;
use haltere_net::{ComponentId, Cx, Packet, Span, Time};
use haltere_stacks::{Cipher, Congestion};
use haltere_transport::{Body, Endpoint, Event, Role};
use std::collections::BTreeMap;

/// Two ends 10 ms apart, and somebody between them who adds packets.
struct Wire {
    ends: [Dyn; 2],
    now: Time,
    flying: BTreeMap<(Time, u64), (usize, Packet<Body>)>,
    count: u64,
    read: u64,
}

const REQUEST: u64 = 1000;
const ANSWER: u64 = 200_000;

impl Wire {
    fn settle(&mut self, i: usize, meddle: &mut dyn FnMut(&Packet<Body>) -> Vec<Packet<Body>>) {
        let mut cx = Cx::new(self.now, ComponentId(i as u32));
        loop {
            while let Some(event) = self.ends[i].poll_event() {
                match event {
                    Event::Connected if i == 0 => {
                        let stream = self.ends[0].open().unwrap();
                        self.ends[0].write(stream, REQUEST);
                        self.ends[0].finish(stream);
                    }
                    Event::Readable(stream) if i == 0 => self.read += self.ends[0].read(stream, self.now),
                    Event::Readable(stream) => drop(self.ends[1].read(stream, self.now)),
                    Event::Finished(stream) if i == 1 => {
                        self.ends[1].write(stream, ANSWER);
                        self.ends[1].finish(stream);
                    }
                    Event::Failed(why) => panic!("end {i} failed: {why:?}"),
                    _ => {}
                }
            }
            let Some(packet) = self.ends[i].poll_transmit(&mut cx) else { return };
            let extra = meddle(&packet);
            for packet in extra.into_iter().chain([packet]) {
                self.count += 1;
                self.flying.insert((self.now + Span::from_millis(10), self.count), (1 - i, packet));
            }
        }
    }

    fn run(&mut self, until: Span, mut meddle: impl FnMut(&Packet<Body>) -> Vec<Packet<Body>>) {
        self.ends[0].connect(&mut Cx::new(self.now, ComponentId(0)));
        self.settle(0, &mut meddle);
        loop {
            let arrival = self.flying.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let next = self.ends.iter().map(Endpoint::next_wake).fold(arrival, Time::min);
            if next > Time::ZERO + until {
                return;
            }
            self.now = next;
            let mut cx = Cx::new(self.now, ComponentId(9));
            if next == arrival {
                let Some((_, (i, packet))) = self.flying.pop_first() else { return };
                self.ends[i].on_packet(packet, &mut cx);
                self.settle(i, &mut meddle);
                continue;
            }
            let i = usize::from(self.ends[0].next_wake() > next);
            self.ends[i].on_wake(&mut cx);
            self.settle(i, &mut meddle);
        }
    }
}

fn wire(stack: haltere_stacks::Stack, cipher: Cipher) -> Wire {
    let of = |role| end(role, stack, Congestion::Own("cubic"), cipher, 5);
    let ends = [of(Role::Client), of(Role::Server)];
    Wire { ends, now: Time::ZERO, flying: BTreeMap::new(), count: 0, read: 0 }
}

fn with(packet: &Packet<Body>, bytes: Vec<u8>) -> Packet<Body> {
    packet.clone().with(|p| {
        p.len = bytes.len() as u32 + 28;
        p.body = Body::Udp(bytes);
    })
}

#[test]
fn a_damaged_copy_of_every_datagram_is_dropped_and_counted() {
    for stack in STACKS {
        for cipher in [Cipher::Tls, Cipher::Null] {
            let mut wire = wire(stack, cipher);
            let mut dice = Streams::new(11, 0).named("damage");
            let mut made = 0;
            wire.run(Span::from_secs(20), |packet| {
                let Body::Udp(bytes) = &packet.body else { panic!("not a datagram") };
                let mut bytes = bytes.clone();
                // Behind the first connection id, so that the packet is for this connection, and in front of what may be
                // coalesced behind it.
                let at = 40 + dice.below(bytes.len().saturating_sub(40).clamp(1, 30) as u64) as usize;
                let Some(byte) = bytes.get_mut(at) else { return Vec::new() };
                *byte ^= 1 << dice.below(8);
                made += 1;
                vec![with(packet, bytes)]
            });
            assert_eq!(wire.read, ANSWER, "{stack:?} {cipher:?}");
            let counted: u64 = wire.ends.iter().map(|e| e.stats().invalid_packets).sum();
            // A copy that comes when its keys are gone is not even tried.
            assert!(counted <= made && counted + 20 >= made && made > 100, "{stack:?} {cipher:?}: {counted} of {made}");
        }
    }
}

#[test]
fn rubbish_of_all_lengths_does_no_harm() {
    for stack in STACKS {
        let mut wire = wire(stack, Cipher::Tls);
        let mut dice = Streams::new(12, 0).named("rubbish");
        wire.run(Span::from_secs(20), |packet| {
            let len = dice.below(1500) as usize;
            let mut bytes: Vec<u8> = (0..len).map(|_| dice.bits() as u8).collect();
            if dice.chance(0.5)
                && let Body::Udp(good) = &packet.body
            {
                // The head of a good packet with something else behind it.
                let keep = (dice.below(60) as usize).min(good.len()).min(bytes.len());
                bytes[..keep].copy_from_slice(&good[..keep]);
            }
            vec![with(packet, bytes)]
        });
        assert_eq!(wire.read, ANSWER, "{stack:?}");
        assert!(wire.ends.iter().map(|e| e.stats().invalid_packets).sum::<u64>() > 100);
    }
}

#[test]
fn what_is_no_datagram_of_a_stack_is_dropped_and_counted() {
    for stack in STACKS {
        let mut server = end(Role::Server, stack, Congestion::Own("cubic"), Cipher::Tls, 1);
        let packet = Packet::new(1228, Body::Quic(Box::default()));
        let mut cx = Cx::new(Time::ZERO, ComponentId(0));
        server.on_packet(packet.clone(), &mut cx);
        server.on_packet(with(&packet, Vec::new()), &mut cx);
        assert_eq!((server.stats().invalid_packets, server.stats().received_packets), (2, 0));
        assert!(server.poll_event().is_none() && server.poll_transmit(&mut cx).is_none());
    }
}
