//! A command behind a link: in a network namespace of its own, whose only way out is an emulated link.
//!
//! The other end lies in the caller's namespace; for an ordinary user, who may not make devices there, both ends lie in
//! a new user namespace. Namespaces and devices have no names in the file system: they end with the processes that
//! hold them.

use crate::emulator::Emulator;
use crate::report::Report;
use crate::spec::{EmulatorError, EmulatorSpec, EndSpec, LinkSpec, check_config, read};
use crate::sys;
use crate::tun::{Addresses, Namespace, Tun, loopback_up};
use haltere_net::Span;
use haltere_net::link::LinkConfig;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use serde::Deserialize;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// The link to put a command behind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ShellSpec {
    /// Names the random losses.
    pub seed: u64,
    /// The replication.
    pub replication: u64,
    /// See [`crate::spec::Manner::coalesce`].
    pub coalesce: bool,
    /// See [`crate::spec::Manner::spin`].
    #[serde(rename = "spin_ns")]
    pub spin: Span,
    /// See [`crate::spec::Manner::realtime`].
    pub realtime: bool,
    /// Towards the command.
    pub down: LinkConfig,
    /// From the command.
    pub up: LinkConfig,
}

impl ShellSpec {
    /// Reads a specification.
    ///
    /// # Errors
    /// With the field's path.
    pub fn from_json(json: &str) -> Result<ShellSpec, EmulatorError> {
        let spec: ShellSpec = read(json)?;
        for (name, config) in [("down", &spec.down), ("up", &spec.up)] {
            check_config(config).map_err(|wrong| wrong.under(name))?;
        }
        Ok(spec)
    }
}

/// A link with nothing behind it yet.
pub struct Shell {
    emulator: Emulator,
    inside: Namespace,
    base: Ipv4Addr,
    own: Ipv4Addr,
    apart: bool,
}

impl Shell {
    /// Makes the link. Where that needs a user namespace, the whole process moves into it, which it can do only while
    /// it has a single thread.
    ///
    /// # Errors
    /// With what the kernel refused and the remedy.
    pub fn new(spec: ShellSpec) -> Result<Shell, EmulatorError> {
        let (inside, apart) = match Namespace::make() {
            Ok(namespace) => (namespace, false),
            Err(Errno::EPERM) => {
                enter_user_namespace()?;
                (Namespace::make()?, true)
            }
            Err(other) => return Err(other.into()),
        };
        let outer = Tun::make(&Namespace::Current, "haltere%d", spec.down.mtu)?;
        let inner = Tun::make(&inside, "haltere%d", spec.up.mtu)?;
        inside.within(loopback_up)?;
        let (base, own) = addresses(&outer.name);
        outer.address(&Namespace::Current, Addresses { own: base, peer: own, default_route: false })?;
        inner.address(&inside, Addresses { own, peer: base, default_route: true })?;
        let end = |tun: &Tun| EndSpec { netns: None, interface: tun.name.clone() };
        let link = LinkSpec { name: "link".into(), ends: [end(&outer), end(&inner)], down: spec.down, up: spec.up };
        let ShellSpec { seed, replication, coalesce, spin, realtime, .. } = spec;
        let spec = EmulatorSpec { seed, replication, coalesce, spin, realtime, links: vec![link] };
        Ok(Shell { emulator: Emulator::between(spec, vec![outer, inner]), inside, base, own, apart })
    }

    /// The address of the caller's end.
    pub fn base(&self) -> Ipv4Addr {
        self.base
    }

    /// The address of the command's end.
    pub fn own(&self) -> Ipv4Addr {
        self.own
    }

    /// Whether the caller's end lies in a user namespace, apart from the machine's network.
    pub fn apart(&self) -> bool {
        self.apart
    }

    /// Runs a command behind the link to its end, and returns its exit code (128 + n if signal n ended it).
    ///
    /// # Errors
    /// If the command cannot be started.
    pub fn run(mut self, command: &[String]) -> Result<(i32, Report), EmulatorError> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(EmulatorError::new("command", "there is none: give a program and its arguments"));
        };
        let mut run = Command::new(program);
        run.args(arguments).env("HALTERE_BASE", self.base.to_string()).env("HALTERE_ADDRESS", self.own.to_string());
        run.env("HALTERE_BASE_NETNS", format!("/proc/{}/ns/net", std::process::id()));
        sys::end_with_us(&mut run);
        self.emulator.start()?;
        let status = self.inside.within(|| {
            let status = run.spawn().and_then(|mut child| child.wait());
            status.map_err(|e| EmulatorError::new("command", not_started(program, &e)))
        })?;
        Ok((exit_code(status), self.emulator.stop()?))
    }
}

/// Two addresses of 198.18.0.0/15, which RFC 2544 reserves for measurements of networks, chosen by the device's number.
fn addresses(device: &str) -> (Ipv4Addr, Ipv4Addr) {
    let number: u32 = device.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
    let first = u32::from(Ipv4Addr::new(198, 18, 0, 0)) + number % (1 << 15) * 4;
    ((first + 1).into(), (first + 2).into())
}

/// Moves this process into a user namespace in which it is root, and into a network namespace that belongs to it.
fn enter_user_namespace() -> Result<(), EmulatorError> {
    let (user, group) = (geteuid(), getegid());
    let mut moved = unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET);
    // A thread that was joined may be counted for a moment longer.
    for _ in 0..200 {
        if moved != Err(Errno::EINVAL) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
        moved = unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET);
    }
    moved.map_err(|e| {
        let why = match e {
            Errno::EPERM | Errno::ENOSPC => "this machine lets ordinary users make no namespaces: be root".to_string(),
            Errno::EINVAL => "a user namespace needs a process with one thread: be root, or call it first".to_string(),
            other => format!("cannot make a user namespace ({}): be root", other.desc()),
        };
        EmulatorError::new("", why)
    })?;
    let write = |file: &str, text: String| {
        std::fs::write(file, text).map_err(|e| EmulatorError::new("", format!("cannot write {file}: {e}")))
    };
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("0 {user} 1"))?;
    write("/proc/self/gid_map", format!("0 {group} 1"))?;
    loopback_up()
}

fn not_started(program: &str, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("{program:?} is not found: give a program on the PATH, or its path"),
        ErrorKind::PermissionDenied => format!("{program:?} may not be run: is it executable?"),
        _ => format!("{program:?} cannot be run: {error}"),
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_has_addresses_of_its_own() {
        assert_eq!(addresses("haltere0"), (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)));
        assert_eq!(addresses("haltere64").0, Ipv4Addr::new(198, 18, 1, 1));
        assert_eq!(addresses("haltere32767").1, Ipv4Addr::new(198, 19, 255, 254));
    }

    #[test]
    fn a_wrong_link_is_named_by_its_direction() {
        assert_eq!(ShellSpec::from_json(r#"{"up": {"mtu": 1}}"#).unwrap_err().path, "up.mtu");
        assert_eq!(ShellSpec::from_json("{}").unwrap().down, LinkConfig::default());
    }
}
