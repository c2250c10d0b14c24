/* The interface of haltere for code in shared libraries, version 1.
 *
 * A library exports a function for what it holds. haltere_plugin_of is that of a congestion control, whose file is a
 * contender: tcp/./libmine.so. haltere_scheduler_of is that of a path scheduler: mptcp/cubic+scheduler=./libmine.so.
 * haltere_queue_discipline_of is that of a queue discipline: --queue ./libmine.so.
 * Times are nanoseconds since the start of the run, sizes are bytes and rates are bits a second.
 *
 * Generated from haltere.rs. Licence: Apache-2.0 or MIT, as you like. */

#ifndef HALTERE_H
#define HALTERE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * The version of this interface. A library of another version is refused.
 */
#define HALTERE_ABI 1

/**
 * In the place of a time or size: it is not known.
 */
#define HALTERE_UNKNOWN -1

/**
 * In the place of a slow-start threshold: none is set. In the place of a time: never.
 */
#define HALTERE_NEVER INT64_MAX

/**
 * `haltere_config.slow_start`: the algorithm chooses how slow start ends before the first loss.
 */
#define HALTERE_SLOW_START_OWN 0

/**
 * `haltere_config.slow_start`: only a loss ends slow start.
 */
#define HALTERE_SLOW_START_STANDARD 1

/**
 * `haltere_config.slow_start`: HyStart, as Linux has it.
 */
#define HALTERE_SLOW_START_HYSTART 2

/**
 * `haltere_config.slow_start`: HyStart++ (RFC 9406).
 */
#define HALTERE_SLOW_START_HYSTARTPP 3

/**
 * `haltere_ack.phase`: no disorder and no loss.
 */
#define HALTERE_PHASE_OPEN 0

/**
 * `haltere_ack.phase`: data arrived out of order; no loss is declared yet.
 */
#define HALTERE_PHASE_DISORDER 1

/**
 * `haltere_ack.phase`: the window is being reduced as marks asked for; nothing is known to be lost.
 */
#define HALTERE_PHASE_REDUCING 2

/**
 * `haltere_ack.phase`: losses found by acknowledgements are being repaired.
 */
#define HALTERE_PHASE_RECOVERY 3

/**
 * `haltere_ack.phase`: losses found by a timeout are being repaired.
 */
#define HALTERE_PHASE_LOSS 4

/**
 * `haltere_congestion.trigger`: losses found by acknowledgements.
 */
#define HALTERE_TRIGGER_LOSS 0

/**
 * `haltere_congestion.trigger`: a retransmission timeout.
 */
#define HALTERE_TRIGGER_TIMEOUT 1

/**
 * `haltere_congestion.trigger`: persistent congestion (RFC 9002 section 7.6).
 */
#define HALTERE_TRIGGER_PERSISTENT 2

/**
 * `haltere_congestion.trigger`: ECN marks.
 */
#define HALTERE_TRIGGER_ECN 3

/**
 * `haltere_congestion.trigger`: the host's own interface had no room for a packet; nothing is lost.
 */
#define HALTERE_TRIGGER_LOCAL 4

/**
 * `haltere_congestion.trigger`: the algorithm itself asked for it (`HALTERE_ASK_REDUCE`).
 */
#define HALTERE_TRIGGER_DELAY 5

/**
 * `haltere_control.ask`: no request.
 */
#define HALTERE_ASK_NOTHING 0

/**
 * `haltere_control.ask`: mark delivery-rate samples as application-limited, because the algorithm limited the sender.
 */
#define HALTERE_ASK_APP_LIMITED 1

/**
 * `haltere_control.ask`: reduce the window as for a mark. Only TCP does this.
 */
#define HALTERE_ASK_REDUCE 2

/**
 * `haltere_congestion_control.flags`: it depends on ECN marks, and its packets are always ECN-capable.
 */
#define HALTERE_NEEDS_ECN 1

/**
 * `haltere_congestion_control.flags`: its packets ask the network for L4S treatment (RFC 9331); implies `HALTERE_NEEDS_ECN`.
 */
#define HALTERE_L4S 2

/**
 * `haltere_congestion_control.flags`: it looks at the other paths of a connection.
 */
