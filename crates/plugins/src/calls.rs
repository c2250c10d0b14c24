//! A controller behind the functions of the C interface.
#![allow(unsafe_code, reason = "the functions are those of a library")]

use crate::checked::{UNDECIDED, Verdict, same};
use crate::convert::{Event, size, time};
use crate::declared::{description, failure, fits, parameters, random, text};
use crate::{abi, answers_by_verdict};
use haltere_net::Time;
use haltere_net::registry::Maker;
use haltere_net::rng::Stream;
use haltere_transport::cc::{
    Ack, Arrival, Config, Congestion, CongestionController, Echo, Established, Implementation, Lost, Marks, PathView,
    Sent, SlowStart, Startup,
};
use std::ffi::c_void;
use std::fmt;

/// The most paths that are shown to a controller.
const PATHS: usize = 256;

/// A controller of a library.
struct Controller {
    table: &'static abi::CongestionControl,
    state: *mut c_void,
    control: abi::Control,
    /// The controls that were checked last: most calls change nothing.
    checked: abi::Control,
    verdict: Verdict,
    /// In a box, so that its address stays.
    #[expect(dead_code, reason = "the library draws from it by its address")]
    dice: Box<Stream>,
    /// The paths as the library sees them, kept for their memory.
    paths: Vec<abi::Path>,
    /// The state of a controller whose functions are compiled and whose memory is ours. The box is never moved out of.
    #[expect(dead_code, reason = "the functions work on it by its address")]
    memory: Box<[u64]>,
}

// SAFETY: the interface says that a controller may be called by any thread, by one at a time, and it is owned by one.
unsafe impl Send for Controller {}

// SAFETY: the interface says that tables do not change.
unsafe impl Send for abi::CongestionControl {}
// SAFETY: as above.
unsafe impl Sync for abi::CongestionControl {}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("verdict", &self.verdict).finish_non_exhaustive()
    }
}

impl Controller {
    fn new(name: &'static str, table: &'static abi::CongestionControl, config: Config) -> Controller {
        let mut dice = Box::new(config.stream);
        let faults = config.faults.unwrap_or_default();
        let form = abi::Config {
            mss: size(config.mss),
            wire: size(config.wire),
            grain: size(config.grain),
            initial_window: size(config.initial_window),
            connections: size(config.connections),
            tick: size(config.tick.as_nanos()),
            phase: size(config.phase.as_nanos()),
            slow_start: match config.slow_start {
                None => abi::HALTERE_SLOW_START_OWN,
                Some(SlowStart::Standard) => abi::HALTERE_SLOW_START_STANDARD,
                Some(SlowStart::HyStart) => abi::HALTERE_SLOW_START_HYSTART,
                Some(SlowStart::HyStartPlusPlus) => abi::HALTERE_SLOW_START_HYSTARTPP,
            },
            paced: config.paced,
            parameters: config.values.as_ptr(),
            parameter_count: config.values.len(),
            random: Some(random),
            dice: std::ptr::from_mut(&mut *dice).cast(),
        };
        let mut control = UNDECIDED;
        let mut verdict = Verdict::new(name, config.mss, faults);
        // SAFETY: the pointers are valid during the call, and the table's functions are as the interface says, which `check` has
        // seen to as far as can be seen.
        let state = table.create.map_or(std::ptr::null_mut(), |create| unsafe { create(&form, &mut control) });
        let (paths, memory) = (Vec::new(), Box::default());
        let mut made =
            Controller { table, state, control, checked: control, verdict: verdict.clone(), dice, paths, memory };
        if state.is_null() && control.failure.is_null() {
            verdict.fail("create", "it returned NULL");
            made.verdict = verdict;
        } else {
            made.look_closely("create");
        }
        made
    }

    /// A controller on a state of ours.
    fn on_memory(
        shown: &'static str,
        (table, sync): (&'static abi::CongestionControl, Told),
        state: Result<Vec<u8>, String>,
        config: Config,
    ) -> Controller {
        let mut verdict = Verdict::new(shown, config.mss, config.faults.unwrap_or_default());
        let bytes = state.unwrap_or_else(|reason| {
            verdict.fail("__init__", &reason);
            Vec::new()
        });
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        };
        let mut memory: Box<[u64]> = bytes.chunks(8).map(word).collect();
        let (state, dice) = (memory.as_mut_ptr().cast(), Box::new(config.stream));
        let mut made = Controller {
            table,
            state,
            control: UNDECIDED,
            checked: UNDECIDED,
            verdict,
            dice,
            paths: Vec::new(),
            memory,
        };
        if !made.verdict.failed() {
            // SAFETY: the function takes the state that it was compiled for, whose bytes these are.
            unsafe { sync(made.state, &mut made.control) };
            made.look_closely("__init__");
        }
        made
    }

