"""The plans of rigs, and scenarios that are refused before one is built. Needs no kernel and no privilege."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from haltere import core, fidelity
from haltere.rig import hosts, kernel
from haltere.rig.agent import file, take
from haltere.rig.plan import Flow, plan
from rigs import scenario


def test_the_plan_has_every_default_filled_in() -> None:
    what = plan(core.parse(scenario(loss="1%")))
    assert what.nodes == ("router 1", "router 2", "server 0", "client 0")
    bottleneck = next(link for link in what.links if link.name == "bottleneck")
    assert (bottleneck.down.rate_bps, bottleneck.down.delay_ns, bottleneck.down.queue_packets) == (
        40_000_000,
        50_000_000,
        1000,
    )
    assert bottleneck.down.lossy
    assert not bottleneck.up.lossy
    # Each host reaches the other by way of both routers, and back.
    assert {(r.node, r.to) for r in what.routes} == {(at, to) for to in (2, 3) for at in (0, 1, 5 - to)}
    assert all(route.source is None for route in what.routes)
    assert what.flows[0].implementation == "linux"


def test_losses_are_those_of_the_simulator() -> None:
    lossy = core.parse(scenario(loss="2%"))
    number = [link.name for link in plan(lossy).links].index("bottleneck")
    bits = core.losses(lossy, 1, 0, 2 * number, 3000)
    lost = [n + 1 for n in range(3000) if bits[n // 8] >> n % 8 & 1]
    told = json.loads(core.canonical(scenario(loss=None)))
    told["topology"]["bottleneck"]["down"]["loss"] = {"model": "list", "packets": lost}
    drawn, listed = (json.loads(core.run(one, 1, 0)) for one in (lossy, core.parse(told)))
    assert 30 < len(lost) < 100
    assert drawn == listed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"flow": {"contender": "tcp/vegass"}}, ["vegass", "westwood"]),
        ({"flow": {"contender": "tcp@linux/cubic", "app": "https"}}, ["bare transfer", "raw"]),
        ({"flow": {"contender": "tcp@nosuch/cubic", "app": "https"}}, ["nosuch", "hyper"]),
        ({"flow": {"contender": "tcp@model/cubic"}}, ["leave @model out"]),
        ({"flow": {"contender": "tcp/cubic+hystartpp"}}, ["hystart=rfc9406", 'fidelity "model"']),
        ({"flow": {"contender": "tcp/cubic-prr"}}, ["'prr'", "stockbuffers", 'fidelity "model"']),
        ({"flow": {"contender": "tcp/cubic-tso-defer"}}, ["tso-defer=off", "another value"]),
        ({"flow": {"contender": "tcp/cubic+pacing", "app": "https"}}, ["'pacing'", "hyper does not set it"]),
        ({"flow": {"contender": "quic/cubic-delack", "app": "https"}}, ["QUIC program", "leave it out"]),
        ({"flow": {"contender": "quic@quinn/vegas", "app": "https"}}, ["vegas", "newreno"]),
        ({"flow": {"contender": "tcp/cubic+tfo"}}, ["tfo", 'fidelity "model"']),
        ({"flow": {"contender": "quic/cubic+0rtt", "app": "https"}}, ["0rtt", 'fidelity "model"']),
        ({"flow": {"contender": "tcp@hyper/cubic", "app": "https", "tos": 8}}, ["hyper", "leave tos out"]),
        ({"flow": {"contender": "tcp/cubic", "ack": {"every": 4}}}, ["ack", 'fidelity "model"']),
        ({"flow": {"contender": "tcp/cubic", "app": "ssh"}}, ["only the model has app", 'fidelity "model"']),
        ({"bottleneck": {"jitter": "3ms"}}, ["jitter", 'links = "haltere"']),
        ({"bottleneck": {"mark": "5p"}}, ["marks", 'links = "haltere"']),
        ({"bottleneck": {"rate": {"trace": [1, 2]}}}, ["recorded rate", 'links = "haltere"']),
        ({"bottleneck": {"outage": [{"from": "1s", "to": "2s"}]}}, ["outages", 'links = "haltere"']),
        ({"links": "magic"}, ["magic", "kernel"]),
    ],
)
def test_what_a_rig_cannot_carry_is_refused_with_the_remedy(change: dict[str, object], words: list[str]) -> None:
    with pytest.raises(core.ScenarioProblem) as caught:
        fidelity.check("linux", core.parse(scenario(**change)))  # type: ignore[arg-type]
    for word in words:
        assert word in caught.value.message


def test_a_call_needs_a_program_that_carries_it() -> None:
    for contender, said in (
        ("rtp/gcc", "write rtp@gstreamer/constant"),
        ("roq/gcc", "write rtp@gstreamer/constant"),
        ("rtp@gstreamer/gcc", "it has constant"),
        ("rtp@gstreamr/constant", "write rtp@gstreamer/constant"),
    ):
        with pytest.raises(core.ScenarioProblem, match=said):
            fidelity.check("linux", core.parse(scenario() | {"duration": "10s", "flows": [{"contender": contender}]}))
    paused = {"contender": "rtp@gstreamer/constant", "call": {"pauses": [{"from": "1s", "to": "2s"}]}}
    with pytest.raises(core.ScenarioProblem, match=r"only the model has call\.pauses"):
        fidelity.check("linux", core.parse(scenario() | {"duration": "10s", "flows": [paused]}))


def planned(*contenders: str) -> tuple[Flow, ...]:
    flows = [scenario(flow={"contender": contender})["flows"][0] for contender in contenders]
    return plan(core.parse(scenario() | {"flows": flows})).flows


def test_switches_are_parameters_of_the_kernel() -> None:
    (flow,) = planned(
        "tcp/cubic-rack-tlp-frto-dsack-timestamps-sack-compression+rto-min=1s+loss-threshold=5-idle-restart"
    )
    assert hosts.refusal(flow) is None
    wanted = hosts.settings((flow,))
    server = {name.removeprefix("net.ipv4."): value for name, value in wanted[flow.server].items()}
    client = {name.removeprefix("net.ipv4."): value for name, value in wanted[flow.client].items()}
    assert {
        "tcp_recovery": "0",
        "tcp_early_retrans": "0",
        "tcp_frto": "0",
        "tcp_timestamps": "0",
    }.items() <= server.items()
    assert {
        "tcp_rto_min_us": "1000000",
        "tcp_reordering": "5",
        "tcp_slow_start_after_idle": "0",
    }.items() <= server.items()
    assert {"tcp_dsack": "0", "tcp_comp_sack_nr": "0", "tcp_timestamps": "0"}.items() <= client.items()
    assert set(hosts.settings(planned("tcp/cubic"))[flow.server]) == {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def test_older_names_set_what_they_set() -> None:
    (flow,) = planned("tcp/cubic+nodelack+paced+rto1s+nosackcompression+notimestamps-nohystart")
    assert hosts.refusal(flow) is None
    assert hosts.options(flow) == {"multipath": False, "paced": True, "quickack": True, "buffer": None, "tos": None}
    wanted = hosts.settings((flow,))
    assert wanted[flow.server]["net.ipv4.tcp_rto_min_us"] == "1000000"
    assert wanted[flow.client]["net.ipv4.tcp_comp_sack_nr"] == "0"
    assert flow.switches["hystart"] == "off"
    (stock,) = planned("tcp/cubic+stockbuffers")
    assert hosts.settings((stock,)) == {}


def test_windows_and_segments_are_told_by_routes() -> None:
    (flow,) = planned("tcp/cubic+initial-window=32+segment=536B")
    assert hosts.metrics((flow,)) == {
        (flow.server, flow.client): {"advmss": 548, "initcwnd": 32},
        (flow.client, flow.server): {"advmss": 548, "initcwnd": 32},
    }
    assert hosts.metrics(planned("tcp/cubic")) == {}
    with pytest.raises(ValueError, match="give each its own hosts"):
        hosts.metrics(planned("tcp/cubic+initial-window=32", "tcp/cubic"))


def test_receive_windows_are_buffers() -> None:
    (flow,) = planned("tcp/cubic+receive-window=64KiB+max-receive-window=153KiB")
    assert hosts.settings((flow,))[flow.client]["net.ipv4.tcp_rmem"] == f"4096 {1 << 17} {1 << 18}"


def test_the_emulator_carries_what_the_kernel_does_not_know() -> None:
    for change in ({"jitter": "3ms"}, {"queue": "64kB"}, {"duplication": "1%"}):
        fidelity.check("linux", core.parse(scenario(links="haltere", bottleneck=change)))


def test_without_a_kernel_one_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("HALTERE_KERNEL", raising=False)
    with pytest.raises(Exception, match="haltere kernel build") as caught:
        kernel.find()
    assert "no root" in str(caught.value)


def test_a_kernel_is_found_by_name_or_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("HALTERE_KERNEL", raising=False)
    for version, hz in (("6.1.192", 250), ("99.1.4", 250), ("6.12.117", 1000), ("6.12.117", 250)):
        folder = kernel.cache() / f"{version}-hz{hz}-abc"
        folder.mkdir(parents=True)
        (folder / "linux").write_text("")
        (folder / "linux").chmod(0o755)
        (folder / "about.json").write_text(json.dumps({"version": version, "hz": hz, "config": "abc"}))
    assert kernel.find().name == "6.12.117-hz250-abc"
    assert kernel.find("6.1").version == "6.1.192"
    assert kernel.find("99.1").series == (99, 1)
    assert kernel.find("6.12.117-hz1000-abc").hz == 1000
    with pytest.raises(Exception, match=r"6\.1\.192-hz250-abc"):
        kernel.find("5.10")


def test_a_build_without_a_kernels_source_says_what_would_be_right(tmp_path: Path) -> None:
    if kernel.missing_tools():
        pytest.skip(f"no {', '.join(kernel.missing_tools())} here")
    with pytest.raises(Exception, match=r"arch/um/Kconfig"):
        kernel.build(str(tmp_path))


def test_a_job_is_taken_once_and_its_result_appears_whole(tmp_path: Path) -> None:
    for name in ("queue", "taken", "done"):
        (tmp_path / name).mkdir()
    (tmp_path / "queue" / "7.json").write_text("{}")
    (tmp_path / "queue" / ".8").write_text("half a jo")
    assert take(tmp_path, "w0") == ("7", {})
    assert take(tmp_path, "w1") is None
    file(tmp_path, "7", "w0", json.dumps(core.failed("for a test")))
    assert [path.name for path in (tmp_path / "done").iterdir()] == ["7.json"]
    assert not list((tmp_path / "taken").iterdir())
