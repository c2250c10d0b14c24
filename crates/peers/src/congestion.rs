//! Congestion control by name: the kernel's for TCP, quinn's own for QUIC.

use crate::Error;
use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use std::str::FromStr;
use std::sync::Arc;

/// The longest name that Linux takes (`TCP_CA_NAME_MAX` less the terminating zero byte).
const LONGEST: usize = 15;

/// The name of an algorithm, short enough for a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Congestion(String);

impl FromStr for Congestion {
    type Err = Error;

    fn from_str(name: &str) -> Result<Congestion, Error> {
        let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        if name.is_empty() || name.len() > LONGEST || !plain {
            let right = format!("a name like cubic: small letters, digits, - and _, at most {LONGEST}");
            return Err(Error::new("congestion", format!("got {name:?}; right: {right}")));
        }
        Ok(Congestion(name.to_string()))
    }
}

impl Congestion {
    /// Sets it on a TCP socket; accepted sockets inherit it from the one that listens.
    pub fn set(&self, socket: &socket2::Socket) -> Result<(), Error> {
        socket.set_tcp_congestion(self.0.as_bytes()).map_err(|e| {
            let known = "/proc/sys/net/ipv4/tcp_available_congestion_control";
            Error::new("congestion", format!("this kernel does not take {}: {e}; right: one of {known}", self.0))
        })
    }

    /// quinn's implementation of it.
    pub fn of_quinn(&self) -> Result<Arc<dyn ControllerFactory + Send + Sync>, Error> {
        match self.0.as_str() {
            "cubic" => Ok(Arc::new(CubicConfig::default())),
            "newreno" | "reno" => Ok(Arc::new(NewRenoConfig::default())),
            "bbr" => Ok(Arc::new(BbrConfig::default())),
            other => Err(Error::new("congestion", format!("quinn has no {other}; right: cubic, newreno or bbr"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_kernel_takes_is_refused() {
        for wrong in ["", "Cubic", "a b", "sixteen_letters_", "bbr\0"] {
            assert!(wrong.parse::<Congestion>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn quinn_has_three() {
        for (name, known) in [("cubic", true), ("newreno", true), ("bbr", true), ("vegas", false)] {
            assert_eq!(Congestion(name.into()).of_quinn().is_ok(), known, "{name}");
        }
    }
}
