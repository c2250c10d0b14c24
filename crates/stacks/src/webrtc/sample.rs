//! A frame as the sample of VP8 that str0m packetises: its first bytes carry what the far end must know of it.

use haltere_net::Time;
use haltere_transport::media::Frame;

/// The bit of the first byte of a frame of VP8 that says that it needs others (RFC 6386 section 9.1), which the payload's reader looks at
/// (RFC 7741 section 4.3).
const NEEDS_OTHERS: u8 = 1;

/// A tag, the number, the length, and when the frame was taken: so long is the shortest sample.
const HEAD: usize = 1 + 8 + 4 + 8;

/// The sample of a frame. A frame that is shorter than what is said of it is lengthened.
pub(super) fn write(frame: Frame) -> Vec<u8> {
    let mut sample = Vec::with_capacity(HEAD.max(frame.bytes as usize));
    sample.push(if frame.key { 0 } else { NEEDS_OTHERS });
    sample.extend_from_slice(&frame.number.to_be_bytes());
    sample.extend_from_slice(&frame.bytes.to_be_bytes());
    sample.extend_from_slice(&frame.captured.as_nanos().to_be_bytes());
    sample.resize(HEAD.max(frame.bytes as usize), 0);
    sample
}

/// The frame of a sample; `None` if it is none of ours.
pub(super) fn read(sample: &[u8]) -> Option<Frame> {
    let (tag, rest) = sample.split_first()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (bytes, rest) = rest.split_first_chunk()?;
    let (captured, _) = rest.split_first_chunk()?;
    let frame = Frame {
        number: u64::from_be_bytes(*number),
        bytes: u32::from_be_bytes(*bytes),
        captured: Time::from_nanos(u64::from_be_bytes(*captured)),
        key: tag & NEEDS_OTHERS == 0,
    };
    (sample.len() == HEAD.max(frame.bytes as usize)).then_some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_as_they_went() {
        for (bytes, key) in [(0, true), (20, false), (21, true), (1_200, false), (90_000, true)] {
            let frame = Frame { number: 1 << 40, bytes, captured: Time::from_nanos(123_456_789_012), key };
            let sample = write(frame);
            assert_eq!((read(&sample), sample.len()), (Some(frame), HEAD.max(bytes as usize)));
            assert_eq!(read(&sample[..sample.len() - 1]), None);
        }
        assert_eq!(read(&[]), None);
    }
}
