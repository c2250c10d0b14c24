//! The `unsafe` code of this crate: what a kernel's process does between fork and exec.
#![allow(unsafe_code)]

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `ADDR_NO_RANDOMIZE` of linux/personality.h.
const ADDR_NO_RANDOMIZE: libc::c_ulong = 0x0040_0000;

/// Makes a command's process keep the descriptors in `handed`, run on `cpus`, have its memory at the same addresses in each run, and
/// end when the thread that starts it ends.
pub(crate) fn prepare(command: &mut Command, handed: Vec<RawFd>, cpus: Option<CpuSet>) {
    let parent = std::process::id();
    let before = move || -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before that.
        if u32::try_from(rustix::process::Pid::as_raw(rustix::process::getppid())) != Ok(parent) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // SAFETY: the call takes a number and touches no memory.
        if unsafe { libc::personality(ADDR_NO_RANDOMIZE) } < 0 {
            return Err(io::Error::last_os_error());
        }
        for fd in &handed {
            // SAFETY: the call changes a flag of a descriptor of this process, which has a copy of its parent's.
            if unsafe { libc::fcntl(*fd, libc::F_SETFD, 0) } < 0 {
                return Err(io::Error::last_os_error());
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
