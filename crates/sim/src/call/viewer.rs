//! The viewer of a call: frames wait in a jitter buffer and are shown in order.
//!
//! A frame can be shown once all since the last key frame are there, or if it is a key frame. It is shown when it is as old as the
//! playout delay, or at once if it is older. The playout delay is that of Ramjee, Kurose, Towsley and Schulzrinne, Adaptive Playout
//! Mechanisms for Packetized Audio Applications in Wide-Area Networks, INFOCOM 1994, algorithm 4: the mean of the frames' delays and
//! four times their mean deviation, where spikes of delay are followed at once. It moves by at most 100 ms in a second (libwebrtc, timing.cc: `kDelayMaxChangeMsPerS`). Of frames
//! that are due at one instant, the last is shown.

use super::Call;
use crate::application::{Application, Fetch, Report};
use crate::world::{Remote, SocketId, Sockets};
use haltere_net::{Cx, Metric, Span, Time};
use haltere_transport::Event;
use haltere_transport::media::{Frame, News};
use std::collections::{BTreeMap, VecDeque};

/// The weight of the old mean and of the old deviation; a spike is a change of delay by this, s, and twice the deviation; it is over
/// when delays have changed by no more than that, s, of late (algorithm 4 there; its units are samples of 8 kHz: 800 and 63).
const OLD: f64 = 0.875;
const SPIKE: f64 = 0.1;
const OVER: f64 = 63.0 / 8000.0;
/// Deviations beyond the mean (section 3 there).
const DEVIATIONS: f64 = 4.0;
/// How much the playout delay moves in a second.
const MOVES: f64 = 0.1;
/// How long the viewer waits for a frame that it can show before it asks for a key frame, before the first frame and after it
/// (libwebrtc, video_receive_stream2.h: `kMaxWaitForKeyFrame`, `kMaxWaitForFrame`).
const FIRST_WAIT: Span = Span::from_millis(200);
const WAIT: Span = Span::from_secs(3);

/// A frame that was shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown {
    /// When the camera took it.
    pub captured: Time,
    /// When it was shown.
    pub at: Time,
}

/// The outcome of viewing.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Viewed {
    /// As of any end that fetches; bytes are those of whole frames.
    pub fetch: Fetch,
    /// The frames that were shown.
    pub shown: Vec<Shown>,
    /// When each frame was whole, and its bytes.
    pub arrived: Vec<(Time, u32)>,
    /// How often a key frame was asked for.
    pub key_frames_wanted: u64,
}

/// The playout delay.
#[derive(Clone, Copy, Debug)]
struct Playout {
    /// The mean of delays and their deviation, s.
    mean: f64,
    deviation: f64,
    /// The delays of the last two frames, and in a spike how much delays have changed of late, s.
    last: [f64; 2],
    spike: Option<f64>,
    /// The delay that is used, s, and when it was moved last.
    used: f64,
    moved: Time,
}

impl Playout {
    fn new(delay: f64, now: Time) -> Playout {
        Playout { mean: delay, deviation: 0.0, last: [delay; 2], spike: None, used: delay, moved: now }
    }

    /// A frame was whole `delay` after it was taken.
    fn on_frame(&mut self, delay: f64, now: Time) {
        let [last, before] = self.last;
        self.last = [delay, last];
        match &mut self.spike {
            None if (delay - last).abs() > 2.0 * self.deviation + SPIKE => self.spike = Some(0.0),
            None => {}
            Some(change) => {
                *change = *change / 2.0 + ((2.0 * delay - last - before) / 8.0).abs();
                if *change <= OVER {
                    self.spike = None;
                }
            }
        }
        self.mean = match self.spike {
            None => OLD * self.mean + (1.0 - OLD) * delay,
            Some(_) => (self.mean + delay - last).max(0.0),
        };
        self.deviation = OLD * self.deviation + (1.0 - OLD) * (delay - self.mean).abs();
        let most = MOVES * now.since(self.moved).as_secs_f64();
        let wanted = self.mean + DEVIATIONS * self.deviation;
        self.used += (wanted - self.used).clamp(-most, most);
        self.moved = now;
    }
}

/// The end of a call that receives.
pub struct Viewer {
    server: Remote,
    socket: Option<SocketId>,
    /// Whole frames that wait for those before them.
    waiting: BTreeMap<u64, Frame>,
    /// The number of the next frame that can be shown.
    next: u64,
    /// Frames that can be shown, with the times at which they are.
    ready: VecDeque<(Time, Frame)>,
    playout: Option<Playout>,
    /// When a key frame is asked for.
    patience: Time,
    viewed: Viewed,
}

impl Viewer {
    /// The viewer that opens the call to `server`.
    pub fn new(_: &Call, server: Remote) -> Viewer {
        Viewer {
            server,
            socket: None,
            waiting: BTreeMap::new(),
            next: 0,
            ready: VecDeque::new(),
            playout: None,
            patience: Time::NEVER,
            viewed: Viewed::default(),
        }
    }

