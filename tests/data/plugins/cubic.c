/* CUBIC once more, to the byte as the built-in one without HyStart. */

#include <math.h>
#include <stdbool.h>

#include "haltere.h"

enum { BETA_NUM = 717, BETA_DEN = 1024 };
static const int64_t SECOND = 1000000000;

struct state {
    int64_t mss, grain, initial, credit, before_window, before_ssthresh, tick, phase, last_max, delay_min;
    int64_t start, origin, reno, reno_credit, segments, per_segment, last_window, last_update;
    double k;
    bool in_epoch;
};

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t less(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t whole(int64_t n, int64_t unit)
{
    return n / unit * unit;
}

static int64_t clock_at(const struct state *own, int64_t now)
{
    return whole(now + own->phase, own->tick);
}

static void *create(const haltere_config *config, haltere_control *control)
{
    struct state *own = calloc(1, sizeof *own);
    if (own == NULL)
        return NULL;
    own->mss = config->mss;
    own->grain = config->grain;
    own->before_window = own->delay_min = HALTERE_UNKNOWN;
    own->initial = control->window = greater(whole(config->initial_window, config->grain), config->grain);
    own->tick = greater(config->tick, 1);
    own->phase = config->phase % own->tick;
    return own;
}

static void on_sent(void *state, const haltere_sent *sent, haltere_control *control)
{
    struct state *own = state;
    if (sent->after_idle == HALTERE_UNKNOWN)
        return;
    if (sent->timeout > 0 && sent->after_idle > sent->timeout) {
        control->ssthresh = greater(control->ssthresh, control->window - control->window / 4);
        int64_t timeouts = sent->after_idle / sent->timeout, floor = less(own->initial, control->window);
        for (; timeouts > 0 && control->window > floor; timeouts--)
            control->window = whole(control->window / 2, own->grain);
        control->window = greater(control->window, floor);
    }
    if (own->in_epoch)
        own->start = less(own->start + sent->after_idle, clock_at(own, sent->now));
}

static void begin_epoch(struct state *own, int64_t now, int64_t delivered, int64_t window)
{
    double below = (double)greater(own->last_max - window, 0) / (double)own->mss;
    *own = (struct state){
        .mss = own->mss,
        .grain = own->grain,
        .initial = own->initial,
        .credit = own->credit,
        .before_window = own->before_window,
        .before_ssthresh = own->before_ssthresh,
        .tick = own->tick,
        .phase = own->phase,
        .last_max = own->last_max,
        .delay_min = own->delay_min,
        .start = now,
        .origin = greater(own->last_max, window),
        .reno = window,
        .reno_credit = delivered,
        .last_window = window,
        .last_update = now,
        .k = cbrt(below / 0.4),
        .in_epoch = true,
    };
}

static int64_t target(const struct state *own, int64_t now)
{
    int64_t ahead = own->delay_min == HALTERE_UNKNOWN ? 0 : whole(own->delay_min + own->tick - 1, own->tick);
    double t = (double)(greater(now - own->start, 0) + ahead) / 1e9 - own->k;
    int64_t offset = whole((int64_t)(0.4 * fabs(t * t * t) * (double)own->mss), own->grain);
    return t < 0.0 ? greater(own->origin - offset, 0) : own->origin + offset;
}

static int64_t bytes_per_segment(struct state *own, int64_t time, int64_t delivered, int64_t window)
{
    int64_t now = clock_at(own, time);
    bool fresh = !own->in_epoch;
    if (fresh) {
        begin_epoch(own, now, delivered, window);
    } else {
        own->reno_credit += delivered;
        if (own->last_window == window && now - own->last_update <= whole(SECOND / 32, own->tick))
            return own->per_segment;
    }
    if (fresh || own->tick == 1 || now != own->last_update) {
        own->last_window = window;
        own->last_update = now;
        int64_t rise = target(own, now) - window;
        own->segments = rise > 0 ? window / rise : 100 * window / own->mss;
        if (own->last_max == 0)
            own->segments = less(own->segments, 20);
    }
    int64_t step = greater(window / own->mss * 15 / 8, 1) * own->mss;
    for (; own->reno_credit > step; own->reno_credit -= step)
        own->reno += own->mss;
    if (own->reno > window)
        own->segments = less(own->segments, window / (own->reno - window));
    own->segments = greater(own->segments, 2);
    own->per_segment = own->segments * own->mss;
    return own->per_segment;
}

static void on_ack(void *state, const haltere_ack *ack, const haltere_path *paths, size_t count, haltere_control *control)
{
    struct state *own = state;
    (void)paths, (void)count;
    bool settled = !own->in_epoch || clock_at(own, ack->now) - own->start >= SECOND;
    if (ack->rtt != HALTERE_UNKNOWN && settled)
        own->delay_min = own->delay_min == HALTERE_UNKNOWN ? ack->rtt : less(own->delay_min, ack->rtt);
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
    int64_t per = greater(bytes_per_segment(own, ack->now, rest, control->window), 1);
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
    int64_t window = control->window;
    if (event->new_episode) {
        own->in_epoch = false;
        own->last_max =
            window < own->last_max ? whole(window * (BETA_DEN + BETA_NUM) / (2 * BETA_DEN), own->grain) : window;
        own->before_window = window;
        own->before_ssthresh = greater(control->ssthresh, window - window / 4);
        control->ssthresh = greater(whole(window * BETA_NUM / BETA_DEN, own->grain), 2 * own->mss);
        own->credit = 0;
    }
    if (event->trigger == HALTERE_TRIGGER_TIMEOUT) {
        control->window = whole(event->in_flight, own->grain) + own->mss;
        own->last_max = 0;
        own->delay_min = HALTERE_UNKNOWN;
        own->in_epoch = false;
    } else if (event->trigger == HALTERE_TRIGGER_PERSISTENT) {
        control->window = 2 * own->mss;
    } else {
        control->window = less(window, control->ssthresh);
    }
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
    .label = "CUBIC in C",
    .summary = "a cubic function of the time since the last loss",
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
