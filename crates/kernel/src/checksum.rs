//! The Internet checksum (RFC 1071), which a card completes for the kernel.

/// The ones' complement sum of some bytes, folded to 16 bits.
fn sum(bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks::<4>();
    // 2^32 words of 32 bits fit into the sum; frames are far shorter.
    let mut sum: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum += u64::from(u32::from_be_bytes(last));
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Completes the checksum at `start + offset` over the bytes from `start` on, where the sum over the pseudo-header stands already
/// (virtio 1.2, section 5.1.6.2). `None` if the frame is too short for that.
pub fn complete(frame: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let at = start.checked_add(offset)?;
    let whole = match !sum(frame.get(start..)?) {
        // A UDP datagram whose checksum is 0 has none (RFC 768).
        0 => 0xffff,
        whole => whole,
    };
    frame.get_mut(at..at.checked_add(2)?)?.copy_from_slice(&whole.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
    }

    proptest! {
        #[test]
        fn a_completed_frame_sums_to_ones(mut frame in proptest::collection::vec(any::<u8>(), 2..100), start in 0usize..110, offset in 0usize..110) {
            let before = frame.clone();
            match complete(&mut frame, start, 2 * offset) {
                Some(()) => prop_assert!(
                    frame[..start] == before[..start] && start + 2 * offset + 2 <= frame.len()
                ),
                None => prop_assert_eq!(frame, before),
            }
        }
        #[test]
        fn a_checksum_field_of_zero_is_completed(mut frame in proptest::collection::vec(any::<u8>(), 4..100)) {
            (frame[2], frame[3]) = (0, 0);
            complete(&mut frame, 0, 2);
            prop_assert_eq!(sum(&frame), 0xffff);
        }
    }
}
