//! Media in real time: frames of video go into a transport at one end and come out at the other, or are lost.

use haltere_net::{Rate, Time};

/// A frame of the video of a call, as its encoder wrote it. Its content is not simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Its number in the order of capture, from 0 on.
    pub number: u64,
    /// Its length, bytes.
    pub bytes: u32,
    /// When the camera took it.
    pub captured: Time,
    /// Whether it can be shown without those before it (a key frame).
    pub key: bool,
}

/// The reports of a transport of media to its application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// All of a frame arrived. Frames come as they are complete; those that are given up do not come.
    Frame(Frame),
    /// The congestion control lets media be sent at this rate from now on. It counts the payload of RTP packets.
    TargetRate(Rate),
    /// The peer cannot show the frames that arrive: the next one is to be a key frame (RFC 4585 section 6.3.1).
    KeyFrameWanted,
}
