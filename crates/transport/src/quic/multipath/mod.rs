//! Several paths (draft-ietf-quic-multipath-19): how a connection gains, validates, loses and abandons them, and which of
//! them a packet takes.
//!
//! Each path has a packet number space of its own for 1-RTT packets. Those of a path are acknowledged on it, if not configured
//! otherwise ([`PathAcks`](super::PathAcks)): by ACK
//! frames on path 0 and by PATH_ACK frames on others (section 4.1 there lets ACK frames stand for path 0). A path is validated by
//! PATH_CHALLENGE and PATH_RESPONSE (RFC 9000 section 8.2) before it carries data. A path on which a probe timeout passes is
//! suspected: what is in flight there is sent again on others, and it is probed until it answers.
//!
//! Where connection identifiers are no limit (see `identifiers`), numbers of paths are taken as agreed up to the smaller of both
//! ends' limits.
//!
//! | file | subject |
//! |---|---|
//! | `mod` | the list of paths: opening, validation, suspicion, giving up |
//! | `choice` | which path a packet takes, and what goes on a path before any data |
//! | `conext` | what is otherwise in the design of 2017 |
//! | `acks` | acknowledgements of several paths on one |
//! | `status` | paths in reserve, and what others see of a path |

mod acks;
mod choice;
mod conext;
mod status;

pub(super) use status::Status;

use super::config::Design;
use super::connection::{Connection, State};
use super::few::Few;
use super::frame::Frame;
use super::packet::{Datagram, SpaceId};
use super::path::{Path, Validation, Way};
use super::reinjection::Reinjection;
use super::sent::Record;
use crate::cc::{self, Algorithm, CongestionController, Established};
use crate::path::{PathError, PathState, PathView};
use crate::quic::Verdict;
use crate::ranges::RangeSet;
use crate::scheduler::PathScheduler;
use haltere_net::{Cx, PathId, Time};
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

/// The state of a connection that may have several paths, beside the paths.
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
    /// Frames that are to be repeated on a path.
    updates: VecDeque<(PathId, Frame)>,
    /// Whether the server's further addresses are to be told, and which paths have failed.
    address_due: bool,
    paths_due: bool,
    /// When the scheduler wants to be asked again.
    pub wait_until: Time,
    /// The connection's limit of which the scheduler was told last that it keeps data back.
    blocking_limit: Option<u64>,
    /// The last report of each stream to the probe.
    pub carried: HashMap<u64, RangeSet>,
    /// The data that is sent again on another path.
    pub reinjection: Reinjection,
}

impl Multipath {
    pub fn new(parts: Parts, algorithm: Algorithm) -> Box<Multipath> {
        Box::new(Multipath {
            coupled: algorithm.coupled || parts.controllers.is_some(),
            scheduler: parts.scheduler,
            controllers: parts.controllers,
            views: Vec::new(),
            abandons: VecDeque::new(),
            statuses: VecDeque::new(),
            copies: VecDeque::new(),
            copied_to: Vec::new(),
            updates: VecDeque::new(),
            address_due: false,
            paths_due: false,
            wait_until: Time::NEVER,
            blocking_limit: None,
            carried: HashMap::new(),
            reinjection: Reinjection::default(),
        })
    }

    /// Whether the peer is to be told of a path.
    pub fn owes(&self) -> bool {
        !self.abandons.is_empty() || !self.statuses.is_empty() || self.address_due || self.paths_due
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

impl Challenge {
    /// Whether one of them is to be sent.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due || self.response.is_some()
    }
}

impl Path {
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
        if self.allowed() < 2 || !self.may_open_paths() || self.state != State::Open {
            return Err(PathError::NotNegotiated);
        }
        if self.place(id).is_some() {
            return Err(PathError::Taken);
        }
        let admitted = self.identifiers.as_ref().map_or(id.0 < self.allowed(), |ids| ids.may_open(id));
        if !admitted || id.0 >= self.config.max_paths {
            return Err(PathError::TooMany);
        }
        let mut path = self.new_path(id);
        if self.config.design == Design::Draft {
            path.state = PathState::Validating;
            path.challenge.due = true;
        } else {
            self.open_at_once(&mut path);
        }
        if let Some(peer) = self.peer {
            path.mtu.limit(u32::from(peer.max_udp_payload));
        }
        self.paths.push(path);
        self.spaces.data.push(self.first_space());
        Ok(())
    }

