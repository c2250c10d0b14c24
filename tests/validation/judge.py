"""A judge that knows neither model nor kernel: `judge.py [--scenarios N] [--workers N] [--json FILE]`.

Flows of several congestion controls run over random paths, each on kernels that are nodes of the simulator and in the
model, with the same losses. Classifiers of scikit-learn see their packets at the sender's interface, as the numbers of
`judge_features.py`, and are asked two things:

- Which congestion control sent a flow? Trained on the kernel's flows of other paths alone, asked of the kernel's and of
  the model's.
- Did the kernel send it, or the model? Trained and asked by cross-validation over paths, with one classifier for each
  control and one for all. The answer is the area under the curve (AUC) of receiver operating characteristics: 0.5 is
  chance.

The numbers, the classifier and the draw of the paths were chosen on flows of the model alone, over paths of other seeds
(`--develop 7`, `--develop 9`), before any flow of the seed below was run. No flow is left out.

Times are whole microseconds, as captures have them. The packets of a first window leave a kernel some hundred
nanoseconds apart and the model at one instant, which would tell them apart at the very first packet.

Intervals are 95 % by resampling paths. Flows that are the same to the last packet cannot be told apart, and count.
"""

from __future__ import annotations

import argparse
import json
import math
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
from judge_features import Numbers, Wire, features

CONTROLS = ("cubic", "newreno", "bbr", "vegas", "illinois", "westwood", "htcp", "scalable")
SEED = 2026
PARTS = 5
"""Of cross-validation."""
TREES = 300
SHARE_OF_FEATURES = 0.4
"""Among which a tree looks for the best split."""
RESAMPLED = 1000
PACKETS = 6000
"""Of a flow."""
LEARNED = (5, 10, 20, 40, 80)
"""Numbers of paths to learn from, for the learning curve."""
REPEATS = 5
"""Of each number, with other paths."""


@dataclass(frozen=True)
class Path:
    """A bottleneck: its rate, round trip, queue (bandwidth-delay products), losses, and the object of the flow."""

    rate_mbps: float
    rtt_ms: int
    queue_bdp: float
    loss: str
    bytes: int

    @classmethod
    def drawn(cls, dice: random.Random) -> Path:
        """Draw one on which controls show what they do.

        Windows are small enough that a flow of some thousand packets has several reductions, and large enough for their
        factors to be read. Round trips are long enough that a second, after which H-TCP's growth rises, often comes
        before the next loss. A few random losses find the window below what the queue holds, where controls differ by
        delay.
        """
        rtt, packets = dice.randint(40, 100), 2 ** dice.uniform(math.log2(20), math.log2(60))
        rate = packets * 1500 * 8 / (rtt * 1e3)
        queue, loss = 2 ** dice.uniform(-1, 1), dice.choice(["0.05%", "0.1%", "0.2%"])
        return cls(round(rate, 2), rtt, round(queue, 2), loss, PACKETS * 1448)

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


def seen_of(side: Side, path: Path) -> Numbers:
    """The numbers of a flow, and those of its path, which a judge may know."""
    of_path = [path.rate_mbps, path.rtt_ms, path.queue_bdp, float(path.loss.rstrip("%"))]
    return np.concatenate([features(Wire.of(side), path.rate_mbps * 1e6 / 8 / 1500), of_path])


@dataclass(frozen=True)
class Flow:
    """A flow: which path, which control, who sent it, and what a judge sees of it."""

    path: int
    control: str
    of_kernel: bool
    seen: Numbers


def drawn(seed: int, number: int) -> list[Path]:
    """Draw paths."""
    dice = random.Random(seed)
    return [Path.drawn(dice) for _ in range(number)]


def run(
    paths: Sequence[Path], seed: int, workers: int, tell: Callable[[str], object], *, kernels: bool = True
) -> list[Flow]:
    """Run every control over every path, on kernels and in the model, or in the model alone."""
    kernel, who = find(), (True, False) if kernels else (False,)
    work = [(i, control, of_kernel) for i in range(len(paths)) for control in CONTROLS for of_kernel in who]

    def one(item: tuple[int, str, bool]) -> Flow:
        i, control, of_kernel = item
        contender = f"tcp@linux/{control}" if of_kernel else like_a_node(f"tcp/{control}", kernel)
        fidelity = "stack" if of_kernel else "model"
        (side,) = simulated(paths[i].scenario(contender), seed, i, fidelity=fidelity, states=False)
        return Flow(i, control, of_kernel, seen_of(side, paths[i]))

    flows = []
    with ThreadPoolExecutor(workers) as pool:
        for number, flow in enumerate(pool.map(one, work), 1):
            flows.append(flow)
            if number % (len(who) * len(CONTROLS)) == 0:
                tell(f"{number} of {len(work)} flows")
    return flows


