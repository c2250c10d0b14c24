//! The player of a film: it asks for one chunk after the other, and waits while its buffer is full.

use super::adaptation::{Adaptation, Fetched, Moment, RateAdaptation};
use super::playback::Place;
use super::{Film, Playback};
use crate::application::{Application, Fetch, Report};
use crate::page::{Browser, Visit};
use crate::world::{Remote, SocketId, Sockets};
use haltere_net::{Cx, Rate, Span, Time};
use haltere_transport::Event;
use std::sync::Arc;

/// The outcome of watching a film.
#[derive(Clone, PartialEq, Debug)]
pub struct Watched {
    /// As of any end that fetches; bytes are those of chunks.
    pub fetch: Fetch,
    /// The duration of each chunk but the last.
    pub chunk: Span,
    /// The mean bit rates of the chunks that came, in their order.
    pub rates: Vec<Rate>,
    /// The highest bit rate of the film.
    pub highest: Rate,
    /// When the film played and when it stalled.
    pub playback: Playback,
}

/// The request that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Asked {
    rung: usize,
    at: Time,
}

/// The client's end of a film. A [`Browser`] carries its requests, one at a time.
pub struct Player {
    film: Arc<Film>,
    browser: Browser,
    adaptation: Box<dyn Adaptation>,
    playback: Playback,
    /// The bit rates of the chunks that came, by their numbers.
    rungs: Vec<usize>,
    asked: Option<Asked>,
    /// When the buffer has room for the next chunk.
    room: Time,
    completed: Option<Time>,
}

impl Player {
    /// A player that fetches a film from `server`; `visit` is that of the film's page.
    pub fn new(film: Arc<Film>, adaptation: RateAdaptation, visit: Visit, server: Remote) -> Player {
        Player {
            browser: Browser::on_demand(visit, server),
            adaptation: (adaptation.build)(),
            playback: Playback::new(film.startup(), Time::ZERO),
            film,
            rungs: Vec::new(),
            asked: None,
            room: Time::NEVER,
            completed: None,
        }
    }

    /// The number of the chunk that is fetched now or next.
    fn next(&self) -> usize {
        self.rungs.len()
    }

    /// Notes a chunk that has come.
    fn take(&mut self, now: Time) {
        let Some(asked) = self.asked else { return };
        let chunk = self.next();
        if !self.browser.has(self.film.object(chunk, asked.rung)) {
            return;
        }
        self.asked = None;
        // The first request waits for the handshakes.
        let sent = self.browser.fetch().ready.map_or(asked.at, |ready| ready.max(asked.at));
        self.adaptation.on_chunk(Fetched { bytes: self.film.size(chunk, asked.rung), took: now.since(sent) });
        self.rungs.push(asked.rung);
        let place = if self.next() < self.film.chunks() { Place::Before } else { Place::Last };
        self.playback.on_chunk(self.film.duration(chunk), place, now);
        if place == Place::Last {
            self.completed = Some(now);
        }
    }

    /// Chooses the next chunk if it is time for it, and returns whether it did.
    fn choose(&mut self, now: Time) -> bool {
        self.room = Time::NEVER;
        let chunk = self.next();
        if self.asked.is_some() || chunk >= self.film.chunks() || self.browser.fetch().failed.is_some() {
            return false;
        }
        self.room = self.playback.room(self.film.duration(chunk), self.film.buffer(), now);
        if self.room > now {
            return false;
        }
        let moment =
            Moment { film: &self.film, chunk, last: self.rungs.last().copied(), level: self.playback.level(now) };
        let rung = self.adaptation.choose(&moment).min(self.film.highest());
        self.asked = Some(Asked { rung, at: now });
        self.room = Time::NEVER;
        self.browser.want(self.film.object(chunk, rung), now);
        true
    }

    /// Does what is due.
    fn go_on(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.playback.advance(cx.now);
        self.take(cx.now);
        if self.choose(cx.now) {
            self.browser.on_alarm(sockets, cx);
        }
    }
}

impl Application for Player {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.playback = Playback::new(self.film.startup(), cx.now);
        self.choose(cx.now);
        self.browser.on_start(sockets, cx);
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.browser.on_event(socket, event, sockets, cx);
        self.go_on(sockets, cx);
    }

    fn alarm(&self) -> Time {
        self.browser.alarm().min(self.room).min(self.playback.dry())
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.browser.on_alarm(sockets, cx);
        self.go_on(sockets, cx);
    }

    fn is_over(&self) -> bool {
        self.playback.is_over() || self.browser.fetch().failed.is_some()
    }

    fn report(&self) -> Report {
        let rates = self.film.rates();
        Report::Video(Box::new(Watched {
            fetch: Fetch { completed: self.completed, ..*self.browser.fetch() },
            chunk: self.film.usual(),
            rates: self.rungs.iter().filter_map(|rung| rates.get(*rung).copied()).collect(),
            highest: rates.last().copied().unwrap_or_default(),
            playback: self.playback.clone(),
        }))
    }

    fn received(&self) -> u64 {
        self.browser.fetch().received
    }
}
