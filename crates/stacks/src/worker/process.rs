//! The worker's process: found, started, spoken to, ended.

use super::protocol::{Answer, Hello, SIMULATOR, Turn, VERSION, WORKER, receive, send};
use super::variable_and_target;
use crate::config::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a turn may take, on the machine's clock; the longest are those that free a large window on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

const ENDED: &str = "the stack's worker program ended in the middle of the run; its last words are on standard error";
const SILENT: &str = "the stack's worker program gave no answer within 30 s and was ended";
const GARBLED: &str =
    "the stack's worker program answered what nobody understands and was ended: build it anew by `make worker-…`";

/// Whether a stack's worker program is named.
///
/// # Errors
/// If it is not; the error says how to build it.
pub(crate) fn ready(stack: &str) -> Result<(), Error> {
    program(stack).map(|_| ())
}

/// Where the worker program is.
fn program(stack: &str) -> Result<PathBuf, Error> {
    let (variable, target) = variable_and_target(stack);
    match std::env::var_os(&variable) {
        Some(path) if Path::new(&path).is_file() => Ok(path.into()),
        Some(path) => Err(Error::new(format!(
            "{stack} runs in a worker program, and there is none at {}, which {variable} names: build it by `make {target}`",
            Path::new(&path).display()
        ))),
        None => Err(Error::new(format!(
            "{stack} runs in a worker program, which is not there: build it by `make {target}`, or name it in {variable}"
        ))),
    }
}

/// The worker programs that the ends of one run share; each is started when the first end needs it.
#[derive(Clone, Default)]
pub struct Worker {
    states: Arc<Mutex<BTreeMap<&'static str, State>>>,
    named: Option<PathBuf>,
}

#[derive(Default)]
enum State {
    #[default]
    Fresh,
    Running(Process),
    Over(&'static str),
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Worker")
    }
}

impl Worker {
    /// The program at `path` instead of the one that the environment names.
    pub fn at(path: impl Into<PathBuf>) -> Worker {
        Worker { states: Arc::default(), named: Some(path.into()) }
    }

    /// Sees to it that the program runs and has the stack; returns a number for a new end.
    pub(crate) fn new_end(&self, stack: &'static str) -> Result<u32, Error> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.entry(stack).or_default();
        if let State::Fresh = *state {
            let path = self.named.clone().map_or_else(|| program(stack), Ok)?;
            *state = State::Running(Process::start(&path, PATIENCE)?);
        }
        match state {
            State::Running(process) => process.new_end(stack),
            State::Over(why) => Err(Error::new(*why)),
            State::Fresh => Err(Error::new(ENDED)),
        }
    }

    /// Has an end take a turn.
    pub(crate) fn turn(&self, stack: &'static str, turn: &Turn) -> Result<Answer, &'static str> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.entry(stack).or_default();
        let process = match state {
            State::Running(process) => process,
            State::Over(why) => return Err(why),
            State::Fresh => return Err(ENDED),
        };
        process.turn(turn).map_err(|error| {
            let why = reason(&error);
            *state = State::Over(why);
            why
        })
    }
}

fn reason(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => SILENT,
        io::ErrorKind::InvalidData => GARBLED,
        _ => ENDED,
    }
}

/// A running program; it ends when this is dropped.
struct Process {
    child: Child,
    from: BufReader<UnixStream>,
    to: UnixStream,
    room: Vec<u8>,
    stacks: Vec<String>,
    ends: u32,
    path: PathBuf,
}

