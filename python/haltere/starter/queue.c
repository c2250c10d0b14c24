/* A queue discipline. docs/how-to/schedulers-and-queues.md says what its functions are told, haltere.h what there is.
 *
 *     haltere compare tcp/cubic tcp/bbr --share --queue 1000p --queue ./NAME.c
 *     haltere compare tcp/cubic tcp/cubic+ecn --rate 20Mbit/s --queue ./NAME.c:limit=500p,target-ms=10
 *
 * haltere compiles it when it is first named. To do it yourself: cc -shared -fPIC -O2 -I FOLDER-OF-haltere.h -o libNAME.so NAME.c
 * Times are nanoseconds since the start of the run, sizes are bytes and rates are bits a second; -1 stands for what is not known.
 * haltere keeps the packets; these functions decide. */

#include "haltere.h"

/* The state of a discipline. Several are called at once, by different threads: keep nothing outside of it. */
struct state {
    double target; /* ns */
    int64_t every;
    int64_t late; /* packets that waited too long */
};

static const haltere_parameter parameters[] = {
    /* name, meaning, default, least, most */
    {"target-ms", "the wait above which packets are dropped or marked, ms", 20, 0, 10000},
    {"every", "one packet in so many", 20, 1, 10000},
};

static void *create(const haltere_queue_config *config)
{
    struct state *own = calloc(1, sizeof *own);
    if (own != NULL) {
        own->target = config->parameters[0] * 1000000;
        own->every = config->parameters[1];
    }
    return own;
}

/* A packet arrives. Returns its band, HALTERE_DROP to signal congestion, or HALTERE_FULL if there is no room. */
static int64_t join(void *state, const haltere_packet *packet, haltere_queue *queue)
{
    (void)state, (void)packet, (void)queue; /* packet->flow, packet->ecn …, queue->bands[0].bytes … */
    return 0;
}

/* A packet may leave. Returns the band whose first packet it is to be; one of them waits in some band. */
static int64_t next_band(void *state, haltere_queue *queue)
{
    (void)state, (void)queue;
    return 0;
}

/* That packet is about to leave. After HALTERE_DROP, next_band is asked again. */
static int64_t leave(void *state, const haltere_packet *packet, haltere_queue *queue)
{
    struct state *own = state;
    if (queue->now - packet->arrived <= own->target)
        return HALTERE_SEND;
    own->late++;
    return own->late % own->every ? HALTERE_SEND : HALTERE_MARK; /* HALTERE_MARK drops what is not ECN-capable */
}

static const haltere_queue_discipline discipline = {
    .size = sizeof discipline,
    .summary = "one packet in so many is dropped, or marked, while packets wait too long",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .create = create,
    .destroy = free,
    .enqueue = join,
    .next_band = next_band,
    .dequeue = leave,
};

const haltere_queue_discipline *haltere_queue_discipline_of(uint32_t abi)
{
    return abi == HALTERE_ABI ? &discipline : NULL;
}
