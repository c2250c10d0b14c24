//! A call between two ends: frames go in at one and come out at the other. A transport carries its packets.

use super::receiver::Receiver;
use super::sender::Sender;
use super::{Config, Media, Report};
use crate::media::{Frame, News};
use crate::{Event, Stats};
use haltere_net::{Cx, Ecn, Span, Time};
use std::collections::VecDeque;

/// One end of a call, without what carries its packets.
pub(crate) struct Session {
    config: Config,
    events: VecDeque<Event>,
    /// The sending half, once the path is open.
    sender: Option<Sender>,
    receiver: Receiver,
    /// The counters of RTP and RTCP.
    pub stats: Stats,
}

impl Session {
    /// An end whose path is not open.
    pub fn new(config: Config) -> Session {
        let stats = Stats { rtts: config.rtts.then(Box::default), ..Stats::default() };
        let receiver = Receiver::new(&config);
        Session { events: VecDeque::new(), sender: None, receiver, stats, config }
    }

    /// Its set-up.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether frames can be sent.
    pub fn is_open(&self) -> bool {
        self.sender.is_some()
    }

    /// The path is open from now on.
    pub fn open(&mut self, now: Time) {
        self.stats.connected_at = Some(now);
        self.events.push_back(Event::Connected);
        self.sender = Some(Sender::new(self.config.clone(), now));
        self.tell_target();
    }

    /// The opening of the path took a round trip of this length.
    pub fn on_first_rtt(&mut self, rtt: Span) {
        self.receiver.set_rtt(rtt);
        self.stats.count_rtt(rtt);
    }

    /// Tells the application the rate, if it has changed.
    fn tell_target(&mut self) {
        let target = self.sender.as_mut().and_then(Sender::new_target);
        self.events.extend(target.map(|rate| Event::Media(News::TargetRate(rate))));
    }

    /// A packet with media arrived. It has so many bytes, as the congestion control counts, and this mark.
    pub fn on_media(&mut self, media: &Media, of: (u32, Ecn), now: Time) {
        let frame = self.receiver.on_media(media, of, now);
        self.events.extend(frame.map(|frame| Event::Media(News::Frame(frame))));
    }

    /// Reports of the peer arrived.
    pub fn on_reports(&mut self, reports: &[Report], cx: &mut Cx<'_>) {
        let Some(sender) = &mut self.sender else { return };
        for report in reports {
            match report {
                Report::KeyFrame => self.events.push_back(Event::Media(News::KeyFrameWanted)),
                report => sender.on_report(report, &mut self.stats, cx),
            }
        }
        self.tell_target();
    }

    /// Runs the timers that are due.
    pub fn on_wake(&mut self, now: Time) {
        if let Some(sender) = &mut self.sender {
            sender.on_wake(now);
            self.tell_target();
        }
    }

    /// When a timer is due, a report, or a packet with media.
    pub fn next_wake(&self) -> Time {
        self.receiver.next_wake().min(self.sender.as_ref().map_or(Time::NEVER, Sender::next_wake))
    }

    /// The reports that are due; `None` if none are.
    pub fn reports(&mut self, now: Time) -> Option<Vec<Report>> {
        self.receiver.reports(now)
    }

    /// The next packet with media that may leave now.
    pub fn media(&mut self, cx: &mut Cx<'_>) -> Option<Media> {
        let media = self.sender.as_mut()?.send(cx)?;
        self.stats.sent_packets += 1;
        self.stats.retransmitted_packets += u64::from(media.repair);
        Some(media)
    }

    /// Sends a frame.
    pub fn send_frame(&mut self, frame: Frame, now: Time) {
        if let Some(sender) = &mut self.sender {
            sender.send_frame(frame, now);
            self.tell_target();
        }
    }

    /// Asks the peer for a key frame.
    pub fn want_key_frame(&mut self) {
        self.receiver.want_key_frame();
    }

    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Adds an event for the application.
    pub fn tell(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Bytes of media that no report tells of.
    pub fn in_flight(&self) -> u64 {
        self.sender.as_ref().map_or(0, Sender::in_flight)
    }
}
