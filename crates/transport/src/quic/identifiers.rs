//! Connection identifiers as a limit (RFC 9000 section 5.1; draft-ietf-quic-multipath-19 sections 3.2.1, 3.3 and 4.4 to 4.7).
//!
//! An end sends to an address with an identifier that the peer has issued, and with another one to each further address, so that
//! nobody can tell that they belong together (RFC 9000 section 9.5). A client that has none left cannot move before the peer
//! has issued another.
//!
//! Over several paths each path has identifiers of its own, numbered from 0 ([`PER_PATH`] at a time): a path opens once each end has
//! issued one for it. A server whose client has another address on a path goes on with another identifier of the same path, retires
//! the one before (RFC 9000 section 5.1.2), and the client replaces that. An abandoned path retires all of its identifiers without
//! a frame that says so (section 3.4 of the draft).
//!
//! Both ends have the same limit. Without one, [`super::Config::connection_ids`] being `None`, there are as many identifiers as are
//! needed, and no packet carries them.
//!
//! Not modelled: Retire Prior To, identifiers of no length.

use super::Verdict;
use super::config::Config;
use super::connection::Connection;
use super::draft::Draft;
use super::frame::{Frame, VARINT_MAX};
use super::sent::Record;
use crate::path::PathError;
use crate::ranges::RangeSet;
use haltere_net::{Cx, PathId};
use std::collections::VecDeque;

/// Bytes of an identifier with its length, and of the token for a stateless reset (RFC 9000 section 19.15).
pub(super) const WITH_TOKEN: u32 = 1 + super::sizes::CONNECTION_ID + 16;

/// A frame about identifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdFrame {
    /// NEW_CONNECTION_ID (RFC 9000 section 19.15) with its number.
    New(u64),
    /// NEW_CONNECTION_ID with its number and an identifier of 20 bytes.
    NewLong(u64),
    /// RETIRE_CONNECTION_ID (19.16) with the number.
    Retire(u64),
    /// PATH_NEW_CONNECTION_ID (draft-ietf-quic-multipath section 4.4) with its path and its number.
    PathNew(PathId, u64),
    /// PATH_RETIRE_CONNECTION_ID (4.5) with the path and the number.
    PathRetire(PathId, u64),
    /// MAX_PATH_ID (4.6): the largest number of a path from now on.
    MaxPathId(u8),
    /// PATHS_BLOCKED (4.7): a path waits for a larger one than this.
    PathsBlocked(u8),
    /// PATH_CIDS_BLOCKED (4.7): this path waits for an identifier.
    PathCidsBlocked(PathId),
}

/// The identifiers of each end that may be in use or spare on one of several paths: the least that `active_connection_id_limit`
/// may be (RFC 9000 section 18.2), so that one is left if the address changes (section 3.2.1 of the draft).
const PER_PATH: u64 = 2;

/// The identifiers of a path.
#[derive(Default, Debug)]
struct Pool {
    path: PathId,
    /// Number of the next that this end issues, and those that the peer uses no more.
    next: u64,
    retired: RangeSet,
    /// The peer's that are spare, those that ever came, and the one in use.
    spare: VecDeque<u64>,
    seen: RangeSet,
    current: Option<u64>,
    /// The path is abandoned, and all of them are retired.
    over: bool,
}

impl Pool {
    /// The pool of the path on which the connection opens. Each end's first identifier is the one of the handshake.
    fn of_handshake() -> Pool {
        let mut seen = RangeSet::default();
        seen.extend(0, 1);
        Pool { next: 1, seen, current: Some(0), ..Pool::default() }
    }

    /// Issues one; returns its number.
    fn issue(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// The peer issued one. Returns whether it is new.
    fn take(&mut self, number: u64, others: u64, limit: u64) -> Result<bool, &'static str> {
        if self.seen.contains(number) {
            return Ok(false);
        }
        if self.spare.len() as u64 + u64::from(self.current.is_some()) + others >= limit {
            return Err("CONNECTION_ID_LIMIT_ERROR: more identifiers than the limit");
        }
        self.seen.extend(number, number + 1);
        self.spare.push_back(number);
        Ok(true)
    }

    /// The peer uses one no more. Returns whether it is to be replaced.
    fn retire(&mut self, number: u64) -> Result<bool, &'static str> {
        if number >= self.next {
            return Err("PROTOCOL_VIOLATION: an identifier is retired that was not issued");
        }
        Ok(self.retired.extend(number, number + 1) && !self.over)
    }

    /// Goes on with this one; returns the one that is not used again.
    fn go_on_with(&mut self, number: u64) -> Option<u64> {
        self.current.replace(number)
    }
}

