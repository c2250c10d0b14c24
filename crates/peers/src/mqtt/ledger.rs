//! The messages of a flow, from their publishers to their subscriber. A process notes what happens to its clients, a line of JSON for each
//! thing, so that nothing is lost with one that is killed; [`Seen`] is made of the notes of all.

use crate::Error;
use haltere_net::{Span, Time};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes at the beginning of each payload, which number the message: its publisher and its place among that one's.
pub const MARK: usize = 8;

/// The payload of a message.
pub fn payload(publisher: u32, number: u32, size: u64) -> Vec<u8> {
    let mut payload = vec![0; (size as usize).max(MARK)];
    payload[..4].copy_from_slice(&publisher.to_be_bytes());
    payload[4..MARK].copy_from_slice(&number.to_be_bytes());
    payload
}

/// The publisher and the number of a message.
fn marked(payload: &[u8]) -> Option<(u32, u32)> {
    let [publisher, number] = payload.as_chunks::<4>().0.get(..2)? else { return None };
    Some((u32::from_be_bytes(*publisher), u32::from_be_bytes(*number)))
}

/// A note. Times in ns from the run's beginning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Note {
    /// A publisher's first connection is there: how long it took until CONNACK.
    Connected(u64),
    /// A publisher calls: when, who, the message's number and its size.
    Published(u64, u32, u32, u64),
    /// The subscriber has a message: when, whose, its number.
    Delivered(u64, u32, u32),
    /// A connection was lost or refused: when, and why.
    Lost(u64, String),
    /// The subscriber waits for nothing more.
    Over(u64),
    /// A client cannot go on.
    Failed(String),
}

/// The notes of a process, and as much of the flow as it knows.
pub struct Ledger {
    epoch: Time,
    out: Box<dyn Write>,
    /// Why notes cannot be written.
    broken: Option<Error>,
    /// How many messages each publisher has published.
    published: Vec<u32>,
    /// Publishers that have more to publish.
    open: usize,
    /// Which messages of each publisher have come.
    came: Vec<Vec<bool>>,
    /// Messages that are still to come; `None` if nobody knows how many there will be.
    missing: Option<usize>,
    /// When a message was published or came last.
    last: Time,
}

impl Ledger {
    /// A ledger for publishers with so many messages each. Notes go to `out`.
    pub fn new(epoch: Time, messages: &[usize], out: Box<dyn Write>) -> Ledger {
        let missing = (!messages.contains(&0)).then(|| messages.iter().sum());
        Ledger {
            epoch,
            out,
            broken: None,
            published: vec![0; messages.len()],
            open: messages.len(),
            came: messages.iter().map(|count| vec![false; *count]).collect(),
            missing,
            last: epoch,
        }
    }

    fn ns(&self, at: Time) -> u64 {
        at.since(self.epoch).as_nanos()
    }

    fn note(&mut self, note: &Note) {
        let wrong = |e: &dyn std::fmt::Display| Error::new("report", format!("cannot be written: {e}"));
        let written = match serde_json::to_string(note) {
            // One call writes the whole line.
            Ok(line) => self.out.write_all(format!("{line}\n").as_bytes()).map_err(|e| wrong(&e)),
            Err(e) => Err(wrong(&e)),
        };
        self.broken = self.broken.take().or(written.err());
    }

    /// A publisher's first connection is there, this long after it began.
    pub fn connected(&mut self, took: Span) {
        self.note(&Note::Connected(took.as_nanos()));
    }

    /// A publisher calls. Returns the message's number.
    pub fn publish(&mut self, publisher: usize, size: u64, now: Time) -> u32 {
        let number = self.published[publisher];
        self.published[publisher] += 1;
        self.last = self.last.max(now);
        self.note(&Note::Published(self.ns(now), publisher as u32, number, size));
        number
    }