#define HALTERE_COUPLED 4

/**
 * `haltere_congestion_control.flags`: it heeds `haltere_config.slow_start`. Contenders can then choose how slow start ends.
 */
#define HALTERE_HEEDS_SLOW_START 8

/**
 * `haltere_congestion_control.flags`: it needs RTTs without the peer's delay of acknowledgements.
 */
#define HALTERE_PROMPT_RTTS 16

/**
 * `haltere_scheduler.flags`: its picks do not depend on the demand, which then need not be counted for each packet.
 */
#define HALTERE_IGNORES_DEMAND 1

/**
 * `haltere_pick.kind`: send the next data on `path`. If it takes no packet now, nothing is sent, and the scheduler is asked again.
 */
#define HALTERE_PICK_ON 0

/**
 * `haltere_pick.kind`: send nothing. The scheduler is asked again at `until`, or earlier if an ACK arrives or a timer expires.
 */
#define HALTERE_PICK_WAIT 1

/**
 * `haltere_pick.kind`: send the same data on each path whose bit is set in `copies`.
 */
#define HALTERE_PICK_COPIES 2

/**
 * `haltere_pick.kind`: send on `path` the data that follows after `skip` bytes of what no path was given yet; other paths send these
 * bytes.
 */
#define HALTERE_PICK_AHEAD 3

/**
 * Answer of `enqueue` and `dequeue` of a queue discipline: the packet is dropped to signal congestion.
 */
#define HALTERE_DROP -1

/**
 * Answer of `enqueue`: the packet is dropped because there is no room for it. Results count it apart from `HALTERE_DROP`.
 */
#define HALTERE_FULL -2

/**
 * Answer of `dequeue`: the packet leaves.
 */
#define HALTERE_SEND 0

/**
 * Answer of `dequeue`, and added to the band by `enqueue`: the packet is marked for congestion. If it cannot be marked
 * (`haltere_packet.ecn`), it is dropped instead.
 */
#define HALTERE_MARK 65536

/**
 * The number of bands: they are numbered from 0 on, below this.
 */
#define HALTERE_BANDS 65536

/**
 * `haltere_packet.ecn`: not ECN-capable.
 */
#define HALTERE_NOT_ECT 0

/**
 * `haltere_packet.ecn`: ECN-capable, codepoint ECT(1), which asks for L4S treatment (RFC 9331).
 */
#define HALTERE_ECT_1 1

/**
 * `haltere_packet.ecn`: ECN-capable, codepoint ECT(0).
 */
#define HALTERE_ECT_0 2

/**
 * `haltere_packet.ecn`: marked, congestion experienced.
 */
#define HALTERE_CE 3

/**
 * A number by which the algorithm can be tuned: `+gain=1.5` behind the file's name in a contender.
 */
typedef struct {
  /**
   * Its name: small letters, digits and hyphens.
   */
  const char *name;
  /**
   * Its meaning, in one line.
   */
  const char *summary;
  /**
   * Its value, unless a contender gives another.
   */
  double default_value;
  /**
   * The least value.
   */
  double least;
  /**
   * The largest value.
   */
  double most;
} haltere_parameter;

/**
 * The facts about a path with which its controller is created.
 */
typedef struct {
  /**
   * Bytes of data in a full packet.
   */
  int64_t mss;
  /**
   * Bytes of such a packet on the wire, IP header included.
   */
  int64_t wire;
  /**
   * The granularity of windows: `mss` if the sender counts whole segments, as Linux does, otherwise 1.
   */
  int64_t grain;
  /**
   * Initial window, bytes.
   */
  int64_t initial_window;
  /**
   * How many connections the window is to grow and shrink like; 1 for itself.
   */
  int64_t connections;
  /**
   * The tick of the host's coarse clock, ns; 0 for an exact clock.
   */
  int64_t tick;
  /**
   * The time from the last tick to the start of the run, ns.
   */
  int64_t phase;
  /**
   * How slow start ends: one of `HALTERE_SLOW_START_…`.
   */
  uint32_t slow_start;
  /**
   * Whether the transport paces window-based algorithms too.
   */
  bool paced;
  /**
   * The values of the parameters, in the order in which the library declares them.
   */
  const double *parameters;
  /**
   * How many they are.
   */
  uintptr_t parameter_count;
  /**
   * Gives 64 random bits of the run's own dice. It may be called whenever the controller is called. Other sources of random
   * numbers would make runs that nobody can repeat.
   */
  uint64_t (*random)(void *dice);
  /**
   * The argument of `random`. It is valid as long as the controller.
   */
  void *dice;
} haltere_config;

