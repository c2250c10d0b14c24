/* Sockets, and what TCP does for congestion controls. The members are those that congestion controls use; glue.c sets them before
 * each call, from what haltere tells. */

#ifndef HALTERE_TCP_H
#define HALTERE_TCP_H

#include "haltere/module.h"

#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define TCP_MIN_MSS 88U
#define TCP_CA_NAME_MAX 16
#define TCP_TS_HZ 1000
#define TCP_ECN_OK 1
#define TCP_ECN_QUEUE_CWR 2
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_SEEN 8
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_PLB_SCALE 8
#define GSO_MAX_SIZE 65536u
#define GSO_LEGACY_MAX_SIZE 65536u
#define MAX_TCP_HEADER 320

/* The states of loss recovery. */
enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
#define TCPF_CA_Open (1 << TCP_CA_Open)
#define TCPF_CA_Disorder (1 << TCP_CA_Disorder)
#define TCPF_CA_CWR (1 << TCP_CA_CWR)
#define TCPF_CA_Recovery (1 << TCP_CA_Recovery)
#define TCPF_CA_Loss (1 << TCP_CA_Loss)

enum tcp_ca_event {
	CA_EVENT_TX_START,     /* data is sent, and none was in flight */
	CA_EVENT_CWND_RESTART, /* the window was reduced after a time without data */
	CA_EVENT_COMPLETE_CWR, /* a reduction of the window ended */
	CA_EVENT_LOSS,         /* a timeout */
	CA_EVENT_ECN_NO_CE,    /* never told: what a receiver sees is the transport's */
	CA_EVENT_ECN_IS_CE,
};

enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1,   /* more than the next data in order */
	CA_ACK_WIN_UPDATE = 2, /* the peer's window moved */
	CA_ACK_ECE = 4,        /* the peer echoes marks */
};

enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
enum { ICSK_ACK_SCHED = 1, ICSK_ACK_TIMER = 2, ICSK_ACK_PUSHED = 4, ICSK_ACK_PUSHED2 = 8, ICSK_ACK_NOW = 16 };
enum { TCP_ESTABLISHED = 1, TCP_SYN_SENT, TCP_SYN_RECV, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_TIME_WAIT, TCP_CLOSE,
       TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_LISTEN, TCP_CLOSING };

struct sk_buff;
struct net;

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us; /* -1 without a sample */
	u32 in_flight;
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	u32 prior_delivered_ce;
	s32 delivered; /* packets; negative if there is no valid sample */
	s32 delivered_ce;
	long interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};

union tcp_cc_info {
	struct tcpvegas_info {
		u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt;
	} vegas;
	struct tcp_dctcp_info {
		u16 dctcp_enabled, dctcp_ce_state;
		u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot;
	} dctcp;
	struct tcp_bbr_info {
		u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
	} bbr;
};
enum { INET_DIAG_NONE, INET_DIAG_MEMINFO, INET_DIAG_INFO, INET_DIAG_VEGASINFO, INET_DIAG_CONG, INET_DIAG_DCTCPINFO = 9,
       INET_DIAG_BBRINFO = 16 };

struct sock {
	unsigned long sk_pacing_rate; /* bytes of data a second */
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	u8 sk_pacing_shift;
	u8 sk_state;
	unsigned int sk_gso_max_size;
	u16 sk_gso_max_segs;
	int sk_sndbuf;
	unsigned long sk_flags;
};

struct inet_sock {
	struct sock sk;
	u8 tos;
};

struct tcp_congestion_ops;

#define ICSK_CA_PRIV_SIZE 104
struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state;
	u8 icsk_ca_initialized;
	u8 icsk_retransmits;
	u32 icsk_rto;
	struct {
		u8 pending;
		u8 quick;
		u32 ato;
		u16 rcv_mss;
	} icsk_ack;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

