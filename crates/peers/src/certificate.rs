//! Certificates of the laboratory: an authority of its own, and a server's certificate as large as a web server's chain.

use crate::Error;
use clap::ValueEnum;
use haltere_transport::quic::HandshakeSizes;
use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, CustomExtension, DnType, IsCa};
use rcgen::{ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, date_time_ymd};
use std::path::Path;

/// The name in every certificate; `.test` never resolves outside (RFC 6761 section 6.2).
pub const NAME: &str = "haltere.test";

/// The comment extension of Netscape's: text without meaning to anybody, which brings the certificate to its size.
const COMMENT: [u64; 7] = [2, 16, 840, 1, 113730, 1, 13];
/// Bytes of a Certificate message of TLS 1.3 with one entry beside the certificate: message header, context, list and
/// entry lengths, no extensions (RFC 8446 section 4.4.2).
const MESSAGE: usize = 4 + 1 + 3 + 3 + 2;
/// The signature by an ECDSA key is one of a few lengths by chance; so many are tried for the right one.
const TRIES: usize = 200;

/// The kind of key that signs certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// ECDSA with P-256, which every program knows; signatures have 70 to 72 bytes
    P256,
    /// Ed25519, whose signatures always have 64 bytes; browsers do not take it
    Ed25519,
}

/// Writes `ca.pem`, `cert.pem` and `key.pem` into `folder`, which is made if it is missing.
///
/// The server's certificate has the length that makes its Certificate message as long as the model's
/// ([`HandshakeSizes::CLASSICAL`]), so that handshakes cost the same bytes on real hosts as in the simulator; one
/// certificate stands for leaf and intermediate.
///
/// # Errors
/// If the folder cannot be written or no certificate can be made.
pub fn write(folder: &Path, kind: Kind) -> Result<(), Error> {
    let issuer = authority(kind)?;
    let key = key(kind)?;
    let length = HandshakeSizes::CLASSICAL.certificate as usize - MESSAGE;
    let certificate = of_length(length, &issuer, &key)?;
    let put = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| Error::new(path.display(), format!("cannot be written: {e}")))
    };
    std::fs::create_dir_all(folder).map_err(|e| Error::new(folder.display(), format!("cannot be made: {e}")))?;
    put("ca.pem", issuer.pem())?;
    put("key.pem", key.serialize_pem())?;
    put("cert.pem", certificate.pem())
}

fn failed(e: rcgen::Error) -> Error {
    Error::new("certificate", e)
}

fn key(kind: Kind) -> Result<KeyPair, Error> {
    KeyPair::generate_for(match kind {
        Kind::P256 => &rcgen::PKCS_ECDSA_P256_SHA256,
        Kind::Ed25519 => &rcgen::PKCS_ED25519,
    })
    .map_err(failed)
}

/// Dates far apart: a kernel in virtual time may think it is any year.
fn parameters(name: &str, subject: &str) -> Result<CertificateParams, Error> {
    let mut p = CertificateParams::new(vec![name.to_string()]).map_err(failed)?;
    p.not_before = date_time_ymd(1970, 1, 2);
    p.not_after = date_time_ymd(2199, 1, 1);
    p.distinguished_name.push(DnType::CommonName, subject);
    Ok(p)
}

fn authority(kind: Kind) -> Result<CertifiedIssuer<'static, KeyPair>, Error> {
    let mut p = parameters("authority.haltere.test", "haltere laboratory authority")?;
    p.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    p.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    CertifiedIssuer::self_signed(p, key(kind)?).map_err(failed)
}

fn of_length(length: usize, issuer: &CertifiedIssuer<'static, KeyPair>, key: &KeyPair) -> Result<Certificate, Error> {
    let mut comment = 256;
    for _ in 0..TRIES {
        let made = signed(comment, issuer, key)?;
        let got = made.der().len();
        if got == length {
            return Ok(made);
        }
        // From 256 bytes on the lengths around the comment are of one form, so that each byte more is one byte more.
        comment = (comment + length).saturating_sub(got).max(256);
    }
    Err(Error::new("certificate", format!("none of {length} bytes came out")))
}

fn signed(comment: usize, issuer: &CertifiedIssuer<'static, KeyPair>, key: &KeyPair) -> Result<Certificate, Error> {
    let mut p = parameters(NAME, NAME)?;
    p.use_authority_key_identifier_extension = true;
    p.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    p.custom_extensions = vec![CustomExtension::from_oid_content(&COMMENT, ia5_string(comment))];
    p.signed_by(key, issuer).map_err(failed)
}

/// DER of an IA5String of so many dots; at least 256, at most 65 535.
fn ia5_string(length: usize) -> Vec<u8> {
    let mut der = vec![0x16, 0x82];
    der.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes());
    der.resize(der.len() + length, b'.');
    der
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    #[test]
    fn both_kinds_make_the_models_certificate_message() {
        for kind in [Kind::P256, Kind::Ed25519] {
            let folder = tempfile::tempdir().unwrap();
            write(&folder.path().join("new"), kind).unwrap();
            let chain: Vec<_> = CertificateDer::pem_file_iter(folder.path().join("new/cert.pem"))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            assert_eq!(chain.len(), 1);
            assert_eq!(chain[0].len() + MESSAGE, 2900, "{kind:?}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let said = write(Path::new("/proc/none/here"), Kind::Ed25519).unwrap_err().to_string();
        assert!(said.contains("/proc/none/here"), "{said}");
    }
}