    fn on_frame(&mut self, frame: Frame, now: Time) {
        let Viewed { fetch, arrived, .. } = &mut self.viewed;
        fetch.first_byte.get_or_insert(now);
        fetch.note_read(now);
        fetch.received += u64::from(frame.bytes);
        arrived.push((now, frame.bytes));
        if frame.number < self.next {
            return;
        }
        let delay = now.since(frame.captured).as_secs_f64();
        self.playout.get_or_insert(Playout::new(delay, now)).on_frame(delay, now);
        self.waiting.insert(frame.number, frame);
        if frame.key {
            // It needs none of those before it.
            self.waiting = self.waiting.split_off(&frame.number);
            self.next = frame.number;
        }
        while let Some(frame) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.patience = now + WAIT;
            let playout = self.playout.map_or(0.0, |playout| playout.used);
            let due = frame.captured + Span::from_secs_f64(playout.max(0.0));
            let last = self.ready.back().map_or(Time::ZERO, |last| last.0);
            self.ready.push_back((due.max(now).max(last), frame));
        }
    }

    /// Shows the frame that is due.
    fn show(&mut self, cx: &mut Cx<'_>) {
        let mut due = None;
        while self.ready.front().is_some_and(|first| first.0 <= cx.now) {
            due = self.ready.pop_front().map(|(_, frame)| frame);
        }
        if let Some(Frame { captured, .. }) = due {
            cx.record(Metric::GlassToGlass, cx.now.since(captured).as_nanos());
            self.viewed.shown.push(Shown { captured, at: cx.now });
        }
    }

    /// Asks for a key frame, if the viewer has waited for long enough.
    fn ask(&mut self, sockets: &mut Sockets<'_>, now: Time) {
        if self.patience > now {
            return;
        }
        self.patience = now + if self.viewed.shown.is_empty() { FIRST_WAIT } else { WAIT };
        if let Some(connection) = self.socket.and_then(|socket| sockets.get(socket)) {
            connection.want_key_frame();
            self.viewed.key_frames_wanted += 1;
        }
    }
}

impl Application for Viewer {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match sockets.connect(self.server, cx) {
            Ok(socket) => self.socket = Some(socket),
            Err(reason) => self.viewed.fetch.failed = Some(reason),
        }
    }

    fn on_event(&mut self, _: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => {
                self.viewed.fetch.ready.get_or_insert(cx.now);
                self.patience = cx.now + FIRST_WAIT;
            }
            Event::Media(News::Frame(frame)) => self.on_frame(frame, cx.now),
            Event::Failed(reason) => {
                self.viewed.fetch.failed = Some(reason);
                self.patience = Time::NEVER;
            }
            _ => {}
        }
        self.on_alarm(sockets, cx);
    }

    fn alarm(&self) -> Time {
        self.ready.front().map_or(Time::NEVER, |first| first.0).min(self.patience)
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        // The events of one instant come one after the other, and the last frame that is due then is the one that is shown.
        if self.alarm() <= cx.now {
            self.show(cx);
            self.ask(sockets, cx.now);
        }
    }

    fn is_over(&self) -> bool {
        self.viewed.fetch.is_over()
    }

    fn report(&self) -> Report {
        Report::Call(Box::new(self.viewed.clone()))
    }

    fn received(&self) -> u64 {
        self.viewed.fetch.received
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::CallSpec;
    use crate::world::Port;
    use haltere_net::Address;

    fn viewer() -> Viewer {
        let server = Remote { address: Address(0), port: Port(0) };
        Viewer::new(&CallSpec::default().call("call").unwrap(), server)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn key(number: u64) -> Frame {
        Frame { key: true, ..delta(number) }
    }

    fn delta(number: u64) -> Frame {
        Frame { number, bytes: 1000, captured: at(33 * number), key: false }
    }

    /// Shows what is due, as the alarm would, until a time.
    fn show_until(viewer: &mut Viewer, until: Time) {
        while let Some((due, _)) = viewer.ready.front().copied().filter(|first| first.0 <= until) {
            viewer.show(&mut Cx::new(due, haltere_net::ComponentId(0)));
        }
    }

    #[test]
    fn frames_wait_for_those_before_them_or_for_a_key_frame() {
        let mut viewer = viewer();
        viewer.on_frame(key(0), at(50));
        viewer.on_frame(delta(2), at(116));
        assert_eq!((viewer.next, viewer.ready.len()), (1, 1));
        viewer.on_frame(delta(1), at(150));
        assert_eq!((viewer.next, viewer.ready.len()), (3, 3));
        viewer.on_frame(delta(5), at(230));
        viewer.on_frame(key(4), at(240));
        assert_eq!(
            (viewer.next, viewer.waiting.len()),
            (6, 0),
            "the key frame lets the next go, and none waits for the third"
        );
    }

    #[test]
    fn steady_frames_are_shown_as_they_come_and_jitter_makes_them_wait() {
        let mut viewer = viewer();
        for number in 0..300 {
            viewer.on_frame(if number == 0 { key(0) } else { delta(number) }, at(33 * number + 50));
            show_until(&mut viewer, at(33 * number + 60));
        }
        let last = viewer.viewed.shown.last().unwrap();
        assert!(last.at.since(last.captured) < Span::from_millis(52));
        for number in 300..900 {
            viewer.on_frame(delta(number), at(33 * number + 50 + 20 * (number % 2)));
            show_until(&mut viewer, at(33 * number + 80));
        }
        let waits = viewer.ready.back().map(|(due, frame)| due.since(frame.captured));
        let waits = waits.or_else(|| viewer.viewed.shown.last().map(|shown| shown.at.since(shown.captured))).unwrap();
        assert!((70..130).contains(&waits.as_millis()), "{waits:?}");
    }

    #[test]
    fn of_frames_that_are_late_together_the_last_is_shown() {
        let mut viewer = viewer();
        viewer.on_frame(key(0), at(50));
        show_until(&mut viewer, at(51));
        (2..10).for_each(|number| viewer.on_frame(delta(number), at(33 * number + 50)));
        viewer.on_frame(delta(1), at(900));
        show_until(&mut viewer, at(900));
        assert_eq!(viewer.viewed.shown.len(), 2);
        assert_eq!(viewer.viewed.shown[1], Shown { captured: at(33 * 9), at: at(900) });
    }
}
