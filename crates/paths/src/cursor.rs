//! Reads a record field by field, big-endian, and never beyond its end.

use crate::framed::Fault;

const SHORT: Fault = "the record ends before its fields do";

#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    pub fn left(&self) -> usize {
        self.rest.len()
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*head)
    }

    #[inline]
    pub fn slice(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or(SHORT)?;
        self.rest = rest;
        Ok(head)
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8, Fault> {
        Ok(self.array::<1>()?[0])
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16, Fault> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Seconds and microseconds, as microseconds.
    #[inline]
    pub fn instant(&mut self) -> Result<u64, Fault> {
        let both = u64::from_be_bytes(self.array()?);
        Ok((both >> 32) * 1_000_000 + (both & 0xffff_ffff))
    }

    /// A string up to its zero.
    pub fn string(&mut self) -> Result<&'a [u8], Fault> {
        let end = self.rest.iter().position(|&b| b == 0).ok_or("a string without its end")?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }
}
