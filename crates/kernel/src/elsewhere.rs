//! Systems that are not Linux have no kernels: whoever asks for one is told so.

use crate::end::End;
use crate::error::Error;
use crate::programs::Programs;
use haltere_net::Span;
use haltere_transport::Endpoint;

fn refusal() -> Error {
    Error::Missing("kernels as nodes need Linux: run this on a Linux machine, or write tcp/… for the model".into())
}

/// Whether there is a kernel that can be a node: there is none.
///
/// # Errors
/// Always.
pub fn ready() -> Result<(), Error> {
    Err(refusal())
}

/// The time of a kernel's own clock, when the run begins: there is none.
pub fn epoch(_: Span) -> Span {
    Span::ZERO
}

/// The kernels of a run: there are none.
#[derive(Clone, Default, Debug)]
pub struct Kernels(());

impl Kernels {
    /// One end of a connection.
    ///
    /// # Errors
    /// Always.
    pub fn end(&self, _: End) -> Result<Box<dyn Endpoint>, Error> {
        Err(refusal())
    }

    /// One end of a flow whose ends are programs.
    ///
    /// # Errors
    /// Always.
    pub fn program(&self, _: End, _: &Programs) -> Result<Box<dyn Endpoint>, Error> {
        Err(refusal())
    }

    /// Starts a server that several ends on a node share.
    ///
    /// # Errors
    /// Always.
    pub fn serve(&self, _: u32, _: &Programs) -> Result<(), Error> {
        Err(refusal())
    }
}
