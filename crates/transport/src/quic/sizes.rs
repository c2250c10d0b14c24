//! Sizes of headers and of handshake messages, in one place with their sources. All in bytes.

/// IPv4 header without options (RFC 791) and UDP header (RFC 768).
pub const IP_UDP: u32 = 20 + 8;
/// Expansion of every packet by its AEAD tag (RFC 9001 section 5.3: all ciphers of TLS 1.3 here have 16 bytes).
pub const TAG: u32 = 16;
/// Length of the connection ids that both ends choose; what most servers use, and the least a client may put into its
/// first Initial packet (RFC 9000 section 7.2).
pub const CONNECTION_ID: u32 = 8;
/// By how much longer a connection id of 20 bytes is, the most that there may be (section 17.2).
pub const LONGER: u32 = 20 - CONNECTION_ID;
/// Least UDP payload of a datagram with an Initial packet, and the datagram size to begin with (RFC 9000 section 14).
pub const MIN_DATAGRAM: u32 = 1200;
/// How much a server may send, for each byte received, to an address that is not validated (RFC 9000 section 8.1).
pub const AMPLIFICATION_LIMIT: u64 = 3;
/// A packet-number field and payload shorter than this cannot be sampled for header protection (RFC 9001 section 5.4.2:
/// the sample starts 4 bytes after the packet number's start and is 16 bytes long, as long as the tag).
pub const MIN_NUMBER_AND_PAYLOAD: u32 = 4;

/// Flags, version, both connection ids with their lengths, and the length field in its 2-byte form
/// (RFC 9000 section 17.2); the packet number comes on top.
const LONG_HEADER: u32 = 1 + 4 + 1 + CONNECTION_ID + 1 + CONNECTION_ID + 2;
/// An Initial packet's empty token (section 17.2.2).
pub const INITIAL_HEADER: u32 = LONG_HEADER + 1;
/// Handshake packet (section 17.2.4), and a 0-RTT packet (section 17.2.3).
pub const HANDSHAKE_HEADER: u32 = LONG_HEADER;
/// 1-RTT packet (section 17.3.1): flags and destination connection id.
pub const SHORT_HEADER: u32 = 1 + CONNECTION_ID;

/// A token of a Retry packet: what a server needs to know the client again (RFC 9000 section 8.1.4), sealed: address 4 and
/// port 2, the client's first destination connection id 1 + 8 (section 7.3), time 8, nonce 12, tag 16.
pub const RETRY_TOKEN: u8 = 4 + 2 + 9 + 8 + 12 + 16;
/// Retry packet without its token (section 17.2.5): flags, version, both connection ids with their lengths, integrity tag.
pub const RETRY: u32 = 1 + 4 + 1 + CONNECTION_ID + 1 + CONNECTION_ID + 16;
/// Version Negotiation packet (section 17.2.1) that lists version 1 and, as section 6.3 advises, a reserved one.
pub const VERSION_NEGOTIATION: u32 = 1 + 4 + 1 + CONNECTION_ID + 1 + CONNECTION_ID + 2 * 4;

/// The ticket of a NewSessionTicket message of 240 bytes (RFC 8446 section 4.6.1): without header 4, lifetime 4, age_add 4,
/// nonce 1 + 8, length 2 and extensions 2 with early_data 8. About what OpenSSL makes.
pub const TICKET: u32 = 240 - 4 - 4 - 4 - 9 - 2 - 10;
/// The bytes that a ticket adds to a ClientHello (RFC 8446 section 4.2.11): extension 4, identities 2 + (2 + ticket + age 4), binders
/// 2 + (1 + 32). `psk_key_exchange_modes` is sent in any case.
const PRE_SHARED_KEY: u32 = 4 + 2 + (2 + TICKET + 4) + 2 + (1 + 32);
/// The bytes that the choice of it adds to a ServerHello: extension 4, number 2.
const SELECTED_IDENTITY: u32 = 4 + 2;
/// The early_data extension, empty, in ClientHello and EncryptedExtensions (section 4.2.10).
const EARLY_DATA: u32 = 4;

/// Whether a connection takes up the TLS session of an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Session {
    /// No: the server proves itself by its certificate.
    #[default]
    New,
    /// Yes, by a ticket (RFC 8446 section 2.2).
    Resumed,
    /// Yes, and the client sends early data (section 2.3), which the server accepts.
    EarlyData,
}

/// The transport parameter `min_ack_delay` (draft-ietf-quic-ack-frequency section 3): its number 0xff04de1b 8, length 1, a
/// millisecond in microseconds 2.
pub const MIN_ACK_DELAY: u32 = 8 + 1 + 2;

