//! The encoder of a call (RFC 8867 section 4.3, RFC 8593 section 5).

use super::Call;
use crate::application::{Application, Report, Serve};
use crate::world::{SocketId, Sockets};
use haltere_net::rng::Stream;
use haltere_net::varying::Period;
use haltere_net::{Cx, Metric, Rate, Span, Time};
use haltere_transport::Event;
use haltere_transport::media::{Frame, News};
use std::collections::VecDeque;

/// How far the rate of a second is from the target at most, and how long the encoder takes to follow a new target (RFC 8867
/// section 4.3).
const VARIATION: f64 = 0.05;
const RESPONSE: Span = Span::from_millis(100);
/// The scale of the Laplacian distribution of the sizes of frames, of their mean (RFC 8593 section 5; `SCALE_B` of its authors'
/// syncodecs).
const SCALE: f64 = 0.15;
/// The least share of its budget that a frame has while those after a key frame pay for it (RFC 8593 section 5: the transient phase,
/// with the bound of syncodecs).
const THRIFT: f64 = 0.2;
/// The length of a key frame: what the target allows in half of the encoder's buffer of 600 ms (libwebrtc, libvpx_vp8_encoder.cc:
/// `rc_buf_optimal_sz`, `MaxIntraTarget`).
const KEY: Span = Span::from_millis(300);
/// Wishes for key frames within this time after one are not heard (libwebrtc: `kMinKeyFrameRequestInterval` of
/// encoder_rtcp_feedback.cc).
const KEY_PAUSE: Span = Span::from_millis(300);

/// The outcome of encoding.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Encoded {
    /// As of any end that answers.
    pub serve: Serve,
    /// When each frame was taken.
    pub captured: Vec<Time>,
    /// How many of them were key frames.
    pub keys: u64,
    /// When it paused.
    pub pauses: Vec<Period>,
    /// When the call ended, or will, if it has a length.
    pub ended: Option<Time>,
}

/// The end of a call that sends.
pub struct Encoder {
    call: Call,
    stream: Stream,
    socket: Option<SocketId>,
    /// Targets with the times from which on the encoder follows them; the first holds.
    targets: VecDeque<(Time, Rate)>,
    /// Until when this share of the target is written.
    variation: (Time, f64),
    /// Bytes that earlier frames had beyond their budget; below zero, that they lacked.
    debt: f64,
    /// When the next frame is due.
    next: Time,
    /// When the last key frame was taken, and whether the next frame is to be one.
    last_key: Option<Time>,
    wants_key: bool,
    encoded: Encoded,
}

impl Encoder {
    /// An encoder that draws the lengths of its frames from a stream.
    pub fn new(call: Call, stream: Stream) -> Encoder {
        Encoder {
            encoded: Encoded { pauses: call.pauses.clone(), ..Encoded::default() },
            call,
            stream,
            socket: None,
            targets: VecDeque::new(),
            variation: (Time::ZERO, 1.0),
            debt: 0.0,
            next: Time::NEVER,
            last_key: None,
            wants_key: true,
        }
    }

    /// The rate that the encoder follows now, bit/s.
    fn rate(&mut self, now: Time) -> f64 {
        while self.targets.get(1).is_some_and(|next| next.0 <= now) {
            self.targets.pop_front();
        }
        let target = self.targets.front().filter(|first| first.0 <= now).map_or(self.call.start, |first| first.1);
        let target = target.max(self.call.least).min(self.call.most);
        if self.variation.0 <= now {
            self.variation = (now + Span::from_secs(1), 1.0 + VARIATION * (2.0 * self.stream.unit() - 1.0));
        }
        target.as_bps() as f64 * self.variation.1
    }

    /// A draw from the Laplacian distribution with mean 0, at most 1 and at least -1.
    fn noise(&mut self) -> f64 {
        let u = self.stream.unit() - 0.5;
        let size = -SCALE * libm::log(1.0 - 2.0 * u.abs());
        size.min(1.0).copysign(u)
    }

    /// The bytes of a key frame that is taken now.
    fn key_frame(&mut self, now: Time) -> u32 {
        let rate = self.rate(now);
        let budget = self.budget(rate);
        self.last_key = Some(now);
        self.encoded.keys += 1;
        self.charged((rate * KEY.as_secs_f64() / 8.0).max(budget), budget)
    }

    /// The bytes of another frame that is taken now.
    fn delta_frame(&mut self, now: Time) -> u32 {
        let rate = self.rate(now);
        let budget = self.budget(rate);
        let bytes = (budget - self.debt).clamp(THRIFT * budget, 2.0 * budget);
        let noise = self.noise();
        self.charged(bytes * (1.0 + noise), budget)
    }

    /// The bytes of a frame at a rate, on average.
    fn budget(&self, rate: f64) -> f64 {
        rate * self.call.interval().as_secs_f64() / 8.0
    }

