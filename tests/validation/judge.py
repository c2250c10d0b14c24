"""A judge that knows neither model nor kernel: `judge.py [--scenarios N] [--workers N] [--json FILE]`.

Flows of several congestion controls run over random paths, each on kernels that are nodes of the simulator and in the
model, with the same losses. Classifiers of scikit-learn see their packets at the sender's interface (times, bytes,
acknowledgements, windows), in units of the path's RTT and bandwidth-delay product, and are asked two things:

- Which congestion control sent a flow? Trained on the kernel's flows of other paths alone, asked of the kernel's and of
  the model's.
- Did the kernel send it, or the model? Trained and asked by cross-validation over paths, with one classifier for each
  control and one for all. The answer is the area under the curve (AUC) of receiver operating characteristics: 0.5 is
  chance.

Times are whole microseconds, as captures have them, and the windows are read in the middle of equal parts of a flow.
The packets of a first window leave a kernel some hundred nanoseconds apart and the model at one instant, which would
tell them apart at the very first packet.

Intervals are 95 % by resampling paths. Flows that are the same to the last packet cannot be told apart, and count.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GroupKFold

from haltere import core
from haltere.adhoc.packets import Side, like_a_node, simulated
from haltere.rig.kernel import find

CONTROLS = ("cubic", "newreno", "bbr", "vegas", "illinois", "westwood", "htcp", "scalable")
SEED = 2026
PARTS = 5
"""Of cross-validation."""
TREES = 300
POINTS = 40
"""At which the bytes in flight are read over a flow's time."""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
RESAMPLED = 1000

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """A bottleneck: its rate, round trip, queue (bandwidth-delay products), losses, and the object of the flow."""

    rate_mbps: float
    rtt_ms: int
    queue_bdp: float
    loss: str
    bytes: int

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product, bytes."""
        return self.rate_mbps * 1e6 / 8 * self.rtt_ms * 1e-3

    @classmethod
    def drawn(cls, dice: random.Random) -> Path:
        """Draw one. A flow lasts at least 60 round trips and 4 s at the full rate, so that recoveries show."""
        rate, rtt = 10 ** dice.uniform(0.7, 1.7), dice.randint(10, 100)
        seconds = max(4.0, 60 * rtt * 1e-3)
        queue, loss = 2 ** dice.uniform(-1, 1), dice.choice(["0%", "0%", "0.05%", "0.2%"])
        return cls(round(rate, 2), rtt, round(queue, 2), loss, round(rate * 1e6 / 8 * seconds))

    def scenario(self, contender: str) -> core.Scenario:
        """A bare transfer over the path. All hosts tick together, as a kernel's namespaces do."""
        link = {
            "rate": f"{self.rate_mbps}Mbit/s",
            "delay": f"{self.rtt_ms / 2}ms",
            "queue": f"{self.queue_bdp}bdp",
            "down": {"loss": self.loss},
        }
        flow = {"contender": contender, "app": "raw", "size": f"{self.bytes}B"}
        topology = {"kind": "point-to-point", "link": link}
        return core.parse({"topology": topology, "flows": [flow], "time_limit": "300s", "ticks": "shared"})


def features(side: Side, path: Path) -> Numbers:
    """The features of a flow that a judge sees: its windows and the times of its packets, in units of the path."""
    data = [packet for packet in side.of("sent") if packet.len]
    acks = side.of("received")
    rtt, packet_s = path.rtt_ms * 1e-3, 1500 * 8 / (path.rate_mbps * 1e6)
    sent_at = np.array([round(packet.t_s, 6) for packet in data])
    highest = np.maximum.accumulate(np.array([packet.seq + packet.len for packet in data], dtype=float))
    again = np.array([packet.seq for packet in data], dtype=float) < np.concatenate(([0.0], highest[:-1]))
    acked_at = np.array([round(packet.t_s, 6) for packet in acks])
    acked = np.maximum.accumulate(np.array([packet.ack for packet in acks], dtype=float))
    # Bytes in flight by what the wire tells: the highest byte sent less the highest acknowledged.
    times = sent_at[0] + (np.arange(POINTS) + 0.5) / POINTS * (sent_at[-1] - sent_at[0])
    out = highest[np.searchsorted(sent_at, times, side="right") - 1]
    back = np.concatenate(([0.0], acked))[np.searchsorted(acked_at, times, side="right")]
    windows = (out - back) / path.bdp
    gaps = np.diff(sent_at) / packet_s
    spaces = np.diff(acked_at) / packet_s
    bursts = np.diff(np.concatenate(([0], np.flatnonzero(gaps > 0.5) + 1, [len(data)])))
    delivered = np.diff(acked)
    growth = np.diff(windows)
    parts = [
        windows,
        np.quantile(windows, QUANTILES),
        np.quantile(growth, QUANTILES),
        np.log1p(np.quantile(gaps, QUANTILES)),
        np.log1p(np.quantile(spaces, QUANTILES)),
        np.quantile(bursts, QUANTILES),
        np.quantile(delivered[delivered > 0] / 1448, QUANTILES),
        [again.mean(), sum(bool(packet.sack) for packet in acks) / len(acks), len(acks) / len(data)],
        [(sent_at[-1] - sent_at[0]) / rtt, len(data) * packet_s / (sent_at[-1] - sent_at[0])],
        # The path, which a judge may know.
        [path.rate_mbps, path.rtt_ms, path.queue_bdp, float(path.loss.rstrip("%"))],
    ]
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])


