"""Two bands with strict priority between them, as `prio` has them; each has the limit."""

from haltere import parameter
from haltere.plugins import FULL


class Prio:
    """Two bands by the DiffServ codepoint."""

    each = parameter(10, "packets of a band", least=1, most=1e6)

    def enqueue(self, packet, queue):
        band = 0 if packet.dscp else 1
        return FULL if queue.band(band).packets >= self.each else band
