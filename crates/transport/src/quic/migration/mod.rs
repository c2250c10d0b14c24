//! Connection migration (RFC 9000 section 9): a path whose packets come from a new address of the client, because a network
//! address translator rebinds it or because the client moves on purpose.
//!
//! A path keeps its packet number space when its addresses change. Each pair of addresses has a number of its own, under which
//! packets arrive and leave (`way`). A pair that is not validated yet is a [`Trial`].
//!
//! - The client moves on purpose: it sends PATH_CHALLENGE from the new address, and goes on there once the server has answered.
//! - The server follows the packet with the highest number that is more than a probe (section 9.3). Until the client has
//!   answered a PATH_CHALLENGE, it sends three times what it received there (section 8.1). It challenges the address that it
//!   left, too (section 9.3.3), and goes back to it if the new one does not answer (section 9.3.2).
//! - A new address begins with a new congestion control, RTT estimate and datagram size; a new port keeps them (section 9.4).
//!
//! Not modelled: preferred addresses (section 9.6).

mod probe;

use super::connection::{Connection, State};
use super::few::Few;
use super::frame::Frame;
use super::packet::{Datagram, SpaceId};
use super::path::{Path, Validation, Way};
use crate::cc::Established;
use crate::endpoint::Role;
use crate::path::{AddressChange, PathError};
use haltere_net::incident::MigrationStep;
use haltere_net::{Cx, Ecn, Incident, PathId, Span, Time};

/// Timeouts after which validation fails. The second is twice as long, so that three times the first have passed by then
/// (section 8.2.4).
const VALIDATION_TIMEOUTS: u32 = 2;
/// Answers that are kept for challenges; those of a peer that sends more are dropped.
const MAX_RESPONSES: usize = 8;
/// The data of a trial's PATH_CHALLENGE frames are this and the number of its addresses. On the wire they are random; those of
/// paths (see `multipath`) are below.
const TRIAL_DATA: u64 = 1 << 8;

/// The purpose of a trial.
enum Purpose {
    /// The client moves there once the server has answered.
    Wanted,
    /// The client asked for an answer from there, no more as yet.
    Probed,
    /// The path uses it already, and goes back to these addresses if it fails.
    InUse(Box<Left>),
    /// The path has left it: a client that is still there would answer.
    Former,
}

/// Addresses that a path has left, to which it may come back.
struct Left {
    way: Way,
    validation: Validation,
    /// The state of the path at these addresses. `None` if the path took its state along to the new ones.
    path: Option<Path>,
}

/// A pair of addresses under validation.
struct Trial {
    /// The place of its path, and the number under which the pair is reported to the application.
    place: usize,
    label: PathId,
    way: Way,
    change: AddressChange,
    /// Whether the client moved there on purpose, with another connection identifier.
    moves: bool,
    purpose: Purpose,
    /// The validation of the pair and its anti-amplification limit, until the path uses it.
    validation: Validation,
    /// A PATH_CHALLENGE is to be sent.
    due: bool,
    tries: u32,
    sent: Time,
    /// Until when an answer is waited for.
    timer: Time,
    /// How long the answer took, if that is known.
    round_trip: Option<Span>,
}

impl Trial {
    fn new(place: usize, (label, way): (PathId, Way), change: AddressChange, purpose: Purpose) -> Trial {
        Trial {
            place,
            label,
            way,
            change,
            moves: true,
            purpose,
            validation: Validation { validated: false, received: 0, sent: 0 },
            due: true,
            tries: 0,
            sent: Time::ZERO,
            timer: Time::NEVER,
            round_trip: None,
        }
    }

    /// A validation of an address that the anti-amplification limit does not hold for.
    fn known(self) -> Trial {
        Trial { validation: Validation { validated: true, received: 0, sent: 0 }, ..self }
    }

    fn on_sent(&mut self, now: Time, pto: Span) {
        self.due = false;
        self.sent = now;
        self.timer = now + pto * (1 << self.tries);
        self.tries += 1;
    }
}

/// An answer owed to a PATH_CHALLENGE: the place of the path, the addresses on which it came, its data.
type Response = (usize, Way, u64);

