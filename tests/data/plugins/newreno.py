"""NewReno once more, to the byte as the built-in one."""

from haltere.plugins import NEVER, UNKNOWN, Trigger


class NewReno:
    """A segment more each round trip, half of the window at a loss."""

    reference = "RFC 5681, RFC 6582"

    def __init__(self, config):
        self.mss = config.mss
        self.grain = config.grain
        self.window = max(config.initial_window // config.grain * config.grain, config.grain)
        self.initial = self.window
        self.ssthresh = NEVER
        self.credit = 0
        self.before_window = UNKNOWN
        self.before_ssthresh = 0

    def on_sent(self, sent):
        """After an idle time the window is halved for each timeout that passed, down to the initial one."""
        if sent.after_idle == UNKNOWN or sent.timeout == 0 or sent.after_idle <= sent.timeout:
            return
        self.ssthresh = max(self.ssthresh, self.window - self.window // 4)
        timeouts = sent.after_idle // sent.timeout
        floor = min(self.initial, self.window)
        while timeouts > 0 and self.window > floor:
            self.window = self.window // 2 // self.grain * self.grain
            timeouts -= 1
        self.window = max(self.window, floor)

    def on_ack(self, ack):
        if not (ack.window_limited and ack.may_grow):
            return
        rest = ack.delivered
        if self.window < self.ssthresh:
            grown = min(self.window + rest, self.ssthresh)
            rest -= grown - self.window
            self.window = grown
        if rest > 0:
            self.grow(rest, max(self.window, 1))

    def grow(self, delivered, per):
        if self.credit >= per:
            self.credit = 0
            self.window += self.mss
        self.credit += delivered
        segments = self.credit // per
        self.credit -= segments * per
        self.window += segments * self.mss

    def on_congestion(self, event):
        if event.new_episode:
            self.before_window = self.window
            self.before_ssthresh = max(self.ssthresh, self.window - self.window // 4)
            self.ssthresh = max(self.window // 2 // self.grain * self.grain, 2 * self.mss)
            self.credit = 0
        if event.trigger == Trigger.TIMEOUT:
            self.window = event.in_flight // self.grain * self.grain + self.mss
        elif event.trigger == Trigger.PERSISTENT:
            self.window = 2 * self.mss
        else:
            self.window = min(self.ssthresh, self.window)

    def on_undo(self):
        if self.before_window != UNKNOWN:
            self.window = max(self.window, self.before_window)
            self.ssthresh = max(self.ssthresh, self.before_ssthresh)
            self.before_window = UNKNOWN

    def set_mss(self, mss, wire):
        if self.grain == self.mss:
            self.grain = mss
        self.mss = mss
        self.window = max(self.window, 2 * mss)
