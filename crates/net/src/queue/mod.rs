//! Queue disciplines: which packet waits, which goes next, which is dropped. A discipline knows no rate and no link.
//!
//! A new discipline is one new file here and one line in the list of `disciplines!`. The file has a `Config` with the
//! discipline's parameters (declared by `parameters!`), a `DESCRIPTION` and the discipline itself, which implements
//! [`QueueDiscipline`]. Scenarios, the emulator and rigs then know it by its name.

mod config;
mod fates;
mod length;

pub use config::{Description, Parameter, Place};
pub use fates::{DropReason, Fate, Fates, Listener};
pub use length::{Length, Limit, Scale};

use crate::packet::Packet;
use crate::time::Time;

config::disciplines! {
    /// First in, first out; what finds the queue full is dropped.
    drop_tail::DropTail,
    /// First in, first out; what finds the queue full takes the place of the oldest.
    head_drop::HeadDrop,
}

/// What waits in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
}

/// A queue discipline.
///
/// Whoever serves the queue (a link, a network interface) calls `enqueue` and `dequeue` in the order of time. Every
/// packet that was enqueued is handed out by `dequeue` or dropped into `fates`, once. `fates` counts, so a discipline
/// keeps no counters. Several packets may be dequeued at one instant, as a wireless frame that aggregates them does.
///
/// What a discipline may look at: [`Packet::arrived`] is when the packet was offered (its sojourn time is the distance
/// from there to `now`), [`Packet::flow`] is what a fair queue hashes, [`Packet::class`] what a queue with bands
/// classifies by, [`Packet::ecn`] whether it can be marked.
pub trait QueueDiscipline<B>: Send {
    /// Takes a packet in at `now`. The packet, or others that wait, may be dropped or marked instead.
    fn enqueue(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>);

    /// Hands out the packet that goes next at `now`, which is not before [`QueueDiscipline::ready_at`]. It may drop and
    /// mark packets on the way. `None` means that what was ready has been dropped.
    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>>;

    /// When the next packet may go: [`Time::NEVER`] if none waits, a past time if one may go at once, a later one if a
    /// shaper holds it back. It changes by `enqueue` and `dequeue` alone.
    fn ready_at(&self) -> Time;

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// `enqueue`, then `ready_at` and `backlog`: what a link asks for, in one call through the table of methods.
    #[inline]
    fn put(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) -> (Time, Backlog) {
        self.enqueue(packet, now, fates);
        (self.ready_at(), self.backlog())
    }

    /// `dequeue`, then `ready_at`, which is written to `ready`: a packet is handed on as it is, for what is put together
    /// with it is copied with it.
    #[inline]
    fn take(&mut self, now: Time, ready: &mut Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        let packet = self.dequeue(now, fates);
        *ready = self.ready_at();
        packet
    }
}
