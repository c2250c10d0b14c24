//! The programs of a flow, and the module of its congestion control: plain data.

use crate::control::{Launch, Protocol};
use serde::{Deserialize, Serialize};

/// Where programs see the folder that they share with the host.
pub const HOME: &str = "/run/haltere";
/// All that is prepared for a flow outside of the simulator.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// The programs, if programs carry it.
    #[serde(default)]
    pub programs: Option<Programs>,
    /// The module of its congestion control, if that is a file's.
    #[serde(default)]
    pub module: Option<Module>,
}

/// A congestion control as a module of the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// The congestion control's name in the kernel.
    pub name: String,
    /// The module's file, by its path on the host.
    pub path: String,
    /// Values of its parameters, such as `a=1 b=2`.
    pub options: String,
}

/// The programs of a flow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// The folder of the host's that is [`HOME`] inside.
    pub folder: String,
    /// The server, unless there is none.
    pub server: Option<Server>,
    /// The client. With MQTT, the server is the broker and this the publishers.
    pub client: Launch,
    /// With MQTT: the subscriber, on a node of its own.
    #[serde(default)]
    pub subscriber: Option<Launch>,
    /// The congestion control of the server's kernel, if the server takes that.
    pub congestion: Option<String>,
    /// Which way the data travel.
    #[serde(default)]
    pub data: Data,
    /// Whether the client is started before the run and waits by itself until its time comes, so that its own start takes no time of the run.
    #[serde(default)]
    pub early: bool,
}

/// Which way the data of programs travel.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// From the server to the client.
    #[default]
    Down,
    /// From the client to the server.
    Up,
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
