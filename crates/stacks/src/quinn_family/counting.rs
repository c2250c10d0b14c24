//! Counts the packets that could not be decrypted, which the stacks drop without telling.

use super::differences::{IdArgument, Receiver};
use super::proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use super::proto::transport_parameters::TransportParameters;
use super::proto::{ConnectError, Side, TransportError};
use crate::meter::Meter;
use bytes::BytesMut;
use std::any::Any;
use std::sync::Arc;

/// A configuration, a session or a key whose packets are counted; everything else goes through.
pub(super) struct Counting<T: ?Sized> {
    meter: Meter,
    inner: T,
}

impl<T> Counting<T> {
    pub fn new(inner: T, meter: &Meter) -> Counting<T> {
        Counting { meter: meter.clone(), inner }
    }
}

fn packet(keys: KeyPair<Box<dyn PacketKey>>, meter: &Meter) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: keys.local, remote: Box::new(Counting::new(keys.remote, meter)) }
}

fn all(keys: Keys, meter: &Meter) -> Keys {
    Keys { header: keys.header, packet: packet(keys.packet, meter) }
}

macro_rules! packet_key {
    ($($path:ident: $Path:ty)?) => {
        impl PacketKey for Counting<Box<dyn PacketKey>> {
            fn encrypt(&self, $($path: $Path,)? packet: u64, buf: &mut [u8], header_len: usize) {
                self.inner.encrypt($($path,)? packet, buf, header_len);
            }
            fn decrypt(
                &self,
                $($path: $Path,)?
                packet: u64,
                header: &[u8],
                payload: &mut BytesMut,
            ) -> Result<(), CryptoError> {
                self.inner.decrypt($($path,)? packet, header, payload).inspect_err(|_| self.meter.damaged())
            }
            fn tag_len(&self) -> usize {
                self.inner.tag_len()
            }
            fn confidentiality_limit(&self) -> u64 {
                self.inner.confidentiality_limit()
            }
            fn integrity_limit(&self) -> u64 {
                self.inner.integrity_limit()
            }
        }
    };
}
packet_key_arguments!(packet_key);

impl ClientConfig for Counting<Arc<dyn ClientConfig>> {
    fn start_session(
        self: Receiver<'_, Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let session = self.inner.clone().start_session(version, server_name, params)?;
        Ok(Box::new(Counting::new(session, &self.meter)))
    }
}

impl ServerConfig for Counting<Arc<dyn ServerConfig>> {
    fn initial_keys(&self, version: u32, dst_cid: IdArgument<'_>) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, dst_cid).map(|keys| all(keys, &self.meter))
    }
    fn retry_tag(&self, version: u32, orig_dst_cid: IdArgument<'_>, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, orig_dst_cid, packet)
    }
    fn start_session(self: Receiver<'_, Self>, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(Counting::new(self.inner.clone().start_session(version, params), &self.meter))
    }
}

impl Session for Counting<Box<dyn Session>> {
    fn initial_keys(&self, dst_cid: IdArgument<'_>, side: Side) -> Keys {
        all(self.inner.initial_keys(dst_cid, side), &self.meter)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (header, packet) = self.inner.early_crypto()?;
        Some((header, Box::new(Counting::new(packet, &self.meter))))
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(buf).map(|keys| all(keys, &self.meter))
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys().map(|keys| packet(keys, &self.meter))
    }
    fn is_valid_retry(&self, orig_dst_cid: IdArgument<'_>, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}
