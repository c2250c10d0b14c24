"""Examples that readers can run where they stand: the playground below a command that it can answer."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlencode

from haltere import playground
from haltere.adhoc.conditions import Comparison

_BLOCK = re.compile(r"^```(?:console|bash|sh)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:\S*/)?haltere compare ")
_TEXTS = ("preset", "rate", "rtt", "loss", "queue", "probe", "app", "direction", "size", "duration")
_USUALLY = {"direction": "down"}  # as in `address.mjs`
_NUMBERS = ("flows", "replications", "seed")


def question(command: str) -> dict[str, Any] | None:
    """Return a command as a question of the playground's page, or `None` if it has no such field.

    Args:
        command: a line such as `haltere compare tcp/cubic quic/cubic --loss 1%`.
    """
    if not _COMMAND.match(command):
        return None
    words = iter(shlex.split(command, comments=True)[2:])
    usual = Comparison()
    found: dict[str, Any] = {"contenders": [], "paths": [], "queues": [], "share": False} | dict.fromkeys(_TEXTS, "")
    found |= {name: getattr(usual, name) for name in ("app", "direction", "size", "duration", *_NUMBERS)}
    given: set[str] = set()
    for word in words:
        name = word.removeprefix("--")
        if not word.startswith("-"):
            found["contenders"].append(word)
        elif name == "share":
            found["share"] = True
        elif name == "path":
            found["paths"].append(next(words))
        elif name == "queue" and name in given:
            found["queues"].append(next(words))
        elif name in given or name not in _TEXTS + _NUMBERS:
            return None
        else:
            given.add(name)
            found[name] = int(next(words)) if name in _NUMBERS else next(words)
    of_files = [*found["contenders"], *found["paths"], found["preset"], found["queue"], *found["queues"]]
    return None if any("@" in text or "./" in text or text.endswith(".toml") for text in of_files) else found


def address(asked: dict[str, Any]) -> str:
    """Return what stands behind `#` in the address of the page that answers a question (`address.mjs`)."""
    several = [("c", one) for one in asked["contenders"]] + [("path", one) for one in asked["paths"]]
    share = [("share", "1")] if asked["share"] else []
    fields = ((name, str(asked[name])) for name in _TEXTS + _NUMBERS if asked[name] not in ("", _USUALLY.get(name)))
    return urlencode([*several, *share, *fields, *(("queue", one) for one in asked["queues"])])


def commands(block: str) -> Iterator[str]:
    """Yield the commands of a block of code, each as one line without its prompt."""
    has_prompts = any(line.startswith("$ ") for line in block.splitlines())
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("$ ") or not has_prompts:
            yield " ".join(line.removeprefix("$ ").split())


def with_runs(text: str, page: PurePosixPath) -> str:
    """Return the text of a page, given by its place on the site, with the playground below what it can answer."""
    to_root = "../" * (len(page.parts) - 1)

    def runs(block: re.Match[str]) -> str:
        asked = [(line, one) for line in commands(block[1]) if (one := question(line)) is not None]
        several = len(list(commands(block[1]))) > 1
        sources = ((line if several else "", f"{to_root}{playground.PAGE}#{address(one)}") for line, one in asked)
        return block[0] + "".join(_frame(line, source) for line, source in sources)

    return _BLOCK.sub(runs, text)


def _frame(line: str, source: str) -> str:
    said = f": <code>{html.escape(' '.join(shlex.split(line, comments=True)[2:]))}</code>" if line else ""
    # Browsers load a lazy frame in details that are closed, too.
    load = "const frame = this.lastElementChild; frame.src ||= frame.dataset.src"
    return (
        f'\n<details class="run-here" ontoggle="{load}"><summary>Run it here{said}</summary>\n'
        f'<iframe title="The playground with this comparison" data-src="{html.escape(source)}"></iframe></details>\n'
    )
