/* The events of haltere as the calls of a `struct tcp_congestion_ops`, in the kernel's order.
 *
 * Each controller has a socket of its own, whose members are set before each call from what haltere tells. The file's functions are
 * called where the kernel calls them:
 *
 * - The handshake is complete: `init`, with the initial window, the RTT and one packet delivered.
 * - Before data is sent: CA_EVENT_CWND_RESTART if the window was reduced after a time without data; CA_EVENT_TX_START if nothing is in
 *   flight.
 * - An ACK: `pkts_acked`, `in_ack_event`, `set_state` if loss recovery changes its state, and then `cong_control`, or `cong_avoid` if the
 *   window may grow.
 * - Congestion: `ssthresh` and then `set_state`, before the state changes; at a timeout CA_EVENT_LOSS between them.
 * - Its end: CA_EVENT_COMPLETE_CWR. Undone: `undo_cwnd`.
 *
 * The window during a reduction is the transport's (PRR): the file sees the threshold as the window, which it is at the end.
 *
 * `get_info` and `sndbuf_expand` are not called. What a receiver does is the transport's. */

#include "glue.h"

/* Linux's largest super-segment: that of an interface, less the largest header and a byte. */
#define SUPER_SEGMENT (GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER)
#define PACING_SHIFT 10
/* The allowance of a super-segment on short paths halves with each 2^9 us of RTT. */
#define SHORT_PATH_SHIFT 9
/* The largest rate that haltere takes, bytes of data a second. */
#define FASTEST (1LL << 47)
/* A mark of the rate sampler that a file did not set. */
#define LIMITED_BEFORE 0x7fffffff

static void event(struct controller *c, enum tcp_ca_event what)
{
	if (ops_of(c)->cwnd_event)
		ops_of(c)->cwnd_event(sock_of(c), what);
}

static void set_state(struct controller *c, u8 state)
{
	if (ops_of(c)->set_state)
		ops_of(c)->set_state(sock_of(c), state);
	c->tp.inet_conn.icsk_ca_state = state;
}

/* The pacing rate of a file that does not set it: twice the window per RTT in slow start, 1.2 times afterwards. */
static void update_pacing_rate(struct controller *c)
{
	struct tcp_sock *tp = &c->tp;
	u64 percent = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	u64 rate;

	if (ops_of(c)->cong_control || tp->srtt_us == 0)
		return;
	rate = (u64)c->mss * max(tp->snd_cwnd, tp->packets_out) * (USEC_PER_SEC / 100 * 8) * percent / tp->srtt_us;
	sock_of(c)->sk_pacing_rate = min(rate, (u64)sock_of(c)->sk_max_pacing_rate);
}

static void start(struct controller *c, int64_t now, int64_t rtt)
{
	struct tcp_sock *tp = &c->tp;
	struct sock *sk = sock_of(c);

	if (c->begun && ops_of(c)->release)
		ops_of(c)->release(sk);
	memset(tp, 0, sizeof(*tp));
	set_clock(c, now);
	c->begun = true;
	c->wants_cwr = c->echoed = c->sampled = false;
	c->base_bytes = c->base_packets = c->bytes_delivered = c->told_acked = c->reducing_to = 0;
	c->bytes_marked = c->part_marked = c->bytes_lost = c->part_lost = 0;
	tp->inet_conn.icsk_ca_ops = haltere_registered;
	tp->inet_conn.icsk_ca_initialized = 1;
	tp->inet_conn.icsk_rto = HZ;
	tp->mss_cache = tp->advmss = (u32)c->mss;
	tp->snd_cwnd = max((u32)(c->initial_window / c->mss), 1U);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_cwnd_clamp = ~0U;
	tp->snd_una = tp->snd_nxt = tp->write_seq = tp->rcv_nxt = sequence(c, 0);
	tp->snd_wnd = tp->rcv_wnd = S32_MAX;
	tp->reordering = 3;
	tp->delivered = c->told_delivered = 1;
	tp->delivered_mstamp = tp->first_tx_mstamp = tp->tcp_mstamp;
	tp->lsndtime = tcp_jiffies32;
	tp->srtt_us = rtt > 0 ? max(micros(rtt), 1U) * 8 : 0;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, rtt > 0 ? max(micros(rtt), 1U) : ~0U);
	tp->ecn_flags = haltere_registered->flags & TCP_CONG_NEEDS_ECN ? TCP_ECN_OK : 0;
	tp->rx_opt.tstamp_ok = tp->rx_opt.sack_ok = true;
	sk->sk_state = TCP_ESTABLISHED;
	sk->sk_pacing_rate = sk->sk_max_pacing_rate = ~0UL;
	sk->sk_pacing_status = c->paced ? SK_PACING_NEEDED : SK_PACING_NONE;
	sk->sk_pacing_shift = PACING_SHIFT;
	sk->sk_gso_max_size = SUPER_SEGMENT;
	sk->sk_gso_max_segs = U16_MAX;
	if (ops_of(c)->init)
		ops_of(c)->init(sk);
	update_pacing_rate(c);
}

