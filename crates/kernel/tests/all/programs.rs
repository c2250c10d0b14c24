//! Programs inside kernels.

use crate::skips::skip;
use crate::wire::boot;
use haltere_kernel::control::{Command, Ending, Event, Launch, Protocol};
use haltere_kernel::{Error, Node};
use haltere_net::{Span, Time};
use std::path::Path;

const HOME: &str = "/run/haltere";

/// A kernel that is a machine for programs, with its time.
struct Machine {
    node: Node,
    now: Time,
    folder: tempfile::TempDir,
}

impl Machine {
    /// `None` where there is no kernel.
    fn booted() -> Option<Machine> {
        let node = match boot(1).and_then(|boot| Node::boot(&boot)) {
            Ok(node) => node,
            Err(Error::Missing(why)) => {
                skip(&why);
                return None;
            }
            Err(why) => panic!("{why}"),
        };
        let mut machine = Machine { node, now: Time::ZERO, folder: tempfile::tempdir().unwrap() };
        let folder = machine.folder.path().to_str().unwrap().to_string();
        machine.node.command(Command::Furnish { folder, at: HOME.into() });
        Some(machine)
    }

    fn shell(&mut self, child: u32, script: &str) {
        self.start(child, &["/bin/sh", "-c", script]);
    }

    fn start(&mut self, child: u32, argv: &[&str]) {
        let environment = vec![("PATH".into(), "/bin:/usr/bin".into()), ("WORD".into(), "said".into())];
        let argv = argv.iter().map(ToString::to_string).collect();
        let log = format!("{HOME}/{child}.log");
        let launch = Launch { argv, environment, folder: HOME.into(), log };
        self.node.command(Command::Spawn { child, launch });
    }

    /// Runs until there is nothing more to do before a time, or until there are so many events; these.
    fn events(&mut self, until: Span, most: usize) -> Vec<Event> {
        let (end, mut seen) = (self.now + until, Vec::new());
        while seen.len() < most {
            self.node.run(self.now).unwrap();
            seen.extend(std::iter::from_fn(|| self.node.poll_event()));
            let wake = self.node.next_wake();
            if wake > end {
                break;
            }
            self.now = wake;
        }
        seen
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(Path::new(self.folder.path()).join(name)).unwrap()
    }
}

const SECOND: Span = Span::from_secs(1);

#[test]
fn a_program_writes_into_the_one_folder_and_tells_its_status() {
    let Some(mut machine) = Machine::booted() else { return };
    machine.shell(7, "echo $WORD; echo more >&2; pwd > where; exit 3");
    assert_eq!(machine.events(SECOND, 1), [Event::Exited { child: 7, ending: Ending::Status(3) }]);
    assert_eq!((machine.file("7.log"), machine.file("where")), ("said\nmore\n".into(), format!("{HOME}\n")));
    machine.shell(8, "echo no > /etc/haltere-was-here || exit 9");
    assert_eq!(machine.events(SECOND, 1), [Event::Exited { child: 8, ending: Ending::Status(9) }]);
}

#[test]
fn time_passes_for_programs_only_as_the_run_lets_it() {
    let Some(mut machine) = Machine::booted() else { return };
    machine.shell(1, "sleep 3600");
    assert_eq!(machine.events(Span::from_secs(4000), 1), [Event::Exited { child: 1, ending: Ending::Status(0) }]);
    let slept = machine.now.since(Time::ZERO);
    assert!((Span::from_secs(3600)..Span::from_secs(3601)).contains(&slept), "{slept}");
}