/// The transport parameter `initial_max_path_id` (draft-ietf-quic-multipath-19 section 2.1): its number 0x3e 1, length 1, a
/// number below 64 1.
pub const MAX_PATH_ID: u32 = 1 + 1 + 1;

/// Sizes of the TLS 1.3 messages, each with its 4-byte header (RFC 8446 section 4). QUIC carries them without records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandshakeSizes {
    /// ClientHello with server name, ALPN, X25519 key share and transport parameters.
    pub client_hello: u32,
    /// ServerHello.
    pub server_hello: u32,
    /// EncryptedExtensions.
    pub encrypted_extensions: u32,
    /// Certificate.
    pub certificate: u32,
    /// CertificateVerify.
    pub certificate_verify: u32,
    /// Finished, of either side.
    pub finished: u32,
}

impl HandshakeSizes {
    /// A browser and a web server with X25519 and an RSA certificate.
    ///
    /// - ClientHello 300: what browsers sent over QUIC before hybrid key exchange lies between 280 and 320 (no
    ///   compatibility session id, RFC 9001 section 8.4; the rest is padding of the Initial datagram).
    /// - ServerHello 90: header 4, version 2, random 32, empty session id 1, cipher 2, compression 1, extensions 2 +
    ///   supported_versions 6 + key_share with X25519 40 (RFC 8446 section 4.1.3).
    /// - EncryptedExtensions 100: ALPN 9 and transport parameters of about 80.
    /// - Certificate 2900: a leaf and one intermediate with RSA-2048 keys, a common web chain; with it the
    ///   flight just fits into the 3 x 1200 bytes that RFC 9000 section 8.1 allows.
    /// - CertificateVerify 264: 4, algorithm 2, length 2, RSA-2048 signature 256.
    /// - Finished 36: 4 and a SHA-256 MAC of 32.
    pub const CLASSICAL: HandshakeSizes = HandshakeSizes {
        client_hello: 300,
        server_hello: 90,
        encrypted_extensions: 100,
        certificate: 2900,
        certificate_verify: 264,
        finished: 36,
    };

    /// A full handshake with the hybrid key exchange X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem: shares of 1216 and 1120
    /// instead of 32 bytes): the ClientHello no longer fits into one datagram.
    pub const HYBRID: HandshakeSizes =
        HandshakeSizes { client_hello: 300 + 1216 - 32, server_hello: 90 + 1120 - 32, ..HandshakeSizes::CLASSICAL };

    /// rustls over QUIC as the production stacks have it here, with an Ed25519 key (crates/stacks, null.rs): CertificateVerify 72: 4,
    /// algorithm 2, length 2, signature 64; Finished 52: 4 and a SHA-384 MAC of 48; ClientHello with transport parameters;
    /// EncryptedExtensions are what is left of a flight of 3171 bytes, and 7 more: quinn's reserved transport parameter has 0 to 15
    /// random bytes (quinn-proto 0.11.19, `transport_parameters.rs`, `ReservedTransportParameter`).
    pub const RUSTLS: HandshakeSizes = HandshakeSizes {
        client_hello: 288,
        server_hello: 90,
        encrypted_extensions: 3171 + 7 - 2900 - 72 - 52,
        certificate: 2900,
        certificate_verify: 72,
        finished: 52,
    };

    /// BoringSSL over QUIC as quiche has it here, with the same certificate and an Ed25519 key (crates/worker, `stacks/quiche.rs`):
    /// Finished 36: 4 and a SHA-256 MAC of 32; EncryptedExtensions are what is left of a flight of 3115 bytes; ClientHello with
    /// transport parameters.
    pub const BORINGSSL: HandshakeSizes = HandshakeSizes {
        client_hello: 248,
        server_hello: 90,
        encrypted_extensions: 3115 - 2900 - 72 - 36,
        certificate: 2900,
        certificate_verify: 72,
        finished: 36,
    };

    /// The handshake of a session that is taken up again: a ticket instead of the certificate and its proof.
    pub const fn with(self, session: Session) -> HandshakeSizes {
        let early = match session {
            Session::New => return self,
            Session::Resumed => 0,
            Session::EarlyData => EARLY_DATA,
        };
        HandshakeSizes {
            client_hello: self.client_hello + PRE_SHARED_KEY + early,
            server_hello: self.server_hello + SELECTED_IDENTITY,
            encrypted_extensions: self.encrypted_extensions + early,
            certificate: 0,
            certificate_verify: 0,
            finished: self.finished,
        }
    }

    /// The bytes that the server sends in Handshake packets.
    pub const fn server_flight(&self) -> u32 {
        self.encrypted_extensions + self.certificate + self.certificate_verify + self.finished
    }
}
