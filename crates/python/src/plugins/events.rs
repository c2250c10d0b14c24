//! The events of the interface of plugins as Python sees them: the fields of `haltere.h`, by the same names.

use haltere_net::rng::Stream;
use haltere_plugins::abi;
use haltere_plugins::queue::{EMPTY, Setup, Told};
use haltere_transport::cc::Config as Facts;
use haltere_transport::cc::SlowStart;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

macro_rules! event {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "haltere._core")]
        pub(super) struct $name(pub abi::$name);

        #[pymethods]
        impl $name {
            $(#[getter]
            fn $field(&self) -> $type {
                self.0.$field
            })*

            fn __repr__(&self) -> String {
                format!("{:?}", self.0)
            }
        }
    };
}

event! {
    /// The handshake is complete and data may flow.
    Established { now: i64, rtt: i64, }
}
event! {
    /// A packet is about to be sent.
    Sent { now: i64, bytes: i64, in_flight: i64, total_delivered: i64, after_idle: i64, timeout: i64, app_limited: bool, }
}
event! {
    /// A sample of the delivery rate.
    RateSample {
        delivered: i64, interval: i64, prior_delivered: i64, lost: i64, in_flight: i64, app_limited: bool,
    }
}
event! {
    /// An ACK of a connection that uses ECN, and what it delivered.
    Echo { now: i64, acked_to: i64, sent_to: i64, total_delivered: i64, total_marked: i64, }
}
event! {
    /// An ACK arrived, and its losses have not been looked for yet.
    Arrival { now: i64, rtt: i64, srtt: i64, min_rtt: i64, acked_to: i64, sent_to: i64, total_delivered: i64, prior_delivered: i64, in_flight: i64, stamp_now: i64, stamp_value: i64, stamp_echo: i64, }
}
event! {
    /// A packet was found lost.
    Lost {
        now: i64, start: i64, end: i64, bytes: i64, total_delivered: i64, total_lost: i64, sent_delivered: i64, sent_lost: i64,
        sent_in_flight: i64, sent_app_limited: bool,
    }
}
event! {
    /// Congestion was detected.
    Congestion { now: i64, in_flight: i64, lost: i64, trigger: u32, new_episode: bool, }
}
event! {
    /// A path of a connection.
    Path {
        id: u32, own: bool, usable: bool, standby: bool, in_slow_start: bool, window: i64, ssthresh: i64, in_flight: i64, queued: i64,
        capacity: i64, overhead: i64, mss: i64, srtt: i64, min_rtt: i64, rtt_variation: i64, delivery_rate: i64, pacing_rate: i64,
        paced_until: i64, since_loss: i64, between_losses: i64,
    }
}

event! {
    /// The data that a connection as a whole has to send.
    Demand { waiting: i64, outstanding: i64, window: i64, beyond: i64, }
}

event! {
    /// A packet in front of a link.
    Packet { size: i64, arrived: i64, flow: i64, ecn: u32, dscp: u32, fits: bool, }
}
event! {
    /// A band of a queue.
    Band { packets: i64, bytes: i64, head_size: i64, head_arrived: i64, }
}

/// An ACK that delivered data, and the paths of its connection.
#[pyclass(frozen, module = "haltere._core")]
pub(super) struct Ack(pub abi::Ack);

macro_rules! fields_of_ack {
    ($($field:ident: $type:ty,)*) => {
        #[pymethods]
        impl Ack {
            $(#[getter]
            fn $field(&self) -> $type {
                self.0.$field
            })*

            /// The sample of the delivery rate.
            #[getter]
            fn rate(&self) -> RateSample {
                RateSample(self.0.rate)
            }

            fn __repr__(&self) -> String {
                format!("{:?}", self.0)
            }
        }
    };
}
fields_of_ack! {
    now: i64, delivered: i64, lost: i64, rtt: i64, srtt: i64, min_rtt: i64, in_flight: i64, prior_in_flight: i64, acked_to: i64,
    sent_to: i64, total_delivered: i64, total_lost: i64, next_departure: i64, stamp_now: i64, stamp_value: i64, stamp_echo: i64,
    phase: u32, window_limited: bool, may_grow: bool, delayed: bool,
}

