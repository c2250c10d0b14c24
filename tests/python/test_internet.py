"""The fixture of real traceroutes, the plan that it was made by, and real scamper in a network built anew."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import shutil
from collections import Counter
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import maxminddb
import pytest

from haltere import paths
from haltere.paths.policy import read_as_relationships
from haltere.rig import machines
from internet import said, systems
from internet.cities import CITIES, great_circle_km, places, propagation_us, write_database, write_systems
from internet.machine import measure
from internet.make import FIXTURE, runs
from internet.measure import WORK
from internet.periods import PERIODS, plans
from internet.plan import Internet, Prefix, next_hops
from internet.plan import paths as ways
from rigs import needs_kernel

Json = dict[str, Any]
COUNTS: Json = json.loads((FIXTURE / "counts.json").read_text())


@pytest.fixture(autouse=True, scope="module")
def _room_of_scamper() -> None:
    """The folder in which scamper shuts up a part of it, which it cannot make on the disk of a kernel's machine."""
    with contextlib.suppress(OSError):
        Path("/var/empty").mkdir(mode=0o755, exist_ok=True)


needs_scamper = pytest.mark.skipif(
    not (shutil.which("scamper") and shutil.which("sc_warts2json")),
    reason="scamper is not installed here (Debian: apt-get install scamper)",
)
needs_root = pytest.mark.skipif(bool(machines.problem()), reason=f"no network can stand here: {machines.problem()}")


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_counted_in_the_fixture_is_what_scamper_says_of_it(name: str) -> None:
    counted = paths.count([str(FIXTURE / name)])["files"][0]
    assert (counted["format"], counted["compression"], counted["damaged"]) == ("warts", "gzip", 0)
    wanted = COUNTS[name]
    for key in ("traces", "hop_replies", "stop_reason", "classes"):
        assert counted[key] == wanted[key], key
    for group in ("records", "flags"):
        assert {key: counted[group][key] for key in wanted[group]} == wanted[group]


def test_the_fixture_is_whole_and_holds_every_kind() -> None:
    files = {str(path.relative_to(FIXTURE)) for path in FIXTURE.glob("20*/*.warts.gz")}
    assert files == set(COUNTS)
    assert sum(path.stat().st_size for path in FIXTURE.rglob("*")) < 1_000_000
    for name, period in PERIODS.items():
        of_it = [counts for file, counts in COUNTS.items() if file.startswith(name)]
        assert len(of_it) == len(period.days) * len(period.monitors)
        total = Counter[str]()
        for counts in of_it:
            total.update(counts["flags"])
            total["traces"] += counts["traces"]
            assert sum(counts["classes"].values()) == counts["traces"] == sum(counts["stop_reason"].values())
        assert total["traces"] >= 1500
        for mark in ("complete", "incomplete", "toolong", "loop", "gap", "adjdup", "multi"):
            assert total[mark] > 0, mark


@needs_scamper
def test_the_fixtures_counts_are_what_is_counted_again() -> None:
    for name, wanted in COUNTS.items():
        assert said.counts(gzip.decompress((FIXTURE / name).read_bytes())) == wanted


def test_the_fixtures_database_knows_where_every_address_is(tmp_path: Path) -> None:
    told = json.loads((FIXTURE / "cities.json").read_text())
    assert told["places"] == {network: code for net in plans().values() for network, code in places(net).items()}
    write_database(told["places"], tmp_path / "again.mmdb")
    for file in (FIXTURE / "cities.mmdb", tmp_path / "again.mmdb"):
        with maxminddb.open_database(file) as database:
            for network, code in told["places"].items():
                found = database.get(next(iter(ip_network(network).hosts())))
                assert isinstance(found, dict)
                city = CITIES[code]
                assert found["location"] == {"latitude": city.latitude, "longitude": city.longitude}
                assert (found["continent"], found["country"]) == ({"code": city.continent}, {"iso_code": city.country})
            assert database.get("203.0.113.1") is None
    write_systems(told["places"], tmp_path / "again.pfx2as")
    assert (tmp_path / "again.pfx2as").read_text() == (FIXTURE / "cities.pfx2as").read_text()


def test_the_fixtures_ases_are_those_of_the_plan(tmp_path: Path) -> None:
    systems.write(plans().values(), tmp_path)
    for name in ("carriers.pfx2as", "carriers.as-rel"):
        assert (tmp_path / name).read_text() == (FIXTURE / name).read_text()
    related = read_as_relationships(FIXTURE / "carriers.as-rel")
    for net in plans().values():
        of = {node.name: systems.owner(node.name, node.city) for node in net.nodes}
        assert {of["sjc-a"], of["sjc-b"]} == set(systems.CARRIERS.values()) and of["sjc-access"] == of["sjc-1"]
        for cable in net.cables:
            assert related.between(*((of[name],) for name in cable.ends)) is not None, cable


