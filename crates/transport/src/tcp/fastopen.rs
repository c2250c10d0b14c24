//! TCP Fast Open (RFC 7413) with a known cookie: data in the SYN, and an answer before the handshake is complete.

use super::connection::{Connection, State};
use super::scoreboard::Scoreboard;
use super::segment::{Kind, Segment};
use super::sender::{Outgoing, Timer};
use crate::cc::Established;
use crate::endpoint::{Event, Role, StreamId};
use haltere_net::{Cx, Ecn, Time};

impl Connection {
    /// Client: the first SYN carries as much of the written data as fits. A retransmitted SYN carries none, because a
    /// middlebox may drop SYNs with data (section 4.1.3, "Client cookie handling"; Linux too).
    pub(super) fn put_syn_data(&mut self, segment: &mut Segment, now: Time) {
        segment.seq = 0;
        if segment.kind == Kind::SynAck || !self.config.fast_open || self.handshake.tries > 1 {
            return;
        }
        segment.len = self.tx.begin_in_syn(self.config.syn_data(), now);
    }

    /// Client: the SYN-ACK acknowledges the SYN's data, or the SYN alone; then the data is retransmitted at once.
    pub(super) fn settle_syn_data(&mut self, ack: u64) {
        if self.config.fast_open {
            self.tx.settle_syn_data(ack);
        }
    }

    /// Server: the cookie is right, so the application receives the data at once (section 4.2.2).
    pub(super) fn take_syn_data(&mut self, s: &Segment, now: Time) {
        self.handshake.early = true;
        self.tx.offer(s.window);
        self.tx.cc.on_established(&Established { now, rtt: None });
        self.rx.on_segment(s, Ecn::NotEct, now, &self.tx);
        self.events.extend([Event::Connected, Event::Readable(StreamId(0))]);
    }

    /// Server: before the SYN-ACK is acknowledged, only the SYN-ACK is retransmitted (Linux: `tcp_retransmit_timer`).
    pub(super) fn on_wake_early(&mut self, cx: &mut Cx<'_>) {
        debug_assert!(self.state == State::SynReceived && self.config.role == Role::Server);
        self.tx.postpone(cx.now);
    }
}

impl super::sender::Sender {
    /// Sends up to `most` of the written bytes in a SYN; returns how many.
    fn begin_in_syn(&mut self, most: u64, now: Time) -> u32 {
        let len = self.written.min(most);
        if len > 0 {
            let tx = self.sampler.on_sent(now, 0);
            self.board.push(&Outgoing { begins: true, ..Outgoing::plain(0, len as u32) }, now, tx);
            self.nxt = len;
            self.stats.sent_packets += 1;
        }
        len as u32
    }

    /// The SYN-ACK acknowledges the data of the SYN up to a position. These bytes count neither for the window nor for
    /// the delivery rate, which begin with the connection (Linux: `tcp_init_transfer`).
    fn settle_syn_data(&mut self, ack: u64) {
        let arrived = ack.min(self.nxt);
        self.stats.retransmitted_packets += u64::from(arrived < self.nxt);
        self.board = Scoreboard::default();
        self.una = arrived;
        self.nxt = arrived;
        self.sampler = Default::default();
    }

    /// Rearms the timer if it is due.
    fn postpone(&mut self, now: Time) {
        if self.next_wake() <= now && self.timer().is_some() {
            self.set_timer(Timer::Rto, now, self.rto());
        }
    }
}
