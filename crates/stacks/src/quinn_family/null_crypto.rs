//! The null cipher ([`crate::null`]) by the traits of this family.

use super::differences::{IdArgument, Receiver, malformed_handshake};
use super::proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use super::proto::transport_parameters::TransportParameters;
use super::proto::{ConnectError, Side, TransportError};
use crate::null::{self, Handshake, Resumption, TAG};
use bytes::BytesMut;
use haltere_transport::Role;
use std::any::Any;

/// Starts sessions without encryption.
pub(super) struct Null(pub Resumption);

/// A key of the first phase, or of one after so many key updates (RFC 9001 section 6).
#[derive(Clone, Copy, Default)]
struct NullKey(u64);

impl NullKey {
    /// The number that seals a packet, by which packets of another phase cannot be opened. Packet numbers have 62 bits.
    fn nonce(self, packet: u64) -> u64 {
        packet ^ self.0.rotate_right(2)
    }
}

fn pair<T: ?Sized>(make: impl Fn() -> Box<T>) -> KeyPair<Box<T>> {
    KeyPair { local: make(), remote: make() }
}

fn keys() -> Keys {
    Keys { header: pair(|| Box::new(NullKey::default()) as Box<dyn HeaderKey>), packet: packet_keys(0) }
}

fn packet_keys(phase: u64) -> KeyPair<Box<dyn PacketKey>> {
    pair(|| Box::new(NullKey(phase)) as Box<dyn PacketKey>)
}

impl HeaderKey for NullKey {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        TAG
    }
}

macro_rules! packet_key {
    ($($path:ident: $Path:ty)?) => {
        impl PacketKey for NullKey {
            fn encrypt(&self, $(_: $Path,)? packet: u64, buf: &mut [u8], header_len: usize) {
                null::seal(self.nonce(packet), buf, header_len);
            }
            fn decrypt(
                &self,
                $(_: $Path,)?
                packet: u64,
                header: &[u8],
                payload: &mut BytesMut,
            ) -> Result<(), CryptoError> {
                let len = null::open(self.nonce(packet), header, payload).ok_or(CryptoError)?;
                payload.truncate(len);
                Ok(())
            }
            fn tag_len(&self) -> usize {
                TAG
            }
            // RFC 9001 section 6.6, AEAD_AES_128_GCM, so that keys are updated when they would be.
            fn confidentiality_limit(&self) -> u64 {
                1 << 23
            }
            fn integrity_limit(&self) -> u64 {
                1 << 52
            }
        }
    };
}
packet_key_arguments!(packet_key);

/// A handshake, and how many key updates it has made keys for.
struct NullSession(Handshake, u64);

impl NullSession {
    fn boxed(role: Role, params: &TransportParameters, resumption: &Resumption) -> Box<dyn Session> {
        let mut own = Vec::new();
        params.write(&mut own);
        Box::new(NullSession(Handshake::new(role, own, resumption.clone()), 0))
    }
}

impl ClientConfig for Null {
    fn start_session(
        self: Receiver<'_, Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(NullSession::boxed(Role::Client, params, &self.0))
    }
}

impl ServerConfig for Null {
    fn initial_keys(&self, _: u32, _: IdArgument<'_>) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }
    fn retry_tag(&self, _: u32, orig_dst_cid: IdArgument<'_>, packet: &[u8]) -> [u8; 16] {
        null::retry_tag(&orig_dst_cid[..], packet)
    }
    fn start_session(self: Receiver<'_, Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        NullSession::boxed(Role::Server, params, &self.0)
    }
}

impl Session for NullSession {
    fn initial_keys(&self, _: IdArgument<'_>, _: Side) -> Keys {
        keys()
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.0.peer().map(|_| Box::new(()) as Box<dyn Any>)
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let key = NullKey::default();
        self.0.early().then(|| (Box::new(key) as Box<dyn HeaderKey>, Box::new(key) as Box<dyn PacketKey>))
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.0.is_client().then(|| self.0.early())
    }
    fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.0.read(buf).map_err(|_| malformed_handshake())
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let side = if self.0.is_client() { Side::Client } else { Side::Server };
        let read = |bytes: Vec<u8>| TransportParameters::read(side, &mut &bytes[..]);
        self.0.peer().map(read).transpose().map_err(Into::into)
    }
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        self.0.write(buf).map(|_| keys())
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.1 += 1;
        Some(packet_keys(self.1))
    }
    fn is_valid_retry(&self, orig_dst_cid: IdArgument<'_>, header: &[u8], payload: &[u8]) -> bool {
        null::is_valid_retry(&orig_dst_cid[..], header, payload)
    }
    fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}
