//! Intervals: what a flow saw between two decisions.

use haltere_net::Time;
use haltere_net::{Rate, Span};
use haltere_transport::cc::Seen;

/// The declaration of a number of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name, which ends in its unit.
    pub name: &'static str,
    /// Its meaning, in one line.
    pub summary: &'static str,
}

macro_rules! fields {
    ($($(#[doc = $summary:literal])* $name:ident,)*) => {
        /// The numbers of a flow between two decisions. Bytes are those of the transport: TCP's data, QUIC's packets.
        #[derive(Clone, Copy, PartialEq, Default, Debug)]
        pub struct Interval {
            $($(#[doc = $summary])* pub $name: f64,)*
        }

        /// The numbers of an interval, in their order.
        pub const FIELDS: &[Field] = &[$(Field { name: stringify!($name), summary: concat!($($summary),*) }),*];

        impl Interval {
            /// Its numbers, in the order of [`FIELDS`].
            pub fn values(&self) -> [f64; FIELDS.len()] {
                [$(self.$name),*]
            }
        }
    };
}

fields! {
    /// The end of the interval, from the start of the run.
    time_s,
    /// Its length.
    duration_s,
    /// Bytes sent, retransmissions included.
    sent_bytes,
    /// Bytes delivered, as acknowledgements told.
    acked_bytes,
    /// Bytes found lost.
    lost_bytes,
    /// Acknowledgements that delivered data.
    acks,
    /// The mean RTT; without a sample the last one that is known, and 0 before the first.
    mean_rtt_s,
    /// The least RTT; without a sample the last one that is known.
    least_rtt_s,
    /// The last RTT.
    last_rtt_s,
    /// By how much the RTT rose, by least squares, in seconds a second; 0 without two samples.
    rtt_slope,
    /// The smoothed RTT (RFC 6298).
    smoothed_rtt_s,
    /// The least RTT of the connection so far.
    base_rtt_s,
    /// Bytes sent a second, in bit/s.
    send_rate_bps,
    /// Bytes delivered a second, in bit/s.
    delivery_rate_bps,
    /// Bytes found lost a second, in bit/s.
    loss_rate_bps,
    /// Bytes found lost, as a share of those delivered or lost; 0 if there are none.
    loss_ratio,
    /// The congestion window, at the end.
    window_bytes,
    /// The bytes in flight, at the end.
    in_flight_bytes,
    /// The pacing rate, at the end; for a congestion control without one, the rate that Linux would pace by.
    pacing_rate_bps,
    /// The data of a full packet.
    packet_bytes,
}

/// Linux paces a window-based congestion control by its window per smoothed RTT, times this in slow start …
const PACING_SLOW_START: f64 = 2.0;
/// … and this afterwards (`tcp_update_pacing_rate`).
const PACING: f64 = 1.2;

fn seconds(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_secs_f64)
}

impl Interval {
    /// The interval between two looks at a flow, at these times. `last` is the one before.
    pub(crate) fn between((from, before): (Time, &Seen), (to, after): (Time, &Seen), last: &Interval) -> Interval {
        let duration_s = to.since(from).as_secs_f64();
        let bytes = |counter: fn(&Seen) -> u64| counter(after).saturating_sub(counter(before)) as f64;
        let per_second = |bytes: f64| if duration_s > 0.0 { bytes * 8.0 / duration_s } else { 0.0 };
        let (sent_bytes, acked_bytes) = (bytes(|seen| seen.sent), bytes(|seen| seen.delivered));
        let lost_bytes = bytes(|seen| seen.lost);
        let known = if last.last_rtt_s > 0.0 { Some(last.last_rtt_s) } else { None };
        let known = known.or(seconds(after.least_rtt)).unwrap_or(0.0);
        let smoothed_rtt_s = seconds(after.srtt).unwrap_or(known);
        let window_bytes = after.window as f64;
        let of_window = if smoothed_rtt_s > 0.0 {
            let gain = if after.window < after.ssthresh { PACING_SLOW_START } else { PACING };
            gain * window_bytes * 8.0 / smoothed_rtt_s
        } else {
            0.0
        };
        let reached = acked_bytes + lost_bytes;
        Interval {
            time_s: to.as_secs_f64(),
            duration_s,
            sent_bytes,
            acked_bytes,
            lost_bytes,
            acks: bytes(|seen| seen.acks),
            mean_rtt_s: after.rtts.mean().unwrap_or(known),
            least_rtt_s: seconds(after.rtts.least).unwrap_or(known),
            last_rtt_s: seconds(after.rtts.last).unwrap_or(known),
            rtt_slope: after.rtts.slope(),
            smoothed_rtt_s,
            base_rtt_s: seconds(after.least_rtt).unwrap_or(known),
            send_rate_bps: per_second(sent_bytes),
            delivery_rate_bps: per_second(acked_bytes),
            loss_rate_bps: per_second(lost_bytes),
            loss_ratio: if reached > 0.0 { lost_bytes / reached } else { 0.0 },
            window_bytes,
            in_flight_bytes: after.in_flight as f64,
            pacing_rate_bps: after.rate.map_or(of_window, |rate: Rate| rate.as_bps() as f64),
            packet_bytes: after.mss as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_the_loss_ratio_are_those_of_the_difference_of_two_looks() {
        let before = Seen { sent: 1000, delivered: 500, lost: 100, acks: 1, ..Seen::default() };
        let after = Seen {
            sent: 5000,
            delivered: 3500,
            lost: 1100,
            acks: 4,
            window: 20_000,
            mss: 1000,
            srtt: Some(Span::from_millis(100)),
            ..Seen::default()
        };
        let at = |s| Time::ZERO + Span::from_secs(s);
        let found = Interval::between((at(1), &before), (at(3), &after), &Interval::default());
        assert_eq!((found.time_s, found.duration_s), (3.0, 2.0));
        assert_eq!((found.send_rate_bps, found.delivery_rate_bps, found.loss_rate_bps), (16e3, 12e3, 4e3));
        assert_eq!((found.loss_ratio, found.acks), (0.25, 3.0));
        assert_eq!(found.pacing_rate_bps, 1.2 * 20_000.0 * 8.0 / 0.1);
    }

    #[test]
    fn an_interval_without_a_sample_keeps_the_rtt_that_is_known() {
        let last = Interval { last_rtt_s: 0.25, ..Interval::default() };
        let at = |s| Time::ZERO + Span::from_secs(s);
        let seen = Seen::default();
        let found = Interval::between((at(1), &seen), (at(2), &seen), &last);
        assert_eq!((found.mean_rtt_s, found.least_rtt_s, found.last_rtt_s, found.rtt_slope), (0.25, 0.25, 0.25, 0.0));
        assert!(found.values().iter().all(|value| value.is_finite()));
    }

    #[test]
    fn the_values_have_the_order_of_the_declarations() {
        let values = Interval { time_s: 1.0, packet_bytes: 9.0, ..Interval::default() }.values();
        assert_eq!((FIELDS[0].name, values[0]), ("time_s", 1.0));
        assert_eq!((FIELDS[FIELDS.len() - 1].name, values[FIELDS.len() - 1]), ("packet_bytes", 9.0));
        assert!(FIELDS.iter().all(|field| !field.summary.trim().is_empty()));
    }
}