    /// A publisher has nothing more to publish.
    pub fn close(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// When the last message was published, if all are, in ns from the run's beginning.
    pub fn all_published(&self) -> Option<u64> {
        (self.open == 0).then(|| self.last_ns())
    }

    /// When a message was published or came last, in ns from the run's beginning.
    pub fn last_ns(&self) -> u64 {
        self.ns(self.last)
    }

    /// The subscriber has a message.
    pub fn deliver(&mut self, payload: &[u8], now: Time) {
        let Some((publisher, number)) = marked(payload) else { return };
        let whose = self.came.get_mut(publisher as usize);
        let Some(came) = whose.and_then(|all| all.get_mut(number as usize)) else { return };
        if !std::mem::replace(came, true) {
            self.missing = self.missing.map(|missing| missing - 1);
            self.last = self.last.max(now);
        }
        self.note(&Note::Delivered(self.ns(now), publisher, number));
    }

    /// Whether every message has come.
    pub fn is_complete(&self) -> bool {
        self.missing == Some(0)
    }

    /// When a message was published or came last.
    pub fn last(&self) -> Time {
        self.last
    }

    /// A connection was lost.
    pub fn lost(&mut self, why: String, now: Time) {
        self.note(&Note::Lost(self.ns(now), why));
    }

    /// The subscriber waits for nothing more.
    pub fn over(&mut self, now: Time) {
        self.note(&Note::Over(self.ns(now)));
    }

    /// Ends the notes, with the reason if clients cannot go on.
    ///
    /// # Errors
    /// If some could not be written.
    pub fn finish(&mut self, failed: Option<&Error>) -> Result<(), Error> {
        if let Some(error) = failed {
            self.note(&Note::Failed(error.to_string()));
        }
        self.broken.take().map_or(Ok(()), Err)
    }
}

/// The report on a flow. Times in ns from the run's beginning.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Seen {
    /// Messages published.
    pub published: u64,
    /// Messages of which a copy came.
    pub delivered: u64,
    /// Further copies.
    pub duplicated: u64,
    /// When each message was delivered, and how long after it was published.
    pub deliveries: Vec<(u64, u64)>,
    /// How long each publisher's first connection took until CONNACK.
    pub handshakes: Vec<u64>,
    /// Bytes of payload delivered.
    pub bytes: u64,
    /// Bytes of payload delivered in the measured time.
    pub measured_bytes: u64,
    /// When the last message was published or delivered, if no more was waited for.
    pub completed: Option<u64>,
    /// How often a connection was lost or refused, and why last.
    pub lost_connections: u64,
    /// See `lost_connections`.
    pub last_loss: Option<String>,
    /// Why clients could not go on.
    pub error: Option<String>,
}

/// A message that was published.
struct Published {
    at: u64,
    size: u64,
    delivered: bool,
}

impl Seen {
    /// The report from the notes of the publishers and then of the subscriber; the measured time begins at `since`.
    pub fn of(notes: &[Note], since: u64) -> Seen {
        let (mut seen, mut last, mut over) = (Seen::default(), 0, false);
        let mut messages = std::collections::HashMap::new();
        let mut lost: Option<(u64, &String)> = None;
        for note in notes {
            match note {
                Note::Connected(took) => seen.handshakes.push(*took),
                Note::Published(at, publisher, number, size) => {
                    messages.insert((*publisher, *number), Published { at: *at, size: *size, delivered: false });
                    seen.published += 1;
                    last = last.max(*at);
                }
                Note::Delivered(at, publisher, number) => {
                    let Some(message) = messages.get_mut(&(*publisher, *number)) else { continue };
                    if std::mem::replace(&mut message.delivered, true) {
                        seen.duplicated += 1;
                        continue;
                    }
                    seen.delivered += 1;
                    seen.bytes += message.size;
                    seen.measured_bytes += if *at >= since { message.size } else { 0 };
                    seen.deliveries.push((*at, at.saturating_sub(message.at)));
                    last = last.max(*at);
                }
                Note::Lost(at, why) => {
                    seen.lost_connections += 1;
                    lost = lost.filter(|(before, _)| before > at).or(Some((*at, why)));
                }
                Note::Over(_) => over = true,
                Note::Failed(why) => seen.error = seen.error.or_else(|| Some(why.clone())),
            }
        }
        seen.last_loss = lost.map(|(_, why)| why.clone());
        seen.completed = over.then_some(last);
        seen
    }

