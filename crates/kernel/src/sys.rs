//! The `unsafe` code of this crate: what a kernel's process does between fork and exec.
#![allow(unsafe_code)]

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Where a process finds the descriptors that are handed to it: the same numbers in each run, as they stand on its command line.
pub(crate) const FIRST: RawFd = 100;
/// Above all of these: a descriptor is moved out of the way first.
const AWAY: RawFd = 300;

/// Makes a command's process have the descriptors in `handed` from [`FIRST`] on, run on `cpus`, have its memory at the same addresses in
/// each run, and end when the thread that starts it ends.
pub(crate) fn prepare(command: &mut Command, handed: Vec<RawFd>, cpus: Option<CpuSet>) {
    let parent = std::process::id();
    let before = move || -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before that.
        if u32::try_from(rustix::process::Pid::as_raw(rustix::process::getppid())) != Ok(parent) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // SAFETY: the call takes a number and touches no memory.
        if unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) } < 0 {
            return Err(io::Error::last_os_error());
        }
        for away in [true, false] {
            for (at, fd) in handed.iter().enumerate() {
                let to = if away { AWAY } else { FIRST } + at as RawFd;
                let from = if away { *fd } else { AWAY + at as RawFd };
                // SAFETY: the call copies a descriptor of this process, which has copies of its parent's.
                let done = unsafe { if away { libc::dup3(from, to, libc::O_CLOEXEC) } else { libc::dup2(from, to) } };
                if done < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
        }
        match &cpus {
            Some(cpus) => Ok(sched_setaffinity(None, cpus)?),
            None => Ok(()),
        }
    };
    // SAFETY: between fork and exec it makes system calls alone: it neither allocates nor takes a lock, and an error is made of a number.
    unsafe { command.pre_exec(before) };
}