impl Process {
    fn start(path: &Path, patience: Duration) -> Result<Process, Error> {
        let wrong =
            |error: io::Error| Error::new(format!("the worker program {} cannot be used: {error}", path.display()));
        let (ours, theirs) = UnixStream::pair().map_err(wrong)?;
        ours.set_read_timeout(Some(patience)).map_err(wrong)?;
        ours.set_write_timeout(Some(patience)).map_err(wrong)?;
        let output = OwnedFd::from(theirs.try_clone().map_err(wrong)?);
        let mut command = Command::new(path);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::from(output));
        let child = command.spawn().map_err(wrong)?;
        // The other side of the pair is the child's alone from here on, so that its end is seen.
        drop(command);
        let to = match ours.try_clone() {
            Ok(to) => to,
            Err(error) => return Err(wrong(error)),
        };
        let from = BufReader::with_capacity(1 << 16, ours);
        let (room, stacks, path) = (Vec::new(), Vec::new(), path.to_path_buf());
        let mut process = Process { child, from, to, room, stacks, ends: 0, path };
        process.greet()?;
        Ok(process)
    }

    fn greet(&mut self) -> Result<(), Error> {
        let hello = Hello { who: SIMULATOR.into(), version: VERSION, stacks: Vec::new() };
        let said = send(&hello, &mut self.to, &mut self.room)
            .and_then(|()| receive::<Hello>(&mut self.from, &mut self.room))
            .and_then(|said| said.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()));
        let path = self.path.display();
        match said {
            Ok(worker) if worker.who == WORKER && worker.version == VERSION => {
                self.stacks = worker.stacks;
                Ok(())
            }
            Ok(worker) if worker.who == WORKER => Err(Error::new(format!(
                "the worker program {path} is of another version (its protocol is {}, {VERSION} is wanted): build it anew by \
                 `make worker-…`",
                worker.version
            ))),
            _ => Err(Error::new(format!("{path} is no worker program of haltere: build one by `make worker-…`"))),
        }
    }

    fn new_end(&mut self, stack: &str) -> Result<u32, Error> {
        if !self.stacks.iter().any(|has| has == stack) {
            let path = self.path.display();
            return Err(Error::new(format!(
                "the worker program {path} was built without {stack}: build it by `make worker-{stack}`"
            )));
        }
        self.ends += 1;
        Ok(self.ends)
    }

    fn turn(&mut self, turn: &Turn) -> io::Result<Answer> {
        send(turn, &mut self.to, &mut self.room)?;
        receive(&mut self.from, &mut self.room)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It would end by itself, as its standard input does; a hung one would not. Both calls fail only if it is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    /// A program that says `first` and then does `rest`, a line of the shell.
    fn program_saying(first: &[u8], rest: &str) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(folder.path().join("said"), first).unwrap();
        fs::write(&path, format!("#!/bin/sh\ncat \"${{0%/*}}/said\"\n{rest}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        (folder, path)
    }

    fn hello(version: u32, stacks: &[&str]) -> Vec<u8> {
        let hello = Hello { who: WORKER.into(), version, stacks: stacks.iter().map(ToString::to_string).collect() };
        let mut bytes = Vec::new();
        send(&hello, &mut bytes, &mut Vec::new()).unwrap();
        bytes
    }

    /// A worker that greets, makes one end, and then does `rest`.
    pub(crate) fn worker_that(rest: &str) -> (TempDir, Worker) {
        let (mut said, mut made) = (hello(VERSION, &["quiche"]), Vec::new());
        send(&Answer { wake: u64::MAX, ..Answer::default() }, &mut made, &mut Vec::new()).unwrap();
        said.extend(made);
        let (folder, path) = program_saying(&said, rest);
        (folder, Worker::at(path))
    }

    fn error(path: &Path) -> String {
        Worker::at(path).new_end("quiche").unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_worker_is_named_with_the_remedy() {
        for path in ["/bin/true", "/bin/cat"] {
            let said = error(Path::new(path));
            assert!(said.contains(path) && said.contains("make worker"), "{said}");
        }
        let said = error(Path::new("/nonexistent/worker"));
        assert!(said.contains("/nonexistent/worker") && said.contains("cannot be used"), "{said}");
        let (_folder, old) = program_saying(&hello(VERSION + 1, &["quiche"]), "cat > /dev/null");
        assert!(error(&old).contains("another version"));
        let (_folder, without) = program_saying(&hello(VERSION, &["tquic"]), "cat > /dev/null");
        assert!(error(&without).contains("built without quiche"));
    }

    #[test]
    fn a_worker_that_hangs_is_ended_after_a_while() {
        let (_folder, path) = program_saying(&hello(VERSION, &["quiche"]), "exec sleep 1000");
        let process = Process::start(&path, Duration::from_millis(200)).unwrap();
        let worker = Worker { states: Arc::new(Mutex::new([("quiche", State::Running(process))].into())), named: None };
        let turn = Turn { end: 1, now: 0, commands: Vec::new() };
        assert_eq!(worker.turn("quiche", &turn), Err(SILENT));
        assert_eq!(worker.turn("quiche", &turn), Err(SILENT), "it is not asked again");
    }

    #[test]
    fn a_worker_that_ends_or_babbles_is_told_apart() {
        let turn = Turn { end: 1, now: 0, commands: Vec::new() };
        for (more, rest, why) in [(vec![], "exit 3", ENDED), (vec![1, 0, 0, 0, 9], "cat > /dev/null", GARBLED)] {
            let mut said = hello(VERSION, &["quiche"]);
            said.extend(more);
            let (_folder, path) = program_saying(&said, rest);
            let worker = Worker::at(path);
            worker.new_end("quiche").unwrap();
            assert_eq!(worker.turn("quiche", &turn), Err(why), "{rest}");
        }
    }
}
