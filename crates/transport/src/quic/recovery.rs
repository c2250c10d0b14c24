//! The effects of acknowledgements and of the loss timer on a path (RFC 9002 sections 6 and 7, appendices A and B).

use super::Verdict;
use super::ecn::EcnCounts;
use super::frame::Ack;
use super::packet::SpaceId;
use super::path::{Episode, Path, Situation};
use super::sent::{Record, Thresholds};
use super::space::Space;
use crate::cc::{self, AckedPacket, Ask, Congestion, Lost, Phase, Trigger};
use crate::endpoint::Stats;
use crate::path::PathView;
use haltere_net::incident::PacketName;
use haltere_net::{Cx, Incident, Metric, Rate, Span, Time};
use std::ops::Range;

/// Records of packets whose fate was learnt; kept by the connection so as not to allocate for each ACK.
#[derive(Default, Debug)]
pub(super) struct Fates {
    pub acked: Vec<Record>,
    pub lost: Vec<Record>,
}

/// The records that a connection keeps of the packets of all its paths.
pub(super) struct Books<'a> {
    pub fates: &'a mut Fates,
    pub stats: &'a mut Stats,
}

/// The packets that an ACK newly acknowledged, and what follows from it.
#[derive(Clone, Copy, Default, Debug)]
struct Newly {
    packets: u64,
    bytes: u64,
    eliciting: bool,
    prior_in_flight: u64,
    /// Bytes found lost.
    lost: u64,
    rtt: Option<Span>,
    /// Number and sending time of the largest.
    largest: Option<(u64, Time)>,
    mtu_probe: Option<u32>,
}

impl Situation {
    /// How long the peer held an ACK back. Initial packets are not held back, and the peer's bound holds once the handshake
    /// is confirmed (section 5.3).
    fn ack_delay(&self, id: SpaceId, ack: &Ack) -> Span {
        match id {
            SpaceId::Initial => Span::ZERO,
            _ if self.confirmed => ack.delay().min(self.max_ack_delay),
            _ => ack.delay(),
        }
    }
}

/// The first range of an ACK, and those below it, highest first, that the ACK before did not have.
type News<'a> = (&'a Range<u64>, &'a [Range<u64>]);

/// Losses are remembered for so many probe timeouts, in case an acknowledgement comes late.
const MEMORY: u64 = 3;

impl Path {
    /// Appendix A.7: an ACK frame arrived in this space.
    ///
    /// # Errors
    /// The transport error if it acknowledges what was never sent.
    pub fn on_ack(
        &mut self,
        (id, space): (SpaceId, &mut Space),
        (ack, counts): (&Ack, Option<EcnCounts>),
        (about, siblings): (&Situation, &mut [PathView]),
        mut books: Books<'_>,
        cx: &mut Cx<'_>,
    ) -> Verdict {
        let largest = space.check_ack(ack)?;
        let now = cx.now;
        let advanced = space.largest_acked < Some(largest);
        space.largest_acked = space.largest_acked.max(Some(largest));
        let lower = space.news(ack);
        let mut newly = self.take_acked(space, (ack.first(), lower), books.fates, now);
        if space.sent.remembers_losses() {
            self.find_spurious(space, (ack.first(), lower), &mut books, now);
        } else {
            space.sent.trim(|| Time::ZERO);
        }
        if newly.packets == 0 {
            return Ok(());
        }
        // Section 5.1: a sample is taken when the largest number is newly acknowledged and anything was ack-eliciting.
        if let Some((_, sent)) = newly.largest.filter(|&(number, _)| number == largest && newly.eliciting) {
            newly.rtt = Some(self.sample_rtt(sent, about.ack_delay(id, ack), books.stats, cx));
        }
        let marked = if advanced { self.count_marks(id, counts, &newly) } else { 0 };
        if self.marking.is_on() {
            self.cc.on_echo(&cc::Echo {
                now,
                acked_to: largest + 1,
                sent_to: space.next_number,
                total_delivered: self.sampler.delivered(),
                total_marked: self.marking.bytes,
            });
        }
        self.tell_arrival(&newly, now);
        if marked > 0 {
            self.heed_marks(&newly, now);
        }
        newly.lost = self.detect((id, space), about, &mut books, cx);
        if newly.bytes > 0 {
            self.tell_controller(ack, &newly, about, siblings, cx);
        }
        if let Some(size) = newly.mtu_probe {
            let mss = u64::from(self.mtu.on_acked(size));
            self.cc.set_mss(mss, mss + u64::from(self.ip_udp));
        }
        if about.peer_validated {
            self.pto_count = 0;
        }
        Ok(())
    }

    /// Tells what an ACK delivered, before losses are looked for.
    fn tell_arrival(&mut self, newly: &Newly, now: Time) {
        let Some((number, _)) = newly.largest.filter(|_| newly.bytes > 0) else { return };
        self.cc.on_arrival(&cc::Arrival {
            now,
            rtt: newly.rtt,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            acked_to: number + 1,
            sent_to: self.next_data,
            total_delivered: self.sampler.delivered(),
            prior_delivered: self.sampler.pending_prior_delivered(),
            in_flight: self.in_flight,
            stamps: None,
        });
    }

