//! The system calls that no crate wraps safely: socket options of tcp(7), socket(7) and packet(7), reading that
//! discards, and the memory that a packet socket shares with the kernel. All `unsafe` code of this crate is here.
#![allow(unsafe_code)]

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// The largest `struct tcp_info` that is asked for; a kernel returns the part that it has.
const TCP_INFO_ROOM: usize = 512;
/// `TPACKET_V3` of linux/if_packet.h.
const TPACKET_V3: libc::c_int = 2;
/// Offset of `block_status` in `struct tpacket_block_desc`.
const BLOCK_STATUS: usize = 8;
/// The status of a block that the reader may read.
const STATUS_USER: u32 = 1;
const STATUS_KERNEL: u32 = 0;

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn set_option<T: Copy>(fd: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of `value`, which lives until the call returns.
    check(unsafe {
        let len = size_of::<T>() as libc::socklen_t;
        libc::setsockopt(fd.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), len)
    })
}

/// The bytes of `struct tcp_info` (linux/tcp.h) that the kernel has.
pub(crate) fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<([u8; TCP_INFO_ROOM], usize)> {
    let mut room = [0u8; TCP_INFO_ROOM];
    let mut len = TCP_INFO_ROOM as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `room`, which has that many, and the number it wrote to `len`.
    check(unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, room.as_mut_ptr().cast(), &mut len)
    })?;
    Ok((room, (len as usize).min(TCP_INFO_ROOM)))
}

/// Takes up to `most` bytes out of a TCP socket's receive queue without copying them anywhere (`MSG_TRUNC` of tcp(7)).
/// Zero is the end of the stream.
pub(crate) fn discard(fd: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC, TCP writes nothing through the pointer, so that none is needed.
    let n = unsafe { libc::recv(fd.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Sets the most that a socket may pace at, bytes a second; any value but the default makes TCP pace (socket(7),
/// `SO_MAX_PACING_RATE`).
pub(crate) fn set_max_pacing_rate(fd: BorrowedFd<'_>, bytes_per_s: u64) -> io::Result<()> {
    set_option(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_s)
}

/// Lets bind(2) fix the address and leave the port open (ip(7), `IP_BIND_ADDRESS_NO_PORT`).
pub(crate) fn bind_address_alone(fd: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    set_option(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &on)
}

/// A packet socket (packet(7)) that puts IPv4 packets of one interface, without link headers, into memory shared with
/// the kernel, in blocks that are handed over as a whole (`TPACKET_V3`).
pub(crate) struct Ring {
    fd: OwnedFd,
    start: *mut u8,
    blocks: usize,
    block_bytes: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone and is not bound to the thread that made it.
unsafe impl Send for Ring {}

/// How a ring is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingSize {
    /// Bytes of a block: a multiple of the page size.
    pub(crate) block_bytes: u32,
    /// Number of blocks.
    pub(crate) blocks: u32,
    /// How much of each packet is kept, bytes from the IP header on.
    pub(crate) snap: u32,
    /// The time after which a block that is not full is handed over, ms.
    pub(crate) timeout_ms: u32,
}

impl Ring {
    /// Makes a ring in the calling thread's network namespace. Nothing is captured before [`Ring::bind`].
    pub(crate) fn new(size: RingSize) -> io::Result<Ring> {
        // SAFETY: no memory is involved; protocol 0 receives nothing.
        let raw = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        check(raw)?;
        // SAFETY: the descriptor was just made and is nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        set_option(fd.as_fd(), libc::SOL_PACKET, libc::PACKET_VERSION, &TPACKET_V3)?;
        // `struct tpacket_req3`; the frame's size is only a check here, as frames of this version vary.
        let frame = 2048;
        let frames = size.block_bytes / frame * size.blocks;
        let request = [size.block_bytes, size.blocks, frame, frames, size.timeout_ms, 0, 0];
        set_option(fd.as_fd(), libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let (blocks, block_bytes) = (size.blocks as usize, size.block_bytes as usize);
        // SAFETY: a new mapping of the ring just made, of its very size, at an address the kernel chooses.
        let start = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), blocks * block_bytes, access, libc::MAP_SHARED, raw, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A child has no use for the ring, and a user-mode Linux does not survive one that ends with it.
        // SAFETY: the very mapping made above.
        if unsafe { libc::madvise(start, blocks * block_bytes, libc::MADV_DONTFORK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let ring = Ring { fd, start: start.cast(), blocks, block_bytes, next: 0 };
        ring.accept_ipv4(size.snap)?;
        Ok(ring)
    }

    /// Lets only IPv4 packets through, `snap` bytes of each; no packet if that is zero (classic BPF).
    pub(crate) fn accept_ipv4(&self, snap: u32) -> io::Result<()> {
        let filter = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
        let protocol = (libc::SKF_AD_OFF + libc::SKF_AD_PROTOCOL) as u32;
        let mut program = [
            filter(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 0, protocol),
            filter(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::ETH_P_IP as u32),
            filter(libc::BPF_RET | libc::BPF_K, 0, 0, snap),
            filter(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
        ];
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        set_option(self.fd.as_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Begins to capture the packets of the interface with this index, in both directions.
    pub(crate) fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: the structure is plain numbers, for which zero is valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index.cast_signed();
        // SAFETY: the kernel reads the structure, whose size is given.
        check(unsafe {
            let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            libc::bind(self.fd.as_raw_fd(), std::ptr::from_ref(&address).cast(), len)
        })
    }

    /// The next block if the kernel has handed it over. [`Ring::release`] gives it back.
    pub(crate) fn block(&self) -> Option<&[u8]> {
        if self.status().load(Ordering::Acquire) & STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the block lies within the mapping, which lives as long as `self`. The kernel does not write to it
        // until its status says that it is the kernel's, which takes `release` and so a `&mut self`.
        Some(unsafe { std::slice::from_raw_parts(self.start.add(self.next * self.block_bytes), self.block_bytes) })
    }

    /// Gives the present block back to the kernel and goes on to the next.
    pub(crate) fn release(&mut self) {
        self.status().store(STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: `block_status` lies within the mapping at a multiple of four; both sides use it as an atomic word.
        unsafe { AtomicU32::from_ptr(self.start.add(self.next * self.block_bytes + BLOCK_STATUS).cast()) }
    }

    /// Packets that came since the last call, and of them those that found the ring full.
    pub(crate) fn statistics(&self) -> io::Result<(u64, u64)> {
        // `struct tpacket_stats_v3`: packets, drops, queue freezes.
        let mut counts = [0u32; 3];
        let mut len = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes to `counts`.
        check(unsafe {
            let to = counts.as_mut_ptr().cast();
            libc::getsockopt(self.fd.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, to, &mut len)
        })?;
        Ok((u64::from(counts[0]), u64::from(counts[1])))
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped, and no slice of it outlives `self`.
        unsafe { libc::munmap(self.start.cast(), self.blocks * self.block_bytes) };
    }
}
