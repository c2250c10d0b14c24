//! Frames on the air: who sends at a slot, what is sent, and what becomes of it.

use super::config::BLOCK_ACK_WINDOW;
use super::lane::{Lane, Part};
use super::phy::Phy;
use super::{Burst, Cell};
use crate::queue::DropReason;
use crate::time::{Span, Time};

/// Whether a frame has the medium to itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Air {
    Clear,
    /// Another frame began at the same time: both are lost.
    Collision,
}

/// A sender's transmission: a frame, an aggregate of frames, or a request for a block acknowledgement.
struct Frame<B> {
    contender: usize,
    lane: usize,
    /// None if it is a request.
    parts: Vec<Part<B>>,
    air: Span,
}

impl<B> Frame<B> {
    /// When its last bit arrives.
    fn end(&self, at: Time, lane: &Lane<B>) -> Time {
        at + self.air + lane.propagation
    }
}

/// The time that a transmission with its acknowledgement may take.
#[derive(Clone, Copy)]
struct Room {
    time: Span,
    /// Whether it is the first of a transmission opportunity, and may take longer if it is a single frame.
    first: bool,
}

/// The air time of these frames, of which there is at least one, and of their acknowledgement with SIFS before it.
fn times<B>(phy: &Phy, lane: &Lane<B>, parts: &[Part<B>], bytes: u64) -> (Span, Span) {
    match parts {
        [part] => (phy.frame_time(&lane.modulation, part.packet.len), phy.sifs + phy.ack_time(&lane.modulation)),
        _ => (phy.aggregate_time(&lane.modulation, bytes), phy.sifs + phy.block_ack_time(&lane.modulation)),
    }
}

impl<B> Cell<B> {
    /// Carries out the transmission due at `at`, the time of [`Cell::next_start`]: one frame or a collision. There is
    /// none if the queues have dropped all that they had.
    pub(super) fn transmit(&mut self, at: Time) {
        let burst = self.burst.take();
        let (frames, collided) = match burst {
            Some(Burst { contender, until }) => {
                let room = Room { time: until.since(at), first: false };
                (self.collect(contender, at, room).into_iter().collect(), Vec::new())
            }
            None => self.winners(at),
        };
        if frames.is_empty() {
            return self.plan();
        }
        let slot = if burst.is_some() { 0 } else { self.next };
        for contender in &mut self.contenders {
            contender.freeze(slot, self.rule);
        }
        for contender in collided {
            self.back_off(contender);
        }
        for frame in &frames {
            self.counters.transmissions += 1;
            self.counters.frames += frame.parts.len() as u64;
            self.counters.retries += frame.parts.iter().filter(|part| part.tries > 0).count() as u64;
        }
        let end = frames.iter().map(|frame| frame.end(at, &self.lanes[frame.lane])).max().unwrap_or(at);
        let air = if frames.len() == 1 { Air::Clear } else { Air::Collision };
        if air == Air::Collision {
            self.counters.collisions += 1;
            self.counters.collided += frames.len() as u64;
        }
        let mut answered = None;
        for frame in frames {
            let (contender, sender) = (frame.contender, self.lanes[frame.lane].sender);
            if let Some(answer) = self.arrive(frame, end, air) {
                answered = Some(answer);
                self.contenders[contender].reset(&mut self.dice[sender]);
                let until = burst.map_or(at + self.contenders[contender].txop(), |burst| burst.until);
                self.burst = (until > end + answer).then_some(Burst { contender, until });
            }
            self.refresh(contender, at);
        }
        self.free = end + answered.unwrap_or(Span::ZERO);
        self.counters.busy += self.free.since(at);
        let silence = if answered.is_none() && self.extended_space { self.phy.extended() } else { Span::ZERO };
        self.clear = self.free + silence;
        self.burst = self.burst.take().filter(|burst| self.contenders[burst.contender].active);
        self.plan();
    }

