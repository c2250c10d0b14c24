//! The design of 2017 (Q. De Coninck and O. Bonaventure, "Multipath QUIC: design and evaluation", CoNEXT 2017, section 3).
//!
//! The differences from the draft:
//!
//! - The header of each packet has the number of its path, one byte.
//! - The handshake is that of the first path alone. The client opens further paths as soon as it is complete, by a PING. A path
//!   is not validated: both ends send data on it from the first packet on.
//! - A path whose RTT is not known yet carries only copies of data that goes on another path, so that nothing waits for it.
//! - Flow-control updates go on all paths.
//! - ADD_ADDRESS tells the server's further addresses. PATHS tells that a path has failed, so that the peer does not have to find
//!   out by a timeout of its own.
//!
//! The paper does not give the sizes of these frames. Its congestion control is OLIA, its scheduler the lowest RTT first.

use super::Multipath;
use crate::Body;
use crate::cc::Established;
use crate::endpoint::{Event, Role};
use crate::path::PathState;
use crate::quic::Verdict;
use crate::quic::config::Design;
use crate::quic::connection::Connection;
use crate::quic::draft::{Draft, LONGEST_CONTROL, Load};
use crate::quic::few::Few;
use crate::quic::frame::Frame;
use crate::quic::path::Path;
use crate::quic::sent::Record;
use crate::quic::space::Space;
use haltere_net::{Cx, Packet, PathId, Time};

impl Multipath {
    /// Hides the paths of unknown RTT from the scheduler, as long as there are others, and has what it gives to those copied to them.
    pub(super) fn copy_to_unknown(&mut self, now: Time) {
        if !self.views.iter().any(|view| view.state.usable() && view.srtt.is_some()) {
            return;
        }
        for view in self.views.iter_mut().filter(|view| view.srtt.is_none()) {
            if view.can_send(now) {
                self.copied_to.push(view.id);
            }
            if view.state.usable() {
                view.state = PathState::Validating;
            }
        }
    }

    /// Adds the frames about paths that are due, as far as there is room.
    pub(in crate::quic) fn draft(&mut self, paths: &[Path], draft: &mut Draft, room: u32) {
        self.announce(paths, draft, room);
        while draft.payload + LONGEST_CONTROL <= room
            && let Some(path) = self.abandons.pop_front()
        {
            draft.records.push(Record::PathAbandon { path });
            draft.push(Frame::PathAbandon(path));
        }
        while draft.payload + LONGEST_CONTROL <= room
            && let Some(id) = self.statuses.pop_front()
        {
            if let Some(path) = paths.iter().find(|path| path.id == id && path.state != PathState::Abandoned) {
                draft.records.push(Record::PathStatus { path: id });
                draft.push(path.status_frame());
            }
        }
    }

    /// Adds ADD_ADDRESS and PATHS to a packet, if they are due and there is room.
    #[inline]
    fn announce(&mut self, paths: &[Path], draft: &mut Draft, room: u32) {
        if self.address_due || self.paths_due {
            self.announce_what_is_due(paths, draft, room);
        }
    }

    #[cold]
    fn announce_what_is_due(&mut self, paths: &[Path], draft: &mut Draft, room: u32) {
        let fits = |draft: &Draft, frame: &Frame| draft.payload + frame.size() <= room;
        if self.address_due && fits(draft, &Frame::AddAddress) {
            self.address_due = false;
            draft.records.push(Record::AddAddress);
            draft.push(Frame::AddAddress);
        }
        let bit = |path: &Path| if path.state == PathState::Suspect && path.id.0 < 64 { 1 << path.id.0 } else { 0 };
        let failed = paths.iter().map(bit).sum();
        let frame = Frame::Paths { count: u8::try_from(paths.len()).unwrap_or(u8::MAX), failed };
        if self.paths_due && fits(draft, &frame) {
            self.paths_due = false;
            draft.records.push(Record::Paths);
            draft.push(frame);
        }
    }

    /// Such a frame was lost: it is sent again with what holds by then.
    pub(in crate::quic) fn on_announcement_lost(&mut self, record: Record) {
        match record {
            Record::AddAddress => self.address_due = true,
            Record::Paths => self.paths_due = true,
            _ => {}
        }
    }
}

impl Connection {
    /// Whether the handshake is far enough for further paths.
    pub(super) fn may_open_paths(&self) -> bool {
        match self.config.design {
            Design::Draft => self.progress.confirmed,
            Design::Conext2017 => self.progress.data_keys,
        }
    }

    /// A path carries data from its first packet on.
    pub(super) fn open_at_once(&self, path: &mut Path) {
        path.validation.validated = true;
        path.cc.on_established(&Established { now: self.now, rtt: None });
    }

    /// The packet number space of a path that is opened. The client's first packet on it tells the server that it is there.
    pub(super) fn first_space(&self) -> Space {
        let tells = self.config.design == Design::Conext2017 && self.config.role == Role::Client;
        Space { probes: u32::from(tells), ..Space::default() }
    }

    /// The handshake is complete at this end.
    #[cold]
    pub(in crate::quic) fn on_complete_in_2017(&mut self) {
        if self.allowed() < 2 {
            return;
        }
        match (self.config.role, &mut self.multi) {
            (Role::Client, _) => self.events.push_back(Event::Multipath),
            (Role::Server, Some(multi)) => multi.address_due = true,
            (Role::Server, None) => {}
        }
    }

    /// A frame of this design came.
    ///
    /// # Errors
    /// The transport error that it is in another design.
    pub(in crate::quic) fn on_design_frame(&self) -> Verdict {
        match self.config.design {
            Design::Conext2017 => Ok(()),
            Design::Draft => Err("FRAME_ENCODING_ERROR: a frame of an unknown type"),
        }
    }

    /// The peer says which paths have failed.
    #[cold]
    pub(in crate::quic) fn on_paths(&mut self, failed: u64) {
        for i in 0..self.paths.len() {
            let path = &self.paths[i];
            let named = path.id.0 < 64 && failed & (1 << path.id.0) != 0;
            if named && path.state.usable() && self.has_other(i) {
                self.doubt(i);
            }
        }
    }

    /// An update of flow control that goes on the path at place `i` goes on all others, too.
    #[cold]
    pub(in crate::quic) fn repeat_update(&mut self, i: usize, frame: &Frame) {
        let update = matches!(frame, Frame::MaxData(_) | Frame::MaxStreamData { .. });
        let Some(multi) = self.multi.as_mut().filter(|_| update) else { return };
        let others = self.paths.iter().enumerate().filter(|(k, path)| *k != i && path.state.usable());
        multi.updates.extend(others.map(|(_, path)| (path.id, frame.clone())));
    }

    /// The next flow-control updates that are repeated on a path. They are not sent again if they are lost.
    pub(super) fn transmit_update(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        loop {
            let multi = self.multi.as_mut()?;
            let id = multi.updates.front()?.0;
            let mut frames = Few::default();
            let own = |(to, _): &(PathId, Frame)| *to == id;
            multi.updates.iter().filter(|entry| own(entry)).for_each(|(_, frame)| frames.push(frame.clone()));
            multi.updates.retain(|entry| !own(entry));
            let place = self.place(id).filter(|&i| self.paths[i].state.usable());
            if let Some(packet) = place.and_then(|i| self.build_data(i, Load::Updates(&mut frames), cx)) {
                return Some(packet);
            }
        }
    }
}
