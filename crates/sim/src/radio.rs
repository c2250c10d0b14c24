//! The radio of a device while packets come and go: how long it is on, and roughly what energy that takes.
//!
//! A pure function of the packets' times and sizes at the device: nothing of the run depends on it. Delays of a radio, such as
//! that of its promotion, are the link's matter (`cellular`, `medium`). The energy is an estimate: it comes from measurements
//! of two phones of 2011, and other devices differ by factors.

use haltere_net::{Span, Time};

/// The way of a packet, as the device sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Toward {
    /// It sends it.
    Network,
    /// It receives it.
    Device,
}

/// A kind of radio: its states, and what each draws. A radio that is off is *promoted* by a packet, stays on while packets
/// come, and goes off when none came for the length of its *tail*.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RadioModel {
    /// How long it takes from off to on.
    pub promotion: Span,
    /// Power meanwhile, mW.
    pub promotion_mw: f64,
    /// How long it listens without a break after a packet.
    pub listening: Span,
    /// Power meanwhile, mW.
    pub listening_mw: f64,
    /// How long it stays on after the last packet.
    pub tail: Span,
    /// Mean power in the rest of that time, in which it listens now and then, mW.
    pub tail_mw: f64,
    /// Mean power when it is off, with what it listens to then, mW.
    pub off_mw: f64,
    /// Energy of sending a bit, nJ; 1 nJ/bit is 1 mW for each Mbit/s.
    pub sent_nj: f64,
    /// Energy of receiving a bit, nJ.
    pub received_nj: f64,
}

impl RadioModel {
    /// LTE: the states of radio resource control (3GPP TS 36.331). On is RRC_CONNECTED with discontinuous reception (DRX), off is
    /// RRC_IDLE.
    ///
    /// Source: J. Huang, F. Qian, A. Gerber, Z. M. Mao, S. Sen, O. Spatscheck: A close examination of performance and power
    /// characteristics of 4G LTE networks, MobiSys 2012, tables 3 and 4: an HTC ThunderBolt in a network of the USA. Promotion
    /// 260.1 ms at 1210.7 mW; continuous reception for 100 ms after a packet at the base power of transfers, 1288.04 mW; tail of
    /// 11.576 s at 1060.0 mW; idle, 594.3 mW for 43.2 ms of each 1280.2 ms; 438.39 mW for each Mbit/s sent and 51.97 received.
    /// These numbers were written down from memory of the paper, and wait for a second reading.
    pub const LTE: RadioModel = RadioModel {
        promotion: Span::from_micros(260_100),
        promotion_mw: 1210.7,
        listening: Span::from_millis(100),
        listening_mw: 1288.04,
        tail: Span::from_millis(11_576),
        tail_mw: 1060.0,
        off_mw: 594.3 * 43.2 / 1280.2,
        sent_nj: 438.39,
        received_nj: 51.97,
    };

    /// Wi-Fi in power save mode, as phones use it: a station that has had no packet for some time tells the access point that it
    /// sleeps, and then wakes for beacons.
    ///
    /// Source: the same tables, for the same phone. Promotion 79.1 ms at 124.4 mW; tail of 238.1 ms at 119.3 mW; asleep, 77.2 mW for
    /// 7.6 ms of each 308.2 ms; 283.17 mW for each Mbit/s sent and 137.01 received. The base power of transfers, 132.86 mW,
    /// is left out, as the packets of a message take no time beside the tail. From memory too.
    pub const WIFI: RadioModel = RadioModel {
        promotion: Span::from_micros(79_100),
        promotion_mw: 124.4,
        listening: Span::ZERO,
        listening_mw: 0.0,
        tail: Span::from_micros(238_100),
        tail_mw: 119.3,
        off_mw: 77.2 * 7.6 / 308.2,
        sent_nj: 283.17,
        received_nj: 137.01,
    };
}

/// The times, packets and energy of radios.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Usage {
    /// How long they were on, promotions included.
    pub on: Span,
    /// How often they were promoted.
    pub promotions: u64,
    /// Estimated energy, J.
    pub energy_j: f64,
    /// Bytes of packets sent and received, IP headers included.
    pub bytes: u64,
}

