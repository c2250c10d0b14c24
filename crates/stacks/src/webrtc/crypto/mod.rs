//! Cryptography for str0m: real DTLS 1.2 and SRTP, whose random numbers are all the run's. str0m takes its cryptography by traits and
//! brings none itself. Here ciphers and hashes are ring's; the key exchange and the signatures are those of the crate p256, as ring draws
//! from the system alone: a secret of the key exchange is drawn from the connection's dice, and a signature needs none (RFC 6979).
//!
//! The offer is the suite and the curve that every WebRTC endpoint must have (RFC 8827 section 6.5).

mod aead;
mod dtls;
mod keys;
mod srtp;

use ring::{digest, hmac};
use std::sync::Arc;
use str0m::crypto::{CryptoProvider, Sha1HmacProvider, Sha1Provider, Sha256Provider};

pub(super) use keys::{CERTIFICATE, KEY};

/// All that str0m asks for.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        srtp_provider: &srtp::Srtp,
        sha1_hmac_provider: &Hashes,
        sha1_provider: &Hashes,
        sha256_provider: &Hashes,
        dtls_provider: &dtls::Dtls,
    })
}

#[derive(Debug)]
struct Hashes;

/// A digest of which `N` is the length.
fn digest<const N: usize>(algorithm: &'static digest::Algorithm, data: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(digest::digest(algorithm, data).as_ref());
    out
}

impl Sha1Provider for Hashes {
    fn sha1(&self, data: &[u8]) -> [u8; 20] {
        digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, data)
    }
}

impl Sha256Provider for Hashes {
    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        digest(&digest::SHA256, data)
    }
}

impl Sha1HmacProvider for Hashes {
    fn sha1_hmac(&self, key: &[u8], payloads: &[&[u8]]) -> [u8; 20] {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key));
        payloads.iter().for_each(|part| context.update(part));
        let mut out = [0; 20];
        out.copy_from_slice(context.sign().as_ref());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_their_standards() {
        // RFC 3174 section 7.3 TEST1, FIPS 180-2 appendix B.1, RFC 2202 section 3 test case 2.
        assert_eq!(Hashes.sha1(b"abc")[..4], [0xa9, 0x99, 0x3e, 0x36]);
        assert_eq!(Hashes.sha256(b"abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
        let hmac = Hashes.sha1_hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hmac[..4], [0xef, 0xfc, 0xdf, 0x6a]);
    }
}
