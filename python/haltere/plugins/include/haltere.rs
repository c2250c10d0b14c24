//! The interface of haltere for code in shared libraries, version 1; `haltere.h` is generated from this file.
//!
//! Times are nanoseconds since the start of the run, sizes are bytes and rates are bits a second. All are signed, so that languages
//! without unsigned numbers can use them: [`HALTERE_UNKNOWN`] (-1) stands for what is not known.

use std::ffi::{c_char, c_void};

/// The version of this interface. A library of another version is refused.
pub const HALTERE_ABI: u32 = 1;
/// In the place of a time or size: it is not known.
pub const HALTERE_UNKNOWN: i64 = -1;
/// In the place of a slow-start threshold: none is set. In the place of a time: never.
pub const HALTERE_NEVER: i64 = i64::MAX;

/// `haltere_config.slow_start`: the algorithm chooses how slow start ends before the first loss.
pub const HALTERE_SLOW_START_OWN: u32 = 0;
/// `haltere_config.slow_start`: only a loss ends slow start.
pub const HALTERE_SLOW_START_STANDARD: u32 = 1;
/// `haltere_config.slow_start`: HyStart, as Linux has it.
pub const HALTERE_SLOW_START_HYSTART: u32 = 2;
/// `haltere_config.slow_start`: HyStart++ (RFC 9406).
pub const HALTERE_SLOW_START_HYSTARTPP: u32 = 3;

/// `haltere_ack.phase`: no disorder and no loss.
pub const HALTERE_PHASE_OPEN: u32 = 0;
/// `haltere_ack.phase`: data arrived out of order; no loss is declared yet.
pub const HALTERE_PHASE_DISORDER: u32 = 1;
/// `haltere_ack.phase`: the window is being reduced as marks asked for; nothing is known to be lost.
pub const HALTERE_PHASE_REDUCING: u32 = 2;
/// `haltere_ack.phase`: losses found by acknowledgements are being repaired.
pub const HALTERE_PHASE_RECOVERY: u32 = 3;
/// `haltere_ack.phase`: losses found by a timeout are being repaired.
pub const HALTERE_PHASE_LOSS: u32 = 4;

/// `haltere_congestion.trigger`: losses found by acknowledgements.
pub const HALTERE_TRIGGER_LOSS: u32 = 0;
/// `haltere_congestion.trigger`: a retransmission timeout.
pub const HALTERE_TRIGGER_TIMEOUT: u32 = 1;
/// `haltere_congestion.trigger`: persistent congestion (RFC 9002 section 7.6).
pub const HALTERE_TRIGGER_PERSISTENT: u32 = 2;
/// `haltere_congestion.trigger`: ECN marks.
pub const HALTERE_TRIGGER_ECN: u32 = 3;
/// `haltere_congestion.trigger`: the host's own interface had no room for a packet; nothing is lost.
pub const HALTERE_TRIGGER_LOCAL: u32 = 4;
/// `haltere_congestion.trigger`: the algorithm itself asked for it (`HALTERE_ASK_REDUCE`).
pub const HALTERE_TRIGGER_DELAY: u32 = 5;

/// `haltere_control.ask`: no request.
pub const HALTERE_ASK_NOTHING: u32 = 0;
/// `haltere_control.ask`: mark delivery-rate samples as application-limited, because the algorithm limited the sender.
pub const HALTERE_ASK_APP_LIMITED: u32 = 1;
/// `haltere_control.ask`: reduce the window as for a mark. Only TCP does this.
pub const HALTERE_ASK_REDUCE: u32 = 2;

/// `haltere_congestion_control.flags`: it depends on ECN marks, and its packets are always ECN-capable.
pub const HALTERE_NEEDS_ECN: u32 = 1;
/// `haltere_congestion_control.flags`: its packets ask the network for L4S treatment (RFC 9331); implies `HALTERE_NEEDS_ECN`.
pub const HALTERE_L4S: u32 = 2;
/// `haltere_congestion_control.flags`: it looks at the other paths of a connection.
pub const HALTERE_COUPLED: u32 = 4;
/// `haltere_congestion_control.flags`: it heeds `haltere_config.slow_start`. Contenders can then choose how slow start ends.
pub const HALTERE_HEEDS_SLOW_START: u32 = 8;
/// `haltere_congestion_control.flags`: it needs RTTs without the peer's delay of acknowledgements.
pub const HALTERE_PROMPT_RTTS: u32 = 16;

