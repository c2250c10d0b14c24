//! Whether loaded code still decides.

use haltere_net::fault::Faults;

/// Whether loaded code still decides. Once it has failed it is not called again, and the run ends at once.
#[derive(Clone, Debug)]
pub struct Trust {
    /// The code's name, for messages.
    name: &'static str,
    faults: Faults,
    failed: bool,
}

impl Trust {
    /// Code of this name that has not failed.
    pub fn new(name: &'static str, faults: Faults) -> Trust {
        Trust { name, faults, failed: false }
    }

    /// Whether it has failed.
    #[inline]
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// It has failed in `call`, for this reason.
    #[cold]
    pub fn fail(&mut self, call: &str, reason: &str) {
        self.failed = true;
        self.faults.raise(format!("{}: {call}: {reason}", self.name));
    }
}
