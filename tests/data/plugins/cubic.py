"""CUBIC once more, to the byte as the built-in one without HyStart."""

from haltere.plugins import NEVER, UNKNOWN, Trigger

C = 0.4
BETA_NUM, BETA_DEN = 717, 1024
SECOND = 1_000_000_000
REFRESH = SECOND // 32


class Cubic:
    """A cubic function of the time since the last loss."""

    reference = "RFC 9438"

    def __init__(self, config):
        self.mss = config.mss
        self.grain = config.grain
        self.window = max(config.initial_window // config.grain * config.grain, config.grain)
        self.initial = self.window
        self.ssthresh = NEVER
        self.credit = 0
        self.before_window = UNKNOWN
        self.before_ssthresh = 0
        self.tick = max(config.tick, 1)
        self.phase = config.phase % self.tick
        self.last_max = 0
        self.delay_min = UNKNOWN
        self.in_epoch = False
        self.start = 0
        self.k = 0.0
        self.origin = 0
        self.reno = 0
        self.reno_credit = 0
        self.per_segment = 0
        self.segments = 0
        self.last_window = 0
        self.last_update = 0

    def clock(self, now):
        return (now + self.phase) // self.tick * self.tick

    def on_sent(self, sent):
        """After an idle time the curve goes on where it stopped, and the window is halved for each timeout."""
        if sent.after_idle == UNKNOWN:
            return
        if sent.timeout > 0 and sent.after_idle > sent.timeout:
            self.ssthresh = max(self.ssthresh, self.window - self.window // 4)
            timeouts = sent.after_idle // sent.timeout
            floor = min(self.initial, self.window)
            while timeouts > 0 and self.window > floor:
                self.window = self.window // 2 // self.grain * self.grain
                timeouts -= 1
            self.window = max(self.window, floor)
        if self.in_epoch:
            self.start = min(self.start + sent.after_idle, self.clock(sent.now))

    def begin_epoch(self, now, delivered):
        below = float(max(self.last_max - self.window, 0)) / float(self.mss)
        wanted = below / C
        self.k = wanted ** (1.0 / 3.0)
        if self.k > 0.0:
            self.k -= (self.k * self.k * self.k - wanted) / (3.0 * self.k * self.k)
        self.in_epoch = True
        self.start = now
        self.origin = max(self.last_max, self.window)
        self.reno = self.window
        self.reno_credit = delivered
        self.segments = 0
        self.per_segment = 0
        self.last_window = self.window
        self.last_update = now

    def target(self, now):
        ahead = 0
        if self.delay_min != UNKNOWN:
            ahead = (self.delay_min + self.tick - 1) // self.tick * self.tick
        t = float(max(now - self.start, 0) + ahead) / 1e9 - self.k
        offset = int(C * abs(t * t * t) * float(self.mss)) // self.grain * self.grain
        if t < 0.0:
            return max(self.origin - offset, 0)
        return self.origin + offset

    def bytes_per_segment(self, time, delivered):
        now = self.clock(time)
        fresh = not self.in_epoch
        if fresh:
            self.begin_epoch(now, delivered)
        else:
            self.reno_credit += delivered
            refresh = REFRESH // self.tick * self.tick
            if self.last_window == self.window and now - self.last_update <= refresh:
                return self.per_segment
        if fresh or self.tick == 1 or now != self.last_update:
            self.last_window = self.window
            self.last_update = now
            rise = self.target(now) - self.window
            self.segments = self.window // rise if rise > 0 else 100 * self.window // self.mss
            if self.last_max == 0:
                self.segments = min(self.segments, 20)
        step = max(self.window // self.mss * 15 // 8, 1) * self.mss
        while self.reno_credit > step:
            self.reno_credit -= step
            self.reno += self.mss
        if self.reno > self.window:
            self.segments = min(self.segments, self.window // (self.reno - self.window))
        self.segments = max(self.segments, 2)
        self.per_segment = self.segments * self.mss
        return self.per_segment

    def on_ack(self, ack):
        settled = not self.in_epoch or self.clock(ack.now) - self.start >= SECOND
        if ack.rtt != UNKNOWN and settled:
            self.delay_min = ack.rtt if self.delay_min == UNKNOWN else min(self.delay_min, ack.rtt)
        if not (ack.window_limited and ack.may_grow):
            return
        rest = ack.delivered
        if self.window < self.ssthresh:
            grown = min(self.window + rest, self.ssthresh)
            rest -= grown - self.window
            self.window = grown
        if rest > 0:
            self.grow(rest, max(self.bytes_per_segment(ack.now, rest), 1))

    def grow(self, delivered, per):
        if self.credit >= per:
            self.credit = 0
            self.window += self.mss
        self.credit += delivered
        segments = self.credit // per
        self.credit -= segments * per
        self.window += segments * self.mss

    def on_congestion(self, event):
        window = self.window
        if event.new_episode:
            self.in_epoch = False
            if window < self.last_max:
                self.last_max = window * (BETA_DEN + BETA_NUM) // (2 * BETA_DEN) // self.grain * self.grain
            else:
                self.last_max = window
            self.before_window = window
            self.before_ssthresh = max(self.ssthresh, window - window // 4)
            self.ssthresh = max(window * BETA_NUM // BETA_DEN // self.grain * self.grain, 2 * self.mss)
            self.credit = 0
        if event.trigger == Trigger.TIMEOUT:
            self.window = event.in_flight // self.grain * self.grain + self.mss
            self.last_max = 0
            self.delay_min = UNKNOWN
            self.in_epoch = False
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