/// `haltere_scheduler.flags`: its picks do not depend on the demand, which then need not be counted for each packet.
pub const HALTERE_IGNORES_DEMAND: u32 = 1;

/// `haltere_pick.kind`: send the next data on `path`. If it takes no packet now, nothing is sent, and the scheduler is asked again.
pub const HALTERE_PICK_ON: u32 = 0;
/// `haltere_pick.kind`: send nothing. The scheduler is asked again at `until`, or earlier if an ACK arrives or a timer expires.
pub const HALTERE_PICK_WAIT: u32 = 1;
/// `haltere_pick.kind`: send the same data on each path whose bit is set in `copies`.
pub const HALTERE_PICK_COPIES: u32 = 2;
/// `haltere_pick.kind`: send on `path` the data that follows after `skip` bytes of what no path was given yet; other paths send these
/// bytes.
pub const HALTERE_PICK_AHEAD: u32 = 3;

/// Answer of `enqueue` and `dequeue` of a queue discipline: the packet is dropped to signal congestion.
pub const HALTERE_DROP: i64 = -1;
/// Answer of `enqueue`: the packet is dropped because there is no room for it. Results count it apart from `HALTERE_DROP`.
pub const HALTERE_FULL: i64 = -2;
/// Answer of `dequeue`: the packet leaves.
pub const HALTERE_SEND: i64 = 0;
/// Answer of `dequeue`, and added to the band by `enqueue`: the packet is marked for congestion. If it cannot be marked
/// (`haltere_packet.ecn`), it is dropped instead.
pub const HALTERE_MARK: i64 = 65536;
/// The number of bands: they are numbered from 0 on, below this.
pub const HALTERE_BANDS: i64 = 65536;

/// `haltere_packet.ecn`: not ECN-capable.
pub const HALTERE_NOT_ECT: u32 = 0;
/// `haltere_packet.ecn`: ECN-capable, codepoint ECT(1), which asks for L4S treatment (RFC 9331).
pub const HALTERE_ECT_1: u32 = 1;
/// `haltere_packet.ecn`: ECN-capable, codepoint ECT(0).
pub const HALTERE_ECT_0: u32 = 2;
/// `haltere_packet.ecn`: marked, congestion experienced.
pub const HALTERE_CE: u32 = 3;

/// The facts about a path with which its controller is created.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Bytes of data in a full packet.
    pub mss: i64,
    /// Bytes of such a packet on the wire, IP header included.
    pub wire: i64,
    /// The granularity of windows: `mss` if the sender counts whole segments, as Linux does, otherwise 1.
    pub grain: i64,
    /// Initial window, bytes.
    pub initial_window: i64,
    /// How many connections the window is to grow and shrink like; 1 for itself.
    pub connections: i64,
    /// The tick of the host's coarse clock, ns; 0 for an exact clock.
    pub tick: i64,
    /// The time from the last tick to the start of the run, ns.
    pub phase: i64,
    /// How slow start ends: one of `HALTERE_SLOW_START_…`.
    pub slow_start: u32,
    /// Whether the transport paces window-based algorithms too.
    pub paced: bool,
    /// The values of the parameters, in the order in which the library declares them.
    pub parameters: *const f64,
    /// How many they are.
    pub parameter_count: usize,
    /// Gives 64 random bits of the run's own dice. It may be called whenever the controller is called. Other sources of random
    /// numbers would make runs that nobody can repeat.
    pub random: Option<unsafe extern "C" fn(dice: *mut c_void) -> u64>,
    /// The argument of `random`. It is valid as long as the controller.
    pub dice: *mut c_void,
}

/// The handshake is complete and data may flow.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Established {
    /// When that happened.
    pub now: i64,
    /// The RTT that the handshake's packets measured, or `HALTERE_UNKNOWN`.
    pub rtt: i64,
}

