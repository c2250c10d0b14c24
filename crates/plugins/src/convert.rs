//! Our events as the C interface has them.

use crate::abi;
use haltere_net::{Rate, Span, Time};
use haltere_transport::cc;
use haltere_transport::path::{PathState, PathView};

/// A number as the interface has it; what does not fit is as large as can be.
#[inline]
pub(crate) fn size(bytes: u64) -> i64 {
    bytes.min(i64::MAX as u64) as i64
}

/// A time as the interface has it.
#[inline]
pub fn time(at: Time) -> i64 {
    size(at.as_nanos())
}

#[inline]
fn span(span: Span) -> i64 {
    size(span.as_nanos())
}

#[inline]
fn maybe(known: Option<Span>) -> i64 {
    known.map_or(abi::HALTERE_UNKNOWN, span)
}

#[inline]
fn rate(known: Option<Rate>) -> i64 {
    known.map_or(abi::HALTERE_UNKNOWN, |rate| size(rate.as_bps()))
}

/// The present time, the peer's time and the echo.
#[inline]
fn stamps(known: Option<cc::Stamps>) -> [i64; 3] {
    known.map_or([abi::HALTERE_UNKNOWN; 3], |s| [s.now.into(), s.value.into(), s.echo.into()])
}

/// An event of ours that has a form in the interface.
pub trait Event {
    /// That form.
    type Form;
    /// The event in it.
    fn form(&self) -> Self::Form;
}

impl Event for cc::Established {
    type Form = abi::Established;
    #[inline]
    fn form(&self) -> abi::Established {
        abi::Established { now: time(self.now), rtt: maybe(self.rtt) }
    }
}

impl Event for cc::Sent {
    type Form = abi::Sent;
    #[inline]
    fn form(&self) -> abi::Sent {
        abi::Sent {
            now: time(self.now),
            bytes: size(self.bytes),
            in_flight: size(self.in_flight),
            total_delivered: size(self.total_delivered),
            after_idle: maybe(self.after_idle),
            timeout: span(self.timeout),
            app_limited: self.app_limited,
        }
    }
}

impl Event for cc::Ack {
    type Form = abi::Ack;
    #[inline]
    fn form(&self) -> abi::Ack {
        let [stamp_now, stamp_value, stamp_echo] = stamps(self.stamps);
        abi::Ack {
            now: time(self.now),
            delivered: size(self.delivered),
            lost: size(self.lost),
            rtt: maybe(self.rtt),
            srtt: maybe(self.srtt),
            min_rtt: maybe(self.min_rtt),
            in_flight: size(self.in_flight),
            prior_in_flight: size(self.prior_in_flight),
            acked_to: size(self.acked_to),
            sent_to: size(self.sent_to),
            total_delivered: size(self.total_delivered),
            total_lost: size(self.total_lost),
            next_departure: time(self.next_departure),
            stamp_now,
            stamp_value,
            stamp_echo,
            rate: abi::RateSample {
                delivered: size(self.rate.delivered),
                interval: span(self.rate.interval),
                prior_delivered: size(self.rate.prior_delivered),
                lost: size(self.rate.lost),
                in_flight: size(self.rate.in_flight),
                app_limited: self.rate.app_limited,
            },
            phase: match self.phase {
                cc::Phase::Open => abi::HALTERE_PHASE_OPEN,
                cc::Phase::Disorder => abi::HALTERE_PHASE_DISORDER,
                cc::Phase::Reducing => abi::HALTERE_PHASE_REDUCING,
                cc::Phase::Recovery => abi::HALTERE_PHASE_RECOVERY,
                cc::Phase::Loss => abi::HALTERE_PHASE_LOSS,
            },
            window_limited: self.window_limited,
            may_grow: self.may_grow,
            delayed: self.delayed,
        }
    }
}

impl Event for cc::Echo {
    type Form = abi::Echo;
    #[inline]
    fn form(&self) -> abi::Echo {
        abi::Echo {
            now: time(self.now),
            acked_to: size(self.acked_to),
            sent_to: size(self.sent_to),
            total_delivered: size(self.total_delivered),
            total_marked: size(self.total_marked),
        }
    }
}

impl Event for cc::Arrival {
    type Form = abi::Arrival;
    #[inline]
    fn form(&self) -> abi::Arrival {
        let [stamp_now, stamp_value, stamp_echo] = stamps(self.stamps);
        abi::Arrival {
            now: time(self.now),
            rtt: maybe(self.rtt),
            srtt: maybe(self.srtt),
            min_rtt: maybe(self.min_rtt),
            acked_to: size(self.acked_to),
            sent_to: size(self.sent_to),
            total_delivered: size(self.total_delivered),
            prior_delivered: self.prior_delivered.map_or(abi::HALTERE_UNKNOWN, size),
            in_flight: size(self.in_flight),
            stamp_now,
            stamp_value,
            stamp_echo,
        }
    }
}

impl Event for cc::Lost {
    type Form = abi::Lost;
    #[inline]
    fn form(&self) -> abi::Lost {
        abi::Lost {
            now: time(self.now),
            start: size(self.from),
            end: size(self.to),
            bytes: size(self.bytes),
            total_delivered: size(self.total_delivered),
            total_lost: size(self.total_lost),
            sent_delivered: size(self.sent.delivered),
            sent_lost: size(self.sent.lost),
            sent_in_flight: i64::from(self.sent.in_flight),
            sent_app_limited: self.sent.app_limited,
        }
    }
}

impl Event for cc::Congestion {
    type Form = abi::Congestion;
    #[inline]
    fn form(&self) -> abi::Congestion {
        abi::Congestion {
            now: time(self.now),
            in_flight: size(self.in_flight),
            lost: size(self.lost),
            trigger: match self.trigger {
                cc::Trigger::Loss => abi::HALTERE_TRIGGER_LOSS,
                cc::Trigger::Timeout => abi::HALTERE_TRIGGER_TIMEOUT,
                cc::Trigger::PersistentCongestion => abi::HALTERE_TRIGGER_PERSISTENT,
                cc::Trigger::Ecn => abi::HALTERE_TRIGGER_ECN,
                cc::Trigger::Local => abi::HALTERE_TRIGGER_LOCAL,
                cc::Trigger::Delay => abi::HALTERE_TRIGGER_DELAY,
            },
            new_episode: self.new_episode,
        }
    }
}

impl Event for PathView {
    type Form = abi::Path;
    #[inline]
    fn form(&self) -> abi::Path {
        abi::Path {
            id: u32::from(self.id.0),
            own: self.own,
            usable: self.state.usable(),
            standby: self.state == PathState::Standby,
            in_slow_start: self.in_slow_start,
            window: size(self.window),
            ssthresh: size(self.ssthresh),
            in_flight: size(self.in_flight),
            queued: size(self.queued),
            capacity: size(self.capacity),
            overhead: size(self.overhead),
            mss: size(self.mss),
            srtt: maybe(self.srtt),
            min_rtt: maybe(self.min_rtt),
            rtt_variation: span(self.rtt_variation),
            delivery_rate: rate(self.delivery_rate),
            pacing_rate: rate(self.pacing_rate),
            paced_until: time(self.paced_until),
            since_loss: size(self.since_loss),
            between_losses: size(self.between_losses),
        }
    }
}
