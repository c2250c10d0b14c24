//! When a publisher has a message, and how large it is.

use haltere_net::rng::Stream;
use haltere_net::{Span, Time};
use std::sync::Arc;

/// When messages come.
#[derive(Clone, Debug)]
pub enum Arrivals {
    /// One after each interval.
    Constant,
    /// After exponentially distributed intervals.
    Poisson,
    /// So many at once after each interval.
    Bursts(u32),
    /// One after each interval in some periods, and none between them. The lengths of the periods are exponentially
    /// distributed about these means.
    OnOff(Span, Span),
    /// At these times after the first connection, with these sizes.
    Trace(Arc<Vec<(Span, u64)>>),
}

/// The messages of a publisher.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// When messages come.
    pub arrivals: Arrivals,
    /// The interval between them.
    pub interval: Span,
    /// Payload, bytes.
    pub size: u64,
    /// How many messages, if that is limited.
    pub messages: Option<u64>,
}

/// The messages of one publisher, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Publishers share it: there may be many.
    traffic: Arc<Traffic>,
    dice: Stream,
    given: u64,
    /// When the next message comes, [`Time::NEVER`] before the first connection and after the last message.
    next: Time,
    origin: Time,
    /// On-off: when the present period ends.
    on_until: Time,
}

impl Source {
    /// A source that draws from `dice`.
    pub fn new(traffic: &Arc<Traffic>, dice: Stream) -> Source {
        let traffic = traffic.clone();
        Source { traffic, dice, given: 0, next: Time::NEVER, origin: Time::ZERO, on_until: Time::ZERO }
    }

    /// The publisher is connected for the first time: its first message comes now, or at its time in a trace.
    pub fn start(&mut self, now: Time) {
        (self.origin, self.next) = (now, now);
        match &self.traffic.arrivals {
            Arrivals::Trace(trace) => self.next = trace.first().map_or(Time::NEVER, |(at, _)| now + *at),
            Arrivals::OnOff(on, _) => {
                let on = *on;
                self.on_until = now + self.drawn(on);
            }
            Arrivals::Constant | Arrivals::Poisson | Arrivals::Bursts(_) => {}
        }
        if self.is_over() {
            self.next = Time::NEVER;
        }
    }

    fn drawn(&mut self, mean: Span) -> Span {
        Span::from_secs_f64(self.dice.exponential() * mean.as_secs_f64())
    }

    /// When the next message comes.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Whether all messages have come.
    pub fn is_over(&self) -> bool {
        match &self.traffic.arrivals {
            Arrivals::Trace(trace) => self.given >= trace.len() as u64,
            _ => self.traffic.messages.is_some_and(|most| self.given >= most),
        }
    }

    /// Takes the next message if it has come: its size.
    pub fn take(&mut self, now: Time) -> Option<u64> {
        if self.next > now || self.is_over() {
            return None;
        }
        let interval = self.traffic.interval;
        let mut size = self.traffic.size;
        self.given += 1;
        self.next = match &self.traffic.arrivals {
            Arrivals::Constant => self.next + interval,
            Arrivals::Poisson => self.next + self.drawn(interval),
            Arrivals::Bursts(count) if self.given.is_multiple_of(u64::from((*count).max(1))) => self.next + interval,
            Arrivals::Bursts(_) => self.next,
            Arrivals::OnOff(on, off) => {
                let (on, off, mut next) = (*on, *off, self.next + interval);
                if next >= self.on_until {
                    next = self.on_until + self.drawn(off);
                    self.on_until = next + self.drawn(on);
                }
                next
            }
            Arrivals::Trace(trace) => {
                let position = self.given as usize;
                size = trace.get(position - 1).map_or(size, |(_, size)| *size);
                trace.get(position).map_or(Time::NEVER, |(at, _)| self.origin + *at)
            }
        };
        if self.is_over() {
            self.next = Time::NEVER;
        }
        Some(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::rng::Streams;

    /// When the messages of some arrivals come, in ms, from the connection at 1 s on.
    fn times(arrivals: Arrivals, messages: u64) -> Vec<u64> {
        let traffic = Traffic { arrivals, interval: Span::from_millis(100), size: 50, messages: Some(messages) };
        let mut source = Source::new(&Arc::new(traffic), Streams::new(1, 0).named("test"));
        let mut times = Vec::new();
        source.start(Time::ZERO + Span::from_secs(1));
        while source.next() < Time::NEVER {
            let now = source.next();
            assert!(source.take(now).is_some());
            times.push(now.since(Time::ZERO).as_millis() - 1000);
        }
        times
    }

    #[test]
    fn messages_come_as_they_are_asked_for() {
        assert_eq!(times(Arrivals::Constant, 4), [0, 100, 200, 300]);
        assert_eq!(times(Arrivals::Bursts(3), 7), [0, 0, 0, 100, 100, 100, 200]);
        let trace = [5, 5, 40].map(|ms| (Span::from_millis(ms), 20)).to_vec();
        assert_eq!(times(Arrivals::Trace(Arc::new(trace)), 9), [5, 5, 40]);
    }

    #[test]
    fn random_arrivals_keep_their_mean() {
        let last = |arrivals| *times(arrivals, 20_000).last().unwrap() as f64 / 20_000.0;
        assert!((last(Arrivals::Poisson) / 100.0 - 1.0).abs() < 0.03);
        // A third of the time has messages every 100 ms.
        let long = Span::from_secs(20);
        let on_off = last(Arrivals::OnOff(long, long.scaled(2, 1)));
        assert!((on_off / 300.0 - 1.0).abs() < 0.3, "{on_off}");
    }
}