/// A packet is about to be sent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it is sent.
    pub now: i64,
    /// Its size: TCP's data, or a QUIC packet.
    pub bytes: i64,
    /// Bytes in flight before it.
    pub in_flight: i64,
    /// Bytes delivered since the start.
    pub total_delivered: i64,
    /// How long the path was idle for lack of data, if it now sends again; otherwise `HALTERE_UNKNOWN`.
    pub after_idle: i64,
    /// The retransmission timeout (QUIC: PTO).
    pub timeout: i64,
    /// Whether the sender is in an application-limited phase.
    pub app_limited: bool,
}

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Bytes delivered over the interval; 0 if there is no valid sample.
    pub delivered: i64,
    /// The interval, ns; 0 if there is no valid sample.
    pub interval: i64,
    /// Bytes delivered when the sampled packet was sent; they separate rounds.
    pub prior_delivered: i64,
    /// Bytes newly lost since the sampled packet was sent.
    pub lost: i64,
    /// Bytes in flight when the sampled packet was sent, itself included.
    pub in_flight: i64,
    /// Whether the sender was application-limited when the sample was taken.
    pub app_limited: bool,
}

/// An ACK that delivered data.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: i64,
    /// Bytes newly delivered by it, cumulatively or selectively.
    pub delivered: i64,
    /// Bytes found lost with it.
    pub lost: i64,
    /// The newest RTT sample that it gave, without the peer's delay, or `HALTERE_UNKNOWN`.
    pub rtt: i64,
    /// Smoothed RTT, or `HALTERE_UNKNOWN`.
    pub srtt: i64,
    /// Minimum RTT as loss recovery tracks it, or `HALTERE_UNKNOWN`.
    pub min_rtt: i64,
    /// Bytes in flight after it.
    pub in_flight: i64,
    /// Bytes in flight before it.
    pub prior_in_flight: i64,
    /// A position in the sender's sequence (bytes or packet numbers): everything below it is acknowledged.
    pub acked_to: i64,
    /// The position that will be sent next.
    pub sent_to: i64,
    /// Bytes delivered since the start.
    pub total_delivered: i64,
    /// Bytes found lost since the start.
    pub total_lost: i64,
    /// When pacing allows the next packet; at or before `now` if it may go at once.
    pub next_departure: i64,
    /// The present time by the sender's clock of timestamps (RFC 7323), ms that wrap; `HALTERE_UNKNOWN` without timestamps.
    pub stamp_now: i64,
    /// When the ACK was sent, by the peer's clock, ms; `HALTERE_UNKNOWN` without timestamps.
    pub stamp_value: i64,
    /// When the segment was sent that the ACK answers, by the sender's clock, ms; `HALTERE_UNKNOWN` without timestamps.
    pub stamp_echo: i64,
    /// The sample of the delivery rate.
    pub rate: RateSample,
    /// The phase of loss recovery after the ACK: one of `HALTERE_PHASE_…`.
    pub phase: u32,
    /// Whether the window, and not a lack of data, limited the sender recently.
    pub window_limited: bool,
    /// Whether recovery lets the window grow on this ACK.
    pub may_grow: bool,
    /// Whether the receiver's timer of delayed ACKs, and not the path, delayed the acknowledged data.
    pub delayed: bool,
}

/// An ACK of a connection that uses ECN, and what it delivered. The call precedes `on_congestion` for its marks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// When it arrived.
    pub now: i64,
    /// A position in the sender's sequence: everything below it is acknowledged.
    pub acked_to: i64,
    /// The position that will be sent next.
    pub sent_to: i64,
    /// Bytes delivered since the start.
    pub total_delivered: i64,
    /// How many of these bytes were acknowledged by ACKs that echoed marks.
    pub total_marked: i64,
}

