//! The physical layers of IEEE 802.11: their times, the rates of their modulations and the air time of a frame.
//!
//! Clauses and tables are those of IEEE Std 802.11-2016, unless another edition is named.

use super::modulation::{Modulation, high_throughput, ofdm, ofdm_basic, plain};
use crate::time::Span;

crate::named! {
    /// A physical layer.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Standard {
        /// Frequency hopping at 1 Mbit/s (IEEE Std 802.11-1997 clause 14), with the values of table II of G. Bianchi,
        /// "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE JSAC 18(3), 2000.
        Fhss = "802.11-fhss",
        /// 802.11b: direct sequence at 1 to 11 Mbit/s in the band of 2.4 GHz (clauses 15 and 16), with the long preamble.
        B = "802.11b",
        /// 802.11a: OFDM in the band of 5 GHz (clause 17).
        A = "802.11a",
        /// 802.11g: the same in the band of 2.4 GHz (clause 18), without stations of 802.11b, so with the short slot.
        G = "802.11g",
        /// 802.11n: high throughput (clause 19), in the mixed format, in the band of 5 GHz.
        N = "802.11n",
        /// 802.11ac: very high throughput (clause 21).
        Ac = "802.11ac",
    }
}

impl Standard {
    /// Whether frames can be aggregated and are acknowledged together then.
    pub const fn aggregates(self) -> bool {
        matches!(self, Standard::N | Standard::Ac)
    }
}

/// The width of a channel, MHz.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Width(pub u32);

/// The choices that a physical layer leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// The physical layer.
    pub standard: Standard,
    /// 20 MHz, and for 802.11n 40, for 802.11ac 40, 80 or 160. Older ones have one width.
    pub width: Width,
    /// Spatial streams: 1 to 4 for 802.11n, 1 to 8 for 802.11ac, otherwise 1.
    pub streams: u32,
    /// Whether the guard interval is 400 ns and not 800 ns (802.11n and 802.11ac).
    pub short_guard: bool,
}

impl Channel {
    /// The narrowest channel of a standard, with one stream and the long guard interval.
    pub const fn of(standard: Standard) -> Channel {
        Channel { standard, width: Width(20), streams: 1, short_guard: false }
    }

    /// Checks the fields against each other.
    ///
    /// # Errors
    /// The field, and what would be right.
    pub fn check(self) -> Result<(), (&'static str, String)> {
        let (widths, streams): (&[u32], u32) = match self.standard {
            Standard::N => (&[20, 40], 4),
            Standard::Ac => (&[20, 40, 80, 160], 8),
            _ => (&[20], 1),
        };
        let name = self.standard.name();
        if !widths.contains(&self.width.0) {
            let known: Vec<String> = widths.iter().map(|w| format!("\"{w}MHz\"")).collect();
            return Err(("width", format!("{}MHz: {name} has {}", self.width.0, known.join(", "))));
        }
        if !(1..=streams).contains(&self.streams) {
            return Err(("streams", format!("{}: {name} has from 1 to {streams} spatial streams", self.streams)));
        }
        if self.short_guard && !self.standard.aggregates() {
            return Err(("short_guard", format!("{name} has one guard interval: leave it out")));
        }
        Ok(())
    }
}

/// How the bits of a frame become time on the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Coding {
    /// Bits at a rate, rounded up to a microsecond (clause 16.2.3.6: LENGTH is the time in µs).
    Bits,
    /// OFDM symbols of this duration, in tenths of a microsecond so that 3.6 µs is exact.
    Symbols { tenths_us: u64 },
}

/// A physical layer with all its times.
#[derive(Clone, PartialEq, Debug)]
pub struct Phy {
    /// aSlotTime.
    pub slot: Span,
    /// aSIFSTime.
    pub sifs: Span,
    /// Silence after each frame of OFDM in the band of 2.4 GHz (aSignalExtension, clause 18.3.2.4).
    extension: Span,
    /// Preamble and header of data frames.
    preamble: Span,
    /// Preamble and header of control frames, which are sent so that all stations understand them.
    control_preamble: Span,
    data_coding: Coding,
    control_coding: Coding,
    /// aCWmin.
    pub cw_min: u32,
    /// aCWmax.
    pub cw_max: u32,
    /// Bytes of a MAC frame around the data: header and check sequence, and the LLC/SNAP header of IP packets.
    pub overhead: u32,
    /// The longest frame on the air (aPPDUMaxTime).
    pub longest: Span,
    /// The most bytes of an aggregate (clauses 9.4.2.56.3 and 9.4.2.158.2).
    pub aggregate_bytes: u32,
    /// The modulations of data frames, slowest first.
    pub modulations: Vec<Modulation>,
    /// The modulations of control frames (the basic rates), slowest first.
    basic: Vec<Modulation>,
    /// The noise of the channel relative to 20 MHz, dB.
    pub width_db: f64,
}

