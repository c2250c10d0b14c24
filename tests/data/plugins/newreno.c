/* NewReno once more, to the byte as the built-in one. */

#include "haltere.h"

struct state {
    int64_t mss, grain, initial, credit, before_window, before_ssthresh;
};

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t less(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void *create(const haltere_config *config, haltere_control *control)
{
    struct state *own = calloc(1, sizeof *own);
    if (own == NULL)
        return NULL;
    own->mss = config->mss;
    own->grain = config->grain;
    own->before_window = HALTERE_UNKNOWN;
    own->initial = control->window = greater(config->initial_window / config->grain * config->grain, config->grain);
    return own;
}

static void on_sent(void *state, const haltere_sent *sent, haltere_control *control)
{
    struct state *own = state;
    if (sent->after_idle == HALTERE_UNKNOWN || sent->timeout == 0 || sent->after_idle <= sent->timeout)
        return;
    control->ssthresh = greater(control->ssthresh, control->window - control->window / 4);
    int64_t timeouts = sent->after_idle / sent->timeout, floor = less(own->initial, control->window);
    for (; timeouts > 0 && control->window > floor; timeouts--)
        control->window = control->window / 2 / own->grain * own->grain;
    control->window = greater(control->window, floor);
}

static void on_ack(void *state, const haltere_ack *ack, const haltere_path *paths, size_t count, haltere_control *control)
{
    struct state *own = state;
    (void)paths, (void)count;
    if (!ack->window_limited || !ack->may_grow)
        return;
    int64_t rest = ack->delivered;
    if (control->window < control->ssthresh) {
        int64_t grown = less(control->window + rest, control->ssthresh);
        rest -= grown - control->window;
        control->window = grown;
    }
    if (rest == 0)
        return;
    int64_t per = greater(control->window, 1);
    if (own->credit >= per) {
        own->credit = 0;
        control->window += own->mss;
    }
    own->credit += rest;
    control->window += own->credit / per * own->mss;
    own->credit %= per;
}

static void on_congestion(void *state, const haltere_congestion *event, haltere_control *control)
{
    struct state *own = state;
    if (event->new_episode) {
        own->before_window = control->window;
        own->before_ssthresh = greater(control->ssthresh, control->window - control->window / 4);
        control->ssthresh = greater(control->window / 2 / own->grain * own->grain, 2 * own->mss);
        own->credit = 0;
    }
    if (event->trigger == HALTERE_TRIGGER_TIMEOUT)
        control->window = event->in_flight / own->grain * own->grain + own->mss;
    else if (event->trigger == HALTERE_TRIGGER_PERSISTENT)
        control->window = 2 * own->mss;
    else
        control->window = less(control->window, control->ssthresh);
}

static void on_undo(void *state, haltere_control *control)
{
    struct state *own = state;
    if (own->before_window == HALTERE_UNKNOWN)
        return;
    control->window = greater(control->window, own->before_window);
    control->ssthresh = greater(control->ssthresh, own->before_ssthresh);
    own->before_window = HALTERE_UNKNOWN;
}

static void set_mss(void *state, int64_t mss, int64_t wire, haltere_control *control)
{
    struct state *own = state;
    (void)wire;
    if (own->grain == own->mss)
        own->grain = mss;
    own->mss = mss;
    control->window = greater(control->window, 2 * mss);
}

static const haltere_congestion_control control = {
    .size = sizeof control,
    .label = "NewReno in C",
    .summary = "a segment more each round trip, half of the window at a loss",
    .create = create,
    .destroy = free,
    .on_sent = on_sent,
    .on_ack = on_ack,
    .on_congestion = on_congestion,
    .on_undo = on_undo,
    .set_mss = set_mss,
};

static const haltere_plugin plugin = {.abi = HALTERE_ABI, .size = sizeof plugin, .congestion_control = &control};

const haltere_plugin *haltere_plugin_of(uint32_t abi)
{
    return abi == HALTERE_ABI ? &plugin : NULL;
}
