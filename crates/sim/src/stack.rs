//! Production stacks as the ends of a flow, and what they remember of an earlier connection.

use crate::contender::Contender;
#[cfg(feature = "stacks")]
use crate::contender::Switch;
use crate::fidelity::Subject;
use haltere_net::Time;
use haltere_net::rng::Stream;
#[cfg(feature = "stacks")]
use haltere_transport::Role;

/// A production stack as a list names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// How contenders call it, such as `quic@quinn`.
    pub name: String,
    /// What it is.
    pub summary: &'static str,
    /// The version that was built in.
    pub version: &'static str,
    /// Its own congestion controls.
    pub congestion: Vec<&'static str>,
    /// Those that are refused, each with the reason.
    pub refused: &'static [(&'static str, &'static str)],
}

/// The stacks of this build, as far as they can run here.
pub fn catalogue() -> Vec<Entry> {
    #[cfg(not(feature = "stacks"))]
    return Vec::new();
    #[cfg(feature = "stacks")]
    haltere_stacks::Stack::ALL
        .into_iter()
        .chain(haltere_stacks::Stack::WORKERS.into_iter().filter(|stack| haltere_stacks::ready(*stack).is_ok()))
        .map(|stack| Entry {
            name: format!("quic@{}", stack.describe().0),
            summary: stack.describe().1,
            version: stack.version(),
            congestion: stack.own().iter().map(|own| own.name()).collect(),
            refused: stack.refused(),
        })
        .collect()
}

/// What the ends of a flow remember of an earlier connection. The model needs none to resume a session.
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
    /// The past of a flow that begins at `start`: if its contender takes up a session, the ends have met before. `dice` are
    /// the client's and the server's for that.
    pub fn of(
        subject: Subject,
        contender: &Contender,
        max_udp_payload: u16,
        start: Time,
        dice: [Stream; 2],
    ) -> Result<Past, String> {
        use haltere_transport::quic::Session;
        let mut past = Past::default();
        if matches!(subject, Subject::Stack { .. }) && contender.session() != Session::New {
            let config = past.config(subject, contender, Role::Client, max_udp_payload)?;
            past.memory = Some(haltere_stacks::earlier_connection(&config, dice, start).map_err(|e| e.to_string())?);
        }
        Ok(past)
    }

    /// How one end of a flow is configured whose subject is a stack.
    fn config(
        &self,
        subject: Subject,
        contender: &Contender,
        role: Role,
        max_udp_payload: u16,
    ) -> Result<haltere_stacks::Config, String> {
        let Subject::Stack { stack, congestion, cipher, windows } = subject else {
            return Err("the model is no production stack".into());
        };
        let mut config = haltere_stacks::Config::new(role, stack, congestion);
        config.cipher = cipher;
        config.windows = windows;
        config.max_udp_payload = max_udp_payload;
        config.session = contender.session();
        config.retry = contender.has(Switch::Retry);
        config.unknown_version = contender.has(Switch::VersionNegotiation);
        Ok(config)
    }

    /// One end of a flow whose subject is a stack: its configuration, and its handles without a log.
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
