/* Modules and their parameters. A parameter is written into a section of the library, where glue.c finds them all. */

#ifndef HALTERE_MODULE_H
#define HALTERE_MODULE_H

#include "haltere/kernel.h"

struct module;
#define THIS_MODULE ((struct module *)0)
#define LINUX_VERSION_CODE KERNEL_VERSION(6, 12, 0)
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))

struct kernel_param;

/* How a parameter is set from text and written as text. */
struct kernel_param_ops {
	unsigned int flags;
	int (*set)(const char *val, const struct kernel_param *kp);
	int (*get)(char *buffer, const struct kernel_param *kp);
	void (*free)(void *arg);
};

struct kernel_param {
	const char *name;
	const struct kernel_param_ops *ops;
	void *arg;
};

/* The meaning of a parameter, or (with the name "") what the module is. */
struct haltere_described {
	const char *name;
	const char *text;
};

#define haltere_kind_(type)                                                    \
	extern const struct kernel_param_ops param_ops_##type;                 \
	int param_set_##type(const char *val, const struct kernel_param *kp);  \
	int param_get_##type(char *buffer, const struct kernel_param *kp);
haltere_kind_(byte)
haltere_kind_(short)
haltere_kind_(ushort)
haltere_kind_(int)
haltere_kind_(uint)
haltere_kind_(long)
haltere_kind_(ulong)
haltere_kind_(ullong)
haltere_kind_(bool)
int param_set_uint_minmax(const char *val, const struct kernel_param *kp, unsigned int least, unsigned int most);

/* Names that C gives to the kinds of parameters otherwise. */
#define param_ops_u8 param_ops_byte
#define param_ops_u32 param_ops_uint
#define param_ops_u64 param_ops_ullong
#define param_ops_hexint param_ops_uint
#define param_ops_invbool param_ops_bool

#ifdef HALTERE_BESIDE
/* A file that the user's file links is no module: its functions are called, and its parameters keep their values. */
#define module_init(function)                                                  \
	__attribute__((used)) static int (*const haltere_unused_init_)(void) = function
#define module_exit(function)                                                  \
	__attribute__((used)) static void (*const haltere_unused_exit_)(void) = function
#define module_param_cb(name_, ops_, arg_, perm)                               \
	__attribute__((used)) static const void *const haltere_unused_##name_[] = { ops_, arg_ }
#define haltere_described_(id, name_, text_) struct module
#else
int haltere_module_init(void);
#define module_init(function)                                                  \
	int haltere_module_init(void)                                          \
	{                                                                      \
		return function();                                             \
	}                                                                      \
	struct module
#define module_exit(function)                                                  \
	__attribute__((used)) static void (*const haltere_module_exit_)(void) = function
/* Pointers to them stand in the section, so that its entries have no gaps. */
#define module_param_cb(name_, ops_, arg_, perm)                               \
	static const struct kernel_param haltere_param_##name_ = { #name_, ops_, arg_ }; \
	__attribute__((used, section("haltere_params")))                       \
	static const struct kernel_param *const haltere_param_at_##name_ = &haltere_param_##name_
#define haltere_described_(id, name_, text_)                                   \
	static const struct haltere_described haltere_text_##id = { name_, text_ }; \
	__attribute__((used, section("haltere_texts")))                        \
	static const struct haltere_described *const haltere_text_at_##id = &haltere_text_##id
#endif

#define module_param_named(name, variable, type, perm) module_param_cb(name, &param_ops_##type, &(variable), perm)
#define module_param(name, type, perm) module_param_cb(name, &param_ops_##type, &(name), perm)
#define MODULE_PARM_DESC(name, text) haltere_described_(name, #name, text)
#define MODULE_DESCRIPTION(text) haltere_described_(module, "", text)
#define MODULE_AUTHOR(text) struct module
#define MODULE_LICENSE(text) struct module
#define MODULE_VERSION(text) struct module
#define MODULE_ALIAS(text) struct module
#define EXPORT_SYMBOL(name) struct module
#define EXPORT_SYMBOL_GPL(name) struct module

/* What files tell BPF about their functions is not used. */
struct btf_id_set8;
struct btf_kfunc_id_set {
	struct module *owner;
	const void *set;
};
#define BPF_PROG_TYPE_STRUCT_OPS 0
#define BTF_SET8_START(name) __attribute__((unused)) static const char name[1];
#define BTF_SET8_END(name)
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name)
#define BTF_ID_FLAGS(...)
#define BTF_ID(...)
static inline int register_btf_kfunc_id_set(int type, const struct btf_kfunc_id_set *set)
{
	(void)type;
	(void)set;
	return 0;
}

#endif