/// The facts about a path with which its controller is created.
#[pyclass(frozen, module = "haltere._core")]
pub(super) struct Config {
    #[pyo3(get)]
    mss: u64,
    #[pyo3(get)]
    wire: u64,
    #[pyo3(get)]
    grain: u64,
    #[pyo3(get)]
    initial_window: u64,
    #[pyo3(get)]
    connections: u64,
    #[pyo3(get)]
    tick: u64,
    #[pyo3(get)]
    phase: u64,
    #[pyo3(get)]
    slow_start: u32,
    #[pyo3(get)]
    paced: bool,
    dice: Mutex<Stream>,
}

impl Config {
    pub(super) fn new(facts: &Facts) -> Config {
        Config {
            mss: facts.mss,
            wire: facts.wire,
            grain: facts.grain,
            initial_window: facts.initial_window,
            connections: facts.connections,
            tick: facts.tick.as_nanos(),
            phase: facts.phase.as_nanos(),
            slow_start: match facts.slow_start {
                None => abi::HALTERE_SLOW_START_OWN,
                Some(SlowStart::Standard) => abi::HALTERE_SLOW_START_STANDARD,
                Some(SlowStart::HyStart) => abi::HALTERE_SLOW_START_HYSTART,
                Some(SlowStart::HyStartPlusPlus) => abi::HALTERE_SLOW_START_HYSTARTPP,
            },
            paced: facts.paced,
            dice: Mutex::new(facts.stream.clone()),
        }
    }
}

#[pymethods]
impl Config {
    /// A random number from [0, 1), from the run's own dice.
    fn random(&self) -> f64 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).unit()
    }
}

/// The run's own dice, with which a path scheduler is created.
#[pyclass(frozen, module = "haltere._core")]
pub(super) struct Dice(Mutex<Stream>);

impl Dice {
    pub(super) fn new(stream: Stream) -> Dice {
        Dice(Mutex::new(stream))
    }
}

#[pymethods]
impl Dice {
    /// A random number from [0, 1), from the run's own dice.
    fn random(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unit()
    }
}

/// The state of a queue when its discipline is asked.
#[pyclass(frozen, module = "haltere._core")]
pub(super) struct Queue(pub Mutex<Told>);

impl Queue {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Exchanges the state. What a discipline is told is here while it is called.
    pub(super) fn exchange(&self, with: &mut Told) {
        std::mem::swap(&mut *self.told(), with);
    }
}

#[pymethods]
impl Queue {
    #[getter]
    fn now(&self) -> i64 {
        self.told().now
    }
    #[getter]
    fn packets(&self) -> i64 {
        self.told().packets
    }
    #[getter]
    fn bytes(&self) -> i64 {
        self.told().bytes
    }
    #[getter]
    fn limit_packets(&self) -> i64 {
        self.told().limit_packets
    }
    #[getter]
    fn limit_bytes(&self) -> i64 {
        self.told().limit_bytes
    }
    /// How many bands have been used.
    #[getter]
    fn band_count(&self) -> usize {
        self.told().bands.len()
    }

    /// The band of a number. Bands that have not been used are empty.
    fn band(&self, number: usize) -> Band {
        Band(self.told().bands.get(number).copied().unwrap_or(EMPTY))
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.told())
    }
}

/// The facts about a link with which the discipline of its queue is created.
#[pyclass(frozen, module = "haltere._core")]
pub(super) struct QueueConfig {
    #[pyo3(get)]
    rate: i64,
    #[pyo3(get)]
    rtt: i64,
    #[pyo3(get)]
    mtu: i64,
    dice: Mutex<Stream>,
}

impl QueueConfig {
    pub(super) fn new(setup: &Setup) -> QueueConfig {
        QueueConfig { rate: setup.rate, rtt: setup.rtt, mtu: setup.mtu, dice: Mutex::new(setup.stream.clone()) }
    }
}

#[pymethods]
impl QueueConfig {
    /// A random number from [0, 1), from the run's own dice.
    fn random(&self) -> f64 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).unit()
    }
}

pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Config>()?;
    module.add_class::<Established>()?;
    module.add_class::<Sent>()?;
    module.add_class::<RateSample>()?;
    module.add_class::<Ack>()?;
    module.add_class::<Echo>()?;
    module.add_class::<Arrival>()?;
    module.add_class::<Lost>()?;
    module.add_class::<Congestion>()?;
    module.add_class::<Path>()?;
    module.add_class::<Demand>()?;
    module.add_class::<Dice>()?;
    module.add_class::<Packet>()?;
    module.add_class::<Band>()?;
    module.add_class::<Queue>()?;
    module.add_class::<QueueConfig>()
}
