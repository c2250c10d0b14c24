//! A stack's random numbers, all of which come from one named stream of the run.

use haltere_net::rng::Stream;

/// Length of the connection ids that ends give themselves, bytes; as both stacks have it by default.
pub(crate) const CONNECTION_ID: usize = 8;
/// Length of the id that a client addresses its first packets to, bytes; as both stacks have it by default.
pub(crate) const FIRST_CONNECTION_ID: usize = 20;

/// The next `N` bytes.
pub(crate) fn bytes<const N: usize>(stream: &mut Stream) -> [u8; N] {
    let mut bytes = [0; N];
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&stream.bits().to_le_bytes()[..chunk.len()]);
    }
    bytes
}