#[test]
fn a_kernel_that_runs_ahead_does_the_same_in_fewer_rounds() {
    let script = "i=0; while [ $i -lt 40 ]; do date +%s.%N; i=$((i + 1)); done; sleep 0.01; date +%s.%N";
    let seen = [Span::ZERO, Span::from_secs(100)].map(|ahead| {
        let mut machine = Machine::booted()?;
        machine.shell(1, script);
        let mut at = machine.now;
        while at < Time::ZERO + SECOND {
            let told = machine.node.run_ahead(at, at + ahead).unwrap();
            if let Some(event) = machine.node.poll_event() {
                let rounds = machine.node.kernel().rounds();
                return Some((told, event, machine.file("1.log"), rounds));
            }
            at = machine.node.next_wake();
        }
        panic!("it does not end");
    });
    let [Some(step), Some(leap)] = seen else { return };
    assert_eq!((step.0, &step.1, &step.2), (leap.0, &leap.1, &leap.2));
    assert_eq!(step.2.lines().count(), 41);
    assert!(leap.3 * 5 < step.3, "{} rounds, and {} without a window", leap.3, step.3);
}

#[test]
fn what_ends_is_reaped_with_all_that_it_started() {
    let Some(mut machine) = Machine::booted() else { return };
    machine.shell(1, "sleep 1000 & sleep 1001 & sleep 1002");
    assert_eq!(machine.events(SECOND, 1), []);
    machine.node.command(Command::Kill { child: 1 });
    assert_eq!(machine.events(SECOND, 1), [Event::Exited { child: 1, ending: Ending::Signal(9) }]);
    // A daemon leaves its parent, and its group stays.
    machine.shell(2, "sleep 1003 & exit 0");
    assert_eq!(machine.events(SECOND, 2), [Event::Exited { child: 2, ending: Ending::Status(0) }]);
    machine.shell(3, "cat /proc/[0-9]*/stat > processes");
    machine.events(SECOND, 1);
    let processes = machine.file("processes");
    assert!(processes.contains("(haltere-node)") && !processes.contains("(sleep)"), "{processes}");
    assert!(!processes.contains(") Z "), "{processes}");
}

#[test]
fn an_open_port_is_told() {
    let Some(mut machine) = Machine::booted() else { return };
    if !Path::new("/usr/bin/python3").exists() {
        return skip("there is no python3");
    }
    let script = "import socket, time\n\
        time.sleep(0.5)\n\
        one = socket.create_server(('127.0.0.1', 8080))\n\
        time.sleep(0.5)\n\
        two = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); two.bind(('', 8080))\n\
        time.sleep(100)";
    machine.start(5, &["/usr/bin/python3", "-c", script]);
    machine.node.command(Command::Await { child: 5, protocol: Protocol::Udp, port: 8080 });
    machine.node.command(Command::Await { child: 5, protocol: Protocol::Tcp, port: 8080 });
    let mut seen = Vec::new();
    for _ in 0..2 {
        assert_eq!(machine.events(Span::from_secs(10), 1), [Event::Listening { child: 5 }]);
        seen.push(machine.now.as_secs_f64());
    }
    assert!((0.5..0.6).contains(&seen[0]) && (1.0..1.1).contains(&seen[1]), "{seen:?}");
}

#[test]
fn what_cannot_be_started_is_told_and_harms_nothing() {
    let Some(mut machine) = Machine::booted() else { return };
    machine.start(1, &["/nonexistent"]);
    machine.start(2, &[]);
    machine.shell(3, "exit 0");
    let mut seen = machine.events(SECOND, 3);
    seen.sort_by_key(|event| format!("{event:?}"));
    let failed = |socket, errno| Event::Failed { socket, errno };
    assert_eq!(seen, [Event::Exited { child: 3, ending: Ending::Status(0) }, failed(1, 2), failed(2, 22)]);
}

#[test]
fn programs_need_a_machine_that_is_furnished() {
    let Ok(mut node) = boot(1).and_then(|boot| Node::boot(&boot)) else { return };
    node.command(Command::Kill { child: 1 });
    node.run(Time::ZERO).unwrap();
    // ENODEV
    assert_eq!(node.poll_event(), Some(Event::Failed { socket: 1, errno: 19 }));
}
