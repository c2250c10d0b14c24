//! Writes row groups on a thread of its own, so that one core reads a file while another writes its parts.

use super::refusal::Refusal;
use super::rows::Rows;
use super::schema;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// What is to be done with the part of a number.
enum Work {
    Begin(usize, PathBuf),
    Group(usize, Box<Rows>),
    End(usize),
}

/// The parts that are being written. What is asked for is done in this order, so that the bytes do not depend on timing.
pub(super) struct Writing {
    folder: PathBuf,
    work: Option<SyncSender<Work>>,
    thread: Option<JoinHandle<Result<(), Refusal>>>,
}

impl Writing {
    /// Parts in a folder, which must be there.
    pub fn new(folder: &Path) -> Result<Writing, Refusal> {
        // Nothing waits: whoever brings a group goes on when it is being written, so that at most two are in memory.
        let (sender, receiver) = sync_channel(0);
        let spawned = thread::Builder::new().name("write".to_owned()).spawn(move || work(&receiver));
        let thread = spawned.map_err(|e| Refusal::system(folder, &e))?;
        Ok(Writing { folder: folder.to_owned(), work: Some(sender), thread: Some(thread) })
    }

    /// Begins a part.
    pub fn begin(&mut self, number: usize, file: &Path) -> Result<(), Refusal> {
        self.ask(Work::Begin(number, file.to_owned()))
    }

    /// Adds a row group to a part.
    pub fn group(&mut self, number: usize, rows: Rows) -> Result<(), Refusal> {
        self.ask(Work::Group(number, Box::new(rows)))
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
        self.work = None;
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

fn work(asked: &Receiver<Work>) -> Result<(), Refusal> {
    let mut open: HashMap<usize, (PathBuf, SerializedFileWriter<File>)> = HashMap::new();
    while let Ok(work) = asked.recv() {
        match work {
            Work::Begin(number, file) => {
                let writer = begin(&file)?;
                open.insert(number, (file, writer));
            }
            Work::Group(number, rows) => {
                if let Some((file, writer)) = open.get_mut(&number) {
                    rows.write(writer).map_err(|e| Refusal::parquet(file, &e))?;
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
