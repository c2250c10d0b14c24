//! The programs of a flow: plain data.

use crate::control::{Launch, Protocol};
use serde::{Deserialize, Serialize};

/// Where programs see the folder that they share with the host.
pub const HOME: &str = "/run/haltere";
/// The programs of a flow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// The folder of the host's that is [`HOME`] inside.
    pub folder: String,
    /// The server, unless there is none.
    pub server: Option<Server>,
    /// The client.
    pub client: Launch,
    /// The congestion control of the server's kernel, if the server takes that.
    pub congestion: Option<String>,
}

/// A server.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// How it is started.
    pub launch: Launch,
    /// The port that is open when clients may come.
    pub ready: Option<(Protocol, u16)>,
}