/**
 * The decisions of a controller. The host owns them, and they stay from call to call.
 */
typedef struct {
  /**
   * The congestion window, bytes. `create` must set it.
   */
  int64_t window;
  /**
   * The slow-start threshold, bytes; `HALTERE_NEVER`, as at first, if none is set.
   */
  int64_t ssthresh;
  /**
   * The pacing rate, bit/s; 0, as at first, if the algorithm does not pace.
   */
  int64_t pacing_rate;
  /**
   * How many bytes may be sent back to back when paced; 0, as at first, leaves it to the transport.
   */
  int64_t send_quantum;
  /**
   * A request to the transport: one of `HALTERE_ASK_…`. It is heeded after `on_ack`, and set to nothing before.
   */
  uint32_t ask;
  /**
   * Whether the algorithm sets its window during recovery itself. Otherwise the transport applies PRR.
   */
  bool owns_recovery;
  /**
   * Whether the window grows exponentially, for algorithms without a threshold. If `ssthresh` is set, that decides.
   */
  bool startup;
  /**
   * In the place of NULL: the controller has failed, for this reason. The run then ends as failed. The text must stay until the
   * next call.
   */
  const char *failure;
} haltere_control;

/**
 * A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02).
 */
typedef struct {
  /**
   * Bytes delivered over the interval; 0 if there is no valid sample.
   */
  int64_t delivered;
  /**
   * The interval, ns; 0 if there is no valid sample.
   */
  int64_t interval;
  /**
   * Bytes delivered when the sampled packet was sent; they separate rounds.
   */
  int64_t prior_delivered;
  /**
   * Bytes newly lost since the sampled packet was sent.
   */
  int64_t lost;
  /**
   * Bytes in flight when the sampled packet was sent, itself included.
   */
  int64_t in_flight;
  /**
   * Whether the sender was application-limited when the sample was taken.
   */
  bool app_limited;
} haltere_rate_sample;

/**
 * An ACK that delivered data.
 */
typedef struct {
  /**
   * When it arrived.
   */
  int64_t now;
  /**
   * Bytes newly delivered by it, cumulatively or selectively.
   */
  int64_t delivered;
  /**
   * Bytes found lost with it.
   */
  int64_t lost;
  /**
   * The newest RTT sample that it gave, without the peer's delay, or `HALTERE_UNKNOWN`.
   */
  int64_t rtt;
  /**
   * Smoothed RTT, or `HALTERE_UNKNOWN`.
   */
  int64_t srtt;
  /**
   * Minimum RTT as loss recovery tracks it, or `HALTERE_UNKNOWN`.
   */
  int64_t min_rtt;
  /**
   * Bytes in flight after it.
   */
  int64_t in_flight;
  /**
   * Bytes in flight before it.
   */
  int64_t prior_in_flight;
  /**
   * A position in the sender's sequence (bytes or packet numbers): everything below it is acknowledged.
   */
  int64_t acked_to;
  /**
   * The position that will be sent next.
   */
  int64_t sent_to;
  /**
   * Bytes delivered since the start.
   */
  int64_t total_delivered;
  /**
   * Bytes found lost since the start.
   */
  int64_t total_lost;
  /**
   * When pacing allows the next packet; at or before `now` if it may go at once.
   */
  int64_t next_departure;
  /**
   * The present time by the sender's clock of timestamps (RFC 7323), ms that wrap; `HALTERE_UNKNOWN` without timestamps.
   */
  int64_t stamp_now;
  /**
   * When the ACK was sent, by the peer's clock, ms; `HALTERE_UNKNOWN` without timestamps.
   */
  int64_t stamp_value;
  /**
   * When the segment was sent that the ACK answers, by the sender's clock, ms; `HALTERE_UNKNOWN` without timestamps.
   */
  int64_t stamp_echo;
  /**
   * The sample of the delivery rate.
   */
  haltere_rate_sample rate;
  /**
   * The phase of loss recovery after the ACK: one of `HALTERE_PHASE_…`.
   */
  uint32_t phase;
  /**
   * Whether the window, and not a lack of data, limited the sender recently.
   */
  bool window_limited;
  /**
   * Whether recovery lets the window grow on this ACK.
   */
  bool may_grow;
  /**
   * Whether the receiver's timer of delayed ACKs, and not the path, delayed the acknowledged data.
   */
  bool delayed;
} haltere_ack;

