//! Secure Shell as scp uses it: the flights of its handshake, and the sizes of its packets.
//!
//! The flights are those of OpenSSH 9.2 (both ends, without configuration; key exchange sntrup761x25519-sha512, cipher
//! chacha20-poly1305, Ed25519 keys, login by public key), measured on loopback with 50 ms in each direction. In a copy by
//! `scp -O` the server sends the file (`scp -f`). What is encrypted is written here as the size of its payload. Names such
//! as the user's and the file's make some of these a few bytes longer or shorter.
//!
//! Sources: RFC 4253 (transport), RFC 4252 (authentication), RFC 4254 (channels), OpenSSH's `PROTOCOL` and
//! `PROTOCOL.chacha20poly1305`.

use crate::http::Script;
use crate::tls::{Flights, Seal};

/// The window of a session's channel: 64 packets.
pub const WINDOW: u64 = 64 * DATA_MAX;
/// The most data in a packet of a session's channel.
pub const DATA_MAX: u64 = 32 << 10;

/// The identification string (RFC 4253 section 4.2), here of Debian's package.
const VERSION: u64 = 41;
/// KEXINIT (RFC 4253 section 7.1). The client's has a longer list of host keys.
const KEXINIT: [u64; 2] = [1560, 1088];
/// The client's public keys of both methods.
const KEX_INIT: u64 = 1208;
/// The answer with the host's key and signature, NEWKEYS (RFC 4253 section 7.3) and EXT_INFO (RFC 8308).
const KEX_REPLY: u64 = 1564;
/// NEWKEYS, which is not encrypted.
const NEW_KEYS: u64 = 16;

/// Size of an encrypted packet with this payload: the length of 4, the padding's length, the payload, at least 4 bytes of
/// padding to a multiple of 8 without the length's field, and the tag of 16.
const fn packet(payload: u64) -> u64 {
    4 + (1 + payload + 4).next_multiple_of(8) + 16
}

/// Size of a packet with this much data of a channel (RFC 4254 section 5.2).
pub const fn data(bytes: u64) -> u64 {
    packet(1 + 4 + 4 + bytes)
}

/// Size of a window adjustment (RFC 4254 section 5.2).
pub const ADJUST: u64 = packet(1 + 4 + 4);

/// The line that precedes a file: its mode, length and name, as in `C0644 20000000 big.bin`.
pub const LINE: u64 = 24;

/// The client's flights.
const CLIENT: [u64; 10] = [
    VERSION,
    KEXINIT[0] + KEX_INIT,
    // The service request (RFC 4253 section 10).
    NEW_KEYS + packet(17),
    // Requests of authentication: "none", a public key as a question, and with a signature over the session and the host's
    // key ("publickey-hostbound-v00@openssh.com") (RFC 4252 sections 5.2 and 7).
    packet(35),
    packet(111),
    packet(277),
    // The channel (RFC 4254 section 6.1), and that there will be no other ("no-more-sessions@openssh.com").
    packet(24) + packet(34),
    // "exec" with the command (RFC 4254 section 6.5).
    packet(48),
    // A zero byte, for the file's line and then for its data.
    data(1),
    data(1),
];
/// The server's. The one after the last has the data.
const SERVER: [u64; 9] = [
    VERSION + KEXINIT[1],
    KEX_REPLY,
    packet(17),
    // The methods of authentication; the key is known; success, the host's keys ("hostkeys-00@openssh.com") and two
    // messages on what the key may do (RFC 4253 section 11.3).
    packet(36),
    packet(71),
    packet(1) + 412,
    // The channel is open; its window, and the command has begun.
    packet(17),
    ADJUST + packet(5),
    data(LINE),
];

/// The flights until the server may send the file. The client's last asks for it.
pub fn handshake() -> Script {
    let (client, server) = (CLIENT.to_vec(), [SERVER.as_slice(), &[0]].concat());
    let last = SERVER.len();
    let flights = Flights { client, server, request: last, response: last, seal: Seal::NONE };
    let mut script = Script::new(&flights, 0, 0);
    // The data follow as the window allows.
    script.server.pop();
    script
}

/// The receiving end of a channel's window, as OpenSSH keeps it (`channel_check_window`): what was read is given back once
/// it is more than three packets, or half of the window.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    window: u64,
    consumed: u64,
}

impl Receiver {
    /// The window after the line that precedes the file.
    pub fn after_line() -> Receiver {
        Receiver { window: WINDOW - LINE, consumed: LINE }
    }

    /// A packet with this much data was read. Returns by how much the window is opened again, if it is now.
    pub fn read(&mut self, bytes: u64) -> Option<u64> {
        self.window = self.window.saturating_sub(bytes);
        self.consumed += bytes;
        let due = WINDOW - self.window > 3 * DATA_MAX || self.window < WINDOW / 2;
        due.then(|| {
            self.window += self.consumed;
            std::mem::take(&mut self.consumed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_the_sizes_that_were_measured() {
        assert_eq!((data(DATA_MAX), ADJUST, data(1), data(LINE)), (32_804, 36, 36, 60));
        // The packets that end a window of 2 MiB of which the line has taken 24 bytes.
        assert_eq!(63 * data(DATA_MAX) + data(DATA_MAX - LINE), 2_099_432);
        assert_eq!(CLIENT, [41, 2768, 60, 60, 140, 308, 112, 76, 36, 36]);
        assert_eq!(SERVER, [1129, 1564, 44, 68, 100, 440, 44, 72, 60]);
    }

    #[test]
    fn the_window_is_opened_after_more_than_three_packets() {
        let mut receiver = Receiver::after_line();
        let adjusts: Vec<_> = (0..12).map(|_| receiver.read(DATA_MAX)).collect();
        let (first, four) = (Some(3 * DATA_MAX + LINE), Some(4 * DATA_MAX));
        assert_eq!(adjusts, [None, None, first, None, None, None, four, None, None, None, four, None]);
    }
}