/// The state of a connection whose addresses change, beside its paths.
#[derive(Default)]
pub(super) struct Migration {
    trials: Vec<Trial>,
    responses: Vec<Response>,
    /// Where the client goes once the handshake is confirmed.
    wanted: Option<Way>,
    /// The addresses of the datagram that is being read, if its path does not use them.
    arrival: Option<Way>,
}

impl Migration {
    /// When it next has something to do by itself.
    pub fn next_wake(&self) -> Time {
        self.trials.iter().map(|trial| trial.timer).min().unwrap_or(Time::NEVER)
    }

    fn trial(&mut self, way: Way) -> Option<&mut Trial> {
        self.trials.iter_mut().find(|trial| trial.way == way)
    }

    /// Adds a trial in the place of one of the same addresses.
    fn add(&mut self, trial: Trial) {
        self.trials.retain(|other| other.way != trial.way);
        self.trials.push(trial);
    }
}

/// Whether a packet with these frames is more than a probe (section 9.1).
fn is_more_than_probe(frames: &Few<Frame>) -> bool {
    frames.iter().any(|frame| !frame.is_probing())
}

impl Connection {
    fn moving(&mut self) -> &mut Migration {
        self.migration.get_or_insert_default()
    }

    /// The client is to go on from another of its addresses.
    pub(super) fn begin_migration(&mut self, way: Way, cx: &mut Cx<'_>) -> Result<(), PathError> {
        if self.config.role == Role::Server {
            return Err(PathError::Bound);
        }
        if self.config.max_paths > 1 {
            return Err(PathError::Several);
        }
        let confirmed = self.progress.confirmed;
        let stays = self.paths[0].way == way;
        let moving = self.moving();
        moving.trials.retain(|trial| !matches!(trial.purpose, Purpose::Wanted));
        // Section 9: not before the handshake is confirmed. Section 9.5: an identifier must be spare.
        let may = confirmed && (stays || self.identifiers.as_mut().is_none_or(|ids| ids.probe()));
        let moving = self.moving();
        moving.wanted = (!may).then_some(way);
        if may && !stays {
            moving.add(Trial::new(0, (way.0, way), AddressChange::Address, Purpose::Wanted).known());
            cx.tell(Incident::Migration { path: way.0, step: MigrationStep::ProbingStarted });
        }
        Ok(())
    }

    /// The handshake is confirmed: data have a probe timeout, and the client may move.
    #[cold]
    pub(super) fn on_confirmed(&mut self, cx: &mut Cx<'_>) {
        // Packets of paths that were opened before have timers from now on.
        (1..self.paths.len()).for_each(|i| self.set_timer(i, cx));
        self.move_if_wanted(cx);
    }

    /// Moves where the client wanted to go and could not yet.
    #[cold]
    pub(super) fn move_if_wanted(&mut self, cx: &mut Cx<'_>) {
        if let Some(way) = self.migration.as_mut().and_then(|moving| moving.wanted.take()) {
            // A migration that is wanted was checked when it was asked for, and cannot be refused any more.
            let begun = self.begin_migration(way, cx);
            debug_assert!(begun.is_ok(), "{begun:?}");
        }
    }

    /// The peer's packets on path `of` come from a new address.
    pub(super) fn expect_new_address(&mut self, of: PathId, way: Way, change: AddressChange) {
        let place = self.place(of).unwrap_or(0);
        // The client does not know it, and goes on with the identifier that it has.
        let rebound = Trial::new(place, (of, way), change, Purpose::Probed);
        self.moving().add(Trial { moves: false, ..rebound });
    }

    /// The place of the path to which a datagram belongs, if it came on addresses that no path uses. A datagram may be the first
    /// from its addresses.
    #[cold]
    pub(super) fn place_of_stray(&mut self, way: Way, datagram: &Datagram) -> Option<usize> {
        let data = datagram.packets.iter().any(|packet| packet.space == SpaceId::Data);
        let in_use = self.paths.iter().any(|path| path.way == way);
        if !data || in_use || !self.progress.confirmed {
            // Section 9: addresses do not change during the handshake. A path that uses them and did not take it was abandoned.
            return None;
        }
        if self.config.role == Role::Client {
            // The server's address is the same. The client's own may be one that it has left.
            return (self.config.max_paths < 2).then_some(0);
        }
        if let Some(trial) = self.migration.as_mut().and_then(|moving| moving.trial(way)) {
            return Some(trial.place);
        }
        // A path that has left these addresses has their number if it is one of several.
        let place = if self.config.max_paths > 1 { self.place(way.0)? } else { 0 };
        self.moving().add(Trial::new(place, (way.0, way), AddressChange::Address, Purpose::Probed));
        Some(place)
    }

