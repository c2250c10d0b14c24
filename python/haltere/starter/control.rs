//! A congestion control. docs/how-to/congestion-controls.md says what its functions are told, haltere.rs what there is.
//!
//!     haltere compare tcp/cubic tcp/./NAME.rs --rate 40Mbit/s --rtt 50ms --loss 0.1%
//!     haltere compare quic/bbr quic/./NAME.rs+backoff=0.7 --queue fq_codel
//!
//! haltere compiles it when it is first named. In a crate of your own: `crate-type = ["cdylib"]`, and name the library.
//! Times are nanoseconds since the start of the run, sizes are bytes and rates are bits a second; -1 stands for what is not known.

#[allow(dead_code)]
mod haltere;

use haltere::*;
use std::ffi::{c_char, c_void};

/// The state of a controller. Several are called at once, by different threads: keep nothing outside of it.
struct State {
    mss: i64,
    /// The window before the last reduction.
    before: i64,
    backoff: f64,
}

/// A text as C has it.
const fn text(with_zero: &'static [u8]) -> *const c_char {
    with_zero.as_ptr() as *const c_char
}

/// How many parameters there are. `create` finds as many values, in this order.
const COUNT: usize = 1;

static PARAMETERS: Shared<[Parameter; COUNT]> = Shared([Parameter {
    name: text(b"backoff\0"),
    summary: text(b"share of the window that a loss leaves\0"),
    default_value: 0.5,
    least: 0.1,
    most: 0.95,
}]);

unsafe extern "C" fn create(config: *const Config, control: *mut Control) -> *mut c_void {
    let (config, control) = unsafe { (&*config, &mut *control) };
    // The window: bytes that may be in flight. `control` keeps its values from call to call.
    control.window = config.initial_window;
    let values = unsafe { std::slice::from_raw_parts(config.parameters, config.parameter_count) };
    let backoff = values[0];
    Box::into_raw(Box::new(State { mss: config.mss, before: 0, backoff })).cast()
}

unsafe extern "C" fn destroy(state: *mut c_void) {
    drop(unsafe { Box::from_raw(state.cast::<State>()) });
}

/// An ACK delivered `ack.delivered` bytes.
unsafe extern "C" fn on_ack(state: *mut c_void, ack: *const Ack, _: *const Path, _: usize, control: *mut Control) {
    let (own, ack, control) = unsafe { (&*state.cast::<State>(), &*ack, &mut *control) };
    if !ack.window_limited || !ack.may_grow {
        return;
    }
    control.window += if control.window < control.ssthresh { ack.delivered } else { own.mss * ack.delivered / control.window };
}

/// Losses were found, or marks arrived. The transport does the rest of recovery.
unsafe extern "C" fn on_congestion(state: *mut c_void, event: *const Congestion, control: *mut Control) {
    let (own, event, control) = unsafe { (&mut *state.cast::<State>(), &*event, &mut *control) };
    if event.new_episode {
        own.before = control.window;
        control.ssthresh = ((own.backoff * control.window as f64) as i64).max(2 * own.mss);
    }
    control.window = match event.trigger {
        HALTERE_TRIGGER_TIMEOUT => event.in_flight + own.mss,
        _ => control.window.min(control.ssthresh),
    };
}

/// The last reduction was a mistake: what seemed lost was late.
unsafe extern "C" fn on_undo(state: *mut c_void, control: *mut Control) {
    let (own, control) = unsafe { (&*state.cast::<State>(), &mut *control) };
    control.window = control.window.max(own.before);
}

/// Packets are of another size from now on, for a larger MTU was found.
unsafe extern "C" fn set_mss(state: *mut c_void, mss: i64, _: i64, control: *mut Control) {
    let (own, control) = unsafe { (&mut *state.cast::<State>(), &mut *control) };
    own.mss = mss;
    control.window = control.window.max(2 * mss);
}

/// Tables never change, so that threads may share them.
struct Shared<T>(T);
unsafe impl<T> Sync for Shared<T> {}

static CONTROL: Shared<CongestionControl> = Shared(CongestionControl {
    size: size_of::<CongestionControl>(),
    label: text(b"TITLE\0"),
    summary: text(b"additive increase, multiplicative decrease (Reno)\0"),
    reference: std::ptr::null(),
    flags: 0,
    parameter_count: COUNT as u32,
    parameters: &raw const PARAMETERS.0 as *const Parameter,
    create: Some(create),
    destroy: Some(destroy),
    on_ack: Some(on_ack),
    on_congestion: Some(on_congestion),
    on_established: None,
    on_sent: None,
    on_echo: None,
    on_lost: None,
    on_undo: Some(on_undo),
    on_recovered: None,
    set_mss: Some(set_mss),
    on_arrival: None,
});

static PLUGIN: Shared<Plugin> =
    Shared(Plugin { abi: HALTERE_ABI, size: size_of::<Plugin>(), congestion_control: &CONTROL.0 });

#[no_mangle]
pub extern "C" fn haltere_plugin_of(abi: u32) -> *const Plugin {
    if abi == HALTERE_ABI { &PLUGIN.0 } else { std::ptr::null() }
}