struct tcp_options_received {
	bool saw_tstamp, tstamp_ok, sack_ok;
	u32 rcv_tsval, rcv_tsecr;
	u16 mss_clamp;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	/* Positions in the sender's sequence, bytes. */
	u32 snd_una, snd_nxt, rcv_nxt, write_seq, high_seq;
	/* The window, in packets of mss_cache bytes. */
	u32 snd_cwnd, snd_ssthresh, snd_cwnd_cnt, snd_cwnd_clamp, snd_cwnd_stamp, snd_cwnd_used, prior_cwnd, prior_ssthresh;
	u32 mss_cache, advmss;
	/* Packets: all that are not acknowledged, and how these are counted. */
	u32 packets_out, sacked_out, lost_out, retrans_out, max_packets_out;
	u32 delivered, delivered_ce, lost, app_limited, total_retrans;
	u32 srtt_us; /* eight times the smoothed RTT */
	u32 mdev_us, rttvar_us, undo_marker, reordering;
	struct minmax rtt_min;
	/* Times: us, but the clocks of the pacer, which are ns, and lsndtime, jiffies. */
	u64 tcp_mstamp, delivered_mstamp, first_tx_mstamp, tcp_clock_cache, tcp_wstamp_ns;
	u32 lsndtime;
	u32 rate_delivered, rate_interval_us;
	u64 bytes_acked, bytes_sent, bytes_retrans;
	u32 snd_wnd, rcv_wnd;
	u8 ecn_flags;
	bool is_cwnd_limited;
	struct tcp_options_received rx_opt;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
#ifdef HALTERE_CONG_CONTROL_OF_TWO
	/* Before Linux 6.10. */
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
#else
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
#endif
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char name[TCP_CA_NAME_MAX];
	struct module *owner;
	u32 key;
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

/* A socket is the beginning of each of these. */
static inline struct inet_sock *inet_sk(const struct sock *sk)
{
	return (struct inet_sock *)sk;
}
static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}
static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}
static inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
static inline void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops)
{
	(void)ops;
}

/* Sequence numbers wrap. */
static inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}
#define after(a, b) before(b, a)
static inline bool between(u32 at, u32 from, u32 to)
{
	return to - from >= at - from;
}

/* Clocks. */
#define tcp_jiffies32 ((u32)haltere_jiffies())
#define tcp_clock_ns() haltere_clock_ns()
#define tcp_clock_us() (haltere_clock_ns() / NSEC_PER_USEC)
u32 haltere_stamp(const struct sock *sk);
#define tcp_time_stamp_ts(tp) haltere_stamp((const struct sock *)(tp))
#define tcp_time_stamp_ms(tp) haltere_stamp((const struct sock *)(tp))
#define tcp_time_stamp(tp) haltere_stamp((const struct sock *)(tp))
static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier)
{
	return later > earlier ? (u32)(later - earlier) : 0;
}
static inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return minmax_get(&tp->rtt_min);
}

/* Windows. */
static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 packets)
{
	tp->snd_cwnd = packets;
}
static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}
static inline bool tcp_in_initial_slowstart(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}
static inline bool tcp_in_cwnd_reduction(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state == TCP_CA_CWR || inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery;
}
static inline unsigned int tcp_left_out(const struct tcp_sock *tp)
{
	return tp->sacked_out + tp->lost_out;
}
static inline unsigned int tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out + tp->retrans_out - tcp_left_out(tp);
}
/* haltere tells whether the window limited the sender, which includes the rule of slow start. */
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	return tcp_sk(sk)->is_cwnd_limited;
}
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_undo_cwnd(struct sock *sk);
u32 tcp_current_ssthresh(const struct sock *sk);
/* Asks for a reduction of the window, which follows once the call that asks has returned. */
void tcp_enter_cwr(struct sock *sk);

/* What a receiver does is the transport's, and so is the choice of flow labels (PLB). */
static inline void tcp_send_ack(struct sock *sk)
{
	(void)sk;
}
#define __tcp_send_ack(sk, ...) ((void)(sk))
static inline void INET_ECN_xmit(struct sock *sk)
{
	inet_sk(sk)->tos |= 2;
}
static inline void INET_ECN_dontxmit(struct sock *sk)
{
	inet_sk(sk)->tos &= (u8)~3u;
}
/* Counters of the host are not kept, and no program of BPF answers. */
#define NET_INC_STATS(net, counter) ((void)0)
#define NET_ADD_STATS(net, counter, by) ((void)(by))
#define tcp_call_bpf(sk, question, count, arguments) ((void)(sk), -1)
struct tcp_plb_state {
	u8 consec_cong_rounds, unused;
	u32 pause_until;
};
static inline void tcp_plb_init(const struct sock *sk, struct tcp_plb_state *plb)
{
	(void)sk;
	*plb = (struct tcp_plb_state){ 0 };
}
static inline void tcp_plb_update_state(const struct sock *sk, struct tcp_plb_state *plb, const int share)
{
	(void)sk;
	(void)plb;
	(void)share;
}
static inline void tcp_plb_check_rehash(struct sock *sk, struct tcp_plb_state *plb)
{
	(void)sk;
	(void)plb;
}
static inline void tcp_plb_update_state_upon_rto(struct sock *sk, struct tcp_plb_state *plb)
{
	(void)sk;
	(void)plb;
}

#endif
