/* Parameters of the module, and copies of the library.
 *
 * A module's parameters are variables of the library, from which its initialisation may compute others, and all its controllers share
 * them. A library has therefore one tuning. The library that haltere loads has the default values. Its `create`, when it is given
 * others, loads a copy of the library, sets the variables there, initialises the module, and lets the copy make the controller. The copy
 * is a file of another name, since a file is loaded once. There is one copy for each tuning, kept until the process ends. Neither the
 * host nor Python take part. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "glue.h"

/* The entries of the sections that module.h fills, from the linker. A module without parameters has none. */
extern const struct kernel_param *const __start_haltere_params[] __attribute__((weak, visibility("hidden")));
extern const struct kernel_param *const __stop_haltere_params[] __attribute__((weak, visibility("hidden")));
extern const struct haltere_described *const __start_haltere_texts[] __attribute__((weak, visibility("hidden")));
extern const struct haltere_described *const __stop_haltere_texts[] __attribute__((weak, visibility("hidden")));

#define MOST_PARAMETERS 64
/* Numbers beyond this are not exact in a double. */
#define EXACT 9007199254740992.0

/* Kinds of parameters: how they are read from text and written as text. */
#define KIND(name, type, read, form)                                                         \
	int param_set_##name(const char *val, const struct kernel_param *kp)                 \
	{                                                                                    \
		*(type *)kp->arg = (type)read(val, NULL, 0);                                 \
		return 0;                                                                    \
	}                                                                                    \
	int param_get_##name(char *buffer, const struct kernel_param *kp)                    \
	{                                                                                    \
		return sprintf(buffer, form, *(type *)kp->arg);                              \
	}                                                                                    \
	const struct kernel_param_ops param_ops_##name = {                                   \
		.set = param_set_##name,                                                     \
		.get = param_get_##name,                                                     \
	};
KIND(byte, unsigned char, strtoul, "%hhu")
KIND(short, short, strtol, "%hd")
KIND(ushort, unsigned short, strtoul, "%hu")
KIND(int, int, strtol, "%d")
KIND(uint, unsigned int, strtoul, "%u")
KIND(long, long, strtol, "%ld")
KIND(ulong, unsigned long, strtoul, "%lu")
KIND(ullong, unsigned long long, strtoull, "%llu")
KIND(bool, bool, strtol, "%d")

static const struct {
	int (*get)(char *buffer, const struct kernel_param *kp);
	double least, most;
} ranges[] = {
	{ param_get_byte, 0, UCHAR_MAX },
	{ param_get_short, SHRT_MIN, SHRT_MAX },
	{ param_get_ushort, 0, USHRT_MAX },
	{ param_get_int, INT_MIN, INT_MAX },
	{ param_get_uint, 0, UINT_MAX },
	{ param_get_long, -EXACT, EXACT },
	{ param_get_ulong, 0, EXACT },
	{ param_get_ullong, 0, EXACT },
	{ param_get_bool, 0, 1 },
};

int param_set_uint_minmax(const char *val, const struct kernel_param *kp, unsigned int least, unsigned int most)
{
	unsigned long number = strtoul(val, NULL, 0);

	if (number < least || number > most)
		return -EINVAL;
	return param_set_uint(val, kp);
}

/* The parameters, in the order of their entries; those of other kinds than numbers are left out. */
static const struct kernel_param *known[MOST_PARAMETERS];
static haltere_parameter declared[MOST_PARAMETERS];
static char names[MOST_PARAMETERS][64];
static uint32_t declared_count;

/* Text for a parameter's name, or (with "") for the module. */
static const char *text_of(const char *name)
{
	size_t count = (size_t)(__stop_haltere_texts - __start_haltere_texts);

	for (size_t n = 0; __start_haltere_texts && n < count; n++)
		if (strcmp(__start_haltere_texts[n]->name, name) == 0)
			return __start_haltere_texts[n]->text;
	return NULL;
}

const char *haltere_described(void)
{
	return text_of("");
}

/* A name as contenders write it: small letters, and no underscore or hyphen at an end. */
static void rename_into(char *into, size_t room, const char *name)
{
	size_t length = 0;

	while (*name == '_')
		name++;
	for (; *name && length + 1 < room; name++)
		into[length++] = (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name);
	while (length > 0 && into[length - 1] == '_')
		length--;
	into[length] = 0;
}

uint32_t haltere_declared(const haltere_parameter **parameters)
{
	size_t count = __start_haltere_params ? (size_t)(__stop_haltere_params - __start_haltere_params) : 0;
	char buffer[64];

	*parameters = declared;
	if (declared_count)
		return declared_count;
	for (size_t n = 0; n < count && declared_count < MOST_PARAMETERS; n++) {
		const struct kernel_param *entry = __start_haltere_params[n];
		haltere_parameter *to = &declared[declared_count];
		const char *text = text_of(entry->name);

		for (size_t kind = 0; kind < sizeof(ranges) / sizeof(*ranges); kind++) {
			if (!entry->ops->get || ranges[kind].get != entry->ops->get)
				continue;
			entry->ops->get(buffer, entry);
			rename_into(names[declared_count], sizeof(names[0]), entry->name);
			*to = (haltere_parameter){ names[declared_count], text ? text : "a parameter of the module",
						   strtod(buffer, NULL), ranges[kind].least, ranges[kind].most };
			known[declared_count++] = entry;
		}
	}
	return declared_count;
}

