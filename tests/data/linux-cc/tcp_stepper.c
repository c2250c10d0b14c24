/* A congestion control that uses what others do not: parameters of each kind, one that the module's start computes with, random
 * numbers, a private area, memory of its own, and the states of loss recovery. Its window is a number of packets that a loss halves. */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/tcp.h>

static int steps __read_mostly = 20;
module_param(steps, int, 0644);
MODULE_PARM_DESC(steps, "packets of the window");
static unsigned int factor __read_mostly = 1;
module_param(factor, uint, 0444);
MODULE_PARM_DESC(factor, "by which they are multiplied when the module starts");
static bool halve __read_mostly = true;
module_param(halve, bool, 0644);
MODULE_PARM_DESC(halve, "whether losses halve the window");
static int jitter __read_mostly;
module_param(jitter, int, 0644);

static u32 total __read_mostly;

struct stepper {
	u32 states;
	u32 *memory;
};

static void stepper_init(struct sock *sk)
{
	struct stepper *own = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(struct stepper) > ICSK_CA_PRIV_SIZE);
	own->memory = kcalloc(4, sizeof(*own->memory), GFP_KERNEL);
	tcp_sk(sk)->snd_ssthresh = 2;
	tcp_snd_cwnd_set(tcp_sk(sk), total + (jitter ? get_random_u32_below(jitter) : 0));
}

static void stepper_release(struct sock *sk)
{
	kfree(((struct stepper *)inet_csk_ca(sk))->memory);
}

static void stepper_state(struct sock *sk, u8 new_state)
{
	struct stepper *own = inet_csk_ca(sk);

	own->states |= 1 << new_state;
	if (new_state == TCP_CA_Open && inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
		tcp_snd_cwnd_set(tcp_sk(sk), total);
}

static u32 stepper_ssthresh(struct sock *sk)
{
	return halve ? max(tcp_snd_cwnd(tcp_sk(sk)) / 2, 2U) : tcp_snd_cwnd(tcp_sk(sk));
}

static void stepper_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
}

static u32 stepper_undo(struct sock *sk)
{
	return total;
}

static struct tcp_congestion_ops stepper __read_mostly = {
	.init		= stepper_init,
	.release	= stepper_release,
	.set_state	= stepper_state,
	.ssthresh	= stepper_ssthresh,
	.cong_avoid	= stepper_cong_avoid,
	.undo_cwnd	= stepper_undo,
	.owner		= THIS_MODULE,
	.name		= "stepper",
};

static int __init stepper_register(void)
{
	if (steps < 1)
		return -EINVAL;
	total = steps * factor;
	return tcp_register_congestion_control(&stepper);
}

module_init(stepper_register);
MODULE_LICENSE("GPL");