/// ACK frame, bytes (clause 9.3.1.4).
const ACK_BYTES: u64 = 14;
/// Compressed block acknowledgement, bytes (clause 9.3.1.9.3).
const BLOCK_ACK_BYTES: u64 = 32;
/// Compressed request for a block acknowledgement, bytes (clause 9.3.1.8.3).
const BLOCK_ACK_REQUEST_BYTES: u64 = 24;
/// Between the parts of an aggregate, bytes (clause 9.7.1).
const DELIMITER_BYTES: u64 = 4;
/// SERVICE field and tail bits of an OFDM frame (clause 17.3.2).
const SERVICE_AND_TAIL_BITS: u64 = 16 + 6;
/// MAC header and frame check sequence, bytes: of data frames (clause 9.3.2.1), with QoS control, and the LLC/SNAP header of
/// IP (RFC 1042).
const HEADER_BYTES: u32 = 24 + 4;
const QOS_BYTES: u32 = 2;
const LLC_SNAP_BYTES: u32 = 8;

impl Phy {
    /// The physical layer of a channel.
    pub fn new(channel: Channel) -> Phy {
        let us = Span::from_micros;
        let ofdm_like = Phy {
            slot: us(9),
            sifs: us(16),
            extension: Span::ZERO,
            preamble: us(20),
            control_preamble: us(20),
            data_coding: Coding::Symbols { tenths_us: 40 },
            control_coding: Coding::Symbols { tenths_us: 40 },
            cw_min: 15,
            cw_max: 1023,
            overhead: HEADER_BYTES + LLC_SNAP_BYTES,
            longest: us(5484),
            aggregate_bytes: 0,
            modulations: ofdm(),
            basic: ofdm_basic(),
            width_db: 0.0,
        };
        // Long training fields for 1 to 8 streams (tables 19-13 and 21-13).
        let training = |fields: [u64; 8]| us(4 * fields[(channel.streams.clamp(1, 8) - 1) as usize]);
        let tenths_us = if channel.short_guard { 36 } else { 40 };
        let high = Phy {
            data_coding: Coding::Symbols { tenths_us },
            overhead: HEADER_BYTES + QOS_BYTES + LLC_SNAP_BYTES,
            modulations: high_throughput(channel),
            width_db: 10.0 * libm::log10(f64::from(channel.width.0) / 20.0),
            ..ofdm_like.clone()
        };
        match channel.standard {
            Standard::A => ofdm_like,
            // Clause 18.4.4: aSIFSTime is 10 µs, and each frame is followed by 6 µs of silence.
            Standard::G => Phy { sifs: us(10), extension: us(6), ..ofdm_like },
            // Legacy preamble 20 µs, HT-SIG 8, HT-STF 4, and the training fields (clause 19.3.9.2).
            Standard::N => {
                Phy { preamble: us(32) + training([1, 2, 4, 4, 4, 4, 4, 4]), aggregate_bytes: 65_535, ..high }
            }
            // Legacy preamble 20 µs, VHT-SIG-A 8, VHT-STF 4, VHT-SIG-B 4, and the training fields (clause 21.3.4).
            Standard::Ac => {
                Phy { preamble: us(36) + training([1, 2, 4, 4, 6, 6, 8, 8]), aggregate_bytes: 1_048_575, ..high }
            }
            Standard::B => Phy {
                slot: us(20),
                sifs: us(10),
                // Long preamble and header (clause 16.2.2.2).
                preamble: us(192),
                control_preamble: us(192),
                data_coding: Coding::Bits,
                control_coding: Coding::Bits,
                cw_min: 31,
                // The standard requires -80 dBm at 2 Mbit/s (clause 15.4.8.2) and -76 dBm at 11 Mbit/s (clause 16.3.8.2), and
                // nothing of 1 and 5.5 Mbit/s, which have half the bits a symbol: 3 dB less.
                modulations: vec![plain(1000, 3.0), plain(2000, 6.0), plain(5500, 7.0), plain(11_000, 10.0)],
                basic: vec![plain(1000, 3.0), plain(2000, 6.0)],
                longest: Span::MAX,
                ..ofdm_like
            },
            Standard::Fhss => Phy {
                slot: us(50),
                sifs: us(28),
                preamble: us(128),
                control_preamble: us(128),
                data_coding: Coding::Bits,
                control_coding: Coding::Bits,
                cw_min: 31,
                cw_max: 255,
                // Bianchi's MAC header has 272 bits; no LLC header is counted.
                overhead: 34,
                modulations: vec![plain(1000, 3.0)],
                basic: vec![plain(1000, 3.0)],
                longest: Span::MAX,
                ..ofdm_like
            },
        }
    }

