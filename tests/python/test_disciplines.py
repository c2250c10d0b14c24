"""The kernel's queue disciplines: how they are set, read back from real kernels, and what they do."""

from __future__ import annotations

import itertools
import json
import os
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from haltere import core
from haltere.executor import Task
from haltere.rig import disciplines, kernel, machines, queues, tc
from haltere.rig.check import check_queues
from haltere.rig.disciplines import Link, Unsupported
from haltere.rig.executor import RigExecutor
from haltere.rig.plan import plan
from haltere.rig.run import with_counts
from kernel_queues import WORK
from rigs import link, needs_kernel, scenario

LINK = Link(20_000_000, 1500)

# For each discipline a queue with every parameter, and the numbers that the kernel must show: by the number of the
# attribute, or by the position in a structure of words.
QUEUES: list[tuple[dict[str, str], dict[int, int]]] = [
    ({"discipline": "pfifo", "limit": "70p"}, {0: 70}),
    ({"discipline": "bfifo", "limit": "64kB"}, {0: 64_000}),
    ({"discipline": "drop-tail", "limit": "150000B"}, {0: 150_000}),
    ({"discipline": "pfifo_head_drop", "limit": "70p"}, {0: 70}),
    ({"discipline": "pfifo_fast", "limit": "70p", "batch": "16"}, {0: 3, 1: 0x02020201}),
    ({"discipline": "prio", "bands": "4", "priomap": "1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 3", "limit": "70p"}, {0: 4}),
    (
        {"discipline": "sfq", "limit": "100p", "quantum": "3000B", "perturb": "10s", "divisor": "512", "flows": "64"}
        | {"depth": "90", "headdrop": "true"},
        {0: 3000, 1: 10, 2: 100, 3: 512, 4: 64, 5: 90, 6: 1},
    ),
    ({"discipline": "drr", "limit": "70p", "quantum": "3000B", "flows": "16"}, {}),
    (
        {"discipline": "red", "limit": "400kB", "min": "30kB", "max": "90kB", "probability": "0.1", "ecn": "true"}
        | {"avpkt": "1500B", "burst": "40", "bandwidth": "20Mbit/s", "harddrop": "true", "adaptive": "true"},
        {0: 400_000, 1: 30_000, 2: 90_000},
    ),
    (
        {"discipline": "codel", "limit": "700p", "target": "6ms", "interval": "90ms", "ecn": "true"}
        | {"ce_threshold": "2ms"},
        {1: 6000, 2: 700, 3: 90_000, 4: 1, 5: 2000},
    ),
    (
        {"discipline": "fq_codel", "limit": "7000p", "target": "6ms", "interval": "90ms", "ecn": "false"}
        | {"flows": "512", "quantum": "300B", "ce_threshold": "2ms", "drop_batch": "32", "memory_limit": "4MB"},
        {1: 6000, 2: 7000, 3: 90_000, 4: 0, 5: 512, 6: 300, 7: 2000, 8: 32, 9: 4_000_000},
    ),
    (
        {"discipline": "fq", "limit": "7000p", "flow_limit": "90p", "quantum": "3000B", "initial_quantum": "9000B"}
        | {"pacing": "false", "maxrate": "80Mbit/s", "refill_delay": "40ms", "low_rate_threshold": "400kbit/s"}
        | {"ce_threshold": "4ms", "timer_slack": "20us", "horizon": "5s", "horizon_drop": "false"}
        | {"priomap": "1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 0", "weights": "600000 200000 60000"},
        {1: 7000, 2: 90, 3: 3000, 4: 9000, 5: 0, 7: 10_000_000, 9: 40_000, 11: 50_000, 12: 4000, 13: 20_000}
        | {14: 5_000_000, 15: 0},
    ),
    (
        {"discipline": "pie", "limit": "700p", "target": "20ms", "tupdate": "32ms", "alpha": "3", "beta": "25"}
        | {"ecn": "true", "bytemode": "true", "dq_rate_estimator": "true"},
        {1: 20_000, 2: 700, 3: 32_000, 4: 3, 5: 25, 6: 1, 7: 1, 8: 1},
    ),
    (
        {"discipline": "fq_pie", "limit": "7000p", "flows": "512", "target": "20ms", "tupdate": "32ms", "alpha": "3"}
        | {"beta": "25", "quantum": "300B", "memory_limit": "4MB", "ecn_prob": "20", "ecn": "true", "bytemode": "true"}
        | {"dq_rate_estimator": "true"},
        {1: 7000, 2: 512, 3: 20_000, 4: 32_000, 5: 3, 6: 25, 7: 300, 8: 4_000_000, 9: 20, 10: 1, 11: 1, 12: 1},
    ),
    (
        {"discipline": "cake", "bandwidth": "16Mbit/s", "diffserv": "besteffort", "flowmode": "dual-dsthost"}
        | {"overhead": "38B", "rtt": "50ms", "target": "4ms", "memlimit": "4MB", "wash": "true", "mpu": "84B"}
        | {"ack_filter": "true", "atm": "ptm", "ingress": "true"},
        {2: 2_000_000, 3: 3, 4: 2, 15: 1, 5: 6, 6: 38 + 14, 7: 50_000, 8: 4000, 10: 4_000_000, 13: 1, 14: 84, 16: 1},
    ),
    (
        {"discipline": "dualpi2", "limit": "7000p", "memlimit": "4MB", "target": "20ms", "tupdate": "20ms"}
        | {"alpha": "0.16", "beta": "3.2", "step_thresh": "2ms", "min_qlen_step": "2", "coupling_factor": "3"}
        | {"drop_on_overload": "true", "drop_enqueue": "true", "classic_protection": "20%", "split_gso": "false"}
        | {"any_ect": "true"},
        {
            1: 7000,
            2: 4_000_000,
            3: 20_000,
            4: 20_000,
            5: 41,
            6: 819,
            8: 2000,
            9: 2,
            10: 3,
            11: 1,
            12: 1,
            13: 20,
            14: 3,
            15: 0,
        },
    ),
    (
        {"discipline": "tbf", "limit": "64kB", "rate": "10Mbit/s", "burst": "5kB", "peakrate": "15Mbit/s"}
        | {"mtu": "2kB"},
        {},
    ),
]
BARE = [{"discipline": name} for name in ("codel", "fq_codel", "fq", "pie", "fq_pie", "cake", "sfq", "tbf", "dualpi2")]


