//! The adapter of quinn and of noq, which descends from quinn: their interfaces are the same but for the types.
//!
//! This module is compiled twice, as `quinn::adapter` and as `noq::adapter`. `super::proto` is the crate that it is
//! compiled against, `super::differences` holds types and functions that differ. Where methods of a trait have other
//! arguments, the macros `packet_key_arguments` and `controller_differences` of the module above say which.

mod connection;
mod control;
mod counting;
mod null_crypto;
mod setup;

use super::{differences, proto};
pub(crate) use setup::endpoint;
use std::sync::Arc;

/// The factory of a congestion controller.
type Factory = Arc<dyn proto::congestion::ControllerFactory + Send + Sync>;
