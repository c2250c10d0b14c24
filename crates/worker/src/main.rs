//! A program in which production QUIC stacks run that read the clock themselves.
//!
//! It belongs to the simulator, which starts it, sends it commands to the ends of connections over standard input, each
//! with the time of the run, and receives the results from its standard output (`protocol.rs`). The clock and the random
//! numbers of the whole program are the run's ([`interposed`]), which a library inside another's process could not
//! have. A stack is one file in `stacks/` that implements [`stack::Stack`].
//!
//! It ends when its standard input does, that is, with the run or with the simulator.

mod ends;
mod interposed;
#[path = "../../stacks/src/worker/protocol.rs"]
#[allow(dead_code, reason = "each side reads what the other writes")]
mod protocol;
mod stack;
mod stacks;

use ends::Ends;
use protocol::{Hello, SIMULATOR, Turn, VERSION, WORKER, receive, send};
use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::process::ExitCode;

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever started it is gone, or was never there.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("haltere-worker: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    // Files, not the standard library's streams, which look through all that passes for the ends of lines.
    let mut from = BufReader::with_capacity(1 << 16, File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let mut to = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut room = Vec::new();
    let hello = receive::<Hello>(&mut from, &mut room);
    if !matches!(&hello, Ok(Some(hello)) if hello.who == SIMULATOR) {
        let what = "this program is started by haltere, when a contender such as quic@quiche/cubic runs";
        return Err(io::Error::other(what));
    }
    let own = Hello { who: WORKER.into(), version: VERSION, stacks: stacks::names() };
    send(&own, &mut to, &mut room)?;
    let mut ends = Ends::default();
    while let Some(turn) = receive::<Turn>(&mut from, &mut room)? {
        send(&ends.turn(turn), &mut to, &mut room)?;
    }
    Ok(())
}
