//! SCReAM with packets that ask for L4S.

use super::{Implementation, scream};
use haltere_net::Ecn;
use haltere_net::registry::Description;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "scream_l4s",
        summary: "SCReAM version 2 with L4S: packets are ECT(1), and marks reduce the window by their share",
        reference: "draft-johansson-ccwg-scream-bis; RFC 9331",
    },
    label: "SCReAM L4S",
    ecn: Ecn::Ect1,
    build: scream::with_l4s,
    ..scream::ENTRY
};
