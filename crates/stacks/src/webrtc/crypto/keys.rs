//! The certificate of both ends, the key exchange and the signatures, on the curve P-256.
//!
//! The certificate is signed by its own key, as those of WebRTC are (RFC 8827 section 6.5); it was made by
//! `openssl req -x509 -subj /CN=WebRTC`, is valid until 2191, not secret, and of no use elsewhere.

use dimpl::crypto::{
    ActiveKeyExchange, Buf, HashAlgorithm, KeyProvider, NamedGroup, SignatureAlgorithm, SignatureVerifier, SigningKey,
    SupportedKxGroup,
};
use dimpl::{CryptoError, CryptoOperation};
use p256::ecdsa::signature::Signer;
use p256::{PublicKey, SecretKey, ecdh, ecdsa};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

/// The certificate, DER.
pub(in super::super) const CERTIFICATE: &[u8] = include_bytes!("../certificate.der");
/// Its key: the secret number alone.
pub(in super::super) const KEY: &[u8] = include_bytes!("../key.bin");

/// Secrets that are tried: one in 2^32 is none.
const TRIES: usize = 4;

#[derive(Debug)]
pub(super) struct P256;

impl SupportedKxGroup for P256 {
    fn name(&self) -> NamedGroup {
        NamedGroup::Secp256r1
    }

    fn start_exchange(&self, mut buf: Buf) -> Result<Box<dyn ActiveKeyExchange>, CryptoError> {
        let mut drawn = (0..TRIES).map(|_| std::array::from_fn::<u8, 32, _>(|_| fastrand::u8(..)));
        let secret = drawn.find_map(|bytes| SecretKey::from_slice(&bytes).ok());
        let secret = secret.ok_or(CryptoError::OperationFailed(CryptoOperation::GenerateEphemeralKey))?;
        buf.clear();
        buf.extend_from_slice(&secret.public_key().to_sec1_bytes());
        Ok(Box::new(Exchange { secret, public: buf }))
    }
}

struct Exchange {
    secret: SecretKey,
    public: Buf,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Exchange")
    }
}

impl ActiveKeyExchange for Exchange {
    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn complete(self: Box<Self>, peer: &[u8], out: &mut Buf) -> Result<(), CryptoError> {
        let peer = PublicKey::from_sec1_bytes(peer).map_err(|_| CryptoError::InvalidPublicKey(self.group()))?;
        let shared = ecdh::diffie_hellman(self.secret.to_nonzero_scalar(), peer.as_affine());
        out.clear();
        out.extend_from_slice(shared.raw_secret_bytes().as_slice());
        Ok(())
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::Secp256r1
    }
}

#[derive(Debug)]
pub(super) struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, key: &[u8]) -> Result<Box<dyn SigningKey>, CryptoError> {
        let key = ecdsa::SigningKey::from_slice(key).map_err(|_| CryptoError::InvalidPrivateKey)?;
        Ok(Box::new(Signing(key)))
    }
}

#[derive(Debug)]
struct Signing(ecdsa::SigningKey);

impl SigningKey for Signing {
    fn sign(&mut self, data: &[u8], hash: HashAlgorithm, out: &mut Buf) -> Result<(), CryptoError> {
        if hash != HashAlgorithm::SHA256 {
            return Err(CryptoError::SigningKeyUnsupportedHash { group: NamedGroup::Secp256r1, hash });
        }
        let signature: ecdsa::Signature =
            self.0.try_sign(data).map_err(|_| CryptoError::OperationFailed(CryptoOperation::Sign))?;
        out.clear();
        out.extend_from_slice(signature.to_der().as_bytes());
        Ok(())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }

    fn supported_hash_algorithms(&self) -> &[HashAlgorithm] {
        &[HashAlgorithm::SHA256]
    }
}

/// The bytes before the point of a key on P-256 in a certificate: the curve's number, and a bit string of 66 bytes (RFC 5480 section 2).
const BEFORE_THE_POINT: [u8; 13] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00];
/// Length of an uncompressed point.
const POINT: usize = 65;

impl SignatureVerifier for Keys {
    fn verify_signature(
        &self,
        certificate: &[u8],
        data: &[u8],
        signature: &[u8],
        hash: HashAlgorithm,
        algorithm: SignatureAlgorithm,
    ) -> Result<(), CryptoError> {
        if algorithm != SignatureAlgorithm::ECDSA {
            return Err(CryptoError::UnsupportedSignatureAlgorithm(algorithm));
        }
        let group = NamedGroup::Secp256r1;
        if hash != HashAlgorithm::SHA256 {
            return Err(CryptoError::UnsupportedSignatureVerification { signature: algorithm, hash, group });
        }
        let before = certificate.windows(BEFORE_THE_POINT.len()).position(|bytes| bytes == BEFORE_THE_POINT);
        let point = before.and_then(|at| certificate.get(at + BEFORE_THE_POINT.len()..)?.get(..POINT));
        let point = point.ok_or(CryptoError::InvalidPublicKey(group))?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point);
        key.verify(data, signature).map_err(|_| CryptoError::OperationFailed(CryptoOperation::VerifySignature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_is_that_of_the_key() {
        let mut signature = Buf::new();
        Keys.load_private_key(KEY).unwrap().sign(b"said", HashAlgorithm::SHA256, &mut signature).unwrap();
        let verify = |said: &[u8]| {
            Keys.verify_signature(CERTIFICATE, said, &signature, HashAlgorithm::SHA256, SignatureAlgorithm::ECDSA)
        };
        assert_eq!(verify(b"said"), Ok(()));
        assert!(verify(b"sent").is_err());
    }
}
