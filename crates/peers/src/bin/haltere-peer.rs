//! The two ends as a program, to try them by hand.

#[cfg(target_os = "linux")]
fn main() {
    std::process::exit(haltere_peers::run(std::env::args().skip(1)));
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("haltere-peer: needs Linux");
    std::process::exit(1);
}