    fn take_acked(&mut self, space: &mut Space, (first, lower): News<'_>, fates: &mut Fates, now: Time) -> Newly {
        let mut newly = Newly { prior_in_flight: self.in_flight, ..Newly::default() };
        let rtt = self.rtt.smoothed_or_supposed();
        let Path { sampler, in_flight, cc, per_packet, window_limited, mtu, ip_udp, .. } = self;
        let (per_packet, window_limited) = (*per_packet, *window_limited);
        let sent = &mut space.sent;
        for range in sent.reached(lower).iter().rev().chain([first]) {
            sent.acknowledge(range, |number, packet| {
                newly.packets += 1;
                // Packets of a path that was left give no sample of the RTT.
                newly.eliciting |= packet.ack_eliciting & packet.in_flight;
                newly.largest = newly.largest.max(Some((number, packet.sent)));
                if packet.in_flight {
                    let size = u64::from(packet.size);
                    newly.bytes += size;
                    *in_flight = in_flight.saturating_sub(size);
                    sampler.on_delivered(now, size, packet.sent, packet.tx);
                    if per_packet && packet.ack_eliciting {
                        if packet.mtu_probe {
                            // Packets behind the probe count by the new size already.
                            let mss = u64::from(mtu.on_acked(packet.size));
                            cc.set_mss(mss, mss + u64::from(*ip_udp));
                        }
                        let (sent, bytes) = (packet.sent, size);
                        cc.on_packet_acked(&AckedPacket { now, sent, bytes, window_limited, rtt });
                    }
                }
                if packet.mtu_probe {
                    newly.mtu_probe = Some(packet.size);
                }
                packet.records.iter().for_each(|record| fates.acked.push(*record));
            });
        }
        newly
    }

    /// Packets that were given up for lost and are acknowledged after all. When these are all behind the last
    /// reduction of the window, it was for nothing: it is taken back, as deployed stacks do.
    fn find_spurious(&mut self, space: &mut Space, (first, lower): News<'_>, books: &mut Books<'_>, now: Time) {
        let Path { sampler, episode, .. } = self;
        let Books { fates, stats } = books;
        space.sent.find_lost([first].into_iter().chain(lower), |packet| {
            fates.acked.extend(packet.records.iter());
            if packet.congestion {
                stats.spurious_retransmissions += 1;
                sampler.on_found(u64::from(packet.size));
                if let Some(episode) = episode.as_mut().filter(|e| packet.declared >= e.since) {
                    episode.spurious += 1;
                }
            }
        });
        space.sent.trim(|| now.saturating_sub(self.rtt.pto() * MEMORY));
        if self.undo && self.episode.is_some_and(|e| e.spurious > 0 && e.spurious == e.lost) {
            self.episode = None;
            self.recovery_start = None;
            self.recovering = false;
            self.cc.on_undo();
        }
    }

    /// RFC 9000 section 13.4.2: the newly acknowledged packets that were marked, as counted.
    fn count_marks(&mut self, id: SpaceId, counts: Option<EcnCounts>, newly: &Newly) -> u64 {
        let marked = self.marking.on_ack(id, counts, newly.packets);
        self.marking.bytes += newly.bytes * marked.min(newly.packets) / newly.packets.max(1);
        marked
    }

    /// RFC 9002 appendix B.7: marks end the growth of the window as a loss does, once a round trip. Controllers that set their
    /// window in recovery themselves, such as BBR, take no notice of them.
    fn heed_marks(&mut self, newly: &Newly, now: Time) {
        let Some((_, sent)) = newly.largest else { return };
        if self.cc.owns_recovery() || self.recovery_start.is_some_and(|start| sent <= start) {
            return;
        }
        self.recovery_start = Some(now);
        self.recovering = true;
        self.episode = None;
        let in_flight = self.in_flight;
        self.cc.on_congestion(&Congestion { now, trigger: Trigger::Ecn, new_episode: true, in_flight, lost: 0 });
    }

    /// A sample from a packet that was `sent`, whose ACK the peer held back for `delay`. Returns it without the delay.
    fn sample_rtt(&mut self, sent: Time, delay: Span, stats: &mut Stats, cx: &mut Cx<'_>) -> Span {
        let latest = cx.now.since(sent);
        let adjusted = self.rtt.update(cx.now, latest, delay);
        stats.count_rtt(latest);
        cx.record_on(self.label, Metric::Rtt, latest.as_nanos());
        self.tell_rtt(latest, cx);
        adjusted
    }

