"""A window that nothing changes: what RFC 9743 section 5.1.1 is about."""


class Fixed:
    """A hundred packets, whatever happens."""

    owns_recovery = True

    def __init__(self, config):
        self.window = 100 * config.mss

    def on_ack(self, ack):
        pass

    def on_congestion(self, event):
        pass
