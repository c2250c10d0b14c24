use super::*;
use haltere_net::Span;
use haltere_transport::mechanisms::{MPQUIC, MPTCP};

fn refused(text: &str) -> String {
    Contender::parse(text).and_then(|c| c.modelled().map(|_| ())).unwrap_err()
}

#[test]
fn contenders_are_read_with_their_switches() {
    let c = Contender::parse("tcp/cubic-hystart+rto-min=1s-delack+tfo").unwrap();
    assert_eq!((c.transport, c.modelled()), (Transport::Tcp, Ok(cc::CUBIC)));
    assert_eq!(c.mechanism("rto-min"), Some(Value::Time(Span::from_secs(1))));
    assert_eq!((c.mechanism("delack"), c.mechanism("pacing")), (Some(Value::Off), None));
    assert!(c.has(Switch::FastOpen) && !c.has(Switch::Tls12));
    assert_eq!(c.to_string(), "tcp/cubic-hystart+rto-min=1s-delack+tfo");
    assert!(Contender::parse("quic@model/bbr").is_ok());
}

#[test]
fn a_hyphen_switches_off() {
    let exit = |text: &str| Contender::parse(text).unwrap().slow_start();
    assert_eq!(exit("tcp/cubic-hystart"), Some(SlowStart::Standard));
    assert_eq!(exit("tcp/newreno+hystart"), Some(SlowStart::HyStart));
    assert_eq!(exit("quic/newreno+hystart=rfc9406"), Some(SlowStart::HyStartPlusPlus));
    assert_eq!(exit("tcp/cubic"), None);
}