/* The segments of a super-segment: what is paced in a millisecond, and more on short paths. */
static int64_t send_quantum(struct controller *c)
{
	struct sock *sk = sock_of(c);
	u32 least = ops_of(c)->min_tso_segs ? ops_of(c)->min_tso_segs(sk) : 2;
	u64 bytes = sk->sk_pacing_rate >> sk->sk_pacing_shift;
	u32 halvings = tcp_min_rtt(&c->tp) >> SHORT_PATH_SHIFT;

	if (halvings < 32)
		bytes += sk->sk_gso_max_size >> halvings;
	bytes = min(bytes, (u64)sk->sk_gso_max_size);
	return (int64_t)max(bytes / (u64)c->mss, (u64)least) * c->mss;
}

/* Says what the file has decided. */
static void decide(struct controller *c, haltere_control *control)
{
	struct sock *sk = sock_of(c);
	bool owns = ops_of(c)->cong_control != NULL;
	bool paces = sk->sk_pacing_status != SK_PACING_NONE && !(c->paced && !owns) && sk->sk_pacing_rate != ~0UL;

	c->tp.snd_cwnd = clamp(c->tp.snd_cwnd, 1U, (u32)((1LL << 40) / c->mss));
	control->window = c->tp.snd_cwnd * c->mss;
	control->ssthresh = c->tp.snd_ssthresh >= TCP_INFINITE_SSTHRESH
				    ? HALTERE_NEVER
				    : min((int64_t)c->tp.snd_ssthresh * c->mss, (int64_t)1 << 40);
	control->owns_recovery = owns;
	control->startup = true;
	control->pacing_rate = paces ? (int64_t)min((u64)sk->sk_pacing_rate, (u64)FASTEST) * 8 : 0;
	control->send_quantum = paces ? send_quantum(c) : 0;
	haltere_present = NULL;
}

/* A new episode: the file chooses the threshold for the window before it. */
static void reduce(struct controller *c, bool revocable)
{
	struct tcp_sock *tp = &c->tp;

	tp->prior_ssthresh = revocable ? tcp_current_ssthresh(sock_of(c)) : 0;
	tp->high_seq = tp->snd_nxt;
	tp->snd_cwnd_cnt = 0;
	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = ops_of(c)->ssthresh(sock_of(c));
}

/* The window is reduced step by step to the threshold: the transport does that, and begins with the threshold as it now is. */
static void begin_reduction(struct controller *c, u8 state)
{
	reduce(c, state == TCP_CA_Recovery);
	c->tp.undo_marker = state == TCP_CA_Recovery ? c->tp.snd_una : 0;
	set_state(c, state);
	if (!ops_of(c)->cong_control)
		c->tp.snd_cwnd = min(c->tp.snd_cwnd, c->tp.snd_ssthresh);
}

static void end_reduction(struct controller *c)
{
	struct tcp_sock *tp = &c->tp;

	if (ops_of(c)->cong_control)
		return;
	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH && (tp->inet_conn.icsk_ca_state == TCP_CA_CWR || tp->undo_marker)) {
		tp->snd_cwnd = tp->snd_ssthresh;
		tp->snd_cwnd_stamp = tcp_jiffies32;
	}
	event(c, CA_EVENT_COMPLETE_CWR);
}

