//! A trace record may hold more behind its hops (path MTU discovery, last-ditch probes, Doubletree). The reader passes
//! over it, and the hops are those of the path. The bytes were written by scamper 20211212, tracing in a network of
//! ours.

use crate::common;

use common::{read_all, traces, warts};
use haltere_paths::generate::Profile;
use haltere_paths::warts::{Addresses, Reader, Writer};
use haltere_paths::{Damage, Trace};

/// Type 1, 49 bytes: interface's, path's and outgoing MTU of 1500, version 2, and one probe of 1500 bytes with its answer.
const PATH_MTU: &[u8] = b"\x10\x31\
    \x0b\x00\x05\x05\xdc\x05\xdc\x02\
    \x00\x01\xfe\xef\x1a\x00\x22\xff\x37\x11\x00\x00\x01\x78\x57\x03\x03\x05\xdc\x02\x40\x9e\x24\xc0\x05\xdc\xf6\
    \x00\x00\x00\x00\x00\x01\x44\x58\x1c\xb1\x00\x06\x1e\x40\x00";
/// Type 2, 36 bytes: the answer to a last probe of TTL 255, after the gap limit.
const LAST_DITCH: &[u8] = b"\x20\x24\
    \x00\x00\x01\xfe\x8b\x18\x00\x1c\xff\x33\x13\x00\x00\x00\xd3\x4b\x81\x00\x00\x3c\x00\x3c\
    \x00\x00\x00\x00\x00\x01\x44\x59\x6e\x65\x00\x02\x44\x28";
/// Type 3, 8 bytes: the first hop, 3, and the name of the local stop set, lss.
const DOUBLETREE: &[u8] = b"\x30\x08\x24\x00\x05\x03lss\x00";
/// Type 3, 9 bytes: the address of the local stop set that was met (number 2 of the record), and the first hop.
const DOUBLETREE_STOPPED: &[u8] = b"\x30\x09\x0c\x00\x06\x03\x00\x00\x00\x00\x02";

fn read(bytes: &[u8]) -> (Vec<Trace>, Vec<Damage>) {
    read_all(&mut Reader::new(bytes))
}

/// The trace record of each trace, without its header and without the zero that ends what follows the hops.
fn bodies(made: &[Trace]) -> Vec<Vec<u8>> {
    let file = warts(made, Addresses::Embedded);
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        let end = at + 8 + u32::from_be_bytes(file[at + 4..at + 8].try_into().unwrap()) as usize;
        if file[at + 3] == 6 {
            assert_eq!(file[end - 2..end], [0, 0]);
            found.push(file[at + 8..end - 2].to_vec());
        }
        at = end;
    }
    found
}

fn with(bodies: &[Vec<u8>], after_hops: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Addresses::Embedded);
    writer.list(1, 1, "tests", None).unwrap();
    writer.cycle(1, 1, 1, 1_300_000_000, Some("m0")).unwrap();
    bodies.iter().for_each(|body| writer.record(6, &[body, after_hops].concat()).unwrap());
    writer.finish().unwrap()
}

#[test]
fn path_mtu_last_ditch_and_doubletree_cost_no_hop() {
    let made = traces(20, Profile::default());
    let bodies = bodies(&made);
    for kinds in
        [&[PATH_MTU][..], &[LAST_DITCH], &[DOUBLETREE], &[DOUBLETREE_STOPPED], &[PATH_MTU, LAST_DITCH, DOUBLETREE]]
    {
        let (found, damage) = read(&with(&bodies, &[kinds.concat(), vec![0, 0]].concat()));
        assert_eq!(damage, []);
        assert_eq!(found, made);
    }
}

#[test]
fn kinds_that_are_not_known_are_passed_over_by_their_length() {
    let made = traces(3, Profile::default());
    let after = [&[0xf0, 3, 1, 2, 3][..], DOUBLETREE, &[0, 0]].concat();
    assert_eq!(read(&with(&bodies(&made), &after)), (made, vec![]));
}

/// The lengths of path MTU discovery's twelve bits wrap when it takes many probes; nothing of it is kept anyway.
#[test]
fn what_does_not_end_well_behind_the_hops_costs_nothing() {
    let made = traces(3, Profile::default());
    let wrapped = [&[0x1f, 0xff][..], &PATH_MTU[2..]].concat();
    for after in [&wrapped[..], &PATH_MTU[..20], &[0x30]] {
        assert_eq!(read(&with(&bodies(&made), after)), (made.clone(), vec![]));
    }
}
