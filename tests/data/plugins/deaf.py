"""Reno that says it can use ECN and does not react to marks: what RFC 9743 section 7.1 is about."""

from haltere.plugins import NEVER, Trigger


class Deaf:
    """Half the window after a loss, nothing after a mark."""

    def __init__(self, config):
        self.mss, self.window, self.ssthresh = config.mss, config.initial_window, NEVER

    def on_ack(self, ack):
        if ack.window_limited and ack.may_grow:
            slow_start = self.window < self.ssthresh
            self.window += ack.delivered if slow_start else self.mss * ack.delivered // self.window

    def on_congestion(self, event):
        if event.trigger == Trigger.ECN:
            return
        if event.new_episode:
            self.ssthresh = max(self.window // 2, 2 * self.mss)
        timeout = event.trigger == Trigger.TIMEOUT
        self.window = event.in_flight + self.mss if timeout else min(self.window, self.ssthresh)
