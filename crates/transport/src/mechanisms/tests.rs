use super::*;
use crate::Role;
use crate::cc;
use haltere_net::rng::Streams;
use std::collections::BTreeSet;

fn tcp() -> crate::tcp::Config {
    crate::tcp::Config::new(Role::Server, cc::CUBIC, Streams::new(1, 0).named("cc"))
}

fn quic() -> crate::quic::Config {
    crate::quic::Config::new(Role::Server, cc::CUBIC, Streams::new(1, 0).named("cc"))
}

fn roq() -> crate::roq::Config {
    crate::roq::Config::new(Role::Server, crate::rtp::control::GCC, Streams::new(1, 0).named("cc"))
}

fn all() -> impl Iterator<Item = Facts> {
    TCP.iter().map(|m| m.facts).chain(QUIC.iter().map(|m| m.facts))
}

/// Values that a type allows: the ends of its range, and its words.
fn values(facts: &Facts) -> Vec<Value> {
    let ends = match facts.kind {
        Kind::OnOff => vec![],
        Kind::Count(a, b) | Kind::Segments(a, b) | Kind::Bytes(a, b) => vec![Value::Number(a), Value::Number(b)],
        Kind::Time(a, b) => vec![Value::Time(a), Value::Time(b)],
        Kind::OneOf(words) => words.iter().map(|w| Value::Word(w)).collect(),
        Kind::Scheduler => Scheduler::ALL.iter().copied().map(Value::Scheduler).collect(),
    };
    ends.into_iter().chain(facts.on.filter(|v| *v != Value::On || facts.kind == Kind::OnOff)).chain(facts.off).collect()
}

#[test]
fn names_are_words_that_no_other_begins_with_and_a_sign() {
    for table in [TCP.iter().map(|m| m.facts.name).collect::<Vec<_>>(), QUIC.iter().map(|m| m.facts.name).collect()] {
        let unique: BTreeSet<_> = table.iter().collect();
        assert_eq!(unique.len(), table.len());
        for name in &table {
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{name}");
            // `+ack-delay` must never be read as `+ack` and `-delay`.
            let read_otherwise = name
                .match_indices('-')
                .any(|(i, _)| table.contains(&&name[..i]) && table.iter().any(|other| name[i + 1..] == **other));
            assert!(!read_otherwise, "{name}");
        }
    }
}

#[test]
fn each_value_is_set_as_it_is_written_and_read_back() {
    fn check<C>(table: &[Mechanism<C>], fresh: fn() -> C) {
        for mechanism in table {
            let (facts, default) = (&mechanism.facts, mechanism.get(&fresh()));
            for value in values(facts) {
                let mut config = fresh();
                mechanism.set(&mut config, value);
                assert_eq!(mechanism.get(&config), value, "{}", facts.name);
                assert_eq!(facts.value('+', Some(&facts.show(value))), Ok(value), "{}", facts.name);
            }
            let expressible = default == Value::Auto || facts.value('+', Some(&facts.show(default))) == Ok(default);
            assert!(expressible, "{}: {default:?}", facts.name);
        }
    }
    // "delack" is an alias for a count: `on` leaves the count unchanged.
    check(TCP, tcp);
    let others: Vec<_> = QUIC.iter().map(|m| m.facts.name).filter(|n| *n != "delack").collect();
    assert_eq!(others.len() + 1, QUIC.len());
    check(QUIC, quic);
    check(ROQ, roq);
}

/// Defaults equal what the configurations document. A mechanism that is on by default has the value that `+name` alone
/// sets.
#[test]
fn what_is_on_by_default_is_what_its_name_alone_gives() {
    let pairs = TCP.iter().map(|m| (m.facts, m.get(&tcp()))).chain(QUIC.iter().map(|m| (m.facts, m.get(&quic()))));
    for (facts, default) in pairs {
        if let (Some(on), true) = (facts.on, default.is_on() && default != Value::Auto) {
            assert_eq!(on, default, "{}", facts.name);
        }
        assert!(facts.off.is_some() || default.is_on(), "{} is off and cannot be", facts.name);
    }
}

#[test]
fn every_mechanism_says_what_it_does_and_where_from() {
    for facts in all() {
        assert!(!facts.source.is_empty() && facts.summary.len() > 10, "{}", facts.name);
    }
    // A mechanism that a transport lacks has a reason.
    let has = |name: &str| (TCP.iter().any(|m| m.facts.name == name), QUIC.iter().any(|m| m.facts.name == name));
    for facts in all() {
        assert_eq!(facts.only.is_none(), has(facts.name) == (true, true), "{}", facts.name);
    }
}

#[test]
fn wrong_values_are_told_what_would_be_right() {
    let tcp = |name: &str| TCP.iter().find(|m| m.facts.name == name).unwrap().facts;
    let cases = [
        ("initial-window", '+', Some("0"), "a number of full packets from 1 to 10000"),
        ("initial-window", '+', Some("+7"), "a number of full packets"),
        ("initial-window", '+', None, "needs a value"),
        ("initial-window", '-', None, "cannot be off"),
        ("rto-min", '+', Some("200"), "a time with a unit, from 1ms to 120s"),
        ("segment", '+', Some("9GB"), "bytes with a unit, from 64B to 65495B"),
        ("rto", '+', Some("rfc"), "one of linux, rfc6298"),
        ("tlp", '+', Some("1"), "give on or off"),
        ("tlp", '-', Some("on"), "takes no value"),
        ("tso", '+', Some("x"), ", or off"),
    ];
    for (name, sign, given, words) in cases {
        let error = tcp(name).value(sign, given).unwrap_err();
        assert!(error.contains(words), "{name}: {error}");
    }
}

#[test]
fn the_order_in_which_mechanisms_are_given_does_not_matter() {
    let given = [("rto-min", Value::Time(Span::from_millis(300))), ("rto", Value::Word("rfc6298"))];
    let mut config = tcp();
    apply(TCP, &given, &mut config);
    assert_eq!(config.rto, crate::tcp::config::RtoRule::Rfc6298 { least: Span::from_millis(300) });
}
