/* Stands before a few functions of the C library in a user-mode Linux (LD_PRELOAD): with it a kernel runs on any host, ends whole, and
 * takes its dice and its sockets from whoever started it.
 *
 * - ptrace(2). Up to Linux 6.12 the buffer for the registers of floating point and vectors has 2696 bytes. A host whose
 *   processor has AMX keeps 11 008 bytes for a process and refuses PTRACE_SETREGSET with fewer (errno 14). The kernel's bytes are
 *   passed on with zeros behind them: the registers that the kernel does not know stay as they are at a process's start, and no
 *   process of the kernel has asked for them. Nothing changes where both sizes are the same. Besides, a process of the kernel ends when
 *   the kernel ends, however that is (PTRACE_O_EXITKILL).
 * - getrandom(2). With HALTERE_DICE, a number, all random numbers come from SplitMix64 with this seed (Steele, Lea and Flood 2014,
 *   "Fast splittable pseudorandom number generators", figure 4). Without it they are the host's.
 * - connect(2). The path `haltere-fd-N` stands for the socket that was handed down as descriptor N: no socket has a name.
 *   `haltere-fd-N-P` is that of the clock, and P the memory that the kernel shares with it.
 * - read(2) and poll(2) of the clock's socket. A kernel that waits reads at once, without a poll before. When it is told to run, its
 *   own interrupt has set the time until which it need not ask (`free_until`) to the very present, and it would ask at once; it is set
 *   back to what it was (`window`), or to the next nanosecond if nobody says that. A kernel that has an interrupt pending already and waits in the middle of a process does not ask to run for
 *   another one, and does not survive that it is told to (time.c, `time_travel_update_time`): that is answered by another wait. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define HANDED_DOWN "haltere-fd-"

ssize_t getrandom(void *into, size_t bytes, unsigned int flags)
{
	static const char *dice;
	static uint64_t state;
	unsigned char *at = into;

	if (dice == NULL) {
		dice = getenv("HALTERE_DICE");
		if (dice == NULL)
			return syscall(SYS_getrandom, into, bytes, flags);
		state = strtoull(dice, NULL, 10);
	}
	for (size_t done = 0; done < bytes;) {
		uint64_t z = (state += 0x9e3779b97f4a7c15u);
		size_t part = bytes - done < sizeof z ? bytes - done : sizeof z;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		z ^= z >> 31;
		memcpy(at + done, &z, part);
		done += part;
	}
	return (ssize_t)bytes;
}

/* The clock's socket, its memory, and what of linux/um_timetravel.h is needed: where `free_until` stands, and a message. */
static int clock_socket = -1;
static volatile uint64_t *free_until, *window, *request;
struct message { uint32_t op, seq; uint64_t time; };
#define WAIT 3
#define RUN 6
#define SHARED 8192
#define WINDOW 64
#define REQUEST 4104

int connect(int socket, const struct sockaddr *address, socklen_t bytes)
{
	const struct sockaddr_un *named = (const void *)address;
	char *end;
	int handed;

	if (address->sa_family != AF_UNIX || strncmp(named->sun_path, HANDED_DOWN, strlen(HANDED_DOWN)) != 0)
		return (int)syscall(SYS_connect, socket, address, bytes);
	handed = (int)strtol(named->sun_path + strlen(HANDED_DOWN), &end, 10);
	if (dup2(handed, socket) < 0)
		return -1;
	close(handed);
	if (*end == '-') {
		int shared = atoi(end + 1);
		void *page = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);

		close(shared);
		if (page == MAP_FAILED)
			return -1;
		clock_socket = socket;
		free_until = (volatile uint64_t *)page + 1;
		window = (volatile uint64_t *)((char *)page + WINDOW);
		request = (volatile uint64_t *)((char *)page + REQUEST);
	}
	return 0;
}

ssize_t read(int fd, void *into, size_t bytes)
{
	ssize_t got;

	if (fd != clock_socket || clock_socket < 0)
		return syscall(SYS_read, fd, into, bytes);
	for (;;) {
		struct message message;

		do
			got = syscall(SYS_read, fd, into, bytes);
		while (got < 0 && errno == EINTR);
		if (got != sizeof message)
			return got;
		memcpy(&message, into, sizeof message);
		if (message.op != RUN)
			return got;
		if (*request <= message.time) {
			*free_until = *window > message.time ? *window : message.time + 1;
			return got;
		}
		message.op = WAIT;
		if (syscall(SYS_write, fd, &message, sizeof message) != sizeof message)
			return -1;
	}
}

int poll(struct pollfd *all, nfds_t count, int timeout)
{
	if (count != 1 || all->fd != clock_socket || clock_socket < 0)
		return (int)syscall(SYS_poll, all, count, timeout);
	all->revents = POLLIN;
	return 1;
}

#define LARGEST 65536 /* more than any processor's */

/* Code outside of the C library calls it with three arguments after the request. */
typedef long (*function)(int request, pid_t process, void *address, void *data);

static char area[LARGEST];

static size_t size_of_host(function next, pid_t process, void *kind)
{
	struct iovec all = { area, sizeof area };

	if (next(PTRACE_GETREGSET, process, kind, &all) != 0)
		return 0;
	memset(area, 0, sizeof area);
	return all.iov_len;
}

long ptrace(enum __ptrace_request request, ...)
{
	static function next;
	static size_t host;
	va_list rest;

	va_start(rest, request);
	pid_t process = va_arg(rest, pid_t);
	void *address = va_arg(rest, void *);
	void *data = va_arg(rest, void *);
	va_end(rest);
	if (next == NULL)
		next = (function)dlsym(RTLD_NEXT, "ptrace");
	if (next == NULL) {
		errno = ENOSYS;
		return -1;
	}
	if (request == PTRACE_SETOPTIONS)
		return next(request, process, address, (void *)((unsigned long)data | PTRACE_O_EXITKILL));
	if (request != PTRACE_SETREGSET || (unsigned long)address != NT_X86_XSTATE)
		return next(request, process, address, data);
	if (host == 0)
		host = size_of_host(next, process, address);
	struct iovec *given = data, whole = { area, host };
	if (given->iov_len >= host)
		return next(request, process, address, given);
	memcpy(area, given->iov_base, given->iov_len);
	return next(request, process, address, &whole);
}
