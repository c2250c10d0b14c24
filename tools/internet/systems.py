"""The autonomous systems (ASes) of the small Internets, and their relationships. Pure data.

Each of the two carriers is an AS: `sjc-a` is a router of the one, `sjc-b` of the other. All else in a city, with the
access router, is the network of that city, a customer of the carriers that it has cables to. The carriers are peers:
they meet where one has a router in a city and the other a cable to it.

`python -m internet.systems [FOLDER]` writes the files alone; no traces are needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from internet.cities import SYSTEMS
from internet.periods import plans
from internet.plan import Internet

CARRIERS = {"a": 65550, "b": 65551}
"""Their numbers are for documentation (RFC 5398), as those of the cities' networks are."""
FIXTURE = Path(__file__).resolve().parents[2] / "tests" / "data" / "paths"
_HEADER = "# The small Internets of haltere: <provider>|<customer>|-1, <peer>|<peer>|0\n"


def owner(name: str, city: str) -> int:
    """Return the number of the AS that a node belongs to."""
    return next((number for letter, number in CARRIERS.items() if name == f"{city}-{letter}"), SYSTEMS[city])


def owned(net: Internet) -> dict[str, int]:
    """Return every range of addresses of nodes, hosts and monitors, IPv4 and IPv6, with the number of its AS."""
    of = {node.name: owner(node.name, node.city) for node in net.nodes}
    found: dict[str, int] = {}
    for node in net.nodes:
        found[net.address(node.name, 0).rpartition(".")[0] + ".0/24"] = of[node.name]
        found[net.address(node.name, 0, 6).rpartition("::")[0] + "::/48"] = of[node.name]
    for prefix in net.prefixes:
        if prefix.fate in ("hosts", "silent", "monitor"):
            found |= {prefix.v4: of[prefix.at[0]], prefix.v6: of[prefix.at[0]]}
    return found


def relationships(net: Internet) -> set[tuple[int, int, int]]:
    """Return the relationship of every two ASes with a cable between them: provider, customer, -1; or peer, peer, 0.

    Raises:
        ValueError: if a cable joins the networks of two cities, whose relationship the plan does not say.
    """
    of = {node.name: owner(node.name, node.city) for node in net.nodes}
    carriers = set(CARRIERS.values())
    found = set()
    for cable in net.cables:
        first, second = sorted((of[name] for name in cable.ends), key=lambda number: (number not in carriers, number))
        if first == second:
            continue
        if first not in carriers:
            raise ValueError(f"the cable {cable.ends} joins two cities without a carrier")
        found.add((first, second, 0 if second in carriers else -1))
    return found


def write(nets: Iterable[Internet], folder: Path) -> None:
    """Write `carriers.pfx2as` and `carriers.as-rel`, in the forms of CAIDA's prefix-to-AS data and AS relationships."""
    prefixes: dict[str, int] = {}
    related: set[tuple[int, int, int]] = set()
    for net in nets:
        prefixes |= owned(net)
        related |= relationships(net)
    rows = (f"{network.replace('/', chr(9))}\t{number}\n" for network, number in sorted(prefixes.items()))
    (folder / "carriers.pfx2as").write_text("".join(rows))
    lines = (f"{first}|{second}|{kind}\n" for first, second, kind in sorted(related))
    (folder / "carriers.as-rel").write_text(_HEADER + "".join(lines))


if __name__ == "__main__":
    write(plans().values(), *(map(Path, sys.argv[1:2]) if sys.argv[1:] else [FIXTURE]))
