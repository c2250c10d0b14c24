//! A connection as a subflow of MPTCP: MPTCP fills the send queue, reads what the peer has
//! acknowledged, and shares one receive window among all subflows.

use super::connection::{Connection, State};
use super::sender::Sender;
use super::supersegment::LARGEST;
use crate::cc;
use crate::path::{PathState, PathView};
use haltere_net::{PathId, Span, Time};

impl Sender {
    /// Tells the controller of an acknowledgement, and a coupled one of the other paths of the connection.
    #[inline]
    pub(super) fn tell_controller(&mut self, ack: &cc::Ack) {
        if self.siblings.is_empty() {
            return self.cc.on_ack(ack, &[]);
        }
        self.tell_coupled(ack);
    }

    #[inline(never)]
    fn tell_coupled(&mut self, ack: &cc::Ack) {
        let mut siblings = std::mem::take(&mut self.siblings);
        // The own view is that after the acknowledgement.
        if let Some(own) = siblings.iter_mut().find(|view| view.own) {
            *own = PathView { own: true, ..self.view(own.state) };
        }
        self.cc.on_ack(ack, &siblings);
        self.siblings = siblings;
    }

    /// A loss was found: coupled congestion controls ask what was delivered between losses.
    pub(super) fn note_loss(&mut self) {
        let delivered = self.sampler.delivered();
        if delivered > self.losses.1 {
            self.losses = (self.losses.1, delivered);
        }
    }

    /// Bytes that its send buffer keeps beside those in flight and those that are not sent (Linux: `sk_wmem_queued`): all that
    /// is not acknowledged in order, and a descriptor for each super-segment.
    pub(super) fn buffer_overhead(&self) -> u64 {
        let unsent = self.unsent();
        let counted = self.in_flight() + unsent;
        let descriptors = self.board.super_segments() + unsent.div_ceil(LARGEST);
        self.written.saturating_sub(self.una).saturating_sub(counted) + descriptors * DESCRIPTOR
    }

    /// The view that others have of the subflow.
    pub(super) fn view(&self, state: PathState) -> PathView {
        PathView {
            id: self.path,
            state,
            own: false,
            window: self.window(),
            ssthresh: self.cc.ssthresh(),
            in_flight: self.in_flight(),
            queued: self.unsent(),
            capacity: u64::MAX,
            overhead: self.buffer_overhead(),
            mss: self.mss,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            rtt_variation: self.rtt.variation(),
            delivery_rate: None,
            pacing_rate: self.pacing_rate(),
            // The subflow paces what it was given.
            paced_until: Time::ZERO,
            in_slow_start: self.cc.in_slow_start(),
            since_loss: self.sampler.delivered() - self.losses.1,
            between_losses: self.losses.1 - self.losses.0,
        }
    }
}

/// The memory of an empty descriptor of a segment or super-segment in a send buffer, bytes (Linux: `SKB_TRUESIZE` of the
/// smallest head, on 64-bit machines).
const DESCRIPTOR: u64 = 896;