    /// Section 6.1 and appendix B.8: declares losses and tells the controller of congestion; returns the bytes lost.
    pub fn detect(
        &mut self,
        (id, space): (SpaceId, &mut Space),
        about: &Situation,
        books: &mut Books<'_>,
        cx: &mut Cx<'_>,
    ) -> u64 {
        let now = cx.now;
        let Books { fates, stats } = books;
        let (packets, delay, since) = (self.packet_threshold, self.rtt.loss_delay(), self.rtt.first_sample_at());
        let thresholds = Thresholds { packets, delay, since };
        let largest_acked = space.largest_acked.unwrap_or(0);
        let Path { sampler, cc, .. } = self;
        let found = space.sent.detect(largest_acked, now, &thresholds, &mut fates.lost, |number, sign, packet| {
            cx.tell(Incident::Lost(PacketName { space: id as u8, number }, sign));
            let Some((size, sent)) = packet else { return };
            let bytes = u64::from(size);
            sampler.on_lost(bytes);
            let (total_delivered, total_lost) = (sampler.delivered(), sampler.lost());
            cc.on_lost(&Lost { now, from: number, to: number + 1, bytes, sent, total_delivered, total_lost });
        });
        space.loss_time = found.next;
        stats.lost_packets += found.left;
        if found.packets == 0 && found.mtu_probe.is_none() {
            return 0;
        }
        space.sent.trim(|| now.saturating_sub(self.rtt.pto() * MEMORY));
        self.in_flight = self.in_flight.saturating_sub(found.in_flight);
        if let Some(size) = found.mtu_probe {
            // RFC 9000 section 14.4: no sign of congestion.
            self.mtu.on_lost(size);
            stats.lost_packets += 1;
        }
        stats.lost_packets += found.packets;
        let Some(last_sent) = found.last_sent else { return 0 };
        let event =
            Congestion { now, trigger: Trigger::Loss, new_episode: true, in_flight: self.in_flight, lost: found.bytes };
        if self.recovering && self.cc.owns_recovery() {
            // A controller that conserves packets in the first round of recovery (BBR) must not be sent back there
            // every round while losses go on: recovery lasts until a round without them, as in Chromium's
            // `BbrSender::UpdateRecoveryState` and as TCP's does, which waits for the holes to be filled.
            self.recovery_start = Some(now);
        } else if self.cc.begins_recovery(self.recovery_start, last_sent) {
            // Section 7.3.2: one reduction a recovery period.
            self.recovery_start = Some(now);
            self.recovering = true;
            self.episode = Some(Episode { lost: 0, spurious: 0, since: now });
            self.cc.on_congestion(&event);
        }
        self.losses = (self.losses.1, self.sampler.delivered());
        if let Some(episode) = &mut self.episode {
            episode.lost += found.packets;
        }
        if !found.span.is_zero() && found.span > self.rtt.persistent_congestion(about.max_ack_delay) {
            // Section 7.6.2; appendix B.8 ends the recovery period with it.
            self.recovery_start = None;
            self.recovering = false;
            self.episode = None;
            stats.timeouts += 1;
            self.cc.on_congestion(&Congestion { trigger: Trigger::PersistentCongestion, new_episode: false, ..event });
        }
        found.bytes
    }

    fn tell_controller(
        &mut self,
        ack: &Ack,
        newly: &Newly,
        about: &Situation,
        siblings: &mut [PathView],
        cx: &mut Cx<'_>,
    ) {
        let now = cx.now;
        let (number, sent) = newly.largest.unwrap_or((0, now));
        if self.recovering && self.recovery_start.is_none_or(|start| sent > start) {
            // Section 7.3.2: the period ends when a packet sent during it is acknowledged.
            self.recovering = false;
            self.cc.on_recovered(now);
        }
        let rate = self.sampler.sample(self.rtt.min());
        if cx.probing()
            && let Some(rate) = rate.rate()
        {
            cx.record_on(self.label, Metric::DeliveryRate, Rate::as_bps(rate));
        }
        if about.several {
            self.delivery_rate = rate.rate().or(self.delivery_rate);
        }
        if let Some(own) = siblings.iter_mut().find(|view| view.id == self.id) {
            *own = PathView { own: true, ..self.view() };
        }
        self.cc.on_ack(
            &cc::Ack {
                now,
                delivered: newly.bytes,
                lost: newly.lost,
                rtt: newly.rtt,
                srtt: self.rtt.smoothed(),
                min_rtt: self.rtt.min(),
                in_flight: self.in_flight,
                prior_in_flight: newly.prior_in_flight,
                window_limited: self.window_limited,
                may_grow: !self.recovering,
                phase: if self.recovering { Phase::Recovery } else { Phase::Open },
                acked_to: number + 1,
                sent_to: self.next_data,
                rate,
                total_delivered: self.sampler.delivered(),
                total_lost: self.sampler.lost(),
                next_departure: self.next_departure(),
                delayed: ack.delay() >= about.max_ack_delay,
                stamps: None,
            },
            siblings,
        );
        if self.cc.asks() == Ask::MarkAppLimited {
            self.sampler.on_app_limited(self.in_flight);
        }
    }
}
