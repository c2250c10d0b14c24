//! str0m as an [`Endpoint`].

use super::calendar;
use super::dice::Dice;
use super::peer::{PATIENCE, Setup, peer};
use super::sample;
use crate::addresses::AddressPair;
use crate::clock::Clock;
use crate::config::{Config, Error, Estimate, Part};
use crate::handles::Handles;
use haltere_net::{Cx, Metric, Packet, PathId, Rate, Span, Time};
use haltere_transport::media::{Frame, News};
use haltere_transport::quic::sizes::IP_UDP;
use haltere_transport::{Body, CloseReason, Endpoint, Event, Role, Stats};
use std::collections::VecDeque;
use str0m::bwe::{Bitrate, BweKind};
use str0m::media::{Frequency, KeyframeRequestKind, MediaTime, Mid};
use str0m::net::{Protocol, Receive};
use str0m::{Input, Output, Rtc, RtcError};

/// Turns of str0m at one instant. It asks to be called again at once as long as its pacer has something due.
const TURNS: usize = 1_000;

/// A timer beyond this is that of nothing to do: str0m sets it a hundred years after the process began, a run begins on a date of ours.
const NEVER: Time = Time::from_nanos(40 * 365 * 86_400 * 1_000_000_000);

/// One end of a call.
pub(crate) struct WebRtc {
    setup: Setup,
    clock: Clock,
    dice: Dice,
    /// Made when the call begins, or when its first packet arrives.
    rtc: Option<Box<(Rtc, Mid)>>,
    began: Time,
    now: Time,
    wake: Time,
    /// Whether str0m may have something to send or to tell.
    due: bool,
    connected: bool,
    over: bool,
    closing: bool,
    packets: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
    /// The rate that was told last, and the rate that was recorded last.
    target: Option<Rate>,
    recorded: Option<Rate>,
    stats: Stats,
}

/// One end, as the configuration asks.
pub(crate) fn endpoint(config: Config, mut handles: Handles) -> Result<Box<dyn Endpoint>, Error> {
    let [addresses] = config.addresses[..] else {
        return Err(Error::new("str0m has one path here: choose one path, or rtp/… for the model"));
    };
    let setup = Setup {
        role: config.role,
        addresses,
        part: config.call.part,
        start: config.call.start,
        most: config.call.most,
        estimate: config.call.estimate,
        max_udp_payload: config.max_udp_payload,
        reports_packets: false,
    };
    let stats = Stats { rtts: config.rtts.then(Box::default), ..Stats::default() };
    Ok(Box::new(WebRtc {
        setup,
        clock: calendar::clock(),
        dice: Dice::new(&mut handles.stream),
        rtc: None,
        began: Time::ZERO,
        now: Time::ZERO,
        wake: Time::NEVER,
        due: false,
        connected: false,
        over: false,
        closing: false,
        packets: VecDeque::new(),
        events: VecDeque::new(),
        target: None,
        recorded: None,
        stats,
    }))
}

impl WebRtc {
    /// Calls str0m with its dice; what it refuses is told by the error.
    fn call<T>(&mut self, work: impl FnOnce(&mut Rtc, Clock) -> Result<T, RtcError>) -> Option<Result<T, RtcError>> {
        let clock = self.clock;
        let (rtc, _) = self.rtc.as_deref_mut()?;
        self.due = true;
        Some(self.dice.lend(|| work(rtc, clock)))
    }

    /// The name of the call's video.
    fn video(&self) -> Option<Mid> {
        self.rtc.as_deref().map(|(_, video)| *video)
    }

    /// Makes the end, unless it is there.
    fn begin(&mut self, now: Time) {
        self.now = now;
        if self.rtc.is_some() || self.over {
            return;
        }
        self.began = now;
        let (setup, instant) = (self.setup, self.clock.instant(now));
        match peer(setup, &mut self.dice, instant) {
            Ok(rtc) => self.rtc = Some(Box::new(rtc)),
            Err(_) => self.end(Event::Failed(CloseReason::ProtocolViolation("str0m cannot be set up"))),
        }
        self.tick();
    }