/**
 * A path of a connection.
 */
typedef struct {
  /**
   * The path's number within the connection.
   */
  uint32_t id;
  /**
   * Whether it is the path of the controller that is called. Always false for schedulers.
   */
  bool own;
  /**
   * Whether a scheduler may send data on it.
   */
  bool usable;
  /**
   * Whether it is in reserve: it is used if no other path is left.
   */
  bool standby;
  /**
   * Whether the window grows exponentially.
   */
  bool in_slow_start;
  /**
   * Congestion window.
   */
  int64_t window;
  /**
   * Slow-start threshold, or `HALTERE_NEVER`.
   */
  int64_t ssthresh;
  /**
   * Bytes in flight.
   */
  int64_t in_flight;
  /**
   * Bytes that the path was given and has not sent yet.
   */
  int64_t queued;
  /**
   * The most bytes that the path holds, in flight and queued.
   */
  int64_t capacity;
  /**
   * Bytes that its send buffer keeps beside those.
   */
  int64_t overhead;
  /**
   * Bytes of a full packet.
   */
  int64_t mss;
  /**
   * Smoothed RTT, or `HALTERE_UNKNOWN`.
   */
  int64_t srtt;
  /**
   * Minimum RTT, or `HALTERE_UNKNOWN`.
   */
  int64_t min_rtt;
  /**
   * Mean deviation of the RTT.
   */
  int64_t rtt_variation;
  /**
   * The newest sample of the delivery rate, bit/s, or `HALTERE_UNKNOWN`.
   */
  int64_t delivery_rate;
  /**
   * The pacing rate, bit/s, or `HALTERE_UNKNOWN`.
   */
  int64_t pacing_rate;
  /**
   * When pacing allows the next packet.
   */
  int64_t paced_until;
  /**
   * Bytes acknowledged since the last loss.
   */
  int64_t since_loss;
  /**
   * Bytes acknowledged between the last two losses.
   */
  int64_t between_losses;
} haltere_path;

/**
 * Congestion was detected.
 */
typedef struct {
  /**
   * When it was detected.
   */
  int64_t now;
  /**
   * Bytes in flight.
   */
  int64_t in_flight;
  /**
   * Bytes found lost so far in this event.
   */
  int64_t lost;
  /**
   * Its cause: one of `HALTERE_TRIGGER_…`.
   */
  uint32_t trigger;
  /**
   * Whether it begins a new episode. A timeout within an episode does not reduce the target again.
   */
  bool new_episode;
} haltere_congestion;

/**
 * The handshake is complete and data may flow.
 */
typedef struct {
  /**
   * When that happened.
   */
  int64_t now;
  /**
   * The RTT that the handshake's packets measured, or `HALTERE_UNKNOWN`.
   */
  int64_t rtt;
} haltere_established;

/**
 * A packet is about to be sent.
 */
typedef struct {
  /**
   * When it is sent.
   */
  int64_t now;
  /**
   * Its size: TCP's data, or a QUIC packet.
   */
  int64_t bytes;
  /**
   * Bytes in flight before it.
   */
  int64_t in_flight;
  /**
   * Bytes delivered since the start.
   */
  int64_t total_delivered;
  /**
   * How long the path was idle for lack of data, if it now sends again; otherwise `HALTERE_UNKNOWN`.
   */
  int64_t after_idle;
  /**
   * The retransmission timeout (QUIC: PTO).
   */
  int64_t timeout;
  /**
   * Whether the sender is in an application-limited phase.
   */
  bool app_limited;
} haltere_sent;

