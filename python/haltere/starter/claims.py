"""Claims about this study's question: rules that its results confirm, contradict or leave undecided.

Write a rule before you look at the results. docs/reference/figures-and-claims.md explains the building blocks.
"""

from haltere.claims import Verdict, ahead, all_of, answer, claim
from haltere.claims.comparison import Comparison, compare
from haltere.metrics.tables import Tables

RATES = ["2Mbit/s", "10Mbit/s", "50Mbit/s"]


def _completion_time(tables: Tables, loss: str) -> Comparison:
    """QUIC against TCP over all rates, within each replication, where both meet the same losses."""
    return compare(tables, "base", "completion_time", "transport", "quic", "tcp", over={"rate": RATES, "loss": [loss]})


@claim("QUIC finishes sooner than TCP when packets are lost.", source="the question of this study")
def sooner_under_loss(tables: Tables) -> Verdict:
    """The mean ratio of completion times over all rates at 1 % loss is below one, with its whole 95 % interval."""
    found = _completion_time(tables, "1%")
    return all_of(ahead("Completion time, QUIC ÷ TCP", found.pooled(), found.metric))


@answer
def short(tables: Tables) -> list[str]:
    """The answer at the top of the report, written from the numbers."""
    ratios = {loss: _completion_time(tables, loss).pooled().value for loss in ("0%", "1%")}
    return [f"QUIC takes {ratios['0%']:.2f} of TCP's time without loss and {ratios['1%']:.2f} with 1 % loss."]