def test_no_address_of_the_fixture_is_anybodys() -> None:
    reserved = [ip_network(text) for text in ("198.18.0.0/15", "192.0.2.0/24", "2001:db8::/32")]
    for net in plans().values():
        for network in places(net):
            assert any(ip_address(network.partition("/")[0]) in range_ for range_ in reserved), network


def test_distances_are_those_of_the_globe() -> None:
    # Great circles by Karney's GeographicLib on WGS 84: 5570.2 km and 12 060.3 km; a sphere is off by half a percent.
    assert great_circle_km(CITIES["jfk"], CITIES["lhr"]) == pytest.approx(5570, rel=0.006)
    assert great_circle_km(CITIES["sjc"], CITIES["syd"]) == pytest.approx(11_950, rel=0.006)
    assert propagation_us(CITIES["jfk"], CITIES["lhr"]) == pytest.approx(27_870, rel=0.006)


def test_what_is_in_both_periods_has_one_address() -> None:
    old, new = plans().values()
    blocks = [{node.name: node.block for node in net.nodes} for net in (old, new)]
    shared = blocks[0].keys() & blocks[1].keys()
    assert len(shared) > 100
    assert {blocks[0][name] == blocks[1][name] for name in shared} == {True}
    every = {**blocks[0], **blocks[1]}
    assert len(set(every.values())) == len(every)
    assert max(every.values()) < 255


def test_the_fixture_has_a_monitor_on_another_continent_in_one_period_only() -> None:
    continents = {name: {CITIES[city].continent for _, city in period.monitors} for name, period in PERIODS.items()}
    assert continents == {"2006": {"NA", "EU"}, "2011": {"NA", "EU", "OC"}}


def test_targets_are_drawn_from_named_streams() -> None:
    net = plans()["2006"]
    once, again = (runs(net, PERIODS["2006"]) for _ in range(2))
    assert once == again
    assert len({run["input"] for _, run in once}) == len(once)


Shown = tuple[str, dict[int, set[str]]]
"""A trace's class, and the addresses that answered at each TTL."""


def shown(name: str) -> dict[str, Shown]:
    """Return the traces of a file by their destinations, as `haltere paths show` gives them."""
    found: dict[str, Shown] = {}
    hops: dict[int, set[str]] = {}
    for line in "".join(paths.texts(str(FIXTURE / "text" / name))).splitlines():
        if line.startswith("traceroute"):
            hops = {}
            target = line.partition(" to ")[2].partition(",")[0]
            found[target] = line.rpartition(": ")[2], hops
        elif words := [word for word in line.split()[1:] if "." in word or ":" in word]:
            hops[int(line.split()[0])] = {word for word in words if _is_address(word)}
    return found


def _is_address(word: str) -> bool:
    try:
        ip_address(word)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("tail", ["", "6"])
def test_traceroute_and_mtr_say_what_scamper_says_of_the_same_paths(tail: str) -> None:
    by_scamper = shown(f"icmp{tail}.warts.gz")
    assert Counter(word for word, _ in by_scamper.values()) == {"clean": 4, "incomplete": 3, "too long": 1, "loop": 1}
    by_traceroute = shown(f"traceroute{tail}.txt")
    assert by_traceroute.keys() == by_scamper.keys()
    for target, (word, hops) in by_scamper.items():
        there = by_traceroute[target]
        assert there[0] == word, target
        # scamper ends at a loop, traceroute goes round until it may not.
        assert {ttl: there[1][ttl] for ttl in hops} == hops, target
        assert word == "loop" or there[1] == hops, target
    for by_mtr in (shown(f"mtr{tail}.txt"), shown(f"mtr{tail}.json")):
        complete = {target: trace for target, trace in by_scamper.items() if trace[0] in ("clean", "too long")}
        assert by_mtr == complete


@pytest.mark.parametrize("tail", ["", "6"])
def test_classic_traceroute_shows_several_paths_at_once(tail: str) -> None:
    by_scamper, classic = shown(f"icmp{tail}.warts.gz"), shown(f"traceroute{tail}-udp.txt")
    assert len(classic) == 5
    assert any(len(addresses) > 1 for _, hops in classic.values() for addresses in hops.values())
    for target, (word, hops) in classic.items():
        assert max(hops) == max(by_scamper[target][1])
        # To a closed port Linux answers from an interface's address in IPv6: the destination's own never answers.
        assert word == ("incomplete" if tail and word != "too long" else by_scamper[target][0]), target