    /// Begins a path to an address of the peer, or has it wait for what the peer has to allow.
    pub(super) fn open_path(&mut self, id: PathId) -> Result<(), PathError> {
        match self.begin_path(id) {
            Err(PathError::TooMany) if id.0 < self.config.max_paths && self.lets_path_wait(id) => return Ok(()),
            other => other?,
        }
        // What this end chose to send to is the peer's own address.
        if let Some(path) = self.paths.last_mut() {
            path.validation.validated = true;
        }
        Ok(())
    }

    /// The place of the path that uses the addresses on which a datagram came. The peer opens a path by sending on it (section 3.1
    /// of the draft).
    #[cold]
    pub(super) fn place_of_arrival(&mut self, way: Way, datagram: &Datagram) -> Option<usize> {
        let data = datagram.packets.iter().all(|packet| packet.space == SpaceId::Data);
        let place = match self.paths.iter().position(|path| path.way == way) {
            Some(place) => place,
            None if data && self.begin_path(way.0).is_ok() => self.paths.len() - 1,
            None => return None,
        };
        let handshake = place == 0 && !self.progress.confirmed;
        ((data || handshake) && self.paths[place].state != PathState::Abandoned).then_some(place)
    }

    /// The peer answered a challenge; the answer may come on any path (RFC 9000 section 8.2.3).
    pub(super) fn on_path_response(&mut self, data: u64, cx: &mut Cx<'_>) {
        if self.on_trial_response(data, cx) {
            return;
        }
        let now = self.now;
        let challenged = |p: &&mut Path| p.state == PathState::Validating && p.challenge_data() == data;
        if let Some(path) = self.paths.iter_mut().find(challenged) {
            path.state = path.status.wanted.working();
            path.validation.validated = true;
            path.challenge.due = false;
            path.cc.on_established(&Established { now, rtt: path.rtt.smoothed() });
        }
    }

    /// The peer gave a path up: so does this end (section 3.4 of the draft).
    pub(super) fn on_path_abandon(&mut self, id: PathId) -> Verdict {
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
        // Nothing may be sent there any more, not even the acknowledgement of the packet that said so.
        path.validation = Validation { validated: false, received: 0, sent: 0 };
        path.timer = Time::NEVER;
        path.paced_until = Time::NEVER;
        if let Some(multi) = &mut self.multi {
            multi.abandons.push_back(path.id);
        }
        if let Some(ids) = &mut self.identifiers {
            ids.on_abandoned(self.paths[i].id);
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
                self.doubt(i);
                if let Some(multi) = self.multi.as_mut().filter(|_| self.config.design == Design::Conext2017) {
                    multi.paths_due = true;
                }
            }
            _ => return false,
        }
        true
    }

    /// A path carries nothing more before an answer arrives; what is in flight on it is sent again on others.
    fn doubt(&mut self, i: usize) {
        self.paths[i].state = PathState::Suspect;
        self.spaces.data[i].probes = 1;
        self.spaces.data[i].sent.oldest(usize::MAX, &mut self.fates.lost);
        self.apply_fates(i, SpaceId::Data);
    }

    /// A path on which the peer answered can be trusted again.
    pub(super) fn trust(&mut self, i: usize) {
        if self.paths[i].state == PathState::Suspect {
            self.paths[i].state = self.paths[i].status.wanted.working();
        }
    }

    /// The path that CONNECTION_CLOSE takes.
    pub(super) fn main_path(&self) -> usize {
        self.paths.iter().position(|path| path.state.usable()).unwrap_or(0)
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