impl Connection {
    /// The state that others see: whether it may carry data.
    pub(crate) fn is_established(&self) -> bool {
        matches!(self.state, State::Established)
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Failed | State::Closed)
    }

    /// A view of the subflow in the state `state`.
    pub(crate) fn view(&self, state: PathState) -> PathView {
        self.tx.view(state)
    }

    pub(crate) fn path(&self) -> PathId {
        self.tx.path
    }

    /// The end of the data that was written to it, and of the data that the peer acknowledged.
    pub(crate) fn written(&self) -> u64 {
        self.tx.written
    }
    pub(crate) fn acknowledged(&self) -> u64 {
        self.tx.una
    }

    /// Bytes that it holds behind a gap of its own.
    pub(crate) fn held(&self) -> u64 {
        self.rx.held
    }

    /// Appends data.
    pub(crate) fn give(&mut self, bytes: u64) {
        self.tx.write(bytes);
    }

    /// No segment carries bytes of the data so far and of that to come.
    pub(crate) fn cut(&mut self) {
        if self.tx.unsent() > 0 {
            self.tx.cuts.add(self.tx.written);
        }
    }

    /// Whether more data is about to be given.
    pub(crate) fn expects_more(&mut self) -> &mut bool {
        &mut self.tx.more
    }

    /// The bytes that are in flight, and those that are not sent yet.
    pub(crate) fn holds(&self) -> (u64, u64) {
        (self.tx.in_flight(), self.tx.unsent())
    }

    /// Bytes that its send buffer keeps beside these.
    pub(crate) fn buffer_overhead(&self) -> u64 {
        self.tx.buffer_overhead()
    }

    /// Whether everything that was given is acknowledged.
    pub(crate) fn is_idle(&self) -> bool {
        self.tx.una == self.tx.written
    }

    /// Whether the congestion window has room: it does not limit the subflow.
    pub(crate) fn has_room(&self) -> bool {
        self.tx.in_flight() + self.tx.mss <= self.tx.window()
    }

    /// Whether it has sent a part of a super-segment.
    pub(crate) fn sends_together(&self) -> bool {
        self.tx.together.is_begun()
    }

    pub(crate) fn window(&self) -> u64 {
        self.tx.window()
    }

    pub(crate) fn mss(&self) -> u64 {
        self.tx.mss
    }

    pub(crate) fn srtt(&self) -> Option<Span> {
        self.tx.rtt.srtt()
    }

    /// The last window that the peer offered, from the position up to which it has acknowledged.
    pub(crate) fn offered(&self) -> u64 {
        self.tx.window_end.saturating_sub(self.tx.una)
    }

    /// Retransmission timeouts in a row without an acknowledgement.
    pub(crate) fn timeouts_in_row(&self) -> u32 {
        self.tx.retransmits
    }

    /// How long it is until its retransmission or probe timer is due, if one runs.
    pub(crate) fn timer_left(&self, now: Time) -> Option<Span> {
        self.tx.timer_left(now)
    }

    /// When a timer of its host that is set for `span` expires.
    pub(crate) fn deadline(&self, now: Time, span: Span) -> Time {
        self.tx.ticks.deadline(now, span)
    }

    /// Sends an acknowledgement as soon as possible.
    pub(crate) fn acknowledge_now(&mut self) {
        self.rx.acknowledge_now();
    }

    /// Gives the congestion control the views of all paths of the connection. An empty list uncouples it.
    pub(crate) fn set_siblings(&mut self, views: &[PathView]) {
        self.tx.siblings.clear();
        self.tx.siblings.extend_from_slice(views);
    }

    /// Reduces the window, because the path held back the others (C. Raiciu et al., "How hard can it be?", NSDI 2012,
    /// section 4.2).
    pub(crate) fn penalise(&mut self, now: Time) {
        self.tx.begin_reduction(cc::Trigger::Delay, now);
    }

    /// The subflow is all there is: it has a receive window of its own, and its acknowledgements have room for `blocks` of SACK.
    pub(crate) fn be_alone(&mut self, blocks: u32) {
        self.tx.mapped = false;
        self.rx.be_alone(blocks);
    }

    /// The receive window is that of the connection: its size does not follow what this subflow reads.
    pub(crate) fn share_window(&mut self) {
        self.rx.share_window();
    }

    /// Segments that are sent together end where a mapping ends.
    pub(crate) fn keep_mappings_apart(&mut self) {
        self.tx.mapped = true;
    }

    /// The receive buffer of the connection has room for a window of `clamp` bytes, of which `held` are taken.
    pub(crate) fn set_receive_room(&mut self, clamp: u64, held: u64) {
        self.rx.set_room(clamp, held);
    }

    /// The window that the subflow would offer: it grows with the packets that arrive on it.
    pub(crate) fn receive_space(&self) -> u64 {
        self.rx.space()
    }

    /// The connection offers this window with the acknowledgement that is being sent. The subflow accepts what fits.
    pub(crate) fn offer_window(&mut self, window: u64) {
        self.rx.offer(window);
    }

    /// The RTT as the receiving half measures it, if it did.
    pub(crate) fn receiver_rtt(&self) -> Option<Span> {
        self.rx.rtt()
    }
}
