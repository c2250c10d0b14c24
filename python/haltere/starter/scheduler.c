/* A path scheduler. docs/how-to/schedulers-and-queues.md says what its functions are told, haltere.h what there is.
 *
 *     haltere compare mptcp/cubic+scheduler=./NAME.c --path rate=20Mbit/s,rtt=20ms --path rate=10Mbit/s,rtt=60ms
 *     haltere compare mpquic/cubic mpquic/cubic+scheduler=./NAME.c+spread=2 --path rate=20Mbit/s --path rtt=200ms
 *
 * haltere compiles it when it is first named. To do it yourself: cc -shared -fPIC -O2 -I FOLDER-OF-haltere.h -o libNAME.so NAME.c
 * Times are nanoseconds since the start of the run, sizes are bytes and rates are bits a second; -1 stands for what is not known. */

#include "haltere.h"

/* The state of a scheduler. Several are called at once, by different threads: keep nothing outside of it. */
struct state {
    double spread;
};

static const haltere_parameter parameters[] = {
    {"spread", "paths of more than so many times the lowest RTT carry nothing", 50, 1, 1000}, /* name, meaning, default, least, most */
};

static void *create(const haltere_scheduler_config *config)
{
    struct state *own = calloc(1, sizeof *own);
    if (own != NULL)
        own->spread = config->parameters[0];
    return own;
}

static int64_t held(const haltere_path *path)
{
    return path->in_flight + path->queued;
}

/* Whether the send buffer has room for a full packet. */
static bool fits(const haltere_path *path)
{
    return held(path) + path->overhead + path->mss <= path->capacity;
}

/* Whether window and send buffer have room. A path that holds nothing has room: no acknowledgement would come to open it. */
static bool is_open(const haltere_path *path)
{
    return fits(path) && (held(path) == 0 || held(path) + path->mss <= path->window);
}

/* Whether the path can take data at some time. */
static bool is_live(const haltere_path *path)
{
    return path->usable && path->paced_until != HALTERE_NEVER && (held(path) > 0 || fits(path));
}

/* Chooses the path of the next data. Before the call, `pick` is a wait for an acknowledgement. */
static void choose(void *state, const haltere_path *paths, size_t count, const haltere_demand *demand, int64_t now, haltere_pick *pick)
{
    const struct state *own = state;
    const haltere_path *best = NULL;
    bool standby = true; /* paths on standby are used if no active one is left */
    int64_t lowest = HALTERE_NEVER;
    (void)demand; /* demand->waiting bytes wait to be sent */
    for (size_t i = 0; i < count; i++)
        if (is_live(&paths[i]) && !paths[i].standby)
            standby = false;
    for (size_t i = 0; i < count; i++)
        if (is_live(&paths[i]) && paths[i].standby == standby && paths[i].srtt != HALTERE_UNKNOWN && paths[i].srtt < lowest)
            lowest = paths[i].srtt;
    for (size_t i = 0; i < count; i++) {
        const haltere_path *path = &paths[i];
        if (!is_live(path) || path->standby != standby || !is_open(path))
            continue;
        if (path->paced_until < pick->until)
            pick->until = path->paced_until;
        if (path->paced_until > now || (path->srtt != HALTERE_UNKNOWN && path->srtt > own->spread * lowest))
            continue;
        /* Paths whose RTT is not known come last. */
        if (best == NULL || (path->srtt != HALTERE_UNKNOWN && (best->srtt == HALTERE_UNKNOWN || path->srtt < best->srtt)))
            best = path;
    }
    if (best != NULL) {
        pick->kind = HALTERE_PICK_ON;
        pick->path = best->id;
    }
}

static const haltere_scheduler scheduler = {
    .size = sizeof scheduler,
    .summary = "the path with the lowest RTT that has room",
    .flags = HALTERE_IGNORES_DEMAND, /* `choose` does not look at `demand`, so that nobody counts it */
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .create = create,
    .destroy = free,
    .pick = choose,
};

const haltere_scheduler *haltere_scheduler_of(uint32_t abi)
{
    return abi == HALTERE_ABI ? &scheduler : NULL;
}
