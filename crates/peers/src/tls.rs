//! TLS 1.3 for both ends, by rustls.

use crate::Error;
use crate::args::Mode;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::Path;
use std::sync::Arc;

/// The protocol's name for ALPN.
fn alpn(mode: Mode) -> Vec<u8> {
    match mode {
        Mode::Tcp => b"h2".to_vec(),
        Mode::Quic => b"h3".to_vec(),
    }
}

/// A server with this chain and key.
pub fn server(mode: Mode, cert: &Path, key: &Path) -> Result<ServerConfig, Error> {
    let chain = certificates(cert)?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| unreadable(key, &e))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(|e| Error::new("TLS", e))?;
    let made = builder.with_no_client_auth().with_single_cert(chain, secret);
    let mut config = made.map_err(|e| Error::new(key.display(), format!("is no key to {}: {e}", cert.display())))?;
    config.alpn_protocols = vec![alpn(mode)];
    Ok(config)
}

/// A client of HTTP that trusts these certificates and no other.
pub fn client(mode: Mode, ca: &Path) -> Result<ClientConfig, Error> {
    client_of(ca, &alpn(mode))
}

/// A client of the protocol with this name for ALPN, that trusts these certificates and no other.
pub fn client_of(ca: &Path, protocol: &[u8]) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca)? {
        roots.add(certificate).map_err(|e| Error::new(ca.display(), e))?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(|e| Error::new("TLS", e))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(config)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|e| unreadable(file, &e))?;
    if found.is_empty() {
        return Err(Error::new(file.display(), "holds no certificate; right: PEM, as `certificate` writes it"));
    }
    Ok(found)
}

fn unreadable(file: &Path, why: &pem::Error) -> Error {
    Error::new(file.display(), format!("cannot be read as PEM: {why}; right: a file as `certificate` writes it"))
}