    /// A datagram of the path at place `i` came on addresses that it does not use.
    #[cold]
    pub(super) fn receive_aside(
        &mut self,
        (i, way): (usize, Way),
        (len, ecn): (u32, Ecn),
        datagram: &Datagram,
        cx: &mut Cx<'_>,
    ) {
        let size = u64::from(len.saturating_sub(self.config.ip_udp));
        let moving = self.moving();
        moving.arrival = Some(way);
        if let Some(trial) = moving.trial(way) {
            trial.validation.received += size;
        }
        let before = self.spaces.data[i].received.largest();
        let moves = datagram.packets.iter().filter(|packet| is_more_than_probe(&packet.frames));
        let moves = moves.map(|packet| packet.number).max().filter(|number| before < Some(*number));
        let credit = self.paths[i].validation.received;
        self.receive_on_other(i, (len, ecn), datagram, cx);
        self.paths[i].validation.received = credit;
        self.moving().arrival = None;
        // Section 9.3: the packet with the highest number says where the client is.
        let highest = moves.is_some() && moves == self.spaces.data[i].received.largest();
        if highest && self.config.role == Role::Server && self.state == State::Open {
            self.switch(i, way, cx);
        }
    }

    /// The peer wants to know whether it can be reached on the addresses that it used.
    #[cold]
    pub(super) fn on_path_challenge(&mut self, i: usize, data: u64) {
        let arrival = self.migration.as_ref().and_then(|moving| moving.arrival);
        if self.config.max_paths > 1 && arrival.is_none() {
            self.paths[i].challenge.response = Some(data);
            return;
        }
        let way = arrival.unwrap_or(self.paths[i].way);
        let moving = self.moving();
        if moving.responses.len() < MAX_RESPONSES {
            moving.responses.push((i, way, data));
        }
    }

    /// The peer answered the challenge of a trial. Returns whether the data are those of one.
    #[cold]
    pub(super) fn on_trial_response(&mut self, data: u64, cx: &mut Cx<'_>) -> bool {
        let now = self.now;
        let Some(way) = data.checked_sub(TRIAL_DATA).and_then(|way| u8::try_from(way).ok()) else { return false };
        let way = Way(PathId(way));
        let Some(moving) = &mut self.migration else { return true };
        let Some(at) = moving.trials.iter().position(|trial| trial.way == way) else { return true };
        let trial = &mut moving.trials[at];
        trial.validation.validated = true;
        (trial.due, trial.timer) = (false, Time::NEVER);
        trial.round_trip = (trial.tries == 1).then(|| now.since(trial.sent));
        let (i, round_trip) = (trial.place, trial.round_trip);
        match trial.purpose {
            Purpose::Probed => {}
            Purpose::Wanted => self.switch(i, way, cx),
            Purpose::Former => drop(moving.trials.swap_remove(at)),
            Purpose::InUse(_) => {
                moving.trials.swap_remove(at);
                let path = &mut self.paths[i];
                path.validation.validated = true;
                path.pto_count = 0;
                path.rtt.suppose(round_trip);
                cx.tell(Incident::Migration { path: self.paths[i].label, step: MigrationStep::Complete });
                self.set_timer(i, cx);
            }
        }
        true
    }

