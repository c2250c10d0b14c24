"""The columns of the tables of `haltere compare`, on the terminal and in the playground."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """A column: a value with its interval below.

    Attributes:
        title: its heading, with the unit in the second line.
        field: what it shows of an entry; `overhead` and `share` are counted from several fields.
        scale: the factor from the entry's unit to the heading's.
        digits: significant digits.
    """

    title: str
    field: str
    scale: float = 1.0
    digits: int = 4


CAPTION = "trimmed mean [95 % interval]"
FOOTNOTE = (
    "a trimmed mean leaves out the lowest and the highest tenth of the replications, and is geometric where all values "
    "are positive; ratios are means of the same kind, over pairs of replications"
)
_GOODPUT = Shown("goodput\nMbit/s", "goodput_bps", 1e-6)
_RETRANSMISSIONS = Shown("retransmissions\npackets", "retransmitted_packets")
ALONE = (
    Shown("completion time\ns", "completion_s"),
    _GOODPUT,
    Shown("overhead\n% of object", "overhead", digits=3),
    _RETRANSMISSIONS,
    Shown("RTT\nms", "mean_rtt_s", 1e3),
    Shown("queueing delay\nms", "bottleneck_mean_queueing_delay_s", 1e3, 3),
)
"""The columns of contenders that run one after the other."""
SHARED = (_GOODPUT, Shown("share\n%", "share", digits=3), _RETRANSMISSIONS)
"""The columns of flows that share a link."""
CALLS = (
    Shown("glass to glass\n95th pct., ms", "glass_to_glass_p95_s", 1e3, 3),
    Shown("pictures\n1/s", "picture_rate", digits=3),
    Shown("freezes\n", "freezes", digits=3),
    Shown("frozen\ns", "frozen_s", digits=3),
    Shown("rate\nMbit/s", "goodput_bps", 1e-6, 3),
    Shown("rate varies\n%", "rate_variation", 100, 3),
    Shown("queueing delay\nms", "bottleneck_mean_queueing_delay_s", 1e3, 3),
)
"""The columns of calls."""
CALLS_BESIDE = CALLS[:4]
"""Further columns where calls share a link."""
FILMS = (
    Shown("start-up\ns", "startup_s", digits=3),
    Shown("stalled\ns", "stalled_s", digits=3),
    Shown("bit rate\nMbit/s", "played_bps", 1e-6, 3),
    Shown("switches\n", "quality_switches", digits=3),
    Shown("QoE_lin\nMbit/s", "qoe_lin_bps", 1e-6, 3),
    Shown("queueing delay\nms", "bottleneck_mean_queueing_delay_s", 1e3, 3),
)
"""The columns of films."""
LATENCY = (
    Shown("RTT under load\nmean, ms", "probe_mean"),
    Shown("RTT under load\n95th pct., ms", "probe_p95"),
    Shown("probes lost\n%", "probe_lost"),
)
"""Further columns of contenders that run one after the other with a probe; each is counted from its requests."""
