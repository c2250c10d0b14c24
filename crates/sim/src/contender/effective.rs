//! The effective parts of a contender: the value of every mechanism, also of those that it leaves at their defaults.

use super::{Contender, Switch, Transport};
use crate::fidelity::{Fidelity, Subject};
use haltere_net::rng::Streams;
use haltere_transport::cc::{Algorithm, SlowStart, Startup};
use haltere_transport::mechanisms::{self, MPQUIC, MPTCP, Mechanism, QUIC, ROQ, TCP, Value};
use haltere_transport::rtp::control::Control;
use haltere_transport::{Role, mptcp, quic, roq, tcp};
use serde::Serialize;

/// A mechanism or switch with the value that it has in a contender.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its name in contenders.
    pub name: String,
    /// Its value, as contenders write it.
    pub value: String,
    /// Why the contender cannot write this value: its congestion control ignores the mechanism.
    pub fixed: Option<&'static str>,
}

/// The parts and mechanisms of a contender at a fidelity.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub struct Effective {
    /// The transport's name.
    pub transport: &'static str,
    /// The name after the `@`; `None` if there is none.
    pub implementation: Option<String>,
    /// Whether our model runs it. Otherwise a production stack does, whose mechanisms are its own.
    pub model: bool,
    /// The name of the congestion control.
    pub congestion: String,
    /// In the model every mechanism and switch of the transport; in a stack those that are set.
    pub settings: Vec<Setting>,
}

impl Contender {
    /// The parts and mechanisms of the contender at a fidelity. `auto` remains where the path or the run decides.
    ///
    /// # Errors
    /// If the contender cannot run there. The error says what would be right.
    pub fn effective(&self, fidelity: Fidelity) -> Result<Effective, String> {
        let (model, settings) = match self.at(fidelity)? {
            Subject::Model(algorithm) => (true, self.in_model_with(algorithm)),
            Subject::Media(control) => (true, self.in_media_with(control)),
            #[cfg(feature = "stacks")]
            Subject::Stack { .. } => (false, self.given()),
            #[cfg(feature = "kernels")]
            Subject::Kernel { .. } | Subject::Program => (false, self.given()),
        };
        Ok(Effective {
            transport: self.transport.describe().0,
            implementation: self.implementation.clone(),
            model,
            congestion: self.congestion.clone(),
            settings,
        })
    }

    /// The mechanisms of a call.
    fn in_media_with(&self, control: Control) -> Vec<Setting> {
        if self.transport != Transport::Roq {
            return Vec::new();
        }
        let mut config = roq::Config::new(Role::Server, control, Streams::new(0, 0).named("effective"));
        mechanisms::apply(ROQ, &self.mechanisms, &mut config);
        let setting = |mechanism: &Mechanism<roq::Config>| Setting {
            name: mechanism.facts.name.to_string(),
            value: mechanism.facts.show(mechanism.get(&config)),
            fixed: None,
        };
        ROQ.iter().map(setting).collect()
    }

    fn in_model_with(&self, algorithm: Algorithm) -> Vec<Setting> {
        let stream = Streams::new(0, 0).named("effective");
        let given = &self.mechanisms;
        let mut found = if self.transport.is_quic() {
            let mut config = quic::Config::new(Role::Server, algorithm, stream);
            mechanisms::apply(QUIC, given, &mut config);
            mechanisms::apply(MPQUIC, given, &mut config);
            let several = self.transport.is_multipath().then(|| self.rows(algorithm, MPQUIC, &config));
            [self.rows(algorithm, QUIC, &config), several.unwrap_or_default()].concat()
        } else {
            let mut config = tcp::Config::new(Role::Server, algorithm, stream);
            mechanisms::apply(TCP, given, &mut config);
            let own = self.rows(algorithm, TCP, &config);
            let mut several = mptcp::Config::new(config);
            mechanisms::apply(MPTCP, given, &mut several);
            let several = self.transport.is_multipath().then(|| self.rows(algorithm, MPTCP, &several));
            [own, several.unwrap_or_default()].concat()
        };
        // TCP's setting of this name stands for two mechanisms, and the model of QUIC has no such switch.
        let offered = |s: &Switch| s.describe().transports.contains(&self.transport);
        let of_stacks = [Switch::StockBuffers, Switch::Haltere, Switch::NullCipher, Switch::RawEstimate];
        let switches = Switch::ALL.into_iter().filter(offered).filter(|s| !of_stacks.contains(s));
        found.extend(switches.map(|s| Setting {
            name: s.describe().name.to_string(),
            value: if self.has(s) { "on" } else { "off" }.into(),
            fixed: None,
        }));
        let of_scheduler = self.scheduler().into_iter().flat_map(|one| one.0.parameters.iter().zip(one.0.values));
        let parameters = algorithm.0.parameters.iter().zip(algorithm.0.values);
        found.extend(parameters.chain(of_scheduler).map(|(parameter, value)| Setting {
            name: parameter.name.to_string(),
            value: value.to_string(),
            fixed: None,
        }));
        found
    }