    /// The path at place `i` goes on with other addresses.
    fn switch(&mut self, i: usize, way: Way, cx: &mut Cx<'_>) {
        let Some(moving) = &mut self.migration else { return };
        let Some(at) = moving.trials.iter().position(|trial| trial.way == way) else { return };
        let trial = moving.trials.swap_remove(at);
        // If the addresses in use were not validated either, it is those before them that count.
        let unproven = |other: &Trial| other.place == i && matches!(other.purpose, Purpose::InUse(_));
        let before = moving.trials.iter().position(unproven).map(|at| moving.trials.swap_remove(at));
        let before = before.and_then(|other| if let Purpose::InUse(left) = other.purpose { Some(*left) } else { None });
        let (left_way, left_validation) = (self.paths[i].way, self.paths[i].validation);
        let displaced = (trial.change == AddressChange::Address).then(|| self.begin_anew(i, &trial));
        let path = &mut self.paths[i];
        path.way = way;
        path.validation = trial.validation;
        path.rtt.suppose(trial.round_trip);
        let (label, validated) = (path.label, trial.validation.validated);
        let left = match before {
            Some(left) => Left { path: left.path.or(displaced), ..left },
            None => Left { way: left_way, validation: left_validation, path: displaced },
        };
        cx.tell(Incident::Migration { path: label, step: MigrationStep::Started });
        match &mut self.identifiers {
            Some(ids) if self.config.max_paths > 1 => ids.moved_on(self.paths[i].id),
            Some(ids) if trial.moves => ids.moved(),
            _ => {}
        }
        if self.config.role == Role::Client {
            // Section 9.2: the server follows a packet that is more than a probe.
            self.spaces.data[i].probes = self.spaces.data[i].probes.max(1);
        } else if !validated {
            let moving = self.moving();
            if left_validation.validated {
                let former = Trial::new(i, (label, left_way), AddressChange::Address, Purpose::Former);
                moving.add(former.known());
            }
            moving.trials.push(Trial { purpose: Purpose::InUse(Box::new(left)), ..trial });
        }
        if validated {
            cx.tell(Incident::Migration { path: label, step: MigrationStep::Complete });
        }
        self.set_timer(i, cx);
    }

    /// The path at place `i` begins anew with congestion control, RTT and datagram size (section 9.4); returns what it was.
    fn begin_anew(&mut self, i: usize, trial: &Trial) -> Path {
        let mut fresh = self.new_path(trial.label);
        let old = &self.paths[i];
        fresh.id = old.id;
        fresh.state = old.state;
        fresh.status = old.status;
        fresh.marking = old.marking;
        fresh.next_data = self.spaces.data[i].next_number;
        if let Some(peer) = self.peer {
            fresh.mtu.limit(u32::from(peer.max_udp_payload));
        }
        fresh.cc.on_established(&Established { now: self.now, rtt: None });
        let mut old = std::mem::replace(&mut self.paths[i], fresh);
        old.in_flight = 0;
        self.forget_flight(i);
        old
    }

    /// The packets in flight on the path at place `i` left on other addresses: their fate says nothing of the new ones.
    fn forget_flight(&mut self, i: usize) {
        let space = &mut self.spaces.data[i];
        space.sent.leave_path(self.now);
        space.loss_time = None;
    }

    /// Timers of trials that are due.
    #[cold]
    pub(super) fn on_trial_timers(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        let Some(moving) = &mut self.migration else { return };
        let mut failed = Vec::new();
        for trial in moving.trials.iter_mut().filter(|trial| trial.timer <= now) {
            trial.timer = Time::NEVER;
            trial.due = trial.tries < VALIDATION_TIMEOUTS;
            if !trial.due {
                failed.push(trial.way);
            }
        }
        for way in failed {
            self.give_trial_up(way, cx);
        }
    }

    /// Nobody answers there.
    fn give_trial_up(&mut self, way: Way, cx: &mut Cx<'_>) {
        let Some(moving) = &mut self.migration else { return };
        let Some(at) = moving.trials.iter().position(|trial| trial.way == way) else { return };
        let trial = moving.trials.swap_remove(at);
        let i = trial.place;
        let step = match trial.purpose {
            Purpose::Former => return,
            Purpose::Wanted | Purpose::Probed => {
                if let Some(ids) = self.identifiers.as_mut().filter(|_| self.config.role == Role::Client) {
                    ids.gave_up();
                }
                MigrationStep::ProbingAbandoned
            }
            Purpose::InUse(left) => {
                let Left { way, validation, path } = *left;
                if let Some(path) = path {
                    self.paths[i] = path;
                    self.paths[i].next_data = self.spaces.data[i].next_number;
                    self.forget_flight(i);
                }
                self.paths[i].way = way;
                self.paths[i].validation = validation;
                self.set_timer(i, cx);
                MigrationStep::Abandoned
            }
        };
        cx.tell(Incident::Migration { path: trial.label, step });
    }
}

impl Migration {
    /// Whether nothing is left to do or to remember.
    fn is_over(&self) -> bool {
        self.trials.is_empty() && self.responses.is_empty() && self.wanted.is_none() && self.arrival.is_none()
    }
}
