//! The two ends as a program, to try them by hand.

fn main() {
    std::process::exit(haltere_peers::run(std::env::args().skip(1)));
}
