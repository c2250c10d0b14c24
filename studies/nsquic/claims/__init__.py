"""The claims of the nsQUIC study, each judged from the results by a rule that was fixed before there were any.

The rules of claims that were added later were written after trials of a few replications, before their campaign.

The dissertation had one QUIC, a production stack. Here there are three: the model, quinn and noq, all with CUBIC. A
sentence about QUIC holds if it holds for each of them. Claims whose name ends with `_2017` are judged again with the
stacks of the dissertation's time, as far as switches say them (experiment `era`); those with `_defaults` with the
segments and buffers that ns-3 has unless a script sets them. Ratios are geometric means over
treatments, compared within each replication; intervals are at 95 % over replications; ratios within ±5 % are alike
(Jain's index: ±0.01).

Of the dissertation the text at hand is a summary by another author. `SUMMARY` says where in it a claim stands.
"""

from . import alone, loss, dumbbell, sharing, opening, shown  # noqa: F401, I001 (the order of the claims)
