/* What the library exports. A controller is of the copy of the library that has its tuning, and is called there. */

#include "glue.h"

#include <pthread.h>

static const haltere_congestion_control *calls_of(void *controller)
{
	return *(const haltere_congestion_control **)controller;
}

static void *create(const haltere_config *config, haltere_control *control)
{
	const haltere_congestion_control *calls = haltere_tuned(config->parameters, config->parameter_count, &control->failure);

	return calls ? calls->create(config, control) : NULL;
}

static void destroy(void *controller)
{
	calls_of(controller)->destroy(controller);
}

static void on_ack(void *controller, const haltere_ack *ack, const haltere_path *paths, uintptr_t path_count,
		   haltere_control *control)
{
	calls_of(controller)->on_ack(controller, ack, paths, path_count, control);
}

static void on_undo(void *controller, haltere_control *control)
{
	calls_of(controller)->on_undo(controller, control);
}

static void on_recovered(void *controller, int64_t now, haltere_control *control)
{
	calls_of(controller)->on_recovered(controller, now, control);
}

static void set_mss(void *controller, int64_t mss, int64_t wire, haltere_control *control)
{
	calls_of(controller)->set_mss(controller, mss, wire, control);
}

#define PASS(name, event)                                                                        \
	static void name(void *controller, const event *told, haltere_control *control)          \
	{                                                                                        \
		calls_of(controller)->name(controller, told, control);                           \
	}
PASS(on_congestion, haltere_congestion)
PASS(on_established, haltere_established)
PASS(on_sent, haltere_sent)
PASS(on_echo, haltere_echo)
PASS(on_arrival, haltere_arrival)
PASS(on_lost, haltere_lost)

static haltere_congestion_control table = {
	.size = sizeof(table),
	.reference = "a file of Linux's interface tcp_congestion_ops",
	.create = create,
	.destroy = destroy,
	.on_ack = on_ack,
	.on_congestion = on_congestion,
	.on_established = on_established,
	.on_sent = on_sent,
	.on_echo = on_echo,
	.on_arrival = on_arrival,
	.on_lost = on_lost,
	.on_undo = on_undo,
	.on_recovered = on_recovered,
	.set_mss = set_mss,
};
static haltere_plugin plugin = { .abi = HALTERE_ABI, .size = sizeof(plugin) };
static const char *refusal;

static void prepare(void)
{
	const char *described;

	refusal = haltere_initialise(NULL, 0);
	if (refusal)
		return;
	described = haltere_described();
	table.label = haltere_registered->name;
	table.summary = described ? described : "a congestion control of Linux, from its file";
	table.flags = haltere_registered->flags & TCP_CONG_NEEDS_ECN ? HALTERE_NEEDS_ECN : 0;
	table.parameter_count = haltere_declared(&table.parameters);
	plugin.congestion_control = &table;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

const haltere_plugin *haltere_plugin_of(uint32_t abi)
{
	pthread_once(&once, prepare);
	return abi == HALTERE_ABI ? &plugin : NULL;
}

/* Why the library holds no congestion control, or NULL: what builds it asks. */
__attribute__((visibility("default"))) const char *haltere_refusal(void)
{
	pthread_once(&once, prepare);
	return refusal;
}
