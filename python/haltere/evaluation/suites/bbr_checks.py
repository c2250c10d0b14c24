"""Looks of the test cases of BBR. Each function returns a look at a run and the instant of its event."""

from __future__ import annotations

from collections.abc import Callable

from haltere.evaluation.suites.cases import Shown, kilobytes, mbit, seconds
from haltere.evaluation.suites.seen import Seen, Stay

Look = Callable[[Seen, float], Shown | None]
"""How a check looks at a run. None if the contender does not tell what it needs."""
_PROBES = ("ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeBW")
_SEGMENT = 1500.0
"""The path's MTU, bytes."""


def _ended(seen: Seen, state: str) -> list[Stay]:
    return [stay for stay in seen.of(state) if stay.after is not None]


def _never(state: str) -> Shown:
    return Shown(good=False, words=f"{state} never ended")


def follows(state: str, *after: str) -> Look:
    """Each stay in a state that ends is followed by one of others, those that ProbeRTT ends aside.

    A state that ends with the ACK with which it begins is not recorded: the one behind it is seen in its place.
    """

    def look(seen: Seen, _: float) -> Shown:
        ended = [stay.after for stay in _ended(seen, state) if stay.after in after or stay.after != "ProbeRTT"]
        if not ended:
            return _never(state)
        others = sorted({str(one) for one in ended} - set(after))
        right = sum(one in after for one in ended)
        return Shown(not others, f"{right} of {len(ended)}" + (f", else {', '.join(others)}" if others else ""))

    return look


def next_is(state: str, after: str) -> Look:
    """The first stay in a state from the event on is followed by another."""

    def look(seen: Seen, t: float) -> Shown:
        stay = next((stay for stay in _ended(seen, state) if stay.end > t), None)
        return _never(state) if stay is None else Shown(stay.after == after, f"{stay.after} after {stay.lasts:.3f} s")

    return look


def full_rounds(state: str) -> Look:
    """The count of rounds without growth reaches three as a state ends."""

    def look(seen: Seen, _: float) -> Shown:
        ended = [stay for stay in _ended(seen, state) if stay.after != "ProbeRTT"]
        if not ended:
            return _never(state)
        counts = [seen["full_bw_count"].most(stay.start, stay.end) or 0.0 for stay in ended]
        return Shown(min(counts) >= 3, f"{min(counts):.0f}")

    return look


def finds_the_path(state: str) -> Look:
    """The largest bandwidth is at least 98 % of what the receiver gets later, as a state ends."""

    def look(seen: Seen, _: float) -> Shown:
        stay = next(iter(_ended(seen, state)), None)
        if stay is None:
            return _never(state)
        found, carried = seen["max_bw"].at(stay.end) or 0.0, seen.goodput(seen.end / 2, seen.end)
        return Shown(found >= 0.98 * carried, f"{mbit(found)}; the receiver got {mbit(carried)}")

    return look


def estimates_the_path(state: str, within: float = 0.02) -> Look:
    """The largest bandwidth is the path's as a state ends: between what the receiver gets later and the link's rate."""

    def look(seen: Seen, _: float) -> Shown:
        stay = next(iter(_ended(seen, state)), None)
        if stay is None:
            return _never(state)
        found, carried = seen["max_bw"].at(stay.end) or 0.0, seen.goodput(seen.end / 2, seen.end)
        good = (1 - within) * carried <= found <= (1 + within) * seen.rate_bps
        return Shown(good, f"{mbit(found)}; the receiver got {mbit(carried)}")

    return look


def queue_drains() -> Look:
    """The bottleneck's queue falls below a tenth of the BDP within 15 round trips of its largest length."""

    def look(seen: Seen, _: float) -> Shown:
        queue = seen["queue"]
        half = seen.end / 2
        most = queue.most(0.0, half) or 0.0
        peak = queue.first(0.0, above=most) or 0.0
        low = queue.first(peak, below=max(0.1 * seen.bdp, 2 * _SEGMENT))
        took = None if low is None else (low - peak) / seen.rtt_s
        words = f"{kilobytes(most)} at {seconds(peak)}, " + (
            "never drained" if took is None else f"{took:.1f} round trips"
        )
        return Shown(took is not None and took <= 15, words)

    return look


