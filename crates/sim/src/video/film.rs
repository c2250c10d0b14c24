//! The chunks of a film.

use super::Video;
use crate::page::{Page, PageObject};
use crate::scenario::Quantity;
use haltere_net::rng::Stream;
use haltere_net::{Bytes, Rate, Span};

/// A film in chunks, each at several bit rates.
#[derive(Clone, PartialEq, Debug)]
pub struct Film {
    rates: Vec<Rate>,
    length: Span,
    chunk: Span,
    chunks: usize,
    /// The sizes of the first chunk at each bit rate, then those of the next, bytes.
    sizes: Vec<u64>,
    buffer: Span,
    startup: Span,
}

impl Film {
    /// The film of a scenario. The size of a chunk is the mean of its bit rate, times a factor that is drawn for the chunk: uniformly,
    /// and the same at all bit rates.
    pub fn new(video: &Video, stream: &mut Stream) -> Film {
        let chunks = video.length.as_nanos().div_ceil(video.chunk.as_nanos().max(1)) as usize;
        let mut film = Film {
            rates: video.rates.clone(),
            length: video.length,
            chunk: video.chunk,
            chunks,
            sizes: Vec::with_capacity(chunks * video.rates.len()),
            buffer: video.buffer,
            startup: video.startup,
        };
        for number in 0..chunks {
            let factor = 1.0 + video.spread * (2.0 * stream.unit() - 1.0);
            let seconds = film.duration(number).as_secs_f64();
            film.sizes.extend(video.rates.iter().map(|rate| {
                let mean = rate.as_bps() as f64 * seconds / 8.0;
                (mean * factor).round().max(1.0) as u64
            }));
        }
        film
    }

    /// The number of chunks.
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// The mean bit rates, ascending.
    pub fn rates(&self) -> &[Rate] {
        &self.rates
    }

    /// The number of the highest bit rate.
    pub fn highest(&self) -> usize {
        self.rates.len().saturating_sub(1)
    }

    /// The mean bit rate with a number, bit/s; the highest for a number beyond it.
    pub fn rate(&self, rung: usize) -> f64 {
        self.rates.get(rung.min(self.highest())).map_or(0.0, |rate| rate.as_bps() as f64)
    }

    /// The duration of a chunk.
    pub fn duration(&self, chunk: usize) -> Span {
        self.chunk.min(self.length.saturating_sub(self.chunk.scaled(chunk as u64, 1)))
    }

    /// The duration of each chunk but the last.
    pub fn usual(&self) -> Span {
        self.chunk
    }

    /// The bytes of a chunk at a bit rate; 0 beyond the film.
    pub fn size(&self, chunk: usize, rung: usize) -> u64 {
        self.sizes.get(self.object(chunk, rung)).copied().unwrap_or(0)
    }

    /// The most of the film that the buffer holds.
    pub fn buffer(&self) -> Span {
        self.buffer
    }

    /// How much of the film the buffer must hold before it plays.
    pub fn startup(&self) -> Span {
        self.startup
    }

    /// The number of a chunk at a bit rate among the objects of the film's page.
    pub(super) fn object(&self, chunk: usize, rung: usize) -> usize {
        chunk * self.rates.len() + rung.min(self.highest())
    }

    /// The film as a page, which has an object for each chunk at each bit rate: the server answers with these.
    pub(crate) fn page(&self) -> Page {
        let object =
            |size: &u64| PageObject { size: Quantity(Bytes(*size)), request: None, after: vec![], delay: None };
        Page { objects: self.sizes.iter().map(object).collect() }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::video::VideoSpec;
    use haltere_net::rng::Streams;

    /// A film of these bit rates, kbit/s, whose chunks of 4 s have the mean size.
    pub fn even(kbps: &[u64], seconds: u64) -> Film {
        let rates = kbps.iter().map(|k| Rate::from_bps(1000 * k)).collect();
        let video = VideoSpec::default().video("video").unwrap();
        let video = Video { rates, spread: 0.0, length: Span::from_secs(seconds), ..video };
        Film::new(&video, &mut Streams::new(1, 0).named("film"))
    }

    #[test]
    fn chunks_last_as_long_as_the_film_and_have_the_bytes_of_their_bit_rates() {
        let film = even(&[300, 1200], 10);
        assert_eq!(film.chunks(), 3);
        assert_eq!([0, 1, 2, 3].map(|k| film.duration(k).as_millis()), [4000, 4000, 2000, 0]);
        assert_eq!((film.size(0, 0), film.size(0, 1), film.size(2, 1)), (150_000, 600_000, 300_000));
        assert_eq!(film.page().objects.len(), 6);
        assert_eq!(film.page().objects[film.object(2, 1)].size.0.0, 300_000);
    }

    #[test]
    fn sizes_are_drawn_within_the_spread_and_keep_the_mean() {
        let video = VideoSpec { length: Some(Quantity(Span::from_secs(8000))), ..VideoSpec::default() };
        let film = Film::new(&video.video("video").unwrap(), &mut Streams::new(1, 0).named("film"));
        let shares: Vec<f64> = (0..2000).map(|k| film.size(k, 5) as f64 / 2_150_000.0).collect();
        assert!(shares.iter().all(|share| (0.85..=1.15).contains(share)));
        assert!((shares.iter().sum::<f64>() / 2000.0 - 1.0).abs() < 0.01);
        let deviation = (shares.iter().map(|share| (share - 1.0) * (share - 1.0)).sum::<f64>() / 2000.0).sqrt();
        assert!((deviation - 0.0866).abs() < 0.004, "{deviation}");
        assert!((0..2000).all(|k| (film.size(k, 0) as f64 / 150_000.0 - shares[k]).abs() < 1e-5));
    }
}
