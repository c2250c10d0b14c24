//! Frames by which a server prepares its client's next connection: address tokens (RFC 9000 section 8.1.3) and session tickets (RFC
//! 8446 section 4.6.1), as quinn sends them. They take room in the first flight of data, and packets before it.
//!
//! quinn-proto 0.11.19: each Handshake packet that shows the client's address asks for two tokens anew (`connection/mod.rs`,
//! `on_path_validated`; `config/mod.rs`, `ValidationTokenConfig`), which go in 1-RTT packets before the handshake is complete, as do
//! spare connection identifiers (`issue_first_cids`). rustls adds two tickets when the handshake is complete. A server changes to
//! another of the client's identifiers as soon as it has one (`process_payload`, NEW_CONNECTION_ID).

use super::draft::Draft;
use super::frame::Frame;
use super::sent::Record;

/// Tokens that a server sends at a time (`ValidationTokenConfig::sent`).
const TOKENS: u8 = 2;
/// Bytes of a token: a random number 16, and sealed with a tag of 16 its type 1, address 1 + 4 and time 8 (`token.rs`).
const TOKEN: u32 = 16 + 1 + 5 + 8 + 16;
/// Bytes of two NewSessionTicket messages of rustls whose server keeps the sessions: header 4, lifetime 4, age_add 4, nonce 1 + 32,
/// ticket 2 + 32, extensions 2 with early_data 8 (RFC 8446 section 4.6.1).
const TICKETS: u32 = 2 * (4 + 4 + 4 + 33 + 34 + 10);
/// The room that quinn wants for NEW_CONNECTION_ID beyond the frame's size (`frame.rs`, `SIZE_BOUND`, and less than it is left).
pub(super) const ROOM_BESIDE_IDENTIFIER: u32 = 54 - 28 + 1;

/// Bytes of the two NewSessionTicket messages of BoringSSL, whose server keeps no sessions and seals them into the tickets: as quiche
/// 0.30.0 sends them here.
const SEALED_TICKETS: u32 = 396;

/// The frames that a server sends for its client's next connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum KeepsakeSet {
    /// Nothing.
    #[default]
    None,
    /// Tokens, and the tickets of rustls; tokens and identifiers before the handshake is complete, as quinn.
    Quinn,
    /// The tickets of BoringSSL, as quiche.
    Quiche,
}

/// A frame for the next connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keepsake {
    /// NEW_TOKEN (RFC 9000 section 19.7).
    Token,
    /// CRYPTO with session tickets.
    Tickets,
    /// CRYPTO with session tickets that hold the sessions.
    SealedTickets,
}

impl Keepsake {
    /// Bytes of the frame: type and length, and offset and length of CRYPTO.
    pub(super) const fn size(self) -> u32 {
        match self {
            Keepsake::Token => 1 + 1 + TOKEN,
            Keepsake::Tickets => 1 + 1 + 2 + TICKETS,
            Keepsake::SealedTickets => 1 + 1 + 2 + SEALED_TICKETS,
        }
    }
}

/// The frames that a server still has to send.
#[derive(Default, Debug)]
pub(super) struct Keepsakes {
    kind: KeepsakeSet,
    tokens: u8,
    tickets: bool,
}

impl Keepsakes {
    /// The frames of a kind; `None` if it has none.
    pub fn of(kind: KeepsakeSet) -> Option<Keepsakes> {
        (kind != KeepsakeSet::None).then(|| Keepsakes { kind, ..Keepsakes::default() })
    }

    /// Whether some of them, and identifiers with them, go before the handshake is complete.
    pub fn are_early(&self) -> bool {
        self.kind == KeepsakeSet::Quinn
    }

    /// A Handshake packet showed the client's address.
    pub fn on_validated(&mut self) {
        if self.are_early() {
            self.tokens = TOKENS;
        }
    }

    /// The handshake is complete.
    pub fn on_complete(&mut self) {
        self.tickets = true;
    }

    pub fn on_lost(&mut self, keepsake: Keepsake) {
        match keepsake {
            Keepsake::Token => self.tokens += 1,
            Keepsake::Tickets | Keepsake::SealedTickets => self.tickets = true,
        }
    }

    pub fn owes(&self) -> bool {
        self.tokens > 0 || self.tickets
    }

    fn next(&self) -> Option<Keepsake> {
        if self.tickets {
            return Some(if self.are_early() { Keepsake::Tickets } else { Keepsake::SealedTickets });
        }
        (self.tokens > 0).then_some(Keepsake::Token)
    }

    /// Puts frames into a packet, as far as there is room.
    #[cold]
    pub fn draft(&mut self, draft: &mut Draft, room: u32) {
        while let Some(keepsake) = self.next().filter(|next| draft.payload + next.size() < room) {
            match keepsake {
                Keepsake::Token => self.tokens -= 1,
                Keepsake::Tickets | Keepsake::SealedTickets => self.tickets = false,
            }
            draft.records.push(Record::Keepsake(keepsake));
            draft.push(Frame::Keepsake(keepsake));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_go_first_and_tokens_as_far_as_there_is_room() {
        assert_eq!((Keepsake::Token.size(), Keepsake::Tickets.size()), (48, 182));
        let (mut keepsakes, mut draft) = (Keepsakes::of(KeepsakeSet::Quinn).unwrap(), Draft::default());
        keepsakes.on_complete();
        keepsakes.on_validated();
        keepsakes.on_validated();
        keepsakes.draft(&mut draft, 182 + 48 + 1);
        assert_eq!((draft.payload, keepsakes.owes(), keepsakes.tokens), (182 + 48, true, 1));
        keepsakes.on_lost(Keepsake::Token);
        keepsakes.draft(&mut draft, 1200);
        assert_eq!((draft.payload, keepsakes.owes()), (182 + 3 * 48, false));
    }
}
