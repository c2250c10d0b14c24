//! The requests by which a kernel sets up a network card that somebody else serves: the part of vhost-user that
//! `arch/um/drivers/virtio_uml.c` speaks (QEMU, "Vhost-user Protocol"). Pure: bytes go in, requests and answers come out.

use crate::error::Fault;

/// Bytes of a request's header.
pub const HEADER: usize = 12;
/// The longest payload that is read, bytes.
pub const LONGEST: usize = 512;
/// The most rings of a card: one receives, one sends.
pub const RINGS: usize = 2;
/// The most regions of memory that a kernel has.
const REGIONS: usize = 2;

/// The virtio features of a card: version 1 of the standard, checksums that the card computes and has verified, a MAC
/// address and an MTU of ours. `VHOST_USER_F_PROTOCOL_FEATURES` announces [`PROTOCOL`].
pub const FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 5 | 1 << 3 | 1 << 1 | 1;
/// The protocol features: answers to all requests, requests from us, configuration, notifications as messages.
pub const PROTOCOL: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEEDS_REPLY: u32 = 1 << 3;
/// The request by which we interrupt a kernel: `VHOST_USER_SLAVE_VRING_CALL`.
const CALL: u32 = 4;

/// The header of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    request: u32,
    needs_reply: bool,
    /// Bytes of its payload.
    pub payload: usize,
}

