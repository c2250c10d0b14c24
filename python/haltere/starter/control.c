/* A congestion control. docs/how-to/congestion-controls.md says what its functions are told, haltere.h what there is.
 *
 *     haltere compare tcp/cubic tcp/./NAME.c --rate 40Mbit/s --rtt 50ms --loss 0.1%
 *     haltere compare quic/bbr quic/./NAME.c+backoff=0.7 --queue fq_codel
 *
 * haltere compiles it when it is first named. To do it yourself: cc -shared -fPIC -O2 -I FOLDER-OF-haltere.h -o libNAME.so NAME.c
 * Times are nanoseconds since the start of the run, sizes are bytes and rates are bits a second; -1 stands for what is not known. */

#include "haltere.h"

/* The state of a controller. Several are called at once, by different threads: keep nothing outside of it. */
struct state {
    int64_t mss;
    int64_t before; /* the window before the last reduction */
    double backoff;
};

static const haltere_parameter parameters[] = {
    {"backoff", "share of the window that a loss leaves", 0.5, 0.1, 0.95}, /* name, meaning, default, least, most */
};

static void *create(const haltere_config *config, haltere_control *control)
{
    struct state *own = calloc(1, sizeof *own);
    if (own == NULL)
        return NULL;
    own->mss = config->mss;
    own->backoff = config->parameters[0];
    control->window = config->initial_window; /* bytes that may be in flight; control keeps its values from call to call */
    return own;
}

/* An ACK delivered ack->delivered bytes. */
static void on_ack(void *state, const haltere_ack *ack, const haltere_path *paths, size_t path_count, haltere_control *control)
{
    struct state *own = state;
    (void)paths, (void)path_count;
    if (!ack->window_limited || !ack->may_grow)
        return;
    if (control->window < control->ssthresh)
        control->window += ack->delivered;
    else
        control->window += own->mss * ack->delivered / control->window;
}

/* Losses were found, or marks arrived. The transport does the rest of recovery. */
static void on_congestion(void *state, const haltere_congestion *event, haltere_control *control)
{
    struct state *own = state;
    if (event->new_episode) {
        own->before = control->window;
        control->ssthresh = own->backoff * control->window;
        if (control->ssthresh < 2 * own->mss)
            control->ssthresh = 2 * own->mss;
    }
    if (event->trigger == HALTERE_TRIGGER_TIMEOUT)
        control->window = event->in_flight + own->mss;
    else if (control->window > control->ssthresh)
        control->window = control->ssthresh;
}

/* The last reduction was a mistake: what seemed lost was late. */
static void on_undo(void *state, haltere_control *control)
{
    struct state *own = state;
    if (control->window < own->before)
        control->window = own->before;
}

/* Packets are of another size from now on, for a larger MTU was found. */
static void set_mss(void *state, int64_t mss, int64_t wire, haltere_control *control)
{
    struct state *own = state;
    (void)wire;
    own->mss = mss;
    if (control->window < 2 * mss)
        control->window = 2 * mss;
}

static const haltere_congestion_control control = {
    .size = sizeof control,
    .label = "TITLE",
    .summary = "additive increase, multiplicative decrease (Reno)",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .create = create,
    .destroy = free,
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
