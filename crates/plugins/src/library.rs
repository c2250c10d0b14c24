//! Shared libraries.
#![allow(unsafe_code, reason = "a library is loaded, and its table is read")]

use crate::abi;
use crate::calls::from_table;
use haltere_transport::cc;
use libloading::Library;
use std::path::Path;

/// The name of the function that a library exports.
pub const ENTRY: &str = "haltere_plugin_of";

/// That function: it is given the version of the interface, and returns what the library holds, or NULL if it has another version.
pub type Entry = unsafe extern "C" fn(abi: u32) -> *const abi::Plugin;

/// The congestion control of a shared library under this name. The library stays loaded. `shown` is its name in messages.
///
/// # Errors
///
/// If it cannot be loaded, is no library of this interface or version, or holds no congestion control. The error says what to do.
pub fn load(shown: &'static str, name: &'static str, file: &Path) -> Result<&'static cc::Implementation, String> {
    // SAFETY: loading runs what the library runs when it is loaded; its user asked for it.
    let library = unsafe { Library::new(file) }.map_err(|wrong| format!("{shown} cannot be loaded: {wrong}"))?;
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: a library that exports this name has a function of this type, by the interface.
    let entry = unsafe { library.get::<Entry>(ENTRY) }
        .map_err(|_| format!("{shown} exports no function {ENTRY}: see haltere.h for what a library needs"))?;
    // SAFETY: as above.
    let plugin = unsafe { entry(abi::HALTERE_ABI) };
    // SAFETY: what is not NULL points to a table that stays. The two first fields are those of every version.
    let plugin = unsafe { plugin.as_ref() }.ok_or_else(|| other_version(shown, "another version"))?;
    if plugin.abi != abi::HALTERE_ABI {
        return Err(other_version(shown, &format!("version {}", plugin.abi)));
    }
    if plugin.size != size_of::<abi::Plugin>() {
        return Err(other_version(shown, &format!("a table of {} bytes", plugin.size)));
    }
    // SAFETY: as above.
    let table = unsafe { plugin.congestion_control.as_ref() }
        .ok_or_else(|| format!("{shown} holds no congestion control: set congestion_control in its haltere_plugin"))?;
    from_table(shown, name, table).map_err(|wrong| format!("{shown}: {wrong}"))
}

fn other_version(shown: &str, has: &str) -> String {
    format!(
        "{shown} was built for {has} of the interface, and this haltere has version {}: build it again with the haltere.h of this \
         haltere (haltere new --congestion-control mine.c writes it)",
        abi::HALTERE_ABI
    )
}
