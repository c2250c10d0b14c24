//! TUN devices in network namespaces. A device lives as long as its file is open: nothing is left behind, however the
//! process ends.

use crate::spec::EmulatorError;
use crate::sys;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

const DEVICE: &str = "/dev/net/tun";
/// How many packets may wait at a device. Beyond that the kernel drops packets without counting them, so this is more
/// than any burst. Linux 6.12 accepts no greater value.
pub(crate) const WAITING: u32 = 32_767;

/// A network namespace.
#[derive(Clone, Debug)]
pub enum Namespace {
    /// The namespace of the calling thread.
    Current,
    /// The namespace of a file such as `/run/netns/a` or `/proc/1/ns/net`.
    Path(PathBuf),
    /// A namespace held open by a descriptor; it lives as long as somebody holds it.
    Open(Arc<File>),
}

impl Namespace {
    /// A new one without a name.
    ///
    /// # Errors
    /// As unshare(2): `EPERM` without `CAP_SYS_ADMIN`.
    pub fn make() -> Result<Namespace, Errno> {
        in_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            let file = File::open("/proc/thread-self/ns/net").map_err(|e| errno(&e))?;
            Ok(Namespace::Open(Arc::new(file)))
        })
    }

    /// Moves the calling thread into it.
    pub(crate) fn enter(&self) -> Result<(), EmulatorError> {
        let refuse = |name: &str, errno: Errno| EmulatorError::new("netns", reason(name, errno));
        match self {
            Namespace::Current => Ok(()),
            Namespace::Open(file) => setns(file, CloneFlags::CLONE_NEWNET).map_err(|e| refuse("the namespace", e)),
            Namespace::Path(path) => {
                let name = path.display().to_string();
                let file = File::open(path).map_err(|e| refuse(&name, errno(&e)))?;
                setns(file, CloneFlags::CLONE_NEWNET).map_err(|e| refuse(&name, e))
            }
        }
    }

    /// Calls a function inside the namespace, in a thread of its own, so that the caller's thread keeps its namespace.
    pub(crate) fn within<T: Send>(
        &self,
        what: impl FnOnce() -> Result<T, EmulatorError> + Send,
    ) -> Result<T, EmulatorError> {
        in_a_thread(|| self.enter().and_then(|()| what()))
    }
}

fn in_a_thread<T: Send, E: Send + From<Errno>>(what: impl FnOnce() -> Result<T, E> + Send) -> Result<T, E> {
    std::thread::scope(|scope| scope.spawn(what).join().unwrap_or_else(|_| Err(Errno::ECANCELED.into())))
}

impl From<Errno> for EmulatorError {
    fn from(errno: Errno) -> EmulatorError {
        EmulatorError::new("", errno.desc())
    }
}

fn errno(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// Explains a refusal to the user who gave `name`.
fn reason(name: &str, errno: Errno) -> String {
    match errno {
        Errno::ENOENT => format!("{name} does not exist: make the namespace first, as with ip netns add"),
        Errno::EINVAL => format!("{name} is no network namespace: give a file such as /run/netns/NAME"),
        Errno::EPERM | Errno::EACCES => format!("{name} may not be entered: that needs root (CAP_SYS_ADMIN)"),
        other => format!("{name} cannot be entered: {}", other.desc()),
    }
}

/// Addresses of a device.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Its own.
    pub own: Ipv4Addr,
    /// The address of the other end.
    pub peer: Ipv4Addr,
    /// Whether it is the default route.
    pub default_route: bool,
}

/// A TUN device that is up.
#[derive(Debug)]
pub struct Tun {
    pub(crate) file: File,
    /// Its name.
    pub name: String,
}

impl Tun {
    /// Makes a device called `name` (`%d` in it stands for the first free number) in a namespace and brings it up.
    ///
    /// # Errors
    /// With what the kernel refused and the remedy.
    pub fn make(namespace: &Namespace, name: &str, mtu: u32) -> Result<Tun, EmulatorError> {
        namespace.within(|| Tun::make_here(name, mtu))
    }

    fn make_here(name: &str, mtu: u32) -> Result<Tun, EmulatorError> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
        let file = file.map_err(|e| EmulatorError::new("", no_device(&e)))?;
        let wrong = |what: &str, errno: Errno| EmulatorError::new("interface", refused(what, name, errno));
        let name = sys::attach(&file, name).map_err(|e| wrong("make", e))?;
        sys::offload(&file).map_err(|e| wrong("set the offloads of", e))?;
        let socket = control_socket()?;
        sys::set_mtu(&socket, &name, mtu).map_err(|e| wrong("set the MTU of", e))?;
        match sys::set_queue(&socket, &name, WAITING) {
            // In a user namespace the kernel keeps its own length, 500 packets.
            Ok(()) | Err(Errno::EPERM) => {}
            Err(e) => return Err(wrong("set the queue of", e)),
        }
        // No link-local address, so no router solicitations: only what is sent through the link is counted by it. A
        // kernel without IPv6 has no such file.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/addr_gen_mode"), "1");
        sys::bring_up(&socket, &name).map_err(|e| wrong("bring up", e))?;
        Ok(Tun { file, name })
    }

    /// Gives the device its addresses and routes; `namespace` is the one it was made in.
    ///
    /// # Errors
    /// If the kernel refuses, such as for an invalid address.
    pub fn address(&self, namespace: &Namespace, addresses: Addresses) -> Result<(), EmulatorError> {
        namespace.within(|| {
            let socket = control_socket()?;
            sys::set_addresses(&socket, &self.name, addresses.own, addresses.peer)?;
            if addresses.default_route {
                sys::add_default_route(&socket, &self.name)?;
            }
            Ok(())
        })
    }
}

/// Brings up the loopback device of the namespace the calling thread is in.
pub(crate) fn loopback_up() -> Result<(), EmulatorError> {
    Ok(sys::bring_up(control_socket()?, "lo")?)
}

fn control_socket() -> Result<OwnedFd, Errno> {
    socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
}

fn no_device(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("this kernel has no TUN devices ({DEVICE} does not exist): try modprobe tun"),
        ErrorKind::PermissionDenied => {
            format!("{DEVICE} may not be opened: be root, or let this user read and write it")
        }
        _ => format!("{DEVICE} cannot be opened: {error}; the kernel needs CONFIG_TUN"),
    }
}

fn refused(what: &str, name: &str, errno: Errno) -> String {
    let remedy = match errno {
        Errno::EPERM | Errno::EACCES => "that needs root (CAP_NET_ADMIN) in its namespace",
        Errno::EBUSY | Errno::EEXIST => "there is one of that name already: take another name",
        Errno::EINVAL => "the kernel does not take that value",
        other => other.desc(),
    };
    format!("cannot {what} the TUN device {name}: {remedy}")
}
