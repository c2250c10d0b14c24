//! The texts and parameters that libraries declare, whatever they hold.
#![allow(unsafe_code, reason = "they stand in the memory of a library")]

use crate::abi;
use haltere_net::registry::{Description, Parameter};
use haltere_net::rng::Stream;
use std::ffi::{CStr, c_char, c_void};

/// Gives random bits of the dice that loaded code was created with.
pub(crate) unsafe extern "C" fn random(dice: *mut c_void) -> u64 {
    // SAFETY: `dice` is the box that the code was created with, which lives as long as what was created.
    unsafe { (*dice.cast::<Stream>()).bits() }
}

/// Refuses a table of another size than this version's.
pub(crate) fn fits<T>(given: usize) -> Result<(), String> {
    let right = size_of::<T>();
    if given == right {
        return Ok(());
    }
    Err(format!(
        "its table has {given} bytes and not {right}: build it again with the haltere.h of this version (haltere new writes it)"
    ))
}

/// A text of a library, which stays as long as the library: for ever.
pub(crate) fn text(of: *const c_char, what: &str) -> Result<&'static str, String> {
    if of.is_null() {
        return Err(format!("it has no {what}: set it in its table"));
    }
    // SAFETY: the interface says that texts end in a zero and stay.
    let text = unsafe { CStr::from_ptr(of) };
    text.to_str().map_err(|_| format!("its {what} is not UTF-8: write it in UTF-8"))
}

/// The failure that a library notes, if it does.
pub(crate) fn failure(of: *const c_char) -> Option<String> {
    // SAFETY: the interface says that it is a text that ends in a zero and stays until the next call.
    (!of.is_null()).then(|| unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned())
}

/// The description under this name.
pub(crate) fn description(
    name: &'static str,
    summary: *const c_char,
    reference: *const c_char,
) -> Result<Description, String> {
    let reference = if reference.is_null() { "" } else { text(reference, "reference")? };
    Ok(Description { name, summary: text(summary, "summary")?, reference })
}

/// A parameter's name is written in contenders, so that signs and blanks must not stand in it.
fn is_name(name: &str) -> bool {
    let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(inside) && !name.ends_with('-')
}

/// The parameters that stand there.
pub(crate) fn parameters(at: *const abi::Parameter, count: u32) -> Result<Vec<Parameter>, String> {
    let count = count as usize;
    if count == 0 {
        return Ok(Vec::new());
    }
    if at.is_null() {
        return Err(format!("it says that it has {count} parameters, and the pointer to them is NULL"));
    }
    // SAFETY: the interface says that there are as many as the count says.
    let given = unsafe { std::slice::from_raw_parts(at, count) };
    let parameter = |(n, given): (usize, &abi::Parameter)| {
        let name = text(given.name, &format!("name of parameter {n}"))?;
        if !is_name(name) {
            return Err(format!("its parameter {name:?} has a wrong name: write small letters, digits and hyphens"));
        }
        let abi::Parameter { default_value: default, least, most, .. } = *given;
        if !(least.is_finite() && most.is_finite() && (least..=most).contains(&default)) {
            return Err(format!("its parameter {name} has the default {default}, outside its range {least} to {most}"));
        }
        Ok(Parameter { name, default, least, most, summary: text(given.summary, &format!("summary of {name}"))? })
    };
    given.iter().enumerate().map(parameter).collect()
}
