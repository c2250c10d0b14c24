//! Several paths (draft-ietf-quic-multipath-19): how a connection gains, validates, loses and abandons them, and which of
//! them a packet takes.
//!
//! Each path has a packet number space of its own for 1-RTT packets. Those of a path are acknowledged on it, if not configured
//! otherwise ([`PathAcks`]): by ACK frames on
//! path 0 and by PATH_ACK frames on others (section 4.1 there lets ACK frames stand for path 0). A path is validated by
//! PATH_CHALLENGE and PATH_RESPONSE (RFC 9000 section 8.2) before it carries data. A path on which a probe timeout passes is
//! suspected: what is in flight there is sent again on others, and it is probed until it answers.
//!
//! Not modelled: connection identifiers (PATH_NEW_CONNECTION_ID and what goes with it), so numbers of paths are taken as agreed
//! up to the smaller of both ends' limits; MAX_PATH_ID.

use super::config::PathAcks;
use super::connection::{Connection, State};
use super::few::Few;
use super::frame::Frame;
use super::packet::{Datagram, SpaceId};
use super::path::{Clearance, Path};
use super::reinjection::Reinjection;
use super::sent::Record;
use super::space::Space;
use super::transmit::{Draft, Load};
use crate::Body;
use crate::cc::{self, Algorithm, CongestionController, Established};
use crate::path::{PathError, PathState, PathView};
use crate::ranges::RangeSet;
use crate::scheduler::{Demand, PathScheduler, Pick};
use haltere_net::{Cx, Packet, PathId, Time};
use std::collections::{HashMap, VecDeque};

/// Makes the congestion controller of a path.
pub type Controllers = Box<dyn Fn(cc::Config) -> Box<dyn CongestionController> + Send>;

/// Parts of a connection that are not from the lists that its configuration chooses from.
pub struct Parts {
    /// Decides which path a packet takes.
    pub scheduler: Box<dyn PathScheduler>,
    /// Makes the controllers of the paths; `None` leaves it to [`Config::algorithm`](super::Config).
    pub controllers: Option<Controllers>,
}

/// Timeouts after which a path that never answered is given up. The second is twice as long, so that three times the first have
/// passed by then (RFC 9000 section 8.2.4).
const VALIDATION_TIMEOUTS: u32 = 2;

/// What a connection that may have several paths has beside them.
pub(super) struct Multipath {
    scheduler: Box<dyn PathScheduler>,
    pub controllers: Option<Controllers>,
    /// Whether controllers look at the other paths.
    pub coupled: bool,
    pub views: Vec<PathView>,
    /// Paths of which the peer is to be told that they are abandoned.
    pub abandons: VecDeque<PathId>,
    /// Paths of which the peer is to be told whether they are in reserve.
    pub statuses: VecDeque<PathId>,
    /// Data that are to be sent on a path as they were on another.
    copies: VecDeque<(PathId, Few<Record>)>,
    /// Where else the next packet goes.
    copied_to: Vec<PathId>,
    /// When the scheduler wants to be asked again.
    pub wait_until: Time,
    /// The connection's limit of which the scheduler was told last that it keeps data back.
    blocking_limit: Option<u64>,
    /// What the probe was told of each stream.
    pub carried: HashMap<u64, RangeSet>,
    /// What is sent again on another path.
    pub reinjection: Reinjection,
}

impl Multipath {
    pub fn new(parts: Parts, algorithm: Algorithm) -> Box<Multipath> {
        Box::new(Multipath {
            coupled: algorithm.is_coupled() || parts.controllers.is_some(),
            scheduler: parts.scheduler,
            controllers: parts.controllers,
            views: Vec::new(),
            abandons: VecDeque::new(),
            statuses: VecDeque::new(),
            copies: VecDeque::new(),
            copied_to: Vec::new(),
            wait_until: Time::NEVER,
            blocking_limit: None,
            carried: HashMap::new(),
            reinjection: Reinjection::default(),
        })
    }

    /// Whether the peer is to be told of a path.
    pub fn owes(&self) -> bool {
        !self.abandons.is_empty() || !self.statuses.is_empty()
    }
}

/// Validation of a path by this end (RFC 9000 section 8.2), and the answer that it owes the peer's.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Challenge {
    /// A PATH_CHALLENGE is to be sent.
    pub due: bool,
    /// Data of the PATH_RESPONSE that is to be sent.
    pub response: Option<u64>,
}

