//! Programs: started, waited for, ended. This program is the first of its kernel, so that whatever loses its parent becomes its child.

use crate::sys;
use haltere_kernel::control::{Ending, Event, Launch, Protocol};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::{Errno, read};
use rustix::mount::{MountFlags, mount};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, wait};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use rustix::time::{timerfd_create, timerfd_settime};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The numbers in epoll's data that stand for the signal of ended children, and for the next look at open ports.
pub const ENDED: u64 = u64::MAX - 1;
pub const LOOK: u64 = u64::MAX - 2;
/// How long it is until the next look at open ports.
const PAUSE_NS: i64 = 2_000_000;
/// The folders that are memory.
const MEMORY: [&str; 4] = ["/run", "/tmp", "/var/tmp", "/dev/shm"];

/// A port for which somebody waits.
struct Awaited {
    child: u32,
    protocol: Protocol,
    port: u16,
}

/// The programs that run.
pub struct Children {
    signals: OwnedFd,
    timer: OwnedFd,
    programs: BTreeMap<u32, Pid>,
    awaited: Vec<Awaited>,
}

/// Makes the kernel a machine for programs, with a folder of the host's at a place below `/run`.
pub fn furnish(epoll: &OwnedFd, folder: &str, at: &str) -> Result<Children, Errno> {
    let memory = |target: &str| {
        let _ = mkdirat(CWD, target, Mode::from_raw_mode(0o1777));
        mount("tmpfs", target, "tmpfs", MountFlags::empty(), Some(c"mode=1777"))
    };
    // Some kernels have mounted it already, and few programs need the other.
    let _ = mount("devtmpfs", "/dev", "devtmpfs", MountFlags::empty(), None);
    let _ = mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None);
    for target in MEMORY {
        memory(target)?;
    }
    mkdirat(CWD, at, Mode::from_raw_mode(0o755))?;
    let folder = std::ffi::CString::new(folder).map_err(|_| Errno::INVAL)?;
    let options: &CStr = &folder;
    mount("none", at, "hostfs", MountFlags::empty(), Some(options))?;
    let any = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    sys::switch_on(any.as_fd(), "lo").map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let signals = sys::ended_children().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
    epoll::add(epoll, &signals, EventData::new_u64(ENDED), EventFlags::IN)?;
    epoll::add(epoll, &timer, EventData::new_u64(LOOK), EventFlags::IN)?;
    Ok(Children { signals, timer, programs: BTreeMap::new(), awaited: Vec::new() })
}

impl Children {
    /// Starts a program, in a process group of its own.
    pub fn spawn(&mut self, child: u32, launch: &Launch) -> Result<(), Errno> {
        let [program, arguments @ ..] = &launch.argv[..] else { return Err(Errno::INVAL) };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let log = openat(CWD, &launch.log, flags, Mode::from_raw_mode(0o644))?;
        let errors = log.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(launch.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(&launch.folder).stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        sys::close_all_else(&mut command);
        let started = command.spawn().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let pid = i32::try_from(started.id()).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        self.programs.insert(child, pid);
        Ok(())
    }

    /// Looks for an open port from now on.
    pub fn wait_for(&mut self, child: u32, protocol: Protocol, port: u16) -> Result<(), Errno> {
        self.awaited.push(Awaited { child, protocol, port });
        self.look_soon()
    }

    fn look_soon(&self) -> Result<(), Errno> {
        let soon = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: 0, tv_nsec: PAUSE_NS },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &soon).map(|_| ())
    }

    /// Ends a program and all of its process group.
    pub fn kill(&mut self, child: u32) {
        if let Some(pid) = self.programs.get(&child) {
            // It may have ended by itself.
            let _ = kill_process_group(*pid, Signal::KILL);
        }
    }

    /// Looks at the ports for which somebody waits.
    pub fn look(&mut self, events: &mut Vec<Event>) -> Result<(), Errno> {
        let _ = read(&self.timer, &mut [0; 8]);
        let (open, still) = std::mem::take(&mut self.awaited).into_iter().partition(is_open);
        self.awaited = still;
        let open: Vec<Awaited> = open;
        events.extend(open.iter().map(|one| Event::Listening { child: one.child }));
        if self.awaited.is_empty() { Ok(()) } else { self.look_soon() }
    }

    /// Takes the children that have ended.
    pub fn reap(&mut self, events: &mut Vec<Event>) {
        // One signal may stand for many.
        while read(&self.signals, &mut [0; 128]).is_ok() {}
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let Some(child) = self.programs.iter().find(|(_, known)| **known == pid).map(|(child, _)| *child) else {
                continue;
            };
            self.programs.remove(&child);
            self.awaited.retain(|one| one.child != child);
            // Whatever it has started and left behind ends, too.
            let _ = kill_process_group(pid, Signal::KILL);
            let signal = status.terminating_signal().map(Ending::Signal);
            let ending = signal.unwrap_or(Ending::Status(status.exit_status().unwrap_or(-1)));
            events.push(Event::Exited { child, ending });
        }
    }
}

/// Whether a port is open, of IPv4 or IPv6 (proc_pid_net(5)): TCP's state 0A is LISTEN, UDP's 07 is a socket that is bound.
fn is_open(one: &Awaited) -> bool {
    let (name, state) = match one.protocol {
        Protocol::Tcp => ("tcp", "0A"),
        Protocol::Udp => ("udp", "07"),
    };
    let listens = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, status) = (fields.next().unwrap_or(""), fields.nth(1));
        let port = local.rsplit_once(':').and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        status == Some(state) && port == Some(one.port)
    };
    ["", "6"].iter().any(|version| {
        let table = std::fs::read_to_string(format!("/proc/net/{name}{version}")).unwrap_or_default();
        table.lines().skip(1).any(listens)
    })
}
