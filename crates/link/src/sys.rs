//! The system calls that have no safe wrapper. Nothing outside this file is unsafe.
#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc;
use std::ffi::c_int;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

type Answer<T> = Result<T, Errno>;

/// An `ifreq` that names a device; `name` must fit (see `spec::check_interface`), a longer one is cut.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: ifreq is plain data, for which all zeroes are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request
}

fn name_of(request: &libc::ifreq) -> String {
    request.ifr_name.iter().take_while(|&&c| c != 0).map(|&c| char::from(c as u8)).collect()
}

fn ioctl(fd: impl AsFd, number: libc::Ioctl, request: &mut libc::ifreq) -> Answer<()> {
    // SAFETY: every request used in this file reads or writes an ifreq, which lives through the call.
    Errno::result(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), number, &raw mut *request) }).map(drop)
}

/// Makes an open `/dev/net/tun` the TUN device `name`, without protocol header and with a `virtio_net_hdr`, and returns
/// the name it got (`%d` is filled in).
pub(crate) fn attach(tun: impl AsFd, name: &str) -> Answer<String> {
    let mut request = request(name);
    request.ifr_ifru.ifru_flags =
        (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR | libc::IFF_TUN_EXCL) as libc::c_short;
    ioctl(tun, libc::TUNSETIFF, &mut request)?;
    Ok(name_of(&request))
}

/// Lets the kernel hand over packets without checksums, and super-packets of TCP and (since Linux 6.2) of UDP uncut.
pub(crate) fn offload(tun: impl AsFd) -> Answer<()> {
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    let set = |flags: libc::c_uint| {
        // SAFETY: TUNSETOFFLOAD takes a number, not an address.
        let answer = unsafe { libc::ioctl(tun.as_fd().as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) };
        Errno::result(answer).map(drop)
    };
    set(tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6).or_else(|_| set(tcp))
}

/// Sets a device's MTU, bytes.
pub(crate) fn set_mtu(socket: impl AsFd, name: &str, mtu: u32) -> Answer<()> {
    let mut request = request(name);
    request.ifr_ifru.ifru_mtu = mtu as c_int;
    ioctl(socket, libc::SIOCSIFMTU, &mut request)
}

/// Sets how many packets may wait to be read.
pub(crate) fn set_queue(socket: impl AsFd, name: &str, packets: u32) -> Answer<()> {
    let mut request = request(name);
    // ifr_qlen shares the union's int.
    request.ifr_ifru.ifru_mtu = packets as c_int;
    ioctl(socket, libc::SIOCSIFTXQLEN, &mut request)
}

/// Brings a device up.
pub(crate) fn bring_up(socket: impl AsFd, name: &str) -> Answer<()> {
    let mut request = request(name);
    ioctl(&socket, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has just written this member.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
    ioctl(socket, libc::SIOCSIFFLAGS, &mut request)
}

fn address(a: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0; 14];
    for (to, from) in data[2..6].iter_mut().zip(a.octets()) {
        *to = from as libc::c_char;
    }
    libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: data }
}

/// Gives a device an address and the one address that lies behind it.
pub(crate) fn set_addresses(socket: impl AsFd, name: &str, own: Ipv4Addr, peer: Ipv4Addr) -> Answer<()> {
    let mut request = request(name);
    request.ifr_ifru.ifru_addr = address(own);
    ioctl(&socket, libc::SIOCSIFADDR, &mut request)?;
    request.ifr_ifru.ifru_dstaddr = address(peer);
    ioctl(&socket, libc::SIOCSIFDSTADDR, &mut request)?;
    request.ifr_ifru.ifru_netmask = address(Ipv4Addr::BROADCAST);
    ioctl(socket, libc::SIOCSIFNETMASK, &mut request)
}

/// Makes a device the default route.
pub(crate) fn add_default_route(socket: impl AsFd, name: &str) -> Answer<()> {
    let mut device = request(name).ifr_name;
    // SAFETY: rtentry is plain data, for which all zeroes are a value.
    let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
    route.rt_dst = address(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = address(Ipv4Addr::UNSPECIFIED);
    route.rt_flags = libc::RTF_UP;
    route.rt_dev = device.as_mut_ptr();
    // SAFETY: SIOCADDRT reads an rtentry and the name it points at; both live through the call.
    Errno::result(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCADDRT, &raw const route) }).map(drop)
}

/// Makes the kernel kill the command when the thread that starts it ends.
pub(crate) fn end_with_us(command: &mut Command) {
    // SAFETY: between fork and exec only prctl(2) is called, which is a bare system call.
    unsafe {
        command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?));
    }
}

/// Gives this thread the least of the real-time priorities: it then runs before every ordinary one.
pub(crate) fn realtime() -> Answer<()> {
    // SAFETY: sched_param is plain data, for which all zeroes are a value.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = 1;
    // SAFETY: the parameter lives through the call; 0 is the calling thread.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) }).map(drop)
}