def in_state(state: str) -> Look:
    """The state at the event, and just before the losses that follow it."""

    def look(seen: Seen, t: float) -> Shown:
        stay = next((stay for stay in seen.of(state, start=t - 1e-9)), None)
        return Shown(
            stay is not None, "never" if stay is None else f"from {seconds(stay.start)} to {seconds(stay.end)}"
        )

    return look


def reached(*states: str, rounds: float) -> Look:
    """One of some states begins within so many round trips of the first loss, or of the event, if nothing is lost."""

    def look(seen: Seen, t: float) -> Shown:
        since = max(t, seen.disturbed)
        stay = next(seen.of(*states, start=since), None)
        took = None if stay is None else (stay.start - since) / seen.rtt_s
        good = took is not None and took <= rounds
        return Shown(good, "never" if stay is None or took is None else f"{stay.state} after {took:.1f} round trips")

    return look


def paced(state: str, gain: float) -> Look:
    """The pacing rate over the estimated bandwidth, with the margin of 1 %, in the middle of the stays in a state."""

    def look(seen: Seen, _: float) -> Shown:
        gains = []
        for stay in _ended(seen, state):
            middle = (stay.start + stay.end) / 2
            rate, bandwidth = seen["pacing_rate"].at(middle), seen.bandwidth(middle)
            if rate is not None and bandwidth:
                gains.append(rate / bandwidth / 0.99)
        if not gains:
            return _never(state)
        far = max(gains, key=lambda found: abs(found - gain))
        return Shown(abs(far - gain) <= 0.01, f"{far:.3f}")

    return look


def leaves_at_bdp(state: str) -> Look:
    """No more than the estimated BDP is in flight as the stays in a state end, ProbeRTT and new probes aside."""

    def look(seen: Seen, _: float) -> Shown:
        return _leaving(seen, state, lambda flight, bdp: flight <= bdp + _SEGMENT)

    return look


def leaves_above_bdp(state: str) -> Look:
    """More than the estimated BDP is in flight as the stays in a state end."""

    def look(seen: Seen, _: float) -> Shown:
        return _leaving(seen, state, lambda flight, bdp: flight > bdp)

    return look


def _leaving(seen: Seen, state: str, good: Callable[[float, float], bool]) -> Shown:
    ended = [stay for stay in _ended(seen, state) if stay.after not in ("ProbeRTT", "ProbeBW_REFILL")]
    found = [
        (flight, bdp)
        for stay in ended
        if (flight := seen["bytes_in_flight"].at(stay.end)) is not None
        and (bdp := seen.estimated_bdp(stay.end)) is not None
    ]
    if not found:
        return _never(state)
    bad = next((one for one in found if not good(*one)), None)
    flight, bdp = bad or found[0]
    return Shown(bad is None, f"{kilobytes(flight)} in flight, the BDP is {kilobytes(bdp)}")


def rounds_in(state: str, least: int, most: int) -> Look:
    """A state lasts for so many round trips of BBR's count."""

    def look(seen: Seen, _: float) -> Shown:
        stay = next(iter(_ended(seen, state)), None)
        if stay is None:
            return _never(state)
        count = (seen["round_count"].at(stay.end) or 0.0) - (seen["round_count"].at(stay.start) or 0.0)
        return Shown(least <= count <= most, f"{count:.0f}")

    return look


def no_loss() -> Look:
    """The bottleneck drops nothing."""

    def look(seen: Seen, _: float) -> Shown:
        dropped = sum(link["dropped_queue"] + link["dropped_early"] + link["dropped_outage"] for link in seen.links)
        sent = max(sum(link["offered_packets"] for link in seen.links[:1]), 1)
        return Shown(dropped == 0, f"{dropped} of {sent} packets")

    return look


def only(*states: str) -> Look:
    """No other state is ever entered."""

    def look(seen: Seen, _: float) -> Shown:
        others = sorted({stay.state for stay in seen.stays} - set(states))
        return Shown(not others, "no other" if not others else ", ".join(others))

    return look