/// Whether a path is in reserve (section 3.3 of the draft). Both ends treat it alike: the latest word of either counts.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Status {
    pub backup: bool,
    /// Number of the next frame for this path.
    next: u32,
    /// The number above the highest of the peer's.
    heard: u32,
}

impl Path {
    /// The state of a path that works.
    fn working(&self) -> PathState {
        if self.status.backup { PathState::Standby } else { PathState::Active }
    }

    fn become_backup(&mut self, backup: bool) {
        self.status.backup = backup;
        if self.state.usable() {
            self.state = self.working();
        }
    }

    /// The frame that tells the path's status.
    pub fn status_frame(&self) -> Frame {
        let sequence = self.status.next.saturating_sub(1);
        Frame::PathStatus { path: self.id, sequence, backup: self.status.backup }
    }

    /// What others are given of the path.
    pub fn view(&self, own: bool) -> PathView {
        self.view_paced(own, self.next_departure())
    }

    /// The same where pacing lets the next packet go at `paced_until`.
    #[inline(always)]
    fn view_paced(&self, own: bool, paced_until: Time) -> PathView {
        let delivered = self.sampler.delivered();
        let window = self.window();
        PathView {
            id: self.id,
            state: self.state,
            own,
            window,
            ssthresh: self.cc.ssthresh(),
            in_flight: self.in_flight,
            queued: 0,
            capacity: window,
            overhead: 0,
            mss: u64::from(self.mtu.current()),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            rtt_variation: self.rtt.variation(),
            delivery_rate: self.delivery_rate,
            pacing_rate: self.pacing_rate(),
            paced_until,
            in_slow_start: self.cc.in_slow_start(),
            since_loss: delivered - self.losses.1,
            between_losses: self.losses.1 - self.losses.0,
        }
    }

    /// The data of the path's PATH_CHALLENGE frames. On the wire they are random (RFC 9000 section 8.2.1), so that nobody who
    /// has not seen them can answer; here they tell the paths apart.
    fn challenge_data(&self) -> u64 {
        u64::from(self.id.0)
    }
}

impl Connection {
    /// The place of a path in the list.
    #[inline]
    pub(super) fn place(&self, id: PathId) -> Option<usize> {
        self.paths.iter().position(|path| path.id == id)
    }

    /// A path before it carries anything.
    pub(super) fn new_path(&self, id: PathId) -> Path {
        Path::new(id, &self.config, self.multi.as_ref().and_then(|m| m.controllers.as_ref()))
    }

    /// How many paths both ends allow; 1 before the handshake has told.
    pub(super) fn allowed(&self) -> u8 {
        let peer = self.peer.and_then(|p| p.initial_max_path_id).map_or(1, |most| most.saturating_add(1));
        self.config.max_paths.min(peer)
    }

    /// Begins to validate a path. What data there are takes it as soon as the peer has answered.
    pub(super) fn begin_path(&mut self, id: PathId) -> Result<(), PathError> {
        if self.config.max_paths < 2 {
            return Err(PathError::SinglePath);
        }
        if self.allowed() < 2 || !self.progress.confirmed || self.state != State::Open {
            return Err(PathError::NotNegotiated);
        }
        if self.place(id).is_some() {
            return Err(PathError::Taken);
        }
        if id.0 >= self.allowed() {
            return Err(PathError::TooMany);
        }
        let mut path = self.new_path(id);
        path.state = PathState::Validating;
        path.challenge.due = true;
        if let Some(peer) = self.peer {
            path.mtu.limit(u32::from(peer.max_udp_payload));
        }
        self.paths.push(path);
        self.spaces.data.push(Space::default());
        Ok(())
    }

    /// The place of the path that a datagram came on. The peer opens a path by sending on it (section 3.1 of the draft).
    #[cold]
    pub(super) fn place_of_arrival(&mut self, id: PathId, datagram: &Datagram) -> Option<usize> {
        let data = datagram.packets.iter().all(|packet| packet.space == SpaceId::Data);
        let place = match self.place(id) {
            Some(place) => place,
            None if data && self.begin_path(id).is_ok() => self.paths.len() - 1,
            None => return None,
        };
        (data && self.paths[place].state != PathState::Abandoned).then_some(place)
    }