/**
 * An ACK of a connection that uses ECN, and what it delivered. The call precedes `on_congestion` for its marks.
 */
typedef struct {
  /**
   * When it arrived.
   */
  int64_t now;
  /**
   * A position in the sender's sequence: everything below it is acknowledged.
   */
  int64_t acked_to;
  /**
   * The position that will be sent next.
   */
  int64_t sent_to;
  /**
   * Bytes delivered since the start.
   */
  int64_t total_delivered;
  /**
   * How many of these bytes were acknowledged by ACKs that echoed marks.
   */
  int64_t total_marked;
} haltere_echo;

/**
 * A packet was found lost. All losses of one event are told in the order in which the packets were sent, before the congestion
 * and before the ACK that showed them.
 */
typedef struct {
  /**
   * When it was found.
   */
  int64_t now;
  /**
   * The start of its range in the sender's sequence …
   */
  int64_t start;
  /**
   * … and the end.
   */
  int64_t end;
  /**
   * Its size.
   */
  int64_t bytes;
  /**
   * Bytes delivered since the start.
   */
  int64_t total_delivered;
  /**
   * Bytes found lost since the start, this packet included.
   */
  int64_t total_lost;
  /**
   * When the packet was sent: bytes delivered by then …
   */
  int64_t sent_delivered;
  /**
   * … bytes lost by then …
   */
  int64_t sent_lost;
  /**
   * … and bytes in flight, this packet included.
   */
  int64_t sent_in_flight;
  /**
   * Whether the sender was application-limited when it was sent.
   */
  bool sent_app_limited;
} haltere_lost;

/**
 * An ACK arrived, and what it delivered and its RTT are known. Losses have not been looked for yet: the congestion that it shows, the
 * end of recovery and `on_ack` follow. The call follows `on_echo` for the ACK.
 */
typedef struct {
  /**
   * When it arrived.
   */
  int64_t now;
  /**
   * The newest RTT sample that it gave, without the peer's delay, or `HALTERE_UNKNOWN`.
   */
  int64_t rtt;
  /**
   * Smoothed RTT, or `HALTERE_UNKNOWN`.
   */
  int64_t srtt;
  /**
   * Minimum RTT as loss recovery tracks it, or `HALTERE_UNKNOWN`.
   */
  int64_t min_rtt;
  /**
   * A position in the sender's sequence (bytes or packet numbers): everything below it is acknowledged.
   */
  int64_t acked_to;
  /**
   * The position that will be sent next.
   */
  int64_t sent_to;
  /**
   * Bytes delivered since the start.
   */
  int64_t total_delivered;
  /**
   * Bytes that had been delivered when the newest packet was sent that the ACK delivered, or `HALTERE_UNKNOWN`.
   */
  int64_t prior_delivered;
  /**
   * Bytes in flight, among them those that will be found lost.
   */
  int64_t in_flight;
  /**
   * The present time by the sender's clock of timestamps (RFC 7323), ms that wrap; `HALTERE_UNKNOWN` without timestamps.
   */
  int64_t stamp_now;
  /**
   * When the ACK was sent, by the peer's clock, ms; `HALTERE_UNKNOWN` without timestamps.
   */
  int64_t stamp_value;
  /**
   * When the segment was sent that the ACK answers, by the sender's clock, ms; `HALTERE_UNKNOWN` without timestamps.
   */
  int64_t stamp_echo;
} haltere_arrival;

/**
 * A congestion control. Functions that may be NULL say so. Controllers of several runs are called on several threads at once, each
 * always by one; libraries must keep no state outside of what `create` returns.
 */
