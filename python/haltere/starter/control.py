"""A congestion control. docs/how-to/congestion-controls.md says what its methods are told.

    haltere compare tcp/cubic tcp/./NAME.py --rate 40Mbit/s --rtt 50ms --loss 0.1%
    haltere compare quic/bbr quic/./NAME.py+backoff=0.7 --queue fq_codel

Times are nanoseconds since the start of the run, sizes are bytes and rates are bits a second; -1 stands for what is
not known.
"""

import haltere
from haltere.plugins import NEVER, Trigger


# A class of numbers alone is compiled, which makes runs as fast as with a built-in control: remove the first sign.
# @haltere.compiled
class TITLE:
    """Additive increase, multiplicative decrease (Reno): the first line is its summary."""

    backoff = haltere.parameter(0.5, "share of the window that a loss leaves", least=0.1, most=0.95)

    def __init__(self, config):
        """`config` has the facts about the path: `mss`, `initial_window`, `grain` (windows are multiples of it)."""
        self.mss = config.mss
        self.window = config.initial_window  # bytes that may be in flight: the transport reads it after each call
        self.ssthresh = NEVER  # below it the window doubles each round trip
        self.before = 0  # the window before the last reduction
        # self.pacing_rate = …                  # bits a second, for a control that paces

    def on_ack(self, ack):
        """An ACK delivered `ack.delivered` bytes. `ack.rtt`, `ack.in_flight`, `ack.rate.delivered` … say more."""
        if not (ack.window_limited and ack.may_grow):
            return
        if self.window < self.ssthresh:
            self.window += ack.delivered
        else:
            self.window += self.mss * ack.delivered // self.window

    def on_congestion(self, event):
        """Losses were found, or marks arrived: `event.trigger`. The transport does the rest of recovery."""
        if event.new_episode:
            self.before = self.window
            self.ssthresh = max(int(self.backoff * self.window), 2 * self.mss)
        if event.trigger == Trigger.TIMEOUT:
            self.window = event.in_flight + self.mss
        else:
            self.window = min(self.window, self.ssthresh)

    def on_undo(self):
        """The last reduction was a mistake: what seemed lost was late."""
        self.window = max(self.window, self.before)

    def set_mss(self, mss, wire):
        """Packets are of another size from now on, for a larger MTU was found."""
        self.mss = mss
        self.window = max(self.window, 2 * mss)
