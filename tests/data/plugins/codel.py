"""CoDel once more, to the byte as the built-in one."""

from haltere import parameter
from haltere.plugins import DROP, MARK, NOT_ECT, SEND

MASK = 2**64 - 1


class CoDel:
    """Drops or marks at the head, more and more often while the delay stays above a target."""

    reference = "RFC 8289"
    ecn = parameter(0, "whether capable packets are marked", least=0, most=1)
    target = 5_000_000
    interval = 100_000_000

    def __init__(self, config):
        self.mtu = config.mtu
        self.count = self.last_count = self.root = 0
        self.dropping = False
        self.first_above = None
        self.drop_next = 0
        self.after = None  # what the packet before was dropped for

    def is_late(self, packet, queue):
        if queue.now - packet.arrived < self.target or queue.bytes <= self.mtu:
            self.first_above = None
            return False
        if self.first_above is None:
            self.first_above = queue.now + self.interval
        return queue.now > self.first_above

    def gap(self):
        return self.interval * self.root >> 16

    def step(self):
        root = self.root << 16
        square = root * root >> 32
        rest = ((3 << 32) - self.count * square & MASK) >> 2
        self.root = (rest * root & MASK) >> 47 & 0xFFFF

    def drop(self, why, queue):
        """Drop the packet; the next one is looked at as after a drop, if there is one."""
        self.after = why if queue.packets else None
        if not queue.packets:
            self.first_above = None
            if why == "keep":
                self.dropping = False
        return DROP

    def dequeue(self, packet, queue):
        after, self.after = self.after, None
        late = self.is_late(packet, queue)
        if after == "start":
            return SEND
        if after == "keep":
            if late:
                self.drop_next += self.gap()
            else:
                self.dropping = False
            return self.keep_dropping(packet, queue)
        if self.dropping and not late:
            self.dropping = False
        elif self.dropping:
            return self.keep_dropping(packet, queue)
        elif late:
            return self.start_dropping(packet, queue)
        return SEND

    def keep_dropping(self, packet, queue):
        if not (self.dropping and queue.now >= self.drop_next):
            return SEND
        self.count += 1
        self.step()
        if self.ecn and packet.ecn != NOT_ECT:
            self.drop_next += self.gap()
            return MARK
        return self.drop("keep", queue)

    def start_dropping(self, packet, queue):
        marks = self.ecn and packet.ecn != NOT_ECT
        drops = self.count - self.last_count
        # The rest does not depend on the packet behind, but for the time at which that one was seen to be late.
        soon = self.last_count > 0 and queue.now - self.drop_next < 16 * self.interval
        if soon and drops > 1:
            self.count = drops
            self.step()
        else:
            self.count, self.root = 1, 0xFFFF
        self.dropping, self.last_count = True, self.count
        self.drop_next = queue.now + self.gap()
        return MARK if marks else self.drop("start", queue)
