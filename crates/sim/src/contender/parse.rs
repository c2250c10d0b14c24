//! Parses contenders.

use super::bundles::{BUNDLES, Bundle};
use super::file;
use super::switch::{SETTINGS, Switch};
use super::{Contender, Registries, Transport};
use crate::ack::MIN_ACK_DELAY;
use haltere_net::nearest::meant;
use haltere_net::registry::{DIGEST, Description, Entry as _, Maker, Parameter, Registry, is_file, shown};
use haltere_transport::cc::Algorithm;
use haltere_transport::mechanisms::{Facts, Kind, MPQUIC, MPTCP, QUIC, ROQ, TCP, Value};
use haltere_transport::rtp::control;
use haltere_transport::scheduler::{self, PathScheduler, Scheduler};

/// A sign and the text after it, up to the next sign.
struct Word<'a> {
    sign: char,
    name: &'a str,
    value: Option<&'a str>,
}

/// The facts of a transport's mechanisms.
pub(super) fn facts(transport: Transport) -> Box<dyn Iterator<Item = &'static Facts>> {
    match transport {
        Transport::Tcp => Box::new(TCP.iter().map(|m| &m.facts)),
        Transport::Quic => Box::new(QUIC.iter().map(|m| &m.facts)),
        Transport::Mptcp => Box::new(facts(Transport::Tcp).chain(MPTCP.iter().map(|m| &m.facts))),
        Transport::Mpquic => Box::new(facts(Transport::Quic).chain(MPQUIC.iter().map(|m| &m.facts))),
        Transport::Rtp => Box::new(std::iter::empty()),
        Transport::Roq => Box::new(ROQ.iter().map(|m| &m.facts)),
    }
}

/// The mechanism whose values are schedulers.
const SCHEDULER: &str = "scheduler";

/// The word after which a bundle is named.
const AS: &str = "as";

fn fact(transport: Transport, name: &str) -> Option<&'static Facts> {
    facts(transport).find(|f| f.name == name)
}

/// All names that may follow a sign, of all transports.
fn names(registries: &Registries) -> impl Iterator<Item = &'static str> {
    let mechanisms = Transport::ALL.into_iter().flat_map(|t| facts(t).map(|f| f.name));
    let switches = Switch::ALL.into_iter().map(|s| s.describe().name);
    mechanisms
        .chain(switches)
        .chain(SETTINGS.iter().map(|s| s.name))
        .chain(registries.schedulers.iter().map(Scheduler::name))
        .chain([AS])
}

/// The words that `name` takes, in any transport.
fn values(name: &str, registries: &Registries) -> impl Iterator<Item = &'static str> {
    let named = Transport::ALL.into_iter().flat_map(facts).filter(move |f| f.name == name);
    let words = named.filter_map(|f| if let Kind::OneOf(words) = f.kind { Some(words) } else { None });
    let bundles = BUNDLES.iter().filter(move |_| name == AS).map(|bundle| bundle.name);
    let schedulers = registries.schedulers.iter().filter(move |_| name == SCHEDULER).map(Scheduler::name);
    words.flatten().copied().chain(bundles).chain(schedulers)
}

/// Splits the text after the congestion control, whose parameters a file of a scheduler may add to.
fn words<'a>(rest: &'a str, model: Option<Algorithm>, registries: &Registries) -> Result<Vec<Word<'a>>, String> {
    let parameters = model.map_or(&[][..], |model| model.0.parameters);
    let first = split(rest, &[parameters], registries)?;
    let file =
        first.iter().filter(|word| word.name == SCHEDULER).find_map(|word| word.value.filter(|name| is_file(name)));
    let scheduler = file.and_then(|file| registries.schedulers.find(file));
    match scheduler.map_or(&[][..], |scheduler| scheduler.0.parameters) {
        [] => Ok(first),
        more => split(rest, &[parameters, more], registries),
    }
}

