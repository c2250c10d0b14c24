//! Dynamic right-sizing of the receive window (M. Fisk, W. Feng, 2001; Linux: `tcp_rcv_space_adjust`).

use super::config::{Config, NetworkCard};
use super::memory::Held;
use super::ticks::whole_micros;
use haltere_net::{Span, Time};

/// Data in order opens the window only if a segment has this many bytes of it (Linux: `tcp_event_data_recv`).
const LEAST_TO_GROW: u64 = 128;

/// The share of a buffer that is window before a segment tells, in 256ths (Linux: `TCP_DEFAULT_SCALING_RATIO`).
const FIRST_SHARE: u8 = 128;

/// The largest scale of a window (RFC 7323 section 2.3).
const MOST_SCALE: u8 = 14;
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
    pub scale: u8,
    pub edge: u64,
    pub since: Time,
    pub from: u64,
    pub measured: u64,
    pub card: NetworkCard,
    /// The share of the buffer that is window, in 256ths, as the last segment that was larger than those before it tells (Linux:
    /// `scaling_ratio`); and whether there was one.
    share: u8,
    told: bool,
    /// Whether it was given, and is not the share of a buffer.
    pub given: bool,
    /// Data bytes of the largest segment that we announced, without options (Linux: `advmss`, which counts those of MPTCP).
    announced: u16,
}

/// A data segment that may open the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// It continues the data in order.
    InOrder {
        /// Its data bytes.
        len: u64,
    },
    /// It came behind a gap, and not right behind a segment that is held.
    BehindGap {
        /// Its data bytes.
        len: u64,
    },
    /// It came behind a gap and right behind a segment that is held, with which it is stored.
    Appended {
        /// Its data bytes.
        len: u64,
    },
}

impl Window {
    /// The part of the window for which this memory leaves no room.
    fn window_of(&self, memory: u64) -> u64 {
        memory.saturating_mul(self.share()).div_ceil(256)
    }

    /// Whether a segment has told the share of the buffer that is window.
    pub fn is_measured(&self) -> bool {
        self.told
    }

    fn share(&self) -> u64 {
        self.share.into()
    }

    /// The window of the largest buffer (Linux: `tcp_rmem[2]`).
    fn most(&self) -> u64 {
        if self.given { self.max } else { self.max.saturating_mul(self.share()) / self.card.window_share() }
    }

    pub fn new(config: &Config) -> Window {
        let buffer = config.initial_receive_window.min(MOST_WINDOW);
        let max = config.max_receive_window.clamp(buffer, MOST_WINDOW);
        let announced = config.mss();
        let share = config.network_card.window_share();
        let given = max == buffer;
        // Linux scales so that the memory of the largest buffer could be offered (`tcp_select_initial_window`).
        let most = if given { max } else { (max * 256).div_ceil(share) };
        let scale = (most.max(1).ilog2() as u8).saturating_sub(15).min(MOST_SCALE);
        Window {
            // A window that is given, and not the share of a buffer, is offered as it is.
            space: if given { buffer } else { first_space(buffer, announced) },
            clamp: buffer,
            max,
            scale,
            edge: 0,
            since: Time::ZERO,
            from: 0,
            measured: buffer.min(10 * announced),
            card: config.network_card,
            share: FIRST_SHARE,
            told: false,
            given,
            announced: u16::try_from(announced).unwrap_or(u16::MAX),
        }
    }

    /// The window of a buffer in which full segments are expected.
    pub fn measured(config: &Config) -> Window {
        let mut window = Window::new(config);
        window.measure(window.announced());
        window
    }

    /// A segment with `len` bytes of data is larger than those before it: its memory tells what share of the buffer is window (Linux:
    /// `tcp_measure_rcv_mss`).
    pub fn measure(&mut self, len: u64) {
        let share = (len * 256 / self.card.memory(len)).clamp(1, 255) as u8;
        let before = self.share();
        (self.share, self.told) = (share, true);
        if !self.given {
            self.clamp = (self.clamp.saturating_mul(share.into()) / before).min(self.most());
            self.measured = self.measured.min(self.clamp);
        }
    }

    /// A data segment of a peer with segments of `mss` arrived while `held` waited behind a gap. Increases the window by
    /// two segments if the buffer has room for them beside what it holds. Returns whether it did. A subflow of MPTCP looks at
    /// its own buffer alone: what it received in order is the connection's, whose room bounds what is offered.
    ///
    /// Data in order is stored before the buffer is looked at, and so is data that continues what is held; other data
    /// behind a gap is stored afterwards. When the window has grown to its largest size, the first segment behind a gap
    /// therefore finds room once more, and is acknowledged at once (Linux: `tcp_grow_window`, which `tcp_data_queue`
    /// calls after it charged the segment to the socket, and `tcp_data_queue_ofo` before).
    pub fn grow(&mut self, arrival: Arrival, mss: u64, held: Held) -> bool {
        let (stored, len) = match arrival {
            Arrival::InOrder { len } if len < LEAST_TO_GROW => return false,
            Arrival::InOrder { len } => (self.card.memory(len), len),
            Arrival::Appended { len } => (self.card.appended(len), len),
            Arrival::BehindGap { len } => (0, len),
        };
        // The first window is all that half of the buffer has room for, beside a segment.
        if !self.is_measured() && !self.given {
            return false;
        }
        let room = self.clamp.saturating_sub(self.window_of(held.memory + stored)).saturating_sub(self.space);
        if room == 0 {
            return false;
        }
        let memory = if stored > 0 { self.card.of_data(len) } else { self.card.memory(len) };
        let increment = self.increment(len, memory, mss);
        self.space += room.min(increment);
        increment > 0
    }

