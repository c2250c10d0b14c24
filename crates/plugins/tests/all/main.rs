//! Tests of the interface of libraries.

mod header;