/// An ACK arrived, and what it delivered and its RTT are known. Losses have not been looked for yet: the congestion that it shows, the
/// end of recovery and `on_ack` follow. The call follows `on_echo` for the ACK.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it arrived.
    pub now: i64,
    /// The newest RTT sample that it gave, without the peer's delay, or `HALTERE_UNKNOWN`.
    pub rtt: i64,
    /// Smoothed RTT, or `HALTERE_UNKNOWN`.
    pub srtt: i64,
    /// Minimum RTT as loss recovery tracks it, or `HALTERE_UNKNOWN`.
    pub min_rtt: i64,
    /// A position in the sender's sequence (bytes or packet numbers): everything below it is acknowledged.
    pub acked_to: i64,
    /// The position that will be sent next.
    pub sent_to: i64,
    /// Bytes delivered since the start.
    pub total_delivered: i64,
    /// Bytes that had been delivered when the newest packet was sent that the ACK delivered, or `HALTERE_UNKNOWN`.
    pub prior_delivered: i64,
    /// Bytes in flight, among them those that will be found lost.
    pub in_flight: i64,
    /// The present time by the sender's clock of timestamps (RFC 7323), ms that wrap; `HALTERE_UNKNOWN` without timestamps.
    pub stamp_now: i64,
    /// When the ACK was sent, by the peer's clock, ms; `HALTERE_UNKNOWN` without timestamps.
    pub stamp_value: i64,
    /// When the segment was sent that the ACK answers, by the sender's clock, ms; `HALTERE_UNKNOWN` without timestamps.
    pub stamp_echo: i64,
}

/// A packet was found lost. All losses of one event are told in the order in which the packets were sent, before the congestion
/// and before the ACK that showed them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When it was found.
    pub now: i64,
    /// The start of its range in the sender's sequence …
    pub start: i64,
    /// … and the end.
    pub end: i64,
    /// Its size.
    pub bytes: i64,
    /// Bytes delivered since the start.
    pub total_delivered: i64,
    /// Bytes found lost since the start, this packet included.
    pub total_lost: i64,
    /// When the packet was sent: bytes delivered by then …
    pub sent_delivered: i64,
    /// … bytes lost by then …
    pub sent_lost: i64,
    /// … and bytes in flight, this packet included.
    pub sent_in_flight: i64,
    /// Whether the sender was application-limited when it was sent.
    pub sent_app_limited: bool,
}

/// Congestion was detected.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When it was detected.
    pub now: i64,
    /// Bytes in flight.
    pub in_flight: i64,
    /// Bytes found lost so far in this event.
    pub lost: i64,
    /// Its cause: one of `HALTERE_TRIGGER_…`.
    pub trigger: u32,
    /// Whether it begins a new episode. A timeout within an episode does not reduce the target again.
    pub new_episode: bool,
}

/// A path of a connection.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The path's number within the connection.
    pub id: u32,
    /// Whether it is the path of the controller that is called. Always false for schedulers.
    pub own: bool,
    /// Whether a scheduler may send data on it.
    pub usable: bool,
    /// Whether it is in reserve: it is used if no other path is left.
    pub standby: bool,
    /// Whether the window grows exponentially.
    pub in_slow_start: bool,
    /// Congestion window.
    pub window: i64,
    /// Slow-start threshold, or `HALTERE_NEVER`.
    pub ssthresh: i64,
    /// Bytes in flight.
    pub in_flight: i64,
    /// Bytes that the path was given and has not sent yet.
    pub queued: i64,
    /// The most bytes that the path holds, in flight and queued.
    pub capacity: i64,
    /// Bytes that its send buffer keeps beside those.
    pub overhead: i64,
    /// Bytes of a full packet.
    pub mss: i64,
    /// Smoothed RTT, or `HALTERE_UNKNOWN`.
    pub srtt: i64,
    /// Minimum RTT, or `HALTERE_UNKNOWN`.
    pub min_rtt: i64,
    /// Mean deviation of the RTT.
    pub rtt_variation: i64,
    /// The newest sample of the delivery rate, bit/s, or `HALTERE_UNKNOWN`.
    pub delivery_rate: i64,
    /// The pacing rate, bit/s, or `HALTERE_UNKNOWN`.
    pub pacing_rate: i64,
    /// When pacing allows the next packet.
    pub paced_until: i64,
    /// Bytes acknowledged since the last loss.
    pub since_loss: i64,
    /// Bytes acknowledged between the last two losses.
    pub between_losses: i64,
}

/// The decisions of a controller. The host owns them, and they stay from call to call.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Control {
    /// The congestion window, bytes. `create` must set it.
    pub window: i64,
    /// The slow-start threshold, bytes; `HALTERE_NEVER`, as at first, if none is set.
    pub ssthresh: i64,
    /// The pacing rate, bit/s; 0, as at first, if the algorithm does not pace.
    pub pacing_rate: i64,
    /// How many bytes may be sent back to back when paced; 0, as at first, leaves it to the transport.
    pub send_quantum: i64,
    /// A request to the transport: one of `HALTERE_ASK_…`. It is heeded after `on_ack`, and set to nothing before.
    pub ask: u32,
    /// Whether the algorithm sets its window during recovery itself. Otherwise the transport applies PRR.
    pub owns_recovery: bool,
    /// Whether the window grows exponentially, for algorithms without a threshold. If `ssthresh` is set, that decides.
    pub startup: bool,
    /// In the place of NULL: the controller has failed, for this reason. The run then ends as failed. The text must stay until the
    /// next call.
    pub failure: *const c_char,
}

