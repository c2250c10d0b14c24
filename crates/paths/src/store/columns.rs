//! Columns of different kinds, collected until they are a row group, and how they are handed to Parquet's writer.

use crate::Address;
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaDataPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

/// Values of a list that are handed over at once: few, as Parquet's writer takes them in a form that needs more memory.
const BATCH: usize = 1 << 16;

/// A column of words with few different values.
#[derive(Default)]
pub(super) struct Words {
    numbers: HashMap<Box<str>, u32>,
    pub words: Vec<ByteArray>,
    pub rows: Vec<u32>,
}

impl Words {
    pub fn push(&mut self, word: &str) {
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
pub(super) struct Optional<T> {
    pub values: Vec<T>,
    pub there: Vec<i16>,
}

impl<T> Default for Optional<T> {
    fn default() -> Optional<T> {
        Optional { values: Vec::new(), there: Vec::new() }
    }
}

impl<T> Optional<T> {
    pub fn push(&mut self, value: Option<T>) {
        self.there.push(value.is_some().into());
        self.values.extend(value);
    }
}

/// Addresses in a row, 4 or 16 bytes each.
#[derive(Default)]
pub(super) struct Addresses {
    pub bytes: Vec<u8>,
    pub sizes: Vec<u8>,
}

impl Addresses {
    #[inline]
    pub fn push(&mut self, address: Address) {
        let bytes = address.bytes();
        let bytes = if address.is_v4() { &bytes[12..] } else { &bytes[..] };
        self.bytes.extend_from_slice(bytes);
        self.sizes.push(bytes.len() as u8);
    }

    /// Hands them over in the order in which they came, from `at` on, and moves `at`.
    pub fn arrays(all: &ByteArray, sizes: &[u8], at: &mut usize) -> Vec<ByteArray> {
        let one = |&size: &u8| {
            let start = *at;
            *at += usize::from(size);
            all.slice(start, size.into())
        };
        sizes.iter().map(one).collect()
    }
}

/// The elements of a list that are there, and which are; an empty list of the latter says that all are.
pub(super) type Elements<T> = (Vec<T>, Vec<bool>);

pub(super) fn all_there<T: Copy + Into<i32>>(values: &[T]) -> Elements<i32> {
    (values.iter().map(|&value| value.into()).collect(), Vec::new())
}

pub(super) fn some_there(values: impl Iterator<Item = Option<i32>> + Clone) -> Elements<i32> {
    (values.clone().flatten().collect(), values.map(|value| value.is_some()).collect())
}

pub(super) fn push_end(address: Address, column: &mut Addresses, there: &mut Vec<i16>) {
    there.push((!address.is_none()).into());
    if !address.is_none() {
        column.push(address);
    }
}

/// A row group that is being written.
pub(super) struct Group<'a, W: Write + Send>(SerializedRowGroupWriter<'a, W>);

impl<'a, W: Write + Send> Group<'a, W> {
    /// The next row group of a file.
    pub fn begin(file: &'a mut SerializedFileWriter<W>) -> Result<Group<'a, W>> {
        file.next_row_group().map(Group)
    }

    /// Ends the group, of which all columns were written.
    pub fn end(self) -> Result<RowGroupMetaDataPtr> {
        self.0.close()
    }

    pub fn column<T: DataType>(
        &mut self,
        write: impl FnOnce(&mut ColumnWriterImpl<'_, T>) -> Result<usize>,
    ) -> Result<()> {
        let none = || ParquetError::General("the schema has fewer columns than rows have".to_owned());
        let mut column = self.0.next_column()?.ok_or_else(none)?;
        write(column.typed::<T>())?;
        column.close()
    }

    pub fn words(&mut self, words: &Words) -> Result<()> {
        let values: Vec<ByteArray> = words.rows.iter().map(|&n| words.words[n as usize].clone()).collect();
        self.column::<ByteArrayType>(|c| c.write_batch(&values, None, None))
    }

    /// Addresses, all of them there or those that `there` says.
    pub fn ends(&mut self, ends: &mut Addresses, there: Option<&[i16]>) -> Result<()> {
        let (all, mut at) = (ByteArray::from(std::mem::take(&mut ends.bytes)), 0);
        let values = Addresses::arrays(&all, &ends.sizes, &mut at);
        self.column::<ByteArrayType>(|c| c.write_batch(&values, there, None))
    }

    /// Values that may be missing.
    pub fn optional<T: DataType>(&mut self, column: &Optional<T::T>) -> Result<()> {
        self.column::<T>(|c| c.write_batch(&column.values, Some(&column.there), None))
    }

    /// Lists of `answers` elements each. `values` gives the elements of a range.
    pub fn lists<T: DataType>(
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
