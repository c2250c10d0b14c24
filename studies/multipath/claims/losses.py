"""The paper's statements on lost packets (figure 10)."""

from __future__ import annotations

from collections.abc import Iterable

from haltere.claims import Evidence
from haltere.metrics import quantities

from .ground import DROPPED, LOST, MPQUIC, MPTCP, Side, average, median, of_the_paper, outliers, spread


@of_the_paper(
    "300 kB: MPTCP loses a larger share of its packets, in the median and on average; MPQUIC's shares vary more.",
    source="section 3, figure 10 (a)",
    paper="median 1.31 % (MPQUIC), 2.26 % (MPTCP); mean 1.51 and 1.72 %",
)
def losses_of_mice(side: Side) -> Iterable[Evidence]:
    """Packets that the server sent and the client did not receive, as a share of those sent: median and mean over
    scenarios must be larger with MPTCP, the interquartile range with MPQUIC."""
    return [
        *side.more("300kB", LOST, median, "Median loss, %", of=MPTCP, scale=100),
        *side.more("300kB", LOST, average, "Mean loss, %", of=MPTCP, scale=100),
        *side.more("300kB", LOST, spread, "Interquartile range, %", of=MPQUIC, scale=100),
    ]


@of_the_paper(
    "1 MB: MPQUIC loses fewer packets on average.",
    source="section 3, figure 10 (b)",
    paper="80 % fewer",
)
def losses_of_1mb(side: Side) -> Iterable[Evidence]:
    """Packets sent by the server and not received by the client: the mean over scenarios must be larger with MPTCP."""
    return side.more("1MB", DROPPED, average, "Mean packets lost, 1 MB", of=MPTCP, scale=1)


@of_the_paper(
    "20 MB: MPTCP loses more packets on average.",
    source="section 3, figure 10 (c)",
    paper="65.6 % more",
)
def losses_of_elephants(side: Side) -> Iterable[Evidence]:
    """As with 1 MB: the mean over scenarios must be larger with MPTCP."""
    return side.more("20MB", DROPPED, average, "Mean packets lost, 20 MB", of=MPTCP, scale=1)


@of_the_paper(
    "1 MB and 20 MB: losses are more uniform over MPQUIC, with fewer outliers.", source="section 3, figure 10 (b), (c)"
)
def steadier_losses(side: Side) -> Iterable[Evidence]:
    """The interquartile range of the share of packets lost and the number of its outliers must be larger with MPTCP."""
    parts: list[Evidence] = []
    for size in ("1MB", "20MB"):
        shown = quantities.text(size)
        parts += side.more(size, LOST, spread, f"Interquartile range, %, {shown}", of=MPTCP, scale=100)
        parts += side.more(size, LOST, outliers, f"Outliers among 100, {shown}", of=MPTCP, scale=1)
    return parts