/// The identifiers of a connection.
#[derive(Debug)]
pub(super) struct Identifiers {
    /// How many of each end may be in use or spare at a time; over several paths, the further paths that may be open.
    limit: u64,
    /// The frame that issues one, by its length.
    frame: fn(u64) -> IdFrame,
    /// Frames that are to be sent.
    queue: VecDeque<IdFrame>,
    /// The pools of the path on which the connection opens, and of further ones, in any order.
    first: Pool,
    further: Vec<Pool>,
    /// The one with which the client probes an address.
    probing: Option<u64>,
    /// Over several paths: the largest number that each end allows, and up to which this end has issued some.
    own_max: u8,
    peer_max: u8,
    issued: u8,
    /// Paths that wait.
    waiting: Vec<PathId>,
}

impl Identifiers {
    /// The identifiers of a connection; `None` where their number limits nothing.
    pub fn of(config: &Config) -> Option<Box<Identifiers>> {
        let limit = config.connection_ids?;
        Some(Box::new(Identifiers {
            limit: limit.into(),
            frame: if config.long_ids { IdFrame::NewLong } else { IdFrame::New },
            queue: VecDeque::new(),
            first: Pool::of_handshake(),
            further: Vec::new(),
            probing: None,
            own_max: limit,
            peer_max: 0,
            issued: 0,
            waiting: Vec::new(),
        }))
    }

    /// Whether there are frames to be sent.
    pub fn owes(&self) -> bool {
        !self.queue.is_empty()
    }

    /// A frame was lost. Those that ask or state a limit are sent again with what holds by then; those of an abandoned path are not.
    pub fn on_lost(&mut self, frame: IdFrame) {
        match frame {
            IdFrame::PathNew(path, _) | IdFrame::PathRetire(path, _) if self.pool(path).over => {}
            IdFrame::MaxPathId(_) => self.queue.push_back(IdFrame::MaxPathId(self.own_max)),
            IdFrame::PathsBlocked(_) | IdFrame::PathCidsBlocked(_) if self.waiting.is_empty() => {}
            _ => self.queue.push_back(frame),
        }
    }

    /// The identifiers of a path.
    fn pool(&mut self, path: PathId) -> &mut Pool {
        if path == PathId(0) {
            return &mut self.first;
        }
        let at = self.further.iter().position(|pool| pool.path == path).unwrap_or_else(|| {
            self.further.push(Pool { path, ..Pool::default() });
            self.further.len() - 1
        });
        &mut self.further[at]
    }

    /// Issues one for a connection with one path.
    fn issue(&mut self) {
        let number = self.first.issue();
        self.queue.push_back((self.frame)(number));
    }

    /// Issues one for one of several paths.
    fn issue_for(&mut self, path: PathId) {
        let number = self.pool(path).issue();
        self.queue.push_back(IdFrame::PathNew(path, number));
    }

    /// Issues some for each path that both ends allow and that has none yet.
    fn issue_for_paths(&mut self) {
        while self.issued < self.own_max.min(self.peer_max) {
            self.issued += 1;
            let path = PathId(self.issued);
            while !self.pool(path).over && self.pool(path).next < PER_PATH {
                self.issue_for(path);
            }
        }
    }

    /// Takes a spare one for probing. Returns whether there was one.
    pub fn probe(&mut self) -> bool {
        if self.probing.is_none() {
            self.probing = self.first.spare.pop_front();
        }
        self.probing.is_some()
    }

    /// The connection moved: the one in use is not used again.
    pub fn moved(&mut self) {
        // A server whose client issues none keeps the one that it has.
        if let Some(next) = self.probing.take().or_else(|| self.first.spare.pop_front()) {
            self.queue.extend(self.first.go_on_with(next).map(IdFrame::Retire));
        }
    }

    /// The peer has another address on one of several paths: this end goes on with another identifier of that path, or with the
    /// one that it has if none is left.
    pub fn moved_on(&mut self, path: PathId) {
        let pool = self.pool(path);
        if let Some(next) = pool.spare.pop_front() {
            let left = pool.go_on_with(next);
            self.queue.extend(left.map(|left| IdFrame::PathRetire(path, left)));
        }
    }

    /// Nobody answered: what was sent there is not used again.
    pub fn gave_up(&mut self) {
        if let Some(used) = self.probing.take() {
            self.queue.push_back(IdFrame::Retire(used));
        }
    }

    /// Whether a path can open, or why not.
    fn admits(&self, id: PathId) -> Result<(), IdFrame> {
        if id.0 > self.own_max.min(self.peer_max) {
            return Err(IdFrame::PathsBlocked(self.peer_max));
        }
        let issued = |pool: &Pool| pool.path == id && pool.current.is_some();
        if self.further.iter().any(issued) { Ok(()) } else { Err(IdFrame::PathCidsBlocked(id)) }
    }

    /// Whether the peer's packets may open a path: it answers with an identifier of the peer.
    pub fn may_open(&self, id: PathId) -> bool {
        self.admits(id).is_ok()
    }