    /// The frames that begin at the next slot, and the contenders that wanted to send then and did not, as a more important one of
    /// their station does. Inside a station that counts as a collision (clause 10.22.2.4).
    fn winners(&mut self, at: Time) -> (Vec<Frame<B>>, Vec<usize>) {
        let (mut frames, mut collided): (Vec<Frame<B>>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut sending = None;
        // The categories of a station stand side by side, the most important last.
        for contender in (0..self.contenders.len()).rev() {
            if !self.contenders[contender].active || self.contenders[contender].sends_at() != self.next {
                continue;
            }
            let station = contender / self.categories;
            if sending == Some(station) {
                collided.push(contender);
                continue;
            }
            let txop = self.contenders[contender].txop();
            let time = if txop.is_zero() { Span::MAX } else { txop };
            match self.collect(contender, at, Room { time, first: true }) {
                Some(frame) => {
                    sending = Some(station);
                    frames.push(frame);
                }
                None => self.refresh(contender, at),
            }
        }
        (frames, collided)
    }

    /// The frame that a contender sends, if its queues have anything that fits.
    fn collect(&mut self, contender: usize, at: Time, room: Room) -> Option<Frame<B>> {
        let (station, category) = (contender / self.categories, contender % self.categories);
        let lanes = self.senders[station].len();
        (0..lanes).find_map(|k| {
            let turn = (self.contenders[contender].turn + k) % lanes;
            let lane = self.senders[station][turn];
            if !self.lanes[lane].queues[category].has(at) {
                return None;
            }
            let frame = match self.request(lane, category, at, room) {
                Some(request) => request.map(|air| Frame { contender, lane, parts: Vec::new(), air }),
                None => {
                    let (parts, air) = self.gather(lane, category, at, room);
                    (!parts.is_empty()).then_some(Frame { contender, lane, parts, air })
                }
            };
            self.lanes[lane].settle(at);
            self.contenders[contender].turn = turn;
            if frame.as_ref().is_none_or(|frame| frame.parts.is_empty()) {
                // Frames whose lifetime was over have been dropped, and no frame of this queue is on the air.
                self.release(lane, category, at);
            }
            frame
        })
    }

    /// The air time of the request for a block acknowledgement that goes before the frames of a queue, if it fits; `None` if
    /// there is nothing to ask for.
    fn request(&self, lane: usize, category: usize, at: Time, room: Room) -> Option<Option<Span>> {
        let (phy, lane) = (&self.phy, &self.lanes[lane]);
        if !lane.queues[category].asks(at) {
            return None;
        }
        let time = phy.block_ack_request_time(&lane.modulation);
        let answer = phy.sifs + phy.block_ack_time(&lane.modulation) + lane.propagation * 2;
        Some((room.first || time + answer <= room.time).then_some(time))
    }

    /// The frames of one queue that go into one transmission, with its air time.
    fn gather(&mut self, lane: usize, category: usize, at: Time, room: Room) -> (Vec<Part<B>>, Span) {
        let (phy, aggregation) = (&self.phy, self.aggregation);
        let lane = &mut self.lanes[lane];
        let (mut parts, mut bytes, mut air): (Vec<Part<B>>, u64, Span) = (Vec::new(), 0, Span::ZERO);
        while let Some(part) = lane.queues[category].take(at, &mut lane.counters) {
            let number = part.number;
            bytes += phy.part_bytes(part.packet.len);
            parts.push(part);
            let (time, answer) = times(phy, lane, &parts, bytes);
            let in_time = time + answer + lane.propagation * 2 <= room.time;
            let fits = if parts.len() == 1 {
                room.first || in_time
            } else {
                in_time
                    && time <= phy.longest
                    && aggregation.is_some_and(|limit| {
                        parts.len() <= limit.frames as usize
                            && bytes <= u64::from(limit.bytes)
                            && number < parts[0].number + u64::from(BLOCK_ACK_WINDOW)
                    })
            };
            if !fits {
                // It is the first of the next transmission.
                lane.queues[category].put_back(parts.pop());
                break;
            }
            air = time;
            if aggregation.is_none() {
                break;
            }
        }
        (parts, air)
    }

    /// Decides on each part of a frame whose last bit arrives at `end`. If any is read, the receiver answers: how long after
    /// `end` the medium is free then.
    fn arrive(&mut self, frame: Frame<B>, end: Time, air: Air) -> Option<Span> {
        let Frame { contender, lane: number, parts, .. } = frame;
        if parts.is_empty() {
            return self.ask(contender, number, air);
        }
        let aggregate = parts.len() > 1;
        let category = contender % self.categories;
        let lane = &mut self.lanes[number];
        let answer =
            if aggregate { self.phy.block_ack_time(&lane.modulation) } else { self.phy.ack_time(&lane.modulation) };
        let first = parts.first().map(|part| part.number);
        let (mut again, mut read, mut dropped, mut given_up) = (Vec::new(), false, false, false);
        for mut part in parts {
            if air == Air::Clear && !lane.loss.strikes() {
                read = true;
                lane.queues[category].receive(part);
                continue;
            }
            part.tries += 1;
            if self.retries.is_some_and(|limit| part.tries > limit) {
                dropped = true;
                given_up |= Some(part.number) == first;
                lane.counters.count_drop(DropReason::Retries);
                self.counters.given_up += 1;
            } else {
                again.push(part);
            }
        }
        if dropped || aggregate && !read {
            lane.queues[category].will_request();
        }
        lane.queues[category].put_back(again.into_iter().rev());
        let (answer, propagation, sender) = (self.phy.sifs + answer, lane.propagation, lane.sender);
        self.release(number, category, end);
        if read {
            // The next receiver has its turn.
            self.contenders[contender].turn += 1;
            return Some(answer + propagation);
        }
        if given_up {
            self.contenders[contender].reset(&mut self.dice[sender]);
        } else {
            self.back_off(contender);
        }
        None
    }

    /// The receiver passes on at `at` the packets before which no frame is missing any more, as it has arrived or was dropped.
    fn release(&mut self, lane: usize, category: usize, at: Time) {
        while let Some(packet) = self.lanes[lane].queues[category].release() {
            self.out.push_back((at, lane as u32, packet));
        }
    }

    /// A request for a block acknowledgement has been sent: how long after its end the medium is free again, if it is answered.
    /// The answer says that no frame of the aggregate was read, so that all are sent again. After as many requests without an
    /// answer as a frame may have, they are sent again without one.
    fn ask(&mut self, contender: usize, lane: usize, air: Air) -> Option<Span> {
        let lane = &mut self.lanes[lane];
        let queue = &mut lane.queues[contender % self.categories];
        if air == Air::Clear && !lane.loss.strikes() {
            queue.request = None;
            return Some(self.phy.sifs + self.phy.block_ack_time(&lane.modulation) + lane.propagation);
        }
        let tries = queue.request.map_or(0, |tries| tries + 1);
        queue.request = Some(tries).filter(|&tries| self.retries.is_none_or(|limit| tries <= limit));
        self.back_off(contender);
        None
    }

    fn back_off(&mut self, contender: usize) {
        let station = contender / self.categories;
        self.contenders[contender].back_off(&mut self.dice[station]);
    }
}
