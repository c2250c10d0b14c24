//! tquic: its adapter is `crates/worker/src/stacks/tquic/`.

use crate::stack::Implementation;
use haltere_net::registry::Description;

pub(crate) const ENTRY: Implementation = Implementation {
    schedulers: &["lowest-rtt", "round-robin", "redundant"],
    ..Implementation::in_worker(
        Description {
            name: "tquic",
            summary: "tquic with BoringSSL, unmodified, in a worker program",
            reference: "https://docs.rs/tquic",
        },
        "1.6.0",
        &["cubic", "bbr", "bbr3", "copa"],
    )
};
