/* What a congestion control of Linux sees of the kernel, for haltere.
 *
 * These headers let a file that defines a `struct tcp_congestion_ops` compile unmodified outside of the kernel. They are written
 * from the interface: the names that such files use, and what these mean. Nothing of them is copied from the kernel's headers, and
 * nothing of the kernel is shipped. Files of the kernel are GPL-2.0; their user compiles them on the user's own machine.
 *
 * This file has types, arithmetic, time, memory and random numbers; module.h has modules and their parameters; tcp.h has sockets and
 * what TCP does for congestion controls. The files in linux/, net/ and asm/ are the names by which these are included. The interface
 * is that of Linux 6.12, with some names of older versions. A second of the clock `jiffies` has 250 ticks, as in most distributions. */

#ifndef HALTERE_KERNEL_H
#define HALTERE_KERNEL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Types. <stdbool.h> makes `bool` a macro, which module_param(…, bool, …) could not take for a name. */
#undef bool
#undef true
#undef false
typedef _Bool bool;
enum { false = 0, true = 1 };

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef unsigned long long __u64;
typedef int32_t __s32;
typedef long long __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef s64 ktime_t;
typedef unsigned int gfp_t;

#define U8_MAX UINT8_MAX
#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX (~0ULL)
#define S32_MAX INT32_MAX
#define S64_MAX INT64_MAX

/* Attributes and annotations. */
#define __init
#define __exit
#define __user
#define __force
#define __bpf_kfunc
#define __rcu
#define __used __attribute__((used))
#define __maybe_unused __attribute__((unused))
#define __always_unused __attribute__((unused))
#define __must_check
#define __read_mostly
#define __ro_after_init
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __pure __attribute__((pure))
#define noinline __attribute__((noinline))
#define fallthrough __attribute__((fallthrough))
#define __aligned(n) __attribute__((aligned(n)))
#define __packed __attribute__((packed))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) ((void)(*(volatile __typeof__(x) *)&(x) = (value)))
#define barrier() __asm__ volatile("" ::: "memory")
/* A connection is in the hands of one thread, so that a comparison and an exchange are not disturbed. */
#define cmpxchg(at, old, new_value)                                    \
	({                                                                 \
		__typeof__(*(at)) was_ = *(at);                                \
		if (was_ == (old))                                             \
			*(at) = (new_value);                                       \
		was_;                                                          \
	})
#define BUILD_BUG_ON(wrong) _Static_assert(!(wrong), "BUILD_BUG_ON: " #wrong)
#define BUILD_BUG_ON_MSG(wrong, text) _Static_assert(!(wrong), text)
#define WARN_ON(wrong) ({ int wrong_ = !!(wrong); wrong_; })
#define WARN_ON_ONCE(wrong) WARN_ON(wrong)
#define WARN_ONCE(wrong, ...) WARN_ON(wrong)
#define BUG_ON(wrong) ((void)WARN_ON(wrong))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define container_of(at, type, member) ((type *)((char *)(at) - offsetof(type, member)))
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define IS_ENABLED(option) 0

/* Arithmetic. Arguments are evaluated once. */
#define haltere_pick_(a, b, sign)                                      \
	({                                                                 \
		__typeof__(a) a_ = (a);                                        \
		__typeof__(b) b_ = (b);                                        \
		a_ sign b_ ? a_ : b_;                                          \
	})
#define min(a, b) haltere_pick_(a, b, <)
#define max(a, b) haltere_pick_(a, b, >)
#define min_t(type, a, b) haltere_pick_((type)(a), (type)(b), <)
#define max_t(type, a, b) haltere_pick_((type)(a), (type)(b), >)
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define min_not_zero(a, b)                                             \
	({                                                                 \
		__typeof__(a) x_ = (a);                                        \
		__typeof__(b) y_ = (b);                                        \
		x_ == 0 ? y_ : y_ == 0 ? x_ : min(x_, y_);                     \
	})
#define clamp(value, low, high)                                        \
	({                                                                 \
		__typeof__(value) value_ = (value);                            \
		__typeof__(value) low_ = (low), high_ = (high);                \
		value_ < low_ ? low_ : value_ > high_ ? high_ : value_;        \
	})
