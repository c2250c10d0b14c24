//! A context of tquic's BoringSSL with the laboratory's certificate.
//!
//! tquic's own way to set up TLS takes certificates from files, trusts the system's authorities and does not accept Ed25519,
//! which BoringSSL leaves out of its defaults. But it takes a context that was made elsewhere, so BoringSSL is called here.
#![allow(unsafe_code, reason = "BoringSSL is C")]

use crate::protocol::Setup;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::ptr;

/// The laboratory's certificates (`crates/stacks/src/tls/`).
const AUTHORITY: &[u8] = include_bytes!("../../../../stacks/src/tls/authority.der");
const SERVER: &[u8] = include_bytes!("../../../../stacks/src/tls/server.der");
const KEY: &[u8] = include_bytes!("../../../../stacks/src/tls/key.der");

/// Where the 32 bytes of an Ed25519 key begin in PKCS #8 (RFC 8410 section 7).
const KEY_AT: usize = 16;
/// BoringSSL's number for Ed25519 (`nid.h`).
const NID_ED25519: c_int = 949;
/// Groups whose key shares are as long as the model's.
const GROUPS: &CStr = c"X25519:P-256:P-384";
/// BoringSSL's own list of signatures (RFC 8446 section 4.2.3), and Ed25519, by which the laboratory's certificate is signed.
const SIGNATURES: [u16; 10] = [0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601, 0x0201, 0x0807];

unsafe extern "C" {
    fn TLS_method() -> *const c_void;
    fn SSL_CTX_new(method: *const c_void) -> *mut c_void;
    fn SSL_CTX_free(context: *mut c_void);
    fn SSL_CTX_use_certificate_ASN1(context: *mut c_void, len: usize, der: *const u8) -> c_int;
    fn SSL_CTX_use_PrivateKey(context: *mut c_void, key: *mut c_void) -> c_int;
    fn EVP_PKEY_new_raw_private_key(kind: c_int, engine: *mut c_void, key: *const u8, len: usize) -> *mut c_void;
    fn EVP_PKEY_free(key: *mut c_void);
    fn SSL_CTX_get_cert_store(context: *const c_void) -> *mut c_void;
    fn X509_STORE_add_cert(store: *mut c_void, certificate: *mut c_void) -> c_int;
    fn d2i_X509(out: *mut *mut c_void, der: *mut *const u8, len: c_long) -> *mut c_void;
    fn X509_free(certificate: *mut c_void);
    fn SSL_CTX_set_verify(context: *mut c_void, mode: c_int, callback: *const c_void);
    fn SSL_CTX_set_verify_algorithm_prefs(context: *mut c_void, list: *const u16, len: usize) -> c_int;
    fn SSL_CTX_set1_curves_list(context: *mut c_void, list: *const c_char) -> c_int;
    fn SSL_CTX_set_keylog_callback(
        context: *mut c_void,
        callback: unsafe extern "C" fn(ssl: *const c_void, line: *const c_char),
    );
}

thread_local! {
    /// Secrets that TLS has logged in the turn of the end that is working.
    static SECRETS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Secrets that were logged since the last call, in the lines of `SSLKEYLOGFILE`.
pub fn take_secrets() -> Vec<u8> {
    SECRETS.take()
}

/// # Safety
/// `line` is a string of C, as BoringSSL promises.
unsafe extern "C" fn log(_: *const c_void, line: *const c_char) {
    // SAFETY: BoringSSL passes a string.
    let line = unsafe { CStr::from_ptr(line) };
    SECRETS.with_borrow_mut(|secrets| {
        secrets.extend_from_slice(line.to_bytes());
        secrets.push(b'\n');
    });
}

/// A context, which must live as long as what was set up with it.
pub struct Context(*mut c_void);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it is ours, and counted: connections that still use it keep it alive.
        unsafe { SSL_CTX_free(self.0) };
    }
}

impl Context {
    /// The context of a server, which has the certificate and logs secrets, or of a client, which trusts the authority alone.
    ///
    /// # Errors
    /// A sentence about the part of the setup that BoringSSL refuses.
    pub fn new(setup: &Setup) -> Result<Context, &'static str> {
        // SAFETY: no arguments are wrong here; null is looked for.
        let context = Context(unsafe { SSL_CTX_new(TLS_method()) });
        if context.0.is_null() {
            return Err("BoringSSL makes no context");
        }
        // SAFETY: the context is there, and the list is a string of C.
        taken(unsafe { SSL_CTX_set1_curves_list(context.0, GROUPS.as_ptr()) }, "the groups")?;
        if setup.server {
            context.serve()?
        } else {
            context.trust()?
        }
        Ok(context)
    }

    /// The raw context.
    pub fn as_ptr(&self) -> *mut c_void {
        self.0
    }

    fn serve(&self) -> Result<(), &'static str> {
        let key = KEY.get(KEY_AT..KEY_AT + 32).ok_or("the key is too short")?;
        // SAFETY: all pointers are to as many bytes as is said; BoringSSL copies or counts what it keeps.
        unsafe {
            taken(SSL_CTX_use_certificate_ASN1(self.0, SERVER.len(), SERVER.as_ptr()), "the certificate")?;
            let key = EVP_PKEY_new_raw_private_key(NID_ED25519, ptr::null_mut(), key.as_ptr(), key.len());
            let used = if key.is_null() { 0 } else { SSL_CTX_use_PrivateKey(self.0, key) };
            EVP_PKEY_free(key);
            taken(used, "the key")?;
            SSL_CTX_set_keylog_callback(self.0, log);
        }
        Ok(())
    }

    fn trust(&self) -> Result<(), &'static str> {
        let mut der = AUTHORITY.as_ptr();
        // SAFETY: all pointers are to as many bytes as is said; BoringSSL copies or counts what it keeps.
        unsafe {
            let authority = d2i_X509(ptr::null_mut(), &raw mut der, AUTHORITY.len() as c_long);
            let added =
                if authority.is_null() { 0 } else { X509_STORE_add_cert(SSL_CTX_get_cert_store(self.0), authority) };
            X509_free(authority);
            taken(added, "the authority")?;
            SSL_CTX_set_verify(self.0, 1, ptr::null());
            taken(SSL_CTX_set_verify_algorithm_prefs(self.0, SIGNATURES.as_ptr(), SIGNATURES.len()), "the signatures")
        }
    }
}

fn taken(result: c_int, what: &'static str) -> Result<(), &'static str> {
    if result == 1 { Ok(()) } else { Err(what) }
}