/// Splits the text. Names and words may contain a hyphen; the longest that is known is taken. Values of parameters are numbers.
fn split<'a>(
    mut rest: &'a str,
    parameters: &[&'static [Parameter]],
    registries: &Registries,
) -> Result<Vec<Word<'a>>, String> {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['+', '-', '=']);
    let mut words = Vec::new();
    while let Some(sign) = rest.chars().next() {
        let body = &rest[1..];
        let names = names(registries).chain(parameters.iter().copied().flatten().map(|parameter| parameter.name));
        let known = names.filter(|n| body.strip_prefix(n).is_some_and(ends)).map(str::len).max();
        let end = known.or_else(|| body.find(['+', '-', '='])).unwrap_or(body.len());
        let (name, behind) = body.split_at(end);
        let (value, next) = match behind.strip_prefix('=') {
            None => (None, behind),
            Some(behind) if name == SCHEDULER && is_file(behind) => {
                let (value, next) = behind.split_at(file::length(behind)?.unwrap_or(behind.len()));
                (Some(value), next)
            }
            Some(behind) => {
                let known =
                    values(name, registries).filter(|v| behind.strip_prefix(v).is_some_and(ends)).map(str::len).max();
                // The names of bundles have hyphens, also those that are not known.
                let signs: &[char] = if name == AS { &['+'] } else { &['+', '-'] };
                let number = Some(file::number(behind)).filter(|end| *end > 0 && ends(&behind[*end..]));
                let end = known.or(number).or_else(|| behind.find(signs)).unwrap_or(behind.len());
                let (value, next) = behind.split_at(end);
                (Some(value), next)
            }
        };
        words.push(Word { sign, name, value });
        rest = next;
    }
    Ok(words)
}

pub(super) fn contender(given: &str, registries: &Registries) -> Result<Contender, String> {
    read(given, registries)
        .map_err(|message| message.replacen(&format!("{given:?}"), &format!("{:?}", shown(given)), 1))
}

fn read(text: &str, registries: &Registries) -> Result<Contender, String> {
    let Some((transport, rest)) = text.split_once('/') else {
        return Err(format!("{text:?} is not a contender: write transport/congestion, as in \"tcp/cubic\""));
    };
    let (name, implementation) = transport.split_once('@').map_or((transport, None), |(t, i)| (t, Some(i)));
    let transport = Transport::ALL.into_iter().find(|t| t.describe().0 == name).ok_or_else(|| {
        let known = Transport::ALL.map(|t| t.describe().0);
        let meant = meant(name, known);
        format!("{text:?} names the unknown transport {name:?}: {meant}there are {}", known.join(", "))
    })?;
    let well_formed = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+_.".contains(&b))
    };
    if let Some(wrong) = implementation.filter(|i| !well_formed(i)) {
        return Err(format!(
            "{text:?} names the implementation {wrong:?}: write small letters and digits, as in \"{name}@linux/…\""
        ));
    }
    let file = file::length(rest).map_err(|message| format!("{text:?} {message}"))?;
    let (congestion, rest) = rest.split_at(congestion_end(rest, file));
    if file.is_none() && !well_formed(congestion) {
        let known = registries.congestion.names();
        return Err(format!(
            "{text:?} names no congestion control: the model has {known}, or write a file as in \"{name}/./mine.py\""
        ));
    }
    let (model, media) = if transport.is_media() {
        let name = congestion;
        if file.is_some() {
            return Err(format!(
                "{text:?} names a file, and congestion controls of calls come from none: write {}/gcc",
                transport.describe().0
            ));
        }
        (None, Registry::<control::Implementation>::default().find(name))
    } else if file.is_some() && congestion.contains(DIGEST) {
        (Some(registries.congestion.named(congestion)?), None)
    } else {
        (registries.congestion.find(congestion), None)
    };
    let mut contender = Contender {
        text: text.to_string(),
        transport,
        implementation: implementation.map(str::to_string),
        congestion: congestion.to_string(),
        model,
        media,
        switches: Vec::new(),
        mechanisms: Vec::new(),
        parameters: Vec::new(),
    };
    let words = words(rest, model, registries).map_err(|message| format!("{text:?} {message}"))?;
    let (bundles, words): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word.name == AS);
    // A file of a scheduler comes first, as others may be its parameters.
    let (files, words): (Vec<_>, Vec<_>) =
        words.into_iter().partition(|word| word.name == SCHEDULER && word.value.is_some_and(is_file));
    for word in files.into_iter().chain(words) {
        contender.take(&word, registries).map_err(|message| format!("{text:?} {message}"))?;
    }
    contender.be(&bundles).map_err(|message| format!("{text:?} {message}"))?;
    contender.tune().map_err(|message| format!("{text:?} {message}"))?;
    contender.check().map_err(|message| format!("{text:?} {message}"))?;
    Ok(contender)
}

/// Where the congestion control ends at the start of a text; `file` is the length of its file's name, if it is one.
fn congestion_end(text: &str, file: Option<usize>) -> usize {
    file.or_else(|| text.find(['-', '+'])).unwrap_or(text.len())
}