#define clamp_t(type, value, low, high) clamp((type)(value), (type)(low), (type)(high))
#define clamp_val(value, low, high) clamp(value, low, high)
#define swap(a, b)                                                     \
	do {                                                               \
		__typeof__(a) kept_ = (a);                                     \
		(a) = (b);                                                     \
		(b) = kept_;                                                   \
	} while (0)
/* The difference of two u32 is a u32. Its absolute value is that of the number with a sign. */
static inline s32 haltere_abs32_(s32 x)
{
	return x < 0 ? -x : x;
}
static inline s64 haltere_abs64_(s64 x)
{
	return x < 0 ? -x : x;
}
#define abs(x)                                                         \
	__builtin_choose_expr(sizeof(x) > 4, haltere_abs64_((s64)(x)), haltere_abs32_((s32)(x)))
#define U32_C(x) x##U
#define U64_C(x) x##ULL
static inline bool is_power_of_2(unsigned long x)
{
	return x != 0 && (x & (x - 1)) == 0;
}
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define DIV_ROUND_CLOSEST(n, d) (((n) + (d) / 2) / (d))
#define roundup(n, d) (DIV_ROUND_UP(n, d) * (d))

/* Divides the u64 `n` in place; the value is the remainder. The divisor is a u32. */
#define do_div(n, by)                                                  \
	({                                                                 \
		u32 by_ = (u32)(by);                                           \
		u32 rest_ = (u32)((n) % by_);                                  \
		(n) = (n) / by_;                                               \
		rest_;                                                         \
	})
static inline u64 div_u64(u64 n, u32 by)
{
	return n / by;
}
static inline u64 div64_u64(u64 n, u64 by)
{
	return n / by;
}
static inline s64 div_s64(s64 n, s32 by)
{
	return n / by;
}
static inline s64 div64_s64(s64 n, s64 by)
{
	return n / by;
}
#define div64_ul(n, by) div64_u64(n, by)
#define div64_long(n, by) div64_s64(n, by)
static inline u64 mul_u64_u32_shr(u64 a, u32 by, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * by) >> shift);
}
static inline u64 mul_u64_u64_div_u64(u64 a, u64 by, u64 over)
{
	return (u64)((unsigned __int128)a * by / over);
}

/* The place of the highest bit that is set, counted from 1; 0 for 0. */
static inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}
static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}
static inline int ilog2(u64 x)
{
	return fls64(x) - 1;
}
static inline unsigned long int_sqrt64(u64 x)
{
	u64 root = 0;

	for (u64 bit = 1ULL << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= x)
			root |= bit;
	return (unsigned long)root;
}
#define int_sqrt(x) int_sqrt64(x)

/* Time: that of the run, behind a start above zero, since some files take 0 for "never". */
#define HZ 250
#define NSEC_PER_SEC 1000000000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_USEC 1000L
#define USEC_PER_SEC 1000000L
#define USEC_PER_MSEC 1000L
#define MSEC_PER_SEC 1000L
#define USEC_PER_JIFFY (USEC_PER_SEC / HZ)

u64 haltere_clock_ns(void);
unsigned long haltere_jiffies(void);
#define jiffies haltere_jiffies()
#define jiffies_64 ((u64)haltere_jiffies())
#define get_jiffies_64() jiffies_64
#define local_clock() haltere_clock_ns()
#define sched_clock() haltere_clock_ns()
#define ktime_get_ns() haltere_clock_ns()
#define ktime_get() ((ktime_t)haltere_clock_ns())
#define ktime_get_real() ktime_get()
#define ktime_get_boottime_ns() haltere_clock_ns()
#define ktime_to_ns(at) ((s64)(at))
#define ktime_to_us(at) ((s64)(at) / NSEC_PER_USEC)
#define ktime_to_ms(at) ((s64)(at) / NSEC_PER_MSEC)
#define ktime_sub(a, b) ((a) - (b))
#define ktime_us_delta(a, b) (((s64)(a) - (s64)(b)) / NSEC_PER_USEC)

