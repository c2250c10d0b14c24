//! Compressed files, recognised by their first bytes.

use crate::ahead::Ahead;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Read};

haltere_net::named! {
    /// How a file is compressed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Compression {
        /// Not compressed.
        None = "none",
        /// gzip (RFC 1952).
        Gzip = "gzip",
        /// bzip2.
        Bzip2 = "bzip2",
        /// Zstandard (RFC 8878).
        Zstd = "zstd",
    }
}

impl Compression {
    /// The compression that the first bytes of a file show.
    pub(crate) fn detect(start: &[u8]) -> Compression {
        match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The plain bytes of a stream; members joined with `cat` follow one another. They are unpacked on a thread of their own, so that
    /// another core can read what they say.
    ///
    /// # Errors
    /// If there is no memory for a decompressor, or no thread.
    pub(crate) fn unpack(self, stream: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        const AHEAD: usize = 128 * 1024;
        Ok(match self {
            Compression::None => Box::new(stream),
            Compression::Gzip => Box::new(Ahead::new(MultiGzDecoder::new(BufReader::with_capacity(AHEAD, stream)))?),
            Compression::Bzip2 => {
                Box::new(Ahead::new(bzip2::bufread::MultiBzDecoder::new(BufReader::with_capacity(AHEAD, stream)))?)
            }
            // Frame after frame, windows of at most 128 MiB: what `zstd -d` allows without further ado.
            Compression::Zstd => {
                Box::new(Ahead::new(zstd::Decoder::with_buffer(BufReader::with_capacity(AHEAD, stream))?)?)
            }
        })
    }
}
