//! MQTT 3.1.1 and 5: a client and a broker as state machines.
//!
//! Bytes and the time go in; bytes and the next time to be called come out. Nothing here knows a transport, a clock or the
//! simulator. Normative statements are cited by their number in the OASIS standards, `[MQTT-x.y.z-n]`: those of MQTT 5.0
//! (OASIS Standard, 7 March 2019) if nothing else is said, with those of 3.1.1 (29 October 2014) where the two differ.
//!
//! | module | holds |
//! |---|---|
//! | [`packet`] | the control packets, the same types for both versions |
//! | [`codec`] | packets as bytes; the crate `mqtt-proto` encodes and decodes their bodies |
//! | [`topic`] | topic names and filters, and the tree of subscriptions |
//! | [`delivery`] | the acknowledged exchanges of QoS 1 and 2, the same for client and broker |
//! | [`channel`] | a network connection: its streams, topic aliases, and the bytes that wait for it |
//! | [`client`] | a client |
//! | [`broker`] | a broker |
//! | [`bridge`] | a connection between two brokers |

pub mod bridge;
pub mod broker;
pub mod channel;
pub mod client;
pub mod codec;
pub mod delivery;
mod lean;
pub mod packet;
pub mod topic;

pub use bridge::{Bridge, BridgeTopic, Direction};
pub use broker::{Broker, BrokerConfig, Connection, Forward};
pub use channel::{Lane, Output, Streams};
pub use client::{Client, ClientConfig};
pub use delivery::{DropPolicy, Limit};
pub use packet::{Message, QoS, Version};
