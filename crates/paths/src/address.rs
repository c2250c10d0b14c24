//! Addresses of hops: IPv4 and IPv6 in one form, so that the same node is the same value.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An IPv4 or IPv6 address in 16 bytes. IPv4 is held as IPv4-mapped IPv6 (RFC 4291, section 2.5.5.2): some platforms
/// write it so, and a node is one node however its address was written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Address([u8; 16]);

impl Address {
    /// No address: `::`, which no node has.
    pub const NONE: Address = Address([0; 16]);

    /// The IPv4 address of four bytes in network order.
    #[inline]
    pub const fn v4(b: [u8; 4]) -> Address {
        Address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, b[0], b[1], b[2], b[3]])
    }

    /// The IPv6 address of sixteen bytes in network order.
    #[inline]
    pub const fn v6(bytes: [u8; 16]) -> Address {
        Address(bytes)
    }

    /// The sixteen bytes in network order, IPv4 as IPv4-mapped IPv6.
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Whether this is [`Address::NONE`].
    pub fn is_none(&self) -> bool {
        *self == Address::NONE
    }

    /// The standard library's form; IPv4-mapped IPv6 is IPv4.
    pub fn ip(&self) -> IpAddr {
        Ipv6Addr::from(self.0).to_canonical()
    }

    /// Whether this is an IPv4 address.
    pub fn is_v4(&self) -> bool {
        self.0[..12] == Address::v4([0; 4]).0[..12]
    }
}

impl From<IpAddr> for Address {
    fn from(ip: IpAddr) -> Address {
        match ip {
            IpAddr::V4(v4) => Address::from(v4),
            IpAddr::V6(v6) => Address(v6.octets()),
        }
    }
}

impl From<Ipv4Addr> for Address {
    fn from(ip: Ipv4Addr) -> Address {
        Address::v4(ip.octets())
    }
}

impl FromStr for Address {
    type Err = std::net::AddrParseError;

    fn from_str(text: &str) -> Result<Address, Self::Err> {
        text.parse::<IpAddr>().map(Address::from)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ip().fmt(f)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ip().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_address_is_the_ipv4_one() {
        let plain: Address = "62.115.122.139".parse().unwrap();
        let mapped: Address = "::ffff:62.115.122.139".parse().unwrap();
        assert_eq!(plain, mapped);
        assert_eq!(mapped.to_string(), "62.115.122.139");
        assert!(plain.is_v4() && !"2001:db8::1".parse::<Address>().unwrap().is_v4());
    }
}
