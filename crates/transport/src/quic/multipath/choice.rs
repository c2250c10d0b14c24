//! Which of several paths a packet takes, and what goes on a path before any data.

use super::Challenge;
use crate::Body;
use crate::path::{PathState, PathView};
use crate::quic::config::Design;
use crate::quic::connection::Connection;
use crate::quic::draft::Load;
use crate::quic::few::Few;
use crate::quic::frame::Frame;
use crate::quic::path::{Clearance, Path};
use crate::quic::space::Space;
use crate::quic::transmit::Turn;
use crate::scheduler::{Demand, Pick};
use haltere_net::{Cx, Packet, Time};

impl Connection {
    /// The next packet of a connection that has several paths.
    #[inline(never)]
    pub(in crate::quic) fn transmit_multi(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let multi = self.multi.as_mut()?;
        multi.wait_until = Time::NEVER;
        let copies = !multi.copies.is_empty();
        for i in 0..self.paths.len() {
            if self.paths[i].challenge.is_due()
                && let Some(packet) = self.transmit_validation(i, cx)
            {
                return Some(packet);
            }
        }
        if self.handshake_pending()
            && let Some(packet) = self.transmit_apart(0, Turn::Picked, cx)
        {
            return Some(packet);
        }
        if copies && let Some(packet) = self.transmit_copy(cx) {
            return Some(packet);
        }
        if let Some(packet) = self.transmit_update(cx) {
            return Some(packet);
        }
        let pending = self.data_pending();
        let picked = if pending { self.pick(cx.now) } else { None };
        if let Some(i) = picked
            && let Some(packet) = self.transmit_apart(i, Turn::Picked, cx)
        {
            self.tell_scheduler(i, u64::from(packet.len), cx.now);
            self.copy_to_others(i);
            self.tell_blocked(cx.now);
            return Some(packet);
        }
        // Acknowledgements, probes and what else is a path's own.
        for i in 0..self.paths.len() {
            if Some(i) != picked
                && self.paths[i].state != PathState::Abandoned
                && (pending || !self.rests(i, cx.now))
                && let Some(packet) = self.transmit_apart(i, Turn::Passed, cx)
            {
                return Some(packet);
            }
        }
        None
    }

    /// Whether [`Connection::transmit_apart`] would find nothing to send on the path at place `i`, and nothing to note, where no data
    /// is waiting: mostly a receiver's path. A datagram in flight leaves room for another one ([`Path::window`]).
    #[inline(always)]
    fn rests(&self, i: usize, now: Time) -> bool {
        let path = &self.paths[i];
        let quiet = self.progress.confirmed && self.spaces.data[i].probes == 0 && !self.ack_due(i, now);
        let noted = path.in_flight <= u64::from(path.mtu.current())
            && path.sampler.is_app_limited_to(path.in_flight)
            && path.paced_until == Time::NEVER
            && !path.window_limited;
        quiet && noted && path.mtu.wants().is_none()
    }

