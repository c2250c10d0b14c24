//! The addresses of a connection's paths. The simulator numbers paths, stacks know addresses.

use haltere_net::PathId;
use haltere_transport::Role;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The two addresses of a path, as one end sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressPair {
    /// This end's address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

impl AddressPair {
    /// The usual addresses of path `k`: the client's is 10.0.k.2, port 50000, the server's 10.0.k.1, port 443.
    pub const fn of_path(role: Role, path: PathId) -> AddressPair {
        let client = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, path.0, 2)), 50_000);
        let server = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, path.0, 1)), 443);
        match role {
            Role::Client => AddressPair { local: client, remote: server },
            Role::Server => AddressPair { local: server, remote: client },
        }
    }
}

/// The paths of a connection: path `k` has the `k`-th pair of addresses.
#[derive(Clone, Debug)]
pub(crate) struct Addresses(Vec<AddressPair>);

impl Addresses {
    /// The paths with these addresses.
    ///
    /// # Errors
    /// If there is none, if there are more than path numbers, or if two are the same.
    pub fn new(pairs: Vec<AddressPair>) -> Result<Addresses, &'static str> {
        if pairs.is_empty() {
            return Err("a connection needs the addresses of at least one path");
        }
        if pairs.len() > usize::from(u8::MAX) + 1 {
            return Err("a connection has at most 256 paths: give fewer pairs of addresses");
        }
        if pairs.iter().enumerate().any(|(k, pair)| pairs[..k].contains(pair)) {
            return Err("two paths of a connection have the same addresses: give each path a pair of its own");
        }
        Ok(Addresses(pairs))
    }

    /// The addresses of a path, if there is such a path.
    pub fn pair(&self, path: PathId) -> Option<AddressPair> {
        self.0.get(usize::from(path.0)).copied()
    }

    /// The path from `source` to `destination`, if there is one. Where a stack does not say from which address it
    /// sends, it is the first path to `destination`.
    pub fn path(&self, source: Option<IpAddr>, destination: SocketAddr) -> Option<PathId> {
        let fits =
            |pair: &AddressPair| pair.remote == destination && source.is_none_or(|source| source == pair.local.ip());
        self.0.iter().position(fits).map(|k| PathId(k as u8))
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(path: u8) -> AddressPair {
        AddressPair::of_path(Role::Client, PathId(path))
    }

    #[test]
    fn paths_and_addresses_map_to_each_other_and_others_to_none() {
        let addresses = Addresses::new((0..3).map(pair).collect()).unwrap();
        for k in 0..3 {
            let known = addresses.pair(PathId(k)).unwrap();
            assert_eq!(known, pair(k));
            assert_eq!(addresses.path(Some(known.local.ip()), known.remote), Some(PathId(k)));
            assert_eq!(addresses.path(None, known.remote), Some(PathId(k)));
        }
        assert_eq!(addresses.pair(PathId(3)), None);
        assert_eq!(addresses.path(None, pair(3).remote), None);
        assert_eq!(addresses.path(Some(pair(1).local.ip()), pair(0).remote), None, "no path has this pair");
    }

    #[test]
    fn the_source_tells_paths_to_one_address_apart() {
        let remote = pair(0).remote;
        let addresses = Addresses::new((0..2).map(|k| AddressPair { remote, ..pair(k) }).collect()).unwrap();
        let path = |source| addresses.path(source, remote);
        assert_eq!(path(None), Some(PathId(0)));
        assert_eq!(path(Some(pair(1).local.ip())), Some(PathId(1)));
    }

    #[test]
    fn paths_without_addresses_of_their_own_are_refused() {
        assert!(Addresses::new(Vec::new()).unwrap_err().contains("at least one"));
        assert!(Addresses::new(vec![pair(1), pair(1)]).unwrap_err().contains("same addresses"));
    }
}
