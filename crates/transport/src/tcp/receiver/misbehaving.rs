//! Receivers that misbehave, to be sent more: they split acknowledgements, or acknowledge data that has not arrived (S. Savage,
//! N. Cardwell, D. Wetherall, T. Anderson, "TCP Congestion Control with a Misbehaving Receiver", ACM CCR 29(5), 1999).
//!
//! The other acknowledgement that is sent before all others, that of DCTCP at a change of marks, stands here as well.

use super::{Config, Due, Receiver};
use crate::ranges::RangeSet;
use crate::tcp::segment::Segment;

/// How a receiver misbehaves, and what came of it so far.
#[derive(Clone, Debug)]
pub(super) struct Misbehaviour {
    /// The number of acknowledgements that it sends in place of one for new data.
    pieces: u64,
    /// The position of the last piece.
    divided: u64,
    /// The number of full segments that it acknowledges beyond those that have arrived, gaps included; `None` if it acknowledges
    /// only data that it has.
    ahead: Option<u64>,
    /// Whether the last segment was full and new, so that more is on its way. An acknowledgement of data that was never sent
    /// would be refused (RFC 9293 section 3.10.7.4).
    more: bool,
    /// The data that it has acknowledged and that has not arrived, though later data has.
    concealed: RangeSet,
}

impl Misbehaviour {
    /// The misbehaviour that a configuration asks for.
    pub(super) fn of(config: &Config) -> Option<Box<Misbehaviour>> {
        let Config { split_acks, optimistic_acks, .. } = *config;
        (split_acks > 1 || optimistic_acks.is_some()).then(|| {
            Box::new(Misbehaviour {
                pieces: split_acks.into(),
                divided: 0,
                ahead: optimistic_acks.map(u64::from),
                more: false,
                concealed: RangeSet::default(),
            })
        })
    }
}

impl Receiver {
    /// Takes note of a segment with data or FIN. An optimistic receiver takes a gap before it for data that has arrived: it
    /// will never be sent again.
    #[inline]
    pub(super) fn misbehave(&mut self, s: &Segment) {
        if self.misbehaves.is_some() {
            self.conceal(s);
        }
    }

    #[cold]
    fn conceal(&mut self, s: &Segment) {
        let Some(own) = self.misbehaves.as_deref_mut().filter(|own| own.ahead.is_some()) else { return };
        own.more = u64::from(s.len) >= self.mss && s.end() > self.next && !s.fin;
        own.concealed.remove(s.seq, s.end());
        if s.seq > self.next {
            own.concealed.insert_all(self.next, s.seq);
            self.next = s.seq;
        }
    }

    /// The position that it says has arrived: an optimistic receiver claims more than there is while more is on its way, but
    /// not more than its window allows.
    #[inline]
    pub(super) fn claimed(&self) -> u64 {
        match self.misbehaves.as_deref() {
            Some(Misbehaviour { ahead: Some(ahead), more: true, .. }) => {
                (self.next + ahead * self.mss).min(self.window.edge).max(self.next)
            }
            _ => self.next,
        }
    }

    /// Bytes that it has acknowledged and that never arrived, though later data did.
    pub(in crate::tcp) fn concealed(&self) -> u64 {
        self.misbehaves.as_deref().map_or(0, |own| own.concealed.iter().map(|(start, end)| end - start).sum())
    }

    /// The position of the next piece of an acknowledgement that is due and is split; `None` when its last piece is next, which
    /// is an acknowledgement like any other.
    fn piece(&self) -> Option<u64> {
        let own = self.misbehaves.as_deref().filter(|own| own.pieces > 1)?;
        let step = ((self.next - self.acked) / own.pieces).max(1);
        let at = own.divided.max(self.acked) + step;
        (at < self.next && self.due() == Due::Now).then_some(at)
    }

    /// Whether an acknowledgement must be sent before any other.
    #[inline]
    pub(in crate::tcp) fn owes_early(&self) -> bool {
        self.early.is_some() || (self.misbehaves.is_some() && self.piece().is_some())
    }

    /// Fills in that acknowledgement.
    pub(in crate::tcp) fn acknowledge_early(&mut self, s: &mut Segment) {
        self.told = false;
        if let Some((ack, echo)) = self.early.take() {
            // The window begins behind the segment that this is sent for (Linux: `__tcp_send_ack`).
            (s.ack, s.ece, s.window) = (ack, echo, self.offer_window(self.next));
            s.echo = self.recent_timestamp;
            return;
        }
        if let Some(at) = self.piece() {
            s.ack = at;
            self.echo.report(s);
            if let Some(own) = self.misbehaves.as_deref_mut() {
                own.divided = at;
            }
        }
        s.window = self.window.edge.saturating_sub(s.ack);
        s.echo = self.recent_timestamp;
    }
}
