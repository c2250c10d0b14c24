//! Packets that probe addresses: PATH_CHALLENGE and PATH_RESPONSE.

use super::TRIAL_DATA;
use crate::Body;
use crate::quic::connection::Connection;
use crate::quic::few::Few;
use crate::quic::frame::Frame;
use crate::quic::packet::{Datagram, QuicPacket, SpaceId, number_len};
use crate::quic::path::Way;
use crate::quic::sent::SentPacket;
use crate::quic::sizes::{MIN_DATAGRAM, MIN_NUMBER_AND_PAYLOAD};
use crate::quic::transmit::Turn;
use haltere_net::{Cx, Packet};

impl Connection {
    /// The next packet of a connection whose addresses change.
    #[cold]
    pub(in crate::quic) fn transmit_moving(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let moving = self.migration.as_mut()?;
        let asked = moving.responses.iter().map(|&(i, way, _)| (i, way));
        let tried = moving.trials.iter().filter(|trial| trial.due).map(|trial| (trial.place, trial.way));
        let wanted: Vec<(usize, Way)> = asked.chain(tried).collect();
        let packet = wanted.into_iter().find_map(|(i, way)| self.transmit_probe(i, way, cx));
        if packet.is_some() {
            return packet;
        }
        if self.migration.as_ref().is_some_and(|moving| moving.is_over()) {
            self.migration = None;
        }
        if self.paths.len() > 1 { self.transmit_multi(cx) } else { self.transmit_apart(0, Turn::Picked, cx) }
    }

    /// PATH_RESPONSE and PATH_CHALLENGE frames to a pair of addresses, as far as the anti-amplification limit allows. Such a packet
    /// is not part of the path's flight.
    fn transmit_probe(&mut self, i: usize, way: Way, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let space = &self.spaces.data[i];
        let (number, id) = (space.next_number, SpaceId::Data);
        let number_len = number_len(number, space.largest_acked);
        let overhead = id.overhead() + self.config.header() + number_len;
        let pto = self.paths[i].rtt.pto().max(self.config.initial_rtt * 3);
        let in_use = self.paths[i].way == way;
        let moving = self.migration.as_mut()?;
        let mut frames = Few::default();
        if let Some((_, _, data)) = moving.responses.iter().find(|response| response.1 == way) {
            frames.push(Frame::PathResponse(*data));
        }
        let challenge = moving.trial(way).is_some_and(|trial| trial.due);
        if challenge {
            frames.push(Frame::PathChallenge(TRIAL_DATA + u64::from(way.0.0)));
        }
        let payload = frames.iter().map(Frame::size).sum::<u32>();
        let left = match moving.trial(way) {
            Some(trial) if !in_use => trial.validation.left(),
            // Only the server is bound, and it answers on addresses that it has a trial of, or uses.
            _ => self.paths[i].validation.left(),
        };
        let least = overhead + payload.max(MIN_NUMBER_AND_PAYLOAD);
        if left < u64::from(least) {
            return None;
        }
        // Sections 8.2.1 and 8.2.2: it fills the least datagram, unless the limit does not allow that.
        let size = least.max(MIN_DATAGRAM.min(u32::try_from(left).unwrap_or(u32::MAX)));
        if size > overhead + payload {
            frames.push(Frame::Padding(size - overhead - payload));
        }
        if let Some(at) = moving.responses.iter().position(|response| response.1 == way) {
            moving.responses.remove(at);
        }
        if let Some(trial) = moving.trial(way) {
            if challenge {
                trial.on_sent(cx.now, pto);
            }
            trial.validation.sent += u64::from(size);
        }
        let space = &mut self.spaces.data[i];
        let path = &mut self.paths[i];
        let tx = path.sampler.on_sent(cx.now, path.in_flight);
        space.sent.push(SentPacket::new(cx.now, size, tx, Few::default()));
        space.next_number += 1;
        path.next_data = space.next_number;
        path.marking.on_sent(id);
        let counted = path.validation.sent;
        self.after_sending(i, size);
        self.after_eliciting();
        if !in_use {
            self.paths[i].validation.sent = counted;
        }
        let (form, number_len) = (self.config.form(), number_len as u8);
        let packet = QuicPacket { space: id, form, token: 0, number_len, size, number, frames };
        let packet = self.paths[i].wrap(Datagram { packets: Few::of(packet) }, size);
        Some(packet.with(|p| p.path = way.0))
    }
}
