//! mosquitto, a production broker, takes what our client sends, and our client understands what it answers, over loopback.

use crate::skips;

use haltere_mqtt::client::Event;
use haltere_mqtt::packet::Subscription;
use haltere_mqtt::{Client, ClientConfig, Lane, Message, Output, QoS, Version};
use haltere_net::Time;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Programs of administrators are not in every user's path.
const PLACES: [&str; 3] = ["mosquitto", "/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto"];
const BOTH: [Version; 2] = [Version::V311, Version::V5];

/// A broker that ends with the test.
struct Mosquitto {
    child: Child,
    address: SocketAddr,
    config: PathBuf,
}

impl Mosquitto {
    fn start(name: &str) -> Option<Mosquitto> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let config = std::env::temp_dir().join(format!("haltere-mosquitto-{}-{name}.conf", std::process::id()));
        // The broker would become another user, who could not read the file, if root ran it without `user`.
        let text = format!("listener {} 127.0.0.1\nallow_anonymous true\nuser root\n", address.port());
        std::fs::write(&config, text).unwrap();
        let start = |program: &&str| {
            let mut command = Command::new(program);
            command.arg("-c").arg(&config).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
        };
        let Some(child) = PLACES.iter().find_map(start) else {
            skips::skip("mosquitto is not there: install the package mosquitto");
            let _ = std::fs::remove_file(&config);
            return None;
        };
        Some(Mosquitto { child, address, config })
    }

    fn client(&self, config: ClientConfig) -> Live {
        let stream = (0..100).find_map(|_| {
            let stream = TcpStream::connect(self.address).ok();
            if stream.is_none() {
                std::thread::sleep(Duration::from_millis(50));
            }
            stream
        });
        let stream = stream.expect("mosquitto accepts connections");
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut live = Live { client: Client::new(config), stream, events: Vec::new() };
        live.open();
        live
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.config);
    }
}

/// Our client on a real connection.
struct Live {
    client: Client,
    stream: TcpStream,
    events: Vec<Event>,
}

impl Live {
    fn open(&mut self) {
        self.client.open(Time::ZERO).unwrap();
        self.until(|event| matches!(event, Event::Connected { .. }));
    }

    /// The connection is lost without a word, and another is opened.
    fn reopen(&mut self, at: &Mosquitto) {
        // It may be lost already.
        let _ = self.stream.shutdown(Shutdown::Both);
        self.client.lost();
        self.stream = TcpStream::connect(at.address).unwrap();
        self.stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        self.open();
    }

    fn send(&mut self) {
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Bytes { bytes, .. } => self.stream.write_all(&bytes).unwrap(),
                Output::Close => self.stream.shutdown(Shutdown::Write).unwrap(),
            }
        }
    }

    /// Reads until something has happened, which is taken out of the events.
    fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            self.send();
            while let Some(event) = self.client.poll_event() {
                assert!(!matches!(event, Event::Closed(_) | Event::Refused(_)), "{event:?}");
                self.events.push(event);
            }
            if let Some(at) = self.events.iter().position(&wanted) {
                return self.events.remove(at);
            }
            let mut buffer = [0; 4096];
            let read = self.stream.read(&mut buffer).expect("mosquitto answers");
            assert!(read > 0, "mosquitto has closed the connection");
            self.client.on_bytes(Lane { ours: true, number: 0 }, &buffer[..read], Time::ZERO);
        }
    }

    fn subscribe(&mut self, filter: &str, qos: QoS) {
        self.client.subscribe(&[Subscription::new(filter, qos)], Time::ZERO).unwrap();
        let answer = self.until(|event| matches!(event, Event::Subscribed(_)));
        assert_eq!(answer, Event::Subscribed(vec![qos as u8]));
    }

    fn say(&mut self, message: Message) {
        self.client.publish(message, Time::ZERO).unwrap();
        self.send();
    }

    fn publish(&mut self, topic: &str, payload: &str, qos: QoS) {
        let payload = payload.as_bytes().to_vec().into();
        self.say(Message { topic: topic.into(), payload, qos, retain: false });
    }

    fn message(&mut self) -> (String, String, QoS, bool) {
        match self.until(|event| matches!(event, Event::Message(_))) {
            Event::Message(m) => (m.topic.to_string(), String::from_utf8(m.payload.to_vec()).unwrap(), m.qos, m.retain),
            other => panic!("{other:?}"),
        }
    }
}