    /// Lets str0m's timers run.
    fn tick(&mut self) {
        let now = self.now;
        let ran = self.call(|rtc, clock| rtc.handle_input(Input::Timeout(clock.instant(now))));
        if let Some(Err(_)) = ran {
            self.fail();
        }
    }

    /// Takes what str0m has to send and to tell, until it has nothing to do at this instant.
    fn drain(&mut self) {
        for _ in 0..TURNS {
            if !self.due {
                return;
            }
            let Some(output) = self.call(|rtc, _| rtc.poll_output()) else { return };
            match output {
                Ok(Output::Transmit(sent)) => self.send(sent.contents.to_vec()),
                Ok(Output::Event(event)) => self.tell(event),
                Ok(Output::Timeout(at)) => {
                    let at = self.clock.time(at);
                    self.wake = if at > NEVER { Time::NEVER } else { at.max(self.now + Span::from_nanos(1)) };
                    self.due = at <= self.now;
                    if self.due {
                        self.tick();
                    }
                }
                Err(_) => return self.fail(),
            }
        }
    }

    /// DTLS failed, or gave up. str0m's end is of no use then.
    fn fail(&mut self) {
        let reason = if self.connected {
            CloseReason::ProtocolViolation("str0m ended the call with an error")
        } else {
            CloseReason::HandshakeTimeout
        };
        self.end(Event::Failed(reason));
    }

    /// Ends the call for the application: no event follows this one.
    fn end(&mut self, event: Event) {
        if !self.over {
            self.over = true;
            self.events.push_back(event);
        }
        self.due = false;
        self.wake = Time::NEVER;
    }

    fn send(&mut self, datagram: Vec<u8>) {
        self.stats.sent_all += 1;
        if let Some(kind) = Kind::of(&datagram) {
            self.stats.sent_packets += 1;
            self.stats.retransmitted_packets += u64::from(kind == Kind::Repair);
        }
        self.packets.push_back(datagram);
    }

    fn tell(&mut self, event: str0m::Event) {
        match event {
            str0m::Event::Connected if !self.connected => {
                self.connected = true;
                self.stats.connected_at = Some(self.now);
                self.events.push_back(Event::Connected);
            }
            str0m::Event::MediaData(data) => {
                if let Some(frame) = sample::read(&data.data) {
                    self.events.push_back(Event::Media(News::Frame(frame)));
                }
            }
            str0m::Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. })
                if self.setup.estimate == Estimate::Told =>
            {
                self.aim(estimate);
            }
            str0m::Event::KeyframeRequest(_) => self.events.push_back(Event::Media(News::KeyFrameWanted)),
            str0m::Event::PeerStats(of) => {
                if let Some(estimate) = of.bwe_tx.filter(|_| self.setup.estimate == Estimate::Raw && self.connected) {
                    self.aim(estimate);
                }
                if let Some(rtt) = of.rtt {
                    self.stats.count_rtt(Span::from_nanos(u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX)));
                }
            }
            str0m::Event::MediaEgressStats(of) => {
                if let Some(remote) = of.remote {
                    self.stats.lost_packets = remote.packets_lost;
                }
            }
            str0m::Event::Closed => {
                self.closing = true;
                if !self.over {
                    self.over = true;
                    self.events.push_back(Event::Closed);
                }
            }
            _ => {}
        }
    }

    /// The encoder is told of an estimate.
    fn aim(&mut self, estimate: Bitrate) {
        let rate = Rate::from_bps(estimate.as_u64());
        if self.target.replace(rate) != Some(rate) {
            self.events.push_back(Event::Media(News::TargetRate(rate)));
        }
    }

    fn report(&mut self, cx: &mut Cx<'_>) {
        if cx.probing()
            && self.recorded != self.target
            && let Some(rate) = self.target
        {
            self.recorded = Some(rate);
            cx.record_on(PathId(0), Metric::PacingRate, rate.as_bps());
        }
    }
}

