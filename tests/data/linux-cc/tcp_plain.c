/* Reno by the kernel's interface: what it does in slow start, congestion avoidance and at losses, written out (RFC 5681). */
#include <linux/module.h>
#include <net/tcp.h>

static u32 plain_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) >> 1, 2U);
}

static void plain_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

static struct tcp_congestion_ops plain __read_mostly = {
	.ssthresh	= plain_ssthresh,
	.cong_avoid	= plain_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "plain",
};

static int __init plain_register(void)
{
	return tcp_register_congestion_control(&plain);
}

static void __exit plain_unregister(void)
{
	tcp_unregister_congestion_control(&plain);
}

module_init(plain_register);
module_exit(plain_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno, written out");