    /// Takes what the last call decided.
    #[inline(always)]
    fn look(&mut self, call: &str) {
        if !same(&self.control, &self.checked) {
            self.look_closely(call);
        }
    }

    #[inline(never)]
    fn look_closely(&mut self, call: &str) {
        if let Some(reason) = failure(self.control.failure) {
            self.verdict.fail(call, &reason);
            return;
        }
        self.checked = self.control;
        self.verdict.take(call, &self.control);
    }

    /// Calls a function with an event, if the library has it.
    #[inline]
    fn tell<E: Event>(
        &mut self,
        call: &str,
        function: Option<unsafe extern "C" fn(*mut c_void, *const E::Form, *mut abi::Control)>,
        event: &E,
    ) {
        let Some(function) = function.filter(|_| !self.verdict.failed()) else { return };
        // SAFETY: the state is the one that `create` returned, and the event is valid during the call.
        unsafe { function(self.state, &event.form(), &mut self.control) };
        self.look(call);
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy.filter(|_| !self.state.is_null()) {
            // SAFETY: the state is the one that `create` returned, and is not used again.
            unsafe { destroy(self.state) };
        }
    }
}

impl CongestionController for Controller {
    fn on_established(&mut self, event: &Established) {
        self.tell("on_established", self.table.on_established, event);
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) {
        self.tell("on_sent", self.table.on_sent, sent);
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]) {
        let Some(function) = self.table.on_ack.filter(|_| !self.verdict.failed()) else { return };
        if !(siblings.is_empty() && self.paths.is_empty()) {
            self.paths.clear();
            self.paths.extend(siblings.iter().take(PATHS).map(Event::form));
        }
        self.control.ask = abi::HALTERE_ASK_NOTHING;
        // SAFETY: the state is the one that `create` returned; the ACK and as many paths as are said are valid during the call.
        unsafe { function(self.state, &ack.form(), self.paths.as_ptr(), self.paths.len(), &mut self.control) };
        self.look("on_ack");
    }

    fn on_echo(&mut self, echo: &Echo) {
        self.tell("on_echo", self.table.on_echo, echo);
    }

    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival) {
        self.tell("on_arrival", self.table.on_arrival, arrival);
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.tell("on_lost", self.table.on_lost, lost);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.tell("on_congestion", self.table.on_congestion, event);
    }

    fn on_undo(&mut self) {
        let Some(function) = self.table.on_undo.filter(|_| !self.verdict.failed()) else { return };
        // SAFETY: the state is the one that `create` returned.
        unsafe { function(self.state, &mut self.control) };
        self.look("on_undo");
    }

    fn on_recovered(&mut self, now: Time) {
        let Some(function) = self.table.on_recovered.filter(|_| !self.verdict.failed()) else { return };
        // SAFETY: the state is the one that `create` returned.
        unsafe { function(self.state, time(now), &mut self.control) };
        self.look("on_recovered");
    }

    answers_by_verdict!();

    fn set_mss(&mut self, mss: u64, wire: u64) {
        let Some(function) = self.table.set_mss.filter(|_| !self.verdict.failed()) else { return };
        // SAFETY: the state is the one that `create` returned.
        unsafe { function(self.state, size(mss), size(wire), &mut self.control) };
        self.look("set_mss");
    }
}

/// Writes what a compiled controller decides.
type Told = unsafe extern "C" fn(controller: *mut c_void, control: *mut abi::Control);

/// The functions of a class that was compiled, by their addresses; 0 stands for none. Their types are those of
/// [`abi::CongestionControl`]; `sync` writes what a state decides.
#[derive(Clone, Copy, Default, Debug)]
#[expect(missing_docs, reason = "their names are those of the interface")]
pub struct Addresses {
    pub sync: usize,
    pub on_ack: usize,
    pub on_congestion: usize,
    pub on_established: usize,
    pub on_sent: usize,
    pub on_echo: usize,
    pub on_arrival: usize,
    pub on_lost: usize,
    pub on_undo: usize,
    pub on_recovered: usize,
    pub set_mss: usize,
}

