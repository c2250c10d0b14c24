"""The claims of the thesis on MQTT, each judged from the results by a rule, and our own.

Delivery times are means over a run's messages. QUIC and TCP are compared within each replication, as both meet the same
losses by ordinal; intervals are at 95 % over replications. Shares of the bottleneck are goodputs from 50 s on, in parts
of the link's rate. Where the thesis does not state a rate, a claim is judged at each of several: it is confirmed if it
holds at all of them, contradicted if at none, and otherwise says where it holds.
"""

from . import latency, opening, window, sharing, beyond, energy, shown  # noqa: F401, I001 (the order of the claims)
