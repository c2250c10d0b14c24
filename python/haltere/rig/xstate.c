/* Lets a user-mode Linux whose buffer for the registers of floating point and vectors is smaller than the host's run there.
 *
 * Up to Linux 6.12 the buffer has 2696 bytes. A host whose processor has AMX keeps 11 008 bytes for a process and refuses
 * PTRACE_SETREGSET with fewer (errno 14). This library stands before ptrace(2) of the C library (LD_PRELOAD). It passes the
 * kernel's bytes on with zeros behind them: the registers that the kernel does not know stay as they are at a process's start, and
 * no process of the kernel has asked for them. Nothing changes where both sizes are the same. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

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
