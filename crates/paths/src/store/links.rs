//! Writes the links that multipath measurements found as Parquet files, one for each day.

use super::columns::{Addresses, Group, Optional, Words, push_end};
use super::parts::{Part, Table};
use super::refusal::Refusal;
use super::{rows, schema};
use crate::calendar::Day;
use crate::{FlowLink, Multipath};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedFileWriter;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use twox_hash::XxHash64;

/// Links in memory, over all days.
const LINKS: usize = 1 << 20;

/// Collects the links of one file. The bytes that are written depend on the measurements and their order alone.
pub(super) struct Links {
    folder: PathBuf,
    days: BTreeMap<Option<Day>, Rows>,
    waiting: usize,
    done: Vec<Part>,
}

impl Links {
    /// Links that are written into a folder, which must be there.
    pub fn new(folder: &Path) -> Links {
        Links { folder: folder.to_owned(), days: BTreeMap::new(), waiting: 0, done: Vec::new() }
    }

    /// Adds what a measurement found.
    pub fn push(&mut self, found: &Multipath) -> std::result::Result<(), Refusal> {
        let day = Some(found.start_us).filter(|&us| us != 0).and_then(Day::of);
        self.days.entry(day).or_default().push(found, day.map(|_| found.start_us as i64));
        self.waiting += found.links.len();
        if self.waiting >= LINKS { self.write() } else { Ok(()) }
    }

    /// Writes what waits, and gives all parts.
    pub fn finish(mut self) -> std::result::Result<Vec<Part>, Refusal> {
        self.write()?;
        Ok(self.done)
    }

    fn write(&mut self) -> std::result::Result<(), Refusal> {
        self.waiting = 0;
        for (day, rows) in std::mem::take(&mut self.days) {
            let written = rows.key.len() as u64;
            if written == 0 {
                continue;
            }
            let number = self.done.len();
            let file = self.folder.join(format!("multipath-{number}.parquet"));
            let created = File::create(&file).map_err(|e| Refusal::system(&file, &e))?;
            let stored = rows.store(created).map_err(|e| Refusal::parquet(&file, &e))?;
            // On the disk before the ledger says so.
            stored.sync_data().map_err(|e| Refusal::system(&file, &e))?;
            self.done.push(Part { table: Table::Multipath, day, number, file, rows: written });
        }
        Ok(())
    }
}

/// The links of one day.
#[derive(Default)]
struct Rows {
    key: Vec<i64>,
    monitor: Words,
    src: Addresses,
    src_there: Vec<i16>,
    dst: Addresses,
    start: Optional<i64>,
    method: Words,
    sport: Optional<i32>,
    dport: Optional<i32>,
    confidence: Optional<i32>,
    ttl: Vec<i32>,
    near: Addresses,
    far: Addresses,
    flows: Vec<i32>,
    rtt_us: Optional<i32>,
}

/// The key of a measurement, the same in all rows of its links: XXH64 with seed 0 of source, destination (16 bytes each, as in
/// the key of a trace), start (8 bytes), and of each link its TTL, nearer and farther end, flows (4) and delay (4, all ones where
/// there is none), numbers in network order.
fn key(found: &Multipath) -> u64 {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(found.source.bytes());
    bytes.extend_from_slice(found.destination.bytes());
    bytes.extend_from_slice(&found.start_us.to_be_bytes());
    for link in &found.links {
        bytes.push(link.ttl);
        bytes.extend_from_slice(link.near.bytes());
        bytes.extend_from_slice(link.far.bytes());
        bytes.extend_from_slice(&link.flows.to_be_bytes());
        bytes.extend_from_slice(&link.rtt_us.unwrap_or(u32::MAX).to_be_bytes());
    }
    XxHash64::oneshot(0, &bytes)
}

impl Rows {
    fn push(&mut self, found: &Multipath, start: Option<i64>) {
        let key = key(found) as i64;
        let mut scratch = String::new();
        let monitor = rows::name_of(found.monitor.as_deref(), 0, found.source, &mut scratch);
        for &FlowLink { ttl, near, far, flows, rtt_us } in &found.links {
            self.key.push(key);
            self.monitor.push(monitor);
            push_end(found.source, &mut self.src, &mut self.src_there);
            self.dst.push(found.destination);
            self.start.push(start);
            self.method.push(found.method);
            self.sport.push(rows::port(found.source_port));
            self.dport.push(rows::port(found.destination_port));
            self.confidence.push((found.confidence != 0).then_some(found.confidence.into()));
            self.ttl.push(ttl.into());
            self.near.push(near);
            self.far.push(far);
            self.flows.push(flows as i32);
            self.rtt_us.push(rtt_us.map(|us| us as i32));
        }
    }

    /// Writes them as a file of one row group, columns in the schema's order.
    fn store(mut self, file: File) -> Result<File> {
        let mut writer = SerializedFileWriter::new(file, schema::links()?, schema::properties()?)?;
        let mut group = Group::begin(&mut writer)?;
        group.column::<Int64Type>(|c| c.write_batch(&self.key, None, None))?;
        group.words(&self.monitor)?;
        group.ends(&mut self.src, Some(&self.src_there))?;
        group.ends(&mut self.dst, None)?;
        group.optional::<Int64Type>(&self.start)?;
        group.words(&self.method)?;
        group.optional::<Int32Type>(&self.sport)?;
        group.optional::<Int32Type>(&self.dport)?;
        group.optional::<Int32Type>(&self.confidence)?;
        group.column::<Int32Type>(|c| c.write_batch(&self.ttl, None, None))?;
        group.ends(&mut self.near, None)?;
        group.ends(&mut self.far, None)?;
        group.column::<Int32Type>(|c| c.write_batch(&self.flows, None, None))?;
        group.optional::<Int32Type>(&self.rtt_us)?;
        group.end()?;
        writer.into_inner()
    }
}