static void time_out(struct controller *c, const haltere_congestion *told)
{
	struct tcp_sock *tp = &c->tp;

	if (told->new_episode) {
		reduce(c, true);
		event(c, CA_EVENT_LOSS);
		tp->undo_marker = tp->snd_una;
	}
	tp->snd_cwnd = told->trigger == HALTERE_TRIGGER_PERSISTENT ? 2 : (u32)(told->in_flight / c->mss) + 1;
	tp->snd_cwnd_cnt = 0;
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tp->inet_conn.icsk_retransmits++;
	set_state(c, TCP_CA_Loss);
}

static void on_congestion(void *controller, const haltere_congestion *told, haltere_control *control)
{
	struct controller *c = controller;

	set_clock(c, told->now);
	switch (told->trigger) {
	case HALTERE_TRIGGER_TIMEOUT:
	case HALTERE_TRIGGER_PERSISTENT:
		time_out(c, told);
		break;
	case HALTERE_TRIGGER_LOSS:
		/* A probe of the tail that repaired a loss: nothing is known to be lost. */
		if (!told->new_episode)
			set_state(c, TCP_CA_Recovery);
		else
			begin_reduction(c, told->lost > 0 ? TCP_CA_Recovery : TCP_CA_CWR);
		break;
	default:
		if (told->new_episode || c->tp.inet_conn.icsk_ca_state < TCP_CA_CWR)
			begin_reduction(c, TCP_CA_CWR);
	}
	decide(c, control);
}

static void on_recovered(void *controller, int64_t now, haltere_control *control)
{
	struct controller *c = controller;
	u8 state = c->tp.inet_conn.icsk_ca_state;

	set_clock(c, now);
	if (state == TCP_CA_CWR)
		end_reduction(c);
	if (state != TCP_CA_Open)
		set_state(c, TCP_CA_Open);
	if (state == TCP_CA_Recovery)
		end_reduction(c);
	c->tp.undo_marker = 0;
	decide(c, control);
}

static void on_undo(void *controller, haltere_control *control)
{
	struct controller *c = controller;
	struct tcp_sock *tp = &c->tp;

	set_clock(c, c->now);
	if (tp->prior_ssthresh) {
		tp->snd_cwnd = ops_of(c)->undo_cwnd(sock_of(c));
		tp->snd_ssthresh = max(tp->snd_ssthresh, tp->prior_ssthresh);
	}
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tp->undo_marker = 0;
	decide(c, control);
}

/* QUIC reduces windows at once, and asks for nothing: a reduction that the file asked for lasts for a round trip. */
static void reduce_oneself(struct controller *c, int64_t sent_to)
{
	if (c->wants_cwr && c->tp.inet_conn.icsk_ca_state < TCP_CA_CWR) {
		begin_reduction(c, TCP_CA_CWR);
		c->reducing_to = sent_to;
	}
	c->wants_cwr = false;
}

/* The kernel's test for ACKs that need little work is left out where something is outstanding. */
static void tell_ack(struct controller *c, u32 flags)
{
	if (c->echoed)
		flags = CA_ACK_SLOWPATH | CA_ACK_ECE;
	if (ops_of(c)->in_ack_event)
		ops_of(c)->in_ack_event(sock_of(c), flags);
	c->echoed = false;
}

static void on_echo(void *controller, const haltere_echo *echo, haltere_control *control)
{
	struct controller *c = controller;

	if (!c->begun)
		start(c, echo->now, HALTERE_UNKNOWN);
	set_clock(c, echo->now);
	haltere_take_delivery(c, echo->acked_to, echo->sent_to, echo->total_delivered);
	haltere_take_marked(c, echo->total_marked);
	/* No arrival is told of an ACK while nothing is outstanding. */
	if (echo->acked_to == echo->sent_to && echo->acked_to == c->told_acked)
		tell_ack(c, 0);
	decide(c, control);
}

