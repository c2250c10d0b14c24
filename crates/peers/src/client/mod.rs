//! The client: fetches objects over one connection and reports when each part arrived.

mod quic;
mod tcp;

use crate::args::{Client, Mode};
use crate::report::{self, Fetched};
use crate::{Error, clock, tls};
use std::cell::RefCell;
use std::rc::Rc;

/// The transfer's report, to which all tasks of one thread add.
type Seen = Rc<RefCell<Fetched>>;

/// Fetches and reports; the report is written even if the transfer fails.
pub async fn run(client: &Client) -> Result<(), Error> {
    let tls = tls::client(client.common.mode, &client.ca)?;
    let seen: Seen = Rc::new(RefCell::new(Fetched::at(clock::now())));
    let local = tokio::task::LocalSet::new();
    let fetched = match client.common.mode {
        Mode::Tcp => local.run_until(tcp::fetch(client, tls, &seen)).await,
        Mode::Quic => local.run_until(quic::fetch(client, tls, &seen)).await,
    };
    let fetched = fetched.and_then(|()| complete(client, &seen.borrow()));
    seen.borrow_mut().error = fetched.as_ref().err().map(ToString::to_string);
    let written = report::write(&*seen.borrow(), client.out.as_deref());
    fetched.and(written)
}

/// Where requests go to.
fn uri(client: &Client) -> String {
    format!("https://{}:{}/{}", client.name, client.connect.port(), client.size)
}

fn complete(client: &Client, seen: &Fetched) -> Result<(), Error> {
    let wanted = client.size.saturating_mul(client.parallel.into());
    match seen.status {
        Some(200) if seen.bytes == wanted => Ok(()),
        Some(200) => Err(Error::new(client.connect, format!("sent {} of {wanted} bytes", seen.bytes))),
        Some(status) => Err(Error::new(client.connect, format!("answered with status {status}"))),
        None => Err(Error::new(client.connect, "did not answer")),
    }
}
