/* A drop-tail queue that marks from a threshold on, with a gap between packets. */
#include "haltere.h"

struct state {
    int64_t mark, gap, next;
};

static const haltere_parameter parameters[] = {
    {"mark", "packets that wait from which on others are marked", 100000, 0, 100000},
    {"gap-us", "the least time between two packets, us", 0, 0, 1e6},
};

static void *create(const haltere_queue_config *config)
{
    struct state *own = calloc(1, sizeof *own);
    if (own != NULL) {
        own->mark = config->parameters[0];
        own->gap = config->parameters[1] * 1000;
    }
    return own;
}

static int64_t enqueue(void *state, const haltere_packet *packet, haltere_queue *queue)
{
    const struct state *own = state;
    return queue->packets >= own->mark && packet->ecn != HALTERE_NOT_ECT ? HALTERE_MARK : 0;
}

static int64_t dequeue(void *state, const haltere_packet *packet, haltere_queue *queue)
{
    struct state *own = state;
    (void)packet;
    own->next = queue->now + own->gap;
    return HALTERE_SEND;
}

static int64_t ready_at(void *state, haltere_queue *queue)
{
    (void)queue;
    return ((const struct state *)state)->next;
}

static const haltere_queue_discipline discipline = {
    .size = sizeof discipline,
    .summary = "drop-tail with a threshold for marks, and a gap between packets",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .create = create,
    .destroy = free,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .ready_at = ready_at,
};

const haltere_queue_discipline *haltere_queue_discipline_of(uint32_t abi)
{
    return abi == HALTERE_ABI ? &discipline : NULL;
}
