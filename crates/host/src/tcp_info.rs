//! The kernel's state of a connection, and how it changes.

use crate::sys;
use haltere_kernel::tcp_info::TcpInfo;
use haltere_net::Time;
use rustix::fd::BorrowedFd;
use std::io;

/// Asks the kernel for the state of a connection.
pub(crate) fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let (bytes, len) = sys::tcp_info(fd)?;
    Ok(TcpInfo::new(bytes[..len.min(bytes.len())].to_vec()))
}

/// The changes of one metric.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) at: Vec<Time>,
    pub(crate) value: Vec<u64>,
}

impl Changes {
    /// Keeps `value` if it differs from the last one.
    pub(crate) fn push(&mut self, at: Time, value: u64) {
        if self.value.last() != Some(&value) {
            self.at.push(at);
            self.value.push(value);
        }
    }
}
