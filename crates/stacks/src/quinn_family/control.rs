//! The congestion control inside a stack of this family: the stack's own controllers, observed, or ours.

use super::proto::RttEstimator;
use super::proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use super::setup::own;
use super::{Factory, differences};
use crate::bridge::{Driver, EndOfAcks, Estimate, GivenUp, INITIAL_WINDOW, Plan, Siblings};
use crate::clock::Clock;
use crate::config::{Config, Congestion};
use crate::handles::Handles;
use crate::meter::Meter;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// The factory of the paths' controllers.
pub(super) fn factory(config: &Config, handles: &Handles, clock: Clock, meter: &Meter) -> Factory {
    match config.congestion {
        Congestion::Own(which) => Arc::new(ObservedFactory { inner: own(which), meter: meter.clone() }),
        Congestion::Ours(algorithm, slow_start, reno_friendly) => {
            Arc::new(OurFactory(Plan {
                role: config.role,
                algorithm,
                slow_start,
                reno_friendly,
                stream: handles.stream.clone(),
                faults: handles.faults.clone(),
                clock,
                meter: meter.clone(),
                siblings: Siblings::default(),
            }))
        }
    }
}

/// Makes controllers of ours.
struct OurFactory(Plan);

impl ControllerFactory for OurFactory {
    fn build(self: Arc<Self>, _: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let plan = Plan { meter: self.0.meter.current(), ..self.0.clone() };
        Box::new(Ours(Driver::new(plan, current_mtu)))
    }
}

/// A controller of ours.
#[derive(Debug)]
struct Ours(Driver);

/// Makes the stack's own controllers, observed.
struct ObservedFactory {
    inner: Factory,
    meter: Meter,
}

impl ControllerFactory for ObservedFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, current_mtu);
        let observed = Observed { inner, meter: self.meter.current(), newest: None };
        observed.note();
        Box::new(observed)
    }
}

/// One of the stack's own controllers; every call is passed on unchanged.
struct Observed {
    inner: Box<dyn Controller>,
    meter: Meter,
    /// When the newest packet of the acknowledgement being processed was sent.
    newest: Option<Instant>,
}

impl Observed {
    /// Records window, threshold and pacing rate.
    fn note(&self) {
        let m = self.inner.metrics();
        let pacing = m.pacing_rate.map(|rate| rate * differences::BITS_PER_UNIT_OF_PACING);
        self.meter.control(m.congestion_window, m.ssthresh, pacing);
    }
}

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observed")
    }
}

/// The controllers, given the arguments (packet number, whether ECN marks were the sign) and the methods that this
/// stack's trait has beyond the other's.
macro_rules! controllers {
    (
        $([$number:ident: $Number:ty] [$ecn:ident: $Ecn:ty])?
        ours { $($ours:tt)* }
        observed { $($observed:tt)* }
    ) => {
        impl Controller for Ours {
            fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
                self.0.on_sent(now, bytes, last_packet_number);
            }
            fn on_ack(
                &mut self,
                now: Instant,
                sent: Instant,
                bytes: u64,
                $(_: $Number,)?
                app_limited: bool,
                rtt: &RttEstimator,
            ) {
                self.0.on_ack(now, sent, bytes, Estimate { smoothed: rtt.get(), app_limited });
            }
            fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
                self.0.on_end_acks(now, EndOfAcks { in_flight, app_limited, largest });
            }
            fn on_congestion_event(
                &mut self,
                now: Instant,
                sent: Instant,
                persistent: bool,
                $(_: $Ecn,)?
                lost_bytes: u64,
                $(_: $Number,)?
            ) {
                self.0.on_congestion(now, GivenUp { sent, persistent, bytes: lost_bytes });
            }
            fn on_mtu_update(&mut self, new_mtu: u16) {
                self.0.on_mtu(new_mtu);
            }
            fn window(&self) -> u64 {
                self.0.window()
            }
            fn clone_box(&self) -> Box<dyn Controller> {
                Box::new(Ours(self.0.anew()))
            }
            fn initial_window(&self) -> u64 {
                INITIAL_WINDOW
            }
            fn into_any(self: Box<Self>) -> Box<dyn Any> {
                self
            }
            $($ours)*
        }

        impl Controller for Observed {
            fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
                self.meter.sent(bytes);
                self.inner.on_sent(now, bytes, last_packet_number);
            }
            fn on_ack(
                &mut self,
                now: Instant,
                sent: Instant,
                bytes: u64,
                $($number: $Number,)?
                app_limited: bool,
                rtt: &RttEstimator,
            ) {
                self.newest = self.newest.max(Some(sent));
                self.inner.on_ack(now, sent, bytes, $($number,)? app_limited, rtt);
            }
            fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
                let rtt = self.newest.take().map(|sent| now.saturating_duration_since(sent));
                self.meter.acknowledged(in_flight, rtt);
                self.inner.on_end_acks(now, in_flight, app_limited, largest);
                self.note();
            }
            fn on_congestion_event(
                &mut self,
                now: Instant,
                sent: Instant,
                persistent: bool,
                $($ecn: $Ecn,)?
                lost_bytes: u64,
                $($number: $Number,)?
            ) {
                self.meter.lost(lost_bytes, persistent.into());
                self.inner.on_congestion_event(now, sent, persistent, $($ecn,)? lost_bytes $(, $number)?);
                self.note();
            }
            fn on_mtu_update(&mut self, new_mtu: u16) {
                self.inner.on_mtu_update(new_mtu);
            }
            fn window(&self) -> u64 {
                self.inner.window()
            }
            fn metrics(&self) -> ControllerMetrics {
                self.inner.metrics()
            }
            fn clone_box(&self) -> Box<dyn Controller> {
                Box::new(Observed { inner: self.inner.clone_box(), meter: self.meter.clone(), newest: self.newest })
            }
            fn initial_window(&self) -> u64 {
                self.inner.initial_window()
            }
            fn into_any(self: Box<Self>) -> Box<dyn Any> {
                self
            }
            $($observed)*
        }
    };
}
controller_differences!(controllers);
