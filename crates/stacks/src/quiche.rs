//! quiche: its adapter is `crates/worker/src/stacks/quiche.rs`.

use crate::stack::Implementation;
use haltere_net::registry::Description;

pub(crate) const ENTRY: Implementation = Implementation::in_worker(
    Description {
        name: "quiche",
        summary: "quiche with BoringSSL, unmodified, in a worker program",
        reference: "https://docs.rs/quiche",
    },
    "0.30.0",
    &["cubic", "newreno", "bbr2"],
);
