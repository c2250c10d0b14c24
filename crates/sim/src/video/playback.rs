//! When a film plays and when it stalls.

use haltere_net::{Span, Time};

/// The state of the film on the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The buffer does not hold enough, before the film begins or in a stall at this position.
    Waits { since: Time, at: Span },
    /// It plays, from this position at that time.
    Plays { since: Time, from: Span },
    /// All of it was played.
    Over,
}

/// Where a chunk stands in its film.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Others follow it.
    Before,
    /// It is the last.
    Last,
}

/// The playing of a film: what is in the buffer, when it plays, and when it stalls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Playback {
    startup: Span,
    state: State,
    /// How much of the film has come.
    fetched: Span,
    /// Whether that is all of it.
    whole: bool,
    /// When it began to play.
    begun: Option<Time>,
    stalls: u64,
    stalled: Span,
}

impl Playback {
    /// A film that is asked for now, and plays once this much of it is in the buffer.
    pub fn new(startup: Span, now: Time) -> Playback {
        Playback {
            startup,
            state: State::Waits { since: now, at: Span::ZERO },
            fetched: Span::ZERO,
            whole: false,
            begun: None,
            stalls: 0,
            stalled: Span::ZERO,
        }
    }

    /// The next chunk of the film has come.
    pub fn on_chunk(&mut self, duration: Span, place: Place, now: Time) {
        self.advance(now);
        self.fetched += duration;
        self.whole = place == Place::Last;
        let State::Waits { since, at } = self.state else { return };
        if !self.whole && self.level(now) < self.startup {
            return;
        }
        if self.begun.is_none() {
            self.begun = Some(now);
        } else if now > since {
            self.stalls += 1;
            self.stalled += now.since(since);
        }
        self.state = State::Plays { since: now, from: at };
    }

    /// Notes whether the film has ended, or stalls, by now.
    pub fn advance(&mut self, now: Time) {
        let dry = self.dry();
        if dry <= now {
            self.state = if self.whole { State::Over } else { State::Waits { since: dry, at: self.fetched } };
        }
    }

    /// When the buffer will be empty, or [`Time::NEVER`] if the film does not play.
    pub fn dry(&self) -> Time {
        match self.state {
            State::Plays { since, from } => since + self.fetched.saturating_sub(from),
            State::Waits { .. } | State::Over => Time::NEVER,
        }
    }

    /// How much of the film was played by now.
    pub fn position(&self, now: Time) -> Span {
        match self.state {
            State::Plays { since, from } => self.fetched.min(from + now.since(since)),
            State::Waits { at, .. } => at,
            State::Over => self.fetched,
        }
    }

    /// How much of the film is in the buffer now.
    pub fn level(&self, now: Time) -> Span {
        self.fetched.saturating_sub(self.position(now))
    }

    /// When the buffer has room for this much, if it holds at most `largest`; [`Time::NEVER`] if it has none and the film does not
    /// play.
    pub fn room(&self, duration: Span, largest: Span, now: Time) -> Time {
        let beyond = (self.level(now) + duration).saturating_sub(largest);
        match self.state {
            _ if beyond == Span::ZERO => now,
            State::Plays { .. } => now + beyond,
            State::Waits { .. } | State::Over => Time::NEVER,
        }
    }
}

impl Playback {
    /// When it began to play, if it did.
    pub fn begun(&self) -> Option<Time> {
        self.begun
    }

    /// Whether all of the film was played.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// The stalls until now: how many, and how long they are in all. One that lasts counts until now.
    pub fn stalls(&self, now: Time) -> (u64, Span) {
        match self.state {
            State::Waits { since, .. } if self.begun.is_some() && now > since => {
                (self.stalls + 1, self.stalled + now.since(since))
            }
            _ => (self.stalls, self.stalled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: Span = Span::from_secs(4);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    /// Three chunks of 4 s, the first of which comes at 1 s.
    fn begun() -> Playback {
        let mut playback = Playback::new(CHUNK, at(0));
        playback.on_chunk(CHUNK, Place::Before, at(1000));
        playback
    }

    #[test]
    fn a_film_plays_with_its_first_chunk_and_ends_with_its_last() {
        let mut playback = begun();
        assert_eq!((playback.begun(), playback.dry()), (Some(at(1000)), at(5000)));
        assert_eq!((playback.position(at(3000)), playback.level(at(3000))), (ms(2000), ms(2000)));
        playback.on_chunk(CHUNK, Place::Before, at(3000));
        playback.on_chunk(CHUNK, Place::Last, at(4000));
        assert_eq!(playback.dry(), at(13_000));
        playback.advance(at(12_999));
        assert!(!playback.is_over());
        playback.advance(at(13_000));
        assert!(playback.is_over() && playback.dry() == Time::NEVER);
        assert_eq!((playback.position(at(20_000)), playback.stalls(at(20_000))), (ms(12_000), (0, ms(0))));
    }

    #[test]
    fn an_empty_buffer_is_a_stall_until_the_next_chunk_or_until_now() {
        let mut playback = begun();
        playback.advance(at(5000));
        assert_eq!((playback.position(at(6000)), playback.stalls(at(6500))), (ms(4000), (1, ms(1500))));
        // The chunk is heard of without a call at the moment at which the buffer ran dry.
        let mut late = begun();
        for one in [&mut playback, &mut late] {
            one.on_chunk(CHUNK, Place::Before, at(7000));
            assert_eq!((one.stalls(at(8000)), one.dry()), ((1, ms(2000)), at(11_000)));
            assert_eq!(one.position(at(8000)), ms(5000));
        }
    }

    #[test]
    fn a_chunk_that_comes_as_the_buffer_runs_dry_prevents_a_stall() {
        let mut playback = begun();
        playback.on_chunk(CHUNK, Place::Before, at(5000));
        assert_eq!((playback.stalls(at(6000)), playback.dry()), ((0, ms(0)), at(9000)));
    }

    #[test]
    fn more_than_a_chunk_may_be_needed_to_play_but_the_end_needs_no_more() {
        let mut playback = Playback::new(ms(8000), at(0));
        playback.on_chunk(CHUNK, Place::Before, at(1000));
        assert_eq!((playback.begun(), playback.level(at(1500))), (None, CHUNK));
        playback.on_chunk(CHUNK, Place::Before, at(2000));
        assert_eq!(playback.begun(), Some(at(2000)));
        playback.advance(at(10_000));
        playback.on_chunk(CHUNK, Place::Last, at(12_000));
        assert_eq!((playback.dry(), playback.stalls(at(13_000))), (at(16_000), (1, ms(2000))));
    }

    #[test]
    fn a_full_buffer_has_room_once_enough_was_played() {
        let mut playback = begun();
        assert_eq!(playback.room(CHUNK, ms(8000), at(1000)), at(1000));
        playback.on_chunk(CHUNK, Place::Before, at(1500));
        // It holds 7.5 s.
        assert_eq!(playback.room(CHUNK, ms(8000), at(1500)), at(5000));
        assert_eq!(Playback::new(CHUNK, at(0)).room(CHUNK, ms(3000), at(1)), Time::NEVER);
    }
}
