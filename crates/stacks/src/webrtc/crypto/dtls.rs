//! DTLS by dimpl, the implementation that str0m's own providers use, over these ciphers and keys.

use super::aead::{self, Gcm, TAG};
use super::keys;
use dimpl::crypto::{
    Aad, Buf, Cipher, CryptoProvider, Dtls12CipherSuite, Dtls13CipherSuite, HashAlgorithm, HashContext, HashProvider,
    HmacProvider, Nonce, SecureRandom, SupportedDtls12CipherSuite, SupportedDtls13CipherSuite, TmpBuf,
};
use dimpl::{CryptoError, CryptoOperation};
use ring::{digest, hmac};
use std::sync::Arc;
use std::time::Instant;
use str0m::config::{DtlsCert, DtlsVersion};
use str0m::crypto::dtls::{DtlsImplError, DtlsInstance, DtlsOutput, DtlsProvider, ProtocolVersion};

#[derive(Debug)]
pub(super) struct Dtls;

impl DtlsProvider for Dtls {
    fn generate_certificate(&self) -> Option<DtlsCert> {
        None
    }

    fn new_dtls(
        &self,
        certificate: &DtlsCert,
        now: Instant,
        _: DtlsVersion,
        mtu: Option<usize>,
    ) -> Result<Box<dyn DtlsInstance>, str0m::crypto::CryptoError> {
        let config =
            dimpl::Config::builder().with_crypto_provider(PROVIDER).dangerously_set_rng_seed(fastrand::u64(..));
        let config = if let Some(mtu) = mtu { config.mtu(mtu) } else { config };
        Ok(Box::new(Instance(dimpl::Dtls::new_12(Arc::new(config.build()?), certificate.clone(), now))))
    }
}

const PROVIDER: CryptoProvider = CryptoProvider {
    kx_groups: &[&keys::P256],
    signature_verification: &keys::Keys,
    key_provider: &keys::Keys,
    secure_random: &Primitives,
    hash_provider: &Primitives,
    hmac_provider: &Primitives,
    cipher_suites: &[&Suite],
    // dimpl wants one, though it speaks DTLS 1.2 alone here, as str0m does by default.
    dtls13_cipher_suites: &[&Suite],
};

struct Instance(dimpl::Dtls);

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Instance")
    }
}

impl DtlsInstance for Instance {
    fn set_active(&mut self, active: bool) {
        self.0.set_active(active);
    }
    fn handle_packet(&mut self, packet: &[u8]) -> Result<(), DtlsImplError> {
        self.0.handle_packet(packet)
    }
    fn poll_output<'a>(&mut self, buf: &'a mut [u8]) -> DtlsOutput<'a> {
        self.0.poll_output(buf)
    }
    fn handle_timeout(&mut self, now: Instant) -> Result<(), DtlsImplError> {
        self.0.handle_timeout(now)
    }
    fn send_application_data(&mut self, data: &[u8]) -> Result<usize, DtlsImplError> {
        self.0.send_application_data(data)
    }
    fn is_active(&self) -> bool {
        self.0.is_active()
    }
    fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.0.protocol_version()
    }
    fn is_closing(&self) -> bool {
        self.0.is_closing()
    }
    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
    fn close(&mut self) -> Result<(), DtlsImplError> {
        self.0.close()
    }
}

#[derive(Debug)]
struct Suite;

#[derive(Debug)]
struct RecordCipher(Gcm);

impl RecordCipher {
    fn boxed(key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        let key = Gcm::new(key).ok_or(CryptoError::OperationFailed(CryptoOperation::CreateCipher))?;
        Ok(Box::new(RecordCipher(key)))
    }
}

impl Cipher for RecordCipher {
    fn encrypt(&mut self, text: &mut Buf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        self.0.seal(nonce.0, &aad, text).ok_or(CryptoError::OperationFailed(CryptoOperation::Encrypt))
    }
    fn decrypt(&mut self, text: &mut TmpBuf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        let len = self.0.open(nonce.0, &aad, text.as_mut());
        text.truncate(len.ok_or(CryptoError::OperationFailed(CryptoOperation::Decrypt))?);
        Ok(())
    }
}

impl SupportedDtls12CipherSuite for Suite {
    fn suite(&self) -> Dtls12CipherSuite {
        Dtls12CipherSuite::ECDHE_ECDSA_AES128_GCM_SHA256
    }
    fn hash_algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }
    // RFC 5288 section 3: no key for a MAC, four bytes of nonce from the key block, eight in each record.
    fn key_lengths(&self) -> (usize, usize, usize) {
        (0, 16, 4)
    }
    fn explicit_nonce_len(&self) -> usize {
        8
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        RecordCipher::boxed(key)
    }
}

impl SupportedDtls13CipherSuite for Suite {
    fn suite(&self) -> Dtls13CipherSuite {
        Dtls13CipherSuite::AES_128_GCM_SHA256
    }
    fn hash_algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }
    fn key_len(&self) -> usize {
        16
    }
    fn iv_len(&self) -> usize {
        12
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        RecordCipher::boxed(key)
    }
    fn encrypt_sn(&self, key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        aead::block(key, *sample).unwrap_or_default()
    }
}

#[derive(Debug)]
struct Primitives;

impl SecureRandom for Primitives {
    fn fill(&self, buf: &mut [u8]) -> Result<(), CryptoError> {
        fastrand::fill(buf);
        Ok(())
    }
}

struct Hash(digest::Context);

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hash")
    }
}

impl HashContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
    fn clone_and_finalize(&self, out: &mut Buf) {
        out.clear();
        out.extend_from_slice(self.0.clone().finish().as_ref());
    }
}

impl HashProvider for Primitives {
    fn create_hash(&self, hash: HashAlgorithm) -> Box<dyn HashContext> {
        let algorithm = if hash == HashAlgorithm::SHA384 { &digest::SHA384 } else { &digest::SHA256 };
        Box::new(Hash(digest::Context::new(algorithm)))
    }
}

impl HmacProvider for Primitives {
    fn hmac(&self, hash: HashAlgorithm, key: &[u8], data: &[u8], out: &mut [u8]) -> Result<usize, CryptoError> {
        let algorithm = match hash {
            HashAlgorithm::SHA256 => hmac::HMAC_SHA256,
            HashAlgorithm::SHA384 => hmac::HMAC_SHA384,
            _ => return Err(CryptoError::UnsupportedHmacHash(hash)),
        };
        let tag = hmac::sign(&hmac::Key::new(algorithm, key), data);
        let len = tag.as_ref().len();
        let out = out.get_mut(..len).ok_or(CryptoError::OperationFailed(CryptoOperation::ComputeHmac))?;
        out.copy_from_slice(tag.as_ref());
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::PROVIDER;

    #[test]
    fn the_provider_passes_the_tests_of_the_implementation() {
        PROVIDER.validate().unwrap();
    }
}
