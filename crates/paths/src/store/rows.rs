//! Traces as rows of columns, collected until they are a row group.

use super::key::Keys;
use crate::calendar::Day;
use crate::{Address, Class, Hop, Marks, Trace};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;

/// Values of a list that are handed over at once: few, as Parquet's writer takes them in a form that needs more memory.
const BATCH: usize = 1 << 16;

/// Longest name of a monitor that is kept, bytes: what a host's name may have (RFC 1035, section 2.3.4).
const MONITOR: usize = 255;

/// The word for a class, in the column `class`.
pub(super) fn class_word(class: Class) -> &'static str {
    match class {
        Class::Clean => "clean",
        Class::Loop => "loop",
        Class::Repeat => "repeat",
        Class::TooLong => "toolong",
        Class::Incomplete => "incomplete",
    }
}

/// When a trace began, microseconds since the Unix epoch; none if it is not known or beyond the calendar.
pub(super) fn start_us(trace: &Trace) -> Option<u64> {
    Some(trace.time_us()).filter(|&us| us != 0 && Day::of(us).is_some())
}

/// Who measured: the monitor's name, or else the probe's number, or else the source's address. The text is `scratch`'s.
pub(super) fn monitor<'a>(trace: &'a Trace, scratch: &'a mut String) -> &'a str {
    use std::fmt::Write;
    if let Some(name) = trace.monitor.as_deref().filter(|name| !name.is_empty()) {
        let end = (0..=MONITOR.min(name.len())).rev().find(|&at| name.is_char_boundary(at));
        return &name[..end.unwrap_or(0)];
    }
    scratch.clear();
    // Writing to a string cannot fail.
    let _ = match (trace.probe_id, trace.source.is_none()) {
        (0, true) => write!(scratch, "unknown"),
        (0, false) => write!(scratch, "{}", trace.source),
        (probe, _) => write!(scratch, "probe {probe}"),
    };
    scratch
}

/// A column of words with few different values.
#[derive(Default)]
struct Words {
    numbers: HashMap<Box<str>, u32>,
    words: Vec<ByteArray>,
    rows: Vec<u32>,
}

impl Words {
    fn push(&mut self, word: &str) {
        if let Some(&last) = self.rows.last()
            && self.words[last as usize].data() == word.as_bytes()
        {
            return self.rows.push(last);
        }
        let number = self.numbers.get(word).copied().unwrap_or_else(|| {
            let number = self.words.len() as u32;
            self.numbers.insert(word.into(), number);
            self.words.push(word.as_bytes().into());
            number
        });
        self.rows.push(number);
    }
}

/// Values that may be missing, with Parquet's definition levels: 1 for each that is there.
struct Optional<T> {
    values: Vec<T>,
    there: Vec<i16>,
}

impl<T> Default for Optional<T> {
    fn default() -> Optional<T> {
        Optional { values: Vec::new(), there: Vec::new() }
    }
}

impl<T> Optional<T> {
    fn push(&mut self, value: Option<T>) {
        self.there.push(value.is_some().into());
        self.values.extend(value);
    }
}

/// Addresses in a row, 4 or 16 bytes each.
#[derive(Default)]
struct Addresses {
    bytes: Vec<u8>,
    sizes: Vec<u8>,
}

impl Addresses {
    #[inline]
    fn push(&mut self, address: Address) {
        let bytes = address.bytes();
        let bytes = if address.is_v4() { &bytes[12..] } else { &bytes[..] };
        self.bytes.extend_from_slice(bytes);
        self.sizes.push(bytes.len() as u8);
    }