    /// The window that an acknowledgement offers to a peer with segments of `mss`: what arrivals have opened, as far as `taken` bytes of
    /// memory leave room for it (Linux: `__tcp_select_window`).
    pub fn select(&self, taken: u64, mss: u64) -> u64 {
        let mut free = self.clamp.saturating_sub(self.window_of(taken));
        if free < self.clamp / 2 {
            free &= !self.rest();
            if free < self.clamp / 16 || free < mss {
                return 0;
            }
        }
        self.scaled(free.min(self.space))
    }

    /// A window as it is sent. It is rounded up: rounding down would withdraw part of what was advertised (RFC 7323 section 2.4; Linux:
    /// `tcp_select_window`).
    pub fn scaled(&self, window: u64) -> u64 {
        (window + self.rest()) & !self.rest()
    }

    /// The digits of a window that its scale does not tell.
    fn rest(&self) -> u64 {
        (1 << self.scale) - 1
    }

    /// Whether more than half of the buffer is taken, by what is held here and by the bytes that an MPTCP connection holds
    /// `elsewhere` (Linux: `__tcp_select_window`, with `mptcp_space`).
    pub fn is_half_taken(&self, held: Held, elsewhere: u64) -> bool {
        held.bytes + elsewhere > 0 && self.window_of(held.memory).saturating_add(elsewhere) > self.clamp / 2
    }

    pub fn announced(&self) -> u64 {
        u64::from(self.announced)
    }

    /// How much a segment that takes so much memory increases the window: by less if the host's overhead is much of it, and then only
    /// while the window is small (Linux: `__tcp_grow_window`).
    fn increment(&self, len: u64, memory: u64, mss: u64) -> u64 {
        let mut memory = self.window_of(memory);
        if memory <= len {
            return 2 * self.announced().max(len);
        }
        let mut window = self.most() / 2;
        memory /= 2;
        while self.space <= window {
            if memory <= len {
                return 2 * mss.max(len);
            }
            memory /= 2;
            window /= 2;
        }
        0
    }

    /// The application has read up to `read`. Once per RTT the buffer is sized for twice the bytes read in the last one, less
    /// `waiting` that wait behind them (Linux: `tcp_rcv_space_adjust`, in whole microseconds).
    pub fn adjust(&mut self, now: Time, rtt: Span, read: u64, waiting: u64) {
        let now = whole_micros(now);
        if rtt.is_zero() || now.since(self.since) < rtt {
            return;
        }
        let copied = (read - self.from).saturating_sub(waiting);
        if copied > self.measured {
            let base = 2 * copied + 16 * self.announced();
            let grow =
                (u128::from(base) * u128::from(copied - self.measured) / u128::from(self.measured.max(1))) as u64;
            self.clamp = self.clamp.max(base.saturating_add(grow.saturating_mul(2)).min(self.most()));
            self.measured = copied;
        }
        self.since = now;
        self.from = read;
    }
}

/// The first window after the handshake, of a buffer with room for `buffer` bytes: one segment less, or whole segments if
/// there is room for two at most (Linux: `tcp_init_buffer_space`, `tcp_select_initial_window`).
fn first_space(buffer: u64, segment: u64) -> u64 {
    if buffer > 2 * segment {
        (buffer - segment).max(2 * segment)
    } else if buffer > segment {
        buffer - buffer % segment
    } else {
        buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CUBIC;
    use crate::endpoint::Role;
    use haltere_net::rng::Streams;

    const FULL: u64 = 1448;

    fn window() -> Window {
        Window::measured(&Config::new(Role::Client, CUBIC, Streams::new(1, 0).named("test")))
    }

    #[test]
    fn the_share_of_the_window_follows_from_the_memory_of_a_full_segment() {
        // Linux: `tcp_measure_rcv_mss` sets `scaling_ratio` to the data's share of a segment's memory, in 256ths.
        assert_eq!(NetworkCard::ALL.map(NetworkCard::window_share), [153, 170, 160]);
    }

    #[test]
    fn the_first_window_leaves_room_for_a_segment() {
        assert_eq!(first_space(65_536, FULL), 64_088);
        assert_eq!(first_space(1000, FULL), 1000);
        assert_eq!(first_space(2000, FULL), FULL);
    }

    #[test]
    fn the_window_grows_until_the_buffer_has_no_room_beside_the_segment_itself() {
        let mut window = window();
        let (first, clamp) = (window.space, window.clamp);
        let mut steps = 0;
        while window.grow(Arrival::InOrder { len: FULL }, FULL, Held::default()) {
            steps += 1;
        }
        let last = clamp - window.window_of(FULL + 960);
        assert_eq!(window.space, last);
        assert_eq!(steps, (last - first).div_ceil(2 * FULL));
    }

    #[test]
    fn the_first_segment_behind_a_gap_finds_room_once_more() {
        let mut window = window();
        let held = Held { bytes: FULL, memory: FULL + NetworkCard::Veth.overhead() };
        while window.grow(Arrival::InOrder { len: FULL }, FULL, Held::default()) {}
        assert!(window.grow(Arrival::BehindGap { len: FULL }, FULL, Held::default()));
        assert_eq!(window.space, window.clamp);
        assert!(!window.grow(Arrival::Appended { len: FULL }, FULL, held));
        assert!(!window.grow(Arrival::BehindGap { len: FULL }, FULL, Held::default()));
    }

    #[test]
    fn small_segments_open_no_window_in_order_and_a_smaller_one_behind_a_gap() {
        let mut window = window();
        let first = window.space;
        assert!(!window.grow(Arrival::InOrder { len: LEAST_TO_GROW - 1 }, FULL, Held::default()));
        assert!(window.grow(Arrival::BehindGap { len: 200 }, FULL, Held::default()));
        assert_eq!(window.space, first + 2 * FULL);
    }
}
