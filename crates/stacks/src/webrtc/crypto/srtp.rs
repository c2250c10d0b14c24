//! The ciphers of SRTP (RFC 7714). Both ends prefer AES-256-GCM, so that a cipher of RFC 3711 is never agreed on.

use super::aead::{self, Gcm, TAG};
use str0m::crypto::{
    AeadAes128GcmCipher, AeadAes256GcmCipher, Aes128CmSha1_80Cipher, CryptoError, SrtpProvider, SupportedAeadAes128Gcm,
    SupportedAeadAes256Gcm, SupportedAes128CmSha1_80,
};

#[derive(Debug)]
pub(super) struct Srtp;

impl SrtpProvider for Srtp {
    fn aes_128_cm_sha1_80(&self) -> &'static dyn SupportedAes128CmSha1_80 {
        &Srtp
    }
    fn aead_aes_128_gcm(&self) -> &'static dyn SupportedAeadAes128Gcm {
        &Srtp
    }
    fn aead_aes_256_gcm(&self) -> &'static dyn SupportedAeadAes256Gcm {
        &Srtp
    }
    fn srtp_aes_128_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        round(key, input, output);
    }
    fn srtp_aes_256_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        round(key, input, output);
    }
}

fn round(key: &[u8], input: &[u8], output: &mut [u8]) {
    let input = input.first_chunk().copied();
    if let (Some(block), Some(out)) = (input.and_then(|input| aead::block(key, input)), output.first_chunk_mut()) {
        *out = block;
    }
}

impl SupportedAes128CmSha1_80 for Srtp {
    fn create_cipher(&self, _: [u8; 16], _: bool) -> Box<dyn Aes128CmSha1_80Cipher> {
        Box::new(Srtp)
    }
}

/// The cipher that is never agreed on.
impl Aes128CmSha1_80Cipher for Srtp {
    fn encrypt(&mut self, _: &[u8; 16], _: &[u8], _: &mut [u8]) -> Result<(), CryptoError> {
        Err(CryptoError::Other("AES in counter mode is not offered".into()))
    }
    fn decrypt(&mut self, _: &[u8; 16], _: &[u8], _: &mut [u8]) -> Result<(), CryptoError> {
        Err(CryptoError::Other("AES in counter mode is not offered".into()))
    }
}

/// A cipher, and room for the packet that it works on.
#[derive(Debug)]
struct Cipher {
    key: Option<Gcm>,
    text: Vec<u8>,
}

impl Cipher {
    fn boxed(key: &[u8]) -> Box<Cipher> {
        Box::new(Cipher { key: Gcm::new(key), text: Vec::new() })
    }

    fn seal(&mut self, iv: &[u8; 12], aad: &[u8], input: &[u8], output: &mut [u8]) -> Option<()> {
        self.text.clear();
        self.text.extend_from_slice(input);
        self.key.as_ref()?.seal(*iv, aad, &mut self.text)?;
        output.get_mut(..input.len() + TAG)?.copy_from_slice(&self.text);
        Some(())
    }

    fn open(&mut self, iv: &[u8; 12], aads: &[&[u8]], input: &[u8], output: &mut [u8]) -> Option<usize> {
        self.text.clear();
        self.text.extend_from_slice(input);
        let len = match aads {
            [aad] => self.key.as_ref()?.open(*iv, aad, &mut self.text)?,
            aads => self.key.as_ref()?.open(*iv, &aads.concat(), &mut self.text)?,
        };
        output.get_mut(..len)?.copy_from_slice(&self.text[..len]);
        Some(len)
    }
}

macro_rules! gcm {
    ($supported:ident, $cipher:ident, $key:literal) => {
        impl $supported for Srtp {
            fn create_cipher(&self, key: [u8; $key], _: bool) -> Box<dyn $cipher> {
                Cipher::boxed(&key)
            }
        }

        impl $cipher for Cipher {
            fn encrypt(
                &mut self,
                iv: &[u8; 12],
                aad: &[u8],
                input: &[u8],
                output: &mut [u8],
            ) -> Result<(), CryptoError> {
                self.seal(iv, aad, input, output).ok_or_else(|| CryptoError::Other("a packet was not sealed".into()))
            }
            fn decrypt(
                &mut self,
                iv: &[u8; 12],
                aads: &[&[u8]],
                input: &[u8],
                output: &mut [u8],
            ) -> Result<usize, CryptoError> {
                self.open(iv, aads, input, output).ok_or_else(|| CryptoError::Other("a packet was not opened".into()))
            }
        }
    };
}
gcm!(SupportedAeadAes128Gcm, AeadAes128GcmCipher, 16);
gcm!(SupportedAeadAes256Gcm, AeadAes256GcmCipher, 32);