impl Endpoint for WebRtc {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        if self.setup.role == Role::Client {
            self.begin(cx.now);
        }
    }

    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        self.begin(cx.now);
        let packet = packet.into_contents();
        let AddressPair { local, remote } = self.setup.addresses;
        let received = match &packet.body {
            Body::Udp(datagram) if packet.path == PathId(0) => {
                Receive::new(Protocol::Udp, remote, local, datagram).ok()
            }
            _ => None,
        };
        let taken = received.and_then(|received| {
            self.call(|rtc, clock| {
                let input = Input::Receive(clock.instant(cx.now), received);
                if rtc.accepts(&input) { rtc.handle_input(input).map(|()| true) } else { Ok(false) }
            })
        });
        if let Some(Ok(true)) = taken {
            self.stats.received_packets += 1;
            self.stats.received_wire_bytes += u64::from(packet.len);
        } else {
            // A datagram that DTLS cannot read ends nothing, or anybody could end a call.
            self.stats.invalid_packets += 1;
            self.tick();
        }
        self.drain();
        self.report(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.now = cx.now;
        if !self.connected && self.rtc.is_some() && cx.now >= self.began + PATIENCE {
            return self.end(Event::Failed(CloseReason::HandshakeTimeout));
        }
        self.tick();
        self.drain();
        self.report(cx);
    }

    fn next_wake(&self) -> Time {
        if self.connected || self.over || self.rtc.is_none() {
            return self.wake;
        }
        self.wake.min(self.began + PATIENCE)
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        if self.due {
            self.now = cx.now;
            self.tick();
            self.drain();
            self.report(cx);
        }
        let datagram = self.packets.pop_front()?;
        Some(Packet::new(datagram.len() as u32 + IP_UDP, Body::Udp(datagram)))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn send_frame(&mut self, frame: Frame, cx: &mut Cx<'_>) -> bool {
        self.now = cx.now;
        let ticks = u128::from(frame.captured.as_nanos()) * 90_000 / 1_000_000_000;
        let time = MediaTime::new(u64::try_from(ticks).unwrap_or(u64::MAX), Frequency::NINETY_KHZ);
        let Some(video) = self.video() else { return self.setup.part != Part::Receives };
        // Before the call is connected str0m drops what it is given.
        self.call(|rtc, clock| {
            let Some(writer) = rtc.writer(video) else { return Ok(()) };
            let Some(kind) = writer.payload_params().next().map(|kind| kind.pt()) else { return Ok(()) };
            writer.write(kind, clock.instant(cx.now), time, sample::write(frame))
        });
        self.setup.part != Part::Receives
    }

    fn want_key_frame(&mut self) {
        let Some(video) = self.video() else { return };
        self.call(|rtc, _| match rtc.writer(video) {
            Some(mut writer) => writer.request_keyframe(None, KeyframeRequestKind::Pli),
            None => Ok(()),
        });
    }

    fn close(&mut self) {
        if self.closing {
            return;
        }
        self.closing = true;
        self.call(|rtc, _| rtc.close());
        if !self.over {
            self.over = true;
            self.events.push_back(Event::Closed);
        }
    }

    fn stats(&self) -> Stats {
        self.stats.clone()
    }

    fn bytes_in_flight(&self, _: PathId) -> u64 {
        0
    }
}

/// The packets that are charged to the media, by their type, which SRTP does not hide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Media,
    Repair,
}

impl Kind {
    /// The kind of an RTP packet; `None` if it is none (RFC 7983 section 7, RFC 5761 section 4).
    fn of(datagram: &[u8]) -> Option<Kind> {
        let (&first, &second) = (datagram.first()?, datagram.get(1)?);
        match second & 0x7f {
            _ if !(128..192).contains(&first) => None,
            REPAIRS => Some(Kind::Repair),
            64..=95 => None,
            _ => Some(Kind::Media),
        }
    }
}

/// str0m's number for repairs of VP8.
const REPAIRS: u8 = 97;
