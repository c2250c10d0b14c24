//! The stacks: each has a file, a name and a line in [`make`].

#[cfg(feature = "quiche")]
mod quiche;
#[cfg(feature = "tquic")]
mod tquic;

#[cfg(all(feature = "quiche", feature = "tquic"))]
compile_error!("quiche and tquic bring a BoringSSL each, under the same names: build one program for each");

use crate::protocol::Setup;
use crate::stack::Stack;

/// The names of the stacks that this program was built with.
pub fn names() -> Vec<String> {
    let names: &[&str] = &[
        #[cfg(feature = "quiche")]
        "quiche",
        #[cfg(feature = "tquic")]
        "tquic",
    ];
    names.iter().map(ToString::to_string).collect()
}

/// One end of a connection.
///
/// # Errors
/// What is wrong with the setup.
pub fn make(setup: &Setup) -> Result<Box<dyn Stack>, String> {
    match setup.stack.as_str() {
        #[cfg(feature = "quiche")]
        "quiche" => Ok(Box::new(quiche::Quiche::new(setup)?)),
        #[cfg(feature = "tquic")]
        "tquic" => Ok(Box::new(tquic::Tquic::new(setup)?)),
        other => {
            Err(format!("this worker program was built without {other:?}: build it with the feature of that name"))
        }
    }
}