def carries(rate_bps: float, start: float, end: float) -> Look:
    """The receiver gets a rate, within 2 %, or more."""

    def look(seen: Seen, _: float) -> Shown:
        got = seen.goodput(start, end)
        return Shown(got >= 0.98 * rate_bps, mbit(got))

    return look


def carries_after(rate_bps: float, later: float, lasts: float) -> Look:
    """The receiver gets a rate from some seconds after the event on."""

    def look(seen: Seen, t: float) -> Shown:
        got = seen.goodput(t + later, min(t + later + lasts, seen.end))
        return Shown(got >= rate_bps, mbit(got))

    return look


def uses(share: float, start: float, end: float) -> Look:
    """The receiver gets a share of the link's rate."""

    def look(seen: Seen, _: float) -> Shown:
        got = seen.goodput(start, end) / seen.rate_bps
        return Shown(got >= share, f"{got:.1%} of the link's rate")

    return look


def fills(share: float, start: float, end: float) -> Look:
    """The flow's packets take a share of the link's rate: what the receiver gets, with the headers of the whole run."""

    def look(seen: Seen, _: float) -> Shown:
        wire = seen.flow["wire_bytes"] / max(seen.flow["bytes"], 1)
        taken = seen.goodput(start, end) * wire / seen.rate_bps
        return Shown(taken >= share, f"{taken:.1%} of the link's rate")

    return look


def uses_after(share: float, later: float, seconds: float | None = None) -> Look:
    """The receiver gets a share of the link's rate from some seconds after the event on."""

    def look(seen: Seen, t: float) -> Shown | None:
        end = seen.end if seconds is None else t + later + seconds
        return uses(share, t + later, end)(seen, t)

    return look


def lasts(state: str, least: float, most: float) -> Look:
    """The first stay in a state from the event on lasts for a time, seconds."""

    def look(seen: Seen, t: float) -> Shown:
        stay = next((stay for stay in _ended(seen, state) if stay.end > t), None)
        return _never(state) if stay is None else Shown(least <= stay.lasts <= most, seconds(stay.lasts))

    return look


def probe_rtt_every(interval: float) -> Look:
    """ProbeRTT begins an interval after the last one, or after the beginning, within half a second."""

    def look(seen: Seen, _: float) -> Shown:
        visits = list(seen.of("ProbeRTT"))
        since = [0.0, *(visit.end for visit in visits)]
        waits = [visit.start - before for visit, before in zip(visits, since, strict=False)]
        if not waits:
            return Shown(good=False, words="never")
        good = all(interval <= wait <= interval + 0.5 for wait in waits[1:]) and waits[0] <= interval + 2.0
        return Shown(good, "after " + ", ".join(f"{wait:.2f} s" for wait in waits))

    return look


def window_halved(state: str) -> Look:
    """The window falls to half of the estimated BDP in a state."""

    def look(seen: Seen, _: float) -> Shown:
        stay = next(iter(_ended(seen, state)), None)
        if stay is None:
            return _never(state)
        middle = (stay.start + stay.end) / 2
        window, bdp = seen["cwnd"].at(middle), seen.estimated_bdp(middle)
        if window is None or bdp is None:
            return Shown(good=False, words="not recorded")
        return Shown(
            window <= max(0.5 * bdp, 4 * _SEGMENT) + _SEGMENT, f"{kilobytes(window)}, the BDP is {kilobytes(bdp)}"
        )

    return look


def probe_bw_follows(state: str) -> Look:
    """A state of ProbeBW follows."""

    def look(seen: Seen, _: float) -> Shown:
        ended = _ended(seen, state)
        if not ended:
            return _never(state)
        wrong = next((stay.after for stay in ended if stay.after not in _PROBES), None)
        return Shown(wrong is None, str(wrong or ended[0].after))

    return look


def flight_dips(share: float, lasts: float) -> Look:
    """The flight stays below a share of the link's BDP for a time, between the seconds 1 and 12."""

    def look(seen: Seen, _: float) -> Shown:
        flight = seen["bytes_in_flight"]
        limit, longest, since = share * seen.bdp, 0.0, None
        for t, v in zip(flight.t, flight.v, strict=True):
            if t < 1.0 or t > 12.0:
                continue
            if v > limit:
                longest, since = max(longest, 0.0 if since is None else t - since), None
            elif since is None:
                since = t
        return Shown(longest >= lasts, f"{longest * 1e3:.0f} ms")

    return look


