//! A path scheduler behind the functions of the C interface, and what one decides, checked.
#![allow(unsafe_code, reason = "the functions are those of a library")]

use crate::abi;
use crate::convert::{Event, size, time};
use crate::declared::{description, failure, fits, parameters, random};
use crate::trust::Trust;
use haltere_net::registry::Maker;
use haltere_net::rng::Stream;
use haltere_net::{PathId, Time};
use haltere_transport::path::PathView;
use haltere_transport::scheduler::{Config, Demand, Implementation, PathScheduler, PathSet, Pick};
use std::ffi::c_void;

/// The largest burst, bytes.
const LARGEST_BURST: i64 = 1 << 30;

impl Event for Demand {
    type Form = abi::Demand;
    fn form(&self) -> abi::Demand {
        abi::Demand {
            waiting: size(self.waiting),
            outstanding: size(self.outstanding),
            window: size(self.window),
            beyond: size(self.beyond),
        }
    }
}

/// The pick of a scheduler that has not decided anything: it waits for an acknowledgement.
pub const UNPICKED: abi::Pick = abi::Pick {
    kind: abi::HALTERE_PICK_WAIT,
    path: 0,
    until: abi::HALTERE_NEVER,
    skip: 0,
    copies: [0; 4],
    failure: std::ptr::null(),
};

/// A pick, if it is one for paths that there are.
///
/// # Errors
///
/// If it is not. The error says what would be right.
pub fn picked(pick: &abi::Pick, paths: &[PathView]) -> Result<Pick, String> {
    let known = |number: u32| {
        let path = paths.iter().map(|path| path.id).find(|id| u32::from(id.0) == number);
        path.ok_or_else(|| {
            let all: Vec<_> = paths.iter().map(|path| path.id.0.to_string()).collect();
            format!("it picked path {number}, which there is not: there are {}", all.join(", "))
        })
    };
    match pick.kind {
        abi::HALTERE_PICK_ON => known(pick.path).map(Pick::On),
        abi::HALTERE_PICK_WAIT => match u64::try_from(pick.until) {
            Ok(_) if pick.until == abi::HALTERE_NEVER => Ok(Pick::WaitUntil(Time::NEVER)),
            Ok(until) => Ok(Pick::WaitUntil(Time::from_nanos(until))),
            Err(_) => Err(format!("it waits until {}: give a time in nanoseconds, or HALTERE_NEVER", pick.until)),
        },
        abi::HALTERE_PICK_COPIES => {
            let chosen = (0..=u8::MAX).filter(|id| pick.copies[usize::from(id / 64)] >> (id % 64) & 1 == 1);
            let set: PathSet = chosen.map(|id| known(u32::from(id))).collect::<Result<_, _>>()?;
            if set == PathSet::default() {
                return Err("it picked copies on no path: set the bit of each path, or wait".into());
            }
            Ok(Pick::Copies(set))
        }
        abi::HALTERE_PICK_AHEAD => match u64::try_from(pick.skip) {
            Ok(skip) => Ok(Pick::Ahead(known(pick.path)?, skip)),
            Err(_) => Err(format!("it leaves out {} bytes: give a number from 0", pick.skip)),
        },
        other => Err(format!("its pick {other} is unknown: give one of HALTERE_PICK_…, 0 to 3")),
    }
}

/// A burst, if it is one.
///
/// # Errors
///
/// If it is not. The error says what would be right.
pub fn burst(bytes: i64) -> Result<u64, String> {
    if (0..=LARGEST_BURST).contains(&bytes) {
        return Ok(bytes as u64);
    }
    Err(format!("its burst is {bytes}: give a number of bytes from 0 to {LARGEST_BURST}"))
}

/// A scheduler of a library.
struct Library {
    table: &'static abi::Scheduler,
    state: *mut c_void,
    trust: Trust,
    burst: u64,
    /// In a box, so that its address stays.
    #[expect(dead_code, reason = "the library draws from it by its address")]
    dice: Box<Stream>,
    /// The paths as the library sees them, kept for their memory.
    paths: Vec<abi::Path>,
}

// SAFETY: the interface says that a scheduler may be called by any thread, by one at a time, and it is owned by one.
unsafe impl Send for Library {}

// SAFETY: the interface says that tables do not change.
unsafe impl Send for abi::Scheduler {}
// SAFETY: as above.
unsafe impl Sync for abi::Scheduler {}

impl Library {
    fn new(name: &'static str, table: &'static abi::Scheduler, config: Config) -> Library {
        let mut dice = Box::new(config.stream);
        let form = abi::SchedulerConfig {
            parameters: config.values.as_ptr(),
            parameter_count: config.values.len(),
            random: Some(random),
            dice: std::ptr::from_mut(&mut *dice).cast(),
        };
        let mut trust = Trust::new(name, config.faults.unwrap_or_default());
        // SAFETY: the pointers are valid during the call, and the function is as the interface says.
        let state = table.create.map_or(std::ptr::null_mut(), |create| unsafe { create(&raw const form) });
        if state.is_null() {
            trust.fail("create", "it returned NULL");
        }
        // `from_table` has seen to its range.
        let burst = burst(table.burst).unwrap_or(0);
        Library { table, state, trust, burst, dice, paths: Vec::new() }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy.filter(|_| !self.state.is_null()) {
            // SAFETY: the state is the one that `create` returned, and is not used again.
            unsafe { destroy(self.state) };
        }
    }
}