def on_kernel(
    name: str, wanted: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch, **fields: Any
) -> list[dict[str, Any]]:
    """Run a transfer through each of the queues, at 20 Mbit/s and with 20 ms."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    found = kernel.find(name)
    executor = RigExecutor(lambda folder, worker: machines.boot(found, folder, worker, WORK), workers=1)
    bottleneck = {"rate": "20Mbit/s", "down": {"delay": "10ms"}, "up": {"delay": "10ms"}}
    plain = json.loads(core.canonical(scenario(bottleneck=bottleneck, **fields)))
    tasks = [Task(str(i), json.dumps(plain | {"queue": queue}), 1, 0) for i, queue in enumerate(wanted)]
    done = {outcome.key: json.loads(outcome.result_json) for outcome in executor.execute(tasks)}
    return [done[task.key] for task in tasks]


def available(name: str, queue: dict[str, str]) -> bool:
    return set(disciplines.named(queue)[0].needs) <= kernel.options(kernel.find(name))


def test_every_parameter_of_the_table_is_in_a_test() -> None:
    for name, discipline in disciplines.DISCIPLINES.items():
        tested = {parameter for queue, _ in QUEUES if queue["discipline"] == name for parameter in queue}
        assert set(discipline.known) - {"nodrop", "gentle"} <= tested, name


def test_attributes_are_read_as_they_are_written() -> None:
    data = tc.attribute(1, b"abc") + tc.nested(2, tc.attribute(7, struct.pack("=I", 5)))
    assert len(data) % 4 == 0
    found = tc.attributes(data)
    assert found[1] == b"abc"
    assert tc.attributes(found[2]) == {7: struct.pack("=I", 5)}
    assert tc.attributes(data[:9] + b"\0\0\0") == {1: b"abc"}


@pytest.mark.parametrize(
    ("queue", "reason"),
    [
        ({"discipline": "blue"}, "no queue discipline 'blue'"),
        ({"discipline": "codel", "limit": "64kB"}, "in packets"),
        ({"discipline": "codel", "flows": "3"}, "no parameter 'flows': it has target"),
        ({"discipline": "red", "min": "90kB", "max": "30kB", "limit": "1MB", "burst": "200"}, "above min"),
        ({"discipline": "drop-tail", "limit": "100p", "mark": "65p"}, "no parameter 'mark'"),
        ({"discipline": "pfifo_fast", "batch": "1"}, "16 places at a time"),
        ({"discipline": "cake", "flowmode": "fair"}, "triple-isolate"),
        ({"discipline": "dualpi2", "coupling_factor": "300"}, "coupling_factor"),
    ],
)
def test_what_no_kernel_can_do_is_refused_with_the_reason(queue: dict[str, str], reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        disciplines.check(queue, LINK)


def test_red_is_set_as_its_paper_computes_it() -> None:
    # Section 11 of the paper asks for a weight of at most 0.0042 for a burst of 50 packets and a lower threshold of 5,
    # so for 2^-8; tc-red(8) counts the burst with one packet less and takes the half of it.
    data = disciplines.DISCIPLINES["red"].options(
        {"limit": "1MB", "min": "5kB", "max": "15kB", "avpkt": "1000B", "burst": "50", "probability": "0.02"}, LINK
    )
    found = tc.attributes(data)
    limit, least, most, weight, _, cells, _ = struct.unpack("=IIIBBBB", found[1])
    assert (limit, least, most, weight) == (1_000_000, 5000, 15_000, 9)
    # The table says by how much an idle time lowers the average: by half in ln 2 / w packets' times of 400 us.
    half = 0.6931 / 2**-9 * 400
    table = list(found[2])
    assert len(table) == 256
    assert table[int(half) >> cells] in (0, 1)
    assert table[int(2.5 * half) >> cells] == 2
    assert all(a <= b <= 31 for a, b in itertools.pairwise(table))


@pytest.mark.parametrize(
    ("counted", "early", "expected"),
    [
        (5, 2, (3, 2, 8)),  # ten may still be inside, of which the discipline dropped two
        (1, 0, (1, 0, 12)),  # a fair queue gave out younger packets: two of three are still inside
        (20, 20, (0, 13, 0)),  # the counters are read later than the taps
    ],
)
def test_drops_are_those_that_the_discipline_counted(counted: int, early: int, expected: tuple[int, int, int]) -> None:
    seen = {"dropped_queue": 3, "inside_packets": 10}
    found = with_counts(seen, queues.Counts(counted, early, 7, 0, 0))
    assert (found["dropped_queue"], found["dropped_early"], found["inside_packets"]) == expected
    assert found["marked_packets"] == 7


def test_a_kernel_without_a_discipline_is_refused_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("HALTERE_KERNEL", raising=False)
    folder = kernel.cache() / "6.12.117-hz250-abc"
    folder.mkdir(parents=True)
    (folder / "linux").touch(mode=0o755)
    (folder / "about.json").write_text(json.dumps({"version": "6.12.117", "hz": 250, "config": "abc"}))
    (folder / "config").write_text("CONFIG_NET_SCH_CODEL=y\n# CONFIG_NET_SCH_DUALPI2 is not set\n")
    made = plan(core.parse(scenario()))
    for queue, wrong in (({"discipline": "codel"}, None), ({"discipline": "dualpi2"}, "NET_SCH_DUALPI2")):
        links = tuple(replace(one, down=replace(one.down, queue=queue)) for one in made.links)
        if wrong is None:
            check_queues(replace(made, links=links))
            continue
        with pytest.raises(core.ScenarioProblem, match=wrong):
            check_queues(replace(made, links=links))


@needs_kernel
@pytest.mark.parametrize("name", [one.name for one in kernel.built()])
def test_kernels_show_what_was_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [(queue, numbers) for queue, numbers in QUEUES if available(name, queue)]
    results = on_kernel(name, [queue for queue, _ in wanted], monkeypatch, flow={"size": "100kB"})
    for (queue, numbers), result in zip(wanted, results, strict=True):
        assert result["status"] == "ok", (queue, result["error"])
        shaper, shown = result["qdiscs"][0], result["qdiscs"][1]
        assert shaper["kind"] == "htb"
        assert (shown["kind"], shown["parent"]) == (disciplines.named(queue)[0].kind, queues.SHAPER | 1)
        options = bytes.fromhex(shown["options"])
        if shown["kind"] == "red":
            options = tc.attributes(options)[1]
        if disciplines.named(queue)[0].attributes:
            found = {n: int.from_bytes(value, "little") for n, value in tc.attributes(options).items()}
        else:
            found = dict(enumerate(struct.unpack_from(f"={len(options) // 4}I", options)))
        # Times are in steps of 1.024 us (CoDel) or ticks of 4 ms (periods of `pie`, delays of `fq`), gains in 1/256.
        for number, value in numbers.items():
            assert found[number] == pytest.approx(value, abs=2 if value > 1000 else value > 30), (queue, number)
        # The packets of the transfer have gone through it, without Ethernet's header.
        assert shown["sent_packets"] >= result["flows"][0]["sent_packets"]
        assert link(result)["delivered_bytes"] <= shown["sent_bytes"] <= link(result)["delivered_bytes"] + 2000


@needs_kernel
def test_a_fifo_below_the_shaper_is_the_queue_of_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transfer through a FIFO below the shaper equals one through netem's queue, which other tests hold against the
    model."""
    name = kernel.find().name
    wanted = [{"discipline": kind, "limit": "100p"} for kind in ("drop-tail", "pfifo", "tbf")]
    plain, *others = on_kernel(name, wanted, monkeypatch, flow={"size": "4MiB"})
    for result in others:
        assert result["status"] == "ok", result["error"]
        assert result["flows"][0]["completion_s"] == pytest.approx(plain["flows"][0]["completion_s"], rel=1e-3)
        for column in ("offered_packets", "dropped_queue", "max_queue_packets", "max_queue_bytes"):
            assert link(result)[column] == link(plain)[column], column
        assert link(result)["mean_queueing_delay_s"] == pytest.approx(link(plain)["mean_queueing_delay_s"], rel=1e-3)