    /// Whole bytes, charged to the frames after it. What frames lack is not saved up for longer than one.
    fn charged(&mut self, bytes: f64, budget: f64) -> u32 {
        let bytes = bytes.max(1.0).floor();
        self.debt = (self.debt + bytes - budget).max(-budget);
        bytes as u32
    }

    /// The call ends so long after its first frame: what follows is a pause without an end.
    fn end_after(&mut self, first: Time, length: Span) {
        let end = first + length;
        let rest = Period { from: end.since(Time::ZERO), to: Span::MAX };
        self.call.pauses.push(rest);
        self.encoded.pauses.push(rest);
        self.encoded.ended = Some(end);
    }

    /// Waits for the end of a pause, if the next frame would be taken in one. The first frame after a pause is a key frame.
    fn pause(&mut self) {
        let over = |next: Time| {
            let during = |pause: &&Period| (pause.from..pause.to).contains(&next.since(Time::ZERO));
            self.call.pauses.iter().find(during).map(|pause| Time::ZERO + pause.to)
        };
        while let Some(next) = over(self.next) {
            (self.next, self.wants_key) = (next, true);
        }
    }

    fn send(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.pause();
        while self.next <= cx.now {
            let key = std::mem::take(&mut self.wants_key);
            let bytes = if key { self.key_frame(cx.now) } else { self.delta_frame(cx.now) };
            let number = self.encoded.captured.len() as u64;
            self.encoded.captured.push(cx.now);
            self.next += self.call.interval();
            self.pause();
            if let Some(connection) = self.socket.and_then(|socket| sockets.get(socket)) {
                connection.send_frame(Frame { number, bytes, captured: cx.now, key }, cx);
            }
        }
    }
}

impl Application for Encoder {
    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected if self.encoded.serve.connected.is_none() => {
                self.encoded.serve.connected = Some(cx.now);
                (self.socket, self.next) = (Some(socket), cx.now);
                if let Some(length) = self.call.length {
                    self.end_after(cx.now, length);
                }
                self.send(sockets, cx);
            }
            Event::Media(News::TargetRate(rate)) => {
                let rate = rate.max(self.call.least).min(self.call.most);
                cx.record(Metric::TargetRate, rate.as_bps());
                self.targets.push_back((cx.now + RESPONSE, rate));
            }
            Event::Media(News::KeyFrameWanted) => {
                self.wants_key |= self.last_key.is_none_or(|last| last + KEY_PAUSE <= cx.now);
            }
            Event::Failed(reason) => {
                self.encoded.serve.failed = Some(reason);
                self.next = Time::NEVER;
            }
            _ => {}
        }
    }

    fn alarm(&self) -> Time {
        self.next
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.send(sockets, cx);
    }

    fn report(&self) -> Report {
        Report::Encoded(Box::new(self.encoded.clone()))
    }

    fn received(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::CallSpec;
    use haltere_net::rng::Streams;

    fn encoder() -> Encoder {
        Encoder::new(CallSpec::default().call("call").unwrap(), Streams::new(1, 0).named("encoder"))
    }

    /// The bytes of the frames of some seconds, from the first key frame on.
    fn frames(encoder: &mut Encoder, seconds: u64) -> Vec<u32> {
        let at = |k: u64| Time::ZERO + Span::from_secs(1).scaled(k, 30);
        (0..30 * seconds).map(|k| if k == 0 { encoder.key_frame(at(k)) } else { encoder.delta_frame(at(k)) }).collect()
    }

    #[test]
    fn the_mean_of_seconds_is_the_target_within_a_twentieth_and_frames_differ() {
        let mut encoder = encoder();
        encoder.targets.push_back((Time::ZERO, Rate::from_bps(1_000_000)));
        let frames = frames(&mut encoder, 60);
        let seconds: Vec<f64> = frames.chunks(30).map(|s| 8.0 * f64::from(s.iter().sum::<u32>())).collect();
        for second in &seconds[1..] {
            assert!((second / 1e6 - 1.0).abs() < 0.09, "{seconds:?}");
        }
        let mean = seconds.iter().sum::<f64>() / 60.0;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        let (least, most) = (frames[30..].iter().min().unwrap(), frames[30..].iter().max().unwrap());
        assert!(*most > 2 * *least, "{least} to {most}");
    }

    #[test]
    fn a_key_frame_is_long_and_those_after_it_pay_for_it() {
        let mut encoder = encoder();
        encoder.targets.push_back((Time::ZERO, Rate::from_bps(1_000_000)));
        let frames = frames(&mut encoder, 1);
        assert!((35_000..40_000).contains(&frames[0]), "{}", frames[0]);
        assert!(frames[1..8].iter().all(|bytes| *bytes < 2000), "{frames:?}");
    }

    #[test]
    fn a_new_target_is_followed_after_100_ms() {
        let mut encoder = encoder();
        let (at, rate) = (Time::ZERO + RESPONSE, Rate::from_bps(1_500_000));
        encoder.targets.push_back((at, rate));
        assert!(encoder.rate(Time::ZERO + Span::from_millis(99)) < 160e3);
        assert!(encoder.rate(at) > 1.4e6);
    }
}
