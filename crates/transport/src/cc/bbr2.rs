//! BBR version 2, as Google's Linux had it (`net/ipv4/tcp_bbr2.c` of the branch v2alpha, 2019 to 2022; its presentation:
//! N. Cardwell and others, "BBR v2: A Model-based Congestion Control", ICCRG, IETF 104 and 106).
//!
//! It shares [version 3's](super::bbr3) model of the path and its states, and differs in these places:
//! - Gains of 2.885 for rate and window in Startup, 1/2.885 for the rate in Drain, which ends only when the queue has
//!   drained; 0.75 after a probe, and a window of twice the estimated volume during it.
//! - A probe ends once a round trip has passed and 1.25 times the estimated volume is in flight. Version 3 goes on
//!   until the bandwidth grows no more.
//! - An ACK whose packets met too many losses ends a probe, besides each lost packet.
//! - The pipe is full when the largest bandwidth, not the latest, has stopped growing; eight runs of losses end Startup.
//! - Cruising, the short-term bound is never above the long-term one.
//! - An undo restores the bounds, and not the state.
//!
//! Runs of losses are counted as version 3 counts them (Linux counts ACKs that show losses). Its reaction to marks (ECN) was
//! off by default, and is not here.

use super::bbr3::{Bbr3, Rules};
use super::{Description, Implementation, Startup};

pub(super) const ENTRY: Implementation = Implementation {
    label: "BBRv2",
    slow_start: Startup::Own,
    send_windows: 3,
    ..Implementation::new(
        Description {
            name: "bbr2",
            summary: "BBR version 2: as version 3, but probes end sooner and drain more",
            reference: "Linux, tcp_bbr2 (v2alpha)",
        },
        |config| Box::new(Bbr3::with(config, &TWO)),
    )
};

/// The module's parameters.
pub(super) const TWO: Rules = Rules {
    startup: (2.885, 2.885),
    drain: (1.0 / 2.885, 2.885),
    down: 0.75,
    up_window: 2.0,
    startup_losses: 8,
    drain_rounds: u64::MAX,
    up_ends_at: Some(1.25),
    restores_state: false,
};
