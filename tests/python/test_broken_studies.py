"""Broken study files as users write them: each is refused with file, line and remedy, code 2, and nothing is run.

Other broken inputs are tested beside what they break:

- typos, wrong types, islands, a forgotten rate, unknown levels of placeholders: `test_study_errors.py`
- claims that fail or name what is not there, figures that do: `test_user_code.py`
- figures of unknown metrics, fields and names: `test_charts.py`, `test_figures.py`
- wrong options of `compare` and `trace`, failed runs and their exit codes: `test_compare.py`, `test_cli.py`
- pipes and Ctrl-C: `test_pipes.py`
- from Python: `test_from_python.py`
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import SMALL_STUDY, Haltere
from haltere import Study

RATE, LOSS = '"5Mbit/s", "20Mbit/s"', '["0%", "2%"]'
FLOW, QUEUE = '"{transport}/cubic"', 'queue = "100p"'
# name: (text replaced, by what, text on the line pointed at, words of the error)
CASES: dict[str, tuple[str, str, str, str]] = {
    "text of YAML": ("[study]", "study:", "study:", "is not TOML"),
    "text of JSON": ("[study]", '{"study": {}}', '{"study"', "is not TOML"),
    "null character": ("A small", "A\0small", "A\0small", "is not TOML"),
    "seed with a decimal point": ("seed = 7", "seed = 7.0", "seed", "is not a whole number"),
    "seed that is true": ("seed = 7", "seed = true", "seed", "right: a whole number from 0"),
    "seed beyond 64 bits": ("seed = 7", "seed = 18446744073709551616", "seed", "should be less than"),
    "very many replications": ("replications = 3", "replications = 1000000000000", "replications", "1000000"),
    "replications not a number": ("replications = 3", "replications = nan", "replications", "is not a whole number"),
    "replications in quotes": ("replications = 3", 'replications = "3"', "replications", "is not a whole number"),
    "name with umlauts": ('name = "small"', 'name = "größe"', "größe", "right: a name of at most 100 letters"),
    "empty name": ('name = "small"', 'name = ""', "name", "right: a name of"),
    "name that is another folder": ('name = "small"', 'name = ".."', "name", "right: a name of"),
    "name longer than a file's": ('name = "small"', f'name = "{"x" * 300}"', "name", "right: a name of at most 100"),
    "title that is a number": ('title = "A small study"', "title = 5", "title", "right: a text in quotes"),
    "rules that are a date": ("seed = 7", "seed = 7\nrules = 2020-01-01", "rules", "right: a text in quotes"),
    "factors as a list": ("[experiments.base.factors]", "[[experiments.base.factors]]", "factors", "is not a table"),
    "experiments as a list": (
        SMALL_STUDY[SMALL_STUDY.index("[experiments.base]\n") : SMALL_STUDY.index("[variants")],
        '[[experiments]]\nname = "base"\n',
        "[[experiments]]",
        "is not a table",
    ),
    "a list in a list of levels": (LOSS, '[["0%"], ["2%"]]', "loss = [", "a level is a text"),
    "a level that is no number": (LOSS, "[nan, 0.1]", "loss = [", "loss[0]: is not a finite number"),
    "an infinite level": (LOSS, "[0.1, -inf]", "loss = [", "loss[1]: is not a finite number"),
    "an infinite number in a scenario": (
        QUEUE,
        f"{QUEUE}\nloss = inf",
        "loss = inf",
        "bottleneck.loss: is not a finite number",
    ),
    "loss above 100 %": (LOSS, '["0%", "200%"]', "loss = [", "from 0% to 100%"),
    "negative loss": (LOSS, '["0%", "-2%"]', "loss = [", "write a percentage"),
    "rate of nothing": (RATE, '"0Mbit/s", "20Mbit/s"', "rate = [", "is not between"),
    "negative rate": (RATE, '"-5Mbit/s", "20Mbit/s"', "rate = [", "write a positive number"),
    "rate beyond all links": (RATE, '"5e300Gbit/s", "20Mbit/s"', "rate = [", "write a positive number"),
    "rate without unit": (RATE, '"5", "20Mbit/s"', "rate = [", 'as in "5Mbit/s"'),
    "loss of 1": (LOSS, '["0%", "1"]', "loss = [", 'as in "1%", or a fraction below 1, such as 0.01'),
    "rate as a bare number": (RATE, '5, "20Mbit/s"', "rate = [", "a string with a unit"),
    "rate with a decimal comma": (RATE, '"5,5Mbit/s", "20Mbit/s"', "rate = [", 'as in "40Mbit/s"'),
    "rate in milliseconds": (RATE, '"5ms", "20Mbit/s"', "rate = [", 'as in "40Mbit/s"'),
    "rate with digits of another script": (RATE, '"٥Mbit/s", "20Mbit/s"', "rate = [", 'as in "40Mbit/s"'),
    "delay without unit": ('down = { delay = "20ms"', 'down = { delay = "20"', "down = {", 'as in "20ms"'),
    "negative size": ('size = "300kB"', 'size = "-300kB"', "size", 'as in "32MiB"'),
    "size of nothing": ('size = "300kB"', 'size = "0B"', "size", "give at least 1B"),
    "size beyond 64 bits": ('size = "300kB"', 'size = "300000000000TB"', "size", 'as in "32MiB"'),
    "size as a bare number": ('size = "300kB"', "size = 300.5", "size", 'as in "32MiB"'),
    "negative queue": (QUEUE, 'queue = "-1p"', "queue", 'write packets ("1000p")'),
    "unknown queue discipline": (QUEUE, 'queue = { discipline = "fqcodel" }', "queue", 'did you mean "fq_codel"?'),
    "unknown parameter of a queue": (
        QUEUE,
        'queue = { discipline = "fq_codel", tarket = "5ms" }',
        "queue",
        "it has limit, memory_limit, flows, target",
    ),
    "flows as a table": (
        "[[experiments.base.scenario.flows]]",
        "[experiments.base.scenario.flows]",
        "[experiments.base.scenario.flows]",
        "right: a list: its heading stands in double brackets",
    ),
    "no flows at all": (
        SMALL_STUDY[SMALL_STUDY.index("[[experiments.base") : SMALL_STUDY.index("[experiments.pairs]")],
        "[experiments.base.scenario]\nflows = []\n",
        "flows = []",
        "there is no flow: add a [[flows]] table",
    ),
    "unknown congestion control": (
        FLOW,
        '"{transport}/cubik"',
        "transport = [",
        'did you mean "cubic"? there are newreno, cubic',
    ),
    "unknown switch": (FLOW, '"{transport}/cubic+sackk"', "transport = [", 'did you mean "sack"? tcp knows hystart'),
    "empty contender": (FLOW, '""', "contender", 'as in "tcp/cubic"'),
    "contender with a Cyrillic letter": (FLOW, '"{transport}/cubіc"', "transport = [", "the model has newreno, cubic"),
    "placeholder that is not closed": ('"{rate}"', '"{rate"', 'rate = "{rate"', 'as in "40Mbit/s"'),
    "placeholder without a name": ('"{rate}"', '"{}"', 'rate = "{}"', 'as in "40Mbit/s"'),
    "factor with a space": ("loss = [", '"my loss" = [', "my loss", "right: small letters"),
    "factor twice": (f"loss = {LOSS}", f"loss = {LOSS}\nloss = {LOSS}", "loss = [", "is not TOML"),
    "experiment twice": ("[experiments.pairs]\n", "[experiments.base]\n", "[experiments.base]", "is not TOML"),
    "experiment with umlauts": ("experiments.pairs", 'experiments."päre"', "päre", "right: letters, digits"),
    "table twice": ("[experiments.base]\n", "[study]\n", "[study]", "there is a table [study] before this one"),
    "curled quotes": (
        '"{transport}/cubic"',
        "\u201c{transport}/cubic\u201d",
        "{transport}/cubic",
        "right: straight quotes",
    ),
    "study as a list": ("[study]", "[[study]]", "[[study]]", "study: is not a table"),
    "unknown loss model": (
        QUEUE,
        f'{QUEUE}\nloss = {{ model = "bernoulli" }}',
        "bernoulli",
        "expected one of `uniform`, `gilbert-elliott`, `periodic`, `list`",
    ),
    "loss model without its probabilities": (
        QUEUE,
        f'{QUEUE}\nloss = {{ model = "gilbert-elliott" }}',
        "gilbert-elliott",
        "this loss model needs good_to_bad",
    ),
    "every packet and a half": (
        QUEUE,
        f'{QUEUE}\nloss = {{ model = "periodic", every = 1.5 }}',
        "every = 1.5",
        "1.5 is not a whole number from 0",
    ),
    "loss of a packet before the first": (
        QUEUE,
        f'{QUEUE}\nloss = {{ model = "list", packets = [-3] }}',
        "[-3]",
        "-3 is not a whole number from 0",
    ),
    "unknown distribution of jitter": (
        QUEUE,
        f'{QUEUE}\njitter = {{ spread = "1ms", distribution = "gauss" }}',
        "gauss",
        "expected `uniform` or `normal`",
    ),
    "no kind of topology": ('kind = "dumbbell"\n', "", "base.scenario.topology]", "right: a line kind = ..."),
    "contenders as a list": (FLOW, '["tcp/cubic"]', "contender = [", "a list is not a text in quotes"),
    "no flow is the third of two pairs": ("pair = 1", "pair = 2", "pair = 2", "numbered from 0 to 1"),
    "a path that is not there": ("pair = 1", "pair = 1\nfirst_path = 3", "first_path", "leave first_path out"),
    "a page that waits for itself": (
        'size = "300kB"',
        'page = { objects = [{ size = "1kB", after = [0] }] }',
        "page",
        "name objects that stand before it",
    ),
    "a level that is a table, used whole": (
        LOSS,
        '[{ label = "few", model = "1%" }]',
        "loss = [",
        'right: "{loss.model}" there: the level is a table, and {loss} alone is its label',
    ),
    "a label of two lines": (LOSS, '[{ label = "a\\nb", model = "1%" }]', "loss = [", "which is a text of one line"),
    "a label that is a number": (LOSS, "[{ label = 1, model = '1%' }]", "loss = [", "which is a text of one line"),
    "a range of numbers": (LOSS, "{ from = 1, to = 2 }", "loss = {", "right: { from = '1ms', to = '600ms' }"),
    "a misspelt end of a range": (
        LOSS,
        "{ from = '1%', too = '2%' }",
        "loss = {",
        "factors.loss.too: there is no such",
    ),
    "a range that goes down": (LOSS, "{ from = '2%', to = '1%' }", "loss = {", "a range goes upwards"),
    "a range of two units": (LOSS, "{ from = '1kB', to = '1MB' }", "loss = {", "in the same unit"),
    "no points at all": (
        "[experiments.base]\n",
        '[experiments.base]\ndesign = "space-filling"\npoints = 0\n',
        "points = 0",
        "right: a whole number from 1 to 100000",
    ),
    "a queue's length from an unknown factor": (
        "[experiments.base.factors]",
        'queues = { long = { rate = "rat", times = ["rtt"] } }\n[experiments.base.factors]',
        "queues",
        "right: transport, rate, loss",
    ),
    "variant of an unknown experiment": (
        "[variants.wider.experiments.base.factors]",
        "[variants.wider.experiments.bass.factors]",
        "[variants.wider.experiments.bass",
        "the study has no such experiment\n  right: base",
    ),
    "variant of an unknown factor": ('transport = ["quic"]', 'transprt = ["quic"]', "transprt", "changes nothing"),
    "variant of another type": (
        '[variants.wider.experiments.base.factors]\ntransport = ["quic"]',
        "[variants.wider.experiments.base]\nfactors = 3",
        "factors = 3",
        "is not a table",
    ),
}


def refused(content: bytes, at: str, words: str, haltere: Haltere, folder: Path, *options: str) -> None:
    """Check that a study of this content is refused at the line with the text `at`, in these words, before it runs."""
    (folder / "study.toml").write_bytes(content)
    done = haltere("run", "study.toml", *options)
    said = done.stderr
    assert (done.returncode, done.stdout) == (2, ""), said
    assert said.startswith("error: study.toml:"), said
    assert words in said
    assert "Traceback" not in said
    line = int(said.split(":")[2])
    assert at in content.decode("utf-8-sig").splitlines()[line - 1], said
    assert not (folder / "results").exists()


@pytest.mark.parametrize("name", CASES)
def test_a_broken_study_is_refused_at_its_line_before_anything_runs(
    name: str, tmp_path: Path, haltere: Haltere
) -> None:
    old, new, at, words = CASES[name]
    assert old in SMALL_STUDY
    text = SMALL_STUDY.replace(old, new, 1)
    if name == "factor with a space":
        text = text.replace("{loss}", "{my loss}")
    if name == "experiment with umlauts":
        text = text.replace(old, new)
    variant = ("--variant", "wider") if name.startswith("variant") else ()
    refused(text.encode(), at, words, haltere, tmp_path, *variant)


@pytest.mark.parametrize(("before", "end"), [("\ufeff", "\n"), ("", "\r\n"), ("\ufeff", "\r\n")])
def test_lines_are_counted_the_same_with_a_byte_order_mark_and_the_line_ends_of_windows(
    before: str, end: str, tmp_path: Path, haltere: Haltere
) -> None:
    text = before + SMALL_STUDY.lstrip().replace("seed = 7", "seeed = 7").replace("\n", end)
    refused(text.encode(), "seeed = 7", "right: seed", haltere, tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "study is missing"),
        (b"# nothing yet\n", "right: a table [study] with name, seed and replications"),
        (SMALL_STUDY.encode("utf-16"), "right: a TOML file in UTF-8"),
        (SMALL_STUDY.replace("A small", "Ä small").encode("latin-1"), ":4:10: is not UTF-8 text"),
    ],
)
def test_a_file_that_holds_no_study_is_refused(content: bytes, words: str, tmp_path: Path, haltere: Haltere) -> None:
    (tmp_path / "study.toml").write_bytes(content)
    done = haltere("run", "study.toml")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


FIGURE = """[[lines]]
name = "times"
experiment = "base"
metric = "completion_time"
x = "rate"
series = "transport"
"""
# name: (text replaced, by what, line, words of the error)
FIGURES: dict[str, tuple[str, str, int, str]] = {
    "unknown kind": ("[[lines]]", "[[linse]]", 1, "right: lines"),
    "table in the place of a list": ("[[lines]]", "[lines]", 1, "[[lines]]"),
    "unknown metric": ('"completion_time"', '"completion"', 4, "one of conv"),
    "unknown field": ("series =", "serie =", 6, "right: series"),
    "no metric": ('metric = "completion_time"\n', "", 1, "metric: is missing"),
    "unknown experiment": ('"base"', '"bass"', 3, "has no experiment 'bass'"),
    "unknown factor": ('"rate"', '"rat"', 5, "is it 'rate'?"),
    "unknown factor of panels": ('"transport"', '"transport"\npanels = "lost"', 7, "is it 'loss'?"),
    "unknown level": ('"transport"', '"transport"\nwhere = { loss = "5%" }', 7, "has no level '5%'"),
    "one unknown level of several": ('"transport"', '"transport"\nwhere = { loss = ["0%", "5%"] }', 7, "no level '5%'"),
    "name that is a path": ('"times"', '"../times"', 2, "right: a name of small letters"),
    "name twice": ("[[lines]]", f"{FIGURE}[[lines]]", 8, "two figures have this name"),
    "expression that is none": ("[[lines]]", '[columns.a]\nexpression = "1 +"\n[[lines]]', 2, "such as goodput"),
    "not TOML": ("[[lines]]", "[[lines]", 1, "is not TOML"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the small study, with one replication."""
    folder = tmp_path_factory.mktemp("results")
    Study.parse(SMALL_STUDY).run(out=folder / "small", replications=1)
    return folder / "small"


@pytest.mark.parametrize("name", FIGURES)
def test_a_broken_figure_is_refused_at_its_line_before_the_report_is_written(
    name: str, small_study: Path, results: Path, haltere: Haltere
) -> None:
    old, new, line, words = FIGURES[name]
    (small_study / "figures.toml").write_text(FIGURE.replace(old, new, 1))
    done = haltere("report", str(results), "--study", "small")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"error: small/figures.toml:{line}:"), done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (results / "report.html").exists()