    /// The peer answered a challenge; the answer may come on any path (RFC 9000 section 8.2.3).
    pub(super) fn on_path_response(&mut self, data: u64) {
        let now = self.now;
        let challenged = |p: &&mut Path| p.state == PathState::Validating && p.challenge_data() == data;
        if let Some(path) = self.paths.iter_mut().find(challenged) {
            path.state = path.working();
            path.validation.validated = true;
            path.challenge.due = false;
            path.cc.on_established(&Established { now, rtt: path.rtt.smoothed() });
        }
    }

    /// The peer gave a path up: so does this end (section 3.4 of the draft).
    pub(super) fn on_path_abandon(&mut self, id: PathId) -> Result<(), &'static str> {
        if self.allowed() < 2 {
            return Err("FRAME_ENCODING_ERROR: a PATH_ABANDON frame on a connection with a single path");
        }
        if let Some(i) = self.place(id).filter(|&i| self.paths[i].state != PathState::Abandoned) {
            self.abandon(i);
        }
        Ok(())
    }

    /// Gives a path up: what is in flight on it is sent again on others.
    fn abandon(&mut self, i: usize) {
        self.spaces.data[i].sent.oldest(usize::MAX, &mut self.fates.lost);
        self.apply_fates(i, SpaceId::Data);
        let bytes = self.spaces.data[i].discard();
        let path = &mut self.paths[i];
        path.on_discarded(bytes);
        path.state = PathState::Abandoned;
        path.challenge = Challenge::default();
        path.timer = Time::NEVER;
        path.paced_until = Time::NEVER;
        if let Some(multi) = &mut self.multi {
            multi.abandons.push_back(path.id);
        }
    }

    /// Whether a path other than this can carry data.
    fn has_other(&self, i: usize) -> bool {
        self.paths.iter().enumerate().any(|(k, path)| k != i && path.state.usable())
    }

    /// A probe timeout passed on one of several paths. Returns whether nothing else is to be done about it.
    pub(super) fn suspect(&mut self, i: usize) -> bool {
        let others = self.has_other(i);
        let path = &mut self.paths[i];
        match path.state {
            PathState::Validating if path.pto_count >= VALIDATION_TIMEOUTS => self.abandon(i),
            PathState::Validating => path.challenge.due = true,
            PathState::Suspect if others => self.spaces.data[i].probes = 1,
            PathState::Active | PathState::Standby if others => {
                path.state = PathState::Suspect;
                self.spaces.data[i].probes = 1;
                self.spaces.data[i].sent.oldest(usize::MAX, &mut self.fates.lost);
                self.apply_fates(i, SpaceId::Data);
            }
            _ => return false,
        }
        true
    }

    /// A path on which the peer answered can be trusted again.
    pub(super) fn trust(&mut self, i: usize) {
        if self.paths[i].state == PathState::Suspect {
            self.paths[i].state = self.paths[i].working();
        }
    }

    /// The path that CONNECTION_CLOSE takes.
    pub(super) fn main_path(&self) -> usize {
        self.paths.iter().position(|path| path.state.usable()).unwrap_or(0)
    }

    /// Whether the acknowledgements of all paths go on one of them.
    #[inline(always)]
    pub(super) fn gathers_acks(&self) -> bool {
        self.config.path_acks == PathAcks::Lowest && self.paths.len() > 1
    }

    /// Whether an acknowledgement must go now on the path at place `i`.
    #[inline(always)]
    pub(super) fn ack_due(&self, i: usize, now: Time) -> bool {
        if self.gathers_acks() { self.any_ack_due(i, now) } else { self.spaces.data[i].received.due(now) }
    }

    /// Whether this is the path on which the acknowledgements of all paths go, and one of them is due.
    #[cold]
    fn any_ack_due(&self, i: usize, now: Time) -> bool {
        i == self.ack_path() && self.spaces.data.iter().any(|space| space.received.due(now))
    }

    /// The place of the path on which acknowledgements go, if they all go on one: also one that has failed, as long as it is
    /// not given up.
    fn ack_path(&self) -> usize {
        let there = |path: &Path| !matches!(path.state, PathState::Validating | PathState::Abandoned);
        self.paths.iter().position(there).unwrap_or(0)
    }

    /// Places of the paths of which a packet on the path at place `i` acknowledges packets, where all acknowledgements go on one.
    fn gathered(&self, i: usize) -> impl Iterator<Item = usize> {
        let gathers = i == self.ack_path();
        let owes = move |&k: &usize| self.spaces.data[k].received.owes() && self.paths[k].state != PathState::Abandoned;
        (0..self.paths.len()).filter(move |_| gathers).filter(owes)
    }

    /// Puts the acknowledgements of all paths into a packet, if it goes on the path that carries them.
    #[cold]
    pub(super) fn gather_acks(&self, i: usize, draft: &mut Draft, now: Time) {
        for k in self.gathered(i) {
            let (id, space) = (self.paths[k].id, &self.spaces.data[k]);
            if k == i { draft.acknowledge_path(id, space, now) } else { draft.acknowledge_elsewhere(id, space, now) }
        }
    }

    /// The packet is made that carries the acknowledgements of all paths.
    #[cold]
    pub(super) fn on_gathered_acks_sent(&mut self, i: usize, eliciting: bool) {
        let others: Vec<usize> = self.gathered(i).filter(|k| *k != i).collect();
        for k in others {
            self.spaces.data[k].received.on_ack_sent(eliciting);
        }
    }

    /// The next packet of a connection that has several paths.
    pub(super) fn transmit_multi(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.multi.as_mut()?.wait_until = Time::NEVER;
        for i in 0..self.paths.len() {
            if let Some(packet) = self.transmit_validation(i, cx) {
                return Some(packet);
            }
        }
        if let Some(packet) = self.transmit_copy(cx) {
            return Some(packet);
        }
        let picked = match self.data_pending() {
            true => self.pick(cx.now),
            false => None,
        };
        if let Some(i) = picked
            && let Some(packet) = self.transmit_one(i, true, cx)
        {
            self.tell_scheduler(i, u64::from(packet.len), cx.now);
            self.copy_to_others(i);
            self.tell_blocked(cx.now);
            return Some(packet);
        }
        // Acknowledgements, probes and what else is a path's own.
        let live = |(i, path): (usize, &Path)| Some(i) != picked && path.state != PathState::Abandoned;
        (0..self.paths.len()).find_map(|i| live((i, &self.paths[i])).then(|| self.transmit_one(i, false, cx))?)
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
            path.view_paced(false, paced_until)
        }));
        if !multi.views.iter().any(|view| view.state.usable()) {
            for view in multi.views.iter_mut().filter(|view| view.state == PathState::Suspect) {
                view.state = PathState::Active;
            }
        }
        multi.copied_to.clear();
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

    /// What just went out on the path at place `i` goes on those that the scheduler chose beside it, too.
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
    #[inline]
    fn transmit_validation(&mut self, i: usize, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let path = &mut self.paths[i];
        let Challenge { due, response } = path.challenge;
        if (!due && response.is_none()) || path.validation.left() < u64::from(path.mtu.current()) {
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
            if path.status.next > 0 {
                frames.push(path.status_frame());
            }
        }
        self.build_data(i, Load::Frames(&mut frames), cx)
    }

    /// Puts a path in reserve, or takes it back, and has the peer told.
    pub(super) fn set_status(&mut self, id: PathId, backup: bool) -> Result<(), PathError> {
        let multi = self.multi.as_mut().ok_or(PathError::SinglePath)?;
        let path = self.paths.iter_mut().find(|path| path.id == id && path.state != PathState::Abandoned);
        let path = path.ok_or(PathError::NoSuchPath)?;
        if path.status.backup == backup {
            return Ok(());
        }
        path.become_backup(backup);
        path.status.next += 1;
        if path.state != PathState::Validating {
            multi.statuses.push_back(id);
        }
        Ok(())
    }

    /// The peer says whether a path is in reserve. Frames that were overtaken say nothing (section 4.3 of the draft).
    pub(super) fn on_path_status(&mut self, id: PathId, sequence: u32, backup: bool) -> Result<(), &'static str> {
        if self.allowed() < 2 {
            return Err("FRAME_ENCODING_ERROR: a PATH_STATUS frame on a connection with a single path");
        }
        if let Some(i) = self.place(id).filter(|&i| sequence >= self.paths[i].status.heard) {
            self.paths[i].status.heard = sequence.saturating_add(1);
            self.paths[i].become_backup(backup);
        }
        Ok(())
    }

    /// Gives a path up because the application wants it.
    pub(super) fn give_up(&mut self, id: PathId) -> Result<(), PathError> {
        if self.config.max_paths < 2 {
            return Err(PathError::SinglePath);
        }
        let known = self.place(id).filter(|&i| self.paths[i].state != PathState::Abandoned);
        let i = known.ok_or(PathError::NoSuchPath)?;
        if !self.has_other(i) {
            return Err(PathError::LastPath);
        }
        self.abandon(i);
        Ok(())
    }
}