    /// The report from the files of the publishers and then of the subscriber, or from the one of both.
    ///
    /// # Errors
    /// If one cannot be read, or has other lines than notes. A last line without an end is left out.
    pub fn read(files: &[PathBuf], since: u64) -> Result<Seen, Error> {
        let all: Result<Vec<_>, _> = files.iter().map(|file| notes(file)).collect();
        Ok(Seen::of(&all?.concat(), since))
    }
}

fn notes(file: &Path) -> Result<Vec<Note>, Error> {
    let bytes = std::fs::read(file).map_err(|e| Error::new(file.display(), e))?;
    let whole = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    whole.map(|line| serde_json::from_slice(line).map_err(|e| Error::new(file.display(), e))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// The ledger of an end, whose notes go to a file.
    fn ledger(messages: &[usize]) -> (Ledger, tempfile::NamedTempFile) {
        let file = tempfile::NamedTempFile::new().unwrap();
        (Ledger::new(at(100), messages, Box::new(file.reopen().unwrap())), file)
    }

    #[test]
    fn each_message_counts_once_and_the_last_one_ends_the_run() {
        let (mut publishers, published) = ledger(&[2]);
        for ms in [200, 300] {
            assert_eq!(publishers.all_published(), None);
            publishers.publish(0, 50, at(ms));
        }
        publishers.close();
        assert_eq!(publishers.all_published(), Some(200_000_000));
        let (mut subscriber, delivered) = ledger(&[2]);
        subscriber.deliver(&payload(0, 1, 50), at(350));
        subscriber.deliver(&payload(0, 1, 50), at(360));
        subscriber.deliver(&payload(7, 1, 50), at(360));
        subscriber.deliver(b"short", at(360));
        assert!(!subscriber.is_complete());
        subscriber.deliver(&payload(0, 0, 50), at(1400));
        assert!(subscriber.is_complete());
        let files = [published.path().to_owned(), delivered.path().to_owned()];
        let seen = || Seen::read(&files, 1_000_000_000).unwrap();
        assert_eq!(seen().completed, None);
        subscriber.over(at(1400));
        let seen = seen();
        assert_eq!((seen.published, seen.delivered, seen.duplicated, seen.bytes), (2, 2, 1, 100));
        assert_eq!(seen.measured_bytes, 50);
        assert_eq!(seen.deliveries, [(250_000_000, 50_000_000), (1_300_000_000, 1_200_000_000)]);
        assert_eq!(seen.completed, Some(1_300_000_000));
    }

    #[test]
    fn the_last_loss_of_both_ends_is_told() {
        let lost = |ms, why: &str| Note::Lost(ms, why.into());
        let seen = Seen::of(&[lost(1, "first"), lost(9, "last"), lost(5, "between")], 0);
        assert_eq!((seen.lost_connections, seen.last_loss.as_deref()), (3, Some("last")));
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_note_and_another_is_an_error() {
        let (mut one, file) = ledger(&[1]);
        one.publish(0, 9, at(100));
        let whole = std::fs::read(file.path()).unwrap();
        std::fs::write(file.path(), [&whole[..], &whole[..9]].concat()).unwrap();
        assert_eq!(notes(file.path()).unwrap(), [Note::Published(0, 0, 0, 9)]);
        std::fs::write(file.path(), b"[]\n").unwrap();
        assert!(notes(file.path()).is_err());
    }

    #[test]
    fn nobody_knows_how_many_come_of_a_publisher_without_an_end() {
        let (mut subscriber, _file) = ledger(&[0, 1]);
        subscriber.deliver(&payload(1, 0, 8), at(200));
        assert!(!subscriber.is_complete());
    }
}
