"""A path scheduler. docs/how-to/schedulers-and-queues.md says what its methods are told.

    haltere compare mptcp/cubic+scheduler=./NAME.py --path rate=20Mbit/s,rtt=20ms --path rate=10Mbit/s,rtt=60ms
    haltere compare mpquic/cubic mpquic/cubic+scheduler=./NAME.py+spread=2 --path rate=20Mbit/s --path rtt=200ms

Times are nanoseconds since the start of the run, sizes are bytes and rates are bits a second; -1 stands for what is
not known.
"""

import haltere
from haltere.plugins import UNKNOWN, candidates, is_ready, wait


class TITLE:
    """The path with the lowest RTT that has room: the first line is its summary."""

    spread = haltere.parameter(50, "paths of more than so many times the lowest RTT carry nothing", least=1, most=1000)

    ignores_demand = True  # `pick` does not look at `demand`, so that nobody counts it

    def pick(self, paths, demand, now):
        """Return the path of the next data, or a wait.

        Each of `paths` has `srtt`, `window`, `in_flight`, `delivery_rate` … `demand.waiting` bytes wait to be sent.
        Instead of a path: `Ahead(path, skip)` for data from further back, a list of paths for copies on each, None to
        wait for an acknowledgement.
        """
        usable = candidates(paths)  # active paths, or those on standby if no active one is left
        most = self.spread * min((path.srtt for path in usable if path.srtt != UNKNOWN), default=0)
        ready = [path for path in usable if is_ready(path, now) and path.srtt <= most]
        if not ready:
            return wait(usable)
        return min(ready, key=lambda path: (path.srtt == UNKNOWN, path.srtt))

    # def on_given(self, path, bytes, now):   # the path of this number took so many bytes of new data
    # def on_blocked(self, head, now):        # the peer's window is used up, and the others wait for this path
