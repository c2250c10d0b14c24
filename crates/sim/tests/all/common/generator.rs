//! Random scenarios. A scenario depends on nothing but its number, so that a failure is a named case.

use haltere_net::rng::{Stream, Streams};
use haltere_transport::cc::{Algorithm, Startup};
use serde_json::{Map, Value, json};

/// The outcome of a scenario that is known before it is run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Hope {
    /// It must end well.
    Sure,
    /// It may fail, for an expected reason.
    Doubtful,
    /// It must fail.
    None,
}

/// A random scenario.
pub struct Case {
    pub scenario: Value,
    pub hope: Hope,
}

/// Whether a link is the only one of its path.
#[derive(Clone, Copy, PartialEq)]
enum OnPath {
    Alone,
    OneOfSeveral,
}

/// Whether a flow has a size.
#[derive(Clone, Copy, PartialEq)]
enum Size {
    Given,
    MayLack,
}

struct Draw {
    stream: Stream,
    /// The random stream of the handshakes alone, so that they do not change the rest of a scenario.
    handshakes: Stream,
    /// The random stream of tunnels, circuit breakers and supplies alone.
    further: Stream,
    hope: Hope,
    /// Of the slowest link, bit/s.
    slowest: f64,
    /// Of all links together, bit/s: more than any route carries.
    sum: f64,
    largest_mtu: f64,
    /// One way in all, s.
    delay: f64,
    /// Of all links together, a probability.
    loss: f64,
    /// Whether some queue holds a few packets at most.
    tiny_queue: bool,
}

/// The case called `number`.
pub fn case(number: u64) -> Case {
    let mut draw = Draw {
        stream: Streams::new(0x68616c74, number).named("scenario"),
        handshakes: Streams::new(0x68616c74, number).named("handshakes"),
        further: Streams::new(0x68616c74, number).named("further"),
        hope: Hope::Sure,
        slowest: 1e10,
        sum: 0.0,
        largest_mtu: 1500.0,
        delay: 0.0,
        loss: 0.0,
        tiny_queue: false,
    };
    let scenario = draw.scenario();
    Case { scenario, hope: draw.hope }
}

