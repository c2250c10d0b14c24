//! The fidelities of the simulator, and how each runs a contender.

use crate::contender::{Contender, Switch, Transport};
#[cfg(feature = "stacks")]
use haltere_net::Ecn;
#[cfg(feature = "stacks")]
use haltere_net::registry::Registry;
#[cfg(feature = "kernels")]
use haltere_net::registry::is_file;
use haltere_net::registry::shown;
#[cfg(feature = "stacks")]
use haltere_stacks::Stack;
use haltere_transport::cc::Algorithm;
#[cfg(feature = "stacks")]
use haltere_transport::cc::{self, RenoFriendly};
#[cfg(feature = "stacks")]
use haltere_transport::mechanisms::Value;
#[cfg(feature = "stacks")]
use haltere_transport::roq;
use haltere_transport::rtp::control::Control;

haltere_net::named! {
    /// How closely a run in virtual time follows deployed software.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    pub enum Fidelity {
        /// Our own transports.
        #[default]
        Model = "model",
        /// QUIC runs on production stacks, and `tcp@linux` and programs on Linux kernels in virtual time. All else, above all TCP without
        /// an implementation, runs in the model.
        Stack = "stack",
    }
}

/// The implementation that runs a contender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Our own transport.
    Model(Algorithm),
    /// Our own transport of a call.
    Media(Control),
    /// A production stack.
    #[cfg(feature = "stacks")]
    Stack {
        /// The stack.
        stack: haltere_stacks::Stack,
        /// Its congestion control.
        congestion: haltere_stacks::Congestion,
        /// Its packet protection.
        cipher: haltere_stacks::Cipher,
        /// Its flow-control windows.
        windows: haltere_stacks::Windows,
        /// Which of several paths a packet takes; the stack's default, if none is named.
        scheduler: Option<&'static str>,
    },
    /// TCP of a Linux kernel.
    #[cfg(feature = "kernels")]
    Kernel {
        /// Its congestion control; `None` if it is a file's.
        congestion: Option<&'static str>,
    },
    /// Programs on Linux kernels.
    #[cfg(feature = "kernels")]
    Program,
}

impl Subject {
    /// Whether Linux kernels are meant, with programs or without.
    pub fn is_on_kernels(self) -> bool {
        #[cfg(feature = "kernels")]
        return matches!(self, Subject::Kernel { .. } | Subject::Program);
        #[cfg(not(feature = "kernels"))]
        false
    }

    /// Whether programs on Linux kernels are meant.
    pub fn is_program(self) -> bool {
        #[cfg(feature = "kernels")]
        return matches!(self, Subject::Program);
        #[cfg(not(feature = "kernels"))]
        false
    }
}

impl Contender {
    /// The implementation that runs the contender at a fidelity.
    ///
    /// # Errors
    ///
    /// If the contender cannot run there. The error says what would be right.
    pub fn at(&self, fidelity: Fidelity) -> Result<Subject, String> {
        let implementation = self.implementation.as_deref();
        match (self.transport, fidelity, implementation) {
            (Transport::Rtp, Fidelity::Stack, Some(name)) if name != "model" => self.in_media_stack(name),
            (Transport::Roq, Fidelity::Stack, Some(name)) if name != "model" => self.over_quic_stack(name),
            (Transport::Rtp | Transport::Roq, ..) => self.in_media_model(),
            (Transport::Quic, Fidelity::Stack, Some(name)) if name != "model" && !is_stack(name) => self.by_program(),
            (Transport::Quic | Transport::Mpquic, Fidelity::Stack, name) if name != Some("model") => {
                self.in_stack(name)
            }
            (Transport::Tcp | Transport::Mptcp, Fidelity::Stack, Some("linux")) => self.on_kernel(),
            (Transport::Tcp | Transport::Mptcp, Fidelity::Stack, Some(name)) if name != "model" => self.by_program(),
            (Transport::Quic | Transport::Mpquic, Fidelity::Model, Some(name)) if is_stack(name) => {
                let (transport, _) = self.transport.describe();
                let program =
                    if self.transport == Transport::Quic { " (or \"linux\", where it runs as a program)" } else { "" };
                Err(format!(
                    "{name} is a production stack: choose fidelity \"stack\"{program}, or write \"{transport}/{}\" for the \
                     model",
                    shown(&self.congestion)
                ))
            }
            _ => self.in_model(),
        }
    }

