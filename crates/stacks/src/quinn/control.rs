//! What controls congestion inside quinn: its own controllers, looked at from outside, or ours.

use super::Factory;
use super::setup::own;
use crate::bridge::{Driver, Estimate, INITIAL_WINDOW, Plan};
use crate::clock::Clock;
use crate::config::Congestion;
use crate::meter::Meter;
use haltere_net::rng::Stream;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// What a path's controller is made by.
pub(super) fn factory(congestion: Congestion, stream: &Stream, clock: Clock, meter: &Meter) -> Factory {
    match congestion {
        Congestion::Own(which) => Arc::new(Watch { inner: own(which), meter: meter.clone() }),
        Congestion::Ours(algorithm, slow_start) => {
            let (stream, meter) = (stream.clone(), meter.clone());
            Arc::new(Plant(Plan { algorithm, slow_start, stream, clock, meter }))
        }
    }
}

/// Makes controllers of ours.
struct Plant(Plan);

impl ControllerFactory for Plant {
    fn build(self: Arc<Self>, _: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Ours(Driver::new(self.0.clone(), current_mtu)))
    }
}

/// A controller of ours. quinn paces by the window alone: an algorithm's pacing rate and burst are not asked for.
struct Ours(Driver);

impl Controller for Ours {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.0.on_sent(now, bytes, last_packet_number);
    }
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.0.on_ack(now, sent, bytes, app_limited, Estimate { smoothed: rtt.get() });
    }
    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.0.on_end_acks(now, in_flight, app_limited, largest);
    }
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        self.0.on_congestion(now, sent, persistent, lost_bytes);
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
}

/// Makes quinn's own controllers, watched.
struct Watch {
    inner: Factory,
    meter: Meter,
}

impl ControllerFactory for Watch {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, current_mtu);
        let watched = Watched { inner, meter: self.meter.clone(), newest: None };
        watched.note();
        Box::new(watched)
    }
}

/// One of quinn's own controllers; every call goes through unchanged.
struct Watched {
    inner: Box<dyn Controller>,
    meter: Meter,
    /// When the newest packet of the acknowledgement being dealt with was sent.
    newest: Option<Instant>,
}

impl Watched {
    fn note(&self) {
        let m = self.inner.metrics();
        self.meter.control(m.congestion_window, m.ssthresh, m.pacing_rate);
    }
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.meter.sent(bytes);
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.newest = self.newest.max(Some(sent));
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        let rtt = self.newest.take().map(|sent| now.saturating_duration_since(sent));
        self.meter.acknowledged(in_flight, rtt);
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        self.note();
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        self.meter.lost(lost_bytes, persistent);
        self.inner.on_congestion_event(now, sent, persistent, lost_bytes);
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
        Box::new(Watched { inner: self.inner.clone_box(), meter: self.meter.clone(), newest: self.newest })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
