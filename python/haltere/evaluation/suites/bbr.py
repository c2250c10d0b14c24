"""The 22 example test cases of draft-ietf-ccwg-bbr, appendix "BBR Example Test Cases", in its order."""

from __future__ import annotations

from typing import Any

from haltere.evaluation.suites import bbr_checks as look
from haltere.evaluation.suites.cases import Case, Check, Cue, Document, Path, Suite, down
from haltere.evaluation.suites.seen import Seen

UP, DOWN, CRUISE, REFILL = "ProbeBW_UP", "ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL"
STARTUP, DRAIN, PROBE_RTT = "Startup", "Drain", "ProbeRTT"


def _inside(says: str, of: look.Look) -> Check:
    return Check(says, inside=True, look=of)


def _wire(says: str, of: look.Look) -> Check:
    return Check(says, inside=False, look=of)


def _rate(*, times: float) -> Any:
    def event(document: Document, t: float, seen: Seen) -> None:
        values = [f"{seen.rate_bps:.0f}bit/s", f"{seen.rate_bps * times:.0f}bit/s"]
        down(document)["rate"] = {"at": ["0s", _at(t)], "value": values}

    return event


def _losses(*, first: float, apart: float, each: float, count: int) -> Any:
    """`count` times, every `apart` seconds from `first` after the event, what is sent for `each` seconds is lost."""

    def event(document: Document, t: float, _: Seen) -> None:
        starts = [t + first + i * apart for i in range(count)]
        down(document)["outage"] = [{"from": _at(start), "to": _at(start + each)} for start in starts]

    return event


def _batches(document: Document, t: float, seen: Seen) -> None:
    """Acknowledgements are held for 40 of each 50 ms from the event on."""
    starts = [t + i * 0.05 for i in range(int((seen.end - t) / 0.05))]
    held = [{"from": _at(start), "to": _at(start + 0.04)} for start in starts]
    document["topology"]["link"]["up"]["outage"] = {"periods": held, "packets": "hold"}


def _late(document: Document, t: float, seen: Seen) -> None:
    """Packets that are sent in 4 ms arrive after those of the next 26 ms."""
    usual = f"{seen.rtt_s / 2 * 1e6:.0f}us"
    later = f"{(seen.rtt_s / 2 + 0.03) * 1e6:.0f}us"
    course = {"at": ["0s", _at(t), _at(t + 0.004)], "value": [usual, later, usual], "reorder": True}
    down(document)["delay"] = course


def _spike(document: Document, t: float, _: Seen) -> None:
    """Everything waits for 1.5 s, longer than a retransmission timeout."""
    held = {"periods": [{"from": _at(t), "to": _at(t + 1.5)}], "packets": "hold"}
    document["topology"]["link"]["up"]["outage"] = held


def _pause(document: Document, t: float, seen: Seen) -> None:
    """The application has what was sent by now, and nothing more for a round trip."""
    sent = (seen["received"].at(t) or 0.0) + (seen["bytes_in_flight"].at(t) or 0.0)
    document["flows"][0]["supply"] = _written(int(sent), until=t + seen.rtt_s)


def _written(size: int, *, until: float) -> Document:
    """The supply of an application that writes so many bytes ten milliseconds after the request, and then pauses."""
    pause = {"from": "80ms", "to": _at(until)}  # The request comes between 60 and 70 ms.
    return {"rate": f"{size * 8 * 100}bit/s", "write": f"{size}B", "pauses": [pause]}


def _at(t: float) -> str:
    return f"{t * 1e9:.0f}ns"


_LIMITED = {"rate": {"at": ["0s", "3s"], "value": ["13Mbit/s", "7Mbit/s"]}, "write": "1400B"}
"""A supply that fills a path of 10 Mbit/s for three seconds, and 70 % of it once what it had too much is sent."""