@needs_kernel
def test_drops_and_marks_of_disciplines_are_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    name = kernel.find().name
    marking = [queue | {"ecn": "true"} for queue in ({"discipline": "codel"}, {"discipline": "pie"})]
    marking += [{"discipline": "cake"}, {"discipline": "fq_codel"}]
    flow = {"size": "8MiB"}
    dropped = on_kernel(name, [{"discipline": "codel"}, {"discipline": "pie"}], monkeypatch, flow=flow)
    marked = on_kernel(name, marking, monkeypatch, flow=flow | {"contender": "tcp/cubic+ecn"})
    for result in dropped:
        assert result["status"] == "ok", result["error"]
        down = link(result)
        assert down["dropped_early"] == result["flows"][0]["retransmitted_packets"] > 0
        assert (down["dropped_queue"], down["marked_packets"]) == (0, 0)
        assert down["mean_queueing_delay_s"] < 0.02
    for result in marked:
        assert result["status"] == "ok", result["error"]
        assert link(result)["marked_packets"] > 0
        assert link(result)["dropped_early"] == 0


@needs_kernel
def test_disciplines_stand_with_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    name = kernel.find().name
    wanted = [queue for queue in BARE if available(name, queue)]
    results = on_kernel(name, wanted, monkeypatch, flow={"size": "100kB"})
    assert [(q, r["error"]) for q, r in zip(wanted, results, strict=True) if r["error"]] == []