/// A number by which the algorithm can be tuned: `+gain=1.5` behind the file's name in a contender.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name: small letters, digits and hyphens.
    pub name: *const c_char,
    /// Its meaning, in one line.
    pub summary: *const c_char,
    /// Its value, unless a contender gives another.
    pub default_value: f64,
    /// The least value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
}

/// A congestion control. Functions that may be NULL say so. Controllers of several runs are called on several threads at once, each
/// always by one; libraries must keep no state outside of what `create` returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CongestionControl {
    /// `sizeof(haltere_congestion_control)`.
    pub size: usize,
    /// Its name in figures.
    pub label: *const c_char,
    /// A description in one line.
    pub summary: *const c_char,
    /// Where it is specified.
    pub reference: *const c_char,
    /// The sum of `HALTERE_NEEDS_ECN` and the like.
    pub flags: u32,
    /// How many parameters it has.
    pub parameter_count: u32,
    /// Its parameters.
    pub parameters: *const Parameter,
    /// Makes a controller for a path, and says what it decides at first. NULL is a failure.
    pub create: Option<unsafe extern "C" fn(config: *const Config, control: *mut Control) -> *mut c_void>,
    /// Frees a controller. May be NULL.
    pub destroy: Option<unsafe extern "C" fn(controller: *mut c_void)>,
    /// An ACK delivered data. `paths` are all paths of the connection after the ACK, the controller's own among them; there are none if
    /// the connection has a single path.
    pub on_ack: Option<
        unsafe extern "C" fn(
            controller: *mut c_void,
            ack: *const Ack,
            paths: *const Path,
            path_count: usize,
            control: *mut Control,
        ),
    >,
    /// Congestion was detected.
    pub on_congestion:
        Option<unsafe extern "C" fn(controller: *mut c_void, event: *const Congestion, control: *mut Control)>,
    /// The handshake is complete. May be NULL.
    pub on_established:
        Option<unsafe extern "C" fn(controller: *mut c_void, event: *const Established, control: *mut Control)>,
    /// A data packet is about to be sent. May be NULL.
    pub on_sent: Option<unsafe extern "C" fn(controller: *mut c_void, sent: *const Sent, control: *mut Control)>,
    /// An ACK arrived on a connection that uses ECN. May be NULL.
    pub on_echo: Option<unsafe extern "C" fn(controller: *mut c_void, echo: *const Echo, control: *mut Control)>,
    /// A packet was found lost. May be NULL.
    pub on_lost: Option<unsafe extern "C" fn(controller: *mut c_void, lost: *const Lost, control: *mut Control)>,
    /// The last congestion event proved spurious: undo its reduction. May be NULL.
    pub on_undo: Option<unsafe extern "C" fn(controller: *mut c_void, control: *mut Control)>,
    /// Recovery ended with its losses repaired. May be NULL.
    pub on_recovered: Option<unsafe extern "C" fn(controller: *mut c_void, now: i64, control: *mut Control)>,
    /// The segment size changed. May be NULL.
    pub set_mss: Option<unsafe extern "C" fn(controller: *mut c_void, mss: i64, wire: i64, control: *mut Control)>,
    /// An ACK arrived, and its losses have not been looked for yet. May be NULL.
    pub on_arrival:
        Option<unsafe extern "C" fn(controller: *mut c_void, arrival: *const Arrival, control: *mut Control)>,
}

/// The data that a connection as a whole has to send, bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Data that no path was given yet.
    pub waiting: i64,
    /// Data that paths were given and that the peer has not acknowledged to the connection.
    pub outstanding: i64,
    /// The bytes that the peer's flow control of the connection allows beyond those that paths were given.
    pub window: i64,
    /// Data of the application for which the connection's send buffer has no room yet.
    pub beyond: i64,
}

