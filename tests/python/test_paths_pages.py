"""The pages on measured paths: what they walk through is walked here, on the fixture and on generated traces."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from conftest import ROOT, Haltere
from haltere import paths

FIXTURE = ROOT / "tests" / "data" / "paths"
SMALL = {"compare": ["--sources", "3", "--destinations", "10", "--k", "3", "--draws", "2"], "routes": ["--k", "2"]}


def lines(title: str) -> list[list[str]]:
    """The calls of haltere below a heading of docs/how-to/paths.md."""
    section = (ROOT / "docs" / "how-to" / "paths.md").read_text().split(f"### {title}\n", 1)[1].split("\n#", 1)[0]
    block = re.search(r"```console\n(.*?)```", section, re.DOTALL)
    assert block is not None
    told = (re.sub(r"\s#.*", "", line.removeprefix("$ ")) for line in block[1].splitlines())
    return [shlex.split(line)[1:] for line in told if line.startswith("haltere ")]


def walked(title: str, files: dict[str, Path], folder: Path, haltere: Haltere) -> list[str]:
    """Run the lines, in `folder`, with files in place of those that are named; what was run."""
    done = []
    for words in lines(title):
        if words[1] == "fetch":
            continue
        given = [str(files.get(word, word)) for word in words[2:]]
        given = [str(folder / word) if re.match(r"lake/|ases|addresses", word) else word for word in given]
        told = haltere(*words[:2], *given, *SMALL.get(words[1], []))
        assert told.returncode == 0, (words, told.stderr)
        done.append(words[1])
    return done


def test_the_walk_with_caidas_data(tmp_path: Path, haltere: Haltere) -> None:
    files = {
        "team-1/2008/": FIXTURE / "2006",
        "team-1/2011/": FIXTURE / "2011",
        "GeoLite2-City.mmdb": FIXTURE / "cities.mmdb",
        "routeviews-rv2-20110301-1200.pfx2as.gz": FIXTURE / "cities.pfx2as",
    }
    done = walked("From download to verdict with CAIDA's data", files, tmp_path, haltere)
    assert done.count("compare") == 2 and {"topology", "changed", "routes"} <= set(done)
    for verdicts in ("addresses", "ases"):
        assert "hops hardly changed" in (tmp_path / verdicts / "verdicts.md").read_text()
    assert json.loads((tmp_path / "ases" / "comparison.json").read_text())["level"] == "as"
    for table in ("links", "pairs", "routes"):
        assert "AS64" in (tmp_path / "ases" / f"{table}.csv").read_text(), table


def test_the_walk_under_a_policy(tmp_path: Path, haltere: Haltere) -> None:
    for year, period in (("2008", "2006"), ("2011", "2011")):
        paths.ingest([str(FIXTURE / period)], tmp_path / "lake" / year)
    files = {
        "routeviews-rv2-20110301-1200.pfx2as.gz": FIXTURE / "carriers.pfx2as",
        "20110301.as-rel.txt.bz2": FIXTURE / "carriers.as-rel",
    }
    assert walked("Routing policy", files, tmp_path, haltere) == ["routes", "compare"]
    assert "Policy lengthens" in (tmp_path / "policy" / "verdicts.md").read_text()
    assert json.loads((tmp_path / "policy" / "comparison.json").read_text())["routing"]["paths"] == "valley-free"
    assert " | " in (tmp_path / "valley-free.csv").read_text()


def test_the_walk_with_ripe_atlas(tmp_path: Path, haltere: Haltere) -> None:
    for year in ("2023", "2024"):  # of one seed, so that the destinations are the same, as those of a measurement are
        start = f"{year}-03-01"
        paths.generate(tmp_path / "atlas" / year, traces=600, seed=1, monitors=3, start=start, kind="atlas")
    (tmp_path / "rib").write_text("".join(f"{n}.0.0.0 8 {n}\n" for n in range(1, 224)))
    (tmp_path / "ixpfx.json").write_text(json.dumps({"data": [{"prefix": "200.0.0.0/8", "ixlan_id": 26}]}))
    files = {f"atlas/{year}": tmp_path / "atlas" / year for year in ("2023", "2024")}
    files |= {"bview.20240301.0000.gz": tmp_path / "rib", "ixpfx.json": tmp_path / "ixpfx.json"}
    done = walked("From download to verdict with RIPE Atlas", files, tmp_path, haltere)
    assert done.count("compare") == 2 and done[-1] == "topology"
    assert (tmp_path / "ases" / "exchanges.csv").exists() and (tmp_path / "ases" / "pairs.csv").exists()


def test_the_page_on_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "how-to" / "paths-python.md").read_text()
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    for number, block in enumerate(blocks):
        exec(compile(block, f"paths-python.md, block {number}", "exec"), names)
    said = capsys.readouterr().out
    assert "2 1300 [0, 1, 2]" in said and "/24" in said
