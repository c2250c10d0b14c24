//! Dynamic right-sizing of the receive window (M. Fisk, W. Feng, 2001; Linux: `tcp_rcv_space_adjust`).

use super::config::{Config, WINDOW_SHARE};
use super::ticks::timestamp;
use haltere_net::Time;

/// The largest window that can be advertised (RFC 7323 section 2.3).
pub(super) const MOST_WINDOW: u64 = 65_535 << 14;

/// Dynamic right-sizing of the receive window, as Linux does it.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The window beyond what was read (Linux: `rcv_ssthresh`).
    pub space: u64,
    /// The window that the buffer has room for (Linux: `window_clamp`). `space` grows towards it with each packet.
    pub clamp: u64,
    pub max: u64,
    pub scale: u32,
    pub edge: u64,
    pub rtt8: u64,
    pub last_echo: u32,
    pub since: Time,
    pub from: u64,
    pub measured: u64,
}

impl Window {
    pub fn new(config: &Config) -> Window {
        let space = config.initial_receive_window.min(MOST_WINDOW);
        let max = config.max_receive_window.clamp(space, MOST_WINDOW);
        let mut scale = 0;
        while max >> scale > 65_535 && scale < 14 {
            scale += 1;
        }
        Window {
            space,
            clamp: (space / 128).saturating_mul(WINDOW_SHARE).min(max).max(space),
            max,
            scale,
            edge: 0,
            rtt8: 0,
            last_echo: 0,
            since: Time::ZERO,
            from: 0,
            measured: space.min(10 * config.mss()),
        }
    }

    /// A data segment echoed our timestamp. It gives one sample of the RTT.
    pub fn sample(&mut self, now: Time, echo: u32) {
        if echo == 0 || echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let ms = u64::from(timestamp(now).wrapping_sub(echo).max(1));
        self.rtt8 = if self.rtt8 == 0 { ms * 8_000_000 } else { self.rtt8 - self.rtt8 / 8 + ms * 1_000_000 };
    }

    /// A data packet arrived: increases the window by two segments if the buffer has room for them and for the `held`
    /// bytes behind a gap. Returns whether it did.
    pub fn grow(&mut self, mss: u64, held: u64) -> bool {
        let room = self.clamp.saturating_sub(held).saturating_sub(self.space);
        self.space += room.min(2 * mss);
        room > 0
    }

    /// The application has read up to `read`. Once per RTT the buffer is sized for twice the bytes read in the last
    /// one.
    pub fn adjust(&mut self, now: Time, read: u64, mss: u64) {
        if self.rtt8 == 0 || now.since(self.since).as_nanos() < self.rtt8 / 8 {
            return;
        }
        let copied = read - self.from;
        if copied > self.measured {
            let base = 2 * copied + 16 * mss;
            let grow =
                (u128::from(base) * u128::from(copied - self.measured) / u128::from(self.measured.max(1))) as u64;
            self.clamp = self.clamp.max(base.saturating_add(grow.saturating_mul(2)).min(self.max));
            self.measured = copied;
        }
        self.since = now;
        self.from = read;
    }
}
