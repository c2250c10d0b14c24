//! Queue disciplines: they decide which packet waits, which leaves next and which is dropped. A discipline knows
//! neither rate nor link.
//!
//! A new discipline is one new file here and one line in the list of `disciplines!`. The file has a `Config` with the
//! discipline's parameters (declared by [`parameters!`](parameters)), an `ENTRY` and the discipline itself, which implements
//! [`QueueDiscipline`]. Scenarios, the emulator and rigs then know it by its name. A discipline of another crate has the
//! same parts and is added to a [`Registry`](crate::registry::Registry).

mod bands;
mod cake_shaper;
mod cake_tin;
mod cobalt;
mod codel_control;
mod config;
mod fates;
mod flows;
mod hash;
mod length;
mod packets;
mod pie_control;
#[cfg(test)]
mod testing;
mod tickets;
mod whole;
mod word;

pub use crate::queue_parameters as parameters;
pub use config::{Among, Discipline, Implementation, Parameter, Parameters, Place, QueueConfig, Value};
pub use fates::{DropReason, Fate, Fates, Listener};
pub use hash::flow_hash;
pub use length::{Length, Limit, Scale};
pub use tickets::Ticket;

use crate::packet::Packet;
use crate::registry::Maker;
use crate::time::Time;
use std::any::Any;

/// Declares the built-in disciplines: for each the constant that stands for it, its module and its type. A built-in
/// discipline is compiled for every kind of packet; others queue tickets.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $constant:ident = $module:ident :: $discipline:ident,)*) => {
        crate::built_in! {
            Implementation: "queue discipline";
            $($(#[$doc])* $constant = $module,)*
        }

        $(pub use $module::$discipline;)*

        /// The queue of a built-in discipline.
        fn compiled<B: Send + 'static>(
            parameters: &dyn Parameters,
            place: &Place<'_>,
        ) -> Option<Box<dyn QueueDiscipline<B>>> {
            let parameters: &dyn Any = parameters;
            $(if let Some(config) = parameters.downcast_ref::<$module::Config>() {
                return Some(Box::new($discipline::at(config, place)));
            })*
            None
        }
    };
}

disciplines! {
    /// First in, first out. A packet that finds the queue full is dropped.
    DROP_TAIL = drop_tail::DropTail,
    /// First in, first out. A packet that finds the queue full replaces the oldest.
    HEAD_DROP = head_drop::HeadDrop,
    // Bands, a shaper, turns.
    /// Three bands by the ToS field with strict priority between them.
    PFIFO_FAST = pfifo_fast::PfifoFast,
    /// Bands by the ToS field with strict priority between them.
    PRIO = prio::Prio,
    /// A token bucket in front of a FIFO.
    TBF = tbf::Tbf,
    /// Deficit round robin over classes of flows.
    DRR = drr::Drr,
    /// Stochastic fairness queueing.
    SFQ = sfq::Sfq,
    /// Fair queueing of flows, with a limit of their rate.
    FQ = fq::Fq,
    // Active queue management.
    /// Random early detection.
    RED = red::Red,
    /// Controlled delay (RFC 8289).
    CODEL = codel::Codel,
    /// Fair queueing with CoDel on each flow (RFC 8290).
    FQ_CODEL = fq_codel::FqCodel,
    /// Proportional integral controller enhanced (RFC 8033).
    PIE = pie::Pie,
    /// Fair queueing with PIE on each flow.
    FQ_PIE = fq_pie::FqPie,
    /// Dual-queue coupled AQM for L4S (RFC 9332).
    DUALPI2 = dualpi2::DualPi2,
    /// A shaper with classes and fairness between hosts and flows.
    CAKE = cake::Cake,
}

/// The packets that wait in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
}

/// A queue discipline.
///
/// The server of the queue (a link, a network interface) calls `enqueue` and `dequeue` in the order of time. Every
/// packet that was enqueued is either returned by `dequeue` or dropped into `fates`, once. `fates` counts, so a
/// discipline keeps no counters. Several packets may be dequeued at one instant, for instance by a wireless frame that
/// aggregates them.
///
/// A discipline may use [`Packet::arrived`], when the packet was offered (its sojourn time is the time from there to
/// `now`); [`Packet::flow`], which a fair queue hashes; [`Packet::class`], by which a queue with bands classifies; and
/// [`Packet::ecn`], which says whether the packet can be marked.
pub trait QueueDiscipline<B>: Send {
    /// Enqueues a packet at `now`. The packet, or others that wait, may be dropped or marked.
    fn enqueue(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>);

    /// Returns the packet that leaves at `now`, which is not before [`QueueDiscipline::ready_at`]. It may drop and mark
    /// packets before. `None` means that everything that was ready has been dropped, or is delayed until the time that
    /// `ready_at` says then.
    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>>;

    /// When the next packet may leave: [`Time::NEVER`] if none waits, a past time if one may leave at once, a later
    /// time if a shaper delays it. Only `enqueue` and `dequeue` change it.
    #[inline]
    fn ready_at(&self) -> Time {
        if self.backlog().packets == 0 { Time::NEVER } else { Time::ZERO }
    }

    /// The packets that wait.
    fn backlog(&self) -> Backlog;

    /// `enqueue`, then `ready_at` and `backlog`, in one call through the table of methods, as a link needs them.
    #[inline]
    fn put(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) -> (Time, Backlog) {
        self.enqueue(packet, now, fates);
        (self.ready_at(), self.backlog())
    }

    /// `dequeue`, then `ready_at`, which is written to `ready`. The packet is returned by itself, because a value
    /// combined with it would be copied together with it.
    #[inline]
    fn take(&mut self, now: Time, ready: &mut Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        let packet = self.dequeue(now, fates);
        *ready = self.ready_at();
        packet
    }
}
