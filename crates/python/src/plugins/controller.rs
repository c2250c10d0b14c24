//! A congestion controller that is an object of Python.

use super::events;
use super::watch::Inside;
use haltere_net::Time;
use haltere_plugins::{Event, UNDECIDED, Verdict, abi, time};
use haltere_transport::cc::{
    Ack, Arrival, Config, Congestion, CongestionController, Echo, Established, Lost, Parameter, PathView, Sent,
};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::fmt;

/// The methods that a class may have.
#[derive(Default)]
struct Methods {
    on_established: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_ack: Option<Py<PyAny>>,
    on_echo: Option<Py<PyAny>>,
    on_arrival: Option<Py<PyAny>>,
    on_lost: Option<Py<PyAny>>,
    on_congestion: Option<Py<PyAny>>,
    on_undo: Option<Py<PyAny>>,
    on_recovered: Option<Py<PyAny>>,
    set_mss: Option<Py<PyAny>>,
}

/// Which of its decisions an object has, as attributes. Looking for one that it has not is slow.
#[derive(Clone, Copy, Default)]
struct Decided {
    ssthresh: bool,
    pacing_rate: bool,
    send_quantum: bool,
    ask: bool,
    owns_recovery: bool,
    startup: bool,
}

/// A controller of a class.
pub(super) struct Controller {
    object: Option<Py<PyAny>>,
    methods: Methods,
    decided: Decided,
    /// Whether `on_ack` takes the paths of the connection.
    takes_paths: bool,
    verdict: Verdict,
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("verdict", &self.verdict).finish_non_exhaustive()
    }
}

impl Controller {
    pub(super) fn new(
        name: &'static str,
        make: &Py<PyAny>,
        parameters: &'static [Parameter],
        config: Config,
    ) -> Controller {
        let verdict = Verdict::new(name, config.mss, config.faults.clone().unwrap_or_default());
        let mut made = Controller {
            object: None,
            methods: Methods::default(),
            decided: Decided::default(),
            takes_paths: false,
            verdict,
        };
        Python::attach(|py| {
            let values: Vec<(&str, f64)> =
                parameters.iter().map(|parameter| parameter.name).zip(config.values.iter().copied()).collect();
            let inside = Inside::call(py);
            let object = make.bind(py).call1((events::Config::new(&config), values));
            drop(inside);
            match object.and_then(|object| made.hold(object)) {
                Ok(()) => made.look(py, "__init__"),
                Err(error) => made.fail(py, "__init__", &error),
            }
        });
        made
    }

    /// Keeps the object and looks up its methods.
    fn hold(&mut self, object: Bound<'_, PyAny>) -> PyResult<()> {
        let method = |name: &str| Ok::<_, PyErr>(object.getattr_opt(name)?.map(Bound::unbind));
        self.methods = Methods {
            on_established: method("on_established")?,
            on_sent: method("on_sent")?,
            on_ack: method("on_ack")?,
            on_echo: method("on_echo")?,
            on_arrival: method("on_arrival")?,
            on_lost: method("on_lost")?,
            on_congestion: method("on_congestion")?,
            on_undo: method("on_undo")?,
            on_recovered: method("on_recovered")?,
            set_mss: method("set_mss")?,
        };
        let has = |name: &str| object.hasattr(name);
        self.decided = Decided {
            ssthresh: has("ssthresh")?,
            pacing_rate: has("pacing_rate")?,
            send_quantum: has("send_quantum")?,
            ask: has("ask")?,
            owns_recovery: has("owns_recovery")?,
            startup: has("startup")?,
        };
        let plugins = object.py().import("haltere.plugins")?;
        self.takes_paths = plugins.call_method1("takes_paths", (&object,))?.extract()?;
        self.object = Some(object.unbind());
        Ok(())
    }

    #[cold]
    fn fail(&mut self, py: Python<'_>, call: &str, error: &PyErr) {
        self.verdict.fail(call, &super::reason(py, error));
    }