def none_of(state: str, start: float, end: float) -> Look:
    """A state does not begin between two times."""

    def look(seen: Seen, _: float) -> Shown:
        stay = next(seen.of(state, start=start, end=end), None)
        return Shown(stay is None, "none" if stay is None else f"at {seconds(stay.start)}")

    return look


def probes_bandwidth(t: float) -> Look:
    """The state at a time is one of ProbeBW."""

    def look(seen: Seen, _: float) -> Shown:
        state = seen.state(t)
        return Shown(state in _PROBES, str(state))

    return look


def extra_acked(pause: float, *states: str) -> Look:
    """The estimate of aggregation in some states is at least what arrives in a time."""

    def look(seen: Seen, _: float) -> Shown:
        stays = list(seen.of(*states))
        if not stays:
            return _never(states[0])
        most = seen["extra_acked"].most(stays[0].start, stays[-1].end)
        return Shown((most or 0.0) >= pause * seen.rate_bps / 8, kilobytes(most))

    return look


def extra_acked_after(pause: float) -> Look:
    """The estimate of aggregation after the event is at least what arrives in a time."""

    def look(seen: Seen, t: float) -> Shown:
        most = seen["extra_acked"].most(t + 1.0, seen.end)
        return Shown((most or 0.0) >= pause * seen.rate_bps / 8, kilobytes(most))

    return look


def window_exceeds(bdps: float) -> Look:
    """The window exceeds so many BDPs of the link at some time."""

    def look(seen: Seen, _: float) -> Shown:
        most = seen["cwnd"].most(0.0, seen.end)
        return Shown((most or 0.0) > bdps * seen.bdp, f"{(most or 0.0) / seen.bdp:.2f} BDP")

    return look


def least_window(packets: int) -> Look:
    """The window is never below so many packets in ProbeBW, and comes down to about that."""

    def look(seen: Seen, _: float) -> Shown:
        stay = next(seen.of(*_PROBES), None)
        if stay is None:
            return _never("Startup")
        least = seen["cwnd"].least(stay.start, seen.end) or 0.0
        return Shown(least >= packets * 1200, f"{kilobytes(least)} at least")

    return look


def paces_the_path(state: str, within: float) -> Look:
    """The pacing rate in a state is near the link's rate."""

    def look(seen: Seen, _: float) -> Shown:
        found = [seen["pacing_rate"].at((stay.start + stay.end) / 2) or 0.0 for stay in seen.of(state)]
        if not found:
            return _never(state)
        far = max(found, key=lambda rate: abs(rate / seen.rate_bps - 0.97))
        return Shown(abs(far / seen.rate_bps - 0.97) <= within, f"{far / 1e3:.1f} kbit/s")

    return look


def estimates_after(rate_bps: float, later: float, within: float) -> Look:
    """The largest bandwidth is near a rate some seconds after the event."""

    def look(seen: Seen, t: float) -> Shown:
        found = seen["max_bw"].at(min(t + later, seen.end))
        good = found is not None and abs(found / rate_bps - 0.97) <= within
        return Shown(good, mbit(found))

    return look


def bound_falls(share: float, later: float) -> Look:
    """The short-term bound of the bandwidth falls below a share of the rate within some seconds of the event."""

    def look(seen: Seen, t: float) -> Shown:
        least = seen["bw_shortterm"].least(t, t + later)
        return Shown(least is not None and least < share * seen.rate_bps, mbit(least))

    return look


def adapts_down(within: float) -> Look:
    """The largest bandwidth is near a tenth of the rate once two further cycles have begun."""

    def look(seen: Seen, t: float) -> Shown:
        cycles = [stay.start for stay in seen.of("ProbeBW_DOWN", start=t)]
        if len(cycles) < 3:
            return Shown(good=False, words=f"{len(cycles)} cycles after the event")
        found = seen["max_bw"].at(cycles[2] + 10 * seen.rtt_s)
        good = found is not None and abs(found / (seen.rate_bps / 10) - 0.97) <= within
        return Shown(good, f"{mbit(found)} at {seconds(cycles[2])}")

    return look


