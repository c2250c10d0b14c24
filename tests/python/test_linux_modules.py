"""Congestion controls of Linux from their files, in the kernel of fidelity `linux`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Haltere
from haltere import Scenario, core
from haltere.errors import InputError
from haltere.plugins import store
from haltere.rig import kernel, modules
from kernel_files import fetched
from rigs import needs_node, run, scenario

PAGE = ROOT / "docs" / "how-to" / "linux-congestion-controls.md"
OWN = ROOT / "tests" / "data" / "linux-cc"
SAME = ("sent_packets", "retransmitted_packets", "wire_bytes", "timeouts")

KERNELS = kernel.cache()
needs_modules = pytest.mark.skipif(
    not (kernel.built() and kernel.find().tree),
    reason="no user-mode Linux that takes files has been built here: `haltere kernel build`",
)
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules and libraries that are built here are not the user's; the kernels are."""
    (tmp_path / "cache" / "haltere").mkdir(parents=True)
    (tmp_path / "cache" / "haltere" / "kernels").symlink_to(KERNELS)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The file of the page."""
    (text,) = re.findall(r"^```c\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    file = tmp_path / "tcp_mine.c"
    file.write_text(text)
    return file


def with_file(contender: str, **fields: Any) -> dict[str, Any]:
    """Return a scenario with a file's contender that can run at fidelity `linux`, with the file's digest."""
    bottleneck = {"rate": "20Mbit/s", "queue": "100p", "down": {"delay": "15ms"}, "up": {"delay": "15ms"}}
    made = scenario(flow={"contender": contender, "size": "4MB"}, bottleneck=bottleneck, **fields)
    return at_linux(made)


def at_linux(made: Mapping[str, Any]) -> dict[str, Any]:
    checked: dict[str, Any] = json.loads(Scenario(made, fidelity="linux").json)
    return checked


def flow_of(result: Mapping[str, Any], number: int = 0) -> dict[str, Any]:
    assert result["status"] == "ok", result["error"]
    found: dict[str, Any] = result["flows"][number]
    return found


@needs_modules
def test_the_file_of_the_page_runs_in_the_kernel_as_in_the_model(mine: Path) -> None:
    usual, more = with_file(f"tcp/{mine}"), with_file(f"tcp/{mine}+steps=40")
    real = [flow_of(result) for result in run([usual, more, usual], workers=1)]
    model = [json.loads(core.run(core.parse(one), 1, 0))["flows"][0] for one in (usual, more)]
    # 20 packets of 1448 bytes a round trip of 30 ms carry 7.7 Mbit/s.
    assert real[0]["completion_s"] == pytest.approx(4e6 * 8 / 7.7e6, rel=0.1)
    assert real[1]["completion_s"] < 0.6 * real[0]["completion_s"], "the parameter has its effect"
    for ours, theirs in zip(model, real, strict=False):
        assert theirs["completion_s"] == pytest.approx(ours["completion_s"], rel=0.01)
        assert theirs["sent_packets"] == pytest.approx(ours["sent_packets"], rel=0.01)
    assert real[2]["completion_s"] == pytest.approx(real[0]["completion_s"], abs=20e-6), "a run leaves nothing behind"
    assert real[0]["contender"] == f"tcp/{mine}"


@needs_modules
def test_parameters_of_one_file_do_not_meet_in_one_run() -> None:
    """Its variables are those of a module: each combination of values is one, with what module_init computes."""
    made = scenario(bottleneck={"rate": "100Mbit/s"}, flow={"size": "1MB"})
    made["topology"]["pairs"] = 3
    tails = ("", "+steps=10", "+factor=2")
    made["flows"] = [
        {"contender": f"tcp/{OWN / 'tcp_stepper.c'}{tail}", "app": "raw", "size": "1MB", "pair": n}
        for n, tail in enumerate(tails)
    ]
    (result,) = run([at_linux(made)])
    usual, less, more = (flow_of(result, n)["completion_s"] for n in range(3))
    assert less == pytest.approx(2 * usual, rel=0.1)
    assert more == pytest.approx(usual / 2, rel=0.1)


@needs_modules
def test_a_value_that_the_module_refuses_becomes_a_row_with_the_reason(tmp_path: Path) -> None:
    bad, good = (with_file(f"tcp/{OWN / 'tcp_stepper.c'}{tail}") for tail in ("+steps=-3", ""))
    refused, fine = run([bad, good], workers=1)
    assert refused["status"] == "failed"
    assert (
        "does not start (Invalid argument, EINVAL): are the values of its parameters valid (steps=-3)"
        in refused["error"]
    )
    assert flow_of(fine)["completion_s"] > 0


@needs_modules
def test_a_file_that_crashes_ends_its_run_alone(mine: Path) -> None:
    """The model's headers have no `__KERNEL__`, so that the model does not crash."""
    wrong = "#ifdef __KERNEL__\n\t*(volatile int *)16 = 1;\n#endif\n\ttcp_snd_cwnd_set(tcp_sk(sk), steps);"
    changed(mine, "\ttcp_snd_cwnd_set(tcp_sk(sk), steps);", wrong)
    bad = with_file(f"tcp/{mine}")
    crashed, fine = run([bad, scenario(flow={"size": "100kB"})], workers=1)
    assert crashed["status"] == "failed"
    assert "the run's machine ended early; it said: Kernel panic" in crashed["error"]
    assert flow_of(fine)["completion_s"] > 0


