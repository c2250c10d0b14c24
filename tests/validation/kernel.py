#!/usr/bin/env python3
"""Lay the model beside the kernel's measurements: write the tables and the figure of docs/reference/validation.md.

usage: .venv/bin/python tests/validation/kernel.py
"""

from __future__ import annotations

import json
import re
import statistics as st
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import linregress, spearmanr

import cases
from haltere import core
from haltere.adhoc.conditions import Conditions

SUMMARY = cases.ROOT / "docs" / "explanation" / "validation.md"
DOCUMENT = cases.ROOT / "docs" / "reference" / "validation.md"
FIGURE = cases.ROOT / "docs" / "figures" / "kernel-cwnd.svg"
STYLE = cases.ROOT / "python" / "haltere" / "figures" / "paper.mplstyle"
REPLICATIONS = 1000
TRACED = 300
SHARE_REPLICATIONS = 40
# The bounds on a single case; the summary has those on all of them.
FREE_BOUND, LOSSY_BOUND = 0.02, 0.06
MSS = 1448
# The queues of the traces: the record names none; these are the only ones with the kernel's retransmissions.
TRACE_QUEUES = (1000, 167, 1000, 167)


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table, first column to the left."""
    lines = [heads, ["---", *(["--:"] * (len(heads) - 1))], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def single_flows() -> Iterator[tuple[str, str]]:
    """Yield the tables of downloads and their summary."""
    measured = cases.cases()
    samples = cases.simulate(measured, REPLICATIONS)
    free, lossy, free_errors, lossy_errors, own = [], [], [], [], []
    for case, ours in zip(measured, samples, strict=True):
        error = cases.error(case, ours)
        kernel_s, name = case.measured["median_s"], case.name
        low, high = cases.spread_of_median(case.times)
        if not case.lossy:
            free_errors.append(abs(error))
            outside = " **outside**" if abs(error) > FREE_BOUND else ""
            span = f"{min(case.times):.3f} – {max(case.times):.3f}"
            free.append([name, f"{kernel_s:.3f}", span, f"{ours.median:.3f}", f"{error:+.4f}{outside}"])
            continue
        lossy_errors.append(abs(error))
        own.append((high - low) / 2)
        position = cases.median_position(kernel_s, ours.times, len(case.times))
        outside = " **outside**" if abs(error) > LOSSY_BOUND else ""
        drops, expected = case.measured["random_drops"], st.mean(ours.random_drops)
        slope = linregress(ours.random_drops, np.log(ours.times)).slope
        evened = error + slope * (st.mean(drops) - expected)
        deviation = (st.mean(drops) - expected) / (st.stdev(ours.random_drops) / len(drops) ** 0.5)
        lossy.append(
            [
                name,
                f"{kernel_s:.3f} ({len(case.times)})",
                f"{low:+.3f} … {high:+.3f}",
                f"{ours.median:.3f}",
                f"{np.quantile(ours.times, 0.05):.2f} – {np.quantile(ours.times, 0.95):.2f}",
                f"{error:+.3f}{outside}",
                f"{position:.2f}",
                f"{st.mean(drops):.1f} / {expected:.1f} ({deviation:+.1f})",
                f"{evened:+.3f}",
            ]
        )
    yield "loss-free", table(["case", "kernel (s)", "its runs (s)", "model (s)", "log ratio"], free)
    heads = ["case", "kernel (s) (runs)", "its median ±", "model (s)", "5 – 95 % (s)", "log ratio", "position"]
    heads += ["losses: kernel / model (z)", "losses evened"]
    yield "lossy", table(heads, lossy)
    q = cases.quantile
    rows = [
        ["without loss, median", f"{q(free_errors, 0.5):.4f}", "0.005", "0.002"],
        ["without loss, 90th percentile", f"{q(free_errors, 0.9):.4f}", "0.02", "0.01"],
        ["with loss, median", f"{q(lossy_errors, 0.5):.3f}", "0.06", "0.106"],
        ["with loss, 90th percentile", f"{q(lossy_errors, 0.9):.3f}", "0.20", "0.25"],
    ]
    summary = table(["\\|log ratio\\| of median completion times", "haltere", "bound", "ns-3.48"], rows)
    note = (
        f"Half the width of the 95 % interval of the kernel's own median with loss: {q(own, 0.5):.3f} in the median "
        f"case, {q(own, 0.9):.3f} at the 90th percentile."
    )
    yield "summary", f"{summary}\n\n{note}"


def outside() -> str:
    """Return, for each case outside its bound, what decides how long it takes: the window at which slow start ended."""
    parts = []
    measured = [case for case in cases.cases() if case.lossy]
    samples = cases.simulate(measured, REPLICATIONS)
    for case, sample in zip(measured, samples, strict=True):
        if abs(cases.error(case, sample)) <= LOSSY_BOUND:
            continue
        windows, times = np.asarray([_first_threshold(case, r) for r in range(TRACED)]).T
        rows = []
        for low, high in pairwise((0, 10, 20, 40, 80, 160, np.inf)):
            chosen = times[(windows >= low) & (windows < high)]
            if len(chosen):
                label = f"{low:.0f} to {high:.0f}" if np.isfinite(high) else f"{low:.0f} or more"
                span = " – ".join(f"{v:.1f}" for v in np.quantile(chosen, [0.1, 0.9]))
                rows.append([label, f"{len(chosen) / TRACED:.0%}", f"{np.median(chosen):.1f}", span])
        rank = spearmanr(windows, times).statistic
        theirs = ", ".join(f"{t:.1f}" for t in sorted(case.times))
        quartiles = ", ".join(f"{t:.1f}" for t in np.quantile(sample.times, [0.05, 0.25, 0.5, 0.75, 0.95]))
        heads = ["ssthresh after the first loss (packets)", "of the runs", "median (s)", "10 – 90 % (s)"]
        parts.append(
            f"**{case.name}.** Kernel, its {len(case.times)} runs (s): {theirs}. Model, 5, 25, 50, 75, 95 % of "
            f"{len(sample.times)} runs (s): {quartiles}. Rank correlation of the first ssthresh and the completion "
            f"time in the model: {rank:+.2f}.\n\n{table(heads, rows)}"
        )
    return "\n\n".join(parts) or "None."


def _first_threshold(case: cases.Case, replication: int) -> tuple[float, float]:
    answer = core.trace(case.scenario(), cases.SEED, replication)
    values = next(s for s in answer["series"] if s["name"] == "ssthresh" and s["who"] == "flow 0")["v"]
    known = [v / MSS for v in values if v is not None and np.isfinite(v)]
    return (known[0] if known else np.inf), answer["result"]["flows"][0]["completion_s"]


def fairness() -> str:
    """Return the table of shares."""
    rows = []
    shares = cases.shares(SHARE_REPLICATIONS)
    for share in shares:
        theirs, ours = share.theirs, share.ours
        rows.append(
            [
                f"{share.pair[0]} with {share.pair[1]}, buffer {share.buffer_bdp} BDP",
                f"{st.mean(theirs):.3f} ({min(theirs):.3f} – {max(theirs):.3f})",
                f"{st.mean(ours):.3f} ({min(ours):.3f} – {max(ours):.3f})",
                f"{share.difference:+.3f}",
            ]
        )
    worst = max(abs(share.difference) for share in shares)
    heads = ["first with second", "kernel: the first's share (its 4 runs)", "model", "difference"]
    return f"{table(heads, rows)}\n\nWorst difference: {worst:.3f} (bound 0.1)."


def queueing() -> str:
    """Return the table of the delay that a ping would have met."""
    rows = []
    for measured in cases.kernel()["bufferbloat"]:
        flows, base, packets = measured["flows"], measured["base_rtt_ms"], measured["queue_pkts"]
        delay = f"{base}ms"
        conditions = Conditions(
            rate="10Mbit/s",
            down_delay=delay,
            up_delay="0ms",
            queue=f"{packets}p",
            app="raw",
            share=True,
            duration="40s",
        )
        scenario = json.loads(conditions.scenario([cases.contender("cubic")] * flows).json)
        for i, flow in enumerate(scenario["flows"]):
            flow["start"] = f"{100 * i // flows}ms"
        series = core.trace(core.parse(scenario), cases.SEED, 0)["series"]
        queue = next(s for s in series if s["name"] == "queue" and s["who"] == "link down")
        at = np.arange(10, 30, 0.005)
        waiting = np.asarray(queue["v"])[np.searchsorted(queue["t_s"], at, side="right") - 1]
        # The bytes waiting, half of the packet being sent, and the ping's own 1478 bytes both ways, at 10 Mbit/s.
        rtt = base + (waiting + 750 + 2 * 1478) * 8 / 10e6 * 1e3
        kernel = measured["after_10s"]
        rows.append(
            [
                f"{base} ms, {packets} packets, {flows} flow{'s' if flows > 1 else ''}",
                *(
                    f"{kernel[k]:.0f} / {v:.0f}"
                    for k, v in zip(("mean_ms", "median_ms", "p95_ms"), _three(rtt), strict=True)
                ),
                f"{np.log(rtt.mean() / kernel['mean_ms']):+.3f}",
            ]
        )
    heads = [
        "base RTT, queue, CUBIC flows",
        "mean RTT (ms): kernel / model",
        "median",
        "95th percentile",
        "log ratio",
    ]
    return table(heads, rows)


def _three(rtt: np.ndarray[Any, Any]) -> tuple[float, float, float]:
    return float(rtt.mean()), float(np.median(rtt)), float(np.quantile(rtt, 0.95))


def traces() -> str:
    """Draw the congestion windows over each other, and return the table of these transfers."""
    plt.style.use(STYLE)
    plt.rcParams["svg.hashsalt"] = "haltere"
    figure, axes = plt.subplots(2, 2, figsize=(7.2, 4.4), sharex=True, layout="constrained")
    rows = []
    for measured, queue, axis in zip(cases.kernel()["traces"], TRACE_QUEUES, axes.flat, strict=True):
        conditions = Conditions(
            rate="40Mbit/s", down_delay="50ms", up_delay="0ms", queue=f"{queue}p", app="raw", size="32MiB"
        )
        answer = core.trace(conditions.scenario([cases.contender(measured["cc"])]).concrete(), cases.SEED, 0)
        window = next(s for s in answer["series"] if s["name"] == "cwnd" and s["who"] == "flow 0")
        flow = answer["result"]["flows"][0]
        kernel = np.asarray([row[:2] for row in measured["trace"]])
        axis.plot(kernel[:, 0], kernel[:, 1], color="#e69f00", linewidth=3, alpha=0.6, label="kernel (tcp_info)")
        model = np.asarray(window["v"], dtype=float) / MSS
        axis.step(window["t_s"], model, where="post", color="#0072b2", linewidth=0.9, label="haltere")
        axis.set_title(f"{measured['cc'].upper()}, queue of {queue} packets", fontsize=9)
        axis.set_ylim(bottom=0)
        rows.append(
            [
                f"{measured['cc']}, {queue} packets",
                f"{measured['time_s']:.3f} / {flow['completion_s']:.3f}",
                f"{measured['retrans']} / {flow['retransmitted_packets']}",
                f"{kernel[:, 1].max():.0f} / {model.max():.0f}",
            ]
        )
    axes[0, 0].legend(frameon=False, fontsize=8)
    for axis in axes[1]:
        axis.set_xlabel("time since connect (s)")
    for axis in axes[:, 0]:
        axis.set_ylabel("cwnd (packets)")
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})
    FIGURE.write_text("\n".join(line.rstrip() for line in FIGURE.read_text().splitlines()) + "\n")
    heads = ["transfer", "completion (s): kernel / model", "retransmissions", "largest cwnd (packets)"]
    return table(heads, rows)


def fill(document: Path, parts: dict[str, str]) -> None:
    """Put each part between its markers."""
    text = document.read_text()
    for name, part in parts.items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text, found = marked.subn(partial(_between, part), text)
        if found != 1:
            raise SystemExit(f"{document.name} has no place for {name}: <!-- {name} --> … <!-- /{name} -->")
    document.write_text(text)


def _between(part: str, markers: re.Match[str]) -> str:
    return f"{markers[1]}\n{part}\n\n{markers[2]}"


def main() -> None:
    """Measure the model, write the document's tables, draw its figure."""
    parts = dict(single_flows())
    summary = parts.pop("summary")
    parts |= {
        "outside": outside(),
        "shares": fairness(),
        "queueing": queueing(),
        "traces": traces(),
    }
    fill(SUMMARY, {"summary": summary})
    fill(DOCUMENT, parts)
    print(summary)


if __name__ == "__main__":
    main()
