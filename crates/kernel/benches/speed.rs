//! Prints the cost of a boot and of a packet: two kernels, a link of 10 ms and 100 Mbit/s, one flow and ten.
//!
//! `cargo bench -p haltere-kernel`

#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/all/wire.rs"]
mod wire;

#[cfg(target_os = "linux")]
fn main() -> Result<(), haltere_kernel::Error> {
    use haltere_kernel::control::Command;
    use haltere_net::{Span, Time};
    use wire::Wire;

    #[expect(clippy::disallowed_methods, reason = "it measures the machine")]
    let now = std::time::Instant::now;
    for flows in [1, 10] {
        let began = now();
        let wire = Wire::booted(Span::from_millis(10))?;
        let booted = began.elapsed();
        let mut wire = wire.paced(80, 170);
        wire.listen("cubic");
        for socket in 0..flows {
            wire.connect(socket + 2, "cubic");
            wire.nodes[0].command(Command::Write { socket: socket + 2, bytes: 60_000_000 / u64::from(flows) });
        }
        wire.run_until(Time::ZERO + Span::from_secs(30), |wire| wire.received(1) >= 60_000_000)?;
        let whole = began.elapsed();
        let packets = wire.packets as f64;
        println!(
            "{flows} flows: boot of two {booted:?}; {} packets in {whole:?}: {:.0} a second, {:.0} without boot; {} and {} rounds; {:?} of virtual time",
            wire.packets,
            packets / whole.as_secs_f64(),
            packets / (whole - booted).as_secs_f64(),
            wire.nodes[0].kernel().rounds(),
            wire.nodes[1].kernel().rounds(),
            wire.now,
        );
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("kernels are nodes on Linux alone");
}
