//! The `unsafe` code of this program: system calls that no crate wraps.
#![allow(unsafe_code)]

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The largest `struct tcp_info` that is asked for; a kernel returns the part that it has.
const INFO: usize = 512;

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The bytes of `struct tcp_info` (linux/tcp.h) that the kernel has.
pub fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut room = [0u8; INFO];
    let mut length = INFO as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `room`, which has that many, and the number it wrote to `length`.
    check(unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, room.as_mut_ptr().cast(), &mut length)
    })?;
    Ok(room[..(length as usize).min(INFO)].to_vec())
}

/// Takes all bytes out of a TCP socket's receive queue without copying them anywhere (`MSG_TRUNC` of tcp(7)). Zero is the end of
/// the stream.
pub fn discard(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let most = 1 << 30;
    // SAFETY: with MSG_TRUNC, TCP writes nothing through the pointer, so that none is needed.
    let n = unsafe { libc::recv(fd.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    u64::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// A packet socket (packet(7)) for frames of one kind on one interface.
pub fn packet_socket(name: &str, kind: u16) -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: no memory is involved.
    let raw = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0) };
    check(raw)?;
    // SAFETY: the descriptor was just made and is nobody else's.
    let fd = unsafe { std::os::fd::OwnedFd::from_raw_fd(raw) };
    let index = request(fd.as_fd(), libc::SIOCGIFINDEX, name, |_| ())?.index();
    // SAFETY: the structure is plain numbers, for which zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = kind.to_be();
    address.sll_ifindex = index;
    // SAFETY: the kernel reads the structure, whose size is given.
    check(unsafe {
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        libc::bind(raw, std::ptr::from_ref(&address).cast(), length)
    })?;
    Ok(fd)
}

/// `struct ifreq` of netdevice(7).
pub struct Interface(libc::ifreq);

impl Interface {
    fn index(&self) -> i32 {
        // SAFETY: every bit pattern is a number.
        unsafe { self.0.ifr_ifru.ifru_ifindex }
    }
    fn set_flags(&mut self, flags: i32) {
        self.0.ifr_ifru.ifru_flags = flags as libc::c_short;
    }
    fn set_address(&mut self, address: Ipv4Addr) {
        let mut family = [0; 14];
        for (to, from) in family[2..].iter_mut().zip(address.octets()) {
            *to = from.cast_signed();
        }
        self.0.ifr_ifru.ifru_addr = libc::sockaddr { sa_family: libc::AF_INET as u16, sa_data: family };
    }
}

fn request(
    fd: BorrowedFd<'_>,
    code: libc::Ioctl,
    name: &str,
    fill: impl FnOnce(&mut Interface),
) -> io::Result<Interface> {
    // SAFETY: the structure is plain numbers, for which zero is valid.
    let mut one = Interface(unsafe { std::mem::zeroed() });
    if name.len() >= one.0.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in one.0.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    fill(&mut one);
    // SAFETY: the requests used here read and write a `struct ifreq`, which lives until the call returns.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), code, std::ptr::from_mut(&mut one.0)) })?;
    Ok(one)
}

/// Switches an interface on, without ARP. Any socket serves for asking.
pub fn switch_on(fd: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    request(fd, libc::SIOCSIFFLAGS, name, |one| one.set_flags(libc::IFF_UP | libc::IFF_NOARP)).map(|_| ())
}

/// Gives an interface an address, and the mask of those that it leads to.
pub fn set_address(fd: BorrowedFd<'_>, name: &str, address: Ipv4Addr, mask: Ipv4Addr) -> io::Result<()> {
    request(fd, libc::SIOCSIFADDR, name, |one| one.set_address(address))?;
    request(fd, libc::SIOCSIFNETMASK, name, |one| one.set_address(mask)).map(|_| ())
}