impl Contender {
    /// The contender with a switch, written as `+initial-window=40`, in the place of its own of this name.
    ///
    /// # Errors
    /// If it cannot have the switch.
    pub fn with(&self, name: &str, switch: &str) -> Result<Contender, String> {
        let behind = self.text.find('/').map_or(0, |slash| slash + 1);
        let own = &self.text[behind..];
        let end = behind + congestion_end(own, file::length(own)?);
        let (head, rest) = self.text.split_at(end);
        let registries = &Registries::default();
        let words = words(rest, self.model, registries)?;
        let others = words.into_iter().filter(|word| word.name != name).map(|Word { sign, name, value }| {
            value.map_or_else(|| format!("{sign}{name}"), |value| format!("{sign}{name}={value}"))
        });
        contender(&format!("{head}{}{switch}", others.collect::<String>()), registries)
    }

    /// Sets what a bundle sets and the contender does not, as far as its congestion control heeds it.
    fn be(&mut self, bundles: &[Word<'_>]) -> Result<(), String> {
        let own = self.transport.describe().0;
        let known = || match join(BUNDLES.iter().filter(|b| b.transport == self.transport).map(|b| b.name)) {
            none if none.is_empty() => format!("there are none for {own}"),
            names => format!("{own} knows {names}"),
        };
        let word = match bundles {
            [] => return Ok(()),
            [word] => word,
            [..] => return Err(format!("names several bundles: write one +{AS}=…, and switches for what differs")),
        };
        let Some(name) = word.value.filter(|_| word.sign == '+') else {
            return Err(format!("names no bundle: write +{AS}=NAME; {}", known()));
        };
        let bundle = Bundle::named(name).ok_or_else(|| {
            let own = BUNDLES.iter().filter(|bundle| bundle.transport == self.transport);
            let meant = meant(name, own.map(|bundle| bundle.name));
            format!("has the unknown bundle {name:?}: {meant}{}", known())
        })?;
        if bundle.transport != self.transport {
            return Err(format!(
                "has the bundle {name:?}, which is for {}: {}",
                bundle.transport.describe().0,
                known()
            ));
        }
        for part in bundle.sets {
            let unfit = |a| self.transport.unfit(a, part.name, part.value).is_some();
            if self.mechanism(part.name).is_none() && !self.model.is_some_and(unfit) {
                self.mechanisms.push((part.name, part.value));
            }
        }
        Ok(())
    }

    fn take(&mut self, word: &Word<'_>, registries: &Registries) -> Result<(), String> {
        let Word { sign, name, value } = *word;
        // A parameter may be called like a switch, as hystart of Linux's CUBIC.
        if self.declares(name) {
            return self.parameter(sign, name, value);
        }
        if is_file(name) {
            let file = shown(name);
            return Err(format!(
                "names the file {file:?} without its use: write +{SCHEDULER}={file} for a path scheduler"
            ));
        }
        let scheduler = match (name, value) {
            (SCHEDULER, Some(file)) if is_file(file) => Some(of_file(file, registries)?),
            (SCHEDULER, Some(name)) => registries.schedulers.find(name),
            (name, None) => registries.schedulers.find(name),
            _ => None,
        };
        if let (Some(scheduler), true, '+') = (scheduler, self.transport.is_multipath(), sign) {
            return self.set(SCHEDULER, Value::Scheduler(scheduler));
        }
        if let Some(facts) = fact(self.transport, name) {
            let value = facts.value(sign, value).map_err(|e| format!("has a wrong switch: {e}"))?;
            return self.set(facts.name, value);
        }
        let switch = Switch::ALL.into_iter().find(|s| s.describe().name == name);
        let switch = switch.filter(|s| s.describe().transports.contains(&self.transport));
        let setting = SETTINGS.iter().find(|s| s.name == name && s.transports.contains(&self.transport));
        if switch.is_none() && setting.is_none() {
            if (self.model.is_none() && is_file(&self.congestion)) || self.unloaded().is_some() {
                // Its code is not known yet.
                return self.parameter(sign, name, value);
            }
            return Err(self.unknown(name, registries));
        }
        if let Some(value) = value {
            return Err(format!("gives {name:?} the value {value:?}, but that is on or off: write +{name}"));
        }
        if sign == '-' && !setting.is_some_and(|s| s.is_negative()) {
            // The former meaning of a hyphen, before it came to mean "off".
            let instead = match setting.map(|s| s.sets) {
                Some([(mechanism, Value::On)]) => format!(", or -{mechanism} for off"),
                _ => ", or leave it out for off".into(),
            };
            return Err(format!("has -{name}, but a hyphen switches off: write +{name}{instead}"));
        }
        for (mechanism, value) in setting.into_iter().flat_map(|s| s.sets) {
            self.set(mechanism, *value)?;
        }
        self.switches.extend(switch.filter(|s| !self.has(*s)));
        Ok(())
    }

    /// Sets a mechanism. It is an error if the mechanism was set to something else before, or if the congestion control
    /// ignores it.
    fn set(&mut self, name: &'static str, value: Value) -> Result<(), String> {
        let reason = self.model.and_then(|a| self.transport.unfit(a, name, value));
        if let Some(reason) = reason {
            return Err(format!("has the switch {name:?}, but {} {reason}: leave it out", shown(&self.congestion)));
        }
        match self.mechanism(name) {
            None => self.mechanisms.push((name, value)),
            Some(before) if before == value => {}
            Some(before) => {
                let show = |v| fact(self.transport, name).map_or_else(String::new, |f| shown(&f.show(v)));
                return Err(format!("sets {name} to {} and to {}: leave one out", show(before), show(value)));
            }
        }
        Ok(())
    }

    /// Whether its congestion control, or its scheduler, has a parameter of this name.
    fn declares(&self, name: &str) -> bool {
        let of_scheduler = self.scheduler().map_or(&[][..], |scheduler| scheduler.0.parameters);
        self.model.is_some_and(|model| has(model.0.parameters, name)) || has(of_scheduler, name)
    }

    fn parameter(&mut self, sign: char, name: &str, value: Option<&str>) -> Result<(), String> {
        let number =
            value.and_then(|value| value.parse::<f64>().ok()).filter(|number| number.is_finite() && sign == '+');
        let Some(number) = number else {
            return Err(format!("gives the parameter {name:?} no number: write +{name}=1.5"));
        };
        if let Some((_, before)) = self.parameters.iter().find(|(own, _)| own == name) {
            return Err(format!("sets {name} to {before} and to {number}: leave one out"));
        }
        self.parameters.push((name.to_string(), number));
        Ok(())
    }

    /// Gives its congestion control and its scheduler the values of their parameters.
    fn tune(&mut self) -> Result<(), String> {
        let given: Vec<(&str, f64)> = self.parameters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let scheduler = self.scheduler();
        let of_scheduler = scheduler.map_or(&[][..], |scheduler| scheduler.0.parameters);
        let (theirs, own): (Vec<_>, Vec<_>) = given.into_iter().partition(|(name, _)| has(of_scheduler, name));
        if let Some(model) = self.model {
            if let Some((name, _)) = theirs.iter().find(|(name, _)| has(model.0.parameters, name)) {
                let files = [self.congestion.as_str(), scheduler.map_or("", Scheduler::name)].map(shown).join(" and ");
                return Err(format!("sets {name}, which {files} both have: give it another name in one of them"));
            }
            // Other parameters are of a scheduler whose code is not known yet.
            let own: Vec<_> = own.into_iter().filter(|(name, _)| has(model.0.parameters, name)).collect();
            self.model = Some(if own.is_empty() { model } else { model.0.tuned(&own)? });
        }
        if let Some(scheduler) = scheduler.filter(|_| !theirs.is_empty()) {
            let tuned = scheduler.0.tuned(&theirs)?;
            self.mechanisms.iter_mut().filter(|(name, _)| *name == SCHEDULER).for_each(|(_, value)| {
                *value = Value::Scheduler(tuned);
            });
        }
        Ok(())
    }

    fn unknown(&self, name: &str, registries: &Registries) -> String {
        let own = self.transport.describe().0;
        let elsewhere = Transport::ALL.into_iter().find_map(|t| fact(t, name).and_then(|f| Some((t, f.only?))));
        if let Some((other, reason)) = elsewhere {
            return format!("has the switch {name:?}, which is for {}: {reason}", other.describe().0);
        }
        let applies = |s: &Switch| s.describe().transports.contains(&self.transport);
        let switches = Switch::ALL.into_iter().filter(applies).map(|s| s.describe().name);
        let mechanisms = facts(self.transport).map(|f| f.name);
        let settings = SETTINGS.iter().filter(|s| s.transports.contains(&self.transport)).map(|s| s.name);
        let schedulers = registries.schedulers.iter().map(Scheduler::name).filter(|_| self.transport.is_multipath());
        let of_scheduler = self.scheduler().map_or(&[][..], |scheduler| scheduler.0.parameters);
        let parameters = self.model.map_or(&[][..], |model| model.0.parameters).iter().chain(of_scheduler);
        let parameters = parameters.map(|parameter| parameter.name);
        let known = parameters.chain(mechanisms).chain(switches);
        let known = known.chain(settings.filter(|s| *s != "stockbuffers")).chain(schedulers);
        let known: Vec<_> = known.collect();
        let meant = meant(name, known.iter().copied());
        format!("has the unknown switch {name:?}: {meant}{own} knows {}", known.join(", "))
    }

    /// Refuses combinations of switches that contradict each other.
    fn check(&self) -> Result<(), String> {
        let old = [Switch::Tls12, Switch::FalseStart].into_iter().find(|one| self.has(*one));
        if let Some(old) = old.filter(|_| self.has(Switch::EarlyData)) {
            let old = old.describe().name;
            return Err(format!("asks for early data, which TLS 1.2 has not: leave {old} or earlydata out"));
        }
        let both = |a, b| Some((self.mechanism(a)?, self.mechanism(b)?));
        if both("packet-threshold", "time-threshold") == Some((Value::Off, Value::Off)) {
            return Err("switches off both thresholds by which losses are found: leave one of them on".into());
        }
        if let Some((Value::Off, _)) = both("delack", "ack-every") {
            return Err(
                "switches delack off, which acknowledges every packet, and sets ack-every: leave one out".into()
            );
        }
        if self.transport == Transport::Mptcp && self.mechanism("optimistic-acks").is_some_and(Value::is_on) {
            return Err(
                "acknowledges what was lost, with which its place in the data of MPTCP is lost: take tcp, or leave \
                        optimistic-acks out"
                    .into(),
            );
        }
        let of_sack = ["rack", "tlp", "dsack", "sack-blocks", "sack-compression", "sack-compression-acks"];
        let set = of_sack.into_iter().find(|name| self.mechanism(name).is_some_and(Value::is_on));
        if let (Some(Value::Off), Some(name)) = (self.mechanism("sack"), set) {
            return Err(format!("switches sack off, without which {name} does nothing: leave one of them out"));
        }
        if let Some((Value::Off, Value::Number(_))) = both("hurried-acks", "quick-acks") {
            return Err("switches hurried-acks off, which are those that quick-acks counts: leave one out".into());
        }
        if let Some((Value::On, Value::Time(delay))) = both("ack-frequency", "ack-delay")
            && delay < MIN_ACK_DELAY
        {
            return Err(format!("sets ack-delay to {delay}, and ack-frequency needs at least {MIN_ACK_DELAY}"));
        }
        if let (Some(initial), Some(most)) = (self.number("receive-window"), self.number("max-receive-window"))
            && initial > most
        {
            return Err(format!(
                "sets receive-window to {initial}B, which is more than its max-receive-window: {most}B"
            ));
        }
        Ok(())
    }

    fn number(&self, name: &str) -> Option<u64> {
        if let Some(Value::Number(n)) = self.mechanism(name) { Some(n) } else { None }
    }
}

fn has(parameters: &[Parameter], name: &str) -> bool {
    parameters.iter().any(|parameter| parameter.name == name)
}

/// The scheduler of a file. One without a digest need not be known: results are read where its code is not.
fn of_file(file: &str, registries: &Registries) -> Result<Scheduler, String> {
    if file.contains(DIGEST) {
        return registries.schedulers.named(file);
    }
    registries.schedulers.find(file).map_or_else(|| unknown(file), Ok)
}

/// Stands for a scheduler whose code is not known. A run with it fails.
fn unknown(file: &str) -> Result<Scheduler, String> {
    scheduler::Implementation::shelf().find_or(file, || {
        let name: &'static str = file.to_string().leak();
        let build = move |config: scheduler::Config| -> Box<dyn PathScheduler> {
            let said = format!("{name}: its code is not known: name it in a scenario");
            config.faults.into_iter().for_each(|faults| faults.raise(said.clone()));
            scheduler::LOWEST_RTT.build(config.stream, None)
        };
        let description = Description { name, summary: "", reference: "" };
        Ok(Box::leak(Box::new(scheduler::Implementation {
            description,
            parameters: &[],
            values: &[],
            build: Maker::Loaded(Box::leak(Box::new(build))),
        })))
    })
}

pub(super) fn join(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