typedef struct {
  /**
   * `sizeof(haltere_congestion_control)`.
   */
  uintptr_t size;
  /**
   * Its name in figures.
   */
  const char *label;
  /**
   * A description in one line.
   */
  const char *summary;
  /**
   * Where it is specified.
   */
  const char *reference;
  /**
   * The sum of `HALTERE_NEEDS_ECN` and the like.
   */
  uint32_t flags;
  /**
   * How many parameters it has.
   */
  uint32_t parameter_count;
  /**
   * Its parameters.
   */
  const haltere_parameter *parameters;
  /**
   * Makes a controller for a path, and says what it decides at first. NULL is a failure.
   */
  void *(*create)(const haltere_config *config, haltere_control *control);
  /**
   * Frees a controller. May be NULL.
   */
  void (*destroy)(void *controller);
  /**
   * An ACK delivered data. `paths` are all paths of the connection after the ACK, the controller's own among them; there are none if
   * the connection has a single path.
   */
  void (*on_ack)(void *controller,
                 const haltere_ack *ack,
                 const haltere_path *paths,
                 uintptr_t path_count,
                 haltere_control *control);
  /**
   * Congestion was detected.
   */
  void (*on_congestion)(void *controller, const haltere_congestion *event, haltere_control *control);
  /**
   * The handshake is complete. May be NULL.
   */
  void (*on_established)(void *controller, const haltere_established *event, haltere_control *control);
  /**
   * A data packet is about to be sent. May be NULL.
   */
  void (*on_sent)(void *controller, const haltere_sent *sent, haltere_control *control);
  /**
   * An ACK arrived on a connection that uses ECN. May be NULL.
   */
  void (*on_echo)(void *controller, const haltere_echo *echo, haltere_control *control);
  /**
   * A packet was found lost. May be NULL.
   */
  void (*on_lost)(void *controller, const haltere_lost *lost, haltere_control *control);
  /**
   * The last congestion event proved spurious: undo its reduction. May be NULL.
   */
  void (*on_undo)(void *controller, haltere_control *control);
  /**
   * Recovery ended with its losses repaired. May be NULL.
   */
  void (*on_recovered)(void *controller, int64_t now, haltere_control *control);
  /**
   * The segment size changed. May be NULL.
   */
  void (*set_mss)(void *controller, int64_t mss, int64_t wire, haltere_control *control);
  /**
   * An ACK arrived, and its losses have not been looked for yet. May be NULL.
   */
  void (*on_arrival)(void *controller, const haltere_arrival *arrival, haltere_control *control);
} haltere_congestion_control;

/**
 * The contents of a library with a congestion control. It exports `haltere_plugin_of`, which returns them.
 */
typedef struct {
  /**
   * `HALTERE_ABI`.
   */
  uint32_t abi;
  /**
   * `sizeof(haltere_plugin)`.
   */
  uintptr_t size;
  /**
   * Its congestion control, or NULL.
   */
  const haltere_congestion_control *congestion_control;
} haltere_plugin;

/**
 * The facts with which a path scheduler is created.
 */
typedef struct {
  /**
   * The values of the parameters, in the order in which the library declares them.
   */
  const double *parameters;
  /**
   * How many they are.
   */
  uintptr_t parameter_count;
  /**
   * Gives 64 random bits of the run's own dice. It may be called whenever the scheduler is called.
   */
  uint64_t (*random)(void *dice);
  /**
   * The argument of `random`. It is valid as long as the scheduler.
   */
  void *dice;
} haltere_scheduler_config;

/**
 * The data that a connection as a whole has to send, bytes.
 */
typedef struct {
  /**
   * Data that no path was given yet.
   */
  int64_t waiting;
  /**
   * Data that paths were given and that the peer has not acknowledged to the connection.
   */
  int64_t outstanding;
  /**
   * The bytes that the peer's flow control of the connection allows beyond those that paths were given.
   */
  int64_t window;
  /**
   * Data of the application for which the connection's send buffer has no room yet.
   */
  int64_t beyond;
} haltere_demand;

/**
 * The pick of a scheduler. Before each call the host sets it to a wait without end.
 */
typedef struct {
  /**
   * Its kind: one of `HALTERE_PICK_…`.
   */
  uint32_t kind;
  /**
   * The number of a path, its `id`.
   */
  uint32_t path;
  /**
   * For a wait: a time, or `HALTERE_NEVER`.
   */
  int64_t until;
  /**
   * For data from further back: how many bytes are left out.
   */
  int64_t skip;
  /**
   * For copies: bit `id % 64` of `copies[id / 64]` for each path.
   */
  uint64_t copies[4];
  /**
   * In the place of NULL: the scheduler has failed, for this reason. The run then ends as failed. The text must stay until the
   * next call.
   */
  const char *failure;
} haltere_pick;

