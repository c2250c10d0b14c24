//! The contents of streams. Transports count bytes and do not carry them. Streams are reliable and in order, so the bytes
//! that are written stand in a queue beside the stream, and the reader takes as many as have arrived.
//!
//! Bytes are written either plain, to be read one by one, or sealed, to be read only when all of them have arrived: a
//! record of TLS, or a flight of its handshake.

use haltere_net::ConnectionId;
use haltere_transport::{Role, StreamId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Contents that were read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// A flight of a handshake, by its number.
    Flight(usize),
    /// Bytes of the application.
    Data(Vec<u8>),
}

/// Contents that were written at once.
#[derive(Debug)]
struct Part {
    /// Bytes of it on the stream that were not read yet.
    size: u64,
    content: Content,
    sealed: bool,
}

/// One direction of a stream.
#[derive(Default, Debug)]
struct Line {
    parts: VecDeque<Part>,
    /// Bytes that have arrived and were not taken.
    arrived: u64,
}

/// A direction of a stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StreamHalf {
    connection: ConnectionId,
    stream: StreamId,
    by_server: bool,
}

impl StreamHalf {
    /// The direction of a stream in which this end writes.
    pub fn from(connection: ConnectionId, stream: StreamId, writer: Role) -> StreamHalf {
        StreamHalf { connection, stream, by_server: writer == Role::Server }
    }
}

/// The contents of all streams of some connections. Their ends share it.
#[derive(Clone, Default, Debug)]
pub struct Contents(Arc<Mutex<Book>>);

#[derive(Default, Debug)]
struct Book {
    lines: BTreeMap<StreamHalf, Line>,
    /// Connections that one end has left: which end. What is written to it is not kept.
    left: BTreeMap<ConnectionId, Role>,
}

impl Contents {
    fn with<T>(&self, f: impl FnOnce(&mut Book) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, place: StreamHalf, part: Part) {
        self.with(|book| {
            let reader = if place.by_server { Role::Client } else { Role::Server };
            if book.left.get(&place.connection) != Some(&reader) {
                book.lines.entry(place).or_default().parts.push_back(part);
            }
        });
    }

    /// Plain bytes were written.
    pub fn write(&self, place: StreamHalf, bytes: Vec<u8>) {
        let size = bytes.len() as u64;
        self.put(place, Part { size, content: Content::Data(bytes), sealed: false });
    }

    /// A sealed part was written. It takes `size` bytes on the stream.
    pub fn write_sealed(&self, place: StreamHalf, size: u64, content: Content) {
        self.put(place, Part { size, content, sealed: true });
    }

    /// So many more bytes have arrived. Returns what can be read of all that have.
    pub fn arrive(&self, place: StreamHalf, bytes: u64) -> Vec<Content> {
        self.with(|book| {
            let Some(line) = book.lines.get_mut(&place) else { return Vec::new() };
            line.arrived += bytes;
            let mut read = Vec::new();
            while let Some(part) = line.parts.front_mut() {
                if part.size <= line.arrived {
                    line.arrived -= part.size;
                    read.extend(line.parts.pop_front().map(|part| part.content));
                    continue;
                }
                if let (false, Content::Data(all)) = (part.sealed, &mut part.content)
                    && line.arrived > 0
                {
                    let rest = all.split_off(line.arrived as usize);
                    read.push(Content::Data(std::mem::replace(all, rest)));
                    part.size -= line.arrived;
                    line.arrived = 0;
                }
                break;
            }
            if line.parts.is_empty() && line.arrived == 0 {
                book.lines.remove(&place);
            }
            read
        })
    }

    /// An end has left a connection: what it has not read is forgotten, and what is written to it is not kept.
    pub fn forget(&self, connection: ConnectionId, reader: Role) {
        self.with(|book| {
            let first = StreamHalf { connection, stream: StreamId(0), by_server: false };
            let all = book.lines.range(first..).map(|(place, _)| *place).take_while(|p| p.connection == connection);
            let unread: Vec<StreamHalf> = all.filter(|p| p.by_server == (reader == Role::Client)).collect();
            unread.iter().for_each(|place| drop(book.lines.remove(place)));
            match book.left.get(&connection) {
                Some(other) if *other != reader => drop(book.left.remove(&connection)),
                _ => drop(book.left.insert(connection, reader)),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: StreamHalf = StreamHalf { connection: ConnectionId(3), stream: StreamId(0), by_server: false };

    #[test]
    fn plain_bytes_are_read_as_they_arrive() {
        let contents = Contents::default();
        contents.write(PLACE, vec![1, 2, 3]);
        contents.write(PLACE, vec![4, 5]);
        assert_eq!(contents.arrive(PLACE, 2), [Content::Data(vec![1, 2])]);
        assert_eq!(contents.arrive(PLACE, 2), [Content::Data(vec![3]), Content::Data(vec![4])]);
        assert_eq!(contents.arrive(PLACE, 1), [Content::Data(vec![5])]);
    }

    #[test]
    fn sealed_parts_are_read_whole() {
        let contents = Contents::default();
        contents.write_sealed(PLACE, 30, Content::Flight(1));
        contents.write_sealed(PLACE, 24, Content::Data(vec![7; 2]));
        assert_eq!(contents.arrive(PLACE, 29), []);
        assert_eq!(contents.arrive(PLACE, 24), [Content::Flight(1)]);
        assert_eq!(contents.arrive(PLACE, 1), [Content::Data(vec![7; 2])]);
    }

    #[test]
    fn an_end_that_leaves_forgets_what_it_has_not_read_and_nothing_else() {
        let contents = Contents::default();
        let others = [StreamHalf { by_server: true, ..PLACE }, StreamHalf { connection: ConnectionId(4), ..PLACE }];
        contents.write(PLACE, vec![1]);
        others.iter().for_each(|place| contents.write(*place, vec![2]));
        contents.forget(ConnectionId(3), Role::Server);
        assert_eq!(contents.arrive(PLACE, 1), []);
        for place in others {
            assert_eq!(contents.arrive(place, 1), [Content::Data(vec![2])]);
        }
    }

    #[test]
    fn nothing_is_left_once_both_ends_have_left() {
        let contents = Contents::default();
        let back = StreamHalf { by_server: true, ..PLACE };
        contents.forget(ConnectionId(3), Role::Server);
        // The client does not know yet.
        contents.write(PLACE, vec![1]);
        contents.write(back, vec![2]);
        contents.with(|book| assert_eq!((book.lines.len(), book.left.len()), (1, 1)));
        contents.forget(ConnectionId(3), Role::Client);
        contents.with(|book| assert_eq!((book.lines.len(), book.left.len()), (0, 0)));
    }
}
