"""Reno that counts acknowledgements in place of what they acknowledge (RFC 2581): what Savage et al. 1999 are about."""

from haltere.plugins import NEVER, Trigger


class Counting:
    """A segment for each acknowledgement in slow start, a part of one for each afterwards."""

    def __init__(self, config):
        self.mss, self.window, self.ssthresh = config.mss, config.initial_window, NEVER

    def on_ack(self, ack):
        if ack.window_limited:
            self.window += self.mss if self.window < self.ssthresh else self.mss * self.mss // self.window

    def on_congestion(self, event):
        if event.new_episode:
            self.ssthresh = max(self.window // 2, 2 * self.mss)
        timeout = event.trigger == Trigger.TIMEOUT
        self.window = event.in_flight + self.mss if timeout else min(self.window, self.ssthresh)
