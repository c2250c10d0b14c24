"""The files of an archive for reviewers, libraries and repositories: guide, citation, crate, wheel and versions."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import polars as pl
import pytest

from artifacts import ARTIFACT, CLAIMS
from conftest import ROOT, SMALL_STUDY, Haltere
from haltere import Study, core, load
from haltere.errors import InputError
from haltere.export import archive, authorship, crate, guide, wheel

VALIDATOR = ROOT / "target" / "crate" / "bin" / "python"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "small").mkdir()
    (folder / "small" / "study.toml").write_text(SMALL_STUDY)
    (folder / "small" / "claims.py").write_text(CLAIMS)
    Study.load(folder / "small").run(out=folder / "results")
    return folder


@pytest.fixture(scope="module")
def unpacked(made: Path) -> Path:
    (made / "small" / "artifact.toml").write_text(ARTIFACT)
    (made / "page.html").write_text("<p>a page</p>")
    file = archive.pack(made / "results", made / "a.tar.gz", playground=made / "page.html").file
    return archive.unpack(file, made / "unpacked")


def test_without_authors_it_says_in_one_message_where_to_write_them(
    made: Path, haltere: Haltere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "bare"
    study.mkdir()
    (study / "study.toml").write_text(SMALL_STUDY)
    done = haltere("pack", str(made / "results"), "--study", "bare")
    assert done.returncode == 2 and not list(tmp_path.glob("*.tar.gz"))
    assert all(words in done.stderr for words in ("bare/artifact.toml", 'license = "CC-BY-4.0"', "[[authors]]"))
    (study / "artifact.toml").write_text(authorship.EXAMPLE)
    done = haltere("pack", str(made / "results"), "--study", "bare")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "license is missing; authors is missing"),
        ('license = "free for all"\nauthors = [{ name = "A" }]', "no SPDX identifier"),
        ('license = "MIT"\nauthors = []', "authors is empty"),
        ('license = "MIT"\nauthors = [{ given = "A" }]', "`given` and `family`"),
        ('license = "MIT"\nauthors = [{ given = "A", family = "B", name = "C" }]', "`given` and `family`"),
        ('license = "MIT"\nauthors = [{ name = "C", orcid = "0000-0002-1825-0098" }]', "no ORCID"),
        ('license = "MIT"\nauthors = [{ name = "C", mail = "c@example.org" }]', "authors.0.mail"),
    ],
)
def test_authors_that_cannot_be_used_are_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"artifact\.toml") as found:
        authorship.read(tmp_path, {authorship.FILE: text.encode()})
    assert words in str(found.value)


def test_the_example_of_the_documentation_can_be_used(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "artifact-evaluation.md").read_text()
    example = page.split("```text\n")[1].split("```")[0]
    found = authorship.read(tmp_path, {authorship.FILE: example.encode()})
    assert [one.full for one in found.authors] == ["Grace Hopper", "The measurement group"]
    assert authorship.read(tmp_path, {authorship.FILE: authorship.EXAMPLE.encode()}).license == "CC-BY-4.0"


def test_a_shipped_study_has_the_authors_and_the_licence_of_haltere() -> None:
    found = authorship.read(ROOT / "studies" / "rrul", {})
    assert found.licenses == ["Apache-2.0", "MIT"] and [one.full for one in found.authors] == ["The haltere developers"]


def test_the_guide_has_each_claim_with_command_minutes_verdict_and_value(unpacked: Path) -> None:
    lines = (unpacked / "ARTIFACT.md").read_text().splitlines()
    (row,) = (line for line in lines if line.startswith("| 1. "))
    claim, command, minutes, verdict, value = row.removeprefix("| ").removesuffix(" |").split(" | ")
    assert claim == r"1. QUIC finishes \| sooner. (section 1)"
    # The other experiment says nothing to it.
    study = "haltere run study --replications 3 --fidelity model --experiment base"
    assert command == f"`{study} --out again-base && haltere report again-base`"
    assert float(minutes) == 0.1 and verdict in ("*confirmed*", "*contradicted*", "*undecided*")
    assert value.startswith("Completion time, QUIC to TCP: ")
    assert "by Grace Hopper" in "\n".join(lines) and "playground.html" in "\n".join(lines)


def test_the_minutes_of_the_experiments_are_those_of_the_campaign(made: Path) -> None:
    results = load(made / "results")
    found = guide.minutes(results)
    events = results.runs.group_by("experiment").agg(pl.col("events").sum())
    of = dict(events.iter_rows())
    assert sum(found.values()) == pytest.approx(results.manifest["sessions"][0]["wall_s"] / 60)
    assert found["base"] / found["pairs"] == pytest.approx(of["base"] / of["pairs"])


def test_the_commands_of_the_guide_work(unpacked: Path, haltere: Haltere, tmp_path: Path) -> None:
    text = (unpacked / "ARTIFACT.md").read_text()
    command = text.split("`haltere run ")[1].split("`")[0]
    first, second = f"run {command}".split(" && ")
    done = haltere(*first.replace("study", str(unpacked / "study"), 1).split())
    assert done.returncode == 0, done.stderr
    assert haltere(*second.removeprefix("haltere ").split()).returncode == 0
    assert (tmp_path / "again-base" / "report.html").exists()


def test_the_citation_and_zenodos_file_have_the_authors(unpacked: Path) -> None:
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((unpacked / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "license", "date-released"} <= cited.keys()
    assert cited["authors"] == [
        {
            "family-names": 'Hopper: "Amazing"', "given-names": "Grace", "affiliation": "A university",
            "orcid": "https://orcid.org/0000-0002-1825-0097",
        },
        {"name": "The committee"},
    ]  # fmt: skip
    assert cited["title"] == "A small study" and cited["abstract"] == "Is it quick?"
    zenodo = json.loads((unpacked / ".zenodo.json").read_text())
    assert [one["name"] for one in zenodo["creators"]] == ['Hopper: "Amazing", Grace', "The committee"]
    assert zenodo["license"] == "cc-by-4.0" and zenodo["upload_type"] == "dataset"


def test_the_crate_describes_every_file_and_the_campaign(unpacked: Path) -> None:
    """The fields that RO-Crate 1.3 and the Workflow Run profile demand, read back by rocrate."""
    from rocrate.rocrate import ROCrate

    read = ROCrate(unpacked)
    assert read.metadata["conformsTo"] == "https://w3id.org/ro/crate/1.3"
    root = read.root_dataset
    assert root["name"] and root["description"] and root["datePublished"] and root["license"] and root["author"]
    profiles = {profile.id for profile in root["conformsTo"]}
    assert {"https://w3id.org/ro/wfrun/process/0.5", "https://w3id.org/ro/wfrun/workflow/0.5"} <= profiles
    workflow = read.mainEntity
    assert workflow.id == "study/study.toml"
    assert {"File", "SoftwareSourceCode", "ComputationalWorkflow"} == set(workflow["@type"])
    assert workflow["programmingLanguage"]["version"]
    (action,) = read.get_by_type("CreateAction")
    assert action["instrument"] is workflow and action["startTime"] and action["endTime"] and action["agent"]
    assert {one.id for one in action["result"]} >= {"results/runs.parquet", "results/manifest.json"}
    for parameter in read.get_by_type("FormalParameter"):
        assert parameter["additionalType"] and parameter["workExample"]
    inside = {file.relative_to(unpacked).as_posix() for file in unpacked.rglob("*") if file.is_file()}
    described = {entity.id for entity in read.get_by_type("File")}
    assert described == inside - {crate.NAME, "checksums.sha256"}


def test_a_validator_finds_nothing_that_the_crate_lacks(unpacked: Path) -> None:
    if not VALIDATOR.exists():
        pytest.skip("rocrate-validator is not there: make crate")
    done = subprocess.run(
        [VALIDATOR, ROOT / "tools" / "crate.py", unpacked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_has_the_core_that_made_the_results_and_all_that_it_needs(unpacked: Path) -> None:
    (file,) = (unpacked / "install").glob("haltere-*.whl")
    assert file.name.startswith(f"haltere-{core.VERSION}-cp311-abi3-")
    with zipfile.ZipFile(file) as opened:
        names = opened.namelist()
        assert {"haltere/_core.abi3.so", "haltere/cli/app.py", "haltere/studies/quic-dumbbell/study.toml"} <= set(names)
        assert not [name for name in names if "__pycache__" in name or name.endswith(".pth")]
    described = json.loads((unpacked / "pack.json").read_text())
    assert wheel.given(file, described["core"]).digest == described["wheel"]["sha256"]


def test_a_wheel_of_another_build_is_refused_and_a_missing_one_is_said(
    made: Path, unpacked: Path, tmp_path: Path, haltere: Haltere, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = (unpacked / "install").glob("haltere-*.whl")
    with pytest.raises(InputError, match="did not make these results"):
        wheel.given(file, "0" * 16)
    with pytest.raises(InputError, match="cannot be read"):
        wheel.given(unpacked / "pack.json", "0" * 16)
    monkeypatch.setattr(wheel, "installed", lambda: None)
    done = haltere("pack", str(made / "results"), "--out", "without.tar.gz")
    assert done.returncode == 0 and "there is no wheel in it" in done.stdout
    folder = archive.unpack(tmp_path / "without.tar.gz", tmp_path / "without")
    assert "The wheel is not inside" in (folder / "ARTIFACT.md").read_text()
    assert core.fingerprint() in json.loads((folder / "pack.json").read_text())["wheel"]["missing"]


def test_the_versions_are_those_of_this_installation(unpacked: Path) -> None:
    import polars

    lines = (unpacked / "install" / "requirements.txt").read_text().splitlines()
    assert any(line.startswith(f"polars=={polars.__version__}") for line in lines)
    assert not any(line.startswith(("pytest", "haltere")) for line in lines)
