//! A path scheduler that is an object of Python.

use super::watch::Inside;
use super::{Described, events, shown};
use haltere_net::registry::{Maker, Parameter};
use haltere_net::{PathId, Time};
use haltere_plugins::{Event, Trust, UNPICKED, abi, picked, time};
use haltere_transport::path::PathView;
use haltere_transport::scheduler::{Config, Demand, Implementation, PathScheduler, Pick};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// The scheduler of a class, under this name.
pub(super) fn implementation(name: &'static str, mut class: Described) -> Result<&'static Implementation, String> {
    let (parameters, values) = class.parameters();
    let description = class.description(name);
    let burst = haltere_plugins::burst(class.burst).map_err(|wrong| format!("{}: {wrong}", shown(name)))?;
    let (ignores_demand, make) = (class.has("ignores_demand"), class.make);
    let build = move |config: Config| -> Box<dyn PathScheduler> {
        let mut made = Scheduler {
            pick: None,
            on_given: None,
            on_blocked: None,
            ignores_demand,
            burst,
            trust: Trust::new(shown(name), config.faults.clone().unwrap_or_default()),
        };
        made.create(&make, parameters, config);
        Box::new(made)
    };
    Ok(Box::leak(Box::new(Implementation {
        description,
        parameters,
        values,
        build: Maker::Loaded(Box::leak(Box::new(build))),
    })))
}

/// A scheduler of a class: its methods, which hold it.
struct Scheduler {
    pick: Option<Py<PyAny>>,
    on_given: Option<Py<PyAny>>,
    on_blocked: Option<Py<PyAny>>,
    ignores_demand: bool,
    burst: u64,
    trust: Trust,
}

impl Scheduler {
    fn create(&mut self, make: &Py<PyAny>, parameters: &[Parameter], config: Config) {
        Python::attach(|py| {
            let names = parameters.iter().map(|parameter| parameter.name);
            let values: Vec<(&str, f64)> = names.zip(config.values.iter().copied()).collect();
            let inside = Inside::call(py);
            let object = make.bind(py).call1((events::Dice::new(config.stream), values));
            drop(inside);
            let held = object.and_then(|object| {
                let method = |name: &str| Ok::<_, PyErr>(object.getattr_opt(name)?.map(Bound::unbind));
                self.pick = method("pick")?;
                self.on_given = method("on_given")?;
                self.on_blocked = method("on_blocked")?;
                Ok(())
            });
            if let Err(error) = held {
                self.trust.fail("__init__", &super::reason(py, &error));
            }
        });
    }

    /// Tells the object something that it answers with nothing.
    fn tell<A>(&mut self, call: &str, method: fn(&Scheduler) -> Option<&Py<PyAny>>, arguments: A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        if self.trust.failed() || method(self).is_none() {
            return;
        }
        Python::attach(|py| {
            let Some(method) = method(self) else { return };
            let inside = Inside::call(py);
            let called = method.bind(py).call1(arguments);
            drop(inside);
            if let Err(error) = called {
                self.trust.fail(call, &super::reason(py, &error));
            }
        });
    }
}

/// The pick of an answer: a path, a list of paths, None, `WaitUntil(time)`, or `Ahead(path, skip)`.
fn pick_of(answer: &Bound<'_, PyAny>) -> PyResult<abi::Pick> {
    let py = answer.py();
    if answer.is_none() {
        return Ok(UNPICKED);
    }
    if let Ok(path) = answer.cast::<events::Path>() {
        return Ok(abi::Pick { kind: abi::HALTERE_PICK_ON, path: path.get().0.id, ..UNPICKED });
    }
    if answer.is_instance_of::<PyList>() || answer.is_instance_of::<PyTuple>() {
        let mut copies = [0; 4];
        for path in answer.try_iter()? {
            let id = path?.cast::<events::Path>().map_err(|_| wrong(answer))?.get().0.id;
            copies[(id / 64 % 4) as usize] |= 1 << (id % 64);
        }
        return Ok(abi::Pick { kind: abi::HALTERE_PICK_COPIES, copies, ..UNPICKED });
    }
    if let Some(until) = answer.getattr_opt(intern!(py, "until"))? {
        let until = until.extract().map_err(|_| wrong(answer))?;
        return Ok(abi::Pick { kind: abi::HALTERE_PICK_WAIT, until, ..UNPICKED });
    }
    if let Some(skip) = answer.getattr_opt(intern!(py, "skip"))? {
        let path = answer.getattr(intern!(py, "path"))?;
        let path = path.cast::<events::Path>().map_err(|_| wrong(answer))?.get().0.id;
        let skip = skip.extract().map_err(|_| wrong(answer))?;
        return Ok(abi::Pick { kind: abi::HALTERE_PICK_AHEAD, path, skip, ..UNPICKED });
    }
    Err(wrong(answer))
}

fn wrong(answer: &Bound<'_, PyAny>) -> PyErr {
    let right = "return one of the paths, a list of them, None, WaitUntil(time) or Ahead(path, skip)";
    PyTypeError::new_err(format!("it returned {answer}: {right}"))
}

impl PathScheduler for Scheduler {
    fn pick(&mut self, paths: &[PathView], demand: &Demand, now: Time) -> Pick {
        let nothing = Pick::WaitUntil(Time::NEVER);
        let Some(method) = self.pick.as_ref().filter(|_| !self.trust.failed()) else { return nothing };
        let picked = Python::attach(|py| {
            let views: Vec<_> = paths.iter().map(|path| events::Path(path.form())).collect();
            let inside = Inside::call(py);
            let answer = method.bind(py).call1((views, events::Demand(demand.form()), time(now)));
            drop(inside);
            let answer = answer.and_then(|answer| pick_of(&answer)).map_err(|error| super::reason(py, &error))?;
            picked(&answer, paths)
        });
        picked.unwrap_or_else(|reason| {
            self.trust.fail("pick", &reason);
            nothing
        })
    }

    fn on_given(&mut self, path: PathId, bytes: u64, now: Time) {
        self.tell("on_given", |own| own.on_given.as_ref(), (path.0, bytes, time(now)));
    }

    fn on_blocked(&mut self, head: PathId, now: Time) {
        self.tell("on_blocked", |own| own.on_blocked.as_ref(), (head.0, time(now)));
    }

    fn ignores_demand(&self) -> bool {
        self.ignores_demand
    }

    fn burst(&self) -> u64 {
        self.burst
    }
}
