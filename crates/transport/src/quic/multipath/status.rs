//! Paths in reserve, and what others see of a path.

use crate::path::{PathError, PathState, PathStatus, PathView};
use crate::quic::Verdict;
use crate::quic::connection::Connection;
use crate::quic::frame::Frame;
use crate::quic::path::Path;
use haltere_net::{PathId, Time};

/// Whether a path is in reserve (section 3.3 of the draft). Both ends treat it alike: the latest word of either counts.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::quic) struct Status {
    pub wanted: PathStatus,
    /// Number of the next frame for this path.
    next: u32,
    /// The number above the highest of the peer's.
    heard: u32,
}

impl Status {
    /// Whether this end has set it, so that the peer is to know.
    pub fn is_set(&self) -> bool {
        self.next > 0
    }
}

impl Path {
    fn want(&mut self, status: PathStatus) {
        self.status.wanted = status;
        if self.state.usable() {
            self.state = status.working();
        }
    }

    /// The frame that tells the path's status.
    pub fn status_frame(&self) -> Frame {
        let sequence = self.status.next.saturating_sub(1);
        Frame::PathStatus { path: self.id, sequence, status: self.status.wanted }
    }

    /// The view that others have of the path.
    pub fn view(&self) -> PathView {
        self.view_paced(self.next_departure())
    }

    /// The view of the path where pacing lets the next packet go at `paced_until`.
    #[inline(always)]
    pub(super) fn view_paced(&self, paced_until: Time) -> PathView {
        let delivered = self.sampler.delivered();
        let window = self.window();
        PathView {
            id: self.id,
            state: self.state,
            own: false,
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
}

impl Connection {
    /// Puts a path in reserve, or takes it back, and has the peer told.
    pub(in crate::quic) fn change_status(&mut self, id: PathId, status: PathStatus) -> Result<(), PathError> {
        let multi = self.multi.as_mut().ok_or(PathError::SinglePath)?;
        let path = self.paths.iter_mut().find(|path| path.id == id && path.state != PathState::Abandoned);
        let path = path.ok_or(PathError::NoSuchPath)?;
        if path.status.wanted == status {
            return Ok(());
        }
        path.want(status);
        path.status.next += 1;
        if path.state != PathState::Validating {
            multi.statuses.push_back(id);
        }
        Ok(())
    }

    /// The peer says whether a path is in reserve. Frames that were overtaken say nothing (section 4.3 of the draft).
    pub(in crate::quic) fn on_path_status(&mut self, id: PathId, sequence: u32, status: PathStatus) -> Verdict {
        if self.allowed() < 2 {
            return Err("FRAME_ENCODING_ERROR: a PATH_STATUS frame on a connection with a single path");
        }
        if let Some(i) = self.place(id).filter(|&i| sequence >= self.paths[i].status.heard) {
            self.paths[i].status.heard = sequence.saturating_add(1);
            self.paths[i].want(status);
        }
        Ok(())
    }
}