    /// A path is abandoned: its identifiers are retired at once, and another may open in its place.
    pub fn on_abandoned(&mut self, id: PathId) {
        let pool = self.pool(id);
        *pool = Pool { path: id, next: pool.next, over: true, ..Pool::default() };
        self.queue
            .retain(|frame| !matches!(frame, IdFrame::PathNew(path, _) | IdFrame::PathRetire(path, _) if *path == id));
        self.own_max = self.own_max.saturating_add(1);
        self.queue.push_back(IdFrame::MaxPathId(self.own_max));
        self.issue_for_paths();
    }

    /// Puts frames into a packet.
    #[cold]
    pub fn draft(&mut self, draft: &mut Draft, room: u32) {
        while let Some(&frame) = self.queue.front()
            && draft.payload + Frame::Identifier(frame).size() <= room
        {
            self.queue.pop_front();
            draft.records.push(Record::Identifier(frame));
            draft.push(Frame::Identifier(frame));
        }
    }
}

impl Connection {
    /// The handshake is complete at this end: it issues its identifiers.
    #[cold]
    pub(super) fn issue_identifiers(&mut self) {
        let several = self.config.max_paths > 1;
        let peer_max = self.peer.and_then(|peer| peer.initial_max_path_id);
        let Some(ids) = &mut self.identifiers else { return };
        if several {
            ids.peer_max = peer_max.unwrap_or(0);
            if peer_max.is_some() {
                (1..PER_PATH).for_each(|_| ids.issue_for(PathId(0)));
            }
            ids.issue_for_paths();
        } else {
            (1..ids.limit).for_each(|_| ids.issue());
        }
    }

    /// A path waits if it cannot open yet. Returns whether it does.
    pub(super) fn lets_path_wait(&mut self, id: PathId) -> bool {
        let Some(ids) = &mut self.identifiers else { return false };
        let Err(blocked) = ids.admits(id) else { return false };
        if !ids.waiting.contains(&id) {
            ids.waiting.push(id);
            ids.queue.push_back(blocked);
        }
        true
    }

    /// A frame about identifiers came.
    ///
    /// # Errors
    /// The transport error if the peer keeps no limit.
    #[cold]
    pub(super) fn on_identifier(&mut self, frame: IdFrame, cx: &mut Cx<'_>) -> Verdict {
        let (several, sends_keepsakes) = (self.config.max_paths > 1, self.sends_keepsakes());
        let Some(ids) = &mut self.identifiers else { return Ok(()) };
        match frame {
            IdFrame::New(number)
            | IdFrame::NewLong(number)
            | IdFrame::Retire(number)
            | IdFrame::PathNew(_, number)
            | IdFrame::PathRetire(_, number)
                if number > VARINT_MAX =>
            {
                return Err("FRAME_ENCODING_ERROR: the number of an identifier is beyond 2^62 - 1");
            }
            IdFrame::New(number) | IdFrame::NewLong(number) => {
                let (probing, limit) = (u64::from(ids.probing.is_some()), ids.limit);
                if ids.first.take(number, probing, limit)? {
                    if sends_keepsakes && ids.first.current == Some(0) {
                        // So that the client can tell a stateless reset (quinn-proto 0.11.19, process_payload).
                        ids.moved();
                    }
                    self.move_if_wanted(cx);
                }
            }
            IdFrame::Retire(number) => {
                if ids.first.retire(number)? {
                    ids.issue();
                }
            }
            _ if !several => return Err("FRAME_ENCODING_ERROR: a frame of several paths on a connection with one"),
            IdFrame::PathNew(path, _) | IdFrame::PathRetire(path, _) if path.0 > ids.own_max => {
                return Err("PROTOCOL_VIOLATION: an identifier for a path beyond the limit");
            }
            // Section 4 of the draft: frames of a path that is no more are ignored.
            IdFrame::PathNew(path, _) | IdFrame::PathRetire(path, _) if ids.pool(path).over => {}
            IdFrame::PathNew(path, number) => {
                let pool = ids.pool(path);
                if pool.take(number, 0, PER_PATH)? && pool.current.is_none() {
                    pool.current = pool.spare.pop_front();
                }
                self.open_what_waits();
            }
            IdFrame::PathRetire(path, number) => {
                if ids.pool(path).retire(number)? {
                    ids.issue_for(path);
                }
            }
            IdFrame::MaxPathId(most) => {
                ids.peer_max = ids.peer_max.max(most);
                ids.issue_for_paths();
                self.open_what_waits();
            }
            IdFrame::PathsBlocked(_) | IdFrame::PathCidsBlocked(_) => {}
        }
        Ok(())
    }

    /// Opens the paths that waited for what has come.
    fn open_what_waits(&mut self) {
        let Some(ids) = &mut self.identifiers else { return };
        for id in std::mem::take(&mut ids.waiting) {
            // One that still has to wait is put back.
            let _: Result<(), PathError> = self.open_path(id);
        }
    }
}
