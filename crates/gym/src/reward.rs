//! The rewards of papers.

use crate::interval::Interval;
use crate::observation::{Memory, ORCA_LOSSES, delay_metric};

/// A reward of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reward {
    /// 10 × throughput − 1000 × latency − 2000 × loss, with the throughput in packets a second, the mean RTT in s and the loss as
    /// a share (Jay et al., ICML 2019). Aurora's published simulator counts packets of 1500 bytes; here a packet is a
    /// full one of the connection.
    Aurora,
    /// (throughput − 5 × rate of losses) / largest throughput so far × the metric of delay, which is 1 up to 1.25 base RTTs and
    /// then 1.25 base RTT / smoothed RTT (Abbasloo et al., SIGCOMM 2020, and its published code).
    Orca,
    /// Nothing: the reward is made elsewhere.
    Nothing,
}

impl Reward {
    /// The reward of an interval.
    pub(crate) fn of(self, interval: &Interval, memory: &Memory) -> f64 {
        match self {
            Reward::Nothing => 0.0,
            Reward::Aurora => {
                let packets = interval.delivery_rate_bps / (8.0 * interval.packet_bytes.max(1.0));
                10.0 * packets - 1000.0 * interval.mean_rtt_s - 2000.0 * interval.loss_ratio
            }
            Reward::Orca => {
                let gain = interval.delivery_rate_bps - ORCA_LOSSES * interval.loss_rate_bps;
                memory.relative(gain) * delay_metric(interval)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auroras_reward_weighs_packets_a_second_seconds_and_the_share_of_losses() {
        let interval = Interval {
            delivery_rate_bps: 200.0 * 8.0 * 1448.0,
            packet_bytes: 1448.0,
            mean_rtt_s: 0.25,
            loss_ratio: 0.1,
            ..Interval::default()
        };
        assert_eq!(Reward::Aurora.of(&interval, &Memory::default()), 2000.0 - 250.0 - 200.0);
    }

    #[test]
    fn orcas_reward_is_one_at_the_largest_throughput_without_losses_and_delay() {
        let interval =
            Interval { delivery_rate_bps: 1e6, base_rtt_s: 0.1, smoothed_rtt_s: 0.12, ..Interval::default() };
        let mut memory = Memory::default();
        memory.note(&interval);
        assert_eq!(Reward::Orca.of(&interval, &memory), 1.0);
        let worse = Interval { loss_rate_bps: 0.1e6, smoothed_rtt_s: 0.25, ..interval };
        assert_eq!(Reward::Orca.of(&worse, &memory), 0.25);
    }
}
