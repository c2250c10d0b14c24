//! The live parts of an endpoint, beside its configuration: they draw, write, or are shared with others.

use crate::memory::Memory;
use crate::secrets::Secrets;
use crate::worker::Worker;
use haltere_net::fault::Faults;
use haltere_net::rng::Stream;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The live parts of one end of a connection.
#[derive(Clone)]
pub struct Handles {
    /// Random numbers for all that the stack draws and for our congestion control.
    pub stream: Stream,
    /// The ends' memory of an earlier connection; both must have the same.
    pub memory: Option<Memory>,
    /// Where a server's TLS logs its secrets, which are those of both ends.
    pub secrets: Secrets,
    /// Where the stack's own qlog goes, if it is wanted.
    pub qlog: Option<Sink>,
    /// Where loaded code of our congestion control says that it failed, if somebody listens.
    pub faults: Option<Faults>,
    /// The worker program, for stacks that need one. Ends that are given clones of one handle share the program, as
    /// those of a run should.
    pub worker: Worker,
}

impl Handles {
    /// Handles of an end that draws from `stream`, knows of no earlier connection, writes no qlog and shares nothing.
    pub fn new(stream: Stream) -> Handles {
        Handles {
            stream,
            memory: None,
            secrets: Secrets::default(),
            qlog: None,
            faults: None,
            worker: Worker::default(),
        }
    }
}

/// Where a stack writes its own qlog: JSON text sequences (RFC 7464) whose times count from the start of the run.
#[derive(Clone)]
pub struct Sink(Arc<Mutex<Box<dyn Write + Send>>>);

impl Sink {
    /// A sink into `writer`.
    pub fn new(writer: Box<dyn Write + Send>) -> Sink {
        Sink(Arc::new(Mutex::new(writer)))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}
