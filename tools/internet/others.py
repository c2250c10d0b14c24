"""Output of other programs for the same paths: traceroute and mtr, as text and as JSON, IPv4 and IPv6."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import Any

from internet.plan import Internet, paths

Json = dict[str, Any]
MONITOR = "jfk-us"
SINCE = 1_146_800_000.0
"""2006-05-05."""
MAX_TTL = 40
TARGETS = ("sjc-1", "ord-1", "lhr-1", "mxp-quiet", "syd-far", "sea-silent", "yyz-access", "mad-access", "ord-circle1")
"""Who has what is traced: hosts, one behind silent routers and one far away; then silence, !H, !X and a loop."""
COMPLETE = 5
"""How many of them answer."""
HOST = 45
"""Number of the host that is traced."""


def targets(net: Internet, version: int) -> list[str]:
    """Return an address of each target.

    Raises:
        RuntimeError: if a path leads by a router that answers seldom: then two programs need not see the same.
    """
    seldom = {node.name for node in net.nodes if node.answers == "seldom"}
    found = []
    for name in TARGETS:
        prefix = next(p for p in net.prefixes if p.at[0] == name)
        if prefix.fate != "loop" and seldom & {node for path in paths(net, MONITOR, prefix) for node in path}:
            raise RuntimeError(f"a path to {name} leads by a router that answers seldom")
        found.append(prefix.host(version, HOST))
    return found


def runs(net: Internet) -> list[tuple[str, Json]]:
    """Return the runs, each with the file that its output belongs to; several make one file."""
    made: list[tuple[str, str]] = []
    for version in (4, 6):
        tail = "" if version == 4 else "6"
        for target in targets(net, version):
            # Linux hashes no field of ICMP but the addresses: all these take one path where there are several.
            made.append((f"icmp{tail}.warts.gz", f"scamper -O warts -o {{output}} -I|trace -P icmp-paris {target}"))
            made.append((f"traceroute{tail}.txt", f"traceroute -{version} -n -I -q 1 -N 1 -m {MAX_TTL} {target}"))
        for target in targets(net, version)[:COMPLETE]:
            made.append((f"traceroute{tail}-udp.txt", f"traceroute -{version} -n -m {MAX_TTL} {target}"))
            made.append((f"mtr{tail}.txt", f"mtr -{version} -n -r -w -c 2 -m {MAX_TTL} {target}"))
            made.append((f"mtr{tail}.json", f"mtr -{version} -n -j -c 2 -m {MAX_TTL} {target}"))
    return [(file, {"at": MONITOR, "words": _words(command), "since": SINCE}) for file, command in made]


def _words(command: str) -> list[str]:
    first, bar, last = command.partition("|")
    return first.split() + ([last] if bar else [])


def write(named: list[tuple[str, Json]], answers: list[Json], folder: Path) -> None:
    """Write the files: outputs of one file one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    whole: dict[str, bytes] = {}
    for (file, run), got in zip(named, answers, strict=True):
        said = base64.b64decode(got["output"]) or got["stdout"].encode()
        if got["code"] or not said:
            raise RuntimeError(f"{run['words']} ended with {got['code']}: {got['stderr']}")
        whole[file] = whole.get(file, b"") + said
    for file, content in whole.items():
        packed = gzip.compress(content, 9, mtime=0) if file.endswith(".gz") else content
        (folder / file).write_bytes(packed)
