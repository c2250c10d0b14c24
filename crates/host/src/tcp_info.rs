//! `struct tcp_info` (linux/tcp.h, as of Linux 6.12) by name. A kernel returns as many of its bytes as it has.

use crate::sys;
use haltere_net::Time;
use rustix::fd::BorrowedFd;
use serde_json::{Map, Value};
use std::io;

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

/// The kernel's state of one connection.
#[derive(Clone)]
pub(crate) struct TcpInfo {
    bytes: [u8; 512],
    len: usize,
}

impl TcpInfo {
    /// Asks the kernel for it.
    pub(crate) fn of(fd: BorrowedFd<'_>) -> io::Result<TcpInfo> {
        let (bytes, len) = sys::tcp_info(fd)?;
        Ok(TcpInfo { bytes, len })
    }

    fn at(&self, offset: usize, bytes: usize) -> Option<u64> {
        let field = self.bytes.get(offset..offset + bytes).filter(|_| offset + bytes <= self.len)?;
        let mut word = [0u8; 8];
        // Native order: x86 and ARM are little-endian; a big-endian number stands at the word's end.
        let place = if cfg!(target_endian = "little") { 0 } else { 8 - bytes };
        word[place..place + bytes].copy_from_slice(field);
        Some(u64::from_ne_bytes(word))
    }

    /// The field of this name; `None` if the kernel does not have it.
    pub(crate) fn get(&self, name: &str) -> Option<u64> {
        FIELDS.iter().find(|f| f.0 == name).and_then(|&(_, offset, bytes)| self.at(offset, bytes))
    }

    /// All fields that the kernel returned.
    pub(crate) fn to_json(&self) -> Value {
        let mut all: Map<String, Value> = FIELDS
            .iter()
            .filter_map(|&(name, offset, bytes)| Some((name.to_string(), self.at(offset, bytes)?.into())))
            .collect();
        // C gives bit fields no fixed place, but every compiler for Linux fills a little-endian byte from below.
        let (scales, flags) = (self.bytes[SCALES], self.bytes[FLAGS]);
        let (low, high) =
            if cfg!(target_endian = "little") { (scales & 15, scales >> 4) } else { (scales >> 4, scales & 15) };
        all.insert("snd_wscale".into(), low.into());
        all.insert("rcv_wscale".into(), high.into());
        all.insert("delivery_rate_app_limited".into(), (flags & 1).into());
        all.insert("fastopen_client_fail".into(), (flags >> 1 & 3).into());
        Value::Object(all)
    }

    /// The values that the simulator traces, in the order of its `Metric`: cwnd, ssthresh, bytes in flight (bytes), RTT
    /// (ns), delivery rate and pacing rate (bit/s). `None` where the kernel has no value yet.
    pub(crate) fn metrics(&self) -> [Option<u64>; 6] {
        let get = |name| self.get(name).unwrap_or(0);
        let mss = get("snd_mss");
        // TCP_INFINITE_SSTHRESH of the kernel's tcp.h.
        let ssthresh = Some(get("snd_ssthresh")).filter(|&s| s < 0x7fff_ffff).map(|s| s * mss);
        let in_flight = (get("unacked") + get("retrans")).saturating_sub(get("sacked") + get("lost")) * mss;
        let rtt = Some(get("rtt") * 1000).filter(|&r| r > 0);
        let rate = |name| Some(get(name)).filter(|&r| r > 0 && r != u64::MAX).map(|r| r.saturating_mul(8));
        [Some(get("snd_cwnd") * mss), ssthresh, Some(in_flight), rtt, rate("delivery_rate"), rate("pacing_rate")]
    }
}

/// The changes of one metric.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) at: Vec<Time>,
    pub(crate) value: Vec<u64>,
}

impl Changes {
    /// Keeps `value` if it differs from the last one.
    pub(crate) fn push(&mut self, at: Time, value: u64) {
        if self.value.last() != Some(&value) {
            self.at.push(at);
            self.value.push(value);
        }
    }
}