#[test]
fn older_names_mean_what_they_meant() {
    let cases: [(&str, &[(&'static str, Value)]); 8] = [
        ("tcp/cubic-nohystart", &[("hystart", Value::Off)]),
        ("tcp/cubic+nohystart", &[("hystart", Value::Off)]),
        ("quic/cubic+hystartpp", &[("hystart", Value::Word("rfc9406"))]),
        ("tcp/cubic+paced", &[("pacing", Value::On)]),
        ("quic/cubic-nodelack", &[("delack", Value::Off)]),
        ("tcp/cubic+nosackcompression", &[("sack-compression", Value::Off)]),
        ("tcp/cubic+rto1s+notimestamps", &[("rto", Value::Word("rfc6298")), ("timestamps", Value::Off)]),
        ("tcp/cubic+stockbuffers", SETTINGS.last().unwrap().sets),
    ];
    for (text, mechanisms) in cases {
        assert_eq!(Contender::parse(text).unwrap().mechanisms, mechanisms, "{text}");
    }
    // A hyphen before a mechanism that is on by default used to mean the opposite.
    for name in ["paced", "rto1s", "hystartpp", "stockbuffers", "tls12", "tfo"] {
        let error = refused(&format!("tcp/cubic-{name}"));
        assert!(error.contains(&format!("write +{name}")), "{error}");
    }
}

#[test]
fn a_setting_names_mechanisms_and_values_that_there_are() {
    for setting in SETTINGS {
        for transport in setting.transports {
            for (name, value) in setting.sets {
                let facts = parse::facts(*transport).find(|f| f.name == *name).unwrap();
                assert_eq!(facts.value('+', Some(&facts.show(*value))), Ok(*value), "{}", setting.name);
            }
        }
    }
}

#[test]
fn what_is_switched_is_told_in_words() {
    let c = Contender::parse("tcp/cubic-tlp+initial-window=32+receive-window=64KiB+earlydata+nodelack").unwrap();
    let told: Vec<_> = c.switched().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(told, ["delack=off", "earlydata=on", "initial-window=32", "receive-window=65536B", "tlp=off"]);
}

#[test]
fn a_real_implementation_has_a_congestion_control_of_its_own() {
    let c = Contender::parse("tcp@apache+wget2/westwood").unwrap();
    assert_eq!((c.implementation.as_deref(), c.congestion.as_str()), (Some("apache+wget2"), "westwood"));
    assert!(c.modelled().is_err());
}

#[test]
fn what_is_unknown_is_named_with_what_there_is() {
    let cases = [
        ("cubic", "tcp/cubic"),
        ("sctp/cubic", "tcp, quic"),
        ("tcp/qubic", "newreno, cubic, bbr"),
        ("tcp/cubic+warp", "nohystart"),
        ("tcp/cubic+warp", "initial-window, segment"),
        ("quic/cubic+paced", "nodelack"),
        ("tcp@linux/bbr", "fidelity"),
        ("tcp@Linux!/bbr", "small letters"),
        ("tcp/bbr+hystart", "own startup"),
        ("tcp/cubic+tls12+earlydata", "leave tls12 or earlydata out"),
        ("tcp/cubic+0rtt", "tfo"),
        ("quic/cubic+tfo", "0rtt"),
        ("tcp/", "newreno"),
        ("", "tcp/cubic"),
    ];
    for (given, hint) in cases {
        let error = refused(given);
        assert!(error.contains(hint), "{given}: {error}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let cases = [
        ("quic/cubic-tlp", "RFC 9002 section 6.2"),
        ("quic/cubic+segment=1200B", "write +datagram=…"),
        ("tcp/cubic-packet-threshold", "write +loss-threshold=…"),
        ("tcp/dctcp-ecn", "works by marks"),
        ("tcp/bbr-pacing", "works by a pacing rate"),
        ("tcp/bbr3-prr", "sets its window during recovery itself"),
        ("tcp/copa-idle-restart", "restarts at its pacing rate"),
        ("tcp/cubic+initial-window", "needs a value"),
        ("tcp/cubic+initial-window=0", "from 1 to 10000"),
        ("tcp/cubic-initial-window", "cannot be off"),
        ("tcp/cubic-tlp=on", "takes no value"),
        ("tcp/cubic+rto-min=1", "a time with a unit"),
        ("tcp/cubic+tfo=on", "write +tfo"),
        ("tcp/cubic+nohystart+hystart", "sets hystart to off and to linux: leave one out"),
        ("quic/cubic-packet-threshold-time-threshold", "leave one of them on"),
        ("tcp/cubic-delack+ack-every=4", "and sets ack-every: leave one out"),
        ("tcp/cubic-sack+tlp", "without which tlp does nothing"),
        ("tcp/cubic-hurried-acks+quick-acks=4", "those that quick-acks counts"),
        ("quic/cubic+ack-frequency+ack-delay=1us", "needs at least 1ms"),
        ("tcp/cubic+receive-window=1MiB+max-receive-window=64KiB", "more than its max-receive-window"),
        ("tcp/cubic+", "unknown switch \"\""),
        ("mptcp/cubic+scheduler=lowest", "lowest-rtt"),
        ("mptcp/cubic+lowest-rrt", "lowest-rtt"),
        ("mptcp/cubic+lowest-rtt+scheduler=round-robin", "sets scheduler to lowest-rtt and to round-robin"),
    ];
    for (given, hint) in cases {
        let error = refused(given);
        assert!(error.contains(hint), "{given}: {error}");
    }
    // Repeating a setting is no contradiction. An algorithm with a pacing rate may be unpaced if a stack might run it.
    assert!(Contender::parse("tcp/cubic+nohystart-hystart").is_ok());
    assert!(Contender::parse("quic/bbr-pacing").is_ok());
}

#[test]
fn the_catalogue_lists_each_switch_of_each_transport_once() {
    let rows = catalogue();
    // Those of TCP and QUIC are not repeated for their multipath forms.
    let single_path = |s: &Switch| s.describe().transports.iter().filter(|t| !t.is_multipath()).count();
    assert_eq!(
        rows.len(),
        TCP.len()
            + QUIC.len()
            + MPTCP.len()
            + MPQUIC.len()
            + ROQ.len()
            + Switch::ALL.iter().map(single_path).sum::<usize>()
    );
    let window = rows.iter().find(|r| (r.transport, r.name) == ("tcp", "receive-window")).unwrap();
    assert_eq!((window.kind, window.default.as_str()), ("bytes", "8388608B"));
}

#[test]
fn a_mechanism_that_the_other_transport_lacks_is_refused_there_with_the_reason() {
    for transport in Transport::ALL {
        let other = if transport.is_quic() { "tcp" } else { "quic" };
        for facts in parse::facts(transport).filter(|f| f.only.is_some()) {
            let error = refused(&format!("{other}/cubic+{}", facts.name));
            assert!(error.contains(facts.only.unwrap()), "{error}");
        }
    }
}

#[test]
fn a_bundle_is_the_switches_it_names() {
    for bundle in BUNDLES {
        let transport = bundle.transport.describe().0;
        let with = |congestion: &str, more: &str| Contender::parse(&format!("{transport}/{congestion}{more}")).unwrap();
        let (named, written) = (with("cubic", &format!("+as={}", bundle.name)), with("cubic", &bundle.means()));
        assert_eq!(named.switched(), written.switched(), "{}", bundle.name);
        assert_eq!(named.switched().len(), bundle.sets.len(), "{}", bundle.name);
        assert!(bundle.sets.iter().all(|part| !part.source.is_empty()), "{}", bundle.name);
        // A congestion control that ignores some of it has the rest.
        let of_bbr = with("bbr", &format!("+as={}", bundle.name)).switched();
        assert!(of_bbr.iter().all(|(name, value)| named.switched().get(name) == Some(value)), "{}", bundle.name);
        assert!(!of_bbr.contains_key("hystart") && !of_bbr.contains_key("prr"), "{}", bundle.name);
    }
}

#[test]
fn a_switch_of_ones_own_goes_before_that_of_a_bundle() {
    for text in ["tcp/cubic+as=linux-2010+initial-window=7+rack", "tcp/cubic+rack+initial-window=7+as=linux-2010"] {
        let switched = Contender::parse(text).unwrap().switched();
        assert_eq!((switched["initial-window"].as_str(), switched["rack"].as_str()), ("7", "on"));
        assert_eq!(switched["prr"], "off");
    }
}

#[test]
fn a_wrong_bundle_is_answered_with_those_that_are_there() {
    let error = |text: &str| Contender::parse(text).unwrap_err();
    for (text, what) in [
        (
            "tcp/cubic+as=linux-2099",
            "unknown bundle \"linux-2099\": did you mean \"linux-2010\"? tcp knows linux-2010, linux-2013",
        ),
        ("quic/cubic+as=linux-2010", "is for tcp: quic knows google-quic-2017, quinn-0.11, noq-1.4"),
        ("mptcp/lia+as=linux-2010", "is for tcp: there are none for mptcp"),
        ("tcp/cubic+as", "names no bundle: write +as=NAME; tcp knows linux-2010"),
        ("tcp/cubic-as=linux-2010", "names no bundle: write +as=NAME"),
        ("tcp/cubic+as=linux-2010+as=linux-2013", "names several bundles"),
    ] {
        assert!(error(text).contains(what), "{text}: {}", error(text));
    }
}

#[test]
fn a_scheduler_whose_code_is_not_here_can_be_read_and_not_run() {
    let c = Contender::parse("mptcp/cubic+gain=2+scheduler=./no-such.py+trips=3-tlp").unwrap();
    let told: Vec<_> = c.switched().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(told, ["gain=2", "scheduler=./no-such.py", "tlp=off", "trips=3"]);
    assert!(c.modelled().unwrap_err().contains("\"./no-such.py\" names a file of code, and this program loads none"));
    let digest = refused("mptcp/cubic+scheduler=./no-such.py#00ff");
    assert!(digest.contains("loads none") && !digest.contains('#'), "{digest}");
    assert!(refused("mptcp/cubic+scheduler=./none.txt").contains("none of .py, .so, .c, .rs"));
    assert!(refused("mptcp/cubic-scheduler=./none.py").contains("takes no value"));
}
