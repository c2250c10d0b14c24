//! The receiving half of an end: packets become frames, and reports tell of what came.

use super::Config;
use super::control::{Feedback, Told, Watcher};
use super::packet::{Arrivals, Form, Media, Part, Report, Summarised};
use crate::media::Frame;
use haltere_net::{Ecn, Rate, Span, Time};
use std::collections::BTreeMap;

/// How often a part is asked for, and for how many parts at once (libwebrtc, nack_requester.cc: `kMaxNackRetries`,
/// `kMaxNackPackets`).
const TRIES: u32 = 10;
const MOST_MISSING: usize = 1000;
/// The RTT that is supposed before one is known (libwebrtc, nack_requester.cc: `kDefaultRtt`).
const DEFAULT_RTT: Span = Span::from_millis(100);

/// A part that did not come.
#[derive(Clone, Copy, Debug)]
struct Missing {
    /// How often it was asked for.
    tries: u32,
    /// When it was asked for last, or when it is to be for the first time.
    asked: Time,
}

/// The receiving half.
pub(super) struct Receiver {
    feedback: Feedback,
    watcher: Option<Box<dyn Watcher>>,
    repair: bool,
    rtt: Span,
    /// Arrivals that no report told of.
    arrivals: Vec<(u64, Time, Ecn)>,
    /// The packet of the highest number: its number and when it came.
    last: Option<(u64, Time)>,
    /// When the last report of arrivals left, and the bytes that came since.
    reported: Time,
    bytes: u64,
    /// When the next one is due.
    due: Time,
    /// The number after the highest part that came.
    expected: u64,
    missing: BTreeMap<u64, Missing>,
    /// How many parts have not come of frames of which some have, by the frame's number.
    frames: BTreeMap<u64, u32>,
    wants_key: bool,
}

impl Receiver {
    pub fn new(config: &Config) -> Receiver {
        let feedback = config.control.feedback;
        let watcher = match feedback {
            Feedback::Summary(_, make) => Some(make(config.range())),
            Feedback::Arrivals(_) => None,
        };
        Receiver {
            feedback,
            watcher,
            repair: config.repair,
            rtt: DEFAULT_RTT,
            arrivals: Vec::new(),
            last: None,
            reported: Time::ZERO,
            bytes: 0,
            due: Time::NEVER,
            expected: 0,
            missing: BTreeMap::new(),
            frames: BTreeMap::new(),
            wants_key: false,
        }
    }

    pub fn set_rtt(&mut self, rtt: Span) {
        self.rtt = rtt;
    }

    pub fn want_key_frame(&mut self) {
        self.wants_key = true;
    }

    /// Takes a packet; returns the frame that is complete with it.
    pub fn on_media(&mut self, media: &Media, (len, ecn): (u32, Ecn), now: Time) -> Option<Frame> {
        self.note(media, (len, ecn), now);
        let part = media.part?;
        if self.is_known(&part, media, now) {
            return None;
        }
        let Part { frame, parts, .. } = part;
        let left = self.frames.entry(frame.number).or_insert(parts);
        *left -= 1;
        if *left > 0 {
            return None;
        }
        self.frames.remove(&frame.number);
        if frame.key {
            // Nothing before it is needed any more.
            self.frames = self.frames.split_off(&frame.number);
            self.missing = self.missing.split_off(&part.first);
        }
        Some(frame)
    }

    /// Notes an arrival for reports.
    fn note(&mut self, media: &Media, (len, ecn): (u32, Ecn), now: Time) {
        if self.last.is_none() {
            self.reported = now;
        }
        if self.last.is_none_or(|last| last.0 < media.number) {
            self.last = Some((media.number, now));
        }
        self.bytes += u64::from(len);
        match self.feedback {
            Feedback::Arrivals(form) => {
                self.arrivals.push((media.number, now, ecn));
                let ends = media.part.is_some_and(|part| part.sequence + 1 == part.first + u64::from(part.parts));
                let elapsed = now.since(self.reported);
                let rate = Rate::of(self.bytes, elapsed.max(Span::from_millis(1))).unwrap_or(Rate::from_bps(1));
                let due = self.reported + form.interval(rate);
                // draft-johansson-ccwg-scream-bis section 4.2.1: a report goes at the end of a frame.
                self.due = if ends && form == Form::PerPacket { now } else { due.max(now) };
            }
            Feedback::Summary(interval, _) => {
                if let Some(watcher) = &mut self.watcher {
                    let (number, sent) = (media.number, media.sent);
                    watcher.on_packet(Told { number, sent, bytes: len, arrived: Some((now, ecn)) });
                }
                if self.due == Time::NEVER {
                    self.due = now + interval;
                }
            }
        }
    }

    /// Whether a part had come before, or is not waited for any more. Parts that are missing before it are noted.
    fn is_known(&mut self, part: &Part, media: &Media, now: Time) -> bool {
        let sequence = part.sequence;
        if sequence < self.expected {
            let Some(missing) = self.missing.remove(&sequence) else { return true };
            if media.repair && missing.tries == 1 {
                self.rtt = now.since(missing.asked);
            }
            return false;
        }
        let tries = if self.repair { 0 } else { TRIES };
        for missing in self.expected.max(sequence.saturating_sub(MOST_MISSING as u64))..sequence {
            self.missing.insert(missing, Missing { tries, asked: now });
        }
        self.expected = sequence + 1;
        while self.missing.len() > MOST_MISSING {
            self.missing.pop_first();
        }
        false
    }

    fn next_request(&self) -> Time {
        let due = |missing: &Missing| if missing.tries == 0 { missing.asked } else { missing.asked + self.rtt };
        self.missing.values().filter(|missing| missing.tries < TRIES).map(due).min().unwrap_or(Time::NEVER)
    }

    pub fn next_wake(&self) -> Time {
        let key = if self.wants_key { Time::ZERO } else { Time::NEVER };
        self.due.min(self.next_request()).min(key)
    }

    /// The reports that are due now; `None` if none are.
    pub fn reports(&mut self, now: Time) -> Option<Vec<Report>> {
        if self.next_wake() > now {
            return None;
        }
        let mut reports = Vec::new();
        if std::mem::take(&mut self.wants_key) {
            reports.push(Report::KeyFrame);
        }
        let rtt = self.rtt;
        let mut asked = Vec::new();
        for (sequence, missing) in &mut self.missing {
            let due = if missing.tries == 0 { missing.asked } else { missing.asked + rtt };
            if missing.tries < TRIES && due <= now {
                *missing = Missing { tries: missing.tries + 1, asked: now };
                asked.push(*sequence);
            }
        }
        if !asked.is_empty() {
            reports.push(Report::Missing(asked));
        }
        if self.due <= now {
            reports.extend(self.report(now));
        }
        (!reports.is_empty()).then_some(reports)
    }

    /// The report for the congestion control.
    fn report(&mut self, now: Time) -> Option<Report> {
        (self.reported, self.bytes, self.due) = (now, 0, Time::NEVER);
        match self.feedback {
            Feedback::Arrivals(form) => {
                let mut packets = std::mem::take(&mut self.arrivals);
                packets.sort_unstable_by_key(|packet| packet.0);
                (!packets.is_empty()).then_some(Report::Arrivals(Arrivals { packets, at: now, form }))
            }
            Feedback::Summary(interval, _) => {
                self.due = now + interval;
                let (last, came) = self.last?;
                let summary = self.watcher.as_mut()?.summary(now);
                Some(Report::Summary(Summarised { summary, last, held: now.since(came) }))
            }
        }
    }
}
