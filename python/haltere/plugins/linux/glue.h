/* Declarations for the files of the glue: glue.c events, delivery.c what ACKs deliver, tuning.c parameters and copies, services.c functions
 * of the kernel, plugin.c what the library exports. */

#ifndef HALTERE_GLUE_H
#define HALTERE_GLUE_H

#include "haltere.h"

#include "haltere/tcp.h"

/* A controller: a socket, and what the glue keeps of it. */
struct controller {
	/* The functions of the copy of the library that made it. */
	const haltere_congestion_control *calls;
	struct tcp_sock tp;
	/* The time of the present call, ns since the start of the run, and from the last tick to that start. */
	int64_t now, phase;
	int64_t mss, initial_window;
	/* Positions are bytes with TCP; with QUIC they are packet numbers, and count as this many bytes each. */
	int64_t per_position;
	/* Whether the sender counts whole segments (TCP), and whether the transport paces by itself. */
	bool segments, paced;
	bool begun;
	/* Bytes delivered, and the packets that they were counted as, when the size of packets last changed. */
	int64_t base_bytes, base_packets;
	/* Bytes delivered so far; bytes marked and lost, and those of them that make no whole packet. */
	int64_t bytes_delivered, bytes_marked, part_marked, bytes_lost, part_lost;
	/* The position that the last ACK told, and the packets delivered before it. */
	int64_t told_acked;
	u32 told_delivered;
	/* The present time by the clock of timestamps, if there is one. */
	int64_t stamp;
	/* Whether the file asked for a reduction, the ACK that comes echoes marks, and the file was told what it delivered. */
	bool wants_cwr, echoed, sampled;
	/* QUIC: a reduction that the file asked for lasts until this position is acknowledged. */
	int64_t reducing_to;
	/* The run's dice, and the first bits that they gave. The lower half is where the peer's clock of timestamps begins, which is a
	 * random number at real hosts; the file draws the upper half. */
	uint64_t (*random)(void *dice);
	void *dice;
	uint64_t first_bits;
	bool has_first;
};

/* The controller that is called by this thread, or NULL. */
extern __thread struct controller *haltere_present;

/* A socket is the beginning of a controller's TCP. */
static inline struct sock *sock_of(struct controller *c)
{
	return (struct sock *)&c->tp;
}

static inline const struct tcp_congestion_ops *ops_of(struct controller *c)
{
	return c->tp.inet_conn.icsk_ca_ops;
}

static inline u32 micros(int64_t ns)
{
	return ns < 0 ? 0 : (u32)(ns / NSEC_PER_USEC);
}

/* A position as TCP numbers it; the first byte of data has the number 1. */
static inline u32 sequence(const struct controller *c, int64_t position)
{
	return (u32)(position * c->per_position + 1);
}

static inline u32 packets(const struct controller *c, int64_t bytes)
{
	return bytes <= 0 ? 0 : (u32)((bytes + c->mss - 1) / c->mss);
}

/* The packets that this many bytes since the start are. */
static inline u32 packets_at(const struct controller *c, int64_t total)
{
	int64_t beyond = total - c->base_bytes;
	int64_t more = beyond >= 0 ? beyond / c->mss : -((c->mss - 1 - beyond) / c->mss);

	return (u32)(c->base_packets + more);
}

static inline void set_clock(struct controller *c, int64_t now)
{
	haltere_present = c;
	c->now = now;
	c->tp.tcp_clock_cache = haltere_clock_ns();
	c->tp.tcp_mstamp = c->tp.tcp_clock_cache / NSEC_PER_USEC;
}

/* The congestion control that the module registered, or NULL. */
extern struct tcp_congestion_ops *haltere_registered;

/* The functions of controllers of this copy of the library. */
extern const haltere_congestion_control haltere_calls;

/* What the events of an ACK tell of delivery: positions, bytes delivered, RTTs, timestamps, and how outstanding data is counted. */
void haltere_take_delivery(struct controller *c, int64_t acked_to, int64_t sent_to, int64_t total);
void haltere_take_marked(struct controller *c, int64_t total);
void haltere_take_lost(struct controller *c, int64_t total);
void haltere_take_arrival(struct controller *c, const haltere_arrival *told);
void haltere_take_ack(struct controller *c, const haltere_ack *ack);
struct rate_sample haltere_rate_of(const struct controller *c, const haltere_ack *ack, u32 acked);

/* The parameters of the module, and the text that describes it or NULL. */
uint32_t haltere_declared(const haltere_parameter **parameters);
const char *haltere_described(void);

/* Sets the parameters to these values (NULL: leaves them), and initialises the module. Returns NULL, or why that fails. */
const char *haltere_initialise(const double *values, size_t count);

/* The functions of a copy of the library with these values of parameters; NULL if there can be none, for this reason. */
const haltere_congestion_control *haltere_tuned(const double *values, size_t count, const char **reason);

#endif
