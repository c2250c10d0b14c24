//! Compressed and joined files give the traces that plain ones give.

use crate::common;

use common::{read_all, traces, warts};
use haltere_paths::Trace;
use haltere_paths::generate::Profile;
use haltere_paths::input::{Compression, open_stream};
use haltere_paths::warts::Addresses;
use std::io::{Cursor, Read, Write};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

type Pack = fn(&[u8]) -> Vec<u8>;
const PACKS: [(Compression, Pack); 4] = [
    (Compression::None, <[u8]>::to_vec),
    (Compression::Gzip, gzip),
    (Compression::Bzip2, bzip2),
    (Compression::Zstd, zstd),
];

fn file() -> (Vec<Trace>, Vec<u8>) {
    let made = traces(400, Profile::default());
    let file = warts(&made, Addresses::Embedded);
    (made, file)
}

#[test]
fn every_compression_is_known_by_its_first_bytes() {
    let (made, file) = file();
    for (compression, pack) in PACKS {
        let mut opened = open_stream(Cursor::new(pack(&file)), 1).unwrap();
        assert_eq!(opened.compression, compression);
        let (found, damage) = read_all(opened.reader.as_mut());
        assert_eq!((found.len(), damage.len()), (made.len(), 0), "{compression:?}");
        assert_eq!(found, made, "{compression:?}");
    }
}

#[test]
fn packed_files_that_were_joined_are_read_to_the_end() {
    let (made, file) = file();
    for (compression, pack) in PACKS {
        let joined = [pack(&file[..1000]), pack(&file[1000..]), pack(&file)].concat();
        let found = read_all(open_stream(Cursor::new(joined), 1).unwrap().reader.as_mut()).0;
        assert_eq!(found.len(), 2 * made.len(), "{compression:?}");
        assert_eq!(&found[..made.len()], &made[..], "{compression:?}");
    }
}

#[test]
fn skippable_zstandard_frames_are_skipped() {
    let (made, file) = file();
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let joined = [zstd(&file[..500]), skipped, zstd(&file[500..])].concat();
    assert_eq!(read_all(open_stream(Cursor::new(joined), 1).unwrap().reader.as_mut()).0, made);
}

#[test]
fn a_packed_file_that_is_cut_gives_what_can_be_unpacked() {
    let (made, file) = file();
    for (compression, pack) in &PACKS[1..] {
        // Several members, as bzip2 and zstd unpack whole blocks only.
        let packed: Vec<Vec<u8>> = file.chunks(20_000).map(pack).collect();
        let whole = packed.concat();
        let cut = whole.len() - packed.last().unwrap().len() / 2;
        let (found, damage) = read_all(open_stream(Cursor::new(whole[..cut].to_vec()), 1).unwrap().reader.as_mut());
        assert!(found.len() > made.len() / 2 && found.len() < made.len(), "{compression:?}: {}", found.len());
        assert_eq!(&found[..], &made[..found.len()]);
        assert_eq!(damage.len(), 1, "{compression:?}: {damage:?}");
        assert!(damage[0].what.contains("cannot be read further"), "{compression:?}: {damage:?}");
    }
}

#[test]
fn an_empty_file_is_a_file_without_traces() {
    let mut opened = open_stream(std::io::empty(), 1).unwrap();
    assert_eq!(read_all(opened.reader.as_mut()), (vec![], vec![]));
    assert_eq!(opened.format.name(), "empty");
}

#[test]
fn what_is_no_file_of_traces_is_refused() {
    let refused = open_stream(b"\x7fELF no traces here".chain(std::io::empty()), 1).err().unwrap();
    assert!(refused.to_string().contains("not a file of traceroutes"), "{refused}");
}
