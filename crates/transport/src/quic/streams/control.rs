//! Frames of flow control: limits that the peer raises, and those that are to be told.

use super::Streams;
use crate::endpoint::Event;
use crate::quic::Verdict;
use crate::quic::frame::Frame;
use std::collections::VecDeque;

impl Streams {
    pub fn on_max_data(&mut self, limit: u64) {
        self.raise_max_data(limit);
    }

    pub fn on_max_streams(&mut self, limit: u64, events: &mut VecDeque<Event>) {
        if limit > self.peer_max_streams {
            self.peer_max_streams = limit;
            if self.told_streams_blocked.take().is_some() {
                events.push_back(Event::Openable);
            }
        }
    }

    /// # Errors
    /// The transport error if there can be no such stream.
    pub fn on_max_stream_data(&mut self, id: u64, limit: u64) -> Verdict {
        self.admit(id)?;
        if let Some(stream) = self.get_mut(id) {
            stream.send_limit = stream.send_limit.max(limit);
            self.activate(id);
        }
        Ok(())
    }

    /// A MAX_STREAM_DATA frame was lost: its stream's limit, as it is by then, is sent again.
    pub fn on_limit_lost(&mut self, id: u64) {
        self.update_limit(id);
    }

    /// A frame that reported a blocked stream or connection was lost. It is sent again if that is still the case.
    pub fn on_blocked_lost(&mut self, id: Option<u64>) {
        match id {
            None => self.told_data_blocked = None,
            Some(id) => {
                if let Some(stream) = self.get_mut(id) {
                    stream.told_blocked = None;
                    self.activate(id);
                }
            }
        }
    }

    pub fn on_streams_blocked_lost(&mut self, limit: u64) {
        self.streams_blocked_pending |= self.peer_max_streams == limit;
    }

    /// Whether a flow-control frame waits to be sent.
    #[inline(always)]
    pub fn control_pending(&self) -> bool {
        self.max_data_pending
            || self.max_streams_pending
            || self.streams_blocked_pending
            || !self.limit_updates.is_empty()
            || !self.blocked.is_empty()
            || (self.data_sent >= self.data_limit && self.data_blocked().is_some())
    }

    /// The limit that blocks the connection, if no DATA_BLOCKED frame has reported it yet.
    #[inline(never)]
    fn data_blocked(&self) -> Option<u64> {
        let limit = self.max_data();
        let blocked = self.data_sent >= limit && !self.active.is_empty();
        (blocked && self.told_data_blocked != Some(limit) && !self.sendable()).then_some(limit)
    }

    /// The connection's limit that keeps data back, once the peer was told of it.
    #[inline]
    pub fn blocking_limit(&self) -> Option<u64> {
        self.told_data_blocked.filter(|limit| *limit == self.max_data())
    }

    /// The next flow-control frame to be sent.
    pub fn next_control(&mut self) -> Option<Frame> {
        if self.max_data_pending {
            self.max_data_pending = false;
            return Some(Frame::MaxData(self.window.limit()));
        }
        while let Some(id) = self.limit_updates.pop_front() {
            let Some(stream) = self.get_mut(id) else { continue };
            stream.limit_pending = false;
            if stream.recv.final_size().is_none() {
                return Some(Frame::MaxStreamData { id, limit: stream.window.limit() });
            }
        }
        if self.max_streams_pending {
            self.max_streams_pending = false;
            return Some(Frame::MaxStreams(self.max_streams));
        }
        if self.streams_blocked_pending {
            self.streams_blocked_pending = false;
            return Some(Frame::StreamsBlocked(self.peer_max_streams));
        }
        while let Some(id) = self.blocked.pop_front() {
            let Some(stream) = self.get(id) else { continue };
            if stream.told_blocked == Some(stream.send_limit) {
                return Some(Frame::StreamDataBlocked { id, limit: stream.send_limit });
            }
        }
        let limit = self.data_blocked()?;
        self.told_data_blocked = Some(limit);
        Some(Frame::DataBlocked(limit))
    }
}