    /// The place of the path that the scheduler picks. Where no path is usable, the suspected ones carry on: there is nothing
    /// better.
    fn pick(&mut self, now: Time) -> Option<usize> {
        let multi = self.multi.as_mut()?;
        self.streams.keep_order();
        let demand = if multi.scheduler.ignores_demand() { Demand::default() } else { self.streams.demand() };
        multi.views.clear();
        multi.views.extend(self.paths.iter_mut().map(|path| {
            // A burst that has begun goes on: it is charged as a whole.
            let paced_until = match path.paced(now) {
                Clearance::Paced(until) => until,
                Clearance::Free | Clearance::Window => now,
            };
            path.view_paced(paced_until)
        }));
        if !multi.views.iter().any(|view| view.state.usable()) {
            for view in multi.views.iter_mut().filter(|view| view.state == PathState::Suspect) {
                view.state = PathState::Active;
            }
        }
        multi.copied_to.clear();
        if self.config.design == Design::Conext2017 {
            multi.copy_to_unknown(now);
        }
        match multi.scheduler.pick(&multi.views, &demand, now) {
            Pick::On(id) => {
                let carries = multi.views.iter().any(|view| view.id == id && view.state.usable());
                self.place(id).filter(|_| carries)
            }
            Pick::Ahead(id, skip) => {
                let least = multi.views.iter().find(|view| view.id == id && view.state.usable())?.mss;
                self.streams.skip(skip, least);
                self.place(id)
            }
            Pick::WaitUntil(at) => {
                // A time that has come would have the scheduler asked again at once, for ever.
                multi.wait_until = if at > now { at } else { Time::NEVER };
                None
            }
            Pick::Copies(set) => {
                let can = |view: &&PathView| set.contains(view.id) && view.can_send(now);
                multi.copied_to.extend(multi.views.iter().filter(can).skip(1).map(|view| view.id));
                let first = multi.views.iter().find(can)?.id;
                self.place(first)
            }
        }
    }

    /// The path at place `i` took what the scheduler wanted to be sent.
    fn tell_scheduler(&mut self, i: usize, bytes: u64, now: Time) {
        let id = self.paths[i].id;
        if let Some(multi) = &mut self.multi {
            multi.scheduler.on_given(id, bytes, now);
        }
    }

    /// Tells the scheduler once that the peer's flow control of the connection keeps data back. The path that the others wait
    /// for carries the earliest data of the stream with the lowest number: with a single stream, the oldest data in flight.
    fn tell_blocked(&mut self, now: Time) {
        let Some(limit) = self.streams.blocking_limit() else { return };
        let Some(multi) = self.multi.as_mut().filter(|multi| multi.blocking_limit != Some(limit)) else { return };
        multi.blocking_limit = Some(limit);
        let first = |(space, path): (&Space, &Path)| Some((space.sent.first_data()?, path.id));
        if let Some((_, head)) =
            self.spaces.data.iter().zip(&self.paths).filter_map(first).min_by_key(|(data, _)| *data)
        {
            multi.scheduler.on_blocked(head, now);
        }
    }

    /// Copies the packet that just went out on the path at place `i` to those that the scheduler chose beside it.
    fn copy_to_others(&mut self, i: usize) {
        let Some(multi) = self.multi.as_mut().filter(|multi| !multi.copied_to.is_empty()) else { return };
        let records = self.spaces.data[i].sent.newest();
        multi.copies.extend(multi.copied_to.drain(..).map(|id| (id, records.clone())));
    }

    /// The next copy of data that went out on another path.
    fn transmit_copy(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        while let Some((id, mut records)) = self.multi.as_mut()?.copies.pop_front() {
            let Some(i) = self.place(id).filter(|&i| self.paths[i].state.usable()) else { continue };
            let packet = self.build_data(i, Load::Copy(&mut records), cx);
            if packet.is_some() {
                if !records.is_empty() {
                    self.multi.as_mut()?.copies.push_front((id, records));
                }
                return packet;
            }
        }
        None
    }

    /// PATH_CHALLENGE and PATH_RESPONSE frames, in datagrams of at least 1200 bytes (RFC 9000 sections 8.2.1 and 8.2.2).
    #[cold]
    fn transmit_validation(&mut self, i: usize, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let path = &mut self.paths[i];
        let Challenge { due, response } = path.challenge;
        if path.validation.left() < u64::from(path.mtu.current()) {
            return None;
        }
        path.challenge = Challenge::default();
        let mut frames = Few::default();
        if let Some(data) = response {
            frames.push(Frame::PathResponse(data));
        }
        if due {
            frames.push(Frame::PathChallenge(path.challenge_data()));
            // The peer learns it before it may send data there. A lost challenge is sent again, and this with it.
            if path.status.is_set() {
                frames.push(path.status_frame());
            }
        }
        self.build_data(i, Load::Frames(&mut frames), cx)
    }
}
