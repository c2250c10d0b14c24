//! CoDel's control of one queue (RFC 8289), shared by `codel` and `fq_codel`.
//!
//! It is the algorithm of Linux (`include/net/codel_impl.h`), which adds two things to the RFC's pseudocode (section 5):
//! a mark takes the place of a drop if ECN is on, and a packet that waited longer than `ce_threshold` is marked in any
//! case. Where the two differ, Linux is followed: the first drop needs a delay that is above the target for *longer* than
//! an interval, in the RFC for as long.
//!
//! The control law is `interval / sqrt(count)` (section 3.3). As in Linux, the reciprocal of the root is kept in 16 bits
//! and brought nearer by one Newton step a drop (`codel_Newton_step`). In an episode that starts anew this makes the
//! second gap 50 ms long instead of 70.7 ms, and those from the third on right within 3 %. In one that goes on from the
//! last it makes the first gap too short, as the root is that of a larger count.

use super::packets::{Fifo, Store};
use super::{DropReason, Fates};
use crate::packet::Packet;
use crate::time::{Span, Time};

/// The parameters of CoDel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    /// The delay that may stand.
    pub(super) target: Span,
    /// How long the delay may be above the target; of the order of a round-trip time.
    pub(super) interval: Span,
    /// Packets that waited for longer than this are marked.
    pub(super) ce_threshold: Option<Span>,
    /// Nothing is dropped while no more than this stands in the queue: one packet of the greatest size, bytes.
    pub(super) mtu: u64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub(super) ecn: bool,
}

/// The state of CoDel for one queue (RFC 8289 section 5.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// Drops and marks since the dropping state was entered, or a little more if it was left not long before.
    pub(super) count: u32,
    /// `count` when the dropping state was last entered.
    last_count: u32,
    dropping: bool,
    /// When the delay will have been above the target for an interval; `None` while it is below.
    first_above: Option<Time>,
    /// When the next packet is dropped.
    drop_next: Time,
    /// The reciprocal of the square root of `count`, in units of 2^-16.
    inverse_root: u16,
}

impl Default for State {
    fn default() -> State {
        State { count: 0, last_count: 0, dropping: false, first_above: None, drop_next: Time::ZERO, inverse_root: 0 }
    }
}

/// A queue at the moment in which a packet of it may leave.
struct Turn<'a, B> {
    state: &'a mut State,
    store: &'a mut Store<B>,
    fifo: &'a mut Fifo,
    now: Time,
}

impl Control {
    /// The time from a drop to the next (RFC 8289 section 3.3).
    fn gap(&self, state: &State) -> Span {
        let gap = (u128::from(self.interval.as_nanos()) * u128::from(state.inverse_root)) >> 16;
        Span::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX))
    }

    /// The next packet of `fifo` that CoDel lets pass at `now`. What it drops before goes to `fates`.
    #[inline]
    pub(super) fn dequeue<B>(
        &self,
        state: &mut State,
        store: &mut Store<B>,
        fifo: &mut Fifo,
        now: Time,
        fates: &mut Fates<'_, B>,
    ) -> Option<Packet<B>> {
        let Some(mut packet) = store.pop(fifo) else {
            state.rest();
            return None;
        };
        let mut queue = Turn { state, store, fifo, now };
        let late = self.is_late(&mut queue, &packet);
        if queue.state.dropping {
            if !late {
                queue.state.dropping = false;
            } else if now >= queue.state.drop_next {
                packet = self.keep_dropping(&mut queue, packet, fates)?;
            }
        } else if late {
            packet = self.start_dropping(&mut queue, packet, fates)?;
        }
        if self.ce_threshold.is_some_and(|threshold| now.since(packet.arrived) > threshold) {
            fates.mark(&mut packet);
        }
        Some(packet)
    }

    /// Whether the delay has been above the target for more than an interval (`should_drop` in Linux). `packet` has just
    /// been taken from the queue.
    #[inline]
    fn is_late<B>(&self, queue: &mut Turn<'_, B>, packet: &Packet<B>) -> bool {
        if queue.now.since(packet.arrived) < self.target || queue.store.backlog().bytes <= self.mtu {
            queue.state.first_above = None;
            return false;
        }
        let above = *queue.state.first_above.get_or_insert(queue.now + self.interval);
        queue.now > above
    }

    /// Takes the next packet after a drop, and whether it is late too.
    fn next<B>(&self, queue: &mut Turn<'_, B>) -> (Option<Packet<B>>, bool) {
        let packet = queue.store.pop(queue.fifo);
        let late = match &packet {
            Some(packet) => self.is_late(queue, packet),
            None => {
                queue.state.first_above = None;
                false
            }
        };
        (packet, late)
    }

    /// Drops or marks every packet that is due in the dropping state. A large queue may have several due at once.
    fn keep_dropping<B>(
        &self,
        queue: &mut Turn<'_, B>,
        mut packet: Packet<B>,
        fates: &mut Fates<'_, B>,
    ) -> Option<Packet<B>> {
        while queue.state.dropping && queue.now >= queue.state.drop_next {
            queue.state.count = queue.state.count.saturating_add(1);
            queue.state.newton_step();
            if self.ecn && fates.mark(&mut packet) {
                queue.state.drop_next += self.gap(queue.state);
                break;
            }
            fates.drop(packet, DropReason::Early);
            let (next, late) = self.next(queue);
            if late {
                queue.state.drop_next += self.gap(queue.state);
            } else {
                queue.state.dropping = false;
            }
            packet = next?;
        }
        Some(packet)
    }

    /// Enters the dropping state with a first drop or mark (RFC 8289 section 5.5).
    fn start_dropping<B>(
        &self,
        queue: &mut Turn<'_, B>,
        mut packet: Packet<B>,
        fates: &mut Fates<'_, B>,
    ) -> Option<Packet<B>> {
        let left = if self.ecn && fates.mark(&mut packet) {
            Some(packet)
        } else {
            fates.drop(packet, DropReason::Early);
            self.next(queue).0
        };
        let (state, now) = (&mut *queue.state, queue.now);
        state.dropping = true;
        // If the delay came back soon, the rate that controlled it is a good one to start with.
        let drops = state.count.wrapping_sub(state.last_count);
        // Overflows may have counted before the first episode, which none came before.
        let soon = state.last_count > 0 && now.since(state.drop_next) < self.interval * 16;
        if soon && drops > 1 {
            state.count = drops;
            state.newton_step();
        } else {
            (state.count, state.inverse_root) = (1, u16::MAX);
        }
        state.last_count = state.count;
        state.drop_next = now + self.gap(state);
        left
    }
}

impl State {
    /// Brings the reciprocal x of the square root of `count` nearer: x (3 - count x^2) / 2, in fixed point.
    fn newton_step(&mut self) {
        let root = u64::from(self.inverse_root) << 16;
        let square = (root * root) >> 32;
        // The kernel's numbers are unsigned too: what goes below zero wraps.
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        self.inverse_root = ((rest.wrapping_mul(root) >> 31) >> 16) as u16;
    }

    /// The queue was found empty.
    pub(super) fn rest(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }
}