impl Usage {
    /// Both.
    pub fn and(self, other: Usage) -> Usage {
        Usage {
            on: self.on + other.on,
            promotions: self.promotions + other.promotions,
            energy_j: self.energy_j + other.energy_j,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// The radio of a device. It begins with the first packet: before that there is no device.
#[derive(Clone, Copy, Default, Debug)]
pub struct Radio {
    /// When the first packet and the last one were there.
    times: Option<(Time, Time)>,
    promotions: u64,
    /// How long it listened, and was in its tail, up to the last packet.
    listened: Span,
    tailed: Span,
    sent: u64,
    received: u64,
}

impl Radio {
    /// A packet of `bytes`, IP header included, is there. Times do not go back.
    pub fn on_packet(&mut self, model: &RadioModel, way: Toward, bytes: u32, now: Time) {
        match way {
            Toward::Network => self.sent += u64::from(bytes),
            Toward::Device => self.received += u64::from(bytes),
        }
        let (first, last) = self.times.unwrap_or((now, Time::ZERO));
        if self.times.is_none() || last + model.tail <= now {
            self.promotions += 1;
        }
        if self.times.is_some() {
            self.rest(model, now.since(last));
        }
        self.times = Some((first, now));
    }

    /// After a packet, nothing came for so long.
    fn rest(&mut self, model: &RadioModel, gap: Span) {
        let on = gap.min(model.tail);
        let listened = on.min(model.listening);
        self.listened += listened;
        self.tailed += on - listened;
    }

    /// The usage up to a time, with all of the tail of its last packet: a run that ends with a packet is not cheaper
    /// for that.
    pub fn usage(&self, model: &RadioModel, until: Time) -> Usage {
        let Some((first, last)) = self.times else { return Usage::default() };
        let until = until.max(last + model.tail);
        let mut whole = *self;
        whole.rest(model, until.since(last));
        let promoted = Span::from_nanos(model.promotion.as_nanos().saturating_mul(self.promotions));
        let (listened, tailed) = (whole.listened, whole.tailed);
        let on = promoted + listened + tailed;
        let off = until.since(first).saturating_sub(on);
        let states = [
            (promoted, model.promotion_mw),
            (listened, model.listening_mw),
            (tailed, model.tail_mw),
            (off, model.off_mw),
        ];
        let in_states: f64 = states.iter().map(|(time, mw)| time.as_secs_f64() * mw * 1e-3).sum();
        let bits = 8e-9 * (self.sent as f64 * model.sent_nj + self.received as f64 * model.received_nj);
        Usage { on, promotions: self.promotions, energy_j: in_states + bits, bytes: self.sent + self.received }
    }
}

/// The radios of the devices of a process, and whose packets each socket's are.
#[derive(Clone, Debug)]
pub struct Radios {
    model: RadioModel,
    devices: Vec<Radio>,
    /// By socket: the number of the device; the first one if it is not said.
    sockets: Vec<u32>,
}

impl Radios {
    /// Radios of a kind. Devices come to be as sockets are given to them.
    pub fn new(model: RadioModel) -> Radios {
        Radios { model, devices: Vec::new(), sockets: Vec::new() }
    }

    /// The packets of a socket are those of a device.
    pub fn give(&mut self, socket: u32, device: u32) {
        let at = socket as usize;
        if self.sockets.len() <= at {
            self.sockets.resize(at + 1, 0);
        }
        self.sockets[at] = device;
    }

    /// A socket has sent or received a packet.
    pub fn on_packet(&mut self, socket: u32, way: Toward, bytes: u32, now: Time) {
        let device = self.sockets.get(socket as usize).copied().unwrap_or(0) as usize;
        if self.devices.len() <= device {
            self.devices.resize(device + 1, Radio::default());
        }
        self.devices[device].on_packet(&self.model, way, bytes, now);
    }

    /// The usage of all radios up to a time, and until the tails of their last packets are over.
    pub fn usage(&self, until: Time) -> Usage {
        self.devices.iter().map(|radio| radio.usage(&self.model, until)).fold(Usage::default(), Usage::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A radio that is promoted in 1 s at 1 W, listens for 1 s at 2 W, and goes off 3 s after the last packet, at 0.5 W from
    /// the second on. Off it draws 0.1 W; a byte takes 1 mJ to send and 2 mJ to receive.
    const MODEL: RadioModel = RadioModel {
        promotion: Span::from_secs(1),
        promotion_mw: 1000.0,
        listening: Span::from_secs(1),
        listening_mw: 2000.0,
        tail: Span::from_secs(3),
        tail_mw: 500.0,
        off_mw: 100.0,
        sent_nj: 1e6 / 8.0,
        received_nj: 2e6 / 8.0,
    };

    #[test]
    fn a_packet_costs_promotion_and_tail() {
        let mut radio = Radio::default();
        radio.on_packet(&MODEL, Toward::Network, 100, at(5000));
        let usage = radio.usage(&MODEL, at(15_000));
        assert_eq!((usage.on, usage.promotions, usage.bytes), (Span::from_secs(4), 1, 100));
        // 1 J of promotion, 2 J of listening, 1 J of tail, 6 s off, 0.1 J for the bytes.
        assert!((usage.energy_j - (1.0 + 2.0 + 1.0 + 0.6 + 0.1)).abs() < 1e-9, "{usage:?}");
        // The tail counts in full.
        assert_eq!(radio.usage(&MODEL, at(7000)).on, Span::from_secs(4));
    }

    #[test]
    fn packets_within_the_tail_keep_it_on_without_another_promotion() {
        let mut radio = Radio::default();
        radio.on_packet(&MODEL, Toward::Network, 100, at(0));
        radio.on_packet(&MODEL, Toward::Device, 50, at(2000));
        radio.on_packet(&MODEL, Toward::Device, 50, at(2000));
        let usage = radio.usage(&MODEL, at(5000));
        assert_eq!((usage.on, usage.promotions), (Span::from_secs(1 + 5), 1));
        assert!((usage.energy_j - (1.0 + 2.0 * 2.0 + 3.0 * 0.5 + 0.1 + 0.2)).abs() < 1e-9, "{usage:?}");
        // The next one comes exactly as it goes off.
        radio.on_packet(&MODEL, Toward::Network, 1, at(5000));
        assert_eq!(radio.usage(&MODEL, at(5000)).promotions, 2);
    }

    #[test]
    fn radios_without_packets_take_nothing_and_devices_are_apart() {
        let mut radios = Radios::new(MODEL);
        assert_eq!(radios.usage(at(9000)), Usage::default());
        radios.give(3, 1);
        radios.on_packet(3, Toward::Network, 10, at(0));
        radios.on_packet(0, Toward::Network, 10, at(0));
        assert_eq!(radios.usage(at(9000)).promotions, 2);
        radios.give(4, 1);
        radios.on_packet(4, Toward::Network, 10, at(1000));
        assert_eq!(radios.usage(at(9000)).promotions, 2, "a device keeps its radio from one connection to the next");
    }
}
