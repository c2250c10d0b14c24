/* What the events of an ACK tell of delivery, as the members of a socket. */

#include "glue.h"

/* The packets that are new in a total of bytes, which may fall. */
static u32 take(int64_t *known, int64_t *part, int64_t total, int64_t mss)
{
	int64_t bytes = *part + (total > *known ? total - *known : 0);

	*known = total;
	*part = bytes % mss;
	return (u32)(bytes / mss);
}

/* What was delivered, as the events of an ACK tell it. */
void haltere_take_delivery(struct controller *c, int64_t acked_to, int64_t sent_to, int64_t total)
{
	struct tcp_sock *tp = &c->tp;
	u32 delivered = 1 + packets_at(c, total);

	tp->snd_una = sequence(c, acked_to);
	tp->snd_nxt = tp->write_seq = sequence(c, sent_to);
	tp->bytes_acked = (u64)(acked_to * c->per_position);
	if (delivered != tp->delivered)
		tp->delivered_mstamp = tp->tcp_mstamp;
	tp->delivered = delivered;
	c->bytes_delivered = total;
}

void haltere_take_marked(struct controller *c, int64_t total)
{
	c->echoed = total > c->bytes_marked;
	c->tp.delivered_ce += take(&c->bytes_marked, &c->part_marked, total, c->mss);
}

void haltere_take_lost(struct controller *c, int64_t total)
{
	c->tp.lost += take(&c->bytes_lost, &c->part_lost, total, c->mss);
}

static void take_stamps(struct controller *c, int64_t now, int64_t value, int64_t echo)
{
	struct tcp_options_received *options = &c->tp.rx_opt;

	c->stamp = now;
	options->saw_tstamp = value >= 0;
	if (value < 0)
		return;
	options->rcv_tsval = (u32)value + (u32)c->first_bits;
	options->rcv_tsecr = (u32)echo;
}

static void take_rtts(struct controller *c, int64_t srtt, int64_t least)
{
	if (srtt > 0)
		c->tp.srtt_us = max((u32)(srtt * 8 / NSEC_PER_USEC), 1U);
	if (least > 0)
		minmax_reset(&c->tp.rtt_min, tcp_jiffies32, max(micros(least), 1U));
}

/* How the data that is outstanding is counted. All of it is in whole segments with TCP, but for the last one. */
static void count_outstanding(struct controller *c, int64_t acked_to, int64_t sent_to, int64_t bytes_in_flight)
{
	struct tcp_sock *tp = &c->tp;
	u32 in_flight = packets(c, bytes_in_flight);
	u32 passed, rest;

	tp->sacked_out = tp->lost_out = tp->retrans_out = 0;
	tp->packets_out = in_flight;
	if (!c->segments)
		return;
	passed = packets_at(c, acked_to + c->mss - 1);
	tp->packets_out = max(packets(c, sent_to - acked_to), in_flight);
	tp->sacked_out = tp->delivered - 1 > passed ? min(tp->delivered - 1 - passed, tp->packets_out) : 0;
	rest = tp->packets_out - tp->sacked_out;
	if (rest > in_flight)
		tp->lost_out = rest - in_flight;
	else
		tp->retrans_out = in_flight - rest;
}

void haltere_take_arrival(struct controller *c, const haltere_arrival *told)
{
	haltere_take_delivery(c, told->acked_to, told->sent_to, told->total_delivered);
	take_rtts(c, told->srtt, told->min_rtt);
	take_stamps(c, told->stamp_now, told->stamp_value, told->stamp_echo);
	count_outstanding(c, told->acked_to, told->sent_to, told->in_flight);
}

void haltere_take_ack(struct controller *c, const haltere_ack *ack)
{
	struct tcp_sock *tp = &c->tp;

	haltere_take_delivery(c, ack->acked_to, ack->sent_to, ack->total_delivered);
	take_rtts(c, ack->srtt, ack->min_rtt);
	take_stamps(c, ack->stamp_now, ack->stamp_value, ack->stamp_echo);
	count_outstanding(c, ack->acked_to, ack->sent_to, ack->in_flight);
	tp->max_packets_out = max(tp->packets_out, packets(c, ack->prior_in_flight));
	tp->tcp_wstamp_ns = tp->tcp_clock_cache + (u64)(max(ack->next_departure, ack->now) - ack->now);
	haltere_take_lost(c, ack->total_lost);
	tp->is_cwnd_limited = ack->window_limited;
}

struct rate_sample haltere_rate_of(const struct controller *c, const haltere_ack *ack, u32 acked)
{
	const haltere_rate_sample *rate = &ack->rate;
	bool valid = rate->interval > 0 && rate->delivered > 0;
	struct rate_sample rs = {
		/* Without a packet that was delivered there is nothing before it. */
		.prior_delivered = rate->in_flight > 0 ? 1 + packets_at(c, rate->prior_delivered) : 0,
		.delivered = valid ? (s32)(rate->delivered / c->mss) : -1,
		.interval_us = valid ? (long)(rate->interval / NSEC_PER_USEC) : -1,
		.rtt_us = ack->rtt < 0 ? -1 : (long)micros(ack->rtt),
		.losses = (int)packets(c, ack->lost),
		.acked_sacked = acked,
		.prior_in_flight = packets(c, ack->prior_in_flight),
		.last_end_seq = c->tp.snd_una,
		.is_app_limited = rate->app_limited,
		.is_ack_delayed = ack->delayed,
	};

	rs.snd_interval_us = rs.rcv_interval_us = rs.interval_us > 0 ? (u32)rs.interval_us : 0;
	rs.prior_mstamp = c->tp.tcp_mstamp - rs.snd_interval_us;
	return rs;
}
