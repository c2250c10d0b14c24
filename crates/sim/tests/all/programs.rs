//! Programs on kernels that are nodes. All are skipped where no kernel has been built, or where there is no Python for programs of a few lines.
#![cfg(feature = "kernels")]

use crate::skips::skip;
use haltere_kernel::control::{Launch, Protocol};
use haltere_kernel::programs::{self, HOME, Server};
use haltere_sim::build::{Programs, placed};
use haltere_sim::{Fidelity, Files, Pcap, RunResult, Scenario, run_with, trace_with};
use serde_json::{Value, json};
use std::path::Path;

const PYTHON: &str = "/usr/bin/python3";

/// A server of the standard library's sockets, which answers each connection or datagram with `size` bytes.
const SERVER: &str = "\
import socket, sys
kind, address, port, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if kind == 'tcp':
    listener = socket.create_server((address, port))
    while True:
        one, _ = listener.accept()
        one.recv(100)
        one.sendall(bytes(size))
        one.close()
else:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind((address, port))
    while True:
        _, peer = one.recvfrom(100)
        for _ in range(size // 1000):
            one.sendto(bytes(1000), peer)
";

/// A client that fetches over so many connections at once, or one datagram after the other.
const CLIENT: &str = "\
import socket, sys
kind, address, port, size, several = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
if kind == 'tcp':
    all = [socket.create_connection((address, port)) for _ in range(several)]
    for one in all:
        one.sendall(b'x')
    got = 0
    for one in all:
        while piece := one.recv(1 << 16):
            got += len(piece)
else:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.sendto(b'x', (address, port))
    got = 0
    while got < size:
        got += len(one.recv(2000))
print('got', got)
sys.exit(0 if got == size * several else 4)
";

/// Whether programs can run here.
fn ready() -> bool {
    let why = match haltere_kernel::ready() {
        Err(why) => why.to_string(),
        Ok(()) if !Path::new(PYTHON).exists() => format!("there is no {PYTHON}"),
        Ok(()) => return true,
    };
    skip(&why);
    false
}

/// A run with programs: its scenario, and how they are started.
struct Prepared {
    scenario: Scenario,
    programs: Programs,
    folder: tempfile::TempDir,
}

fn launch(words: &[&str], log: &str) -> Launch {
    Launch {
        argv: words.iter().map(ToString::to_string).collect(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        folder: HOME.into(),
        log: format!("{HOME}/{log}"),
    }
}

impl Prepared {
    /// Every flow of the scenario whose contender has the implementation `fetch` fetches `size` bytes over `several` connections.
    fn new(scenario: &Value, size: u64, several: u32) -> Prepared {
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let size = size.to_string();
        let of_flow = |one: &haltere_sim::build::Placed| {
            let (kind, protocol) = if one.transport == "tcp" { ("tcp", Protocol::Tcp) } else { ("udp", Protocol::Udp) };
            let (port, several) = (one.port.to_string(), several.to_string());
            let server = [PYTHON, "-c", SERVER, kind, &one.server, &port, &size];
            let client = [PYTHON, "-c", CLIENT, kind, &one.server, &port, &size, &several];
            let server = launch(&server, &format!("server{}.log", one.flow));
            programs::Programs {
                folder: folder.path().to_str().unwrap().into(),
                server: Some(Server { launch: server, ready: Some((protocol, one.port)) }),
                client: launch(&client, &format!("client{}.log", one.flow)),
                subscriber: None,
                congestion: (kind == "tcp").then(|| one.congestion.clone()),
                data: programs::Data::Down,
                early: false,
            }
        };
        let placed = placed(&scenario, Fidelity::Stack, 1, 0).unwrap();
        let programs = placed
            .iter()
            .map(|one| (one.flow, programs::Prepared { programs: Some(of_flow(one)), module: None }))
            .collect();
        Prepared { scenario, programs, folder }
    }

    fn run(&self) -> RunResult {
        run_with(Fidelity::Stack, &self.scenario, (1, 0), &self.programs).unwrap()
    }

    fn said(&self, log: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(log)).unwrap()
    }
}

fn flow(contender: &str) -> Value {
    json!({ "contender": contender, "app": "raw", "size": "1MB" })
}

fn on_link(flows: &[Value], link: &Value) -> Value {
    json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": flows, "time_limit": "60s" })
}

fn lossy() -> Value {
    json!({ "rate": "20Mbit/s", "delay": "15ms", "queue": "60p", "down": { "loss": "1%" } })
}

#[test]
fn a_program_fetches_over_several_connections_and_repeats() {
    if !ready() {
        return;
    }
    let prepared = Prepared::new(&on_link(&[flow("tcp@fetch/cubic")], &lossy()), 250_000, 4);
    let first = prepared.run();
    let flow = &first.flows[0];
    assert_eq!((flow.status, flow.bytes), ("ok", 1_000_000), "{:?}", flow.error);
    // 1 MB takes 0.4 s at least.
    assert!((0.4..3.0).contains(&flow.completion_s.unwrap()), "{flow:?}");
    assert!(flow.min_rtt_s.unwrap() >= 0.03 && flow.retransmitted_packets > 0, "{flow:?}");
    assert!(flow.sent_packets > 690 && flow.wire_bytes > 1_030_000, "{flow:?}");
    assert_eq!(prepared.said("client0.log"), "got 1000000\n");
    let again = Prepared::new(&on_link(&[self::flow("tcp@fetch/cubic")], &lossy()), 250_000, 4).run();
    assert_eq!(serde_json::to_string(&first).unwrap(), serde_json::to_string(&again).unwrap());
}

#[test]
fn a_program_and_the_kernels_own_sockets_take_the_same_time() {
    if !ready() {
        return;
    }
    let link = json!({ "rate": "20Mbit/s", "delay": "20ms", "queue": "1000p" });
    for control in ["cubic", "bbr"] {
        let own = on_link(&[flow(&format!("tcp@linux/{control}"))], &link);
        let own = haltere_sim::run_at(Fidelity::Stack, &Scenario::from_json(&own.to_string()).unwrap(), 1, 0).unwrap();
        let program = Prepared::new(&on_link(&[flow(&format!("tcp@fetch/{control}"))], &link), 1_000_000, 1).run();
        let [own, program] = [own, program].map(|result| result.flows[0].completion_s.unwrap());
        // The socket of the kernel's own does not wait until its request has been answered: nor does the program.
        assert!((program / own - 1.0).abs() < 0.03, "{control}: {program} s, and {own} s by the kernel's own sockets");
    }
}

#[test]
fn datagrams_of_programs_meet_all_else_at_a_bottleneck() {
    if !ready() {
        return;
    }
    let link = json!({ "rate": "20Mbit/s", "delay": "15ms", "queue": "3000p" });
    let flows = [flow("quic@fetch/none"), flow("tcp@linux/cubic"), flow("tcp/cubic"), flow("tcp@fetch/cubic")];
    let prepared = Prepared::new(&on_link(&flows, &link), 1_000_000, 1);
    let result = prepared.run();
    assert_eq!((result.status, &result.error), ("ok", &None));
    let datagrams = &result.flows[0];
    assert_eq!((datagrams.bytes, datagrams.sent_packets, datagrams.min_rtt_s), (1_000_000, 1000, None));
    assert_eq!(datagrams.wire_bytes, 1000 * 1028);
    // 4 MB take 1.6 s at least.
    let last = result.flows.iter().map(|flow| flow.completion_s.unwrap()).fold(0.0, f64::max);
    assert!((1.6..4.0).contains(&last), "{last}");
}

#[test]
fn a_capture_has_the_packets_of_programs() {
    if !ready() {
        return;
    }
    let captured = || {
        let prepared = Prepared::new(&on_link(&[flow("tcp@fetch/cubic")], &lossy()), 1_000_000, 1);
        let folder = tempfile::tempdir().unwrap();
        let pcap = Some(Pcap { folder: folder.path().into(), links: Vec::new() });
        let files = Files { pcap, ..Files::default() };
        let traced = trace_with(Fidelity::Stack, &prepared.scenario, (1, 0), &files, &prepared.programs).unwrap();
        assert_eq!((traced.result.status, &traced.result.error), ("ok", &None));
        let mut all: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
        all.sort();
        all.into_iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    let first = captured();
    assert!(first.iter().map(Vec::len).sum::<usize>() > 1_000_000);
    assert!(first == captured(), "two runs do not have the same bytes");
}

/// A run whose only flow has these programs in the place of the usual ones.
fn with(change: impl FnOnce(&mut programs::Programs)) -> Result<RunResult, String> {
    let mut prepared = Prepared::new(&on_link(&[flow("tcp@fetch/cubic")], &lossy()), 1_000_000, 1);
    change(prepared.programs.get_mut(&0).unwrap().programs.as_mut().unwrap());
    run_with(Fidelity::Stack, &prepared.scenario, (1, 0), &prepared.programs).map_err(|e| e.to_string())
}

#[test]
fn a_client_that_fails_fails_its_flow() {
    if !ready() {
        return;
    }
    let failed = |script: &str| {
        let result =
            with(|programs| programs.client.argv = vec!["/bin/sh".into(), "-c".into(), script.into()]).unwrap();
        assert_eq!((result.status, result.flows[0].status, result.flows[0].completion_s), ("failed", "failed", None));
        result.flows[0].error.clone().unwrap()
    };
    assert_eq!(failed("exit 8"), "the client program ended with status 8");
    assert_eq!(failed("kill -9 $$"), "the client program was ended by signal 9");
    assert!(failed("sleep 1000").contains("not finished after 60s: 0 of 1000000 bytes"));
    let result = with(|programs| programs.client.argv = vec!["/nonexistent".into()]).unwrap();
    assert!(result.error.as_deref().unwrap().contains("cannot be started: No such file"), "{:?}", result.error);
}

#[test]
fn a_server_that_opens_no_port_ends_the_run_with_its_last_words() {
    if !ready() {
        return;
    }
    let said = |script: &str| {
        let words = vec!["/bin/sh".into(), "-c".into(), script.into()];
        with(|programs| programs.server.as_mut().unwrap().launch.argv = words).unwrap_err()
    };
    let ended = said("echo out of luck; exit 7");
    assert!(ended.contains("/bin/sh ended with status 7 before its port 5000 was open: out of luck"), "{ended}");
    let waits = said("echo half way; sleep 1000");
    assert!(waits.contains("did not open its port 5000 within") && waits.ends_with("half way"), "{waits}");
}

#[test]
fn what_nobody_has_prepared_is_named_with_the_remedy() {
    let scenario = Scenario::from_json(&on_link(&[flow("tcp@fetch/cubic")], &lossy()).to_string()).unwrap();
    let said = run_with(Fidelity::Stack, &scenario, (1, 0), &Programs::new()).unwrap_err();
    assert_eq!(said.path, "flows[0].contender");
    assert!(said.message.contains("tcp@fetch") && said.message.contains("tcp@model"), "{said}");
}
