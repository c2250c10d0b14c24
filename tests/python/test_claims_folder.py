"""A study's claims in a folder: a package of several modules, in the place of the file `claims.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from haltere.claims.code import Code
from haltere.claims.loading import load
from haltere.errors import InputError
from haltere.kept.campaign import definition

ONE = """
from haltere.claims import all_of, claim, remark
from .shared import WORD

@claim("{name}", source="page 1")
def {name}(found):
    return all_of(remark("what", WORD))
"""
MODULES = {
    "__init__.py": "from . import zebra, ant  # in this order\n",
    # The first module imports from the second, whose code thus runs before: the order is that of `__init__.py`.
    "zebra.py": "from .ant import second\n" + ONE.format(name="first"),
    "ant.py": ONE.format(name="second") + ONE.format(name="third"),
    "shared.py": 'WORD = "shared"\n',
}


def written(study: Path, modules: dict[str, str]) -> Path:
    (study / "claims").mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        (study / "claims" / name).write_text(text, encoding="utf-8")
    return study


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return written(tmp_path / "small", MODULES)


def names(study: Path) -> list[str]:
    return [one.name for one in load(study).claims]


def test_claims_count_in_the_order_of_imports_then_of_definitions(study: Path) -> None:
    assert names(study) == ["first", "second", "third"]
    written(study, {"__init__.py": f"from . import ant\nfrom .zebra import first\n{ONE.format(name='last')}"})
    assert names(study) == ["second", "third", "first", "last"]


def test_modules_import_from_each_other(study: Path) -> None:
    (one, *_) = load(study).claims
    assert [part.numbers for part in one.verdict(None).evidence] == ["shared"]


def test_claims_of_a_list_count_at_its_place(study: Path) -> None:
    many = "from haltere.claims import all_of, claim\ndef made(name):\n    def judge(found): return all_of()\n"
    many += "    judge.__name__ = name\n    return claim(name, source='x')(judge)\nMADE = [made('a'), made('b')]\n"
    written(study, {"many.py": many, "__init__.py": "from . import zebra, many, ant\n"})
    assert names(study) == ["first", "a", "b", "second", "third"]


def test_two_studies_of_one_name_and_a_changed_study_are_not_mixed(study: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "elsewhere" / "small", {**MODULES, "shared.py": 'WORD = "other"\n'})
    first, second = (load(where).claims[0] for where in (study, other))
    assert [one.verdict(None).evidence[0].numbers for one in (first, second)] == ["shared", "other"]
    written(study, {"shared.py": 'WORD = "changed"\n'})
    assert load(study).claims[0].verdict(None).evidence[0].numbers == "changed"


@pytest.mark.parametrize("name", MODULES)
def test_the_definition_changes_with_each_module_and_not_with_comments(study: Path, name: str) -> None:
    before = definition("[study]", study)
    written(study, {name: f"# a comment\n{MODULES[name]}"})
    assert definition("[study]", study) == before
    written(study, {name: f"{MODULES[name]}\nMORE = 1\n"})
    assert definition("[study]", study) != before


def test_the_definition_changes_with_the_order_and_the_name_of_modules(study: Path) -> None:
    before = definition("[study]", study)
    (study / "claims" / "shared.py").rename(study / "claims" / "common.py")
    assert definition("[study]", study) != before


def test_a_folder_without_modules_does_not_hide_a_file(study: Path) -> None:
    for module in (study / "claims").glob("*.py"):
        module.unlink()
    (study / "claims.py").write_text(ONE.format(name="alone").replace("from .shared import WORD", "WORD = 'x'"))
    assert names(study) == ["alone"]
    assert Code.of(study).path == study / "claims.py"


WRONG = {
    "no first module": ({"__init__.py": None}, r"small/claims: the folder has no __init__\.py"),
    "a module that nobody imports": ({"lost.py": "x = ("}, r"claims/lost\.py: __init__\.py does not import the module"),
    "claims that __init__.py leaves out": (
        {"shared.py": MODULES["shared.py"] + ONE.format(name="hidden").replace("from .shared import WORD", "")},
        r"claims/shared\.py: __init__\.py does not import the module",
    ),
    "a module that fails": ({"shared.py": "WORD = 1 / 0\n"}, r"claims/shared\.py:1: ZeroDivisionError"),
    "a module that cannot be read": ({"ant.py": "\ndef (:\n"}, r"claims/ant\.py:2: SyntaxError"),
    "a module that is not there": ({"zebra.py": "from .absent import x\n"}, r"claims/zebra\.py:1: .*named 'absent'"),
    "a claim without a source": (
        {"shared.py": "from haltere.claims import claim\n\nclaim('x', source='')\n"},
        r"claims/shared\.py:3: @claim: a claim needs its source",
    ),
    "one name twice": (
        {"zebra.py": ONE.format(name="second")},
        r"claims/ant\.py:5: second: two claims have this name\n  right: .*claims/zebra\.py:5 has the other",
    ),
    "one name twice in a module": (
        {"zebra.py": ONE.format(name="first") * 2},
        r"claims/zebra\.py:\d+: first: two functions have this name",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_in_a_folder_is_told_with_its_place(case: str, study: Path) -> None:
    modules, words = WRONG[case]
    for name, text in modules.items():
        if text is None:
            (study / "claims" / name).unlink()
        else:
            written(study, {name: text})
    with pytest.raises(InputError, match=words):
        load(study)


def test_a_file_beside_a_folder_is_an_error(study: Path) -> None:
    (study / "claims.py").write_text("")
    with pytest.raises(InputError, match=r"claims in a file and in a folder\n  given: .*claims\.py and .*claims\n"):
        load(study)
    with pytest.raises(InputError, match="in a file and in a folder"):
        definition("[study]", study)


def test_a_claim_that_fails_is_told_with_the_module_in_which_it_does(study: Path) -> None:
    from haltere.claims.findings import judged

    written(study, {"shared.py": "class WORD:\n    def __str__(self): return 1 / 0\n"})
    written(study, {"ant.py": MODULES["ant.py"].replace('remark("what", WORD)', 'remark("what", f"{WORD()}")', 1)})
    (broken,) = judged(study, None).broken()
    assert broken.endswith("small/claims/shared.py:2: ZeroDivisionError: division by zero.")


@pytest.mark.parametrize("name", ["mqtt-iiot", "multipath", "nsquic"])
def test_studies_with_a_folder_keep_the_claims_that_they_define(name: str) -> None:
    """The numbers of claims are those of the kept campaign."""
    from conftest import ROOT
    from haltere.kept import campaign

    kept = campaign.read(ROOT / "studies" / name)
    assert kept is not None
    assert names(ROOT / "studies" / name) == [one.name for one in kept.claims]
