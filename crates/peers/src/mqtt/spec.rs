//! The specification of MQTT clients, as whoever runs them writes it.

use crate::Error;
use haltere_mqtt::client::Batch;
use haltere_mqtt::{ClientConfig, QoS, Version};
use haltere_net::Span;
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The clients of a flow in one process. Times are in ns from `epoch_ns`, which is a reading of `CLOCK_MONOTONIC`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub epoch_ns: u64,
    /// When the clients end at the latest.
    pub end_ns: u64,
    /// Publishers' connections, unless they are another process.
    pub publish: Option<Route>,
    /// The subscriber's, unless it is another process.
    pub deliver: Option<Route>,
    /// The file by which publishers tell a subscriber in another process when the last message was published.
    pub published: PathBuf,
    /// Certificate that is trusted, PEM, and the broker's name in its certificate.
    pub ca: PathBuf,
    pub name: String,
    /// `5` or `3.1.1`.
    pub version: String,
    pub qos: u8,
    pub base: String,
    pub topics: u32,
    pub subscriber: String,
    pub filter: String,
    pub keep_alive_s: u16,
    pub receive_maximum: u16,
    pub window: u16,
    pub topic_alias_maximum: u16,
    pub clean: bool,
    pub eager: bool,
    pub batch: Option<Gathered>,
    pub reconnect_ns: u64,
    pub wait_ns: u64,
    pub publishers: Vec<Schedule>,
}

/// The transport that carries the bytes of MQTT.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// The kernel's TCP.
    Tcp,
    /// TLS 1.3 over it.
    Tls,
    /// A stream of QUIC.
    Quic,
}

/// Where a client stands, and how it gets to the broker.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Path of the network namespace; the caller's if absent.
    pub netns: Option<String>,
    pub own: IpAddr,
    pub broker: SocketAddr,
    pub carrier: Carrier,
    pub congestion: Option<String>,
    /// Whether TCP keeps Nagle's algorithm.
    pub nagle: bool,
}

/// Messages that are sent together.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gathered {
    pub messages: usize,
    pub delay_ns: u64,
}

/// When a publisher connects, and how long after its first CONNACK (with `eager`: after that) its messages come, with their
/// payloads, bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    pub start_ns: u64,
    pub messages: Vec<(u64, u64)>,
}

impl Spec {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Spec, Error> {
        let text = std::fs::read_to_string(file).map_err(|e| Error::new(file.display(), e))?;
        let spec: Spec = serde_json::from_str(&text).map_err(|e| Error::new(file.display(), e))?;
        if spec.publish.is_none() && spec.deliver.is_none() {
            return Err(Error::new(
                file.display(),
                "neither publishers nor a subscriber: give publish, deliver or both",
            ));
        }
        if QoS::of(spec.qos).is_none() {
            return Err(Error::new(file.display(), format!("qos {}: give 0, 1 or 2", spec.qos)));
        }
        if !["5", "3.1.1"].contains(&spec.version.as_str()) {
            return Err(Error::new(file.display(), format!("version {:?}: give 5 or 3.1.1", spec.version)));
        }
        Ok(spec)
    }

    /// The quality of service.
    pub fn qos(&self) -> QoS {
        QoS::of(self.qos).unwrap_or_default()
    }

    /// The topics of a publisher, in turn.
    pub fn topics(&self, publisher: usize) -> Vec<Arc<str>> {
        let own = format!("{}/{publisher}", self.base);
        match self.topics {
            0 | 1 => vec![own.into()],
            several => (0..several).map(|k| format!("{own}/{k}").into()).collect(),
        }
    }

    /// How a publisher behaves.
    pub fn publisher(&self, publisher: usize) -> ClientConfig {
        ClientConfig {
            client_id: format!("{}/{publisher}", self.base).into(),
            clean: self.clean,
            session_expiry: if self.clean { 0 } else { u32::MAX },
            eager: self.eager,
            batch: self.batch.map(|batch| Batch { messages: batch.messages, delay: Span::from_nanos(batch.delay_ns) }),
            ..self.client()
        }
    }

    /// How the subscriber behaves.
    pub fn subscriber(&self) -> ClientConfig {
        ClientConfig {
            client_id: self.subscriber.as_str().into(),
            clean: false,
            session_expiry: u32::MAX,
            receive_maximum: self.receive_maximum,
            topic_alias_maximum: self.topic_alias_maximum,
            ..self.client()
        }
    }

    fn client(&self) -> ClientConfig {
        ClientConfig {
            version: if self.version == "5" { Version::V5 } else { Version::V311 },
            keep_alive: self.keep_alive_s,
            window: self.window,
            ..ClientConfig::new("")
        }
    }
}