def diamond() -> Internet:
    """Three routers in a row, the middle one doubled (ECMP), with a host and every oddity behind them."""
    net = Internet()
    for name in ("r1", "r2a", "r2b", "r3", "c1", "c2", "c3"):
        net.node(name, "lhr")
    net.node("mute", "lhr", "never")
    for name in ("m", "host", "deaf", "beyond"):
        net.node(name, "lhr", leaf=True)
    for a, b in (("m", "r1"), ("r3", "host"), ("r3", "deaf")):
        net.cable(a, b, delay_us=1000)
    for middle in ("r2a", "r2b"):
        net.cable("r1", middle, delay_us=2000)
        net.cable(middle, "r3", delay_us=2000)
    for a, b in (("r3", "mute"), ("mute", "beyond"), ("r3", "c1"), ("c1", "c2"), ("c2", "c3"), ("c3", "c1")):
        net.cable(a, b, delay_us=1000)
    last = "r3"
    for number in range(28):
        this = net.node(f"far{number}", "lhr")
        net.cable(last, this)
        last = this
    net.node("far", "lhr", leaf=True)
    net.cable(last, "far")
    net.prefix("monitor", "m")
    return net


def test_next_hops_are_all_that_are_shortest() -> None:
    net = diamond()
    hops = next_hops(net, "host")
    assert {other for _, other in hops["r1"]} == {"r2a", "r2b"}
    assert {other for _, other in hops["m"]} == {"r1"}
    assert {other for _, other in hops["mute"]} == {"r3"}, "a leaf forwards nothing"
    assert sorted(ways(net, "m", net.prefix("hosts", "host"))) == [
        ["m", "r1", "r2a", "r3", "host"],
        ["m", "r1", "r2b", "r3", "host"],
    ]
    with pytest.raises(ValueError, match="no end"):
        ways(net, "m", net.prefix("loop", "c1", "c2", "c3"))


class Asked:
    """A network with what scamper is to trace in it."""

    def __init__(self) -> None:
        self.net = diamond()
        fates = {"host": "hosts", "deaf": "silent", "beyond": "hosts", "far": "hosts"}
        self.prefixes: dict[str, Prefix] = {name: self.net.prefix(fate, name) for name, fate in fates.items()}  # type: ignore[arg-type]
        self.prefixes["circle"] = self.net.prefix("loop", "c1", "c2", "c3")
        self.prefixes["refused"] = self.net.prefix("unreachable", "r3")
        self.prefixes["swallowed"] = self.net.prefix("blackhole", "r3")
        self.commands: list[str] = []
        for name in self.prefixes:
            for version in (4, 6):
                self.ask("icmp-paris", name, version)
        self.ask("udp-paris -M", "host", 4, 11)  # with path MTU discovery, for which it writes frames itself
        # 24 flows, each traced twice: by source port, which Paris keeps while a trace lasts.
        for number in range(24):
            for _ in range(2):
                self.ask(f"udp-paris -s {40_000 + number}", "host", 4, 7)

    def ask(self, method: str, name: str, version: int, number: int = 9) -> None:
        target = self.prefixes[name].host(version, number)
        self.commands.append(f"trace -P {method} -g 2 -q 1 -w 1 {target}")

    def runs(self) -> list[Json]:
        words = "scamper -O warts -O cmdfile -O rawtcp -p 500 -M m -o {output} -f {input}"
        return [{"at": "m", "words": words.split(), "input": "\n".join(self.commands) + "\n", "since": 1_146_000_000}]

    def node(self, address: str) -> str:
        """Return whose an address is."""
        for prefix in self.prefixes.values():
            if any(ip_address(address) in ip_network(network) for network in (prefix.v4, prefix.v6)):
                return prefix.at[0]
        block = int(address.split(".")[2] if "." in address else address.split(":")[2], 10 if "." in address else 16)
        return next(node.name for node in self.net.nodes if node.block == block)


