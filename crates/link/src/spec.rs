//! The specification of an emulation, as data: the JSON that rigs and the command line write.

use haltere_net::Span;
use haltere_net::link::LinkConfig;
use haltere_net::loss::LossModel;
use haltere_net::registry::is_file;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

/// A fault of a specification, or a refusal of the kernel's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EmulatorError {
    /// Where, such as `links[0].ends[1].interface`; empty if it concerns the whole.
    pub path: String,
    /// The problem, and the value that would be right.
    pub message: String,
}

impl EmulatorError {
    /// An error at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> EmulatorError {
        EmulatorError { path: path.into(), message: message.into() }
    }

    /// This error as seen from further out: `outer` is put in front of its path.
    #[must_use]
    pub fn under(mut self, outer: &str) -> EmulatorError {
        self.path = if self.path.is_empty() { outer.to_string() } else { format!("{outer}.{}", self.path) };
        self
    }
}

impl fmt::Display for EmulatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}
impl std::error::Error for EmulatorError {}

/// Some emulated links with their devices.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmulatorSpec {
    /// Names the random losses, as a run's seed does (default 1).
    #[serde(default = "one")]
    pub seed: u64,
    /// The replication, as a run's (default 0).
    #[serde(default)]
    pub replication: u64,
    /// See [`Manner::coalesce`].
    #[serde(default)]
    pub coalesce: bool,
    /// See [`Manner::spin`].
    #[serde(default, rename = "spin_ns")]
    pub spin: Span,
    /// See [`Manner::realtime`].
    #[serde(default)]
    pub realtime: bool,
    /// The links.
    pub links: Vec<LinkSpec>,
}

/// How the emulator works. None of it changes the time at which a packet departs.
#[derive(Clone, Copy, Default, Debug)]
pub struct Manner {
    /// Hand on together what came as one super-packet and is due together, as a NIC's receive offload would. It costs
    /// less CPU, but the receiver then acknowledges super-packets, not packets (default false).
    pub coalesce: bool,
    /// How long before a departure to wake up and poll the clock until it is due. The packet is then late by about a
    /// microsecond, not by the tens that a sleeping processor takes, at the cost of CPU time. It must be 0 in a virtual
    /// machine whose time stands still while a program computes (default 0).
    pub spin: Span,
    /// Run before every ordinary thread (`SCHED_FIFO`), if that is allowed: late wake-ups become rare on a busy machine
    /// (default false).
    pub realtime: bool,
}

/// One emulated link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Its name in results, which also names its random streams.
    pub name: String,
    /// Its two ends; `down` goes from the first to the second.
    pub ends: [EndSpec; 2],
    /// The direction of packets that are read at the first end.
    #[serde(default)]
    pub down: LinkConfig,
    /// The direction of packets that are read at the second end.
    #[serde(default)]
    pub up: LinkConfig,
}

/// A TUN device to be made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndSpec {
    /// The namespace's file, such as `/run/netns/a`; without it that of the calling thread.
    #[serde(default)]
    pub netns: Option<PathBuf>,
    /// The device's name; `%d` in it stands for the first free number.
    pub interface: String,
}

fn one() -> u64 {
    1
}

impl EmulatorSpec {
    /// How it is to work.
    pub fn manner(&self) -> Manner {
        Manner { coalesce: self.coalesce, spin: self.spin, realtime: self.realtime }
    }

    /// Reads a specification and checks all that can be checked without the kernel.
    ///
    /// # Errors
    /// With the field's path.
    pub fn from_json(json: &str) -> Result<EmulatorSpec, EmulatorError> {
        let spec: EmulatorSpec = read(json)?;
        if spec.links.is_empty() {
            return Err(EmulatorError::new("links", "there is no link: give at least one"));
        }
        let mut names = BTreeSet::new();
        for (i, link) in spec.links.iter().enumerate() {
            let path = format!("links[{i}]");
            if !names.insert(link.name.as_str()) {
                let message = format!("a link before it is called {:?} too: give this one another name", link.name);
                return Err(EmulatorError::new(format!("{path}.name"), message));
            }
            for (e, end) in link.ends.iter().enumerate() {
                check_interface(&end.interface)
                    .map_err(|e| e.under("interface"))
                    .map_err(|wrong| wrong.under(&format!("{path}.ends[{e}]")))?;
            }
            for (direction, config) in [("down", &link.down), ("up", &link.up)] {
                check_config(config).map_err(|wrong| wrong.under(&format!("{path}.{direction}")))?;
            }
        }
        Ok(spec)
    }
}

/// Reads JSON; an error has the path of the field.
pub(crate) fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, EmulatorError> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|e| {
        let path = e.path().to_string();
        let text = e.inner().to_string();
        let words = text.rsplit_once(" at line ").map_or(text.as_str(), |(m, _)| m);
        EmulatorError::new(if path == "." { "" } else { &path }, words)
    })
}

