//! The interface of all readers.

use crate::{Multipath, Trace};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A part of a file that could not be read. Reading goes on behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the damaged record begins: bytes from the start of the (decompressed) file.
    pub offset: u64,
    /// How many bytes were skipped.
    pub skipped: u64,
    /// The fault of the record.
    pub what: Cow<'static, str>,
}

/// The outcome of one step of a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The trace handed in was filled.
    Trace,
    /// A multipath measurement; the trace handed in has no meaning.
    Multipath(Box<Multipath>),
    /// A record was damaged and is lost; the next step goes on behind it.
    Damaged(Damage),
    /// The end of the file.
    End,
}

/// The last step of a stream, or the damage that its failure is.
pub(crate) fn end(offset: u64, failure: Option<String>) -> Step {
    let damage = |e| Damage { offset, skipped: 0, what: format!("the file cannot be read further: {e}").into() };
    failure.map_or(Step::End, |e| Step::Damaged(damage(e)))
}

/// Makes attempts until one gives a step.
#[inline]
pub(crate) fn until_some(mut attempt: impl FnMut() -> Option<Step>) -> Step {
    loop {
        if let Some(step) = attempt() {
            return step;
        }
    }
}

/// Reads traces one after the other from one file.
pub trait ReadTraces {
    /// Goes on to the next trace, or damage, or the end. `trace` is filled only if [`Step::Trace`] is returned; its
    /// buffers are used again.
    fn read_into(&mut self, trace: &mut Trace) -> Step;

    /// How many records of each kind were read; those that are not traces were skipped.
    fn records(&mut self) -> &BTreeMap<&'static str, u64>;
}