CASES = (
    Case(
        1,
        "Exiting STARTUP on Bandwidth Plateau",
        Path(seconds=6.0),
        (
            _inside("Startup is followed by Drain", look.follows(STARTUP, DRAIN)),
            _inside("full_bw_count has reached 3 by then", look.full_rounds(STARTUP)),
            _inside("max_bw is within 2 % of what the path delivers", look.estimates_the_path(STARTUP)),
            _wire("the queue of Startup has drained within 15 round trips", look.queue_drains()),
        ),
    ),
    Case(
        2,
        "Exiting STARTUP on Loss When Application-Limited",
        Path(rate_bps=40e6, rtt_s=0.1, seconds=6.0, supply={"rate": "20Mbit/s", "write": "1400B"}),
        (
            _inside("Startup lasts until the losses", look.in_state(STARTUP)),
            _inside(
                "Drain follows within five round trips, or what follows it at once",
                look.reached(DRAIN, DOWN, CRUISE, rounds=5),
            ),
        ),
        cue=Cue(STARTUP),
        event=_losses(first=2.0, apart=0.01, each=0.0008, count=9),
        happens="the application has half of the path's rate; after two seconds nine bursts are lost in a round trip",
    ),
    Case(
        3,
        "Exiting DRAIN Based on Inflight",
        Path(seconds=6.0),
        (
            _inside("the pacing gain in Drain is 0.5", look.paced(DRAIN, 0.5)),
            _inside("Drain ends as no more than the estimated BDP is in flight", look.leaves_at_bdp(DRAIN)),
            _inside("DOWN follows, or CRUISE at once", look.follows(DRAIN, DOWN, CRUISE)),
        ),
    ),
    Case(
        4,
        "Exiting DRAIN Based on Time",
        Path(seconds=6.0, down={"queue": "8bdp"}),
        (
            _inside("more than the estimated BDP is in flight as Drain ends", look.leaves_above_bdp(DRAIN)),
            _inside("Drain ends after three round trips", look.rounds_in(DRAIN, 3, 4)),
        ),
        cue=Cue(DRAIN),
        event=_rate(times=0.4),
        happens="the rate falls to 40 % as Drain begins",
        note="The draft lowers the rate by 10 %. With a pacing gain of 0.5 the queue drains in three round trips then.",
    ),
    Case(
        5,
        "Exiting PROBE_UP on Bandwidth Plateau",
        Path(seconds=14.0, down={"queue": "8bdp"}),
        (
            _inside("no packet is lost", look.no_loss()),
            _inside("each UP that ends is followed by DOWN, or CRUISE at once", look.follows(UP, DOWN, CRUISE)),
            _inside("full_bw_count has reached 3 by then", look.full_rounds(UP)),
        ),
    ),
    Case(
        6,
        "Exiting PROBE_UP on Loss When Application-Limited",
        Path(seconds=14.0, supply=_LIMITED),
        (
            _inside("UP lasts until the losses", look.in_state(UP)),
            _inside("DOWN follows within three round trips, or CRUISE at once", look.reached(DOWN, CRUISE, rounds=3)),
        ),
        cue=Cue(UP, after=7.0),
        event=_losses(first=0.2, apart=0.012, each=0.002, count=3),
        happens="the application has 70 % of the rate; in UP three bursts are lost in one round trip",
    ),
    Case(
        7,
        "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss",
        Path(seconds=20.0, supply={"rate": "5Mbit/s", "write": "1400B"}),
        (
            _inside("Startup ends for ProbeRTT alone", look.only(STARTUP, PROBE_RTT)),
            _wire("no packet is lost", look.no_loss()),
            _wire("the application's data arrive at its rate", look.carries(5e6, 10.0, 20.0)),
        ),
        happens="the application has half of the path's rate",
    ),
    Case(
        8,
        "Exiting PROBE_DOWN on Inflight",
        Path(seconds=12.0),
        (
            _inside("the pacing gain in DOWN is 0.90", look.paced(DOWN, 0.9)),
            _inside("DOWN ends as no more than the estimated BDP is in flight", look.leaves_at_bdp(DOWN)),
            _inside("CRUISE follows", look.follows(DOWN, CRUISE)),
        ),
    ),
    Case(
        9,
        "Exiting PROBE_DOWN After Max Time",
        Path(seconds=14.0, down={"queue": "8bdp"}),
        (
            _inside("REFILL follows directly", look.next_is(DOWN, REFILL)),
            _inside("DOWN lasts no longer than bw_probe_wait, three seconds at most", look.lasts(DOWN, 0.5, 3.2)),
        ),
        cue=Cue(DOWN, after=1.5),
        event=_rate(times=0.87),
        happens="the rate falls by 13 % as DOWN begins",
        note="The draft lowers the rate by 10 %. The pacing rate is 0.99 x 0.90 of the old one: the queue would drain.",
    ),
    Case(
        10,
        "Entering and Exiting PROBE_RTT",
        Path(seconds=14.0),
        (
            _inside("ProbeRTT begins five seconds after the least RTT was seen", look.probe_rtt_every(5.0)),
            _inside("the window falls to half of the estimated BDP", look.window_halved(PROBE_RTT)),
            _inside("ProbeRTT lasts for 200 ms and a round trip at least", look.lasts(PROBE_RTT, 0.2, 1.0)),
            _inside("ProbeBW follows", look.probe_bw_follows(PROBE_RTT)),
            _wire("what is in flight falls below 0.6 BDP for 200 ms", look.flight_dips(0.6, 0.2)),
            _wire("sending resumes", look.uses(0.85, 8.0, 13.5)),
        ),
    ),
    Case(
        11,
        "Skipping PROBE_RTT Due to Application-Limited Sending",
        Path(
            seconds=14.0,
            supply={"rate": "1Gbit/s", "pauses": [{"from": "90ms", "to": "12s"}], "write": "4kB"},
        ),
        (
            _inside("no ProbeRTT in the second after the pause", look.none_of(PROBE_RTT, 11.9, 13.0)),
            _inside("ProbeBW goes on", look.probes_bandwidth(12.1)),
            _wire("sending resumes", look.uses(0.8, 12.3, 13.9)),
        ),
        happens="the application pauses until the twelfth second",
    ),
    Case(
        12,
        "Achieving Expected STARTUP Bandwidth on a Link With Aggregation",
        Path(
            seconds=6.0,
            rtt_s=0.06,
            down={"queue": "8bdp"},
            up={
                "outage": {
                    "periods": [{"from": "0ms", "to": "40ms"}, {"from": "50ms", "to": "90ms"}],
                    "packets": "hold",
                    "repeat": "100ms",
                }
            },
        ),
        (
            _inside(
                "extra_acked is at least what arrives in half of the pauses", look.extra_acked(0.02, STARTUP, DRAIN)
            ),
            _inside("the window exceeds twice the BDP", look.window_exceeds(2.0)),
            _inside("max_bw is at least what the path delivers", look.finds_the_path(STARTUP)),
            _wire("the path is filled", look.fills(0.9, 3.0, 6.0)),
        ),
        happens="acknowledgements are held for 40 of each 50 ms",
    ),
    Case(
        13,
        "Achieving Expected Cruise Bandwidth on a Link With Aggregation",
        Path(seconds=12.0, rtt_s=0.06, down={"queue": "8bdp"}),
        (
            _inside("extra_acked is at least what arrives in half of the pauses", look.extra_acked_after(0.02)),
            _wire("the path is used", look.uses_after(0.9, 1.0)),
        ),
        cue=Cue(CRUISE, after=2.0, otherwise=4.0),
        event=_batches,
        happens="from CRUISE on acknowledgements are held for 40 of each 50 ms",
    ),
    Case(
        14,
        "Correctly Managing Sub-Packet BDPs",
        Path(rate_bps=64e3, rtt_s=0.01, seconds=60.0, down={"queue": "20p"}),
        (
            _inside("the window is never below four packets", look.least_window(4)),
            _inside("the pacing rate in CRUISE is within 10 % of the path's", look.paces_the_path(CRUISE, 0.1)),
            _wire("the path is used", look.uses(0.9, 20.0, 60.0)),
        ),
    ),
    Case(
        15,
        "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached",
        Path(seconds=20.0, down={"queue": "400p"}),
        (
            _inside("max_bw is within 5 % of the new rate after ten seconds", look.estimates_after(100e6, 10.0, 0.05)),
            _wire("the new rate is used after ten seconds", look.carries_after(90e6 * 0.93, 10.0, 2.0)),
        ),
        cue=Cue(CRUISE, after=4.0, otherwise=6.0),
        event=_rate(times=10.0),
        happens="the rate rises from 10 to 100 Mbit/s in CRUISE",
        note="Without losses before there is no inflight_longterm whose growth could be followed.",
    ),
    Case(
        16,
        "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down",
        Path(rate_bps=100e6, seconds=20.0, down={"queue": "1bdp"}),
        (
            _inside("bw_shortterm falls below half of the old rate within two seconds", look.bound_falls(0.5, 2.0)),
            _inside("max_bw is within 10 % of the new rate after two more probes", look.adapts_down(0.1)),
            _wire("the new rate is used at the end", look.carries(9e6, 15.0, 20.0)),
        ),
        cue=Cue(CRUISE, after=2.0, otherwise=4.0),
        event=_rate(times=0.1),
        happens="the rate falls from 100 to 10 Mbit/s in CRUISE",
    ),
    Case(
        17,
        "Handling Token Bucket Policers",
        Path(
            rate_bps=100e6,
            seconds=30.0,
            down={"queue": {"discipline": "tbf", "rate": "10Mbit/s", "burst": "250kB", "limit": "3kB"}},
        ),
        (
            _inside("bw_shortterm and inflight_shortterm answer the losses", look.bounds_are_set()),
            _wire("the tokens' rate is used", look.carries(8e6, 15.0, 30.0)),
            _wire("at most a tenth of all packets is lost", look.loses(0.1)),
        ),
        happens="a bucket of 250 kB is filled at 10 Mbit/s in front of a link of 100; hardly anything waits for tokens",
    ),
    Case(
        18,
        "Handling Spurious Fast Recovery",
        Path(seconds=12.0, down={"queue": "8bdp"}),
        (
            _wire("packets are taken for lost", look.spurious()),
            _inside("UP or REFILL is there again within three round trips", look.back_in(UP, REFILL, rounds=3)),
            _inside("bw_shortterm and inflight_shortterm are as before", look.restored(rounds=6)),
            _wire("the path is used", look.uses_after(0.85, 0.2, seconds=1.0)),
        ),
        cue=Cue(UP, after=2.0, otherwise=4.0),
        event=_late,
        happens="in UP the packets of 4 ms arrive 30 ms late",
    ),
    Case(
        19,
        "Handling Spurious RTO Recovery",
        Path(seconds=14.0, down={"queue": "8bdp"}),
        (
            _wire("a timeout expires", look.timeouts()),
            _inside("bw_shortterm and inflight_shortterm are as before", look.restored(rounds=8, later=1.5)),
            _wire("the path is used", look.uses_after(0.8, 2.0, seconds=1.5)),
        ),
        cue=Cue(CRUISE, after=2.0, otherwise=4.0),
        event=_spike,
        happens="in CRUISE acknowledgements wait for 1.5 s",
        note="The draft's reordering would have to last for longer than the timeout: here nothing overtakes anything.",
    ),
    Case(
        20,
        "Entering and Exiting PROBE_RTT During STARTUP",
        Path(seconds=14.0, supply={"rate": "5Mbit/s", "write": "1400B"}),
        (
            _inside("ProbeRTT begins in Startup", look.next_is(STARTUP, PROBE_RTT)),
            _inside("Startup follows", look.follows(PROBE_RTT, STARTUP)),
        ),
        happens="the application has half of the path's rate, so that Startup lasts",
    ),
    Case(
        21,
        "Handling Loss During PROBE_UP After inflight_longterm is Set",
        Path(seconds=20.0, down={"queue": "0.5bdp"}),
        (
            _inside("inflight_longterm is set before", look.is_set("inflight_longterm")),
            _inside("it is at least 0.7 of the estimated BDP, and not larger than before", look.cut_by_beta(rounds=3)),
            _inside("DOWN follows within three round trips, or CRUISE at once", look.reached(DOWN, CRUISE, rounds=3)),
        ),
        cue=Cue(UP, after=6.0),
        event=_losses(first=0.01, apart=0.006, each=0.002, count=3),
        happens="in a later UP three bursts are lost in one round trip",
    ),
    Case(
        22,
        "Handling Application-Limited Sending During PROBE_REFILL",
        Path(seconds=12.0, down={"queue": "8bdp"}, supply=_written(25_000_000, until=100.0)),
        (
            _inside("max_bw does not fall", look.keeps("max_bw", 0.98, rounds=3)),
            _inside("UP follows REFILL", look.reached(UP, rounds=4)),
        ),
        cue=Cue(REFILL, after=2.0),
        event=_pause,
        happens="the application pauses for a round trip as REFILL begins",
    ),
)

SUITE = Suite(
    "bbr",
    "The example test cases of BBR version 3",
    'draft-ietf-ccwg-bbr (August 2026), appendix "BBR Example Test Cases"',
    CASES,
)
