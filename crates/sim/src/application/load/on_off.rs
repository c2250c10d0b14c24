//! Datagrams at a constant rate in some periods, and none between them.

use super::{Pattern, Round, departure};
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};

/// Periods with and without packets. A round is one of each.
#[derive(Clone, Debug)]
pub struct OnOff {
    rate: Rate,
    on: Span,
    off: Span,
    drawn: Option<Stream>,
    /// The end of the present period with packets.
    until: Time,
}

impl OnOff {
    /// Packets leave at `rate` in periods with the mean length `on`; periods without packets have the mean length `off`. With
    /// `drawn`, lengths are exponentially distributed and drawn from there; without it, all are as long as the mean.
    pub fn new(rate: Rate, [on, off]: [Span; 2], drawn: Option<Stream>) -> OnOff {
        OnOff { rate, on, off, drawn, until: Time::NEVER }
    }

    /// The lengths of its periods in turn, with packets and without.
    pub fn lengths(mut self) -> impl Iterator<Item = Span> {
        let means = [self.on, self.off];
        means.into_iter().cycle().map(move |mean| self.length(mean))
    }

    fn length(&mut self, mean: Span) -> Span {
        match &mut self.drawn {
            None => mean,
            Some(stream) => Span::from_secs_f64(mean.as_secs_f64() * stream.exponential()),
        }
    }
}

impl Pattern for OnOff {
    fn begin(&mut self, at: Time) -> Time {
        self.until = at + self.length(self.on);
        at
    }

    fn is_over(&self, round: &Round) -> bool {
        round.next >= self.until
    }

    fn next(&mut self, round: &Round, _: Time, bytes: u32) -> Time {
        let next = departure(round.since, round.sent, bytes, self.rate);
        if next < self.until { next } else { self.until + self.length(self.off) }
    }
}