/**
 * A path scheduler: it chooses the path of the next data of a connection with several paths. Functions that may be NULL say so.
 * Schedulers of several connections are called on several threads at once, each always by one; libraries must keep no state outside
 * of what `create` returns.
 */
typedef struct {
  /**
   * `sizeof(haltere_scheduler)`.
   */
  uintptr_t size;
  /**
   * A description in one line.
   */
  const char *summary;
  /**
   * Where it is specified.
   */
  const char *reference;
  /**
   * `HALTERE_IGNORES_DEMAND`, or 0.
   */
  uint32_t flags;
  /**
   * How many parameters it has.
   */
  uint32_t parameter_count;
  /**
   * Its parameters: `+scheduler=./mine.c+gain=1.5` in a contender.
   */
  const haltere_parameter *parameters;
  /**
   * How many bytes of data a path gets for a pick, if it takes them; 0 means one packet. QUIC asks for each packet.
   */
  int64_t burst;
  /**
   * Makes a scheduler for a connection. NULL is a failure.
   */
  void *(*create)(const haltere_scheduler_config *config);
  /**
   * Frees a scheduler. May be NULL.
   */
  void (*destroy)(void *scheduler);
  /**
   * Chooses the path of the next data. `paths` are all paths of the connection, in the order of their numbers.
   */
  void (*pick)(void *scheduler,
               const haltere_path *paths,
               uintptr_t path_count,
               const haltere_demand *demand,
               int64_t now,
               haltere_pick *pick);
  /**
   * The path that was picked took so many bytes of new data. May be NULL.
   */
  void (*on_given)(void *scheduler, uint32_t path, int64_t bytes, int64_t now);
  /**
   * The peer's flow control of the connection keeps data back, and the path `head` carries the oldest data that is not acknowledged:
   * the other paths wait for it. May be NULL.
   */
  void (*on_blocked)(void *scheduler, uint32_t head, int64_t now);
} haltere_scheduler;

/**
 * The facts about a link with which the discipline of its queue is created.
 */
typedef struct {
  /**
   * The link's rate, bit/s, or `HALTERE_UNKNOWN` if it has none.
   */
  int64_t rate;
  /**
   * The base RTT of the path.
   */
  int64_t rtt;
  /**
   * The largest packet, bytes.
   */
  int64_t mtu;
  /**
   * The values of the parameters, in the order in which the library declares them.
   */
  const double *parameters;
  /**
   * How many they are.
   */
  uintptr_t parameter_count;
  /**
   * Gives 64 random bits of the run's own dice. It may be called whenever the discipline is called.
   */
  uint64_t (*random)(void *dice);
  /**
   * The argument of `random`. It is valid as long as the discipline.
   */
  void *dice;
} haltere_queue_config;

/**
 * A packet in front of a link.
 */
typedef struct {
  /**
   * Its length, bytes, IP header included.
   */
  int64_t size;
  /**
   * When it arrived at the queue.
   */
  int64_t arrived;
  /**
   * A hash of its flow (addresses, protocol and ports), from 0 on.
   */
  int64_t flow;
  /**
   * Its ECN field, as the IP header has it: one of `HALTERE_NOT_ECT`, `HALTERE_ECT_1`, `HALTERE_ECT_0` and `HALTERE_CE`.
   */
  uint32_t ecn;
  /**
   * Its DiffServ codepoint (RFC 2474), which is the ToS byte without its two lowest bits.
   */
  uint32_t dscp;
  /**
   * Whether the limit has room for it. False for packets that leave.
   */
  bool fits;
} haltere_packet;

/**
 * A band of a queue: packets that leave in the order in which they came.
 */
typedef struct {
  /**
   * Packets waiting.
   */
  int64_t packets;
  /**
   * Bytes waiting.
   */
  int64_t bytes;
  /**
   * The size of the packet that is the next to leave, or `HALTERE_UNKNOWN`.
   */
  int64_t head_size;
  /**
   * When that packet arrived, or `HALTERE_UNKNOWN`.
   */
  int64_t head_arrived;
} haltere_band;

