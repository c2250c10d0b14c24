//! A kernel's process: started, looked after, ended. Nothing of it has a name on the host: its sockets are handed down, its
//! console and its clock's page are memory.

use crate::boot::Boot;
use crate::error::Error;
use crate::pin;
use crate::sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The end of a console that is looked at, bytes, and the most that errors show of it, characters.
const READ: u64 = 1 << 16;
const SHOWN: usize = 1000;
/// How long it is waited for the end of a process that has closed its sockets.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A running kernel. It ends when this is dropped.
pub(crate) struct Process {
    child: Child,
    console: File,
}

impl Process {
    /// Starts a kernel. It is handed its clock's socket, the clock's memory, and its cards' sockets.
    pub fn start(boot: &Boot, handed: &[OwnedFd]) -> Result<Process, Error> {
        let console = memfd_create("console", MemfdFlags::CLOEXEC).map_err(|e| Error::host("make a console", e))?;
        let console = File::from(console);
        let copy = || console.try_clone().map_err(|e| Error::host("make a console", e));
        let mut command = Command::new(&boot.program);
        let inside = open(&boot.init, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|e| {
            let program = boot.init.display();
            Error::Missing(format!(
                "the program {program} that runs inside a kernel cannot be opened ({e}): build it by `make build`"
            ))
        })?;
        let handed: Vec<RawFd> = handed.iter().chain([&inside]).map(AsRawFd::as_raw_fd).collect();
        command
            .args(boot.arguments(handed.len()))
            .stdin(Stdio::null())
            .stdout(copy()?)
            .stderr(copy()?)
            .env_clear()
            .env("LD_PRELOAD", &boot.preloaded)
            .env("HALTERE_DICE", format!("{:020}", boot.dice));
        sys::prepare(&mut command, handed, pin::cpus());
        let child = spawn(command).map_err(|e| {
            let program = boot.program.display();
            Error::Missing(format!("the kernel {program} cannot be started ({e}): build one by `haltere kernel build`"))
        })?;
        Ok(Process { child, console })
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Its number on the host.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it has ended, and its last words. A process that has just closed its sockets is given some time to end.
    pub fn how_it_ended(&mut self) -> String {
        let id = i32::try_from(self.id()).ok().and_then(Pid::from_raw);
        if let Some(Ok(process)) = id.map(|id| pidfd_open(id, PidfdFlags::empty())) {
            let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&PATIENCE));
        }
        let how = match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => "it still runs, but has closed its sockets".into(),
        };
        match self.last_words() {
            words if words.is_empty() => how,
            words => format!("{how}; its console ends with: {words}"),
        }
    }

    /// The last lines of its console, in one; if it has panicked, from there on.
    pub fn last_words(&mut self) -> String {
        let mut bytes = Vec::new();
        let end = self.console.seek(SeekFrom::End(0)).unwrap_or(0);
        let read = self.console.seek(SeekFrom::Start(end.saturating_sub(READ)));
        let _ = read.and_then(|_| (&mut self.console).take(READ).read_to_end(&mut bytes));
        last_words(&String::from_utf8_lossy(&bytes))
    }
}

/// The last lines of a text that anybody may have written, in one; from the line of a panic on, if there is one.
pub(crate) fn last_words(console: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    let lines = console.lines().map(|line| line.chars().map(printable).collect::<String>().trim().to_owned());
    let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" | ");
    let from = match text.find("Kernel panic") {
        Some(panic) => panic,
        None => text.char_indices().rev().nth(SHOWN - 1).map_or(0, |(at, _)| at),
    };
    text[from..].chars().take(SHOWN).collect()
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both calls fail only if it is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

type Job = (Command, SyncSender<io::Result<Child>>);

/// Starts a command from a thread that lives as long as this process: a kernel ends with the thread that has started it.
fn spawn(command: Command) -> io::Result<Child> {
    static STARTER: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts kernels has ended");
    let starter = STARTER.get_or_init(|| {
        let (jobs, todo) = channel::<Job>();
        std::thread::spawn(move || {
            for (mut command, answer) in todo {
                // Nobody listens if the thread that asked has ended; the kernel then sees that its sockets are closed.
                let _ = answer.send(command.spawn());
            }
        });
        Mutex::new(jobs)
    });
    let (answer, started) = sync_channel(1);
    starter.lock().unwrap_or_else(PoisonError::into_inner).send((command, answer)).map_err(|_| gone())?;
    started.recv().map_err(|_| gone())?
}

#[cfg(test)]
mod tests {
    use super::last_words;

    #[test]
    fn a_panic_is_shown_from_its_first_line_on() {
        assert_eq!(last_words("one\r\n\n two\n"), "one | two");
        let long = format!("{}\nKernel panic - not syncing: why\n{}", "before".repeat(900), "after ".repeat(900));
        let said = last_words(&long);
        assert!(said.starts_with("Kernel panic - not syncing: why | after") && said.len() == 1000, "{said}");
        assert!(last_words(&"ü".repeat(5000)).len() <= 2000);
    }
}
