//! Traces as rows of columns, collected until they are a row group.

use super::columns::{Addresses, Group, Optional, Words, all_there, push_end, some_there};
use super::key::Keys;
use super::schema;
use crate::calendar::Day;
use crate::{Address, Hop, Marks, Trace};
use bytes::Bytes;
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::RowGroupMetaDataPtr;
use parquet::file::writer::SerializedFileWriter;
use std::fs::File;

/// Longest name of a monitor that is kept, bytes: what a host's name may have (RFC 1035, section 2.3.4).
const MONITOR: usize = 255;

/// When a trace began, microseconds since the Unix epoch; none if it is not known or beyond the calendar.
pub(super) fn start_us(trace: &Trace) -> Option<u64> {
    Some(trace.time_us()).filter(|&us| us != 0 && Day::of(us).is_some())
}

/// Who measured: the monitor's name, or else the probe's number, or else the source's address. The text is `scratch`'s.
pub(super) fn monitor<'a>(trace: &'a Trace, scratch: &'a mut String) -> &'a str {
    name_of(trace.monitor.as_deref(), trace.probe_id, trace.source, scratch)
}

/// Who measured, as [`monitor`] says it, from a monitor's name, a probe's number (0: none) and a source.
pub(super) fn name_of<'a>(name: Option<&'a str>, probe_id: u32, source: Address, scratch: &'a mut String) -> &'a str {
    use std::fmt::Write;
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        let end = (0..=MONITOR.min(name.len())).rev().find(|&at| name.is_char_boundary(at));
        return &name[..end.unwrap_or(0)];
    }
    scratch.clear();
    // Writing to a string cannot fail.
    let _ = match (probe_id, source.is_none()) {
        (0, true) => write!(scratch, "unknown"),
        (0, false) => write!(scratch, "{source}"),
        (probe, _) => write!(scratch, "probe {probe}"),
    };
    scratch
}

/// A row group in memory.
pub(super) struct Encoded {
    bytes: Bytes,
    about: RowGroupMetaDataPtr,
}

impl Encoded {
    /// Adds it to a file.
    pub fn write(self, file: &mut SerializedFileWriter<File>) -> Result<()> {
        let mut group = file.next_row_group()?;
        for column in self.about.columns() {
            let close = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: self.about.num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            group.append_column(&self.bytes, close)?;
        }
        group.close().map(drop)
    }
}

/// Rows of one day.
#[derive(Default)]
pub(super) struct Rows {
    key: Vec<i64>,
    monitor: Words,
    src: Addresses,
    src_there: Vec<i16>,
    dst: Addresses,
    dst_there: Vec<i16>,
    start: Optional<i64>,
    method: Words,
    stop: Words,
    class: Words,
    /// complete, toolong, loop, gap, adjdup, multi.
    marks: [Vec<bool>; 6],
    hops: Vec<i32>,
    rtt_us: Optional<i32>,
    list_id: Vec<i32>,
    cycle_id: Vec<i32>,
    /// How many answers each row has.
    answers: Vec<u32>,
    hop_ttl: Vec<u8>,
    hop_addr: Addresses,
    hop_rtt_us: Vec<u32>,
    sport: Optional<i32>,
    dport: Optional<i32>,
    hop_icmp_type: Vec<u8>,
    hop_icmp_code: Vec<u8>,
    hop_reply_ttl: Vec<u8>,
    /// How many MPLS labels each row has.
    labels: Vec<u32>,
    mpls_hop: Vec<u16>,
    mpls_label: Vec<u32>,
    mpls_ttl: Vec<u8>,
}

