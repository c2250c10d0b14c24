"""Messages of Python to a user: about wrong arguments, about runs that failed, and in a notebook."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import haltere
from conftest import SMALL_STUDY, Haltere
from haltere.figures.trace import trace_figure

LINK: dict[str, Any] = {"rate": "10Mbit/s", "down_delay": "10ms", "up_delay": "0ms", "size": "10kB"}


def test_a_single_word_is_not_a_list_of_contenders() -> None:
    with pytest.raises(haltere.InputError, match=r'contenders: is not a list(.|\n)*"tcp/cubic"(.|\n)*a list of words'):
        haltere.compare("tcp/cubic")
    with pytest.raises(haltere.InputError, match="is not a list of contenders"):
        haltere.compare([1])  # type: ignore[list-item]


def test_arguments_that_compare_does_not_have_are_told_by_its_own_name() -> None:
    with pytest.raises(TypeError, match=r"^compare: too many positional arguments: contenders are one list"):
        haltere.compare("tcp/cubic", "tcp/bbr")  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError, match=r"^compare: got an unexpected keyword argument 'delay'$"):
        haltere.compare(["tcp/cubic"], delay="10ms")  # type: ignore[call-arg]


@pytest.mark.parametrize("call", [haltere.run, haltere.trace])
def test_a_dict_is_not_a_scenario(call: Any) -> None:
    with pytest.raises(haltere.InputError, match=r"is a dict, not a scenario(.|\n)*haltere.Scenario\("):
        call({"topology": {}})
    with pytest.raises(haltere.InputError, match=r"is a str, not a table(.|\n)*Scenario.load"):
        haltere.Scenario("scenario.toml")  # type: ignore[arg-type]


def test_a_failed_run_says_so_and_raises_if_asked() -> None:
    lost = haltere.run(haltere.Scenario.point_to_point(["tcp/cubic"], loss="100%", **LINK))
    assert repr(lost).startswith("<RunResult FAILED: ")
    assert "FAILED" in lost._repr_html_()
    with pytest.raises(haltere.RunFailedError, match=r"the run failed: .*handshake was given up"):
        lost.raise_if_failed()
    fine = haltere.run(haltere.Scenario.point_to_point(["tcp/cubic"], **LINK))
    assert fine.raise_if_failed() is fine


def test_every_result_has_a_repr_and_html(tmp_path: Path) -> None:
    scenario = haltere.Scenario.point_to_point(["tcp/cubic"], **LINK)
    study = haltere.Study.parse(SMALL_STUDY.replace("A small study", "A <small> study"))
    results = study.run(out=tmp_path / "results", replications=1)
    shown = [scenario, haltere.run(scenario), haltere.trace(scenario), study, results]
    for one in shown:
        assert repr(one).startswith(f"<{type(one).__name__}")
        assert len(repr(one)) < 300
        assert one._repr_html_().startswith("<p><strong>")
    assert "&lt;small&gt;" in study._repr_html_()
    assert repr(study) == "<Study small: 2 experiments, 10 treatments × 3 replications>"
    assert repr(results) == f"<Results of small in {tmp_path / 'results'}: 10 runs>"


def test_a_first_pacing_rate_does_not_flatten_the_rates(tmp_path: Path) -> None:
    times = [0.0, 0.01, *(0.1 * number for number in range(1, 50))]
    pacing = {"who": "flow 0", "name": "pacing_rate", "unit": "bit/s", "t_s": times, "v": [1e10, *[1e7] * 50]}
    flow = {"flow": 0, "contender": "tcp/bbr", "completion_s": 4.9, "start_s": 0.0}
    seen: list[float] = []

    def top(canvas: Any, _stem: Path, _formats: Any = ()) -> list[Path]:
        seen.append(canvas.axes[0].get_ylim()[1])
        return []

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("haltere.figures.style.save", top)
        trace_figure({"series": [pacing], "result": {"flows": [flow]}}, tmp_path / "t")
        steady = {**pacing, "v": [1e7] * 51}
        trace_figure({"series": [steady], "result": {"flows": [flow]}}, tmp_path / "t")
    assert 10 < seen[0] < 25
    assert 10 < seen[1] < 12


def test_numbers_stand_beside_the_words_of_factors(tmp_path: Path) -> None:
    text = """
    [study]
    name = "numbers"
    seed = 1
    replications = 1
    [experiments.base.factors]
    rate = ["10Mbit/s", "2500 kbit/s"]
    loss = ["0%", "0.5 %"]
    delay = ["5ms"]
    queue = ["50p", "1bdp"]
    completion = ["1ms"]
    [experiments.base.scenario]
    topology.kind = "point-to-point"
    topology.link = { rate = "{rate}", delay = "{delay}", queue = "{queue}", loss = "{loss}" }
    flows = [{ contender = "tcp/cubic", app = "raw", size = "20kB", start = "{completion}" }]
    """
    flows = haltere.Study.parse(text).run(out=tmp_path).flows
    beside = flows.columns.index("rate")
    assert flows.columns[beside : beside + 2] == ["rate", "rate_bps"]
    numbers = {tuple(row) for row in flows.select("rate", "rate_bps", "loss", "loss_share", "delay_s").rows()}
    assert ("2500 kbit/s", 2.5e6, "0.5 %", 0.005, 0.005) in numbers
    assert len(numbers) == 4
    assert not {name for name in flows.columns if name.startswith("queue_") and name != "queue_delay_s"} & {
        "queue_packets",
        "queue_bdp",
    }
    assert flows["completion_s"].max() > 0.001  # the metric, not the factor


def test_importing_loads_nothing_heavy_and_comparing_little() -> None:
    script = (
        "import sys, haltere; heavy = {'polars', 'numpy', 'scipy', 'pydantic', 'matplotlib', 'haltere._core'}; "
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys(); "
        "haltere.compare(['tcp/cubic'], size='10kB', replications=1); "
        "heavy -= {'polars', 'haltere._core'}; assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_tables_go_to_pandas_or_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = haltere.run(haltere.Scenario.point_to_point(["tcp/cubic"], **LINK)).flows
    monkeypatch.setattr("haltere.notebook.find_spec", lambda _name: None)
    with pytest.raises(haltere.InputError, match=r"needs pandas(.|\n)*pip install 'haltere\[pandas\]'"):
        haltere.to_pandas(table)
    taken: list[dict[str, list[Any]]] = []
    monkeypatch.setattr("haltere.notebook.find_spec", lambda _name: object())
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=taken.append))
    haltere.to_pandas(table)
    assert taken[0]["contender"] == ["tcp/cubic"]


def test_the_package_is_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "haltere", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"haltere {haltere.__version__}\n"


@pytest.mark.parametrize("package", [haltere, haltere.stats])
def test_dir_lists_what_can_be_had(package: Any) -> None:
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, name) is not None for name in dir(package))
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_messages_speak_of_arguments_here_and_of_options_on_the_command_line(request: pytest.FixtureRequest) -> None:
    command: Haltere = request.getfixturevalue("haltere")
    with pytest.raises(haltere.InputError, match=r"^rtt: stands(.|\n)*right: `rtt`, or `down_delay` and `up_delay`$"):
        haltere.compare(["tcp/cubic"], rtt="5ms", up_delay="1ms")
    said = command("compare", "tcp/cubic", "--rtt", "5ms", "--up-delay", "1ms").stderr
    assert said.startswith("error: --rtt: stands beside")
    assert "right: --rtt, or --down-delay and --up-delay" in said
    with pytest.raises(haltere.InputError, match=r"^workers: is not a number of workers"):
        haltere.compare(["tcp/cubic"], workers=0)
    assert command("compare", "tcp/cubic", "--workers", "0").stderr.startswith("error: --workers: is not")
    of_path = command("compare", "mptcp/lia", "--path", "rtt=1ms,up-delay=1ms", "--path", "rate=1Mbit/s").stderr
    assert of_path.startswith("error: --path: path 0: rtt: stands beside")
    assert "right: rtt, or down-delay and up-delay" in of_path


def test_no_module_beside_the_command_line_names_options_of_arguments() -> None:
    package = Path(haltere.__file__).parent
    for file in sorted(package.rglob("*.py")):
        if file.relative_to(package).parts[0] not in ("cli", "studies", "rig"):
            assert not re.search(r'field=f?"--', file.read_text(encoding="utf-8")), file


def test_a_wrong_argument_is_told_in_a_few_lines() -> None:
    with pytest.raises(haltere.InputError) as caught:
        haltere.compare(["tcp/cubc"], rate="10Mbit/s")
    frames = traceback.extract_tb(caught.tb)
    assert len(frames) == 2, "the call, and the function that was called"
    # IPython, and so a notebook, asks an error for these lines.
    lines = caught.value._render_traceback_()
    assert lines[0].startswith('ArgumentError: contender: the model has no congestion control "cubc"')
    assert lines[-1] == '  given: "tcp/cubc"'
