//! Receivers that split acknowledgements or acknowledge what has not arrived, and what their senders make of it.

use crate::trace;

use haltere_transport::tcp::Config;
use haltere_transport::{Endpoint, Role};
use trace::{Bench, config};

fn receiver(adjust: impl FnOnce(&mut Config)) -> Bench {
    let mut config = config(Role::Server);
    config.quick_acks = 0;
    adjust(&mut config);
    Bench::established(config)
}

#[test]
fn an_acknowledgement_is_split_into_as_many_as_are_asked_for() {
    let mut receiver = receiver(|c| c.split_acks = 4);
    receiver.at(200.0).data(0, 1000);
    receiver.at(201.0).data(1000, 1000);
    assert_trace!(receiver, ["201 ack 500", "201 ack 1000", "201 ack 1500", "201 ack 2000"]);
    // An acknowledgement of nothing new is one.
    receiver.at(202.0).data(0, 1000);
    assert_trace!(receiver, ["202 ack 2000 sack 0..1000"]);
    // No piece is smaller than a byte.
    receiver.at(203.0).data(2000, 2);
    receiver.at(1000.0);
    assert_trace!(receiver, ["243 ack 2001", "243 ack 2002"]);
}

#[test]
fn an_optimistic_receiver_acknowledges_full_segments_ahead_and_others_as_they_are() {
    let mut receiver = receiver(|c| (c.optimistic_acks, c.ack_every) = (Some(3), 1));
    receiver.at(200.0).data(0, 1000);
    // The rest of what was written does not fill a segment, so that nothing need follow.
    receiver.at(201.0).data(1000, 400);
    // Data that comes again tells that the claim was not believed.
    receiver.at(202.0).data(1400, 1000);
    receiver.at(203.0).data(1400, 1000);
    let acks: Vec<u64> = receiver.segments().iter().map(|(_, s)| s.ack).collect();
    assert_eq!(acks[0], 4000);
    assert_eq!(acks[acks.len() - 2..], [5400, 2400]);
    assert_eq!(receiver.connection.stats().concealed_bytes, 0);
}

#[test]
fn an_optimistic_receiver_conceals_gaps_until_they_are_filled_after_all() {
    let mut receiver = receiver(|c| (c.optimistic_acks, c.ack_every) = (Some(1), 1));
    receiver.at(200.0).data(0, 1000);
    receiver.at(201.0).data(3000, 1000);
    let last = receiver.segments().pop().map(|(_, s)| (s.ack, s.sacks));
    assert_eq!(last, Some((5000, 0)));
    assert_eq!(receiver.read(), 4000, "the application is handed what fills the gap");
    assert_eq!(receiver.connection.stats().concealed_bytes, 2000);
    receiver.at(202.0).data(1000, 1000);
    assert_eq!(receiver.connection.stats().concealed_bytes, 1000);
    assert_eq!(receiver.read(), 0);
}

/// It claims no more than its window allows, whatever it is asked for.
#[test]
fn a_claim_ends_with_the_window() {
    let mut receiver = receiver(|c| (c.optimistic_acks, c.ack_every) = (Some(1000), 1));
    receiver.at(200.0).data(0, 1000);
    let (_, last) = receiver.segments().pop().unwrap();
    assert!(last.ack > 60_000 && last.ack <= 65_535 + 1000, "{}", last.ack);
}

/// A sender's window, in segments, after its first ten are acknowledged in so many pieces each.
fn window_after(pieces: u64, adjust: impl FnOnce(&mut Config)) -> u64 {
    let mut config = config(Role::Server);
    adjust(&mut config);
    let mut sender = Bench::established(config);
    sender.write(1_000_000);
    for ack in 1..=10 * pieces {
        sender.at(200.0 + ack as f64 / 100.0).ack(ack * 1000 / pieces);
    }
    sender.window_in_segments()
}

/// Savage et al. 1999, section 2.1: a sender that counts acknowledgements opens its window by one for each piece.
#[test]
fn pieces_open_the_window_of_a_sender_that_counts_acknowledgements_alone() {
    for (pieces, counted) in [(1, 20), (4, 50), (10, 110)] {
        assert_eq!(window_after(pieces, |_| {}), 20, "{pieces}");
        assert_eq!(window_after(pieces, |c| c.byte_counting = false), counted, "{pieces}");
    }
}

/// RFC 3465 section 2.1: an acknowledgement of two segments counts as one.
#[test]
fn without_byte_counting_delayed_acknowledgements_slow_the_sender() {
    let window = |counting| {
        let mut sender = Bench::established(Config { byte_counting: counting, ..config(Role::Server) });
        sender.write(1_000_000);
        for i in 1..=5 {
            sender.at(200.0 + f64::from(i)).ack(2000 * i as u64);
        }
        sender.window_in_segments()
    };
    assert_eq!((window(true), window(false)), (20, 15));
}
