//! TLS 1.3 by rustls and ring, with a certificate of the laboratory's.
//!
//! The certificate is signed by Ed25519, whose signatures all have one length: an ECDSA signature is of one of three by
//! chance, and with it the handshake. It is as long as the model's chain ([`HandshakeSizes::CLASSICAL`]). The three
//! files come from `haltere._core.make_certificate(folder, "ed25519")`, rewritten from PEM to DER; they are valid from 1970
//! to 2199, secret to nobody and good for nothing else.
//!
//! [`HandshakeSizes::CLASSICAL`]: haltere_transport::quic::HandshakeSizes::CLASSICAL

use crate::clock::Calendar;
use crate::config::Error;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;

const AUTHORITY: &[u8] = include_bytes!("authority.der");
const SERVER: &[u8] = include_bytes!("server.der");
const KEY: &[u8] = include_bytes!("key.der");

/// The name in the certificate; `.test` never resolves outside (RFC 6761 section 6.2).
pub(crate) const NAME: &str = "haltere.test";
const ALPN: &[u8] = b"h3";

impl TimeProvider for Calendar {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.since_epoch()))
    }
}

/// The TLS of two ends whose sessions outlive their connections: copies share the stores. A client takes up a session only
/// with the certificate verifier by which it was made, so that this must be shared too.
#[derive(Clone)]
pub(crate) struct Pair {
    client: ClientConfig,
    server: ServerConfig,
}

impl Pair {
    pub fn new() -> Result<Pair, Error> {
        let calendar = Calendar::default();
        Ok(Pair { client: client(&calendar)?, server: server(&calendar)? })
    }

    /// The client's, which sends early data if it may.
    pub fn client(&self, calendar: &Calendar, early: bool) -> ClientConfig {
        let mut config = self.client.clone();
        config.time_provider = Arc::new(calendar.clone());
        config.enable_early_data = early;
        config
    }

    pub fn server(&self, calendar: &Calendar) -> ServerConfig {
        let mut config = self.server.clone();
        config.time_provider = Arc::new(calendar.clone());
        config
    }
}

/// A server's TLS, as the stacks' own default has it but for certificate and calendar.
pub(crate) fn server(calendar: &Calendar) -> Result<ServerConfig, Error> {
    let builder = ServerConfig::builder_with_details(Arc::new(ring::default_provider()), Arc::new(calendar.clone()));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(Error::new)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let mut config =
        builder.with_no_client_auth().with_single_cert(vec![CertificateDer::from(SERVER)], key).map_err(Error::new)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.max_early_data_size = u32::MAX;
    Ok(config)
}

/// A client's TLS, which trusts the laboratory's authority.
pub(crate) fn client(calendar: &Calendar) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(AUTHORITY)).map_err(Error::new)?;
    let builder = ClientConfig::builder_with_details(Arc::new(ring::default_provider()), Arc::new(calendar.clone()));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(Error::new)?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.enable_early_data = true;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Parameters;
    use crate::null::{Handshake, Level, Past};
    use haltere_transport::Role;
    use haltere_transport::quic::Session;
    use rustls::quic::{ClientConnection, KeyChange, ServerConnection, Version};

    /// Lengths of what TLS says in turn: client's hello; server's hello, flight; client's end; server's tickets.
    fn of_tls(pair: &Pair, session: Session, client_parameters: usize, server_parameters: usize) -> [usize; 5] {
        let calendar = Calendar::default();
        let (client, server) =
            (Arc::new(pair.client(&calendar, session == Session::EarlyData)), pair.server(&calendar));
        let name = NAME.try_into().unwrap();
        let mut client = ClientConnection::new(client, Version::V1, name, vec![0; client_parameters]).unwrap();
        let mut server = ServerConnection::new(Arc::new(server), Version::V1, vec![0; server_parameters]).unwrap();
        let (mut hello, mut answer, mut flight, mut end, mut tickets) = (vec![], vec![], vec![], vec![], vec![]);
        assert!(client.write_hs(&mut hello).is_none());
        assert_eq!(client.zero_rtt_keys().is_some(), session == Session::EarlyData);
        server.read_hs(&hello).unwrap();
        assert_eq!(server.zero_rtt_keys().is_some(), session == Session::EarlyData);
        assert!(matches!(server.write_hs(&mut answer), Some(KeyChange::Handshake { .. })));
        assert!(matches!(server.write_hs(&mut flight), Some(KeyChange::OneRtt { .. })));
        client.read_hs(&answer).unwrap();
        assert!(client.write_hs(&mut vec![]).is_some());
        client.read_hs(&flight).unwrap();
        assert!(client.write_hs(&mut end).is_some());
        server.read_hs(&end).unwrap();
        assert!(server.write_hs(&mut tickets).is_none());
        client.read_hs(&tickets).unwrap();
        [hello, answer, flight, end, tickets].map(|m| m.len())
    }

    fn of_null(past: &Past, client_parameters: usize, server_parameters: usize) -> [usize; 5] {
        let mut client = Handshake::new(Role::Client, vec![0; client_parameters], past.clone());
        let mut server = Handshake::new(Role::Server, vec![0; server_parameters], past.clone());
        let (mut hello, mut answer, mut flight, mut end, mut tickets) = (vec![], vec![], vec![], vec![], vec![]);
        assert!(client.write(&mut hello).is_none());
        assert_eq!(client.early(), past.session == Session::EarlyData);
        server.read(&hello).unwrap();
        assert_eq!(server.early(), past.session == Session::EarlyData);
        assert_eq!(server.write(&mut answer), Some(Level::Handshake));
        assert_eq!(server.write(&mut flight), Some(Level::Data));
        client.read(&answer).unwrap();
        assert_eq!(client.write(&mut vec![]), Some(Level::Handshake));
        client.read(&flight).unwrap();
        assert_eq!(client.write(&mut end), Some(Level::Data));
        server.read(&end).unwrap();
        assert_eq!(server.write(&mut tickets), None);
        client.read(&tickets).unwrap();
        [hello, answer, flight, end, tickets].map(|m| m.len())
    }

    #[test]
    fn the_null_cipher_says_as_much_as_tls() {
        for (client, server) in [(60, 80), (75, 101)] {
            let (pair, parameters) = (Pair::new().unwrap(), Parameters::default());
            for session in [Session::New, Session::Resumed, Session::EarlyData] {
                let past = Past { session, parameters: parameters.clone() };
                let (tls, null) = (of_tls(&pair, session, client, server), of_null(&past, client, server));
                assert_eq!(tls, null, "{session:?}");
            }
        }
    }
}