fn check_interface(name: &str) -> Result<(), EmulatorError> {
    // dev_valid_name in the kernel's net/core/dev.c.
    let fits = (1..libc::IFNAMSIZ).contains(&name.len()) && name != "." && name != "..";
    if fits && !name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c == '\0') {
        return Ok(());
    }
    let message = format!("{name:?}: give a device's name of 1 to 15 bytes without spaces, slashes and colons");
    Err(EmulatorError::new("", message))
}

/// Refuses values that no link can have.
pub(crate) fn check_config(config: &LinkConfig) -> Result<(), EmulatorError> {
    if !(68..=65_535).contains(&config.mtu) {
        let message = format!("{}: give an MTU from 68 (RFC 791 section 3.2) to 65535 bytes", config.mtu);
        return Err(EmulatorError::new("mtu", message));
    }
    config.check().map_err(|wrong| EmulatorError::new(wrong.field, wrong.message))?;
    for (field, given) in [("tunnel", config.tunnel.is_some()), ("breaker", config.breaker.is_some())] {
        if given {
            return Err(EmulatorError::new(field, "it exists in the simulator alone: leave it out"));
        }
    }
    if is_file(config.queue.discipline().name()) {
        return Err(EmulatorError::new(
            "queue",
            "a discipline of a file runs in the simulator alone: give one that is built in",
        ));
    }
    let mut probabilities = vec![("duplication", config.duplication)];
    match &config.loss {
        LossModel::Uniform { p } => probabilities.push(("loss.p", *p)),
        LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_in_bad, loss_in_good } => probabilities.extend([
            ("loss.good_to_bad", *good_to_bad),
            ("loss.bad_to_good", *bad_to_good),
            ("loss.loss_in_bad", *loss_in_bad),
            ("loss.loss_in_good", *loss_in_good),
        ]),
        LossModel::None | LossModel::Periodic { .. } | LossModel::List { .. } => {}
    }
    match probabilities.iter().find(|(_, p)| !(0.0..=1.0).contains(p)) {
        Some((path, p)) => Err(EmulatorError::new(*path, format!("{p}: give a probability from 0 to 1"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(link: &str) -> String {
        format!(
            r#"{{"links": [{{"name": "l", "ends": [{{"interface": "a"}}, {{"netns": "/x", "interface": "b"}}] {link}}}]}}"#
        )
    }

    #[test]
    fn a_specification_is_read_with_its_defaults() {
        let read =
            EmulatorSpec::from_json(&spec(r#", "down": {"rate_bps": 1000, "loss": {"model": "uniform", "p": 0.1}}"#));
        let read = read.unwrap();
        assert_eq!((read.seed, read.replication, read.coalesce), (1, 0, false));
        assert_eq!(read.links[0].up, LinkConfig::default());
        assert_eq!(read.links[0].ends[1].netns.as_deref(), Some(std::path::Path::new("/x")));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_path() {
        for (link, path) in [
            (r#", "down": {"mtu": 20}"#, "links[0].down.mtu"),
            (r#", "up": {"duplication": 2.0}"#, "links[0].up.duplication"),
            (r#", "up": {"loss": {"model": "uniform", "p": -0.5}}"#, "links[0].up.loss.p"),
            (r#", "down": {"rate_bps": 0}"#, "links[0].down.rate_bps"),
            (r#", "down": {"queue": 3}"#, "links[0].down.queue"),
            (r#", "down": {"trace_ms": [2, 1]}"#, "links[0].down.trace_ms"),
            (r#", "down": {"trace_ms": [1], "rate_profile": {"at_ns": [0], "value": [9]}}"#, "links[0].down.trace_ms"),
            (r#", "down": {"rate_profile": {"at_ns": [0], "value": [0]}}"#, "links[0].down.rate_profile"),
            (r#", "down": {"delay_profile": {"at_ns": [1], "value": [0]}}"#, "links[0].down.delay_profile"),
            (r#", "up": {"ring": {"packets": 0}}"#, "links[0].up.ring"),
            (r#", "up": {"ring": {"bytes": 1}}"#, "links[0].up.ring.bytes"),
            (r#", "up": {"queue": {"discipline": "fifo"}}"#, "links[0].up.queue"),
            (r#", "up": {"outages": {"periods": [{"from_ns": 2, "to_ns": 1}]}}"#, "links[0].up.outages"),
            (r#", "up": {"tunnel": {"header": 20, "ecn": "normal"}}"#, "links[0].up.tunnel"),
            (
                r#", "down": {"breaker": {"loss": 0.1, "interval_ns": 1000000000, "intervals": 3, "reset_ns": null}}"#,
                "links[0].down.breaker",
            ),
            (r#", "side": {}"#, "links[0].side"),
        ] {
            assert_eq!(EmulatorSpec::from_json(&spec(link)).unwrap_err().path, path, "{link}");
        }
        let long = spec("").replace("\"a\"", "\"a name that is too long\"");
        assert_eq!(EmulatorSpec::from_json(&long).unwrap_err().path, "links[0].ends[0].interface");
        assert_eq!(EmulatorSpec::from_json(r#"{"links": []}"#).unwrap_err().path, "links");
        assert!(EmulatorSpec::from_json("{").is_err());
    }
}
