//! The memory that two ends keep of an earlier connection: TLS's session, the server's transport parameters, address
//! tokens.

use crate::config::{Cipher, Error};
use crate::{seeds, tls};
use bytes::Bytes;
use haltere_net::rng::Stream;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The memory of an earlier connection, shared by its two ends.
#[derive(Clone)]
pub struct Memory {
    pub(crate) tls: Option<tls::Pair>,
    pub(crate) parameters: Parameters,
    pub(crate) tokens: Tokens,
    /// The key by which the server seals its address tokens.
    pub(crate) token_key: [u8; 64],
}

/// The server's transport parameters, where TLS does not keep them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Parameters(Arc<Mutex<Option<Vec<u8>>>>);

impl Parameters {
    pub fn get(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    pub fn keep(&self, parameters: Option<Vec<u8>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = parameters;
    }
}

/// Address tokens (RFC 9000 section 8.1.3) of the one server that there is, the latest of which is used first.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tokens(Arc<Mutex<VecDeque<Bytes>>>);

impl Tokens {
    /// How many a client keeps, as both stacks' own stores have it.
    const MOST: usize = 2;

    pub fn keep(&self, token: Bytes) {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.truncate(Tokens::MOST - 1);
        tokens.push_front(token);
    }
    /// A token, which is never given twice.
    pub fn take(&self) -> Option<Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Memory {
    /// The memory of ends that have not met. The server's key for address tokens is drawn from `stream`.
    pub(crate) fn empty(cipher: Cipher, stream: &mut Stream) -> Result<Memory, Error> {
        Ok(Memory {
            tls: (cipher == Cipher::Tls).then(tls::Pair::new).transpose()?,
            parameters: Parameters::default(),
            tokens: Tokens::default(),
            token_key: seeds::bytes(stream),
        })
    }
}
