"""The playground: one page in which the simulator runs, as a file that needs neither a network nor another file.

`make playground` builds the module of WebAssembly (`crates/playground`) and writes the page with it. The page gets its
columns, words and usual values from here, so that they are those of `haltere compare`.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from haltere import core
from haltere.adhoc import conditions, shown
from haltere.adhoc.conditions import Comparison, PathConditions, stated
from haltere.adhoc.noticed import CALL
from haltere.adhoc.verdict import ALL_PAIRS, LATENCY
from haltere.errors import InputError, Place
from haltere.figures import pages
from haltere.files import write_whole
from haltere.metrics import METRICS

__all__ = ["PAGE", "Parts", "module_of", "page", "parts", "write"]

PAGE = "playground.html"
"""The page's usual name."""
_BUILT = Path(__file__).parents[3] / "target" / "playground" / PAGE
_BOTH = ("dom", "lines", "scenario", "tables", "module", "pool", "unpack")
_PAGE = (*_BOTH, "entries", "address", "form", "results", "page")
_ASK = (*_BOTH, "treatment", "ask")
_WORKER = ("module", "worker")
_LABELS = {"rate": "Rate", "rtt": "RTT", "loss": "Random loss down", "queue": "Queue or its limit"}
_APPS = (("https", "HTTPS (TLS 1.3)"), ("raw", "a raw transfer"), ("ssh", "scp over SSH"))
_MODULE = re.compile(r'<script type="text/plain" id="module">([^<]*)</script>')
_TOP = re.compile(r"^(?:export )?(?:async )?(?:const|let|function|class) \[?\{?(\w+)", re.MULTILINE)


def write(module: Path, out: Path) -> None:
    """Write the page with the module of WebAssembly that stands in a file.

    Raises:
        haltere.errors.InputError: if there is no such file.
    """
    try:
        bytes_ = module.read_bytes()
    except FileNotFoundError:
        right = "the module that `make playground` builds"
        raise InputError("the module of the playground is not there", place=Place(str(module)), right=right) from None
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, page(bytes_))


def page(module: bytes) -> str:
    """Return the page as text. The same module gives the same bytes."""
    told = words()
    return pages.page(
        "playground.html.j2",
        own_style=_asset("shared.css") + _asset("page.css"),
        link=[_field(name) for name in _LABELS],
        apps=_APPS,
        caption=shown.CAPTION,
        words=told,
        # In a page "</" would end the element.
        words_json=json.dumps(told, ensure_ascii=False, sort_keys=True).replace("</", "<\\/"),
        worker=bundle(_WORKER),
        module=_packed(module),
        own_script=bundle(_PAGE),
    )


@dataclass(frozen=True)
class Parts:
    """The texts that stand in another page which runs the simulator.

    The simulator's `module`, packed; the script of its `worker`; the `script` of the page itself, and its `style`.
    """

    module: str
    worker: str
    script: str
    style: str


def parts(module: bytes) -> Parts:
    """Return what a report needs to run treatments of its campaign, as the file `ask.mjs` does."""
    return Parts(_packed(module), bundle(_WORKER), bundle(_ASK), _asset("shared.css") + _asset("ask.css"))


def module_of(page: Path | None = None) -> bytes:
    """Return the module of WebAssembly that the playground's page has in it (default: that of this clone).

    Raises:
        haltere.errors.InputError: if there is no such page.
    """
    place = page or _BUILT
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        right = "the page that `make playground` builds"
        raise InputError("the playground's page is not there", place=Place(str(place)), right=right) from None
    found = _MODULE.search(text)
    if found is None:
        right = "a page that `make playground` wrote"
        raise InputError("has no simulator in it", place=Place(str(place)), right=right)
    return gzip.decompress(base64.b64decode(found[1]))


def words() -> dict[str, Any]:
    """Return what the page must know of `haltere compare`: its columns, metrics and usual values."""
    usual = Comparison()
    link = conditions.USUAL | {"rtt": conditions.USUAL_RTT, "loss": conditions.NO_LOSS}
    given = {"size": "8MiB", "duration": usual.duration, "flows": usual.flows, "replications": usual.replications}
    return {
        "alone": [asdict(one) for one in shown.ALONE],
        "shared": [asdict(one) for one in shown.SHARED],
        "latency": [asdict(one) for one in shown.LATENCY],
        "of_calls": [asdict(one) for one in shown.CALLS],
        "beside_calls": [asdict(one) for one in shown.CALLS_BESIDE],
        "calls": sorted(core.OF_CALLS),
        "call": asdict(CALL),
        "footnote": shown.FOOTNOTE,
        "metrics": {
            "time": {"alike": METRICS["completion_time"].alike},
            "goodput": {"alike": METRICS["goodput"].alike, "divisor": METRICS["goodput"].divisor},
            "latency": {"alike": METRICS["latency"].alike},
            "call": {
                name: getattr(METRICS[LATENCY], name) for name in ("alike", "column", "divisor", "spoken", "unit")
            },
            "all_pairs": ALL_PAIRS,
        },
        "usual": link
        | {
            "app": usual.app,
            "direction": usual.direction,
            "stagger": conditions.STAGGER_MS,
            "measured_from": conditions.SHARE_MEASURED_FROM,
        },
        "question": {
            "contenders": ["tcp/cubic", "tcp/bbr", "quic/cubic", "quic/bbr"],
            "share": False,
            "paths": [],
            "queues": [],
            "preset": "",
        }
        | {"rate": "40Mbit/s", "rtt": "50ms", "loss": "1%", "queue": "", "probe": "", "app": usual.app}
        | {"direction": usual.direction, "seed": usual.seed}
        | given,
    }


def bundle(names: Sequence[str]) -> str:
    """Return modules of this folder as one script, without their imports and exports.

    They share one scope there.

    Raises:
        ValueError: if two of them define the same name.
    """
    texts = [_asset(f"{name}.mjs") for name in names]
    found = Counter(name for text in texts for name in _TOP.findall(text))
    twice = sorted(name for name, count in found.items() if count > 1)
    if twice:
        raise ValueError(f"two modules of the playground define {', '.join(twice)}: give one of them another name")
    plain = (re.sub(r"^import .*;\n", "", text, flags=re.MULTILINE) for text in texts)
    return "\n".join(re.sub(r"^export ", "", text, flags=re.MULTILINE) for text in plain)


def _field(name: str) -> dict[str, str]:
    about = next(about for field, about in stated(PathConditions) if field.name == name)
    usual = conditions.USUAL | {"rtt": conditions.USUAL_RTT, "loss": conditions.NO_LOSS}
    return {"name": name, "label": _LABELS[name], "usual": usual[name], "help": about.help.replace("`", "")}


def _packed(module: bytes) -> str:
    return base64.b64encode(gzip.compress(module, mtime=0)).decode()


def _asset(name: str) -> str:
    return (files("haltere.playground") / name).read_text(encoding="utf-8")
