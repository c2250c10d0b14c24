//! The stacks: each has a module, and a line here with the feature that it is called after.

use crate::protocol::Setup;
use crate::stack::Stack;

/// Declares the stacks: feature, module and type of each, which has `new(&Setup)`.
macro_rules! stacks {
    ($($feature:literal: $module:ident::$stack:ident,)*) => {
        $(#[cfg(feature = $feature)] mod $module;)*

        /// The names of the stacks that this program was built with.
        pub fn names() -> Vec<String> {
            let names: &[&str] = &[$(#[cfg(feature = $feature)] $feature,)*];
            names.iter().map(ToString::to_string).collect()
        }

        /// One end of a connection.
        ///
        /// # Errors
        /// A sentence about the setup, if it cannot be had.
        pub fn make(setup: &Setup) -> Result<Box<dyn Stack>, String> {
            match setup.stack.as_str() {
                $(#[cfg(feature = $feature)] $feature => Ok(Box::new($module::$stack::new(setup)?)),)*
                other => Err(format!(
                    "this worker program was built without {other:?}: build it with the feature of that name"
                )),
            }
        }
    };
}

stacks! {
    "quiche": quiche::Quiche,
    "tquic": tquic::Tquic,
}

#[cfg(all(feature = "quiche", feature = "tquic"))]
compile_error!("quiche and tquic bring a BoringSSL each, under the same names: build one program for each");