def _classifier() -> ExtraTreesClassifier:
    return ExtraTreesClassifier(TREES, random_state=SEED, max_features=SHARE_OF_FEATURES)


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
    """How often the control of the kernel's and of the model's flows is named rightly, as taught by the kernel's.

    Flows of the model alone are taught by themselves.
    """
    seen, groups = _of(flows)
    control = np.array([flow.control for flow in flows])
    kernel = np.array([flow.of_kernel for flow in flows])
    named = np.empty_like(control)
    for train, test in GroupKFold(PARTS).split(seen, control, groups):
        taught = train[kernel[train] | ~kernel.any()]
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

    return {who: of(rows) for who, rows in (("kernel", kernel), ("model", ~kernel)) if rows.any()}


def learning(flows: Sequence[Flow]) -> dict[int, float]:
    """Which share of all flows of other paths is named rightly, by the number of paths that taught."""
    seen, groups = _of(flows)
    control = np.array([flow.control for flow in flows])
    kernel = np.array([flow.of_kernel for flow in flows])
    dice, names = np.random.default_rng(SEED), np.unique(groups)

    def once(paths: int) -> float:
        train = np.isin(groups, dice.choice(names, paths, replace=False))
        taught = train & (kernel | ~kernel.any())
        named = _classifier().fit(seen[taught], control[taught]).predict(seen[~train])
        return float(accuracy_score(control[~train], named))

    return {n: float(np.mean([once(n) for _ in range(REPEATS)])) for n in LEARNED if n < len(names)}


def telling(flows: Sequence[Flow]) -> tuple[float, float, float]:
    """The AUC with which kernel and model are told apart."""
    seen, groups = _of(flows)
    kernel = np.array([flow.of_kernel for flow in flows])
    score = np.empty(len(flows))
    for train, test in GroupKFold(PARTS).split(seen, kernel, groups):
        score[test] = _classifier().fit(seen[train], kernel[train]).predict_proba(seen[test])[:, 1]
    return _interval(groups, lambda rows: float(roc_auc_score(kernel[rows], score[rows])))


def judged(flows: Sequence[Flow]) -> dict[str, Any]:
    """All answers of the judge; of the model's flows alone, there is nobody to tell them from."""
    found = {"flows": len(flows), "recognition": recognition(flows), "learning": learning(flows)}
    if all(not flow.of_kernel for flow in flows):
        return found | {"auc": {}}
    by_control = {one: telling([flow for flow in flows if flow.control == one]) for one in CONTROLS}
    return found | {"auc": {"all": telling(flows), **by_control}}


def table(found: dict[str, Any]) -> str:
    """The answers as a table in Markdown."""

    def number(value: tuple[float, float, float]) -> str:
        return "{:.3f} [{:.3f}, {:.3f}]".format(*value)

    lines = ["| asked | answer |", "| --- | --- |"]
    lines += [
        f"| the control, of the {who}'s flows: share named rightly | {number(of['share'])} |"
        for who, of in found["recognition"].items()
    ]
    lines += [f"| the control, learned from {n} paths | {share:.3f} |" for n, share in found["learning"].items()]
    for control, value in found["auc"].items():
        what = "of all flows" if control == "all" else f"of {control}"
        lines.append(f"| kernel or model, {what}: AUC | {number(value)} |")
    return "\n".join(lines)


def kept(flows: Sequence[Flow], file: File) -> None:
    """Keep the numbers of all flows, to ask them more."""
    seen, groups = _of(flows)
    control, of_kernel = [flow.control for flow in flows], [flow.of_kernel for flow in flows]
    np.savez_compressed(file, seen=seen, path=groups, control=np.array(control), of_kernel=np.array(of_kernel))


def main() -> None:
    """Run, ask and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenarios", type=int, default=120, help="how many paths (default %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time (default %(default)s)")
    parser.add_argument("--json", type=File, help="a file for all answers")
    parser.add_argument("--seen", type=File, help="a file for the numbers of all flows (NumPy, .npz)")
    parser.add_argument("--develop", type=int, metavar="SEED", help="the model alone, over paths of another seed")
    given = parser.parse_args()
    seed, kernels = (SEED, True) if given.develop is None else (given.develop, False)
    flows = run(
        drawn(seed, given.scenarios), seed, given.workers, lambda text: sys.stderr.write(text + "\n"), kernels=kernels
    )
    if given.seen:
        kept(flows, given.seen)
    found = judged(flows)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    sys.stdout.write(table(found) + "\n")
    for who, of in found["recognition"].items():
        sys.stdout.write(f"{who}: {of['mistaken']}\n")


if __name__ == "__main__":
    main()
