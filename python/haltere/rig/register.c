/* Part of each module that haltere builds of a congestion control's file: it registers the control under the name of the module.
 *
 * The file's calls of tcp_register_congestion_control come here (modules.py defines the name so), so that a control of the kernel
 * keeps its name, and one file can be loaded several times.
 */

#include <linux/module.h>
#include <net/tcp.h>

int haltere_register(struct tcp_congestion_ops *ops);

static struct tcp_congestion_ops *registered;

int haltere_register(struct tcp_congestion_ops *ops)
{
	int answer;

	strscpy(ops->name, THIS_MODULE->name, sizeof(ops->name));
	/* Its connections keep the module. */
	ops->owner = THIS_MODULE;
	answer = tcp_register_congestion_control(ops);
	if (!answer)
		registered = ops;
	return answer;
}

/* The end of a module whose file has none: without it the kernel would keep the module. */
void __weak cleanup_module(void)
{
	if (registered)
		tcp_unregister_congestion_control(registered);
}