/// A region of the kernel's memory, in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// The kernel's physical address.
    pub address: u64,
    /// Its length, bytes.
    pub bytes: u64,
    /// Where it begins in the file, bytes.
    pub offset: u64,
}

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Which virtio features the card has.
    Features,
    /// The virtio features that the kernel uses.
    UseFeatures(u64),
    /// Which protocol features we have.
    Protocol,
    /// The protocol features that the kernel uses.
    UseProtocol(u64),
    /// The pipe for our interrupts goes with it.
    Back,
    /// The kernel's memory, whose files go with it.
    Memory(Vec<Region>),
    /// The number of a ring's descriptors.
    Size {
        /// The ring.
        ring: usize,
        /// The number.
        size: u32,
    },
    /// The index of the descriptor with which a ring begins.
    Base {
        /// The ring.
        ring: usize,
        /// The index.
        base: u32,
    },
    /// Where a ring's parts are in the kernel's memory.
    Addresses {
        /// The ring.
        ring: usize,
        /// The descriptors.
        descriptors: u64,
        /// The ring of what we have used.
        used: u64,
        /// The ring of what we may use.
        available: u64,
    },
    /// A ring is used from now on, or is not any more.
    Enable {
        /// The ring.
        ring: usize,
        /// Whether it is used.
        on: bool,
    },
    /// The first bytes of the card's configuration.
    Configuration(usize),
    /// There is something in a ring.
    Kick,
    /// Something that needs nothing: the owner, a change of the configuration.
    Nothing,
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Fault> {
    let part = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
    part.map(u32::from_ne_bytes).ok_or(Fault("a request of a network card is cut off"))
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Fault> {
    let part = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
    part.map(u64::from_ne_bytes).ok_or(Fault("a request of a network card is cut off"))
}

fn ring_at(bytes: &[u8]) -> Result<usize, Fault> {
    let ring = u32_at(bytes, 0)? as usize;
    if ring < RINGS { Ok(ring) } else { Err(Fault("a network card has a ring too many")) }
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// If its version is unknown, or the payload would be longer than any.
    pub fn parse(bytes: &[u8; HEADER]) -> Result<Header, Fault> {
        let [request, flags, size] = [0, 4, 8].map(|at| u32_at(bytes, at).unwrap_or(u32::MAX));
        if flags & 3 != VERSION || size as usize > LONGEST {
            return Err(Fault("a request of a network card has no proper header"));
        }
        Ok(Header { request, needs_reply: flags & NEEDS_REPLY != 0, payload: size as usize })
    }

    /// The bytes of an answer with this payload.
    pub fn answer(self, payload: &[u8]) -> Vec<u8> {
        let parts = [self.request, VERSION | REPLY, payload.len() as u32];
        parts.into_iter().flat_map(u32::to_ne_bytes).chain(payload.iter().copied()).collect()
    }

    /// The bytes that say that the request was carried out, if the kernel wants to know.
    pub fn done(self) -> Option<Vec<u8>> {
        self.needs_reply.then(|| self.answer(&0u64.to_ne_bytes()))
    }

    /// Reads the request with this header.
    ///
    /// # Errors
    /// If the request is unknown or its payload is no such request's.
    pub fn request(self, payload: &[u8]) -> Result<Request, Fault> {
        let flag = |at| u32_at(payload, at).map(|on| on != 0);
        Ok(match self.request {
            1 => Request::Features,
            2 => Request::UseFeatures(u64_at(payload, 0)?),
            3 | 25 => Request::Nothing,
            5 => Request::Memory(regions(payload)?),
            8 => Request::Size { ring: ring_at(payload)?, size: u32_at(payload, 4)? },
            9 => Request::Addresses {
                ring: ring_at(payload)?,
                descriptors: u64_at(payload, 8)?,
                used: u64_at(payload, 16)?,
                available: u64_at(payload, 24)?,
            },
            10 => Request::Base { ring: ring_at(payload)?, base: u32_at(payload, 4)? },
            15 => Request::Protocol,
            16 => Request::UseProtocol(u64_at(payload, 0)?),
            18 => Request::Enable { ring: ring_at(payload)?, on: flag(4)? },
            21 => Request::Back,
            24 => {
                let (offset, size) = (u32_at(payload, 0)?, u32_at(payload, 4)? as usize);
                if offset != 0 || payload.len() != size.saturating_add(HEADER) {
                    return Err(Fault("a network card asks for a configuration of another length"));
                }
                Request::Configuration(size)
            }
            35 => ring_at(payload).map(|_| Request::Kick)?,
            _ => return Err(Fault("a network card makes an unknown request")),
        })
    }
}

fn regions(payload: &[u8]) -> Result<Vec<Region>, Fault> {
    let number = u32_at(payload, 0)? as usize;
    if number == 0 || number > REGIONS {
        return Err(Fault("a kernel has no memory, or too many pieces of it"));
    }
    let region = |k: usize| {
        let at = 8 + 32 * k;
        let (address, bytes, offset) = (u64_at(payload, at)?, u64_at(payload, at + 8)?, u64_at(payload, at + 24)?);
        let ends = address.checked_add(bytes).is_some() && offset.checked_add(bytes).is_some();
        if bytes == 0 || !ends {
            Err(Fault("a piece of a kernel's memory has no end"))
        } else {
            Ok(Region { address, bytes, offset })
        }
    };
    (0..number).map(region).collect()
}

/// The answer to [`Request::Configuration`]: `struct virtio_net_config` (virtio 1.2, section 5.1.4) with zeros behind it.
pub fn configuration(mac: [u8; 6], mtu: u16, size: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = [0u32, size as u32, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
    let mut config = [0; 12];
    config[..6].copy_from_slice(&mac);
    config[8] = 1;
    config[10..].copy_from_slice(&mtu.to_le_bytes());
    bytes.extend(config.into_iter().chain(std::iter::repeat(0)).take(size));
    bytes
}

/// The bytes that interrupt a kernel for a ring. It does not answer.
pub fn interrupt(ring: usize) -> [u8; HEADER + 8] {
    let mut bytes = [0; HEADER + 8];
    for (at, part) in [CALL, VERSION, 8, ring as u32, 0].into_iter().enumerate() {
        bytes[4 * at..4 * at + 4].copy_from_slice(&part.to_ne_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_interrupt_and_an_answer_have_the_bytes_of_the_standard() {
        assert_eq!(interrupt(1), [4, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        let header = Header::parse(&[8, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0]).unwrap();
        let done = [8, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(header.done().as_deref(), Some(&done[..]));
        assert_eq!(header.request(&[1, 0, 0, 0, 0, 1, 0, 0]), Ok(Request::Size { ring: 1, size: 256 }));
        assert!(header.request(&[2, 0, 0, 0, 0, 1, 0, 0]).is_err(), "there is no third ring");
        let config = configuration([2, 0, 0, 0, 0, 7], 1500, 12);
        assert_eq!(config[12..], [2, 0, 0, 0, 0, 7, 0, 0, 1, 0, 220, 5]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_a_fault(
            header in proptest::array::uniform12(0u8..40),
            payload in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            if let Ok(header) = Header::parse(&header) {
                prop_assert!(header.payload <= LONGEST);
                if let Ok(Request::Memory(regions)) = header.request(&payload) {
                    prop_assert!(regions.len() <= REGIONS);
                }
                if let Ok(Request::Configuration(size)) = header.request(&payload) {
                    prop_assert_eq!(configuration([0; 6], 1500, size).len(), payload.len());
                }
            }
        }
    }
}
