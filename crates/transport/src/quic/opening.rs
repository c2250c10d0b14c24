//! The exchanges before the handshake or with it: Version Negotiation (RFC 9000 section 6), Retry (section 8.1.2) and
//! 0-RTT packets (RFC 9001 section 4.6).

use super::buffer::SendBuffer;
use super::config::Design;
use super::connection::Connection;
use super::packet::{Datagram, Form, QuicPacket, SpaceId, token_bytes};
use super::sizes::{HANDSHAKE_HEADER, MIN_DATAGRAM, RETRY_TOKEN, SHORT_HEADER, Session};
use super::space::Spaces;
use crate::Body;
use crate::endpoint::Role;
use haltere_net::{Packet, PathId, Span, Time};

/// How far the opening is.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Opening {
    /// Client: the version in use is one that the server does not have.
    unknown_version: bool,
    /// Client: bytes of the token that a Retry packet brought, for Initial packets to carry.
    token: u8,
    /// There are 0-RTT keys: the client writes with them until it has others; the server reads with them, and answers
    /// before the handshake is complete.
    pub early_keys: bool,
    /// Server: what is to be sent in answer to a packet that makes no connection.
    pub answer: Option<Form>,
    /// When this attempt began.
    since: Time,
}

impl Connection {
    /// The client's first flight is to go out.
    pub(super) fn say_hello(&mut self) {
        self.progress.started = true;
        self.opening.since = self.now;
        self.opening.unknown_version = self.config.unknown_version;
        if self.config.session == Session::EarlyData {
            let remembered = self.config.remembered.unwrap_or_else(|| self.config.parameters());
            self.streams.on_parameters(&remembered);
            // A session is of one version (RFC 9001 section 4.6): its ticket is of no use with another one.
            self.opening.early_keys = !self.opening.unknown_version;
        }
        self.queue_hello();
        self.restart_idle();
    }

    fn queue_hello(&mut self) {
        let mut send = SendBuffer::default();
        send.write(u64::from(self.config.flights().client_hello));
        send.finish();
        self.crypto[0].send = send;
    }

    /// How packets of a space are written now.
    #[inline]
    pub(super) fn form(&self, id: SpaceId) -> Form {
        match id {
            SpaceId::Data if !self.progress.complete && self.config.role == Role::Client => Form::ZeroRtt,
            SpaceId::Initial if self.opening.unknown_version => Form::UnknownVersion,
            SpaceId::Data => self.config.form(),
            _ if self.config.long_ids => Form::LongIds,
            _ => Form::Plain,
        }
    }

    /// Bytes of the token that packets of a space carry.
    #[inline]
    pub(super) fn token(&self, id: SpaceId) -> u8 {
        if id == SpaceId::Initial { self.opening.token } else { 0 }
    }

    /// Bytes of a packet in this space beside its number and frames.
    #[inline]
    pub(super) fn overhead(&self, id: SpaceId) -> u32 {
        id.overhead()
            + match (id, self.form(id)) {
                (_, Form::LongIds) => {
                    id.longer() + if id == SpaceId::Initial { token_bytes(self.opening.token) } else { 0 }
                }
                (SpaceId::Initial, _) => token_bytes(self.opening.token),
                (SpaceId::Data, Form::Numbered) => self.config.header(),
                (SpaceId::Data, Form::ZeroRtt) => HANDSHAKE_HEADER - SHORT_HEADER,
                _ => 0,
            }
    }

    /// Whether a packet that is not of the plain form is to be read; what has no frames is dealt with here.
    pub(super) fn admits(&mut self, packet: &QuicPacket) -> bool {
        let taken = match packet.form {
            Form::Plain => return true,
            Form::Numbered if self.config.design == Design::Conext2017 => return true,
            Form::LongIds if self.config.long_ids => return true,
            Form::ZeroRtt => {
                let expected = self.config.role == Role::Server
                    && self.config.session == Session::EarlyData
                    && packet.space == SpaceId::Data;
                if expected {
                    return true;
                }
                false
            }
            Form::VersionNegotiation => self.on_version_negotiation(),
            Form::Retry => self.on_retry(packet.token),
            // Of the server's answers to unknown versions see `answers_statelessly`.
            Form::UnknownVersion | Form::Numbered | Form::LongIds | Form::Forged => false,
        };
        self.stats.invalid_packets += u64::from(!taken);
        false
    }

