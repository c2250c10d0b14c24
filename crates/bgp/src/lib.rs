//! Dumps of routing tables in MRT's form (RFC 6396), as RouteViews and RIPE RIS publish them: which AS originates each
//! prefix.
//!
//! Records are parsed by `bgpkit-parser`. One record is in memory at a time, and of each prefix its origins.

use bgpkit_parser::models::{AsPath, AsPathSegment, Attributes, MrtMessage, NetworkPrefix, TableDumpV2Message};
use bgpkit_parser::mrt_record::parse_mrt_body;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// TABLE_DUMP and TABLE_DUMP_V2 (RFC 6396 sections 4.2 and 4.3).
const TABLES: [u16; 2] = [12, 13];

/// Bytes of a record's header: time, type, subtype, length (RFC 6396 section 2).
const HEADER: usize = 12;

/// Why a dump cannot be read.
#[derive(Debug)]
pub enum DumpError {
    /// The file could not be read.
    Io(io::Error),
    /// The record at this byte of the unpacked file is cut or cannot be parsed.
    Damaged(u64, String),
}

impl std::fmt::Display for DumpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DumpError::Io(error) => error.fmt(f),
            DumpError::Damaged(at, what) => write!(f, "is damaged at byte {at}: {what}"),
        }
    }
}
impl std::error::Error for DumpError {}

/// The origins that peers tell of a prefix, with how many tell each; a set of ASes is one origin.
type Told = Vec<(Vec<u32>, u32)>;

/// Reads a dump to its end: each prefix as text, and its origins.
///
/// An origin is the last AS of a path; where the path ends with a set (RFC 4271 section 4.3), all of it, joined by
/// commas. Several origins are joined by `_`, that which most peers tell first, as in CAIDA's prefix-to-AS data. Records
/// that are no tables are passed over.
///
/// # Errors
/// If the file cannot be read, ends inside a record, or has a record that cannot be parsed.
pub fn origins(mut file: impl Read) -> Result<Vec<(String, String)>, DumpError> {
    let mut told: BTreeMap<String, Told> = BTreeMap::new();
    let mut at = 0;
    loop {
        let mut header = Vec::with_capacity(HEADER);
        file.by_ref().take(HEADER as u64).read_to_end(&mut header).map_err(DumpError::Io)?;
        if header.is_empty() {
            return Ok(told
                .into_iter()
                .filter(|(_, of)| !of.is_empty())
                .map(|(prefix, of)| (prefix, text(of)))
                .collect());
        }
        let [_, _, _, _, t0, t1, s0, s1, l0, l1, l2, l3] = header[..] else {
            return Err(DumpError::Damaged(at, "the header of a record is cut".into()));
        };
        let length = u64::from(u32::from_be_bytes([l0, l1, l2, l3]));
        let mut body = Vec::new(); // grows with what is there, not with what the header says
        file.by_ref().take(length).read_to_end(&mut body).map_err(DumpError::Io)?;
        if (body.len() as u64) < length {
            let what = format!("a record of {length} bytes has {}", body.len());
            return Err(DumpError::Damaged(at, what));
        }
        let kind = u16::from_be_bytes([t0, t1]);
        if TABLES.contains(&kind) {
            let subtype = u16::from_be_bytes([s0, s1]);
            let message = parse_mrt_body(kind, subtype, body.into());
            note(&mut told, message.map_err(|error| DumpError::Damaged(at, error.to_string()))?);
        }
        at += HEADER as u64 + length;
    }
}

/// Notes the origins that a record tells.
fn note(told: &mut BTreeMap<String, Told>, message: MrtMessage) {
    match message {
        MrtMessage::TableDumpMessage(one) => add(told, &one.prefix, [&one.attributes]),
        MrtMessage::TableDumpMessageBatch(all) => {
            all.iter().for_each(|one| add(told, &one.prefix, [&one.attributes]));
        }
        MrtMessage::TableDumpV2Message(TableDumpV2Message::RibAfi(rib)) => {
            add(told, &rib.prefix, rib.rib_entries.iter().map(|entry| &entry.attributes));
        }
        _ => {}
    }
}