/// A port, or what stands for one; 0 if it is not known.
pub(super) fn port(number: u16) -> Option<i32> {
    (number != 0).then_some(number.into())
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.key.len()
    }

    /// How many answers they have.
    pub fn answers(&self) -> usize {
        self.hop_ttl.len()
    }

    /// Adds a trace, measured by `monitor` at `start_us`, of which `marks` hold.
    pub fn push(&mut self, trace: &Trace, marks: &Marks, monitor: &str, start_us: Option<u64>, keys: &mut Keys) {
        self.key.push(keys.of(trace, monitor, start_us.unwrap_or(0)) as i64);
        self.monitor.push(monitor);
        push_end(trace.source, &mut self.src, &mut self.src_there);
        push_end(trace.destination, &mut self.dst, &mut self.dst_there);
        self.start.push(start_us.map(|us| us as i64));
        self.method.push(trace.method.name());
        self.stop.push(trace.stop.name());
        self.class.push(marks.class().name());
        let holds = [marks.complete, marks.too_long, marks.looped, marks.gap, marks.adjacent, marks.multi];
        self.marks.iter_mut().zip(holds).for_each(|(column, holds)| column.push(holds));
        self.hops.push(trace.length().into());
        self.rtt_us.push(trace.rtt().map(|rtt| rtt.as_micros() as i32));
        self.list_id.push(trace.list_id as i32);
        self.cycle_id.push(trace.cycle_id as i32);
        let before = self.answers();
        for hop in trace.path() {
            self.hop_ttl.push(hop.ttl);
            self.hop_addr.push(hop.address);
            self.hop_rtt_us.push(hop.rtt_us);
            let (icmp_type, icmp_code) = hop.icmp().unwrap_or((Hop::NO_ICMP, 0));
            self.hop_icmp_type.push(icmp_type);
            self.hop_icmp_code.push(icmp_code);
            self.hop_reply_ttl.push(hop.reply_ttl);
        }
        self.answers.push((self.answers() - before) as u32);
        self.sport.push(port(trace.source_port));
        self.dport.push(port(trace.destination_port));
        let before = self.mpls_hop.len();
        for (place, label) in trace.path_labels() {
            self.mpls_hop.push(place as u16);
            self.mpls_label.push(label.label);
            self.mpls_ttl.push(label.ttl);
        }
        self.labels.push((self.mpls_hop.len() - before) as u32);
    }

    /// Encodes them as a row group, columns in the schema's order.
    pub fn encode(mut self) -> Result<Encoded> {
        let mut file = SerializedFileWriter::new(Vec::new(), schema::columns()?, schema::properties()?)?;
        let mut group = Group::begin(&mut file)?;
        group.column::<Int64Type>(|c| c.write_batch(&self.key, None, None))?;
        group.words(&self.monitor)?;
        group.ends(&mut self.src, Some(&self.src_there))?;
        group.ends(&mut self.dst, Some(&self.dst_there))?;
        group.optional::<Int64Type>(&self.start)?;
        group.words(&self.method)?;
        group.words(&self.stop)?;
        group.words(&self.class)?;
        for holds in &self.marks {
            group.column::<BoolType>(|c| c.write_batch(holds, None, None))?;
        }
        group.column::<Int32Type>(|c| c.write_batch(&self.hops, None, None))?;
        group.optional::<Int32Type>(&self.rtt_us)?;
        group.column::<Int32Type>(|c| c.write_batch(&self.list_id, None, None))?;
        group.column::<Int32Type>(|c| c.write_batch(&self.cycle_id, None, None))?;
        let ttl = &self.hop_ttl;
        group.lists::<Int32Type>(&self.answers, |r| all_there(&ttl[r]))?;
        let (all, mut at) = (ByteArray::from(std::mem::take(&mut self.hop_addr.bytes)), 0);
        let sizes = &self.hop_addr.sizes;
        group.lists::<ByteArrayType>(&self.answers, |r| (Addresses::arrays(&all, &sizes[r], &mut at), Vec::new()))?;
        let rtt = &self.hop_rtt_us;
        let taken = |&us: &u32| (us != Hop::NO_RTT).then_some(us as i32);
        group.lists::<Int32Type>(&self.answers, |r| some_there(rtt[r].iter().map(taken)))?;
        group.optional::<Int32Type>(&self.sport)?;
        group.optional::<Int32Type>(&self.dport)?;
        let (icmp_type, icmp_code, reply_ttl) = (&self.hop_icmp_type, &self.hop_icmp_code, &self.hop_reply_ttl);
        let known = |&of: &u8| of != Hop::NO_ICMP;
        group.lists::<Int32Type>(&self.answers, |r| {
            some_there(icmp_type[r].iter().map(|of| known(of).then_some((*of).into())))
        })?;
        group.lists::<Int32Type>(&self.answers, |r| {
            let both = icmp_type[r.clone()].iter().zip(&icmp_code[r]);
            some_there(both.map(|(of, &code)| known(of).then_some(code.into())))
        })?;
        group.lists::<Int32Type>(&self.answers, |r| {
            some_there(reply_ttl[r].iter().map(|&ttl| (ttl != 0).then_some(ttl.into())))
        })?;
        group.lists::<Int32Type>(&self.labels, |r| all_there(&self.mpls_hop[r]))?;
        group.lists::<Int32Type>(&self.labels, |r| {
            (self.mpls_label[r].iter().map(|&label| label as i32).collect(), Vec::new())
        })?;
        group.lists::<Int32Type>(&self.labels, |r| all_there(&self.mpls_ttl[r]))?;
        let about = group.end()?;
        Ok(Encoded { bytes: Bytes::from(file.into_inner()?), about })
    }
}