    fn in_media_model(&self) -> Result<Subject, String> {
        let control = self.modelled_media()?;
        if let Some(wrong) = self.switches.first() {
            let real = if self.transport == Transport::Roq { "roq@quinn/gcc" } else { "rtp@str0m/gcc" };
            return Err(format!(
                "the switch {:?} is for production stacks, and this is the model: leave it out, or write {real} at fidelity \"stack\"",
                wrong.describe().name
            ));
        }
        Ok(Subject::Media(control))
    }

    fn in_model(&self) -> Result<Subject, String> {
        let algorithm = self.modelled()?;
        let of_stacks = [Switch::Haltere, Switch::NullCipher, Switch::StockBuffers];
        let wrong = of_stacks.into_iter().find(|s| self.transport.is_quic() && self.has(*s));
        wrong.map_or(Ok(Subject::Model(algorithm)), |switch| {
            Err(format!(
                "the switch {:?} is for production stacks, and this is the model: leave it out, or choose fidelity \"stack\"",
                switch.describe().name
            ))
        })
    }

    #[cfg(not(feature = "kernels"))]
    fn on_kernel(&self) -> Result<Subject, String> {
        Err("Linux kernels were left out of this build: build with the feature \"kernels\", or write tcp/…".into())
    }

    /// Linux's name of the congestion control; `None` if that is a file's, which becomes a module.
    #[cfg(feature = "kernels")]
    fn of_linux(&self) -> Result<Option<&'static str>, String> {
        use haltere_kernel::CONGESTION;
        use haltere_net::nearest::meant;
        // Some have other names in the kernel: newreno is reno there.
        let ours = self.algorithm().ok().and_then(|algorithm| algorithm.linux);
        let name = ours.unwrap_or(self.congestion.as_str());
        if is_file(name) {
            return Ok(None);
        }
        CONGESTION.into_iter().find(|known| *known == name).map(Some).ok_or_else(|| {
            format!(
                "Linux has no congestion control {:?}: {}there are {}",
                shown(name),
                meant(name, CONGESTION),
                CONGESTION.join(", ")
            )
        })
    }

    /// The TCP of a Linux kernel, with all that the kernel does by itself.
    #[cfg(feature = "kernels")]
    fn on_kernel(&self) -> Result<Subject, String> {
        let congestion = self.of_linux()?;
        self.in_linux()?;
        if self.transport.is_multipath() && self.mechanisms.iter().any(|(name, _)| *name == "pacing") {
            return Err(
                "sockets of MPTCP have no option for pacing: leave it out, or write mptcp/… for the model".into()
            );
        }
        haltere_kernel::ready().map_err(|e| e.to_string())?;
        Ok(Subject::Kernel { congestion })
    }

    #[cfg(not(feature = "kernels"))]
    fn by_program(&self) -> Result<Subject, String> {
        Err("programs were left out of this build: build with the feature \"kernels\", or write tcp/… or quic/…".into())
    }

    /// A program on a kernel. Which there are, and whether there is a kernel, is asked where they are started
    /// (`python/haltere/rig/nodes.py`).
    #[cfg(feature = "kernels")]
    fn by_program(&self) -> Result<Subject, String> {
        let (transport, _) = self.transport.describe();
        let mut switched = self.switched().into_keys().filter(|name| name != "stockbuffers");
        if self.transport.is_quic() {
            return switched.next().map_or(Ok(Subject::Program), |wrong| {
                Err(format!(
                    "a QUIC program has mechanisms of its own, which {wrong:?} does not reach: leave it out, or write \
                     {transport}/… for a production stack or the model"
                ))
            });
        }
        self.of_linux()?;
        self.in_linux()?;
        if let Some(wrong) = switched.find(|name| ["pacing", "delack"].contains(&name.as_str())) {
            return Err(of_sockets(&wrong, transport));
        }
        Ok(Subject::Program)
    }

    #[cfg(not(feature = "stacks"))]
    fn in_media_stack(&self, name: &str) -> Result<Subject, String> {
        let ours = &self.congestion;
        Err(format!("{name} was left out of this build: build with the feature \"stacks\", or write rtp/{ours}"))
    }

    /// A call on a production stack, which is as the stack has it.
    #[cfg(feature = "stacks")]
    fn in_media_stack(&self, name: &str) -> Result<Subject, String> {
        use haltere_stacks::{Cipher, Congestion, Protocol, Windows};
        let stack = of_protocol(Protocol::Rtp).find(|stack| stack.name() == name).ok_or_else(|| {
            let known: Vec<&str> = of_protocol(Protocol::Rtp).map(Stack::name).collect();
            let meant = haltere_net::nearest::meant(name, known.iter().copied());
            format!(
                "no stack {name:?} carries calls in virtual time: {meant}there are model, {}; programs do at fidelity \"linux\"",
                known.join(", ")
            )
        })?;
        let congestion = stack.congestion(&self.congestion).map_err(|e| e.to_string())?;
        stack.ready().map_err(|e| e.to_string())?;
        let (cipher, windows) = (Cipher::default(), Windows::default());
        Ok(Subject::Stack { stack, congestion: Congestion::Own(congestion), cipher, windows, scheduler: None })
    }

    #[cfg(not(feature = "stacks"))]
    fn over_quic_stack(&self, name: &str) -> Result<Subject, String> {
        let ours = &self.congestion;
        Err(format!("{name} was left out of this build: build with the feature \"stacks\", or write roq/{ours}"))
    }

    /// A call over the QUIC of a production stack.
    #[cfg(feature = "stacks")]
    fn over_quic_stack(&self, name: &str) -> Result<Subject, String> {
        use haltere_stacks::{Cipher, Protocol, Windows};
        let all = || of_protocol(Protocol::Quic).filter(|stack| stack.calls);
        let stack = all().find(|stack| stack.name() == name).ok_or_else(|| {
            let known: Vec<&str> = all().map(Stack::name).collect();
            let meant = haltere_net::nearest::meant(name, known.iter().copied());
            format!(
                "no QUIC stack {name:?} carries calls in virtual time: {meant}there are model, {}",
                known.join(", ")
            )
        })?;
        let control = self.media_control()?;
        if control.ecn == Ecn::Ect1 {
            return Err(format!(
                "{name} marks its packets ECT(0), and {} asks for L4S by ECT(1): write roq/{}, or another congestion control",
                self.congestion, self.congestion
            ));
        }
        let congestion = self.below_media(stack)?;
        let cipher = if self.has(Switch::NullCipher) { Cipher::Null } else { Cipher::Tls };
        stack.ready().map_err(|e| e.to_string())?;
        Ok(Subject::Stack { stack, congestion, cipher, windows: Windows::default(), scheduler: None })
    }

    /// The congestion control of a stack's QUIC, below that of media.
    #[cfg(feature = "stacks")]
    fn below_media(&self, stack: Stack) -> Result<haltere_stacks::Congestion, String> {
        use haltere_stacks::Congestion;
        let ours = |algorithm| Congestion::Ours(algorithm, None, RenoFriendly::default());
        // The name of the default is that of the table of mechanisms.
        let inner = match self.mechanism("quic") {
            Some(Value::Word(inner)) => inner,
            _ => cc::NEWRENO.name(),
        };
        match Algorithm::named(inner) {
            None if self.has(Switch::Haltere) => {
                Err("+quic=none is ours in any case: leave +haltere out, or name an algorithm".into())
            }
            None => Ok(ours(roq::UNLIMITED)),
            Some(algorithm) if self.has(Switch::Haltere) => match haltere_stacks::lacks(algorithm) {
                None => Ok(ours(algorithm)),
                Some(lacking) => Err(format!(
                    "{} does not tell a congestion control {lacking}, which {inner} needs: write roq/{}+quic={inner}",
                    stack.name(),
                    self.congestion
                )),
            },
            Some(_) => stack.congestion(inner).map(Congestion::Own).map_err(|e| e.to_string()),
        }
    }

    #[cfg(not(feature = "stacks"))]
    fn in_stack(&self, name: Option<&str>) -> Result<Subject, String> {
        let name = name.unwrap_or("every production stack");
        Err(format!("{name} was left out of this build: build with the feature \"stacks\", or write quic@model/…"))
    }

    #[cfg(feature = "stacks")]
    fn in_stack(&self, name: Option<&str>) -> Result<Subject, String> {
        use haltere_net::nearest::meant;
        use haltere_stacks::{Cipher, Congestion, NOQ, Protocol, QUINN, Windows};
        let stack = match (name, self.transport) {
            (None, Transport::Mpquic) => NOQ,
            (None, _) => QUINN,
            (Some(name), _) => of_protocol(Protocol::Quic).find(|stack| stack.name() == name).ok_or_else(|| {
                let known: Vec<&str> = of_protocol(Protocol::Quic).map(Stack::name).collect();
                let meant = meant(name, known.iter().copied());
                format!("there is no QUIC stack {name:?} in virtual time: {meant}there are model, {}", known.join(", "))
            })?,
        };
        let name = stack.name();
        let scheduler = self.scheduler_of(stack)?;
        let congestion = if self.has(Switch::Haltere) {
            let ours = self.algorithm()?;
            if let Some(lacking) = haltere_stacks::lacks(ours) {
                return Err(format!(
                    "{name} does not tell a congestion control {lacking}, which {} needs: write quic@model/{}",
                    self.congestion, self.congestion
                ));
            }
            Congestion::Ours(ours, self.slow_start(), self.reno_friendly())
        } else {
            Congestion::Own(stack.congestion(&self.congestion).map_err(|e| e.to_string())?)
        };
        let known = |s: &Switch| match s {
            Switch::Haltere | Switch::NullCipher | Switch::Resumed | Switch::ZeroRtt => stack.inside,
            Switch::Retry | Switch::VersionNegotiation => stack.inside,
            Switch::StockBuffers => true,
            Switch::Tls12 | Switch::FalseStart | Switch::FastOpen | Switch::EarlyData | Switch::RawEstimate => false,
        };
        if let Some(wrong) = self.switches.iter().find(|s| !known(s)) {
            let wrong = wrong.describe().name;
            return Err(format!("{name} has no switch {wrong:?}: leave it out, or write quic@model/…"));
        }
        let ours = |mechanism: &str| match mechanism {
            "hystart" | "reno-friendly" => self.has(Switch::Haltere),
            // `scheduler_of` has seen to it.
            "scheduler" => true,
            _ => false,
        };
        if let Some((wrong, _)) = self.mechanisms.iter().find(|(mechanism, _)| !ours(mechanism)) {
            let remedy = if ["hystart", "reno-friendly"].contains(wrong) {
                "its own congestion control cannot be switched: add +haltere for ours, or leave it out"
            } else {
                "a production stack has mechanisms of its own: leave it out, or write quic@model/…"
            };
            return Err(format!("{name} has no switch {wrong:?}: {remedy}"));
        }
        let cipher = if self.has(Switch::NullCipher) { Cipher::Null } else { Cipher::Tls };
        let windows = if self.has(Switch::StockBuffers) { Windows::Stock } else { Windows::Wide };
        stack.ready().map_err(|e| e.to_string())?;
        Ok(Subject::Stack { stack, congestion, cipher, windows, scheduler })
    }
}