/// The facts with which a path scheduler is created.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SchedulerConfig {
    /// The values of the parameters, in the order in which the library declares them.
    pub parameters: *const f64,
    /// How many they are.
    pub parameter_count: usize,
    /// Gives 64 random bits of the run's own dice. It may be called whenever the scheduler is called.
    pub random: Option<unsafe extern "C" fn(dice: *mut c_void) -> u64>,
    /// The argument of `random`. It is valid as long as the scheduler.
    pub dice: *mut c_void,
}

/// The pick of a scheduler. Before each call the host sets it to a wait without end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// Its kind: one of `HALTERE_PICK_…`.
    pub kind: u32,
    /// The number of a path, its `id`.
    pub path: u32,
    /// For a wait: a time, or `HALTERE_NEVER`.
    pub until: i64,
    /// For data from further back: how many bytes are left out.
    pub skip: i64,
    /// For copies: bit `id % 64` of `copies[id / 64]` for each path.
    pub copies: [u64; 4],
    /// In the place of NULL: the scheduler has failed, for this reason. The run then ends as failed. The text must stay until the
    /// next call.
    pub failure: *const c_char,
}

/// A path scheduler: it chooses the path of the next data of a connection with several paths. Functions that may be NULL say so.
/// Schedulers of several connections are called on several threads at once, each always by one; libraries must keep no state outside
/// of what `create` returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Scheduler {
    /// `sizeof(haltere_scheduler)`.
    pub size: usize,
    /// A description in one line.
    pub summary: *const c_char,
    /// Where it is specified.
    pub reference: *const c_char,
    /// `HALTERE_IGNORES_DEMAND`, or 0.
    pub flags: u32,
    /// How many parameters it has.
    pub parameter_count: u32,
    /// Its parameters: `+scheduler=./mine.c+gain=1.5` in a contender.
    pub parameters: *const Parameter,
    /// How many bytes of data a path gets for a pick, if it takes them; 0 means one packet. QUIC asks for each packet.
    pub burst: i64,
    /// Makes a scheduler for a connection. NULL is a failure.
    pub create: Option<unsafe extern "C" fn(config: *const SchedulerConfig) -> *mut c_void>,
    /// Frees a scheduler. May be NULL.
    pub destroy: Option<unsafe extern "C" fn(scheduler: *mut c_void)>,
    /// Chooses the path of the next data. `paths` are all paths of the connection, in the order of their numbers.
    pub pick: Option<
        unsafe extern "C" fn(
            scheduler: *mut c_void,
            paths: *const Path,
            path_count: usize,
            demand: *const Demand,
            now: i64,
            pick: *mut Pick,
        ),
    >,
    /// The path that was picked took so many bytes of new data. May be NULL.
    pub on_given: Option<unsafe extern "C" fn(scheduler: *mut c_void, path: u32, bytes: i64, now: i64)>,
    /// The peer's flow control of the connection keeps data back, and the path `head` carries the oldest data that is not acknowledged:
    /// the other paths wait for it. May be NULL.
    pub on_blocked: Option<unsafe extern "C" fn(scheduler: *mut c_void, head: u32, now: i64)>,
}

/// A packet in front of a link.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Its length, bytes, IP header included.
    pub size: i64,
    /// When it arrived at the queue.
    pub arrived: i64,
    /// A hash of its flow (addresses, protocol and ports), from 0 on.
    pub flow: i64,
    /// Its ECN field, as the IP header has it: one of `HALTERE_NOT_ECT`, `HALTERE_ECT_1`, `HALTERE_ECT_0` and `HALTERE_CE`.
    pub ecn: u32,
    /// Its DiffServ codepoint (RFC 2474), which is the ToS byte without its two lowest bits.
    pub dscp: u32,
    /// Whether the limit has room for it. False for packets that leave.
    pub fits: bool,
}

/// A band of a queue: packets that leave in the order in which they came.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Band {
    /// Packets waiting.
    pub packets: i64,
    /// Bytes waiting.
    pub bytes: i64,
    /// The size of the packet that is the next to leave, or `HALTERE_UNKNOWN`.
    pub head_size: i64,
    /// When that packet arrived, or `HALTERE_UNKNOWN`.
    pub head_arrived: i64,
}

