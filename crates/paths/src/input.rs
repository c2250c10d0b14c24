//! Opens files of traces, compressed or not. Format and compression are recognised by the first bytes, never by the
//! name.

use crate::framed::Records;
use crate::pieces::{Bytes, Cut, Pieces, Resume, Walk};
pub use crate::unpack::Compression;
use crate::{ReadTraces, arts, dump, json, text, warts};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

haltere_net::named! {
    /// The format of a file of traces.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Format {
        /// Nothing at all.
        Empty = "empty",
        /// scamper's warts.
        Warts = "warts",
        /// skitter's ARTS.
        Arts = "arts",
        /// JSON: RIPE Atlas, scamper, mtr.
        Json = "json",
        /// The text of `sc_analysis_dump`.
        Dump = "dump",
        /// The text of traceroute and mtr.
        Text = "text",
    }
}

impl Format {
    fn detect(start: &[u8]) -> Option<Format> {
        // A byte order mark says nothing.
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        match start {
            [] => Some(Format::Empty),
            _ if warts::detect(start) => Some(Format::Warts),
            _ if arts::detect(start) => Some(Format::Arts),
            _ if matches!(start.trim_ascii_start(), [b'{' | b'[', ..]) => Some(Format::Json),
            _ if dump::detect(start) => Some(Format::Dump),
            _ if text::detect(start) => Some(Format::Text),
            _ => None,
        }
    }
}

/// A file that was opened.
pub struct Opened {
    /// Its traces.
    pub reader: Box<dyn ReadTraces + Send>,
    /// Its format.
    pub format: Format,
    /// How it is compressed.
    pub compression: Compression,
}

/// Number of bytes by which the format is recognised.
const LOOK: usize = 64 * 1024;

/// Opens a file of traces, `-` for standard input; adds to `count` the bytes read, before they are decompressed. With two `threads` or
/// more, so many decode it (records of warts and ARTS one less); what is read is the same.
///
/// # Errors
/// If it cannot be opened, or has an unknown format.
pub fn open(file: &Path, count: &Arc<AtomicU64>, threads: usize) -> io::Result<Opened> {
    let stored: Box<dyn Read + Send> =
        if file == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(file)?) };
    open_stream(Counted { inner: stored, count: Arc::clone(count) }, threads)
}

/// Opens the traces of an open file, from its current position, as [`open`] does.
///
/// # Errors
/// If it cannot be read, or has an unknown format.
pub fn open_file(file: File, count: &Arc<AtomicU64>, threads: usize) -> io::Result<Opened> {
    open_stream(Counted { inner: file, count: Arc::clone(count) }, threads)
}

/// Opens the traces of a stream, as [`open`] does.
///
/// # Errors
/// If it cannot be read, or has an unknown format.
pub fn open_stream(stream: impl Read + Send + 'static, threads: usize) -> io::Result<Opened> {
    let (start, stream) = look(stream, 4)?;
    let compression = Compression::detect(&start);
    let (start, stream) = look(compression.unpack(stream)?, LOOK)?;
    let Some(format) = Format::detect(&start) else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "not a file of traceroutes: it is neither warts, ARTS, JSON (RIPE Atlas, scamper, mtr) nor what traceroute, \
             mtr or sc_analysis_dump print",
        ));
    };
    let stream: Bytes = Box::new(stream);
    // To decode such records takes little more than to hand over what they say: the second thread would gain nothing.
    let fewer = threads.saturating_sub(1);
    let reader = match format {
        Format::Empty | Format::Warts => {
            reader::<Records<_, warts::State>>(stream, Walk(warts::State::default()), fewer)
        }
        Format::Arts => reader::<Records<_, arts::Arts>>(stream, Walk(arts::Arts), fewer),
        Format::Json => reader::<json::Reader<_>>(stream, json::Cutter::default(), threads),
        Format::Dump => reader::<dump::Reader<_>>(stream, dump::Cutter::default(), threads),
        Format::Text => reader::<text::Reader<_>>(stream, text::Cutter, threads),
    }?;
    Ok(Opened { reader, format, compression })
}

/// A reader of a stream, on so many threads.
fn reader<F: Resume>(
    stream: Bytes,
    cutter: impl Cut<State = F::State> + 'static,
    threads: usize,
) -> io::Result<Box<dyn ReadTraces + Send>> {
    Ok(match threads {
        0 | 1 => Box::new(F::resume(stream, 0, F::State::default())),
        _ => Box::new(Pieces::<F>::new(stream, cutter, threads)?),
    })
}

/// A stream of which the first bytes were looked at.
type Whole<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// The first `n` bytes of a stream, fewer if it has fewer, and the stream as if they had not been read.
fn look<R: Read>(mut stream: R, n: usize) -> io::Result<(Vec<u8>, Whole<R>)> {
    let mut start = Vec::new();
    stream.by_ref().take(n as u64).read_to_end(&mut start)?;
    Ok((start.clone(), Cursor::new(start).chain(stream)))
}

struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