@dataclass(frozen=True)
class Flow:
    """A flow: which path, which control, who sent it, and what a judge sees of it."""

    path: int
    control: str
    of_kernel: bool
    seen: Numbers


def run(paths: Sequence[Path], workers: int, tell: Callable[[str], object]) -> list[Flow]:
    """Run every control over every path, on kernels and in the model."""
    kernel = find()
    work = [(i, control, of_kernel) for i in range(len(paths)) for control in CONTROLS for of_kernel in (True, False)]

    def one(item: tuple[int, str, bool]) -> Flow:
        i, control, of_kernel = item
        contender = f"tcp@linux/{control}" if of_kernel else like_a_node(f"tcp/{control}", kernel)
        (side,) = simulated(paths[i].scenario(contender), SEED, i, fidelity="stack" if of_kernel else "model")
        return Flow(i, control, of_kernel, features(side, paths[i]))

    flows = []
    with ThreadPoolExecutor(workers) as pool:
        for number, flow in enumerate(pool.map(one, work), 1):
            flows.append(flow)
            if number % (2 * len(CONTROLS)) == 0:
                tell(f"{number} of {len(work)} flows")
    return flows


def _classifier() -> ExtraTreesClassifier:
    return ExtraTreesClassifier(TREES, random_state=SEED, min_samples_leaf=2)


def _interval(groups: Numbers, statistic: Callable[[npt.NDArray[np.intp]], float]) -> tuple[float, float, float]:
    """A statistic of flows with its 95 % interval by resampling their paths."""
    dice = np.random.default_rng(SEED)
    rows = {group: np.flatnonzero(groups == group) for group in np.unique(groups)}
    names = list(rows)
    drawn = [
        statistic(np.concatenate([rows[names[i]] for i in dice.integers(0, len(names), len(names))]))
        for _ in range(RESAMPLED)
    ]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return statistic(np.arange(len(groups))), float(low), float(high)


def _of(flows: Sequence[Flow]) -> tuple[Numbers, Numbers]:
    return np.array([flow.seen for flow in flows]), np.array([flow.path for flow in flows])


def recognition(flows: Sequence[Flow]) -> dict[str, Any]:
    """How often the control of the kernel's and of the model's flows is named rightly, as taught by the kernel's."""
    seen, groups = _of(flows)
    control = np.array([flow.control for flow in flows])
    kernel = np.array([flow.of_kernel for flow in flows])
    named = np.empty_like(control)
    for train, test in GroupKFold(PARTS).split(seen, control, groups):
        taught = train[kernel[train]]
        named[test] = _classifier().fit(seen[taught], control[taught]).predict(seen[test])

    def share(rows: npt.NDArray[np.intp]) -> float:
        return float(accuracy_score(control[rows], named[rows]))

    def of(which: npt.NDArray[np.bool_]) -> dict[str, Any]:
        rows = np.flatnonzero(which)
        value = _interval(groups[rows], lambda drawn: share(rows[drawn]))
        mistaken = {
            one: {
                str(other): int(np.sum((control[rows] == one) & (named[rows] == other)))
                for other in np.unique(named[rows][control[rows] == one])
                if other != one
            }
            for one in CONTROLS
        }
        return {"share": value, "mistaken": {one: others for one, others in mistaken.items() if others}}

    return {"kernel": of(kernel), "model": of(~kernel)}


def telling(flows: Sequence[Flow]) -> tuple[float, float, float]:
    """The AUC with which kernel and model are told apart."""
    seen, groups = _of(flows)
    kernel = np.array([flow.of_kernel for flow in flows])
    score = np.empty(len(flows))
    for train, test in GroupKFold(PARTS).split(seen, kernel, groups):
        score[test] = _classifier().fit(seen[train], kernel[train]).predict_proba(seen[test])[:, 1]
    return _interval(groups, lambda rows: float(roc_auc_score(kernel[rows], score[rows])))


def judged(flows: Sequence[Flow]) -> dict[str, Any]:
    """All answers of the judge."""
    by_control = {one: telling([flow for flow in flows if flow.control == one]) for one in CONTROLS}
    return {
        "flows": len(flows),
        "recognition": recognition(flows),
        "auc": {"all": telling(flows), **by_control},
    }


def table(found: dict[str, Any]) -> str:
    """The answers as a table in Markdown."""

    def number(value: tuple[float, float, float]) -> str:
        return "{:.2f} [{:.2f}, {:.2f}]".format(*value)

    lines = ["| asked | answer |", "| --- | --- |"]
    lines += [
        f"| the control, of the {who}'s flows: share named rightly | {number(of['share'])} |"
        for who, of in found["recognition"].items()
    ]
    for control, value in found["auc"].items():
        what = "of all flows" if control == "all" else f"of {control}"
        lines.append(f"| kernel or model, {what}: AUC | {number(value)} |")
    return "\n".join(lines)


def main() -> None:
    """Run, ask and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenarios", type=int, default=60, help="how many paths (default %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time (default %(default)s)")
    parser.add_argument("--json", type=File, help="a file for all answers")
    given = parser.parse_args()
    dice = random.Random(SEED)
    paths = [Path.drawn(dice) for _ in range(given.scenarios)]
    found = judged(run(paths, given.workers, lambda text: sys.stderr.write(text + "\n")))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    sys.stdout.write(table(found) + "\n")
    for who in ("kernel", "model"):
        sys.stdout.write(f"{who}: {found['recognition'][who]['mistaken']}\n")


if __name__ == "__main__":
    main()
