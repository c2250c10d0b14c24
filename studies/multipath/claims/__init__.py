"""The findings of Lenz et al. (2019) on MPTCP and MPQUIC, and the aggregation benefit of De Coninck and Bonaventure.

P. Lenz Jr., M. D. M. da Silva, A. Santos, M. Nogueira: "Avaliação do Problema de Reordenamento de Pacotes e das
Políticas de Escalonamento em Protocolos Multicaminhos", UFPR, 2019. Q. De Coninck,
O. Bonaventure: "Multipath QUIC: Design and Evaluation", CoNEXT 2017.

All scenarios of a replication meet the same losses by ordinal, so the independent unit is the replication: a statistic
is taken over the scenarios and both first paths within each replication, and intervals are at 95 % over replications.

Lenz et al. give one number for 50 scenarios and do not say how these are shared between the two classes of their table.
So each of their claims is judged three times: in the lower class, in the higher one, and over both together. It is
confirmed if it holds in all three, contradicted if it is contradicted in all three, and undecided otherwise; the first
number of each verdict says where it holds. Each is judged for the stacks of 2017, about which it was made, and for
today's, of which it says what has changed.
"""

from . import paper, benefit, blocking, shown  # noqa: F401, I001 (the order of the claims)
