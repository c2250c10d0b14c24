//! Datagrams that are lost, doubled or late, for tests of handshakes.

use super::{Fate, Pair};
use haltere_net::Span;
use haltere_transport::{CloseReason, Endpoint, Role};
use proptest::prelude::*;

/// The datagrams that do not just pass: the sender of one, its number in its direction from 1 on, and its fate.
#[derive(Clone, Default, Debug)]
pub struct Misfortunes(pub Vec<(Role, usize, Fate)>);

impl Misfortunes {
    /// Each of the first ten datagrams of each direction, with each fate, one at a time.
    pub fn single() -> impl Iterator<Item = Misfortunes> {
        let fates = [Fate::Lost, Fate::Twice, Fate::Late(Span::from_millis(30)), Fate::Late(Span::from_secs(2))];
        let datagrams = [Role::Client, Role::Server].into_iter().flat_map(|from| (1..=10).map(move |n| (from, n)));
        fates
            .into_iter()
            .flat_map(move |fate| datagrams.clone().map(move |(from, n)| Misfortunes(vec![(from, n, fate)])))
    }

    /// One to five of them.
    pub fn several() -> impl Strategy<Value = Misfortunes> {
        let late = (1u64..3000).prop_map(|ms| Fate::Late(Span::from_millis(ms)));
        let fate = prop_oneof![Just(Fate::Lost), Just(Fate::Twice), late];
        prop::collection::vec((role(), 1usize..12, fate), 1..6).prop_map(Misfortunes)
    }

    /// The fate of the n-th datagram of a direction.
    pub fn fate(&self, from: Role, n: usize) -> Fate {
        self.0.iter().find(|e| (e.0, e.1) == (from, n)).map_or(Fate::Passes, |e| e.2)
    }

    /// Lets them befall a pair.
    pub fn befall<C: Endpoint, S: Endpoint>(&self, pair: &mut Pair<C, S>) {
        let (all, mut sent) = (self.clone(), [0, 0]);
        pair.fortune = Some(Box::new(move |seen| {
            sent[seen.from as usize] += 1;
            all.fate(seen.from, sent[seen.from as usize])
        }));
    }
}

/// One of the two ends.
pub fn role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Client), Just(Role::Server)]
}

/// Lets only the first `passed` datagrams through, and asks that the client gives up for the right reason.
pub fn give_up_after<C: Endpoint, S: Endpoint>(passed: usize, pair: &mut Pair<C, S>, case: &str) {
    let mut sent = 0;
    pair.fortune = Some(Box::new(move |_| {
        sent += 1;
        if sent > passed { Fate::Lost } else { Fate::Passes }
    }));
    assert!(pair.run(Span::from_secs(600)), "still going: {case}");
    let connected = pair.client_log.connected > 0;
    let expected = if connected { CloseReason::IdleTimeout } else { CloseReason::HandshakeTimeout };
    assert_eq!(pair.client_log.failed, Some(expected), "{case} after {passed}");
}
