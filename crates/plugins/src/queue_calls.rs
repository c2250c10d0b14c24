//! A queue discipline behind the functions of the C interface.
#![allow(unsafe_code, reason = "the functions are those of a library")]

use crate::abi;
use crate::declared::{description, failure, fits, parameters, random};
use crate::queue::{Asked, Decides, Setup, Told, implementation};
use haltere_net::queue::Implementation;
use haltere_net::rng::Stream;
use std::ffi::c_void;

/// A discipline of a library.
struct Library {
    table: &'static abi::QueueDiscipline,
    state: *mut c_void,
    /// In a box, so that its address stays.
    #[expect(dead_code, reason = "the library draws from it by its address")]
    dice: Box<Stream>,
}

// SAFETY: the interface says that a discipline may be called by any thread, by one at a time, and it is owned by one.
unsafe impl Send for Library {}

// SAFETY: the interface says that tables do not change.
unsafe impl Send for abi::QueueDiscipline {}
// SAFETY: as above.
unsafe impl Sync for abi::QueueDiscipline {}

impl Library {
    fn new(table: &'static abi::QueueDiscipline, setup: Setup) -> Result<Library, String> {
        let mut dice = Box::new(setup.stream);
        let form = abi::QueueConfig {
            rate: setup.rate,
            rtt: setup.rtt,
            mtu: setup.mtu,
            parameters: setup.values.as_ptr(),
            parameter_count: setup.values.len(),
            random: Some(random),
            dice: std::ptr::from_mut(&mut *dice).cast(),
        };
        // SAFETY: the pointers are valid during the call, and the function is as the interface says.
        let state = table.create.map_or(std::ptr::null_mut(), |create| unsafe { create(&raw const form) });
        if state.is_null() { Err("it returned NULL".into()) } else { Ok(Library { table, state, dice }) }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy {
            // SAFETY: the state is the one that `create` returned, and is not used again.
            unsafe { destroy(self.state) };
        }
    }
}

/// Calls with the state of the queue in the form of the interface.
fn with(told: &Told, call: impl FnOnce(*mut abi::Queue) -> i64) -> Result<i64, String> {
    let mut form = abi::Queue {
        now: told.now,
        packets: told.packets,
        bytes: told.bytes,
        limit_packets: told.limit_packets,
        limit_bytes: told.limit_bytes,
        bands: told.bands.as_ptr(),
        band_count: told.bands.len(),
        failure: std::ptr::null(),
    };
    let answer = call(&raw mut form);
    failure(form.failure).map_or(Ok(answer), Err)
}

impl Decides for Library {
    fn enqueue(&mut self, packet: &abi::Packet, queue: &mut Told) -> Result<i64, String> {
        let Some(function) = self.table.enqueue else { return Ok(0) };
        // SAFETY: the state is the one that `create` returned; the pointers are valid during the call.
        with(queue, |queue| unsafe { function(self.state, packet, queue) })
    }

    fn next_band(&mut self, queue: &mut Told) -> Result<i64, String> {
        let Some(function) = self.table.next_band else { return Ok(0) };
        // SAFETY: as above.
        with(queue, |queue| unsafe { function(self.state, queue) })
    }

    fn dequeue(&mut self, packet: &abi::Packet, queue: &mut Told) -> Result<i64, String> {
        let Some(function) = self.table.dequeue else { return Ok(abi::HALTERE_SEND) };
        // SAFETY: as above.
        with(queue, |queue| unsafe { function(self.state, packet, queue) })
    }

    fn ready_at(&mut self, queue: &mut Told) -> Result<i64, String> {
        let Some(function) = self.table.ready_at else { return Ok(0) };
        // SAFETY: as above.
        with(queue, |queue| unsafe { function(self.state, queue) })
    }
}

/// A queue discipline of a table, under this name. `shown` is its name in messages.
///
/// # Errors
///
/// If the table lacks what it must have; the error says what, and what to do.
pub(crate) fn from_table(
    shown: &'static str,
    name: &'static str,
    table: &'static abi::QueueDiscipline,
) -> Result<&'static Implementation, String> {
    fits::<abi::QueueDiscipline>(table.size)?;
    if table.create.is_none() {
        return Err("its create is NULL: a queue discipline needs create".into());
    }
    let asked = Asked {
        enqueue: table.enqueue.is_some(),
        next_band: table.next_band.is_some(),
        dequeue: table.dequeue.is_some(),
        ready_at: table.ready_at.is_some(),
    };
    let description = description(name, table.summary, table.reference)?;
    let parameters = parameters(table.parameters, table.parameter_count)?.leak();
    implementation(shown, description, parameters, move |setup| {
        Ok((Box::new(Library::new(table, setup)?) as Box<dyn Decides>, asked))
    })
}
