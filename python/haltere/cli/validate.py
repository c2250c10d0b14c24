"""`haltere validate`: compares model and kernel, with a figure and a verdict."""

from __future__ import annotations

import json
from pathlib import Path

from rich import box
from rich.table import Table

from haltere.adhoc.conditions import Comparison
from haltere.adhoc.validation import Quantity, Validation, validate
from haltere.cli import show
from haltere.documents import shown
from haltere.files import write_whole

_WORDS = {
    "handshake_s": ("handshake, s", 1.0),
    "first_byte_s": ("first byte, s", 1.0),
    "completion_s": ("completion time, s", 1.0),
    "goodput_bps": ("goodput, Mbit/s", 1e-6),
    "retransmitted_packets": ("retransmissions, packets", 1.0),
    "mean_rtt_s": ("mean RTT, ms", 1e3),
    "mean_queueing_delay_s": ("mean queueing delay, ms", 1e3),
}


def command(contenders: list[str], what: Comparison, *, out: Path | None, as_json: bool) -> None:
    """Run both and print; write the figure."""
    # Before the runs: an installation without figures says so at once.
    from haltere.figures.trace import trace_figure

    with show.progress("validating") as advance:
        found = validate(
            contenders, what, replications=what.replications, seed=what.seed, workers=what.workers, on_progress=advance
        )
    folder = out or Path("traces") / ("validate-" + "-".join(c.replace("/", "-") for c in contenders))
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("svg", "pdf", "png"):
        trace_figure(found.trace, folder / f"validate.{kind}")
    write_whole(folder / "validate.json", json.dumps(_data(found), indent=1) + "\n")
    if as_json:
        show.data(_data(found))
        return
    console = show.out()
    console.print(_table(found))
    show.say(_verdict(found))
    show.say(f"figure of the first replication: {shown(folder / 'validate.svg')}")


def _table(found: Validation) -> Table:
    kernel = f"Linux {found.kernel['version']}"
    rows = []
    for quantity in found.quantities:
        words, scale = _WORDS[quantity.name]
        name = found.contenders[quantity.flow] if quantity.flow >= 0 else "the link"
        both = (show.interval(one, scale) if one is not None else "–" for one in (quantity.model, quantity.kernel))
        rows.append((name, words, *both, _difference(quantity)))
    titles = ("flow", "quantity", "model", kernel, "difference, %")
    return show.table(*titles, rows=rows, left=2, caption="median [95 % interval]", box=box.SIMPLE_HEAD)


def _difference(quantity: Quantity) -> str:
    ratio = quantity.log_ratio
    return "–" if ratio is None else f"{100 * ratio:+.2f}"


def _verdict(found: Validation) -> str:
    if found.worst is None:
        return "nothing to compare: no transfer was completed at both fidelities"
    words = "agree" if found.agrees else "do NOT agree"
    return (
        f"model and kernel {words}: the largest |ln(model ÷ kernel)| is {100 * found.worst:.2f} %, "
        f"the bound {100 * found.bound:.0f} %"
    )


def _data(found: Validation) -> dict[str, object]:
    return {
        "contenders": list(found.contenders),
        "kernel": found.kernel,
        "agrees": found.agrees,
        "worst": found.worst,
        "bound": found.bound,
        "quantities": [
            {
                "flow": quantity.flow if quantity.flow >= 0 else None,
                "quantity": quantity.name,
                "model": None if quantity.model is None else quantity.model.value,
                "kernel": None if quantity.kernel is None else quantity.kernel.value,
                "log_ratio": quantity.log_ratio,
            }
            for quantity in found.quantities
        ],
    }
