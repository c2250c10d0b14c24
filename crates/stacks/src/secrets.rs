//! The secrets of a connection's TLS, for whoever captures its packets.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Takes what TLS logs, in the lines of `SSLKEYLOGFILE` (draft-ietf-tls-keylogfile).
#[derive(Clone, Default)]
pub struct Secrets(Arc<Mutex<String>>);

impl Secrets {
    /// The lines since this was last asked.
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lines that another TLS wrote.
    pub(crate) fn add(&self, lines: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(lines);
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl rustls::KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_str(label);
        for bytes in [client_random, secret] {
            lines.push(' ');
            for byte in bytes {
                // Writing to a string cannot fail.
                let _ = write!(lines, "{byte:02x}");
            }
        }
        lines.push('\n');
    }
}
