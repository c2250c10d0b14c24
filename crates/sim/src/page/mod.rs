//! Pages: many objects, over HTTP/1.1, HTTP/2 or HTTP/3. Some objects are requested only after others are complete.
//!
//! | file | holds |
//! |---|---|
//! | this one | the page as a scenario has it |
//! | `agenda` | which object is to be asked for when |
//! | `transcript` | what the bytes of a stream mean: they are counted, not carried |
//! | `browser` | the client: what is asked for on which stream |
//! | `origin` | the server: what is answered in which order |

mod agenda;
mod browser;
mod origin;
mod transcript;

pub use browser::Browser;
pub use origin::Origin;
pub use transcript::Transcript;

use crate::http::Framing;
use crate::scenario::{Quantity, ScenarioError};
use crate::tls::Flights;
use haltere_net::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// The largest number of objects in a page; real pages have fewer.
const MOST_OBJECTS: usize = 10_000;
/// The largest object, bytes. A page is not an unlimited flow.
const LARGEST: u64 = 1 << 50;

/// A page.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Its objects. An object may only depend on earlier ones.
    pub objects: Vec<PageObject>,
}

/// An object of a page.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageObject {
    /// Bytes of the response's body.
    pub size: Quantity<Bytes>,
    /// Bytes of the request's header (default: 400B over HTTP/1.1, 60B compressed over HTTP/2 and HTTP/3).
    pub request: Option<Quantity<Bytes>>,
    /// The objects, counted from 0, that must be complete before it is requested (default none).
    #[serde(default)]
    pub after: Vec<u32>,
    /// The time between the last of them, or the start, and the request (default 0s).
    pub delay: Option<Quantity<Span>>,
}

impl Page {
    /// Bytes of all objects.
    pub fn total(&self) -> u64 {
        self.objects.iter().map(|o| o.size.0.0).sum()
    }

    /// Checks whether the page can be loaded; `path` is the path of the field.
    pub(crate) fn check(&self, path: &str) -> Result<(), ScenarioError> {
        let error = |path: String, message: String| Err(ScenarioError { path, message });
        if self.objects.is_empty() || self.objects.len() > MOST_OBJECTS {
            let count = self.objects.len();
            return error(format!("{path}.objects"), format!("{count} objects: give from 1 to {MOST_OBJECTS}"));
        }
        for (i, object) in self.objects.iter().enumerate() {
            let place = format!("{path}.objects[{i}]");
            let sizes = [("size", Some(object.size)), ("request", object.request)];
            let large = sizes.into_iter().find(|(_, s)| s.is_some_and(|s| s.0.0 > LARGEST / MOST_OBJECTS as u64));
            if let Some((field, _)) = large {
                return error(format!("{place}.{field}"), "larger than 100 GB: give fewer bytes".into());
            }
            if let Some(later) = object.after.iter().find(|&&a| a as usize >= i) {
                let message = format!("{later} is not before object {i}: name objects that stand before it");
                return error(format!("{place}.after"), message);
            }
        }
        Ok(())
    }
}

/// The data that both ends of a page's flow share.
#[derive(Clone)]
pub struct Visit {
    /// The page.
    pub page: Arc<Page>,
    /// The HTTP version.
    pub framing: Framing,
    /// The flights of TLS over TCP that come before.
    pub flights: Flights,
    /// The meaning of the client's bytes.
    pub up: Transcript,
    /// The meaning of the server's bytes.
    pub down: Transcript,
}

impl Visit {
    /// A page's flow at its start.
    pub fn new(page: &Page, framing: Framing, flights: Flights) -> Visit {
        let (up, down) = Default::default();
        Visit { page: Arc::new(page.clone()), framing, flights, up, down }
    }
}
