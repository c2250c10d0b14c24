//! Whole kernels.

use crate::skips::skip;
use crate::wire::{ADDRESSES, Wire, boot};
use haltere_kernel::control::{Command, Event, Options};
use haltere_kernel::{Boot, Error, Node};
use haltere_net::{Span, Time};
use std::hash::Hasher;
use std::net::SocketAddrV4;

const DELAY: Span = Span::from_millis(10);

fn seconds(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

/// Two nodes, or `None` where there is no kernel.
fn wire() -> Option<Wire> {
    match Wire::booted(DELAY) {
        Ok(wire) => Some(wire),
        Err(Error::Missing(why)) => {
            skip(&why);
            None
        }
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn a_handshake_takes_a_round_trip_exactly() {
    let Some(mut wire) = wire() else { return };
    wire.listen("cubic");
    wire.run_until(Time::ZERO + Span::from_millis(1), |_| false).unwrap();
    wire.connect(2, "cubic");
    let began = wire.now;
    wire.run_until(seconds(1), |_| false).unwrap();
    let sent: Vec<(Time, usize)> = wire.first.iter().map(|(at, which, _)| (*at, *which)).collect();
    let [(syn, 0), (answer, 1), (ack, 0)] = sent[..] else { panic!("{sent:?}") };
    assert_eq!([answer.since(syn), ack.since(answer)], [DELAY, DELAY]);
    let connected = wire.events.iter().find(|(_, _, event)| *event == Event::Connected { socket: 2 });
    let (at, ..) = connected.unwrap_or_else(|| panic!("{:?}", wire.events));
    // Reading the clock costs a program 256 ns.
    assert!(syn.since(began) + at.since(ack) < Span::from_micros(20), "{syn:?} {at:?}");
}

/// The hash over all packets of a transfer, its events, and the number of its packets.
type Told = (u64, Vec<(Time, usize, Event)>, u64);

fn transfer() -> Option<Told> {
    let mut wire = wire()?.paced(80, 100);
    wire.listen("cubic");
    wire.connect(2, "cubic");
    wire.nodes[0].command(Command::Write { socket: 2, bytes: 5_000_000 });
    wire.nodes[0].command(Command::Finish { socket: 2 });
    wire.run_until(seconds(20), |wire| wire.events.iter().any(|e| e.1 == 1 && matches!(e.2, Event::Finished { .. })))
        .unwrap();
    assert_eq!(wire.received(1), 5_000_000);
    Some((wire.hash.finish(), wire.events, wire.packets))
}

#[test]
fn a_transfer_is_the_same_twice_to_the_byte() {
    let Some((first, second)) = transfer().zip(transfer()) else { return };
    assert!(first.2 > 3000, "{} packets", first.2);
    assert!(first == second, "the runs differ: {} and {} packets", first.2, second.2);
}

/// The initial sequence numbers of a connection's two directions, which the kernels draw.
fn drawn(boots: [Boot; 2]) -> [u32; 2] {
    const IP_HEADER: usize = 20;
    let mut wire = Wire::new(boots.map(|boot| Node::boot(&boot).unwrap()), DELAY).addressed();
    wire.listen("cubic");
    wire.connect(2, "cubic");
    wire.run_until(seconds(1), |_| false).unwrap();
    [0, 1].map(|packet| {
        let bytes = &wire.first[packet].2[IP_HEADER + 4..IP_HEADER + 8];
        u32::from_be_bytes(bytes.try_into().unwrap())
    })
}

#[test]
fn a_kernel_draws_the_same_numbers_on_every_machine() {
    let (first, second) = match boot(1).and_then(|first| Ok((first, boot(2)?))) {
        Ok(both) => both,
        Err(Error::Missing(why)) => return skip(&why),
        Err(why) => panic!("{why}"),
    };
    let here = drawn([first.clone(), second.clone()]);
    // The program inside lies in another folder.
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = [first.clone(), second].map(|mut boot| {
        let program = folder.path().join("a-program-of-another-name");
        std::fs::copy(&boot.init, &program).unwrap();
        boot.init = program;
        boot
    });
    assert_eq!(drawn(elsewhere), here);
    if first.program.to_string_lossy().contains("/6.12.117-hz250-") {
        // Known answers: those of the machine on which this test was written.
        assert_eq!(here, [1_455_488_045, 888_248_587]);
    }
}

#[test]
fn a_kernel_in_the_middle_of_something_survives_more() {
    let Some(mut wire) = wire() else { return };
    // The program reads the clock, which takes time: in between it is told the next thing.
    for socket in 1..20 {
        let local = SocketAddrV4::new(ADDRESSES[1], 80 + socket as u16);
        wire.nodes[1].command(Command::Listen {
            socket,
            local,
            congestion: "reno".into(),
            options: Options::default(),
        });
        wire.nodes[1].run(Time::ZERO).unwrap();
    }
    wire.run_until(Time::ZERO + Span::from_millis(1), |_| false).unwrap();
    assert!(wire.events.is_empty(), "{:?}", wire.events);
    wire.listen("cubic");
    wire.connect(2, "cubic");
    wire.run_until(seconds(1), |_| false).unwrap();
    assert!(wire.events.iter().any(|(_, _, event)| *event == Event::Connected { socket: 2 }), "{:?}", wire.events);
}

#[test]
fn a_kernel_that_is_killed_ends_its_run() {
    let Some(mut wire) = wire() else { return };
    wire.listen("cubic");
    wire.run_until(Time::ZERO + Span::from_millis(1), |_| false).unwrap();
    let id = rustix::process::Pid::from_raw(wire.nodes[0].kernel().id() as i32).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    wire.connect(2, "cubic");
    let said = wire.run_until(seconds(1), |_| false).unwrap_err();
    assert!(matches!(said, Error::Died(_)), "{said}");
    assert_eq!(wire.nodes[0].run(seconds(2)), Err(said), "it stays so");
}

#[test]
fn what_is_no_kernel_or_no_program_is_named_with_the_remedy() {
    let Ok(found) = boot(1) else { return };
    for program in ["/bin/true", "/bin/false", "/nonexistent"] {
        let mut boot = found.clone();
        boot.program = program.into();
        let said = Node::boot(&boot).err().unwrap().to_string();
        assert!(said.contains(program) && said.contains("haltere kernel build"), "{said}");
    }
    let mut boot = found;
    boot.init = "/bin/true".into();
    let said = Node::boot(&boot).err().unwrap().to_string();
    assert!(said.contains("/bin/true") || said.contains("died"), "{said}");
}