def check(asked: Asked, answer: list[Json], folder: Path) -> list[Json]:
    """Check that the traces go where the plan says; return them."""
    assert (answer[0]["code"], answer[0]["stderr"]) == (0, "")
    warts = base64.b64decode(answer[0]["output"])
    file = folder / "made.warts"
    file.write_bytes(warts)
    counted, wanted = paths.count([str(file)])["files"][0], said.counts(warts)
    assert counted["damaged"] == 0
    assert {key: counted["flags"][key] for key in wanted["flags"]} == wanted["flags"]
    assert (counted["traces"], counted["hop_replies"]) == (wanted["traces"], wanted["hop_replies"])
    traces = [one for one in said.objects(warts) if one["type"] == "trace"]
    assert len(traces) == len(asked.commands)
    by_target: dict[str, list[Json]] = {}
    for trace in traces:
        by_target.setdefault(trace["dst"], []).append(trace)

    def nodes(trace: Json) -> list[str]:
        at = {hop["probe_ttl"]: asked.node(hop["addr"]) for hop in trace.get("hops", [])}
        return ["m", *(at.get(ttl, "*") for ttl in range(1, max(at) + 1))]

    for version in (4, 6):
        found = {name: by_target[prefix.host(version, 9)][0] for name, prefix in asked.prefixes.items()}
        stops = {name: trace["stop_reason"] for name, trace in found.items()}
        assert stops == {
            "host": "COMPLETED",
            "far": "COMPLETED",
            "beyond": "COMPLETED",
            "deaf": "GAPLIMIT",
            "swallowed": "GAPLIMIT",
            "refused": "UNREACH",
            "circle": "LOOP",
        }
        assert nodes(found["host"]) in ways(asked.net, "m", asked.prefixes["host"])
        assert nodes(found["far"]) in ways(asked.net, "m", asked.prefixes["far"])
        assert (found["far"]["hop_count"], said.marks(found["far"])["toolong"]) == (32, True)
        through = nodes(found["beyond"])
        assert (through[3:], len(through)) == (["r3", "*", "beyond"], 6), "a silent router is a gap"
        assert said.marks(found["beyond"])["gap"]
        assert nodes(found["deaf"])[-1] == nodes(found["refused"])[-1] == "r3"
        # A router looks up the route before the TTL: what it swallows, it swallows without a word.
        assert nodes(found["swallowed"])[-1] in ("r2a", "r2b")
        assert nodes(found["circle"])[4:] == ["c1", "c2", "c3", "c1", "c2"]
    (with_mtu,) = by_target[asked.prefixes["host"].host(4, 11)]
    assert nodes(with_mtu) in ways(asked.net, "m", asked.prefixes["host"])
    flows: dict[int, set[tuple[str, ...]]] = {}
    for trace in by_target[asked.prefixes["host"].host(4, 7)]:
        flows.setdefault(trace["sport"], set()).add(tuple(nodes(trace)))
    assert len(flows) == 24
    assert {len(taken) for taken in flows.values()} == {1}, "a flow stays on its path"
    assert {path for taken in flows.values() for path in taken} == set(
        map(tuple, ways(asked.net, "m", asked.prefixes["host"]))
    ), "flows are spread over all paths"
    return traces


@needs_scamper
@needs_root
@pytest.mark.alone
def test_real_scamper_finds_what_the_plan_says(tmp_path: Path) -> None:
    before = {path.name for path in Path("/sys/class/net").iterdir()}
    asked = Asked()
    (answer,) = measure([(asked.net, asked.runs())], virtually=False)
    check(asked, answer, tmp_path)
    # Its namespaces have no names and go with the processes that hold them (test_testbed.py).
    assert {path.name for path in Path("/sys/class/net").iterdir()} == before
    assert not [process for process in Path("/proc").glob("[0-9]*") if _is_ours(process)]


def _is_ours(process: Path) -> bool:
    """Whether a process is an agent of this test's, on this machine."""
    with contextlib.suppress(OSError):
        words = (process / "cmdline").read_bytes().split(b"\0")
        return b"haltere.rig.agent" in words and b"local" in words and WORK.encode() in words
    return False


@needs_scamper
@needs_kernel
def test_in_virtual_time_it_finds_the_delays_as_well(tmp_path: Path) -> None:
    asked = Asked()
    (answer,) = measure([(asked.net, asked.runs())], virtually=True)
    traces = check(asked, answer, tmp_path)
    hosts = [one for one in traces if ip_address(one["dst"]) in ip_network(asked.prefixes["host"].v4)]
    for trace in hosts:
        # There and back: 1 ms to r1, 2 ms to and from the middle, 1 ms to the host. What computing costs comes on top.
        rtts = [hop["rtt"] for hop in trace["hops"]]
        assert rtts == pytest.approx([2, 6, 10, 12], abs=0.1)
        assert trace["start"]["sec"] // 60 == 1_146_000_000 // 60
