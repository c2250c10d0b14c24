"""A queue discipline. docs/how-to/schedulers-and-queues.md says what its methods are told.

    haltere compare tcp/cubic tcp/bbr --share --queue 1000p --queue ./NAME.py
    haltere compare tcp/cubic tcp/cubic+ecn --rate 20Mbit/s --queue ./NAME.py:limit=500p,target-ms=10

Times are nanoseconds since the start of the run, sizes are bytes and rates are bits a second; -1 stands for what is
not known. haltere keeps the packets; the class decides.
"""

import haltere
from haltere.plugins import MARK, SEND


class TITLE:
    """One packet in so many is dropped, or marked, while packets wait too long: the first line is its summary."""

    target_ms = haltere.parameter(20, "the wait above which packets are dropped or marked, ms", least=0, most=10000)
    every = haltere.parameter(20, "one packet in so many", least=1, most=10000)

    def __init__(self, config):
        """`config` has the facts about the link: `rate`, `rtt`, `mtu`, and `random()`, the run's own dice."""
        self.late = 0  # packets that waited too long

    def enqueue(self, packet, queue):
        """A packet arrives. Return its band, DROP to signal congestion, or FULL if there is no room.

        `MARK + band` marks it. `packet` has `size`, `flow`, `ecn`, `dscp`, `fits`; `queue` has `packets`, `bytes`,
        `now`, `band(number)` … A packet for which `limit` has no room is dropped in any case.
        """
        return 0

    def next_band(self, queue):
        """A packet may leave. Return the band whose first packet it is to be; one of them waits in some band."""
        return 0

    def dequeue(self, packet, queue):
        """That packet is about to leave. Return SEND, MARK or DROP; after a drop, `next_band` is asked again."""
        if queue.now - packet.arrived <= self.target_ms * 1_000_000:
            return SEND
        self.late += 1
        return SEND if self.late % int(self.every) else MARK  # MARK drops what is not ECN-capable

    # def ready_at(self, queue):              # when the next packet may leave, for a shaper