/* Tells the file what an ACK delivered. */
static void tell_sample(struct controller *c, int64_t acked_to, int64_t rtt, int64_t prior_delivered)
{
	struct tcp_sock *tp = &c->tp;
	u32 prior = prior_delivered < 0 ? 0 : 1 + packets_at(c, prior_delivered);
	u32 cumulative = packets_at(c, acked_to + c->mss - 1) - packets_at(c, c->told_acked + c->mss - 1);

	c->told_acked = acked_to;
	if (ops_of(c)->pkts_acked) {
		struct ack_sample sample = {
			.pkts_acked = c->segments ? cumulative : tp->delivered - c->told_delivered,
			.rtt_us = rtt < 0 ? -1 : (s32)micros(rtt),
			.in_flight = tp->mss_cache * (tp->delivered - prior),
		};

		ops_of(c)->pkts_acked(sock_of(c), &sample);
	}
	tell_ack(c, CA_ACK_SLOWPATH);
}

static void on_arrival(void *controller, const haltere_arrival *told, haltere_control *control)
{
	struct controller *c = controller;

	if (!c->begun)
		start(c, told->now, told->rtt);
	set_clock(c, told->now);
	haltere_take_arrival(c, told);
	tell_sample(c, told->acked_to, told->rtt, told->prior_delivered);
	c->sampled = true;
	decide(c, control);
}

static void on_ack(void *controller, const haltere_ack *ack, const haltere_path *paths, uintptr_t path_count,
		   haltere_control *control)
{
	struct controller *c = controller;
	struct tcp_sock *tp = &c->tp;
	struct sock *sk = sock_of(c);
	u32 acked, mark;

	(void)paths;
	(void)path_count;
	if (!c->begun)
		start(c, ack->now, ack->rtt);
	set_clock(c, ack->now);
	haltere_take_ack(c, ack);
	/* Production stacks of QUIC tell of an ACK once. */
	if (!c->sampled)
		tell_sample(c, ack->acked_to, ack->rtt, ack->rate.in_flight > 0 ? ack->rate.prior_delivered : HALTERE_UNKNOWN);
	c->sampled = false;
	acked = tp->delivered - c->told_delivered;
	c->told_delivered = tp->delivered;
	if (c->reducing_to > 0 && ack->acked_to > c->reducing_to && tp->inet_conn.icsk_ca_state == TCP_CA_CWR) {
		end_reduction(c);
		c->reducing_to = 0;
	}
	if (tp->inet_conn.icsk_ca_state != ack->phase && !(c->reducing_to > 0 && ack->phase < HALTERE_PHASE_REDUCING))
		set_state(c, (u8)ack->phase);
	mark = tp->app_limited;
	if (ops_of(c)->cong_control) {
		struct rate_sample rs = haltere_rate_of(c, ack, acked);

#ifdef HALTERE_CONG_CONTROL_OF_TWO
		ops_of(c)->cong_control(sk, &rs);
#else
		ops_of(c)->cong_control(sk, tp->snd_una, 0, &rs);
#endif
	} else if (ack->may_grow && tp->inet_conn.icsk_ca_state != TCP_CA_CWR && (c->segments || acked > 0)) {
		ops_of(c)->cong_avoid(sk, tp->snd_una, acked);
	}
	if (!c->segments)
		reduce_oneself(c, ack->sent_to);
	update_pacing_rate(c);
	control->ask = c->wants_cwr ? HALTERE_ASK_REDUCE : tp->app_limited != mark ? HALTERE_ASK_APP_LIMITED : HALTERE_ASK_NOTHING;
	tp->app_limited = mark;
	c->wants_cwr = false;
	decide(c, control);
}

/* After a time without data that is longer than the retransmission timeout, the window is halved for each timeout that passed. */
static void restart(struct controller *c, const haltere_sent *sent)
{
	struct tcp_sock *tp = &c->tp;
	u32 floor;

	if (ops_of(c)->cong_control || sent->after_idle <= sent->timeout || sent->timeout <= 0)
		return;
	event(c, CA_EVENT_CWND_RESTART);
	tp->snd_ssthresh = tcp_current_ssthresh(sock_of(c));
	floor = min(max((u32)(c->initial_window / c->mss), 1U), tp->snd_cwnd);
	for (int64_t left = sent->after_idle / sent->timeout; left > 0 && tp->snd_cwnd > floor; left--)
		tp->snd_cwnd /= 2;
	tp->snd_cwnd = max(tp->snd_cwnd, floor);
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tp->snd_cwnd_used = 0;
}