def bounds_are_set() -> Look:
    """Both short-term bounds are set at some time."""

    def look(seen: Seen, _: float) -> Shown:
        least = [seen[name].least(0.0, seen.end) for name in ("bw_shortterm", "inflight_shortterm")]
        return Shown(None not in least, f"{mbit(least[0])}, {kilobytes(least[1])}")

    return look


def loses(share: float) -> Look:
    """At most a share of the packets of the whole run is dropped."""

    def look(seen: Seen, _: float) -> Shown:
        link = seen.links[0]
        lost = (link["dropped_queue"] + link["dropped_early"]) / max(link["offered_packets"], 1)
        return Shown(lost <= share, f"{lost:.1%}")

    return look


def spurious() -> Look:
    """Packets are sent again though nothing was lost."""

    def look(seen: Seen, _: float) -> Shown:
        again = seen.flow["retransmitted_packets"]
        lost = sum(link["dropped_queue"] + link["dropped_outage"] for link in seen.links)
        return Shown(again > 0 and lost == 0, f"{again} sent again, {lost} lost")

    return look


def timeouts() -> Look:
    """A retransmission timeout expires. QUIC has none: it probes, and reduces nothing (RFC 9002 section 6.2.4)."""

    def look(seen: Seen, _: float) -> Shown | None:
        if "quic" in seen.flow["contender"].partition("/")[0]:
            return Shown(good=True, words="QUIC probes instead, and reduces nothing")
        count = seen.flow["timeouts"]
        return None if count is None else Shown(bool(count), f"{count}")

    return look


def back_in(*states: str, rounds: float) -> Look:
    """One of some states is there so many round trips after the event."""

    def look(seen: Seen, t: float) -> Shown:
        limit = t + rounds * seen.rtt_s
        here = [stay for stay in seen.stays if stay.start <= limit and stay.end > t]
        good = bool(here) and here[-1].state in states
        return Shown(good, " → ".join(stay.state for stay in here))

    return look


def restored(*, rounds: float, later: float = 0.0) -> Look:
    """The short-term bounds are as before the event: no lower than then, or not set."""

    def look(seen: Seen, t: float) -> Shown:
        after = t + later + rounds * seen.rtt_s
        words, good = [], True
        for name, said in (("bw_shortterm", mbit), ("inflight_shortterm", kilobytes)):
            before, now = seen[name].at(t), seen[name].at(after)
            good &= now is None or (before is not None and now >= before)
            words.append(f"{name} {said(now)}")
        return Shown(good, ", ".join(words))

    return look


def is_set(name: str) -> Look:
    """A bound is set at the event."""

    def look(seen: Seen, t: float) -> Shown:
        value = seen[name].at(t)
        return Shown(value is not None, kilobytes(value))

    return look


def cut_by_beta(*, rounds: float) -> Look:
    """The long-term bound in flight after losses: at least 0.7 of the estimated BDP, and not above the one before."""

    def look(seen: Seen, t: float) -> Shown:
        after = t + rounds * seen.rtt_s
        before, now, bdp = seen["inflight_longterm"].at(t), seen["inflight_longterm"].at(after), seen.estimated_bdp(t)
        if before is None or now is None or bdp is None:
            return Shown(good=False, words="not set")
        good = (
            0.7 * min(bdp, seen["cwnd"].at(t) or bdp) - _SEGMENT
            <= now
            <= max(before, seen["cwnd"].most(t, after) or 0.0)
        )
        return Shown(good, f"{kilobytes(before)} before, {kilobytes(now)} after, the BDP is {kilobytes(bdp)}")

    return look


def keeps(name: str, share: float, *, rounds: float) -> Look:
    """A value does not fall below a share of the one at the event."""

    def look(seen: Seen, t: float) -> Shown:
        before, least = seen[name].at(t), seen[name].least(t, t + rounds * seen.rtt_s)
        good = before is not None and least is not None and least >= share * before
        return Shown(good, f"{mbit(before)} before, {mbit(least)} after")

    return look