fn add<'a>(
    told: &mut BTreeMap<String, Told>,
    prefix: &NetworkPrefix,
    by_peers: impl IntoIterator<Item = &'a Attributes>,
) {
    let of = told.entry(prefix.prefix.to_string()).or_default();
    for attributes in by_peers {
        // A 2-octet speaker's path has AS_TRANS where AS4_PATH has the number (RFC 6793 section 4.2.3).
        let Some(origin) = attributes.as4_path().or(attributes.as_path()).and_then(origin) else { continue };
        match of.iter_mut().find(|(known, _)| *known == origin) {
            Some((_, peers)) => *peers += 1,
            None => of.push((origin, 1)),
        }
    }
}

/// The last AS of a path, or the set at its end; nothing of an empty path, and of those of confederations.
fn origin(path: &AsPath) -> Option<Vec<u32>> {
    match path.iter_segments().last()? {
        AsPathSegment::AsSequence(systems) => systems.last().map(|system| vec![system.to_u32()]),
        AsPathSegment::AsSet(systems) => {
            let mut all: Vec<u32> = systems.iter().map(|system| system.to_u32()).collect();
            all.sort_unstable();
            all.dedup();
            (!all.is_empty()).then_some(all)
        }
        _ => None,
    }
}

fn text(mut of: Told) -> String {
    of.sort_by(|(a, told_a), (b, told_b)| told_b.cmp(told_a).then_with(|| a.cmp(b)));
    let set = |systems: Vec<u32>| systems.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    of.into_iter().map(|(systems, _)| set(systems)).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of MRT.
    fn record(kind: u16, subtype: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x4d, 0x7a, 0, 0];
        bytes.extend(kind.to_be_bytes());
        bytes.extend(subtype.to_be_bytes());
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    /// AS_PATH of segments: 1 is a set, 2 a sequence (RFC 4271 section 4.3), of ASes of four bytes.
    fn path(segments: &[(u8, &[u32])]) -> Vec<u8> {
        let mut value = Vec::new();
        for (kind, systems) in segments {
            value.extend([*kind, systems.len() as u8]);
            systems.iter().for_each(|system| value.extend(system.to_be_bytes()));
        }
        let mut attributes = vec![0x40, 1, 1, 0, 0x40, 2, value.len() as u8];
        attributes.extend(value);
        attributes
    }

    /// A RIB_IPV4_UNICAST record (RFC 6396 section 4.3.2): a prefix, and what each peer tells.
    fn rib(prefix: &[u8], length: u8, peers: &[Vec<u8>]) -> Vec<u8> {
        let mut body = vec![0, 0, 0, 1, length];
        body.extend(prefix);
        body.extend((peers.len() as u16).to_be_bytes());
        for attributes in peers {
            body.extend([0, 0, 0, 0, 0, 0]);
            body.extend((attributes.len() as u16).to_be_bytes());
            body.extend(attributes);
        }
        record(13, 2, &body)
    }

    fn dump() -> Vec<u8> {
        let mut bytes = record(13, 1, &[0, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 9, 192, 0, 2, 1, 0, 0, 0, 7]);
        bytes.extend(record(16, 4, &[1, 2, 3])); // updates are no tables
        bytes.extend(rib(&[10], 8, &[path(&[(2, &[7, 64500])]), path(&[(2, &[8, 64501])]), path(&[(2, &[9, 64501])])]));
        bytes.extend(rib(&[10, 2], 16, &[path(&[(2, &[7]), (1, &[400_000, 5])])]));
        bytes.extend(rib(&[10, 3], 16, &[path(&[])]));
        bytes
    }

    #[test]
    fn the_last_as_is_the_origin_and_that_of_most_peers_comes_first() {
        let told = origins(&dump()[..]).unwrap();
        let expected = [("10.0.0.0/8", "64501_64500"), ("10.2.0.0/16", "5,400000")];
        assert_eq!(told, expected.map(|(prefix, origin)| (prefix.to_owned(), origin.to_owned())));
        assert!(origins(&[][..]).unwrap().is_empty());
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let whole = dump();
        let begin = (whole.len() - rib(&[10, 3], 16, &[path(&[])]).len()) as u64;
        for cut in [1, 20] {
            let Err(DumpError::Damaged(at, _)) = origins(&whole[..whole.len() - cut]) else { panic!("none at {cut}") };
            assert_eq!(at, begin);
        }
    }

    #[test]
    fn no_damage_panics() {
        let whole = dump();
        let mut state = 1_u32;
        let mut next = move |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        let mut refused = 0;
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..=next(3) {
                let place = next(bytes.len());
                bytes[place] = next(256) as u8;
            }
            refused += usize::from(origins(&bytes[..]).is_err());
        }
        assert!(refused > 1000);
    }
}
