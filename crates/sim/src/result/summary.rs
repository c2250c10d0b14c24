//! Makes the result of a world that has run.

use super::labels::{Named, labels};
use super::messages::mean_handshake_s;
use super::{CallResult, FlowResult, LinkResult, MessagesResult, RadioResult, RunResult, VideoResult};
use crate::application::{Fetch, Messages, Report};
use crate::build::{FlowPart, Owner, Run};
use crate::call::{Encoded, Viewed};
use crate::scenario::{Task, Way};
use crate::video::Watched;
use crate::world::Stall;
use haltere_net::element::Element;
use haltere_net::occupancy::Held;
use haltere_net::report::OccupancyResult;
use haltere_net::{Span, Time};
use haltere_transport::Stats;
use haltere_transport::reordering::Reordering;

/// When each object of a page was complete.
type Objects = Vec<Option<Time>>;

/// The parts of a client's report beside its fetch.
enum Seen {
    Nothing,
    Objects(Objects),
    Messages(Box<Messages>),
    Call(Box<Viewed>),
    Video(Box<Watched>),
}

/// The parts of a flow's result that some kinds of flows have.
#[derive(Default)]
struct Told {
    objects: Option<Objects>,
    messages: Option<Box<Messages>>,
    call: Option<CallResult>,
    video: Option<VideoResult>,
}

/// The parts of a client's report.
fn parts(report: Report) -> (Fetch, Seen) {
    match report {
        Report::Fetch(fetch) => (fetch, Seen::Nothing),
        Report::Page(fetch, objects) => (fetch, Seen::Objects(objects)),
        Report::Messages(messages) => (messages.fetch, Seen::Messages(messages)),
        Report::Call(viewed) => (viewed.fetch, Seen::Call(viewed)),
        Report::Video(watched) => (watched.fetch, Seen::Video(watched)),
        Report::Serve(_) | Report::Probed(_) | Report::Sourced(_) | Report::Values(_) | Report::Encoded(_) => {
            (Fetch::default(), Seen::Nothing)
        }
    }
}

/// The rate of bytes over a time, if there is one, bit/s.
pub(super) fn rate(bytes: u64, seconds: Option<f64>) -> Option<f64> {
    seconds.map(|s| 8.0 * bytes as f64 / s)
}

/// Where the measured time begins.
pub struct Baseline {
    /// When it begins.
    pub from: Time,
    /// The bytes that each flow had received until then, of its object and on the wire.
    pub bytes: Vec<(u64, u64)>,
    /// The contents over time of each link direction until then.
    pub held: Vec<Option<Held>>,
}

impl Run {
    /// Why a world stopped before its time, in a sentence.
    pub fn stalled(&self, stall: Stall) -> String {
        match stall {
            Stall::Storm(at) => format!("time stood still at {at}: two components kept calling each other"),
            Stall::NoSuchPath(process, path) => {
                let whose = match self.owner(process) {
                    Owner::Flow(flow, _) => format!("flow {flow}"),
                    Owner::Probe(probe, _) => format!("probe {probe}"),
                    Owner::Load(load, _) => format!("load {load}"),
                    Owner::Broker => "a broker".to_string(),
                };
                format!("{whose}: a packet was sent on path {}, which its connection does not have", path.0)
            }
        }
    }

    /// The result. `measured` is the length of the measured time, if the scenario gives it.
    pub fn result(&mut self, outcome: Result<bool, Stall>, baseline: &Baseline, measured: Option<Span>) -> RunResult {
        let now = self.world.now();
        let held = self.world.held();
        let occupancy = baseline.held.iter().zip(held).map(|(before, after)| {
            let time = now.since(baseline.from);
            after.map(|after| OccupancyResult::new(before.unwrap_or_default(), after, time))
        });
        let mut flows = Vec::with_capacity(self.flows.len());
        let mut data_packets = 0;
        for i in 0..self.flows.len() {
            let of_client = self.world.process(self.flows[i].ends.client).stats();
            data_packets += of_client.received_packets;
            flows.push(self.flow_result(i, of_client, baseline, measured));
        }
        let named = flows.iter().zip(&self.flows).map(|(flow, given)| Named {
            own: given.spec.label.as_deref(),
            contender: &flow.contender,
            direction: flow.direction,
        });
        let labels = labels(&named.collect::<Vec<_>>());
        flows.iter_mut().zip(labels).for_each(|(flow, label)| flow.label = label);
        let mut error = None;
        if let Some(fault) = self.faults.raised() {
            error = Some(fault.to_string());
        } else if let Err(stall) = outcome {
            error = Some(self.stalled(stall));
        } else if !self.world.conserves() {
            error = Some("packets were made or lost without a counted cause".to_string());
        } else if let Some(flow) = flows.iter().find(|f| f.status == "failed") {
            error = Some(format!("flow {}: {}", flow.flow, flow.error.as_deref().unwrap_or("failed")));
        }
        if outcome.is_err() {
            flows.iter_mut().for_each(|f| f.status = "failed");
        }
        if let Some(fault) = self.faults.raised() {
            // Flows are cut short by it, whatever they lack.
            flows.iter_mut().for_each(|f| (f.status, f.error) = ("failed", Some(fault.to_string())));
        }
        let edges = self.world.topology().edges().iter().zip(self.world.entries());
        let links = edges.zip(occupancy).map(|((edge, (link, port)), occupancy)| {
            let result = LinkResult::new(&edge.name, edge.direction, link.counters_at(port));
            result.with_stages(link.stages()).with_occupancy(occupancy)
        });
        RunResult {
            status: if error.is_some() { "failed" } else { "ok" },
            error,
            virtual_s: now.as_secs_f64(),
            events: self.world.events(),
            data_packets,
            reached: None,
            flows,
            links: links.collect(),
            cells: self.cell_results(),
            probes: self.probes.iter().map(|probe| probe.result(&self.world)).collect(),
            loads: self.loads.iter().map(|load| load.result(&self.world)).collect(),
        }
    }