/// The state of a queue when its discipline is asked. A packet that arrives is not in it, and one that leaves is no longer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// The present time.
    pub now: i64,
    /// Packets waiting, in all bands.
    pub packets: i64,
    /// Bytes waiting, in all bands.
    pub bytes: i64,
    /// The limit in packets; `HALTERE_NEVER` if it is one in bytes.
    pub limit_packets: i64,
    /// The limit in bytes; `HALTERE_NEVER` if it is one in packets.
    pub limit_bytes: i64,
    /// The bands that have been used: number n stands at `bands[n]`.
    pub bands: *const Band,
    /// How many they are. Bands beyond are empty.
    pub band_count: usize,
    /// In the place of NULL: the discipline has failed, for this reason. The run then ends as failed. The text must stay until the
    /// next call.
    pub failure: *const c_char,
}

/// The facts about a link with which the discipline of its queue is created.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct QueueConfig {
    /// The link's rate, bit/s, or `HALTERE_UNKNOWN` if it has none.
    pub rate: i64,
    /// The base RTT of the path.
    pub rtt: i64,
    /// The largest packet, bytes.
    pub mtu: i64,
    /// The values of the parameters, in the order in which the library declares them.
    pub parameters: *const f64,
    /// How many they are.
    pub parameter_count: usize,
    /// Gives 64 random bits of the run's own dice. It may be called whenever the discipline is called.
    pub random: Option<unsafe extern "C" fn(dice: *mut c_void) -> u64>,
    /// The argument of `random`. It is valid as long as the discipline.
    pub dice: *mut c_void,
}

/// A queue discipline: it decides which packet waits in which band, which leaves next, and which is dropped or marked. The packets
/// stay with the host. Functions that may be NULL say so; if all are, the queue is one that drops what finds it full. Disciplines of
/// several links are called on several threads at once, each always by one; libraries must keep no state outside of what `create`
/// returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct QueueDiscipline {
    /// `sizeof(haltere_queue_discipline)`.
    pub size: usize,
    /// A description in one line.
    pub summary: *const c_char,
    /// Where it is specified.
    pub reference: *const c_char,
    /// Its parameters: `./mine.c:gain=1.5` as a queue.
    pub parameters: *const Parameter,
    /// How many they are.
    pub parameter_count: u32,
    /// Makes a discipline for a link. NULL is a failure.
    pub create: Option<unsafe extern "C" fn(config: *const QueueConfig) -> *mut c_void>,
    /// Frees a discipline. May be NULL.
    pub destroy: Option<unsafe extern "C" fn(discipline: *mut c_void)>,
    /// A packet arrives. Returns its band, to which `HALTERE_MARK` may be added, `HALTERE_DROP` or `HALTERE_FULL`. A packet for which
    /// the limit has no room is dropped whatever the answer is. NULL puts all into band 0.
    pub enqueue: Option<unsafe extern "C" fn(discipline: *mut c_void, packet: *const Packet, queue: *mut Queue) -> i64>,
    /// A packet may leave. Returns the band whose first packet it is to be, which must not be empty. NULL serves the band with the
    /// lowest number that is not empty.
    pub next_band: Option<unsafe extern "C" fn(discipline: *mut c_void, queue: *mut Queue) -> i64>,
    /// That packet is about to leave. Returns `HALTERE_SEND`, `HALTERE_MARK` or `HALTERE_DROP`; after a drop, `next_band` is asked
    /// again. NULL sends all.
    pub dequeue: Option<unsafe extern "C" fn(discipline: *mut c_void, packet: *const Packet, queue: *mut Queue) -> i64>,
    /// Returns when the next packet may leave: a time that has come if at once, `HALTERE_NEVER` if not before another packet arrives.
    /// Asked after each packet that came or left, while others wait. NULL lets packets leave as soon as the link is free.
    pub ready_at: Option<unsafe extern "C" fn(discipline: *mut c_void, queue: *mut Queue) -> i64>,
}

/// The contents of a library with a congestion control. It exports `haltere_plugin_of`, which returns them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    /// `HALTERE_ABI`.
    pub abi: u32,
    /// `sizeof(haltere_plugin)`.
    pub size: usize,
    /// Its congestion control, or NULL.
    pub congestion_control: *const CongestionControl,
}
