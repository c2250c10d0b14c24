"""The time that a device's radio is on."""

from __future__ import annotations

import itertools

from haltere.claims import OURS, Evidence, Verdict, alike, all_of, claim, exceeds, reading, remark
from haltere.claims.comparison import compare
from haltere.metrics.tables import Tables

from .shared import each

ENERGY = "energy, beyond the thesis; the rule was written before there were results"


@claim(
    "QUIC's keep-alive doubles the time that an LTE radio is on; with 0-RTT a device can sleep and be as good as TCP.",
    source=ENERGY,
    whose=OURS,
)
def keep_alive(tables: Tables) -> Verdict:
    """A message a minute. QUIC's connection ends after 30 s without packets, so that it needs a PINGREQ every 20 s;
    over TCP every 60 s is enough. With LTE the time that the radio is on for each message must be more than twice as
    long over QUIC; and with sleeping devices, which resume with 0-RTT, it must be that over TCP every 60 s within the
    margin of 5 %. Means over QoS 0 to 2, messages at once."""
    over = {"radio": ["LTE"], "qos": ["0", "1", "2"], "gather": ["at once"]}
    parts: list[Evidence] = []
    kept = compare(tables, "energy", "radio_on", "device", "QUIC, every 20 s", "TCP, every 60 s", over=over)
    parts.append(exceeds("Radio on, QUIC every 20 s ÷ TCP every 60 s", kept.pooled(), 2.0))
    asleep = compare(tables, "energy", "radio_on", "device", "QUIC, sleeps", "TCP, every 60 s", over=over)
    parts.append(alike("Radio on, QUIC that sleeps ÷ TCP every 60 s", asleep.pooled(), asleep.metric))
    for radio, device in itertools.product(("LTE", "Wi-Fi"), tables.levels("energy", "device")):
        where = {"radio": radio, "device": device, "gather": "at once", "qos": "1"}
        on, joules, size = (
            each(tables, "energy", m, **where).mean() for m in ("radio_on", "radio_energy", "radio_bytes")
        )
        shown = f"{on:.2f} s, {joules:.2g} J (estimate), {size:.0f} B"
        parts.append(remark(f"{radio}, {device}: a message of QoS 1", shown))
    return all_of(*parts)


@claim("On LTE, QoS costs no radio time, and ten messages together save four fifths of it.", source=ENERGY, whose=OURS)
def gathered(tables: Tables) -> Verdict:
    """TCP with a PINGREQ every 60 s, QUIC and TCP that sleep. The time that the radio is on for each message at QoS 1
    and 2 must be that at QoS 0 within the margin of 5 %; of devices that sleep, it must be less than a fifth for ten
    messages every ten minutes of that for one a minute."""
    devices = ["TCP, every 60 s", "TCP, sleeps", "QUIC, sleeps"]
    parts: list[Evidence] = []
    for qos in ("1", "2"):
        over = {"radio": ["LTE"], "device": devices, "gather": ["at once"]}
        found = compare(tables, "energy", "radio_on", "qos", qos, "0", over=over)
        parts.append(alike(f"Radio on, QoS {qos} ÷ QoS 0", found.pooled(), found.metric))
    over = {"radio": ["LTE"], "device": devices[1:], "qos": ["0", "1", "2"]}
    found = compare(tables, "energy", "radio_on", "gather", "at once", "ten together", over=over)
    parts.append(exceeds("Radio on, at once ÷ ten together", found.pooled(), 5.0))
    over = {**over, "device": devices[:1]}
    awake = compare(tables, "energy", "radio_on", "gather", "at once", "ten together", over=over)
    parts.append(remark("The same, TCP every 60 s", reading(awake.pooled(), awake.metric)))
    return all_of(*parts)
