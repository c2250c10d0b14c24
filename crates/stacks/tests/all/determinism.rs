//! Runs repeat: with TLS, times and lengths of all datagrams are equal; without it, their bytes too.

use crate::ends;

use ends::{STACKS, controls, link, seeded};
use haltere_net::Span;
use haltere_stacks::{Cipher, Congestion, QUINN, Stack};
use haltere_transport::Body;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Two hashes over all datagrams of a run: of their times and lengths, of their bytes.
fn run(stack: Stack, congestion: Congestion, cipher: Cipher, seed: u64) -> (u64, u64) {
    let (up, mut down) = (link(20, Span::from_millis(15), 100_000), link(20, Span::from_millis(15), 100_000));
    down.loss = haltere_net::loss::LossModel::Uniform { p: 0.01 };
    down.duplication = 0.01;
    let mut pair = seeded(stack, congestion, cipher, [&up, &down], &[(2_000, 400_000), (100, 1_000_000)], seed);
    pair.keep = true;
    assert!(pair.run(Span::from_secs(300)));
    pair.assert_complete();
    let (mut shape, mut content) = (DefaultHasher::new(), DefaultHasher::new());
    for seen in &pair.seen {
        let Body::Udp(bytes) = &seen.packet.body else { panic!("not a datagram of a stack") };
        (seen.at, seen.by_client(), bytes.len(), seen.packet.ecn as u8).hash(&mut shape);
        bytes.hash(&mut content);
    }
    (shape.finish(), content.finish())
}

#[test]
fn times_and_lengths_repeat_under_tls_and_are_those_of_the_null_cipher() {
    for stack in STACKS {
        for control in controls() {
            let first = run(stack, control, Cipher::Tls, 1);
            let again = run(stack, control, Cipher::Tls, 1);
            assert_eq!(first.0, again.0, "{stack:?} {control:?}");
            assert_ne!(first.1, again.1, "TLS without chance: is it TLS?");
            let plain = run(stack, control, Cipher::Null, 1);
            assert_eq!(first.0, plain.0, "{stack:?} {control:?}: the null cipher has other lengths");
        }
    }
}

#[test]
fn every_byte_repeats_under_the_null_cipher_and_depends_on_the_seed() {
    for stack in STACKS {
        let control = Congestion::Own("cubic");
        let first = run(stack, control, Cipher::Null, 1);
        assert_eq!(first, run(stack, control, Cipher::Null, 1), "{stack:?}");
        let other = run(stack, control, Cipher::Null, 2);
        assert!(first.0 != other.0 && first.1 != other.1, "{stack:?}");
    }
}

#[test]
fn runs_in_two_threads_do_not_mix() {
    let alone = run(QUINN, Congestion::Own("cubic"), Cipher::Null, 3);
    let threads: Vec<_> =
        (0..4).map(|_| std::thread::spawn(|| run(QUINN, Congestion::Own("cubic"), Cipher::Null, 3))).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), alone);
    }
}