/// The production stacks of a protocol, also those that were added from outside.
#[cfg(feature = "stacks")]
fn of_protocol(protocol: haltere_stacks::Protocol) -> impl Iterator<Item = haltere_stacks::Stack> {
    let all: Vec<_> = Registry::<haltere_stacks::Implementation>::default().iter().collect();
    all.into_iter().filter(move |stack| stack.protocol == protocol)
}

/// Whether a production stack of this build has this name.
#[cfg(feature = "stacks")]
fn is_stack(name: &str) -> bool {
    haltere_stacks::Stack::named(name).is_some()
}

/// Whether a production stack of this build has this name: there are none.
#[cfg(not(feature = "stacks"))]
fn is_stack(_: &str) -> bool {
    false
}

#[cfg(feature = "stacks")]
impl Contender {
    /// The scheduler of several paths in a stack. Not every stack has what the contender wants.
    fn scheduler_of(&self, stack: haltere_stacks::Stack) -> Result<Option<&'static str>, String> {
        let (name, schedulers) = (stack.name(), stack.schedulers);
        if self.transport != Transport::Mpquic {
            return Ok(None);
        }
        if schedulers.is_empty() {
            return Err(format!("{name} has one path: write mpquic@noq/… or mpquic@model/…"));
        }
        match self.mechanism("scheduler") {
            Some(Value::Scheduler(wanted)) if schedulers.contains(&wanted.name()) => Ok(Some(wanted.name())),
            Some(Value::Scheduler(wanted)) => Err(format!(
                "{name} has no scheduler {:?} and takes none from outside: there are: {}; or write mpquic@model/…",
                shown(wanted.name()),
                schedulers.join(", ")
            )),
            _ => Ok(None),
        }
    }
}