    /// The counters of the receiving end of a flow. With MQTT, the broker's connections with the publishers are the far
    /// end of theirs.
    pub(crate) fn receiver(&self, flow: usize) -> Stats {
        self.broker_of(flow).unwrap_or_else(|| self.world.process(self.flows[flow].ends.client).stats())
    }

    /// The counters of the broker's connections with the publishers of a flow, if it has any.
    fn broker_of(&self, flow: usize) -> Option<Stats> {
        let to = self.flows[flow].delivery.as_ref()?;
        Some(self.world.process(*self.brokers.get(&to.broker)?).stats_at(to.port))
    }

    /// The result of a flow whose client has these counters.
    fn flow_result(&self, i: usize, of_client: Stats, baseline: &Baseline, measured: Option<Span>) -> FlowResult {
        let FlowPart { spec: flow, ends, start, .. } = &self.flows[i];
        let [client, server] = [ends.client, ends.server].map(|process| self.world.process(process));
        let (progress, seen) = parts(client.report());
        let Told { objects, messages: seen, call, video } = self.told(i, seen, baseline.from);
        let sender = server.stats();
        let since_start = |t: Option<Time>| t.map(|t| t.since(*start).as_secs_f64());
        let completion = since_start(progress.completed);
        let receiver = self.broker_of(i).unwrap_or(of_client);
        let arrived = |bytes: u64| bytes.saturating_sub(receiver.concealed_bytes);
        let received = arrived(progress.received.min(flow.total().unwrap_or(u64::MAX)));
        let bytes = match (flow.total(), completion) {
            (Some(size), Some(_)) if seen.is_none() => arrived(size),
            (_, Some(_)) => received,
            (_, None) => received.saturating_sub(baseline.bytes[i].0),
        };
        let lasted = progress.completed.unwrap_or(self.world.now()).since(*start);
        let cost = receiver.reassembly.as_deref();
        let order = cost.map(|r| &r.reordering);
        let before = if completion.is_some() { 0 } else { baseline.bytes[i].1 };
        let wire_bytes = receiver.received_wire_bytes - before;
        // Without elapsed time there is no rate.
        let own = measured.map(|whole| self.own_time(i, baseline.from, whole).as_secs_f64());
        let seconds = completion.or(own).filter(|s| *s > 0.0);
        let messages = seen.as_deref().map(|seen| MessagesResult::new(seen, baseline.from));
        let delivered = messages.as_ref().map(|messages| messages.messages_delivered);
        let device = if flow.way() == Way::Up { server } else { client };
        let radio = device.radio(self.world.now());
        let undelivered =
            messages.as_ref().and_then(|seen| seen.error(flow.mqtt().map(|mqtt| mqtt.delivered_qos), measured));
        let told = flow.contender.implementation.as_deref() != Some("linux");
        let error = undelivered.or_else(|| self.shortfall(i, &progress, measured));
        FlowResult {
            flow: i as u32,
            contender: flow.contender.to_string(),
            label: String::new(),
            pair: flow.place.pair,
            direction: flow.way().name(),
            start_s: start.as_secs_f64(),
            completion_s: completion,
            handshake_s: seen.as_deref().and_then(mean_handshake_s).or(since_start(progress.ready)),
            first_byte_s: since_start(progress.first_byte),
            longest_gap_s: progress.last.map(|_| progress.longest_gap.as_secs_f64()),
            bytes,
            goodput_bps: rate(bytes, seconds),
            throughput_bps: rate(wire_bytes, seconds),
            wire_bytes,
            overhead_bytes: wire_bytes.saturating_sub(bytes),
            sent_packets: sender.sent_packets,
            retransmitted_packets: sender.retransmitted_packets,
            lost_packets: sender.lost_packets,
            spurious_retransmissions: told.then_some(sender.spurious_retransmissions),
            reinjected_bytes: sender.reassembly.as_ref().map(|_| sender.reinjected_bytes),
            concealed_bytes: (receiver.concealed_bytes > 0).then_some(receiver.concealed_bytes),
            blocked_s: cost.map(|r| r.blocked.as_secs_f64()),
            most_held_bytes: cost.map(|r| r.most_held),
            mean_held_bytes: cost.and_then(|r| r.mean_held(lasted)),
            out_of_order_delay_mean_s: order.map(|o| o.mean_delay().as_secs_f64()),
            out_of_order_delay_p95_s: order.map(|o| o.p95_delay().as_secs_f64()),
            reordered_ratio: order.and_then(Reordering::ratio),
            three_reordered_ratio: order.and_then(Reordering::three_ratio),
            reordering_extent_mean: order.map(Reordering::mean_extent),
            reordering_extent_p95: order.map(Reordering::p95_extent),
            reordering_extent_max: order.map(Reordering::max_extent),
            timeouts: told.then_some(sender.timeouts),
            min_rtt_s: sender.min_rtt.map(Span::as_secs_f64),
            mean_rtt_s: sender.mean_rtt().map(Span::as_secs_f64),
            rtt_p95_s: sender.rtt_quantile(0.95).map(Span::as_secs_f64),
            rtt_p99_s: sender.rtt_quantile(0.99).map(Span::as_secs_f64),
            rates: None,
            radio: radio.map(|usage| RadioResult::new(usage, delivered)),
            messages,
            call,
            video,
            objects_s: objects.map(|o| o.into_iter().map(since_start).collect()),
            status: if error.is_some() { "failed" } else { "ok" },
            error,
        }
    }