static __thread char said[PATH_MAX + 256];

static const char *set(const double *values, size_t count)
{
	char text[64];

	for (size_t n = 0; n < count && n < declared_count; n++) {
		if (values[n] == declared[n].default_value)
			continue;
		snprintf(text, sizeof(text), "%.0f", values[n]);
		if (strtod(text, NULL) != values[n]) {
			snprintf(said, sizeof(said), "%s is %g: it is a parameter of a module of Linux, give a whole number", names[n],
				 values[n]);
			return said;
		}
		if (known[n]->ops->set(text, known[n]) != 0) {
			snprintf(said, sizeof(said), "%s is %s, which the module refuses: give another value", names[n], text);
			return said;
		}
	}
	return NULL;
}

const char *haltere_initialise(const double *values, size_t count)
{
	const haltere_parameter *unused;
	const char *wrong;
	int answer;

	haltere_declared(&unused);
	wrong = values ? set(values, count) : NULL;
	if (wrong)
		return wrong;
	answer = haltere_module_init();
	if (answer != 0) {
		snprintf(said, sizeof(said),
			 "its module_init answers %d: does its tcp_congestion_ops have ssthresh, undo_cwnd, and cong_avoid or "
			 "cong_control, and are the values of its parameters valid?", answer);
		return said;
	}
	if (!haltere_registered)
		return "its module_init registers no tcp_congestion_ops: call tcp_register_congestion_control there";
	return NULL;
}

/* What a copy exports: its functions once it is tuned, or NULL and the reason. */
__attribute__((visibility("default"))) const haltere_congestion_control *haltere_tuned_copy(const double *values, size_t count,
											   const char **reason)
{
	*reason = haltere_initialise(values, count);
	return *reason ? NULL : &haltere_calls;
}

struct copy {
	struct copy *next;
	const haltere_congestion_control *calls;
	double values[MOST_PARAMETERS];
};
static struct copy *copies;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *failed(const char *what, const char *why)
{
	snprintf(said, sizeof(said), "the library cannot be copied for other values of its parameters: %s: %s", what, why);
	return said;
}

/* Copies what is left of a file; returns whether that worked. */
static bool copy_file(int from, int to)
{
	struct stat about;

	if (fstat(from, &about) != 0)
		return false;
	for (off_t left = about.st_size; left > 0;) {
		ssize_t moved = sendfile(to, from, NULL, (size_t)left);

		if (moved <= 0)
			return false;
		left -= moved;
	}
	return true;
}

/* Copies the file of this library to one beside it, whose name is new, and loads the copy. The name is not needed afterwards. */
static void *load_copy(const char **reason)
{
	char path[PATH_MAX];
	Dl_info own;
	void *loaded = NULL;
	int from, to;

	if (!dladdr((const void *)haltere_tuned_copy, &own)) {
		*reason = failed("dladdr", "it does not know this library");
		return NULL;
	}
	from = open(own.dli_fname, O_RDONLY | O_CLOEXEC);
	if (from < 0) {
		*reason = failed(own.dli_fname, strerror(errno));
		return NULL;
	}
	snprintf(path, sizeof(path), "%s.XXXXXX", own.dli_fname);
	to = mkstemp(path);
	if (to < 0) {
		*reason = failed(path, strerror(errno));
		close(from);
		return NULL;
	}
	if (copy_file(from, to)) {
		loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!loaded)
			*reason = failed("dlopen", dlerror());
	} else {
		*reason = failed(path, strerror(errno));
	}
	close(from);
	close(to);
	unlink(path);
	return loaded;
}

static const haltere_congestion_control *new_copy(const double *values, size_t count, const char **reason)
{
	const haltere_congestion_control *(*tune)(const double *, size_t, const char **);
	const haltere_congestion_control *calls;
	struct copy *copy;
	void *loaded = load_copy(reason);

	if (!loaded)
		return NULL;
	*(void **)&tune = dlsym(loaded, "haltere_tuned_copy");
	calls = tune ? tune(values, count, reason) : NULL;
	if (!calls) {
		/* The text of the reason is the copy's. */
		snprintf(said, sizeof(said), "%s", tune ? *reason : "the copy exports nothing");
		*reason = said;
		dlclose(loaded);
		return NULL;
	}
	copy = calloc(1, sizeof(*copy));
	if (!copy) {
		*reason = "there is no memory left";
		return NULL;
	}
	*copy = (struct copy){ .next = copies, .calls = calls };
	memcpy(copy->values, values, count * sizeof(*values));
	copies = copy;
	return calls;
}

const haltere_congestion_control *haltere_tuned(const double *values, size_t count, const char **reason)
{
	const haltere_congestion_control *calls = NULL;
	bool usual = true;

	if (count != declared_count) {
		*reason = "the host gives another number of parameters than the library declares";
		return NULL;
	}
	for (size_t n = 0; n < count; n++)
		usual &= values[n] == declared[n].default_value;
	if (usual)
		return &haltere_calls;
	pthread_mutex_lock(&lock);
	for (const struct copy *copy = copies; copy && !calls; copy = copy->next)
		if (memcmp(copy->values, values, count * sizeof(*values)) == 0)
			calls = copy->calls;
	if (!calls)
		calls = new_copy(values, count, reason);
	pthread_mutex_unlock(&lock);
	return calls;
}
