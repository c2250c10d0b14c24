/* Round robin once more, to the byte as the built-in one. */
#include "haltere.h"

struct state {
    int64_t last;
};

static void *create(const haltere_scheduler_config *config)
{
    struct state *own = calloc(1, sizeof *own);
    (void)config;
    if (own != NULL)
        own->last = -1;
    return own;
}

static int64_t held(const haltere_path *path)
{
    return path->in_flight + path->queued;
}

static bool fits(const haltere_path *path)
{
    return held(path) + path->overhead + path->mss <= path->capacity;
}

static bool is_live(const haltere_path *path)
{
    return path->usable && path->paced_until != HALTERE_NEVER && (held(path) > 0 || fits(path));
}

static bool is_open(const haltere_path *path)
{
    return fits(path) && (held(path) == 0 || held(path) + path->mss <= path->window);
}

static void choose(void *state, const haltere_path *paths, size_t count, const haltere_demand *demand, int64_t now, haltere_pick *pick)
{
    struct state *own = state;
    const haltere_path *first = NULL, *next = NULL;
    bool standby = true;
    (void)demand;
    for (size_t i = 0; i < count; i++)
        if (is_live(&paths[i]) && !paths[i].standby)
            standby = false;
    for (size_t i = 0; i < count; i++) {
        const haltere_path *path = &paths[i];
        if (!is_live(path) || path->standby != standby || !is_open(path))
            continue;
        if (path->paced_until < pick->until)
            pick->until = path->paced_until;
        if (path->paced_until > now)
            continue;
        if (first == NULL)
            first = path;
        if (next == NULL && own->last >= 0 && path->id > own->last)
            next = path;
    }
    if (next == NULL)
        next = first;
    if (next == NULL)
        return;
    pick->kind = HALTERE_PICK_ON;
    pick->path = next->id;
    own->last = next->id;
}

static const haltere_scheduler scheduler = {
    .size = sizeof scheduler,
    .summary = "the paths take turns, a packet each",
    .flags = HALTERE_IGNORES_DEMAND,
    .create = create,
    .destroy = free,
    .pick = choose,
};

const haltere_scheduler *haltere_scheduler_of(uint32_t abi)
{
    return abi == HALTERE_ABI ? &scheduler : NULL;
}
