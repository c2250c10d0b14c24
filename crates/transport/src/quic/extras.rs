//! Frames that few connections send: DATAGRAM frames, and those for the client's next connection.

use super::config::Config;
use super::connection::Connection;
use super::datagram_frames::DatagramFrames;
use super::draft::Draft;
use super::keepsakes::Keepsakes;
use crate::endpoint::Role;

/// The state of frames that few connections send.
#[derive(Debug)]
pub(super) struct Extras {
    /// Frames for the client's next connection; `None` where none are sent.
    pub keepsakes: Option<Keepsakes>,
    /// DATAGRAM frames; `None` without that extension.
    pub datagrams: Option<DatagramFrames>,
}

impl Extras {
    /// The state that a configuration wants; `None` if it wants none.
    pub fn of(config: &Config) -> Option<Box<Extras>> {
        let keepsakes = Keepsakes::of(config.keepsakes).filter(|_| config.role == Role::Server);
        let datagrams = config.datagrams.then(DatagramFrames::default);
        (keepsakes.is_some() || datagrams.is_some()).then(|| Box::new(Extras { keepsakes, datagrams }))
    }

    /// A packet with a DATAGRAM frame was acknowledged.
    pub fn on_datagram_acked(&mut self) {
        self.datagrams.iter_mut().for_each(DatagramFrames::on_acked);
    }

    /// A packet with a DATAGRAM frame was lost.
    pub fn on_datagram_lost(&mut self) {
        self.datagrams.iter_mut().for_each(DatagramFrames::on_lost);
    }

    /// Puts frames into a packet, as far as there is room. `most` is the room of an empty packet.
    fn draft(&mut self, draft: &mut Draft, room: u32, most: u32) {
        if let Some(keepsakes) = &mut self.keepsakes {
            keepsakes.draft(draft, room);
        }
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.draft(draft, room, most);
        }
    }
}

impl Connection {
    /// The state of frames for the client's next connection, where such are sent.
    pub(super) fn keepsakes(&mut self) -> Option<&mut Keepsakes> {
        self.extras.as_mut()?.keepsakes.as_mut()
    }

    /// Whether this end sends frames for the client's next connection, and identifiers, before the handshake is complete.
    pub(super) fn sends_keepsakes(&self) -> bool {
        let early = |extras: &Extras| extras.keepsakes.as_ref().is_some_and(Keepsakes::are_early);
        self.extras.as_deref().is_some_and(early)
    }

    /// Puts frames of these kinds into a packet, as far as there is room.
    #[cold]
    pub(super) fn draft_extras(&mut self, i: usize, draft: &mut Draft, room: u32) {
        let most = self.room_of_empty_packet(i);
        if let Some(extras) = &mut self.extras {
            extras.draft(draft, room, most);
        }
    }

    /// Whether frames of these kinds wait that may be sent now. Those for the next connection need not wait for the end of the handshake.
    #[cold]
    pub(super) fn has_extra_frames(&self) -> bool {
        let Some(extras) = &self.extras else { return false };
        let datagrams = extras.datagrams.as_ref().is_some_and(DatagramFrames::owes);
        let Some(keepsakes) = &extras.keepsakes else { return datagrams && self.progress.complete };
        let ids = || self.identifiers.as_ref().is_some_and(|ids| ids.owes());
        (datagrams && self.progress.complete) || (self.progress.data_keys && (keepsakes.owes() || ids()))
    }
}
