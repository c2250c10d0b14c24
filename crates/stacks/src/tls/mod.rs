//! TLS 1.3 by rustls and ring, with a certificate of the laboratory's.
//!
//! The certificate is signed by Ed25519, whose signatures all have one length: an ECDSA signature is of one of three by
//! chance, and with it the handshake. It is as long as the model's chain ([`HandshakeSizes::CLASSICAL`]). The three
//! files come from `haltere._core.make_certificate(folder, "ed25519")`, rewritten from PEM to DER; they are valid from
//! 1970 to 2199, not secret, and of no use elsewhere.
//!
//! [`HandshakeSizes::CLASSICAL`]: haltere_transport::quic::HandshakeSizes::CLASSICAL

use crate::clock::Calendar;
use crate::config::Error;
use haltere_transport::quic::Session;
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

/// The TLS of two ends whose sessions outlive their connections: copies share the stores. A client takes up a session
/// only with the certificate verifier by which it was made, so that this must be shared too.
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
    pub fn client(&self, calendar: &Calendar, session: Session) -> ClientConfig {
        let mut config = self.client.clone();
        config.time_provider = Arc::new(calendar.clone());
        config.enable_early_data = session == Session::EarlyData;
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