impl PathScheduler for Library {
    fn pick(&mut self, paths: &[PathView], demand: &Demand, now: Time) -> Pick {
        let Some(function) = self.table.pick.filter(|_| !self.trust.failed()) else {
            return Pick::WaitUntil(Time::NEVER);
        };
        self.paths.clear();
        self.paths.extend(paths.iter().map(Event::form));
        let mut answer = UNPICKED;
        // SAFETY: the state is the one that `create` returned; as many paths as are said, and what the other pointers point to, are
        // valid during the call.
        unsafe {
            function(self.state, self.paths.as_ptr(), self.paths.len(), &demand.form(), time(now), &raw mut answer);
        }
        let pick = failure(answer.failure).map_or_else(|| picked(&answer, paths), Err);
        pick.unwrap_or_else(|reason| {
            self.trust.fail("pick", &reason);
            Pick::WaitUntil(Time::NEVER)
        })
    }

    fn on_given(&mut self, path: PathId, bytes: u64, now: Time) {
        let Some(function) = self.table.on_given.filter(|_| !self.trust.failed()) else { return };
        // SAFETY: the state is the one that `create` returned.
        unsafe { function(self.state, u32::from(path.0), size(bytes), time(now)) };
    }

    fn on_blocked(&mut self, head: PathId, now: Time) {
        let Some(function) = self.table.on_blocked.filter(|_| !self.trust.failed()) else { return };
        // SAFETY: the state is the one that `create` returned.
        unsafe { function(self.state, u32::from(head.0), time(now)) };
    }

    fn ignores_demand(&self) -> bool {
        self.table.flags & abi::HALTERE_IGNORES_DEMAND != 0
    }

    fn burst(&self) -> u64 {
        self.burst
    }
}

/// A path scheduler of a table, under this name. `shown` is its name in messages.
///
/// # Errors
///
/// If the table lacks what it must have; the error says what, and what to do.
pub(crate) fn from_table(
    shown: &'static str,
    name: &'static str,
    table: &'static abi::Scheduler,
) -> Result<&'static Implementation, String> {
    fits::<abi::Scheduler>(table.size)?;
    let has = [table.create.is_some(), table.pick.is_some()];
    if let Some(missing) = has.iter().position(|has| !has) {
        return Err(format!("its {} is NULL: a path scheduler needs create and pick", ["create", "pick"][missing]));
    }
    burst(table.burst)?;
    let parameters = parameters(table.parameters, table.parameter_count)?;
    let build = move |config: Config| -> Box<dyn PathScheduler> { Box::new(Library::new(shown, table, config)) };
    Ok(Box::leak(Box::new(Implementation {
        description: description(name, table.summary, table.reference)?,
        values: parameters.iter().map(|parameter| parameter.default).collect::<Vec<_>>().leak(),
        parameters: parameters.leak(),
        build: Maker::Loaded(Box::leak(Box::new(build))),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> [PathView; 2] {
        [0, 3].map(|id| PathView { id: PathId(id), ..PathView::default() })
    }

    #[test]
    fn picks_mean_what_they_say() {
        let of = |change: fn(&mut abi::Pick)| {
            let mut pick = UNPICKED;
            change(&mut pick);
            picked(&pick, &paths())
        };
        assert_eq!(of(|_| ()), Ok(Pick::WaitUntil(Time::NEVER)));
        assert_eq!(of(|p| p.until = 7), Ok(Pick::WaitUntil(Time::from_nanos(7))));
        assert_eq!(of(|p| (p.kind, p.path) = (abi::HALTERE_PICK_ON, 3)), Ok(Pick::On(PathId(3))));
        let ahead = |p: &mut abi::Pick| (p.kind, p.path, p.skip) = (abi::HALTERE_PICK_AHEAD, 3, 99);
        assert_eq!(of(ahead), Ok(Pick::Ahead(PathId(3), 99)));
        let both: PathSet = [PathId(0), PathId(3)].into_iter().collect();
        assert_eq!(of(|p| (p.kind, p.copies) = (abi::HALTERE_PICK_COPIES, [9, 0, 0, 0])), Ok(Pick::Copies(both)));
    }

    #[test]
    fn picks_of_what_there_is_not_are_refused_with_what_would_be_right() {
        let said = |change: fn(&mut abi::Pick)| {
            let mut pick = UNPICKED;
            change(&mut pick);
            picked(&pick, &paths()).unwrap_err()
        };
        let of_2 = |p: &mut abi::Pick| (p.kind, p.path) = (abi::HALTERE_PICK_ON, 2);
        assert_eq!(said(of_2), "it picked path 2, which there is not: there are 0, 3");
        let beyond = |p: &mut abi::Pick| (p.kind, p.path) = (abi::HALTERE_PICK_AHEAD, 256);
        assert!(said(beyond).starts_with("it picked path 256, "));
        assert!(
            said(|p| (p.kind, p.copies) = (abi::HALTERE_PICK_COPIES, [0, 1, 0, 0])).starts_with("it picked path 64, ")
        );
        assert!(said(|p| p.kind = abi::HALTERE_PICK_COPIES).starts_with("it picked copies on no path"));
        assert!(said(|p| p.until = -5).starts_with("it waits until -5: "));
        assert!(said(|p| (p.kind, p.skip) = (abi::HALTERE_PICK_AHEAD, -1)).starts_with("it leaves out -1 bytes"));
        assert!(said(|p| p.kind = 9).starts_with("its pick 9 is unknown"));
        assert!(burst(-1).is_err() && burst(1 << 31).is_err() && burst(65_428) == Ok(65_428));
    }
}
