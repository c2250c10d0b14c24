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

/// Has TCP pace a socket: any limit but the default does (socket(7), `SO_MAX_PACING_RATE`).
pub fn pace(fd: BorrowedFd<'_>) -> io::Result<()> {
    let rate: u64 = u64::MAX - 1;
    let length = size_of_val(&rate) as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes from `rate`, which has that many.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            std::ptr::from_ref(&rate).cast(),
            length,
        )
    })
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

/// A descriptor that is readable when a child has ended (signalfd(2)).
pub fn ended_children() -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: the set is plain memory, which sigemptyset makes a set; the calls read it, and change nothing else of this process.
    let raw = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
        libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC)
    };
    check(raw)?;
    // SAFETY: the descriptor was just made and is nobody else's.
    Ok(unsafe { std::os::fd::OwnedFd::from_raw_fd(raw) })
}

/// Makes a command's process have no descriptors but its first three, and no blocked signals.
pub fn close_all_else(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let before = || {
        // SAFETY: the calls take numbers and a set on the stack, and touch no other memory.
        unsafe {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            check(libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()))?;
            // Only marked: the standard library tells by one of them whether the program could be started.
            check(libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int))
        }
    };
    // SAFETY: between fork and exec it makes system calls alone.
    unsafe { command.pre_exec(before) };
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

/// A page that this program shares with whoever reads the kernel's memory. The kernel never moves it: it is the ring of a packet socket
/// that receives nothing.
pub struct Page {
    start: *mut u8,
    address: u64,
    _socket: std::os::fd::OwnedFd,
}

impl Page {
    /// Bytes of it.
    const BYTES: usize = haltere_kernel::control::PAGE;

    /// Makes a page of zeros.
    pub fn new() -> io::Result<Page> {
        use std::os::fd::FromRawFd;
        // SAFETY: no memory is involved; protocol 0 receives nothing.
        let raw = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM, 0) };
        check(raw)?;
        // SAFETY: the descriptor was just made and is nobody else's.
        let socket = unsafe { std::os::fd::OwnedFd::from_raw_fd(raw) };
        // `struct tpacket_req`: one block of one page, with two frames.
        let request = [Self::BYTES as u32, 1, Self::BYTES as u32 / 2, 2];
        // SAFETY: the kernel reads the numbers, whose size is given.
        check(unsafe {
            let length = size_of_val(&request) as libc::socklen_t;
            libc::setsockopt(raw, libc::SOL_PACKET, libc::PACKET_RX_RING, request.as_ptr().cast(), length)
        })?;
        // SAFETY: a new mapping of the ring just made, of its very size, at an address the kernel chooses.
        let start = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), Self::BYTES, access, libc::MAP_SHARED, raw, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut page = Page { start: start.cast(), address: 0, _socket: socket };
        page.put(0, &[0; Self::BYTES]);
        page.address = page.physical()?;
        Ok(page)
    }

    /// Its physical address (proc_pid_pagemap(5)).
    fn physical(&self) -> io::Result<u64> {
        use std::os::unix::fs::FileExt;
        let mut entry = [0; 8];
        let number = self.start as u64 / Self::BYTES as u64;
        std::fs::File::open("/proc/self/pagemap")?.read_exact_at(&mut entry, number * 8)?;
        let entry = u64::from_le_bytes(entry);
        let frame = entry & ((1 << 55) - 1);
        if entry >> 63 == 0 || frame == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(frame * Self::BYTES as u64)
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    /// Writes bytes from position `at` on, as far as there is room.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        for (at, byte) in (at..Self::BYTES).zip(bytes) {
            // SAFETY: the position is within the mapping, which lives as long as this value.
            unsafe { self.start.add(at).write_volatile(*byte) };
        }
    }

    /// The byte at a position; 0 beyond the end.
    pub fn get(&self, at: usize) -> u8 {
        if at >= Self::BYTES {
            return 0;
        }
        // SAFETY: as above.
        unsafe { self.start.add(at).read_volatile() }
    }
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
