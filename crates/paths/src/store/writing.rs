//! Encodes row groups on threads of their own and writes them on another, so that one core reads a file while others make its parts.

use super::refusal::Refusal;
use super::rows::{Encoded, Rows};
use super::schema;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// An order to the thread that writes; parts have numbers.
enum Work {
    Begin(usize, PathBuf),
    /// A row group, as soon as it is encoded.
    Group(usize, Receiver<Result<Encoded, ParquetError>>),
    End(usize),
}

/// A row group to be encoded, and where it goes.
type Raw = (Box<Rows>, SyncSender<Result<Encoded, ParquetError>>);

/// The parts that are being written. Orders are carried out in the order in which they came, so that the bytes do not depend
/// on timing.
pub(super) struct Writing {
    folder: PathBuf,
    raw: Option<SyncSender<Raw>>,
    work: Option<SyncSender<Work>>,
    thread: Option<JoinHandle<Result<(), Refusal>>>,
}

impl Writing {
    /// Parts in a folder, which must be there, encoded by `threads` threads.
    pub fn new(folder: &Path, threads: usize) -> Result<Writing, Refusal> {
        let refused = |e: io::Error| Refusal::system(folder, &e);
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        // A channel without room: `group` returns when a thread begins to encode the group. So at most one group a thread is in
        // memory, beside the one that is being filled.
        let (raw, groups) = sync_channel::<Raw>(0);
        let groups = Arc::new(Mutex::new(groups));
        for _ in 0..threads.max(1) {
            let groups = Arc::clone(&groups);
            named("encode").spawn(move || encode(&groups)).map_err(refused)?;
        }
        // Encoded groups are small, so one a thread may wait for the writer.
        let (sender, receiver) = sync_channel(threads.max(1));
        let thread = named("write").spawn(move || work(&receiver)).map_err(refused)?;
        Ok(Writing { folder: folder.to_owned(), raw: Some(raw), work: Some(sender), thread: Some(thread) })
    }

    /// Begins a part.
    pub fn begin(&mut self, number: usize, file: &Path) -> Result<(), Refusal> {
        self.ask(Work::Begin(number, file.to_owned()))
    }

    /// Adds a row group to a part.
    pub fn group(&mut self, number: usize, rows: Rows) -> Result<(), Refusal> {
        let (encoded, when) = sync_channel(1);
        self.ask(Work::Group(number, when))?;
        let taken = self.raw.as_ref().is_some_and(|raw| raw.send((Box::new(rows), encoded)).is_ok());
        if taken { Ok(()) } else { Err(self.fault()) }
    }

    /// Ends a part.
    pub fn end(&mut self, number: usize) -> Result<(), Refusal> {
        self.ask(Work::End(number))
    }

    /// Waits until all parts are on the disk.
    pub fn finish(mut self) -> Result<(), Refusal> {
        self.join()
    }

    fn ask(&mut self, work: Work) -> Result<(), Refusal> {
        let taken = self.work.as_ref().is_some_and(|sender| sender.send(work).is_ok());
        // A thread that takes no more work has ended with the reason.
        if taken { Ok(()) } else { self.join().and_then(|()| Err(self.fault())) }
    }

    fn join(&mut self) -> Result<(), Refusal> {
        (self.raw, self.work) = (None, None);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(self.fault()),
            None => Ok(()),
        }
    }

    fn fault(&self) -> Refusal {
        Refusal::new(
            &self.folder,
            "the thread that writes it has ended",
            "please report it: this is a fault of haltere's",
        )
    }
}

/// Whoever gives up early waits, too, so that nobody writes into a folder that is being removed.
impl Drop for Writing {
    fn drop(&mut self) {
        let _ = self.join();
    }
}

/// Encodes row groups until there are no more.
fn encode(groups: &Mutex<Receiver<Raw>>) {
    loop {
        let next = groups.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((rows, encoded)) = next else { return };
        // Who wants it no more has given up.
        let _ = encoded.send(rows.encode());
    }
}

fn work(asked: &Receiver<Work>) -> Result<(), Refusal> {
    let mut open: HashMap<usize, (PathBuf, SerializedFileWriter<File>)> = HashMap::new();
    while let Ok(work) = asked.recv() {
        match work {
            Work::Begin(number, file) => {
                let writer = begin(&file)?;
                open.insert(number, (file, writer));
            }
            Work::Group(number, encoded) => {
                if let Some((file, writer)) = open.get_mut(&number) {
                    let lost = |_| Err(ParquetError::General("a thread that encodes has ended".to_owned()));
                    let encoded = encoded.recv().unwrap_or_else(lost);
                    encoded.and_then(|group| group.write(writer)).map_err(|e| Refusal::parquet(file, &e))?;
                }
            }
            Work::End(number) => {
                if let Some((file, mut writer)) = open.remove(&number) {
                    writer.finish().map_err(|e| Refusal::parquet(&file, &e))?;
                    // On the disk before the ledger says so.
                    writer.inner().sync_data().map_err(|e| Refusal::system(&file, &e))?;
                }
            }
        }
    }
    Ok(())
}

fn begin(file: &Path) -> Result<SerializedFileWriter<File>, Refusal> {
    let told = |e: ParquetError| Refusal::parquet(file, &e);
    let created = File::create(file).map_err(|e| Refusal::system(file, &e))?;
    SerializedFileWriter::new(created, schema::columns().map_err(told)?, schema::properties().map_err(told)?)
        .map_err(told)
}
