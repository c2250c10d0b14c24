//! The one unsafe call: tokio's watching of a file descriptor.
#![allow(unsafe_code)]

use rustix::fd::OwnedFd;
use std::io;
use tokio::io::unix::AsyncFd;

/// Watches `fd` in tokio's event loop.
pub fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` gives the same descriptor at every call and stays open until it is dropped, which `AsyncFd`
    // does after it has taken it out of the event loop; nothing here takes it out of the `AsyncFd` or closes it.
    Ok(unsafe { AsyncFd::register(fd) }?)
}
