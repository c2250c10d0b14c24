//! Going from one network namespace to another: a socket stays in that in which it was made.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The namespaces one thread makes sockets in. The thread is left where it last was, so it should be one of its own.
pub(crate) struct Namespaces {
    home: OwnedFd,
    present: Option<String>,
}

impl Namespaces {
    /// Starts from the calling thread's namespace.
    pub(crate) fn new() -> io::Result<Namespaces> {
        Ok(Namespaces { home: file("/proc/thread-self/ns/net")?, present: None })
    }

    /// Moves the calling thread into the namespace of this path, or back to where it came from (setns(2)).
    pub(crate) fn enter(&mut self, path: Option<&str>) -> io::Result<()> {
        if self.present.as_deref() == path {
            return Ok(());
        }
        match path {
            Some(path) => move_into_link_name_space(file(path)?.as_fd(), Some(LinkNameSpaceType::Network))?,
            None => move_into_link_name_space(self.home.as_fd(), Some(LinkNameSpaceType::Network))?,
        }
        self.present = path.map(str::to_string);
        Ok(())
    }
}

fn file(path: &str) -> io::Result<OwnedFd> {
    open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}
