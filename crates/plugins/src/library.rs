//! Shared libraries.
#![allow(unsafe_code, reason = "a library is loaded, and its table is read")]

use crate::{abi, calls};
use haltere_net::queue;
use haltere_transport::{cc, scheduler};
use libloading::Library;
use std::path::Path;

/// The name of the function that a library with a congestion control exports.
const ENTRY: &str = "haltere_plugin_of";
/// The name of the function that one with a path scheduler exports.
const SCHEDULER: &str = "haltere_scheduler_of";
/// The name of the function that one with a queue discipline exports.
const QUEUE: &str = "haltere_queue_discipline_of";

/// The congestion control of a shared library under this name. The library stays loaded. `shown` is its name in messages.
///
/// # Errors
///
/// If it cannot be loaded, is no library of this interface or version, or holds no congestion control. The error says what to do.
pub fn load(shown: &'static str, name: &'static str, file: &Path) -> Result<&'static cc::Implementation, String> {
    let plugin = table::<abi::Plugin>(shown, file, ENTRY, "congestion control")?;
    if plugin.abi != abi::HALTERE_ABI {
        return Err(other_version(shown, &format!("version {}", plugin.abi)));
    }
    if plugin.size != size_of::<abi::Plugin>() {
        return Err(other_version(shown, &format!("a table of {} bytes", plugin.size)));
    }
    // SAFETY: what is not NULL points to a table that stays.
    let table = unsafe { plugin.congestion_control.as_ref() }
        .ok_or_else(|| format!("{shown} holds no congestion control: set congestion_control in its haltere_plugin"))?;
    calls::from_table(shown, name, table).map_err(|wrong| format!("{shown}: {wrong}"))
}

/// The path scheduler of a shared library under this name. The library stays loaded. `shown` is its name in messages.
///
/// # Errors
///
/// If it cannot be loaded, is no library of this interface or version, or holds no path scheduler. The error says what to do.
pub fn load_scheduler(
    shown: &'static str,
    name: &'static str,
    file: &Path,
) -> Result<&'static scheduler::Implementation, String> {
    let table = table::<abi::Scheduler>(shown, file, SCHEDULER, "path scheduler")?;
    crate::scheduler::from_table(shown, name, table).map_err(|wrong| format!("{shown}: {wrong}"))
}

/// The queue discipline of a shared library under this name. The library stays loaded. `shown` is its name in messages.
///
/// # Errors
///
/// If it cannot be loaded, is no library of this interface or version, or holds no queue discipline. The error says what to do.
pub fn load_queue(
    shown: &'static str,
    name: &'static str,
    file: &Path,
) -> Result<&'static queue::Implementation, String> {
    let table = table::<abi::QueueDiscipline>(shown, file, QUEUE, "queue discipline")?;
    crate::queue_calls::from_table(shown, name, table).map_err(|wrong| format!("{shown}: {wrong}"))
}

/// The table that a library's function of this name returns. The function is given the version of the interface, and returns NULL if the
/// library has another one. `what` is what the library is to hold.
fn table<T: 'static>(shown: &str, file: &Path, function: &str, what: &str) -> Result<&'static T, String> {
    // SAFETY: loading runs what the library runs when it is loaded; its user asked for it.
    let library = unsafe { Library::new(file) }.map_err(|wrong| format!("{shown} cannot be loaded: {wrong}"))?;
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: a library that exports this name has a function of this type, by the interface.
    let entry = unsafe { library.get::<unsafe extern "C" fn(abi: u32) -> *const T>(function) }
        .map_err(|_| format!("{shown} exports no function {function}: see haltere.h for what a {what} needs"))?;
    // SAFETY: as above.
    let table = unsafe { entry(abi::HALTERE_ABI) };
    // SAFETY: what is not NULL points to a table that stays. The first fields of a table are those of every version.
    unsafe { table.as_ref() }.ok_or_else(|| other_version(shown, "another version"))
}

fn other_version(shown: &str, has: &str) -> String {
    format!(
        "{shown} was built for {has} of the interface, and this haltere has version {}: build it again with the haltere.h of this \
         haltere (haltere new --congestion-control mine.c writes it)",
        abi::HALTERE_ABI
    )
}