#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_after32(a, b) ((s32)((u32)(b) - (u32)(a)) < 0)
#define time_before32(a, b) time_after32(b, a)
#define time_in_range(at, from, to) (time_after_eq(at, from) && time_before_eq(at, to))

/* A span that is not of whole ticks takes one more. */
static inline unsigned long usecs_to_jiffies(unsigned int us)
{
	return ((unsigned long)us + USEC_PER_JIFFY - 1) / USEC_PER_JIFFY;
}
static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
	return ((unsigned long)ms * HZ + MSEC_PER_SEC - 1) / MSEC_PER_SEC;
}
static inline unsigned long nsecs_to_jiffies(u64 ns)
{
	return (unsigned long)(ns / (NSEC_PER_SEC / HZ));
}
static inline unsigned int jiffies_to_usecs(unsigned long ticks)
{
	return (unsigned int)(ticks * USEC_PER_JIFFY);
}
static inline unsigned int jiffies_to_msecs(unsigned long ticks)
{
	return (unsigned int)(ticks * (MSEC_PER_SEC / HZ));
}

/* Memory. */
#define GFP_KERNEL 0U
#define GFP_ATOMIC 0U
#define GFP_NOWAIT 0U
#define __GFP_NOWARN 0U
#define __GFP_ZERO 0U
void *haltere_allocate(size_t count, size_t size);
void kfree(const void *at);
static inline void *kcalloc(size_t count, size_t size, gfp_t flags)
{
	(void)flags;
	return haltere_allocate(count, size);
}
#define kzalloc(size, flags) kcalloc(1, size, flags)
#define kmalloc(size, flags) kcalloc(1, size, flags)
#define kmalloc_array(count, size, flags) kcalloc(count, size, flags)
#define kvfree(at) kfree(at)

/* Random numbers: the run's own. */
u32 get_random_u32(void);
u32 get_random_u32_below(u32 below);
#define prandom_u32() get_random_u32()
#define prandom_u32_max(below) get_random_u32_below(below)
#define get_random_u32_inclusive(from, to) ((from) + get_random_u32_below((to) - (from) + 1))
void get_random_bytes(void *into, size_t count);

/* Messages to the kernel's log are not shown. */
static inline void haltere_unheard_(const char *format, ...)
{
	(void)format;
}
#define printk(...) haltere_unheard_(__VA_ARGS__)
#define pr_debug(...) haltere_unheard_(__VA_ARGS__)
#define pr_info(...) haltere_unheard_(__VA_ARGS__)
#define pr_notice(...) haltere_unheard_(__VA_ARGS__)
#define pr_warn(...) haltere_unheard_(__VA_ARGS__)
#define pr_err(...) haltere_unheard_(__VA_ARGS__)
#define pr_info_once(...) haltere_unheard_(__VA_ARGS__)
#define pr_warn_once(...) haltere_unheard_(__VA_ARGS__)
#define pr_warn_ratelimited(...) haltere_unheard_(__VA_ARGS__)
#define net_dbg_ratelimited(...) haltere_unheard_(__VA_ARGS__)
#define KERN_EMERG ""
#define KERN_ERR ""
#define KERN_WARNING ""
#define KERN_NOTICE ""
#define KERN_INFO ""
#define KERN_DEBUG ""

/* Errors, as functions return them: negative. */
#define ENOENT 2
#define ENOMEM 12
#define EBUSY 16
#define EEXIST 17
#define EINVAL 22
#define ERANGE 34
#define EOPNOTSUPP 95

/* A running extreme over a window of time (K. Nichols): the best value, the best since then, and the best since that. */
struct minmax_sample {
	u32 t;
	u32 v;
};
struct minmax {
	struct minmax_sample s[3];
};
static inline u32 minmax_get(const struct minmax *m)
{
	return m->s[0].v;
}
static inline u32 minmax_reset(struct minmax *m, u32 t, u32 meas)
{
	m->s[0] = m->s[1] = m->s[2] = (struct minmax_sample){ t, meas };
	return meas;
}
u32 minmax_running_max(struct minmax *m, u32 win, u32 t, u32 meas);
u32 minmax_running_min(struct minmax *m, u32 win, u32 t, u32 meas);

#endif