    /// The parts that a flow's client has seen, of a run whose measured time began at `from`.
    fn told(&self, i: usize, seen: Seen, from: Time) -> Told {
        let nothing = Told::default();
        match seen {
            Seen::Nothing => nothing,
            Seen::Objects(objects) => Told { objects: Some(objects), ..nothing },
            Seen::Messages(messages) => Told { messages: Some(messages), ..nothing },
            Seen::Call(viewed) => Told { call: Some(self.call_result(i, &viewed, from)), ..nothing },
            Seen::Video(watched) => {
                let (start, end) = (self.flows[i].start, self.world.now());
                Told { video: Some(VideoResult::new(&watched, start, end)), ..nothing }
            }
        }
    }

    /// The part of the measured time in which a flow sends: of a call with a length, from its start to its end.
    fn own_time(&self, i: usize, from: Time, measured: Span) -> Span {
        let FlowPart { spec: flow, ends, start, .. } = &self.flows[i];
        let limited = flow.call().is_some_and(|call| call.length.is_some());
        if !limited {
            return measured;
        }
        match self.world.process(ends.server).report() {
            Report::Encoded(encoded) => {
                encoded.ended.unwrap_or(Time::NEVER).min(self.world.now()).since(from.max(*start))
            }
            _ => measured,
        }
    }

    /// The picture at the viewer of a call.
    fn call_result(&self, i: usize, viewed: &Viewed, from: Time) -> CallResult {
        let FlowPart { ends, start, .. } = &self.flows[i];
        let encoded = match self.world.process(ends.server).report() {
            Report::Encoded(encoded) => *encoded,
            _ => Encoded::default(),
        };
        CallResult::new(viewed, &encoded, from.max(*start), self.world.now())
    }

    /// Why a flow's transfer has failed, if it has: an end says so, or it has a size and was not finished in a run that is not
    /// `measured` over a time.
    fn shortfall(&self, i: usize, progress: &Fetch, measured: Option<Span>) -> Option<String> {
        let FlowPart { spec: flow, ends, start, .. } = &self.flows[i];
        if progress.completed.is_some() {
            return None;
        }
        let refused = match self.world.process(ends.server).report() {
            Report::Serve(serve) => serve.failed,
            Report::Encoded(encoded) => encoded.serve.failed,
            _ => None,
        };
        if let Some(reason) = progress.failed.or(refused) {
            return Some(reason.text().to_string());
        }
        let (lasted, received) = (self.world.now().since(*start), progress.received);
        if matches!(flow.task, Task::Video { .. }) && measured.is_none() {
            return Some(format!("the film was not fetched after {lasted}: give time_limit a larger value"));
        }
        let size = flow.total().filter(|_| measured.is_none())?;
        Some(format!("not finished after {lasted}: {received} of {size} bytes arrived; give time_limit a larger value"))
    }
}