    /// Hands them over in the order in which they came, from `at` on, and moves `at`.
    fn arrays(all: &ByteArray, sizes: &[u8], at: &mut usize) -> Vec<ByteArray> {
        let one = |&size: &u8| {
            let start = *at;
            *at += usize::from(size);
            all.slice(start, size.into())
        };
        sizes.iter().map(one).collect()
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
fn port(number: u16) -> Option<i32> {
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
        self.class.push(class_word(marks.class()));
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

    /// Writes them as a row group, columns in the schema's order.
    pub fn write(mut self, file: &mut SerializedFileWriter<File>) -> Result<()> {
        let mut group = Group(file.next_row_group()?);
        group.column::<Int64Type>(|c| c.write_batch(&self.key, None, None))?;
        group.words(&self.monitor)?;
        group.ends(&mut self.src, &self.src_there)?;
        group.ends(&mut self.dst, &self.dst_there)?;
        group.column::<Int64Type>(|c| c.write_batch(&self.start.values, Some(&self.start.there), None))?;
        group.words(&self.method)?;
        group.words(&self.stop)?;
        group.words(&self.class)?;
        for holds in &self.marks {
            group.column::<BoolType>(|c| c.write_batch(holds, None, None))?;
        }
        group.column::<Int32Type>(|c| c.write_batch(&self.hops, None, None))?;
        group.column::<Int32Type>(|c| c.write_batch(&self.rtt_us.values, Some(&self.rtt_us.there), None))?;
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
        group.column::<Int32Type>(|c| c.write_batch(&self.sport.values, Some(&self.sport.there), None))?;
        group.column::<Int32Type>(|c| c.write_batch(&self.dport.values, Some(&self.dport.there), None))?;
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
        group.0.close().map(drop)
    }
}

/// The elements of a list that are there, and which are; an empty list of the latter says that all are.
type Elements<T> = (Vec<T>, Vec<bool>);

fn all_there<T: Copy + Into<i32>>(values: &[T]) -> Elements<i32> {
    (values.iter().map(|&value| value.into()).collect(), Vec::new())
}

fn some_there(values: impl Iterator<Item = Option<i32>> + Clone) -> Elements<i32> {
    (values.clone().flatten().collect(), values.map(|value| value.is_some()).collect())
}

fn push_end(address: Address, column: &mut Addresses, there: &mut Vec<i16>) {
    there.push((!address.is_none()).into());
    if !address.is_none() {
        column.push(address);
    }
}

/// A row group that is being written.
struct Group<'a>(SerializedRowGroupWriter<'a, File>);

impl Group<'_> {
    fn column<T: DataType>(&mut self, write: impl FnOnce(&mut ColumnWriterImpl<'_, T>) -> Result<usize>) -> Result<()> {
        let none = || ParquetError::General("the schema has fewer columns than rows have".to_owned());
        let mut column = self.0.next_column()?.ok_or_else(none)?;
        write(column.typed::<T>())?;
        column.close()
    }

    fn words(&mut self, words: &Words) -> Result<()> {
        let values: Vec<ByteArray> = words.rows.iter().map(|&n| words.words[n as usize].clone()).collect();
        self.column::<ByteArrayType>(|c| c.write_batch(&values, None, None))
    }

    fn ends(&mut self, ends: &mut Addresses, there: &[i16]) -> Result<()> {
        let (all, mut at) = (ByteArray::from(std::mem::take(&mut ends.bytes)), 0);
        let values = Addresses::arrays(&all, &ends.sizes, &mut at);
        self.column::<ByteArrayType>(|c| c.write_batch(&values, Some(there), None))
    }

    /// Lists of `answers` elements each. `values` gives the elements of a range.
    fn lists<T: DataType>(
        &mut self,
        answers: &[u32],
        mut values: impl FnMut(Range<usize>) -> Elements<T::T>,
    ) -> Result<()> {
        self.column::<T>(|column| {
            let (mut rows, mut start) = (answers, 0);
            let (mut defined, mut repeated) = (Vec::new(), Vec::new());
            while !rows.is_empty() {
                let (mut end, mut taken) = (start, 0);
                defined.clear();
                repeated.clear();
                while taken < rows.len() && end - start < BATCH {
                    let n = rows[taken] as usize;
                    // An empty list has one entry, which says that nothing is there.
                    defined.extend(std::iter::repeat_n(i16::from(n > 0), n.max(1)));
                    repeated.push(0);
                    repeated.extend(std::iter::repeat_n(1, n.saturating_sub(1)));
                    (end, taken) = (end + n, taken + 1);
                }
                let (elements, there) = values(start..end);
                let lists = defined.iter_mut().filter(|d| **d == 1);
                lists.zip(&there).for_each(|(d, &there)| *d += i16::from(there));
                column.write_batch(&elements, Some(&defined), Some(&repeated))?;
                (rows, start) = (&rows[taken..], end);
            }
            Ok(start)
        })
    }
}
