//! AES-GCM, as DTLS and SRTP use it, and single blocks of AES.

use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockEncrypt, KeyInit};
use aes::{Aes128, Aes256};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

/// Length of the tag at the end of a sealed text, bytes.
pub(super) const TAG: usize = 16;

/// A key of AES-GCM.
#[derive(Debug)]
pub(super) struct Gcm(LessSafeKey);

impl Gcm {
    /// The key of 16 or 32 bytes; `None` if it has another length.
    pub fn new(key: &[u8]) -> Option<Gcm> {
        let algorithm = if key.len() == 16 { &AES_128_GCM } else { &AES_256_GCM };
        UnboundKey::new(algorithm, key).ok().map(|key| Gcm(LessSafeKey::new(key)))
    }

    /// Seals `text` in place and appends the tag.
    pub fn seal<T>(&self, nonce: [u8; 12], aad: &[u8], text: &mut T) -> Option<()>
    where
        T: AsMut<[u8]> + for<'a> Extend<&'a u8>,
    {
        self.0.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(aad), text).ok()
    }

    /// Opens `text` in place; returns the length of what was sealed.
    pub fn open(&self, nonce: [u8; 12], aad: &[u8], text: &mut [u8]) -> Option<usize> {
        let opened = self.0.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(aad), text);
        opened.ok().map(|text| text.len())
    }
}

/// A block of AES under a key of 16 or 32 bytes; `None` if it has another length.
pub(super) fn block(key: &[u8], block: [u8; 16]) -> Option<[u8; 16]> {
    let mut block = GenericArray::from(block);
    match key.len() {
        16 => Aes128::new_from_slice(key).ok()?.encrypt_block(&mut block),
        _ => Aes256::new_from_slice(key).ok()?.encrypt_block(&mut block),
    }
    Some(block.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_standard() {
        // FIPS 197 appendices C.1 and C.3.
        let key: Vec<u8> = (0..32).collect();
        let plain: [u8; 16] = std::array::from_fn(|i| 0x11 * i as u8);
        assert_eq!(block(&key[..16], plain).unwrap()[..4], [0x69, 0xc4, 0xe0, 0xd8]);
        assert_eq!(block(&key, plain).unwrap()[..4], [0x8e, 0xa2, 0xb7, 0xca]);
        assert_eq!(block(&key[..5], plain), None);
    }

    #[test]
    fn a_text_that_was_changed_is_not_opened() {
        let key = Gcm::new(&[7; 32]).unwrap();
        let mut sealed = b"a packet".to_vec();
        key.seal([1; 12], b"head", &mut sealed).unwrap();
        assert_eq!(sealed.len(), 8 + TAG);
        assert_eq!(key.open([1; 12], b"other", &mut sealed.clone()), None);
        assert_eq!(key.open([1; 12], b"head", &mut sealed), Some(8));
        assert_eq!(&sealed[..8], b"a packet");
        assert!(Gcm::new(&[7; 20]).is_none());
    }
}
