//! Two network namespaces with a veth pair, gone when dropped.

use std::process::Command;

/// `server` and `client`, each with the interface `v0`.
pub struct Pair {
    names: [String; 2],
}

fn ip(args: &str) {
    let run = Command::new("ip").args(args.split(' ')).output().expect("ip(8) runs");
    assert!(run.status.success(), "ip {args}: {}", String::from_utf8_lossy(&run.stderr));
}

impl Pair {
    /// Makes them, or says why it cannot: that takes root and ip(8).
    pub fn new(test: &str) -> Option<Pair> {
        let root = std::fs::read_to_string("/proc/self/status").is_ok_and(|s| s.contains("\nUid:\t0\t0\t"));
        let name = |end: &str| format!("haltere-{test}-{end}-{}", std::process::id());
        let names = [name("s"), name("c")];
        let can = root
            && Command::new("ip").args(["netns", "add", &names[0]]).output().is_ok_and(|made| made.status.success());
        if !can {
            super::skips::skip("network namespaces take root and ip(8)");
            return None;
        }
        let pair = Pair { names };
        let [server, client] = &pair.names;
        ip(&format!("netns add {client}"));
        ip(&format!("-n {server} link add v0 type veth peer name v0 netns {client}"));
        for (space, own, other) in [(server, "10.0.0.1", "10.0.0.2"), (client, "10.0.0.2", "10.0.0.1")] {
            ip(&format!("-n {space} address add {own}/32 dev lo"));
            ip(&format!("-n {space} link set lo up"));
            ip(&format!("-n {space} link set v0 up"));
            ip(&format!("-n {space} route add {other}/32 dev v0 src {own}"));
        }
        Some(pair)
    }

    /// Has every segment be a packet of its own.
    pub fn without_offloads(&self) {
        for name in &self.names {
            ip(&format!("-n {name} link set v0 gso_max_segs 1 gso_max_size 1500"));
        }
    }

    /// Paths of the server's and the client's namespace.
    pub fn paths(&self) -> [String; 2] {
        self.names.clone().map(|n| format!("/run/netns/{n}"))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
    }
}