fn config(version: Version, client_id: &str) -> ClientConfig {
    ClientConfig { version, topic_alias_maximum: 10, ..ClientConfig::new(client_id) }
}

#[test]
fn messages_of_each_qos_pass_through_mosquitto_once() {
    let Some(broker) = Mosquitto::start("qos") else { return };
    for version in BOTH {
        let mut subscriber = broker.client(config(version, "s"));
        subscriber.subscribe("haltere/+/x", QoS::ExactlyOnce);
        let mut publisher = broker.client(config(version, "p"));
        for n in 0..90_u8 {
            let qos = QoS::of(n % 3).unwrap();
            publisher.publish(&format!("haltere/{}/x", n % 2), &n.to_string(), qos);
            if qos > QoS::AtMostOnce {
                publisher.until(|event| matches!(event, Event::Delivered(_)));
            }
        }
        // Messages of different QoS may overtake each other `[MQTT-4.6.0-6]`.
        let mut found: Vec<(u8, QoS)> =
            (0..90).map(|_| subscriber.message()).map(|(_, payload, qos, _)| (payload.parse().unwrap(), qos)).collect();
        found.sort_by_key(|(n, _)| *n);
        assert_eq!(found, (0..90).map(|n| (n, QoS::of(n % 3).unwrap())).collect::<Vec<_>>());
        assert_eq!(publisher.client.pending(), 0);
    }
}

#[test]
fn retained_messages_and_wills_come_back_from_mosquitto() {
    let Some(broker) = Mosquitto::start("will") else { return };
    for version in BOTH {
        let mut watcher = broker.client(config(version, "watcher"));
        watcher.subscribe("gone", QoS::AtLeastOnce);
        let will =
            Message { topic: "gone".into(), payload: b"p".to_vec().into(), qos: QoS::AtLeastOnce, retain: false };
        let mut publisher = broker.client(ClientConfig { will: Some(will), ..config(version, "p") });
        let kept =
            Message { topic: "kept".into(), payload: b"value".to_vec().into(), qos: QoS::AtLeastOnce, retain: true };
        publisher.say(kept);
        publisher.until(|event| matches!(event, Event::Delivered(_)));
        publisher.stream.shutdown(Shutdown::Both).unwrap();
        assert_eq!(watcher.message(), ("gone".into(), "p".into(), QoS::AtLeastOnce, false));
        watcher.subscribe("kept", QoS::AtMostOnce);
        assert_eq!(watcher.message(), ("kept".into(), "value".into(), QoS::AtMostOnce, true));
    }
}

#[test]
fn a_session_goes_on_at_mosquitto() {
    let Some(broker) = Mosquitto::start("session") else { return };
    for version in BOTH {
        let lasting = ClientConfig { clean: false, session_expiry: 600, ..config(version, &format!("{version:?}")) };
        let mut subscriber = broker.client(lasting);
        subscriber.subscribe("t", QoS::ExactlyOnce);
        subscriber.stream.shutdown(Shutdown::Both).unwrap();
        let mut publisher = broker.client(config(version, "p"));
        for n in 0..5 {
            publisher.publish("t", &n.to_string(), QoS::ExactlyOnce);
            publisher.until(|event| matches!(event, Event::Delivered(_)));
        }
        subscriber.reopen(&broker);
        let found: Vec<String> = (0..5).map(|_| subscriber.message().1).collect();
        assert_eq!(found, ["0", "1", "2", "3", "4"]);
    }
}
