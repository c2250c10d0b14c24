//! `struct tcp_info` (linux/tcp.h, as of Linux 6.12) by name. A kernel returns as many of its bytes as it has; they may be any.

use haltere_net::Metric;
use haltere_net::incident::CongestionState;

/// Offset of the two bytes of bit fields.
const SCALES: usize = 6;
const FLAGS: usize = 7;

/// The fields except the bit fields: name without `tcpi_`, offset, bytes.
#[rustfmt::skip]
const FIELDS: &[(&str, usize, usize)] = &[
    ("state", 0, 1), ("ca_state", 1, 1), ("retransmits", 2, 1), ("probes", 3, 1), ("backoff", 4, 1), ("options", 5, 1),
    ("rto", 8, 4), ("ato", 12, 4), ("snd_mss", 16, 4), ("rcv_mss", 20, 4), ("unacked", 24, 4), ("sacked", 28, 4),
    ("lost", 32, 4), ("retrans", 36, 4), ("fackets", 40, 4), ("last_data_sent", 44, 4), ("last_ack_sent", 48, 4),
    ("last_data_recv", 52, 4), ("last_ack_recv", 56, 4), ("pmtu", 60, 4), ("rcv_ssthresh", 64, 4), ("rtt", 68, 4),
    ("rttvar", 72, 4), ("snd_ssthresh", 76, 4), ("snd_cwnd", 80, 4), ("advmss", 84, 4), ("reordering", 88, 4),
    ("rcv_rtt", 92, 4), ("rcv_space", 96, 4), ("total_retrans", 100, 4), ("pacing_rate", 104, 8),
    ("max_pacing_rate", 112, 8), ("bytes_acked", 120, 8), ("bytes_received", 128, 8), ("segs_out", 136, 4),
    ("segs_in", 140, 4), ("notsent_bytes", 144, 4), ("min_rtt", 148, 4), ("data_segs_in", 152, 4),
    ("data_segs_out", 156, 4), ("delivery_rate", 160, 8), ("busy_time", 168, 8), ("rwnd_limited", 176, 8),
    ("sndbuf_limited", 184, 8), ("delivered", 192, 4), ("delivered_ce", 196, 4), ("bytes_sent", 200, 8),
    ("bytes_retrans", 208, 8), ("dsack_dups", 216, 4), ("reord_seen", 220, 4), ("rcv_ooopack", 224, 4),
    ("snd_wnd", 228, 4), ("rcv_wnd", 232, 4), ("rehash", 236, 4), ("total_rto", 240, 2),
    ("total_rto_recoveries", 242, 2), ("total_rto_time", 244, 4),
];

/// The metrics that a kernel tells, in the order of [`TcpInfo::metrics`].
pub const METRICS: [Metric; 6] =
    [Metric::Cwnd, Metric::Ssthresh, Metric::BytesInFlight, Metric::Rtt, Metric::DeliveryRate, Metric::PacingRate];

/// The kernel's state of one connection.
#[derive(Clone, Debug)]
pub struct TcpInfo(Vec<u8>);

impl TcpInfo {
    /// The state in these bytes.
    pub fn new(bytes: Vec<u8>) -> TcpInfo {
        TcpInfo(bytes)
    }

    fn at(&self, offset: usize, bytes: usize) -> Option<u64> {
        let field = self.0.get(offset..offset + bytes)?;
        let mut word = [0u8; 8];
        // Native order: x86 and ARM are little-endian; a big-endian number stands at the word's end.
        let place = if cfg!(target_endian = "little") { 0 } else { 8 - bytes };
        word[place..place + bytes].copy_from_slice(field);
        Some(u64::from_ne_bytes(word))
    }

    /// The field of this name; `None` if the kernel does not have it.
    pub fn get(&self, name: &str) -> Option<u64> {
        FIELDS.iter().find(|f| f.0 == name).and_then(|&(_, offset, bytes)| self.at(offset, bytes))
    }

    /// All fields that the kernel returned, by name.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        // C gives bit fields no fixed place, but every compiler for Linux fills a little-endian byte from below.
        let (scales, flags) = (self.at(SCALES, 1), self.at(FLAGS, 1));
        let halves =
            |byte: u64| if cfg!(target_endian = "little") { (byte & 15, byte >> 4) } else { (byte >> 4, byte & 15) };
        let of_bits = [
            ("snd_wscale", scales.map(|byte| halves(byte).0)),
            ("rcv_wscale", scales.map(|byte| halves(byte).1)),
            ("delivery_rate_app_limited", flags.map(|byte| byte & 1)),
            ("fastopen_client_fail", flags.map(|byte| byte >> 1 & 3)),
        ];
        let whole = FIELDS.iter().map(|&(name, offset, bytes)| (name, self.at(offset, bytes)));
        whole.chain(of_bits).filter_map(|(name, value)| Some((name, value?)))
    }

    /// The state of congestion control. The kernel's own (`enum tcp_ca_state` of linux/tcp.h) does not tell slow start from the steady state:
    /// the threshold does.
    pub fn state(&self) -> Option<CongestionState> {
        let below = self.get("snd_cwnd")? < self.get("snd_ssthresh")?;
        Some(match self.get("ca_state")? {
            2 | 3 => CongestionState::Recovery,
            4 => CongestionState::Timeout,
            _ if below => CongestionState::SlowStart,
            _ => CongestionState::Avoidance,
        })
    }

    /// The values of [`METRICS`]: bytes, ns, bit/s. `None` where the kernel has no value yet.
    pub fn metrics(&self) -> [Option<u64>; 6] {
        let get = |name| self.get(name).unwrap_or(0);
        let mss = get("snd_mss");
        let bytes = |segments: u64| segments.saturating_mul(mss);
        // TCP_INFINITE_SSTHRESH of the kernel's tcp.h.
        let ssthresh = Some(get("snd_ssthresh")).filter(|&s| s < 0x7fff_ffff).map(bytes);
        let in_flight = bytes((get("unacked") + get("retrans")).saturating_sub(get("sacked") + get("lost")));
        let rtt = Some(get("rtt") * 1000).filter(|&r| r > 0);
        let rate = |name| Some(get(name)).filter(|&r| r > 0 && r != u64::MAX).map(|r| r.saturating_mul(8));
        [Some(bytes(get("snd_cwnd"))), ssthresh, Some(in_flight), rtt, rate("delivery_rate"), rate("pacing_rate")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_stand_where_linux_has_them() {
        let mut bytes = vec![0; 248];
        bytes[16..20].copy_from_slice(&1448u32.to_ne_bytes());
        bytes[80..84].copy_from_slice(&10u32.to_ne_bytes());
        bytes[76..80].copy_from_slice(&u32::MAX.to_ne_bytes());
        bytes[242..244].copy_from_slice(&3u16.to_ne_bytes());
        let info = TcpInfo::new(bytes);
        assert_eq!(info.metrics(), [Some(14_480), None, Some(0), None, None, None]);
        assert_eq!(info.get("total_rto_recoveries"), Some(3));
        assert_eq!(info.state(), Some(CongestionState::SlowStart));
        assert_eq!(TcpInfo::new(vec![1; 100]).get("total_retrans"), None, "an older kernel has less");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_state(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let info = TcpInfo::new(bytes);
            prop_assert!(info.fields().count() <= FIELDS.len() + 4);
            prop_assert_eq!(info.metrics().len(), METRICS.len());
        }
    }
}