    fn rows<C>(&self, algorithm: Algorithm, table: &[Mechanism<C>], config: &C) -> Vec<Setting> {
        let row = |mechanism: &Mechanism<C>| {
            let facts = mechanism.facts;
            let value = self.resolved(algorithm, facts.name, mechanism.get(config));
            let fixed = self.transport.unfit(algorithm, facts.name, value);
            Setting { name: facts.name.to_string(), value: facts.show(value), fixed }
        };
        table.iter().map(row).collect()
    }

    /// The value that a mechanism has where the congestion control or another mechanism decides.
    fn resolved(&self, algorithm: Algorithm, name: &str, value: Value) -> Value {
        match (name, value) {
            ("hystart", Value::Auto) => match algorithm.slow_start {
                Startup::SlowStart(SlowStart::HyStart) => Value::Word("linux"),
                Startup::SlowStart(SlowStart::HyStartPlusPlus) => Value::Word("rfc9406"),
                Startup::SlowStart(SlowStart::Standard) => Value::Off,
                Startup::OwnExit | Startup::Own => Value::Auto,
            },
            ("pacing", Value::Off) if self.transport != Transport::Quic && self.transport != Transport::Mpquic => {
                Value::from(mechanisms::paces(algorithm))
            }
            _ => value,
        }
    }

    /// The switches that are set, for a production stack.
    #[cfg(any(feature = "stacks", feature = "kernels"))]
    fn given(&self) -> Vec<Setting> {
        self.switched().into_iter().map(|(name, value)| Setting { name, value, fixed: None }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(text: &str) -> Effective {
        Contender::parse(text).unwrap().effective(Fidelity::Model).unwrap()
    }

    fn value(text: &str, name: &str) -> String {
        effective(text).settings.into_iter().find(|s| s.name == name).unwrap().value
    }

    #[test]
    fn defaults_and_what_is_given_stand_side_by_side() {
        assert_eq!(value("tcp/cubic", "initial-window"), "10");
        assert_eq!(value("tcp/cubic+initial-window=20", "initial-window"), "20");
        assert_eq!(value("tcp/cubic+rto=rfc6298", "rto-min"), "1s");
        assert_eq!((value("tcp/cubic", "tfo"), value("tcp/cubic+tfo", "tfo")), ("off".into(), "on".into()));
    }

    #[test]
    fn what_the_congestion_control_decides_is_said() {
        assert_eq!(value("tcp/cubic", "hystart"), "linux");
        assert_eq!(value("quic/newreno", "hystart"), "off");
        assert_eq!(value("tcp/cdg", "hystart"), "auto");
        assert_eq!((value("tcp/cubic", "pacing"), value("tcp/bbr", "pacing")), ("off".into(), "on".into()));
        let of_bbr = effective("tcp/bbr").settings;
        let fixed = |name| of_bbr.iter().find(|s| s.name == name).unwrap().fixed.is_some();
        assert!(fixed("hystart") && fixed("prr") && !fixed("pacing") && !fixed("initial-window"));
    }

    #[test]
    fn every_settled_value_can_be_written() {
        for start in
            ["tcp/cubic", "quic/cubic", "tcp/bbr", "quic/bbr", "tcp/dctcp", "mptcp/lia", "mpquic/olia", "roq/gcc"]
        {
            for setting in effective(start).settings {
                let skipped = setting.fixed.is_some() || setting.value == "auto";
                let off = setting.value == "off";
                if skipped || (off && Switch::ALL.iter().any(|s| s.describe().name == setting.name)) {
                    continue;
                }
                let text = if off {
                    format!("{start}-{}", setting.name)
                } else {
                    format!("{start}+{}={}", setting.name, setting.value)
                };
                let text = if setting.value == "on" { format!("{start}+{}", setting.name) } else { text };
                assert!(Contender::parse(&text).is_ok(), "{text}: {:?}", Contender::parse(&text));
            }
        }
    }

    #[test]
    #[cfg(feature = "stacks")]
    fn a_stack_tells_what_is_set() {
        let found = Contender::parse("quic/cubic+haltere-hystart").unwrap().effective(Fidelity::Stack).unwrap();
        assert!(!found.model);
        let settings: Vec<_> = found.settings.iter().map(|s| (s.name.as_str(), s.value.as_str())).collect();
        assert_eq!(settings, [("haltere", "on"), ("hystart", "off")]);
    }
}