/**
 * The state of a queue when its discipline is asked. A packet that arrives is not in it, and one that leaves is no longer.
 */
typedef struct {
  /**
   * The present time.
   */
  int64_t now;
  /**
   * Packets waiting, in all bands.
   */
  int64_t packets;
  /**
   * Bytes waiting, in all bands.
   */
  int64_t bytes;
  /**
   * The limit in packets; `HALTERE_NEVER` if it is one in bytes.
   */
  int64_t limit_packets;
  /**
   * The limit in bytes; `HALTERE_NEVER` if it is one in packets.
   */
  int64_t limit_bytes;
  /**
   * The bands that have been used: number n stands at `bands[n]`.
   */
  const haltere_band *bands;
  /**
   * How many they are. Bands beyond are empty.
   */
  uintptr_t band_count;
  /**
   * In the place of NULL: the discipline has failed, for this reason. The run then ends as failed. The text must stay until the
   * next call.
   */
  const char *failure;
} haltere_queue;

/**
 * A queue discipline: it decides which packet waits in which band, which leaves next, and which is dropped or marked. The packets
 * stay with the host. Functions that may be NULL say so; if all are, the queue is one that drops what finds it full. Disciplines of
 * several links are called on several threads at once, each always by one; libraries must keep no state outside of what `create`
 * returns.
 */
typedef struct {
  /**
   * `sizeof(haltere_queue_discipline)`.
   */
  uintptr_t size;
  /**
   * A description in one line.
   */
  const char *summary;
  /**
   * Where it is specified.
   */
  const char *reference;
  /**
   * Its parameters: `./mine.c:gain=1.5` as a queue.
   */
  const haltere_parameter *parameters;
  /**
   * How many they are.
   */
  uint32_t parameter_count;
  /**
   * Makes a discipline for a link. NULL is a failure.
   */
  void *(*create)(const haltere_queue_config *config);
  /**
   * Frees a discipline. May be NULL.
   */
  void (*destroy)(void *discipline);
  /**
   * A packet arrives. Returns its band, to which `HALTERE_MARK` may be added, `HALTERE_DROP` or `HALTERE_FULL`. A packet for which
   * the limit has no room is dropped whatever the answer is. NULL puts all into band 0.
   */
  int64_t (*enqueue)(void *discipline, const haltere_packet *packet, haltere_queue *queue);
  /**
   * A packet may leave. Returns the band whose first packet it is to be, which must not be empty. NULL serves the band with the
   * lowest number that is not empty.
   */
  int64_t (*next_band)(void *discipline, haltere_queue *queue);
  /**
   * That packet is about to leave. Returns `HALTERE_SEND`, `HALTERE_MARK` or `HALTERE_DROP`; after a drop, `next_band` is asked
   * again. NULL sends all.
   */
  int64_t (*dequeue)(void *discipline, const haltere_packet *packet, haltere_queue *queue);
  /**
   * Returns when the next packet may leave: a time that has come if at once, `HALTERE_NEVER` if not before another packet arrives.
   * Asked after each packet that came or left, while others wait. NULL lets packets leave as soon as the link is free.
   */
  int64_t (*ready_at)(void *discipline, haltere_queue *queue);
} haltere_queue_discipline;

#endif  /* HALTERE_H */

#ifdef __cplusplus
extern "C" {
#endif

/* What libraries export. `abi` is the version that the host has: return NULL if yours is another. */
#if defined(_WIN32)
#define HALTERE_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define HALTERE_EXPORT __attribute__((visibility("default")))
#else
#define HALTERE_EXPORT
#endif
HALTERE_EXPORT const haltere_plugin *haltere_plugin_of(uint32_t abi);
HALTERE_EXPORT const haltere_scheduler *haltere_scheduler_of(uint32_t abi);
HALTERE_EXPORT const haltere_queue_discipline *haltere_queue_discipline_of(uint32_t abi);

#ifdef __cplusplus
}
#endif