/// The function at an address.
macro_rules! at {
    ($address:expr) => {
        // SAFETY: the caller says that a function of the interface's type for this field stands there; NULL is `None`.
        unsafe { std::mem::transmute(std::ptr::with_exposed_provenance::<()>($address)) }
    };
}

/// The function that makes controllers of a compiled class. `state` gives the bytes of a new one.
///
/// # Errors
///
/// If a function that is needed has no address.
#[expect(clippy::missing_transmute_annotations, reason = "the fields of the table say what they are")]
pub fn compiled(
    shown: &'static str,
    addresses: &Addresses,
    state: impl Fn(&Config) -> Result<Vec<u8>, String> + Send + Sync + 'static,
) -> Result<&'static (dyn Fn(Config) -> Box<dyn CongestionController> + Send + Sync), String> {
    let sync: Option<Told> = at!(addresses.sync);
    let sync = sync.ok_or_else(|| format!("{shown}: it was compiled without a function that says what it decides"))?;
    let table: &'static abi::CongestionControl = Box::leak(Box::new(abi::CongestionControl {
        size: size_of::<abi::CongestionControl>(),
        label: std::ptr::null(),
        summary: std::ptr::null(),
        reference: std::ptr::null(),
        flags: 0,
        parameter_count: 0,
        parameters: std::ptr::null(),
        create: None,
        destroy: None,
        on_ack: at!(addresses.on_ack),
        on_congestion: at!(addresses.on_congestion),
        on_established: at!(addresses.on_established),
        on_sent: at!(addresses.on_sent),
        on_echo: at!(addresses.on_echo),
        on_lost: at!(addresses.on_lost),
        on_undo: at!(addresses.on_undo),
        on_recovered: at!(addresses.on_recovered),
        set_mss: at!(addresses.set_mss),
        // Classes of Python are not told of arrivals.
        on_arrival: at!(addresses.on_arrival),
    }));
    Ok(Box::leak(Box::new(move |config: Config| -> Box<dyn CongestionController> {
        let state = state(&config);
        Box::new(Controller::on_memory(shown, (table, sync), state, config))
    })))
}

/// A congestion control of a table, under this name. `shown` is its name in messages.
///
/// # Errors
///
/// If the table lacks what it must have; the error says what, and what to do.
pub(crate) fn from_table(
    shown: &'static str,
    name: &'static str,
    table: &'static abi::CongestionControl,
) -> Result<&'static Implementation, String> {
    fits::<abi::CongestionControl>(table.size)?;
    let has = [table.create.is_some(), table.on_ack.is_some(), table.on_congestion.is_some()];
    if let Some(missing) = has.iter().position(|has| !has) {
        let missing = ["create", "on_ack", "on_congestion"][missing];
        return Err(format!("its {missing} is NULL: a congestion control needs create, on_ack and on_congestion"));
    }
    let parameters = parameters(table.parameters, table.parameter_count)?;
    let marks = match table.flags {
        flags if flags & abi::HALTERE_L4S != 0 => Marks::L4s,
        flags if flags & abi::HALTERE_NEEDS_ECN != 0 => Marks::Needed,
        _ => Marks::Optional,
    };
    let heeds = table.flags & abi::HALTERE_HEEDS_SLOW_START != 0;
    let description = description(name, table.summary, table.reference)?;
    let defaults: Vec<f64> = parameters.iter().map(|parameter| parameter.default).collect();
    let build = Box::leak(Box::new(move |config: Config| -> Box<dyn CongestionController> {
        Box::new(Controller::new(shown, table, config))
    }));
    Ok(Box::leak(Box::new(Implementation {
        description,
        label: text(table.label, "label")?,
        shade: None,
        linux: None,
        slow_start: if heeds { Startup::SlowStart(SlowStart::Standard) } else { Startup::Own },
        marks,
        coupled: table.flags & abi::HALTERE_COUPLED != 0,
        prompt_rtts: table.flags & abi::HALTERE_PROMPT_RTTS != 0,
        send_windows: 2,
        heeds: &[],
        parameters: parameters.leak(),
        values: defaults.leak(),
        build: Maker::Loaded(build),
    })))
}