/// Why a program has no switch that is an option of sockets.
pub(crate) fn of_sockets(switch: &str, transport: &str) -> String {
    format!(
        "{switch:?} is an option of sockets, which a program sets as it does: leave it out, or write {transport}@linux/… for a bare \
         transfer"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(not(feature = "stacks"))]
    use haltere_transport::cc;

    fn at(text: &str, fidelity: Fidelity) -> Result<Subject, String> {
        Contender::parse(text).and_then(|c| c.at(fidelity))
    }

    #[test]
    fn a_production_stack_is_no_model() {
        let said = at("quic@quinn/cubic", Fidelity::Model).unwrap_err();
        let remedy = if cfg!(feature = "stacks") { "fidelity \"stack\"" } else { "quic/cubic" };
        assert!(said.contains(remedy), "{said}");
        let said = at("quic/cubic+nullcipher", Fidelity::Model).unwrap_err();
        assert!(said.contains("\"nullcipher\" is for production stacks"), "{said}");
        assert_eq!(at("tcp/cubic", Fidelity::Stack), Ok(Subject::Model(cc::CUBIC)));
        assert_eq!(at("quic@model/bbr", Fidelity::Stack), Ok(Subject::Model(cc::BBR)));
    }

    #[test]
    #[cfg(feature = "stacks")]
    fn a_contender_without_implementation_is_quinn_among_stacks() {
        use haltere_stacks::{Congestion, NOQ};
        let stack = |text| match at(text, Fidelity::Stack) {
            Ok(Subject::Stack { stack, congestion, .. }) => (stack, congestion),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(stack("quic/cubic"), stack("quic@quinn/cubic"));
        assert_eq!(stack("quic@noq/newreno").0, NOQ);
        assert_eq!(stack("quic@noq/bbr+haltere").1, Congestion::Ours(cc::BBR, None, RenoFriendly::default()));
        assert_eq!(stack("mpquic/cubic"), stack("quic@noq/cubic"));
        assert_eq!(stack("mpquic/cubic+priority"), stack("mpquic@noq/cubic"));
        assert_eq!(stack("mpquic@noq/olia+haltere").1, Congestion::Ours(cc::OLIA, None, RenoFriendly::default()));
    }

    #[test]
    #[cfg(feature = "stacks")]
    fn a_call_runs_on_the_stack_that_it_names_and_otherwise_in_the_model() {
        use haltere_stacks::{Congestion, STR0M};
        let on = at("rtp@str0m/gcc", Fidelity::Stack);
        assert!(
            matches!(on, Ok(Subject::Stack { stack, congestion: Congestion::Own("gcc"), .. }) if stack == STR0M),
            "{on:?}"
        );
        for text in ["rtp/gcc", "rtp@model/gcc"] {
            assert!(matches!(at(text, Fidelity::Stack), Ok(Subject::Media(_))), "{text}");
        }
        for (given, fidelity, hint) in [
            ("rtp@str0m/gcc", Fidelity::Model, "fidelity \"stack\""),
            ("rtp@str0m/nada", Fidelity::Stack, "there are gcc; or write rtp/nada"),
            ("rtp@quinn/gcc", Fidelity::Stack, "there are model, str0m"),
            ("rtp@strom/gcc", Fidelity::Stack, "str0m"),
            ("quic@str0m/cubic", Fidelity::Stack, "there are model, quinn"),
            ("rtp/gcc+rawestimate", Fidelity::Stack, "for production stacks"),
        ] {
            let said = at(given, fidelity).unwrap_err();
            assert!(said.contains(hint), "{given}: {said}");
        }
    }

    #[test]
    #[cfg(feature = "stacks")]
    fn a_call_over_quic_runs_on_the_stack_that_it_names_as_that_allows() {
        use haltere_stacks::{Congestion, NOQ, QUINN};
        let ours = |algorithm| Congestion::Ours(algorithm, None, RenoFriendly::default());
        for (given, wanted, inner) in [
            ("roq@quinn/gcc", QUINN, Congestion::Own("newreno")),
            ("roq@noq/nada+quic=cubic+streams=group", NOQ, Congestion::Own("cubic")),
            ("roq@quinn/scream+quic=none", QUINN, ours(roq::UNLIMITED)),
            ("roq@quinn/gcc+quic=bbr+haltere", QUINN, ours(cc::BBR)),
        ] {
            let on = at(given, Fidelity::Stack);
            let fits =
                matches!(on, Ok(Subject::Stack { stack, congestion, .. }) if (stack, congestion) == (wanted, inner));
            assert!(fits, "{given}: {on:?}");
        }
        for given in ["roq/gcc", "roq@model/gcc"] {
            assert!(matches!(at(given, Fidelity::Stack), Ok(Subject::Media(_))), "{given}");
        }
        for (given, fidelity, hint) in [
            ("roq@quinn/gcc", Fidelity::Model, "fidelity \"stack\""),
            ("roq@quiche/gcc", Fidelity::Stack, "there are model, quinn, noq"),
            ("roq@qiunn/gcc", Fidelity::Stack, "did you mean \"quinn\""),
            ("roq@quinn/cubic", Fidelity::Stack, "gcc"),
            ("roq@quinn/scream_l4s", Fidelity::Stack, "write roq/scream_l4s"),
            ("roq@quinn/gcc+quic=bbr", Fidelity::Stack, "add +haltere"),
            ("roq@quinn/gcc+quic=vegas", Fidelity::Stack, "with +haltere, any of ours"),
            ("roq@quinn/gcc+quic=prague+haltere", Fidelity::Stack, "write roq/gcc+quic=prague"),
            ("roq@quinn/gcc+quic=none+haltere", Fidelity::Stack, "leave +haltere out"),
            ("roq/gcc+nullcipher", Fidelity::Stack, "write roq@quinn/gcc"),
        ] {
            let said = at(given, fidelity).unwrap_err();
            assert!(said.contains(hint), "{given}: {said}");
        }
    }

    #[test]
    #[cfg(all(feature = "stacks", not(feature = "worker")))]
    fn a_stack_in_a_worker_program_needs_one() {
        for (name, remedy) in [("quiche", "`make worker-quiche`"), ("tquic", "`make worker-tquic`")] {
            let said = at(&format!("quic@{name}/cubic"), Fidelity::Stack).unwrap_err();
            assert!(said.contains(remedy), "{said}");
        }
    }

    #[test]
    #[cfg(feature = "kernels")]
    fn what_is_neither_model_nor_stack_is_a_program() {
        for given in ["tcp@nginx+curl/bbr", "quic@ngtcp2/cubic", "quic@lsquic/cubic"] {
            assert_eq!(at(given, Fidelity::Stack), Ok(Subject::Program), "{given}");
        }
        assert_eq!(at("tcp@nginx+curl/cubic+ecn", Fidelity::Stack), Ok(Subject::Program));
        for (given, hint) in [
            ("tcp@nginx+curl/qubic", "cubic"),
            ("tcp@nginx+curl/cubic-delack", "tcp@linux/"),
            ("quic@ngtcp2/cubic+pacing", "leave it out"),
            ("quic@ngtcp2/cubic+initial-window=20", "leave it out"),
        ] {
            let said = at(given, Fidelity::Stack).unwrap_err();
            assert!(said.contains(hint), "{given}: {said}");
        }
        let said = at("tcp@nginx+curl/cubic", Fidelity::Model).unwrap_err();
        assert!(said.contains("\"stack\", \"linux\" or \"testbed\""), "{said}");
    }

    #[test]
    #[cfg(feature = "stacks")]
    fn what_a_stack_lacks_is_named_with_the_remedy() {
        let cases = [
            ("quic@quinn/bbr", "bbr+haltere"),
            ("quic@noq/bbr3", "bbr+haltere"),
            ("quic@quinn/vegas", "cubic and newreno"),
            ("quic@quiche/vegas", "cubic, newreno, bbr2"),
            ("quic@quiche/cubic+nullcipher", "leave it out"),
            ("quic@quiche/cubic+haltere", "leave it out"),
            ("quic@quinn/cubic+hystart", "add +haltere"),
            ("quic@quinn/cubic+nodelack", "leave it out"),
            ("quic@quinn/cubic+initial-window=20", "mechanisms of its own"),
            ("quic@noq/cubic+haltere-pacing", "mechanisms of its own"),
            ("quic@quinn/qubic+haltere", "newreno, cubic"),
            ("quic@noq/dctcp+haltere", "quic@model/dctcp"),
            ("quic@quinn/lp+haltere", "quic@model/lp"),
            ("mpquic@quinn/cubic", "mpquic@noq/"),
            ("mpquic@quiche/cubic", "mpquic@noq/"),
            ("mpquic@tquic/cubic+ecf", "lowest-rtt, round-robin, redundant"),
            ("quic@tquic/newreno", "cubic, bbr, bbr3, copa"),
            ("mpquic@noq/cubic+ecf", "there are: priority"),
            ("mpquic@noq/cubic+initial-window=20", "mechanisms of its own"),
        ];
        for (given, hint) in cases {
            let said = at(given, Fidelity::Stack).unwrap_err();
            assert!(said.contains(hint), "{given}: {said}");
        }
    }
}