    /// Takes what the object says after a call.
    fn look(&mut self, py: Python<'_>, call: &str) {
        let Some(object) = self.object.as_ref().map(|object| object.bind(py)) else { return };
        let has = self.decided;
        let control = (|| {
            let mut control = abi::Control { window: number(object, intern!(py, "window"))?.unwrap_or(0), ..UNDECIDED };
            if has.ssthresh {
                control.ssthresh = number(object, intern!(py, "ssthresh"))?.unwrap_or(abi::HALTERE_NEVER);
            }
            if has.pacing_rate {
                control.pacing_rate = number(object, intern!(py, "pacing_rate"))?.unwrap_or(0);
            }
            if has.send_quantum {
                control.send_quantum = number(object, intern!(py, "send_quantum"))?.unwrap_or(0);
            }
            if has.ask {
                // A request is heeded once.
                let ask = number(object, intern!(py, "ask"))?.unwrap_or(0);
                if ask != 0 {
                    object.setattr(intern!(py, "ask"), 0)?;
                }
                control.ask = u32::try_from(ask).unwrap_or(u32::MAX);
            }
            if has.owns_recovery {
                control.owns_recovery = object.getattr(intern!(py, "owns_recovery"))?.is_truthy()?;
            }
            if has.startup {
                control.startup = object.getattr(intern!(py, "startup"))?.is_truthy()?;
            }
            Ok(control)
        })();
        match control {
            Ok(control) => self.verdict.take(call, &control),
            Err(error) => self.fail(py, call, &error),
        }
    }

    /// Calls a method of the object, if it has it.
    fn tell<A>(
        &mut self,
        call: &str,
        method: fn(&Methods) -> Option<&Py<PyAny>>,
        arguments: impl FnOnce(Python<'_>) -> A,
    ) where
        A: for<'py> PyCallArgs<'py>,
    {
        if self.verdict.failed() || method(&self.methods).is_none() {
            return;
        }
        Python::attach(|py| {
            let Some(method) = method(&self.methods) else { return };
            let inside = Inside::call(py);
            let called = method.bind(py).call1(arguments(py));
            drop(inside);
            match called {
                Ok(_) => self.look(py, call),
                Err(error) => self.fail(py, call, &error),
            }
        });
    }
}

/// An attribute that is a number; `None` if it is `None`. What is larger than a number of the interface is an error.
fn number(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<Option<i64>> {
    let value = object.getattr(name)?;
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(whole) = value.extract::<i64>() {
        return Ok(Some(whole));
    }
    // `float(NEVER)` is a little more than `NEVER`, which it becomes again.
    let number = value.extract::<f64>().ok().filter(|number| number.is_finite() && number.abs() < 1e19);
    match number {
        Some(number) => Ok(Some(number as i64)),
        None => Err(PyAttributeError::new_err(format!("{name} is {}: give a number", value.repr()?))),
    }
}

impl CongestionController for Controller {
    fn on_established(&mut self, event: &Established) {
        self.tell("on_established", |m| m.on_established.as_ref(), |_| (events::Established(event.form()),));
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.tell("on_sent", |m| m.on_sent.as_ref(), |_| (events::Sent(sent.form()),));
    }
    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]) {
        if self.takes_paths {
            let paths: Vec<_> = siblings.iter().map(|path| events::Path(path.form())).collect();
            self.tell("on_ack", |m| m.on_ack.as_ref(), |_| (events::Ack(ack.form()), paths));
        } else {
            self.tell("on_ack", |m| m.on_ack.as_ref(), |_| (events::Ack(ack.form()),));
        }
    }
    fn on_echo(&mut self, echo: &Echo) {
        self.tell("on_echo", |m| m.on_echo.as_ref(), |_| (events::Echo(echo.form()),));
    }
    fn on_arrival(&mut self, arrival: &Arrival) {
        self.tell("on_arrival", |m| m.on_arrival.as_ref(), |_| (events::Arrival(arrival.form()),));
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.tell("on_lost", |m| m.on_lost.as_ref(), |_| (events::Lost(lost.form()),));
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.tell("on_congestion", |m| m.on_congestion.as_ref(), |_| (events::Congestion(event.form()),));
    }
    fn on_undo(&mut self) {
        self.tell("on_undo", |m| m.on_undo.as_ref(), |_| ());
    }
    fn on_recovered(&mut self, now: Time) {
        self.tell("on_recovered", |m| m.on_recovered.as_ref(), |_| (time(now),));
    }
    haltere_plugins::answers_by_verdict!();
    fn set_mss(&mut self, mss: u64, wire: u64) {
        self.tell("set_mss", |m| m.set_mss.as_ref(), |_| (mss, wire));
    }
}
