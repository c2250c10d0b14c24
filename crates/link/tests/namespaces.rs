//! With the kernel, in namespaces of the test's own. Elsewhere than on a machine that lets us make them, the reason is
//! printed and nothing is tested.
#![cfg(target_os = "linux")]

#[path = "../../../tests/rust/skips.rs"]
mod skips;

use haltere_link::shell::{Shell, ShellSpec};
use haltere_link::tun::Namespace;
use std::net::UdpSocket;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One test at a time: the child that another one forks has its descriptors too until it becomes the command, and they
/// keep a device alive.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a test in a new network namespace that only its thread is in; not at all where that is not allowed.
fn in_a_namespace(test: impl FnOnce() + Send) {
    if let Err(errno) = Namespace::make() {
        return skips::skip(&format!("cannot make a network namespace ({errno}); root can"));
    }
    if !std::path::Path::new("/dev/net/tun").exists() {
        return skips::skip("this machine has no /dev/net/tun");
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("a namespace");
            test();
        });
        inside.join().expect("the test passes");
    });
}

fn devices() -> usize {
    std::fs::read_to_string("/proc/thread-self/net/dev").expect("the list of devices").lines().count()
}

#[test]
fn a_command_behind_a_link_reaches_the_caller_and_leaves_nothing() {
    in_a_namespace(|| {
        let before = devices();
        let spec = ShellSpec::from_json(r#"{"down": {"delay_ns": 3000000}, "up": {"delay_ns": 5000000}}"#);
        let shell = Shell::new(spec.expect("a specification")).expect("a link");
        assert_eq!(devices(), before + 1);
        let server = UdpSocket::bind((shell.base(), 0)).expect("a socket at the caller's end");
        server.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        let port = server.local_addr().expect("its address").port();
        // bash's /dev/udp is a client that every machine has. It waits for an answer, so that both packets have crossed.
        let said = format!(
            "exec 3<>/dev/udp/$HALTERE_BASE/{port}; printf haltere >&3; read -r -t 20 -n 1 -u 3 && exit 7; exit 8"
        );
        let command = ["bash", "-c", &said].map(String::from);
        let answer = std::thread::spawn(move || {
            let mut buffer = [0; 64];
            let (length, from) = server.recv_from(&mut buffer).expect("the packet");
            server.send_to(b"!", from).expect("the answer leaves");
            length
        });
        let (code, report) = shell.run(&command).expect("it runs");
        assert_eq!((code, answer.join().expect("it was answered")), (7, 7));
        for link in &report.links {
            assert_eq!((link.counters.offered_packets, link.counters.delivered_packets), (1, 1), "{link:?}");
        }
        assert_eq!(devices(), before);
    });
}

#[test]
fn a_command_that_is_not_there_is_an_error_and_leaves_nothing() {
    in_a_namespace(|| {
        let before = devices();
        let shell = Shell::new(ShellSpec::default()).expect("a link");
        let error = shell.run(&["no-such-program".to_string()]).expect_err("there is none");
        assert!(error.message.contains("no-such-program"), "{error}");
        assert_eq!(devices(), before);
    });
}