@needs_modules
def test_programs_and_subflows_take_it_from_the_kernel(mine: Path) -> None:
    """Over TLS too, a window of 20 packets a round trip of 30 ms carries 7.7 Mbit/s."""
    over_tls = with_file(f"tcp/{mine}")
    over_tls["flows"][0]["app"] = "https"
    over_subflows = with_file(f"mptcp/{mine}")
    for result in run([over_tls, over_subflows]):
        assert flow_of(result)["completion_s"] == pytest.approx(4e6 * 8 / 7.7e6, rel=0.15)


def changed(file: Path, before: str, after: str) -> Path:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    return file


@needs_modules
@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        # The model's headers have no such macro: the file compiles there.
        (
            "static u32 mine_ssthresh",
            "#ifdef __KERNEL__\nstatic int wrong = absent;\n#endif\nstatic u32 mine_ssthresh",
            r"tcp_mine\.c does not compile in Linux \d.*\n.*/tcp_mine\.c:9:20: error: 'absent' undeclared",
        ),
        (
            "static int __init mine_register(void)\n{",
            "#ifdef __KERNEL__\nint kernel_secret(void);\n#else\n#define kernel_secret() 0\n#endif\n"
            "static int __init mine_register(void)\n{\n\tif (kernel_secret())\n\t\treturn -EINVAL;",
            r"tcp_mine\.c uses kernel_secret, which modules cannot use in Linux \d",
        ),
        ('MODULE_LICENSE("GPL");', "", r'has no licence.*write MODULE_LICENSE\("GPL"\)'),
    ],
    ids=["its line", "an absent symbol", "no licence"],
)
def test_what_the_kernel_does_not_take_is_told_with_the_remedy(mine: Path, before: str, after: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        with_file(f"tcp/{changed(mine, before, after)}")


@needs_modules
def test_what_a_file_links_is_part_of_its_module(tmp_path: Path) -> None:
    """The linked file is a module itself, of a name that the kernel has, and exports a function."""
    (tmp_path / "tcp_vegas.h").write_text("u32 shared(u32 cwnd);\n")
    (tmp_path / "tcp_vegas.c").write_text(
        '#include <linux/module.h>\n#include <net/tcp.h>\n#include "tcp_vegas.h"\n'
        "u32 shared(u32 n)\n{\n\treturn n;\n}\nEXPORT_SYMBOL_GPL(shared);\n"
        "static int __init unused(void)\n{\n\treturn -EINVAL;\n}\nstatic void __exit over(void)\n{\n}\n"
        'module_init(unused);\nmodule_exit(over);\nMODULE_LICENSE("GPL");\n'
    )
    plain = tmp_path / "tcp_plain.c"
    shutil.copy(OWN / "tcp_plain.c", plain)
    changed(plain, "<net/tcp.h>", '<net/tcp.h>\n#include "tcp_vegas.h"')
    changed(plain, "tcp_snd_cwnd(tcp_sk(sk)) >> 1", "shared(tcp_snd_cwnd(tcp_sk(sk))) >> 1")
    lossy = {"down": {"delay": "15ms", "loss": "0.5%"}, "up": {"delay": "15ms"}}
    ours, theirs = run([scenario(flow={"contender": one, "size": "2MB"}, bottleneck=lossy) for one in ("tcp/reno",)] + [
        at_linux(scenario(flow={"contender": f"tcp/{plain}", "size": "2MB"}, bottleneck=lossy))
    ])  # fmt: skip
    assert flow_of(ours)["retransmitted_packets"] > 0
    assert [flow_of(ours)[name] for name in SAME] == [flow_of(theirs)[name] for name in SAME]


@needs_modules
def test_a_changed_file_is_another_module(mine: Path) -> None:
    kept = [modules.built(f"{mine}{store.DIGEST}{named(mine)}", kernel.find())]
    changed(mine, "steps __read_mostly = 20", "steps __read_mostly = 21")
    kept.append(modules.built(f"{mine}{store.DIGEST}{named(mine)}", kernel.find()))
    assert kept[0] != kept[1] and all(path.is_file() for path in kept)
    before = kept[1].stat().st_mtime_ns
    assert modules.built(f"{mine}{store.DIGEST}{named(mine)}", kernel.find()).stat().st_mtime_ns == before


def named(file: Path) -> str:
    store.ask(str(file))
    return store.keep(file)


@needs_modules
def test_validate_lays_model_and_kernel_of_one_file_on_top_of_one_another(haltere: Haltere, mine: Path) -> None:
    command = ["validate", f"tcp/./{mine.name}", "--rate", "20Mbit/s", "--rtt", "30ms", "--size", "1MiB"]
    answer = haltere(*command, "--replications", "1", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["agrees"] is True


@needs_node
@needs_modules
def test_a_file_is_a_module_of_a_node(haltere: Haltere, mine: Path) -> None:
    contenders = [f"tcp@linux/./{mine.name}", f"tcp@linux/./{mine.name}+steps=60", f"tcp/./{mine.name}"]
    command = ["compare", *contenders, "--fidelity", "stack", "--rate", "20Mbit/s", "--rtt", "30ms", "--size", "1MiB"]
    answer = haltere(*command, "--replications", "2", "--json")
    assert answer.returncode == 0, answer.stderr
    took = {row["contender"]: row["completion_s"] for row in json.loads(answer.stdout)}
    kernel, steps, model = (took[contender] for contender in contenders)
    assert kernel == pytest.approx(model, rel=0.01)
    assert steps < 0.9 * kernel


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fetched(tmp_path_factory.mktemp("kernel"))


@needs_modules
@pytest.mark.parametrize("name", ["cubic", "vegas", "yeah"])
def test_files_of_the_kernel_send_the_packets_of_what_is_built_in(name: str, sources: Path) -> None:
    lossy = {
        "rate": "20Mbit/s",
        "queue": "60p",
        "down": {"delay": "15ms", "loss": "0.1%"},
        "up": {"delay": "15ms"},
    }
    contenders = (f"tcp/{name}", f"tcp/{sources}/tcp_{name}.c")
    made = [at_linux(scenario(flow={"contender": one, "size": "4MB"}, bottleneck=lossy)) for one in contenders]
    theirs, file = run(made, workers=1)
    assert [flow_of(theirs)[one] for one in SAME] == [flow_of(file)[one] for one in SAME]


@needs_modules
def test_marks_are_asked_for_where_the_file_needs_them(sources: Path) -> None:
    marking = {"rate": "20Mbit/s", "queue": "codel:ecn=true", "down": {"delay": "15ms"}, "up": {"delay": "15ms"}}
    contenders = ("tcp/dctcp", f"tcp/{sources}/tcp_dctcp.c")
    made = [at_linux(scenario(flow={"contender": one, "size": "4MB"}, bottleneck=marking)) for one in contenders]
    theirs, file = run(made, workers=1)
    marks = [result["links"][0]["marked_packets"] + result["links"][1]["marked_packets"] for result in (theirs, file)]
    assert marks[0] == marks[1] > 0
    assert [flow_of(theirs)[one] for one in SAME] == [flow_of(file)[one] for one in SAME]


REFUSED = {
    "quic/{mine}": "QUIC programs have congestion controls of their own, and .*tcp_mine.c is none",
    "quic@quinn/{mine}": "QUIC programs have congestion controls of their own",
    "tcp/{folder}/mine.py": "mine.py runs in the model alone",
    "tcp/{folder}/mine.c": "mine.c defines no struct tcp_congestion_ops",
    "tcp/{mine}+steps=1.5": "steps is 1.5: .* give a whole number",
}


@pytest.mark.parametrize("contender", REFUSED)
def test_what_no_kernel_takes_is_refused_before_anything_runs(
    contender: str, mine: Path, tmp_path: Path, haltere: Haltere
) -> None:
    for name in ("mine.py", "mine.c"):
        assert haltere("new", "--congestion-control", name).returncode == 0
    named = contender.format(mine=mine, folder=tmp_path)
    with pytest.raises(InputError, match=REFUSED[contender]):
        Scenario(scenario(flow={"contender": named}), fidelity="linux")


def test_brokers_take_no_files(mine: Path) -> None:
    link = {"rate": "10Mbit/s", "delay": "5ms"}
    ends = [{"from": "publisher", "to": "broker", "link": link}, {"from": "broker", "to": "subscriber", "link": link}]
    for contender, delivery in ((f"tcp/{mine}", "tcp/cubic"), ("tcp/cubic", f"tcp/{mine}")):
        if delivery != "tcp/cubic":
            delivery = f"tcp/{mine}{store.DIGEST}{named(mine)}"
        mqtt = {"subscriber": "subscriber", "messages": 3, "interval": "100ms", "delivery": delivery}
        flow = {"contender": contender, "client": "publisher", "server": "broker", "mqtt": mqtt}
        with pytest.raises(InputError, match="brokers of MQTT take no congestion control from a file"):
            Scenario({"topology": {"kind": "graph", "links": ends}, "flows": [flow]}, fidelity="linux")


def test_this_machines_own_kernel_takes_no_files(mine: Path) -> None:
    with pytest.raises(InputError, match="would be loaded into this machine's own kernel"):
        Scenario(scenario(flow={"contender": f"tcp/{mine}"}, links="haltere"), fidelity="testbed")


def test_code_of_a_scenarios_file_must_be_allowed_at_linux_too(mine: Path, tmp_path: Path) -> None:
    made = scenario(flow={"contender": f"tcp/./{mine.name}"})
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(made))
    text = (
        '[topology]\nkind = "dumbbell"\n[topology.bottleneck]\nrate = "20Mbit/s"\n'
        f'[[flows]]\ncontender = "tcp/./{mine.name}"\napp = "raw"\nsize = "1MB"\n'
    )
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    with pytest.raises(InputError, match="haltere --allow-code run"):
        Scenario.load(file, fidelity="linux")


def test_a_kernel_without_modules_is_to_be_built_again(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, haltere: Haltere
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "old"))
    monkeypatch.delenv("HALTERE_KERNEL", raising=False)
    folder = kernel.cache() / "6.12.117-hz250-abc"
    folder.mkdir(parents=True)
    (folder / "linux").touch(mode=0o755)
    (folder / "about.json").write_text(json.dumps({"version": "6.12.117", "hz": 250, "config": "abc"}))
    (folder / "config").write_text("CONFIG_NET_SCH_CODEL=y\n")
    with pytest.raises(InputError, match=r"was built without them: build it again \(`haltere kernel build`\)"):
        with_file(f"tcp/{mine}")
    Scenario(scenario(), fidelity="linux")
    assert [one["takes_files"] for one in json.loads(haltere("kernel", "list", "--json").stdout)] == [False]
    asked: list[str | None] = []
    monkeypatch.setattr(kernel, "build", lambda source, **_more: asked.append(source) or kernel.built()[0])
    assert haltere("kernel", "build", "--if-missing").returncode == 0
    assert asked == [None], "it is missing"
    (folder / "tree").mkdir()
    assert haltere("kernel", "build", "--if-missing").returncode == 0
    assert asked == [None, None], "it cannot be a node of the simulator"
    (folder / "config").write_text("CONFIG_VIRTIO_UML=y\nCONFIG_VIRTIO_NET=y\n")
    assert haltere("kernel", "build", "--if-missing").returncode == 0
    assert asked == [None, None, None], "its random numbers depend on who built it"
    (folder / "config").write_text('CONFIG_VIRTIO_UML=y\nCONFIG_VIRTIO_NET=y\nCONFIG_BUILD_SALT="haltere"\n')
    assert "is there already" in haltere("kernel", "build", "--if-missing").stdout
    assert asked == [None, None, None]