    /// Whether the client has read anything of the server's: then it is too late for Version Negotiation and Retry.
    fn has_heard(&self) -> bool {
        self.progress.handshake_keys || self.spaces.of(SpaceId::Initial, 0).received.any()
    }

    /// RFC 9000 section 6.2: the client begins anew with a version that both have. One that lists the version in use is
    /// discarded, so that it acts once.
    fn on_version_negotiation(&mut self) -> bool {
        if self.config.role == Role::Server || !self.opening.unknown_version || self.has_heard() {
            return false;
        }
        let rtt = self.round_trip();
        self.paths[0] = self.new_path(PathId(0));
        self.spaces = Spaces::new();
        self.opening =
            Opening { early_keys: self.config.session == Session::EarlyData, since: self.now, ..Opening::default() };
        self.queue_hello();
        self.learn(rtt);
        true
    }

    /// Section 17.2.5.2: the client says the same again with the token; packet numbers go on (section 17.2.5.3), and
    /// loss detection begins anew (RFC 9002 section 6.3).
    fn on_retry(&mut self, token: u8) -> bool {
        let expected = self.config.role == Role::Client && self.progress.started && !self.opening.unknown_version;
        if !expected || token == 0 || self.opening.token > 0 || self.has_heard() {
            return false;
        }
        let rtt = self.round_trip();
        self.opening.token = token;
        self.spaces.of(SpaceId::Data, 0).sent.oldest(usize::MAX, &mut self.fates.lost);
        self.apply_fates(0, SpaceId::Data);
        for id in [SpaceId::Initial, SpaceId::Data] {
            let bytes = self.spaces.of_mut(id, 0).discard();
            self.paths[0].on_discarded(bytes);
        }
        self.queue_hello();
        self.learn(rtt);
        true
    }

    /// How long the answer to the first packets took, if it is surely theirs.
    fn round_trip(&self) -> Option<Span> {
        (self.paths[0].pto_count == 0).then(|| self.now.since(self.opening.since))
    }

    /// Such a time may stand for the first RTT sample (RFC 9002 section 6.2.2).
    fn learn(&mut self, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.paths[0].rtt.update(self.now, rtt, Span::ZERO);
        }
        self.opening.since = self.now;
        self.restart_idle();
    }

    /// Server: whether a datagram makes no connection and goes on none, but is answered by a Version Negotiation or a Retry
    /// packet, or dropped. Nothing of it is kept, so neither counts towards the anti-amplification limit.
    pub(super) fn answers_statelessly(&mut self, datagram: &Datagram, size: u32) -> bool {
        let first = datagram.packets.iter().next();
        let answer = match first {
            Some(p) if p.form == Form::UnknownVersion => Some(Form::VersionNegotiation),
            Some(p)
                if self.config.retry
                    && p.space == SpaceId::Initial
                    && matches!(p.form, Form::Plain | Form::LongIds) =>
            {
                if p.token == RETRY_TOKEN {
                    return false;
                }
                Some(Form::Retry)
            }
            // 0-RTT packets that came apart from the Initial packet.
            Some(_) if self.config.retry && !self.progress.started => None,
            _ => return false,
        };
        // Section 14.1: Initial packets come in datagrams of 1200 bytes at least.
        match answer.filter(|_| size >= MIN_DATAGRAM) {
            Some(answer) => self.opening.answer = Some(answer),
            None => self.stats.invalid_packets += 1,
        }
        true
    }

    /// The answer to such a datagram.
    #[cold]
    #[inline(never)]
    pub(super) fn transmit_answer(&mut self) -> Option<Packet<Body>> {
        let form = self.opening.answer.take()?;
        let token = if form == Form::Retry { RETRY_TOKEN } else { 0 };
        let mut packet = QuicPacket {
            space: SpaceId::Initial,
            form,
            token,
            number_len: 0,
            size: 0,
            number: 0,
            frames: Default::default(),
        };
        packet.size = packet.encoded_len();
        let size = packet.size;
        let mut datagram = Datagram::default();
        datagram.packets.push(packet);
        self.stats.sent_all += 1;
        Some(self.paths[0].wrap(datagram, size))
    }
}
