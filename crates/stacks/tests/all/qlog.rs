//! The stacks' own qlog goes into the sink that is given, and changes nothing.

use crate::ends;

use ends::{Both, Dyn, STACKS, common::Exchange, common::Pair, link};
use haltere_net::Span;
use haltere_net::rng::Streams;
use haltere_stacks::{Cipher, Config, Congestion, Handles, Sink, Stack};
use haltere_transport::Role;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn run(stack: Stack, kept: Option<&Kept>) -> Both {
    let end = |role, name| {
        let mut config = Config::new(role, stack, Congestion::Own("cubic"));
        config.cipher = Cipher::Null;
        let mut handles = Handles::new(Streams::new(1, 0).named(name));
        handles.qlog = kept.filter(|_| role == Role::Server).map(|k| Sink::new(Box::new(k.clone())));
        Dyn(haltere_stacks::endpoint(config, handles).unwrap())
    };
    let wire = link(50, Span::from_millis(10), 100_000);
    let (client, server) = (end(Role::Client, "client"), end(Role::Server, "server"));
    let mut pair = Pair::new(client, server, &wire, &wire, 1, Exchange { streams: vec![(100, 300_000)] });
    assert!(pair.run(Span::from_secs(60)));
    pair.assert_complete();
    pair
}

#[test]
fn a_stacks_qlog_tells_of_its_packets_and_changes_nothing() {
    for stack in STACKS {
        let kept = Kept::default();
        let (logged, plain) = (run(stack, Some(&kept)), run(stack, None));
        assert_eq!((logged.now, logged.wakes), (plain.now, plain.wakes));
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let records = text.split('\u{1e}').skip(1).count();
        assert!(records > 200, "{stack:?}: {records} records");
        for word in ["qlog", "packet_sent", "packet_received"] {
            assert!(text.contains(word), "{stack:?}: no {word}");
        }
    }
}
