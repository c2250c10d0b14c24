//! Production stacks as the ends of a flow, and the state they keep from an earlier connection.

use crate::contender::Contender;
#[cfg(feature = "stacks")]
use crate::contender::{Switch, Transport};
use crate::fidelity::Subject;
use haltere_net::Time;
use haltere_net::rng::Stream;
#[cfg(feature = "stacks")]
use haltere_transport::Role;

/// A production stack's entry in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its name in contenders, such as `quic@quinn`.
    pub name: String,
    /// A description.
    pub summary: &'static str,
    /// The version that was built in.
    pub version: &'static str,
    /// Its own congestion controls.
    pub congestion: &'static [&'static str],
    /// The schedulers of its multipath QUIC, the default first; empty if it has one path.
    pub schedulers: &'static [&'static str],
    /// The congestion controls that are refused, each with the reason.
    pub refused: &'static [(&'static str, &'static str)],
}

/// The stacks of this build that can run on this machine.
pub fn catalogue() -> Vec<Entry> {
    #[cfg(not(feature = "stacks"))]
    return Vec::new();
    #[cfg(feature = "stacks")]
    haltere_stacks::Stack::ALL
        .iter()
        .filter(|stack| stack.ready().is_ok())
        .map(|stack| Entry {
            name: format!("{}@{}", transport(stack.protocol), stack.name()),
            summary: stack.description.summary,
            version: stack.version,
            congestion: stack.own,
            schedulers: stack.schedulers,
            refused: stack.refused,
        })
        .collect()
}

/// The transport of a stack's protocol, as contenders name it.
#[cfg(feature = "stacks")]
fn transport(protocol: haltere_stacks::Protocol) -> &'static str {
    match protocol {
        haltere_stacks::Protocol::Quic => Transport::Quic.describe().0,
        haltere_stacks::Protocol::Rtp => Transport::Rtp.describe().0,
    }
}

/// The state that the ends of a flow keep from an earlier connection. The model needs none to resume a session.
#[derive(Default)]
pub(crate) struct Past {
    #[cfg(feature = "stacks")]
    memory: Option<haltere_stacks::Memory>,
}

#[cfg(not(feature = "stacks"))]
impl Past {
    pub fn of(_: Subject, _: &Contender, _: u16, _: Time, _: [Stream; 2]) -> Result<Past, String> {
        Ok(Past::default())
    }
}

#[cfg(feature = "stacks")]
impl Past {
    /// The earlier state for a flow that begins at `start`. If its contender resumes a session, the ends have met
    /// before. `streams` are the random streams of the client and the server for that.
    pub fn of(
        subject: Subject,
        contender: &Contender,
        max_udp_payload: u16,
        start: Time,
        streams: [Stream; 2],
    ) -> Result<Past, String> {
        use haltere_transport::quic::Session;
        let mut past = Past::default();
        if matches!(subject, Subject::Stack { .. }) && contender.session() != Session::New {
            let config = past.config(subject, contender, Role::Client, max_udp_payload)?;
            past.memory = Some(haltere_stacks::earlier_connection(&config, streams, start).map_err(|e| e.to_string())?);
        }
        Ok(past)
    }

    /// How one end of a flow that runs on a stack is configured.
    fn config(
        &self,
        subject: Subject,
        contender: &Contender,
        role: Role,
        max_udp_payload: u16,
    ) -> Result<haltere_stacks::Config, String> {
        let Subject::Stack { stack, congestion, cipher, windows, scheduler } = subject else {
            return Err("the model is no production stack".into());
        };
        let mut config = haltere_stacks::Config::new(role, stack, congestion);
        config.cipher = cipher;
        config.windows = windows;
        config.scheduler = scheduler;
        config.max_udp_payload = max_udp_payload;
        config.session = contender.session();
        config.retry = contender.has(Switch::Retry);
        config.unknown_version = contender.has(Switch::VersionNegotiation);
        Ok(config)
    }

    /// One end of a flow that runs on a stack: its configuration, and its handles without a log.
    pub fn end(
        &self,
        subject: Subject,
        contender: &Contender,
        role: Role,
        max_udp_payload: u16,
        stream: Stream,
    ) -> Result<(haltere_stacks::Config, haltere_stacks::Handles), String> {
        let config = self.config(subject, contender, role, max_udp_payload)?;
        let memory = self.memory.clone();
        Ok((config, haltere_stacks::Handles { memory, ..haltere_stacks::Handles::new(stream) }))
    }
}