impl Draw {
    fn one_in(&mut self, n: u64) -> bool {
        self.stream.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.stream.below(of.len() as u64) as usize].clone()
    }

    /// Ten to a power between the two.
    fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        libm::exp10(low + (high - low) * self.stream.unit())
    }

    fn at_most(&mut self, hope: Hope) {
        self.hope = self.hope.max(hope);
    }

    fn scenario(&mut self) -> Value {
        let flows = self.pick(&[1, 1, 1, 1, 2, 2, 3, 4]);
        let (topology, ends) = match self.stream.below(3) {
            0 => {
                let mut link = self.link(OnPath::Alone);
                if self.one_in(30) {
                    self.hope = Hope::None;
                    let nothing_passes = [json!("100%"), json!({ "model": "periodic", "every": 1 })];
                    link["down"]["loss"] = self.pick(&nothing_passes);
                }
                (json!({ "kind": "point-to-point", "link": link }), vec![json!({}); flows])
            }
            1 => self.dumbbell(flows),
            _ => self.graph(flows),
        };
        let load = self.largest_mtu * 80.0 * flows as f64 / self.slowest;
        // Many successive losses end a connection, and a new flow repeatedly finds a tiny queue full.
        let crowded = self.tiny_queue && (flows > 1 || self.loss > 0.03);
        // A queue of 1000 packets that another flow fills may hold a packet for longer than QUIC's idle timeout of 30 s.
        let slow_queue = flows > 1 && self.largest_mtu * 8.0 * 1000.0 / self.slowest > 30.0;
        if load > 4.0 || self.delay > 2.0 || self.loss > 0.1 || crowded || slow_queue {
            self.at_most(Hope::Doubtful);
        }
        let mut scenario = Map::new();
        scenario.insert("topology".into(), topology);
        scenario.insert("time_limit".into(), json!("10h"));
        let seconds = self.magnitude(-1.0, 1.0);
        let unlimited = self.hope < Hope::None && self.one_in(4) && self.sum * seconds < 3e7;
        if unlimited || (self.hope < Hope::None && self.one_in(20)) {
            scenario.insert("duration".into(), json!(format!("{seconds:.6}s")));
            if self.one_in(2) {
                scenario.insert("measure_from".into(), json!(format!("{:.6}s", seconds / 3.0)));
            }
        }
        let size = if unlimited { Size::MayLack } else { Size::Given };
        let flows: Vec<Value> = ends.into_iter().map(|end| self.flow(end, size)).collect();
        scenario.insert("flows".into(), json!(flows));
        Value::Object(scenario)
    }

    fn dumbbell(&mut self, flows: usize) -> (Value, Vec<Value>) {
        let pairs = self.pick(&[1, flows]);
        let mut topology = json!({ "kind": "dumbbell", "pairs": pairs, "bottleneck": self.link(OnPath::Alone) });
        if self.one_in(3) {
            topology["access"] = self.link(OnPath::OneOfSeveral);
        }
        (topology, (0..flows).map(|i| json!({ "pair": i % pairs })).collect())
    }

    /// A chain of routers, sometimes with a shortcut, and hosts at random nodes.
    fn graph(&mut self, flows: usize) -> (Value, Vec<Value>) {
        let nodes = 2 + self.stream.below(3) as usize;
        let mut links: Vec<Value> = (1..nodes)
            .map(|i| json!({ "from": format!("n{}", i - 1), "to": format!("n{i}"), "link": self.link(if nodes > 2 { OnPath::OneOfSeveral } else { OnPath::Alone }) }))
            .collect();
        if nodes > 2 && self.one_in(2) {
            links.push(
                json!({ "name": "shortcut", "from": "n0", "to": format!("n{}", nodes - 1), "link": self.link(OnPath::OneOfSeveral) }),
            );
        }
        let ends = (0..flows)
            .map(|_| {
                let server = self.stream.below(nodes as u64) as usize;
                let client = (server + 1 + self.stream.below(nodes as u64 - 1) as usize) % nodes;
                json!({ "server": format!("n{server}"), "client": format!("n{client}") })
            })
            .collect();
        (json!({ "kind": "graph", "links": links }), ends)
    }

    /// A link. If it is one of several on a path it has fewer impairments, because those of all links add up.
    fn link(&mut self, on_path: OnPath) -> Value {
        let mut link = Map::new();
        if self.one_in(10) {
            self.sum = f64::INFINITY;
        } else {
            let bps = if self.one_in(100) {
                self.pick(&[1.0, 1e13])
            } else if on_path == OnPath::OneOfSeveral {
                self.magnitude(6.0, 10.0)
            } else {
                self.magnitude(3.5, 9.5)
            };
            self.slowest = self.slowest.min(bps);
            self.sum += bps;
            link.insert("rate".into(), json!(format!("{:.0}bit/s", bps)));
        }
        if self.one_in(6) {
            let mtu = self.pick(&[1280.0, 1281.0, 1492.0, 4000.0, 9000.0, 65_535.0]);
            self.largest_mtu = self.largest_mtu.max(mtu);
            link.insert("mtu".into(), json!(format!("{mtu}B")));
        }
        if !self.one_in(3) {
            let tiny = ["0p", "1p", "2p", "3p", "1B", "3kB", "1bdp", "0.01bdp"];
            self.tiny_queue |= self.one_in(3);
            let queue = if self.tiny_queue { self.pick(&tiny) } else { self.pick(&["10p", "50p", "1000p", "500kB"]) };
            link.insert("queue".into(), json!(queue));
            if self.one_in(3) {
                link.insert("mark".into(), json!(self.pick(&["2p", "20p", "30kB"])));
            }
        }
        if self.one_in(4) {
            link.insert("ring".into(), json!(self.pick(&["1p", "4p", "256p"])));
            if self.one_in(2) {
                link.insert("bql".into(), json!(self.one_in(2)));
            }
        }
        self.path(&mut link);
        for side in ["down", "up"] {
            if self.one_in(2) {
                let mut own = Map::new();
                self.path(&mut own);
                self.impairments(&mut own);
                link.insert(side.into(), Value::Object(own));
            }
        }
        if self.one_in(3) {
            self.impairments(&mut link);
        }
        if !link.contains_key("ring") {
            self.middleboxes(&mut link);
        }
        Value::Object(link)
    }

    /// A tunnel or a circuit breaker around a link.
    fn middleboxes(&mut self, link: &mut Map<String, Value>) {
        match self.further.below(24) {
            0 => {
                let ecn = ["normal", "compatibility", "rfc3168", "none"][self.further.below(4) as usize];
                let header = ["20B", "28B", "60B"][self.further.below(3) as usize];
                link.insert("tunnel".into(), json!({ "ecn": ecn, "header": header }));
            }
            1 => {
                // It ends flows that lose much.
                self.at_most(Hope::Doubtful);
                let mut breaker = json!({ "loss": format!("{}%", 1 + self.further.below(40)),
                    "interval": format!("{}ms", 10 + self.further.below(2000)), "intervals": 1 + self.further.below(4) });
                if self.further.below(2) == 0 {
                    breaker["reset"] = json!(format!("{}s", 1 + self.further.below(30)));
                }
                link.insert("breaker".into(), breaker);
            }
            _ => {}
        }
    }

    fn path(&mut self, link: &mut Map<String, Value>) {
        let seconds = if self.one_in(50) { self.magnitude(0.0, 5.0) } else { self.magnitude(-5.0, -0.8) };
        if !self.one_in(4) {
            self.delay += seconds;
            link.insert("delay".into(), json!(format!("{:.0}ns", seconds * 1e9)));
        }
    }

    fn impairments(&mut self, link: &mut Map<String, Value>) {
        if self.one_in(2) {
            let loss = self.loss();
            link.insert("loss".into(), loss);
        }
        if self.one_in(3) {
            let spread = if self.one_in(10) { self.magnitude(8.0, 9.3) } else { self.magnitude(3.0, 8.0) };
            self.delay += spread * 1e-9;
            let reorder = self.one_in(2);
            let distribution = self.pick(&["uniform", "normal"]);
            let table = json!({ "spread": format!("{spread:.0}ns"), "reorder": reorder, "distribution": distribution });
            link.insert("jitter".into(), if self.one_in(4) { json!(format!("{spread:.0}ns")) } else { table });
        }
        if self.one_in(4) {
            link.insert("duplication".into(), json!(self.pick(&["0.1%", "5%", "50%", "100%"])));
        }
    }

    fn loss(&mut self) -> Value {
        let harsh = self.one_in(12);
        if harsh {
            self.at_most(Hope::Doubtful);
        }
        match self.stream.below(4) {
            0 => {
                let p = if harsh { 0.05 + 0.95 * self.stream.unit() } else { 0.05 * self.stream.unit() };
                self.loss += p;
                json!(format!("{:.6}%", 100.0 * p))
            }
            1 => {
                let back = if harsh { 0.01 } else { 0.5 };
                self.loss += 0.025;
                json!({ "model": "gilbert-elliott", "good_to_bad": format!("{:.4}", 0.05 * self.stream.unit()),
                    "bad_to_good": format!("{:.4}%", 100.0 * (back + (1.0 - back) * self.stream.unit())),
                    "loss_in_bad": format!("{:.4}%", 100.0 * self.stream.unit()), "loss_in_good": self.pick(&["0%", "0.1%"]) })
            }
            2 => {
                let every = if harsh { 1 + self.stream.below(6) } else { 20 + self.stream.below(300) };
                self.loss += 1.0 / every as f64;
                json!({ "model": "periodic", "every": every })
            }
            _ => {
                let (count, within) = if harsh { (40, 60) } else { (6, 300) };
                let mut packets: Vec<u64> =
                    (0..self.stream.below(count)).map(|_| 1 + self.stream.below(within)).collect();
                packets.sort_unstable();
                packets.dedup();
                json!({ "model": "list", "packets": packets })
            }
        }
    }

    fn flow(&mut self, mut flow: Value, size: Size) -> Value {
        flow["contender"] = json!(self.contender());
        if self.one_in(2) {
            flow["app"] = json!(self.pick(&["raw", "https"]));
        }
        if self.one_in(3) {
            flow["start"] = json!(format!("{:.6}s", 2.0 * self.stream.unit()));
        }
        if size == Size::Given || self.one_in(3) {
            // The bytes that two minutes carry, at most thirty megabytes.
            let most = libm::log10((self.slowest * 120.0 / 8.0).clamp(10.0, 3e7));
            flow["size"] = json!(format!("{:.0}B", self.magnitude(0.0, most)));
        }
        if self.further.below(12) == 0 {
            let supply = self.supply();
            flow["supply"] = supply;
        }
        if self.handshakes.below(2) == 0 {
            let handshake = self.handshake(&flow);
            flow["contender"] = json!(format!("{}{handshake}", flow["contender"].as_str().unwrap()));
        }
        flow
    }

    /// How fast the application of a flow has its object: at a tenth of the slowest link's rate, or faster.
    fn supply(&mut self) -> Value {
        let rate = self.slowest.min(1e9) * libm::exp10(2.0 * self.further.unit() - 1.0);
        let rate = format!("{:.0}bit/s", rate.max(1000.0));
        match self.further.below(3) {
            0 => json!(rate),
            1 => json!({ "rate": rate, "write": format!("{}B", 1 + self.further.below(100_000)) }),
            _ => json!({ "rate": rate, "pauses": [{ "from": "0.5s", "to": "2s" }] }),
        }
    }

    /// Switches of a flow's handshake.
    fn handshake(&mut self, flow: &Value) -> String {
        let known = match (flow["contender"].as_str().unwrap().starts_with("tcp"), flow["app"] == "raw") {
            (true, true) => &["tfo"][..],
            (true, false) => &["tls12", "falsestart", "resumed", "tfo", "earlydata"],
            (false, _) => &["resumed", "0rtt", "retry", "versionnegotiation"],
        };
        let mut text = String::new();
        for switch in known {
            // TLS 1.2 has no early data.
            let old = text.contains("tls12") || text.contains("falsestart");
            let excluded = *switch == "earlydata" && old;
            if self.handshakes.below(3) == 0 && !excluded {
                text = format!("{text}+{switch}");
            }
        }
        text
    }

    fn contender(&mut self) -> String {
        let (transport, switches) = self.pick(&[
            ("tcp", &["paced", "nodelack", "nosackcompression", "rto1s", "notimestamps", "ecn"][..]),
            ("quic", &["nodelack", "ecn"][..]),
        ]);
        let algorithm = self.pick(Algorithm::ALL);
        let mut text = format!("{transport}/{}", algorithm.describe().name);
        if algorithm.slow_start != Startup::Own && self.one_in(3) {
            text.push_str(self.pick(&["-nohystart", "+hystart", "+hystartpp"]));
        }
        for switch in switches {
            if self.one_in(5) {
                text.push('+');
                text.push_str(switch);
            }
        }
        text
    }
}
