/* What the files of the glue share: glue.c (events), tuning.c (parameters and copies), services.c (functions of the kernel). */

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
	/* Bytes delivered and marked so far, and those that make no whole packet. */
	int64_t bytes_delivered, part_delivered, bytes_marked;
	/* The position that the last ACK told, and the packets delivered then. */
	int64_t told_acked;
	u32 told_delivered;
	/* The present time by the clock of timestamps, if there is one. */
	int64_t stamp;
	/* Whether the file asked for a reduction, and whether in_ack_event was called for the ACK that comes next. */
	bool wants_cwr, told_ack_event;
	/* QUIC: a reduction that the file asked for lasts until this position is acknowledged. */
	int64_t reducing_to;
	int64_t now_position;
	/* The state of loss recovery before it changed, at this time; -1 if it has not since the last ACK. */
	int64_t changed_at;
	u8 state_before;
	/* Recovery has ended, and the file has not heard of it. */
	bool recovered;
	/* The run's dice, and the first bits that they gave. The lower half is where the peer's clock of timestamps begins, which is a
	 * random number at real hosts; the file draws the upper half. */
	uint64_t (*random)(void *dice);
	void *dice;
	uint64_t first_bits;
	bool has_first;
};

/* The controller that is called by this thread, or NULL. */
extern __thread struct controller *haltere_present;

/* The congestion control that the module registered, or NULL. */
extern struct tcp_congestion_ops *haltere_registered;

/* The functions of controllers of this copy of the library. */
extern const haltere_congestion_control haltere_calls;

/* The parameters of the module, and the text that describes it or NULL. */
uint32_t haltere_declared(const haltere_parameter **parameters);
const char *haltere_described(void);

/* Sets the parameters to these values (NULL: leaves them), and initialises the module. Returns NULL, or why that fails. */
const char *haltere_initialise(const double *values, size_t count);

/* The functions of a copy of the library with these values of parameters; NULL if there can be none, for this reason. */
const haltere_congestion_control *haltere_tuned(const double *values, size_t count, const char **reason);

#endif
