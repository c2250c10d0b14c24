//! A queue discipline that is an object of Python.

use super::watch::Inside;
use super::{Described, events, shown};
use haltere_net::queue::Implementation;
use haltere_plugins::abi;
use haltere_plugins::queue::{self, Asked, Decides, Setup, Told};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::Mutex;

/// The discipline of a class, under this name.
pub(super) fn implementation(name: &'static str, mut class: Described) -> Result<&'static Implementation, String> {
    let (parameters, _) = class.parameters();
    let description = class.description(name);
    let make = class.make;
    queue::implementation(shown(name), description, parameters, move |setup| {
        Python::attach(|py| {
            let names = parameters.iter().map(|parameter| parameter.name);
            let values: Vec<(&str, f64)> = names.zip(setup.values.iter().copied()).collect();
            let made = Object::new(py, &make, &setup, values).map_err(|error| super::reason(py, &error))?;
            let asked = Asked {
                enqueue: made.enqueue.is_some(),
                next_band: made.next_band.is_some(),
                dequeue: made.dequeue.is_some(),
                ready_at: made.ready_at.is_some(),
            };
            Ok((Box::new(made) as Box<dyn Decides>, asked))
        })
    })
}

/// An object of a class: its methods, which hold it, and the state that they are shown.
struct Object {
    enqueue: Option<Py<PyAny>>,
    next_band: Option<Py<PyAny>>,
    dequeue: Option<Py<PyAny>>,
    ready_at: Option<Py<PyAny>>,
    queue: Py<events::Queue>,
}

impl Object {
    fn new(py: Python<'_>, make: &Py<PyAny>, setup: &Setup, values: Vec<(&str, f64)>) -> PyResult<Object> {
        let inside = Inside::call(py);
        let object = make.bind(py).call1((events::QueueConfig::new(setup), values));
        drop(inside);
        let object = object?;
        let method = |name: &str| Ok::<_, PyErr>(object.getattr_opt(name)?.map(Bound::unbind));
        let nothing = Told::new(haltere_net::queue::Limit::Packets(0));
        Ok(Object {
            enqueue: method("enqueue")?,
            next_band: method("next_band")?,
            dequeue: method("dequeue")?,
            ready_at: method("ready_at")?,
            queue: Py::new(py, events::Queue(Mutex::new(nothing)))?,
        })
    }

    /// The answer of a method, which is given a packet if there is one.
    fn ask(
        &self,
        method: fn(&Object) -> Option<&Py<PyAny>>,
        packet: Option<&abi::Packet>,
        told: &mut Told,
    ) -> Result<i64, String> {
        Python::attach(|py| {
            let Some(method) = method(self) else { return Ok(0) };
            let queue = self.queue.bind(py);
            queue.get().exchange(told);
            let inside = Inside::call(py);
            let answer = match packet {
                Some(packet) => method.bind(py).call1((events::Packet(*packet), queue)),
                None => method.bind(py).call1((queue,)),
            };
            drop(inside);
            queue.get().exchange(told);
            let number = answer.and_then(|answer| {
                answer
                    .extract::<i64>()
                    .map_err(|_| PyTypeError::new_err(format!("it returned {answer}: return a whole number")))
            });
            number.map_err(|error| super::reason(py, &error))
        })
    }
}

impl Decides for Object {
    fn enqueue(&mut self, packet: &abi::Packet, queue: &mut Told) -> Result<i64, String> {
        self.ask(|own| own.enqueue.as_ref(), Some(packet), queue)
    }

    fn next_band(&mut self, queue: &mut Told) -> Result<i64, String> {
        self.ask(|own| own.next_band.as_ref(), None, queue)
    }

    fn dequeue(&mut self, packet: &abi::Packet, queue: &mut Told) -> Result<i64, String> {
        self.ask(|own| own.dequeue.as_ref(), Some(packet), queue)
    }

    fn ready_at(&mut self, queue: &mut Told) -> Result<i64, String> {
        self.ask(|own| own.ready_at.as_ref(), None, queue)
    }
}