static void on_sent(void *controller, const haltere_sent *sent, haltere_control *control)
{
	struct controller *c = controller;
	struct tcp_sock *tp = &c->tp;

	if (!c->begun)
		start(c, sent->now, HALTERE_UNKNOWN);
	set_clock(c, sent->now);
	tp->app_limited = sent->app_limited ? LIMITED_BEFORE : 0;
	tp->inet_conn.icsk_rto = (u32)(min(sent->timeout, (int64_t)1 << 60) / (NSEC_PER_SEC / HZ));
	tp->packets_out = max(tp->packets_out, packets(c, sent->in_flight));
	if (sent->after_idle >= 0)
		restart(c, sent);
	if (sent->in_flight == 0) {
		tp->packets_out = tp->sacked_out = tp->lost_out = tp->retrans_out = 0;
		event(c, CA_EVENT_TX_START);
		tp->delivered_mstamp = tp->first_tx_mstamp = tp->tcp_mstamp;
	}
	tp->lsndtime = tcp_jiffies32;
	decide(c, control);
}

static void on_lost(void *controller, const haltere_lost *lost, haltere_control *control)
{
	struct controller *c = controller;

	(void)control;
	haltere_take_lost(c, lost->total_lost);
}

static void on_established(void *controller, const haltere_established *told, haltere_control *control)
{
	struct controller *c = controller;

	start(c, told->now, told->rtt);
	decide(c, control);
}

/* Larger segments leave the window's bytes as they are, smaller ones the number of packets (Linux, discovery of the path's MTU). */
static void set_mss(void *controller, int64_t mss, int64_t wire, haltere_control *control)
{
	struct controller *c = controller;
	struct tcp_sock *tp = &c->tp;

	(void)wire;
	set_clock(c, c->now);
	if (mss > c->mss)
		tp->snd_cwnd = max((u32)(tp->snd_cwnd * c->mss / mss), 1U);
	c->base_packets = packets_at(c, c->bytes_delivered);
	c->base_bytes = c->bytes_delivered;
	c->mss = mss;
	tp->mss_cache = (u32)mss;
	decide(c, control);
}

static void *create(const haltere_config *config, haltere_control *control)
{
	struct controller *c = calloc(1, sizeof(*c));

	if (!c) {
		control->failure = "there is no memory left";
		return NULL;
	}
	c->calls = &haltere_calls;
	c->mss = max(config->mss, (int64_t)1);
	c->segments = config->grain == config->mss;
	c->per_position = c->segments ? 1 : c->mss;
	c->initial_window = config->initial_window;
	c->phase = config->phase;
	c->paced = config->paced;
	c->stamp = HALTERE_UNKNOWN;
	c->random = config->random;
	c->dice = config->dice;
	c->first_bits = c->random(c->dice);
	c->has_first = true;
	/* It begins anew when the handshake is complete. This tells the transport whether it paces. */
	start(c, 0, HALTERE_UNKNOWN);
	decide(c, control);
	return c;
}

static void destroy(void *controller)
{
	struct controller *c = controller;

	set_clock(c, c->now);
	if (ops_of(c)->release)
		ops_of(c)->release(sock_of(c));
	haltere_present = NULL;
	free(c);
}

const haltere_congestion_control haltere_calls = {
	.size = sizeof(haltere_congestion_control),
	.create = create,
	.destroy = destroy,
	.on_ack = on_ack,
	.on_congestion = on_congestion,
	.on_established = on_established,
	.on_sent = on_sent,
	.on_echo = on_echo,
	.on_arrival = on_arrival,
	.on_lost = on_lost,
	.on_undo = on_undo,
	.on_recovered = on_recovered,
	.set_mss = set_mss,
};
