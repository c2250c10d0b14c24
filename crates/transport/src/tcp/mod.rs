//! TCP.

/// A TCP segment.
#[derive(Clone, Debug)]
pub struct Segment {}