    /// DIFS: SIFS and two slots (clause 10.3.7).
    pub fn difs(&self) -> Span {
        self.sifs + self.slot * 2
    }

    fn air(&self, preamble: Span, coding: Coding, modulation: &Modulation, bytes: u64) -> Span {
        let payload = match coding {
            Coding::Bits => {
                let ns = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(modulation.rate.as_bps().max(1)));
                Span::from_micros(u64::try_from(ns.div_ceil(1000)).unwrap_or(u64::MAX))
            }
            Coding::Symbols { tenths_us } => {
                let symbols = (SERVICE_AND_TAIL_BITS + 8 * bytes).div_ceil(modulation.bits.max(1));
                // A frame with the short guard interval lasts a whole number of long symbols (clause 19.4.3).
                let us = (symbols * tenths_us).div_ceil(10);
                Span::from_micros(if tenths_us == 36 { us.next_multiple_of(4) } else { us })
            }
        };
        preamble + payload + self.extension
    }

    /// The bytes of a packet of `len` bytes as a part of an aggregate, padded to a multiple of 4.
    pub fn part_bytes(&self, len: u32) -> u64 {
        DELIMITER_BYTES + u64::from(len + self.overhead).next_multiple_of(4)
    }

    /// The air time of a single packet of `len` bytes.
    pub fn frame_time(&self, modulation: &Modulation, len: u32) -> Span {
        self.air(self.preamble, self.data_coding, modulation, u64::from(len + self.overhead))
    }

    /// The air time of an aggregate with this sum of [`Phy::part_bytes`].
    pub fn aggregate_time(&self, modulation: &Modulation, bytes: u64) -> Span {
        self.air(self.preamble, self.data_coding, modulation, bytes)
    }

    /// The basic rate of an answer: the largest that is not above the frame's (clause 10.7.6.5.2).
    fn answer(&self, modulation: &Modulation) -> &Modulation {
        let slower = self.basic.iter().rev().find(|basic| basic.rate <= modulation.rate);
        slower.unwrap_or(&self.basic[0])
    }

    /// The air time of the ACK of a frame.
    pub fn ack_time(&self, modulation: &Modulation) -> Span {
        self.air(self.control_preamble, self.control_coding, self.answer(modulation), ACK_BYTES)
    }

    /// The air time of the block acknowledgement of an aggregate.
    pub fn block_ack_time(&self, modulation: &Modulation) -> Span {
        self.air(self.control_preamble, self.control_coding, self.answer(modulation), BLOCK_ACK_BYTES)
    }

    /// The air time of a request for the block acknowledgement of an aggregate.
    pub fn block_ack_request_time(&self, modulation: &Modulation) -> Span {
        self.air(self.control_preamble, self.control_coding, self.answer(modulation), BLOCK_ACK_REQUEST_BYTES)
    }

    /// EIFS without DIFS: SIFS and an ACK at the slowest basic rate (clause 10.3.7).
    pub fn extended(&self) -> Span {
        self.sifs + self.ack_time(&self.basic[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    fn phy(standard: Standard) -> Phy {
        Phy::new(Channel::of(standard))
    }

    fn us(span: Span) -> f64 {
        span.as_nanos() as f64 / 1000.0
    }

    /// Bianchi, table II: 8184 bits of payload, headers of 272 and 128 bits, an ACK of 112 + 128 bits, at 1 Mbit/s.
    #[test]
    fn frequency_hopping_has_the_times_of_bianchis_table() {
        let phy = phy(Standard::Fhss);
        let slowest = phy.modulations[0];
        assert_eq!(us(phy.frame_time(&slowest, 1023)), 8184.0 + 272.0 + 128.0);
        assert_eq!((us(phy.ack_time(&slowest)), us(phy.difs())), (240.0, 128.0));
    }

    /// 1500 bytes of IP in a frame of 1536: 192 + 8 · 1536 / 11 = 1309.1 µs; ACK at 2 Mbit/s: 192 + 56 µs.
    #[test]
    fn direct_sequence_rounds_up_to_a_microsecond() {
        let phy = phy(Standard::B);
        let fastest = phy.modulations[3];
        assert_eq!(us(phy.frame_time(&fastest, 1500)), 1310.0);
        assert_eq!((us(phy.ack_time(&fastest)), us(phy.difs())), (248.0, 50.0));
    }

    /// (22 + 8 · 1536) / 216 = 57 symbols; ACK at 24 Mbit/s: (22 + 112) / 96 = 2 symbols, at 6 Mbit/s 6.
    #[test]
    fn ofdm_sends_whole_symbols() {
        let [a, g] = [Standard::A, Standard::G].map(phy);
        let fastest = a.modulations[7];
        assert_eq!(fastest.rate, Rate::from_bps(54_000_000));
        assert_eq!((us(a.frame_time(&fastest, 1500)), us(a.ack_time(&fastest))), (248.0, 28.0));
        assert_eq!((us(g.frame_time(&fastest, 1500)), us(g.ack_time(&fastest))), (254.0, 34.0));
        assert_eq!((us(a.difs()), us(g.difs())), (34.0, 28.0));
        assert_eq!(us(a.extended()), 16.0 + 44.0);
    }

    /// Rates of tables 19-27, 19-30, 21-30, 21-38 and 21-54.
    #[test]
    fn high_throughput_has_the_rates_of_the_standard() {
        let fastest = |standard, width, streams, short_guard| {
            let phy = Phy::new(Channel { standard, width: Width(width), streams, short_guard });
            phy.modulations.last().map(|m| m.rate.as_bps())
        };
        assert_eq!(fastest(Standard::N, 20, 1, false), Some(65_000_000));
        assert_eq!(fastest(Standard::N, 40, 4, true), Some(600_000_000));
        assert_eq!(fastest(Standard::Ac, 20, 1, false), Some(78_000_000));
        assert_eq!(fastest(Standard::Ac, 80, 1, false), Some(390_000_000));
        assert_eq!(fastest(Standard::Ac, 160, 8, true), Some(6_933_333_333));
    }

    #[test]
    fn preambles_grow_with_the_streams() {
        let preamble = |standard, streams| us(Phy::new(Channel { streams, ..Channel::of(standard) }).preamble);
        assert_eq!([1, 2, 3, 4].map(|n| preamble(Standard::N, n)), [36.0, 40.0, 48.0, 48.0]);
        assert_eq!([1, 2, 4, 8].map(|n| preamble(Standard::Ac, n)), [40.0, 44.0, 52.0, 68.0]);
    }

    /// Rounded to the symbols of the long guard interval: 10 symbols of 3.6 µs end within 9 of 4 µs.
    #[test]
    fn the_short_guard_interval_shortens_long_frames() {
        let channel = Channel { short_guard: true, ..Channel::of(Standard::N) };
        let (long, short) = (phy(Standard::N), Phy::new(channel));
        let [a, b] = [&long, &short].map(|phy| phy.aggregate_time(&phy.modulations[7], 65_532));
        assert_eq!((us(a), us(b)), (36.0 + 2017.0 * 4.0, 36.0 + (2017.0f64 * 3.6 / 4.0).ceil() * 4.0));
    }

    #[test]
    fn what_a_standard_lacks_is_refused() {
        let field = |channel: Channel| channel.check().unwrap_err().0;
        assert_eq!(field(Channel { width: Width(40), ..Channel::of(Standard::A) }), "width");
        assert_eq!(field(Channel { streams: 5, ..Channel::of(Standard::N) }), "streams");
        assert_eq!(field(Channel { short_guard: true, ..Channel::of(Standard::G) }), "short_guard");
        assert!(Standard::ALL.iter().all(|&standard| Channel::of(standard).check().is_ok()));
    }
}
