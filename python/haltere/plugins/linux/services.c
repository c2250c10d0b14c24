/* Functions of the kernel that congestion controls call: windows (RFC 5681), clocks, memory, random numbers, running extremes. */

#include "glue.h"

__thread struct controller *haltere_present;
struct tcp_congestion_ops *haltere_registered;

/* Clocks begin this much above zero. It is a whole number of ticks. */
#define START_S 1000ULL
#define TICK_NS (NSEC_PER_SEC / HZ)

u64 haltere_clock_ns(void)
{
	return START_S * NSEC_PER_SEC + (haltere_present ? (u64)haltere_present->now : 0);
}

unsigned long haltere_jiffies(void)
{
	u64 since = haltere_present ? (u64)(haltere_present->now + haltere_present->phase) : 0;

	return START_S * HZ + since / TICK_NS;
}

u32 haltere_stamp(const struct sock *sk)
{
	(void)sk;
	if (haltere_present && haltere_present->stamp >= 0)
		return (u32)haltere_present->stamp;
	return (u32)(haltere_clock_ns() / NSEC_PER_MSEC);
}

void *haltere_allocate(size_t count, size_t size)
{
	return calloc(count, size);
}

void kfree(const void *at)
{
	free((void *)at);
}

static u64 draw(void)
{
	struct controller *c = haltere_present;

	if (!c)
		return 0;
	if (c->has_first) {
		c->has_first = false;
		return c->first_bits;
	}
	return c->random(c->dice);
}

u32 get_random_u32(void)
{
	return (u32)(draw() >> 32);
}

u32 get_random_u32_below(u32 below)
{
	return (u32)(((unsigned __int128)draw() * below) >> 64);
}

void get_random_bytes(void *into, size_t count)
{
	unsigned char *at = into;

	for (u64 bits = 0; count > 0; count--, bits >>= 8) {
		if (bits == 0)
			bits = draw();
		*at++ = (unsigned char)bits;
	}
}

/* The best value leaves the window after `win`. Its successors are the best of the later quarter, and of the later half. */
static u32 running(struct minmax *m, u32 win, u32 t, u32 meas, bool best, bool second, bool third)
{
	struct minmax_sample *s = m->s, now = { t, meas };
	u32 age;

	if (best || t - s[2].t > win)
		return minmax_reset(m, t, meas);
	if (second)
		s[1] = s[2] = now;
	else if (third)
		s[2] = now;
	age = t - s[0].t;
	if (age > win) {
		for (int shift = 0; shift < 2 && t - s[0].t > win; shift++) {
			s[0] = s[1];
			s[1] = s[2];
			s[2] = now;
		}
	} else if (s[1].t == s[0].t && age > win / 4) {
		s[1] = s[2] = now;
	} else if (s[2].t == s[1].t && age > win / 2) {
		s[2] = now;
	}
	return s[0].v;
}

u32 minmax_running_max(struct minmax *m, u32 win, u32 t, u32 meas)
{
	return running(m, win, t, meas, meas >= m->s[0].v, meas >= m->s[1].v, meas >= m->s[2].v);
}

u32 minmax_running_min(struct minmax *m, u32 win, u32 t, u32 meas)
{
	return running(m, win, t, meas, meas <= m->s[0].v, meas <= m->s[1].v, meas <= m->s[2].v);
}

/* The first one that the module registers is the file's. */
int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (!ops->ssthresh || !ops->undo_cwnd || !(ops->cong_avoid || ops->cong_control))
		return -EINVAL;
	if (!haltere_registered)
		haltere_registered = ops;
	return 0;
}

/* RFC 5681 section 3.1: a packet for each that was delivered, up to the threshold. What is left counts for linear growth. */
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 room = tp->snd_ssthresh > tp->snd_cwnd ? tp->snd_ssthresh - tp->snd_cwnd : 0;
	u32 grown = min(acked, room);

	tp->snd_cwnd = min(tp->snd_cwnd + grown, tp->snd_cwnd_clamp);
	return acked - grown;
}

/* A packet of growth for each `w` that are delivered. Credit from a time with a larger `w` is worth one packet. */
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	u32 each = max(w, 1U);

	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	tp->snd_cwnd += tp->snd_cwnd_cnt / each;
	tp->snd_cwnd_cnt %= each;
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

/* The threshold to return to: three quarters of the window at least, unless a reduction has just set it. */
u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_cwnd_reduction(sk))
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, tp->snd_cwnd / 2 + tp->snd_cwnd / 4);
}

void tcp_enter_cwr(struct sock *sk)
{
	if (haltere_present && inet_csk(sk)->icsk_ca_state < TCP_CA_CWR)
		haltere_present->wants_cwr = true;
}
