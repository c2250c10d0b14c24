//! Compressed files, told apart by their first bytes.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::BlockDecodingStrategy;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use std::io::{self, BufRead, BufReader, Read};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not.
    None,
    /// gzip (RFC 1952).
    Gzip,
    /// bzip2.
    Bzip2,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl Compression {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Bzip2 => "bzip2",
            Compression::Zstd => "zstd",
        }
    }

    /// What the first bytes of a file say.
    pub(crate) fn detect(start: &[u8]) -> Compression {
        match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The plain bytes of a stream; members joined with `cat` follow one another.
    pub(crate) fn unpack(self, stream: impl Read + Send + 'static) -> Box<dyn Read + Send> {
        const AHEAD: usize = 128 * 1024;
        match self {
            Compression::None => Box::new(stream),
            Compression::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(AHEAD, stream))),
            Compression::Bzip2 => {
                Box::new(bzip2::bufread::MultiBzDecoder::new(BufReader::with_capacity(AHEAD, stream)))
            }
            Compression::Zstd => Box::new(Zstd::new(BufReader::with_capacity(AHEAD, stream))),
        }
    }
}

/// Largest window of a Zstandard frame that is decoded, bytes: what `zstd -d` allows without further ado.
const MAX_WINDOW: u64 = 128 << 20;

/// Frame after frame of a Zstandard stream.
struct Zstd<R> {
    source: R,
    frame: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(source: R) -> Zstd<R> {
        let mut frame = FrameDecoder::new();
        frame.set_max_window_size(MAX_WINDOW);
        Zstd { source, frame, inside: false }
    }

    /// Goes on to the next frame; false at the end of the stream.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.frame.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.source.by_ref().take(u64::from(length)), &mut io::sink())?;
                }
                Err(e) => return Err(io::Error::other(e)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.inside {
                while self.frame.can_collect() == 0 && !self.frame.is_finished() {
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    self.frame.decode_blocks(&mut self.source, one).map_err(io::Error::other)?;
                }
                let n = self.frame.read(buffer)?;
                if n > 0 || buffer.is_empty() {
                    return Ok(n);
                }
            }
            self.inside = self.next_frame()?;
            if !self.inside {
                return Ok(0);
            }
        }
    }
}
