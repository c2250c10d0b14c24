"""A suite's results as a page, as scenarios that can be run again, and as JUnit XML for a build."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import tomli_w

from haltere.errors import counted
from haltere.evaluation.suites.running import Result, Suited
from haltere.figures import on_screen
from haltere.figures.pages import page
from haltere.figures.trace import figure_of
from haltere.files import write_whole


def summary(found: Suited) -> list[str]:
    """Return the answer in a few sentences."""
    sentences = [f"{found.contender} passes {found.count('passed')} of {counted(len(found.results), 'case')}."]
    failed = [f"{one.case.number} ({one.case.title})" for one in found.results if one.verdict == "failed"]
    if failed:
        sentences.append(f"It fails {', '.join(failed)}.")
    if left := found.count("not shown"):
        sentences.append(f"{counted(left, 'case')} could not be judged.")
    if any(one.unseen for one in found.results):
        sentences.append("It does not tell its variables, so that only what the wire shows was judged.")
    return sentences


def write(found: Suited, folder: Path) -> Path:
    """Write the page and the scenarios of all cases into a folder, and return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for result in found.results:
        write_whole(folder / scenario_name(result), tomli_w.dumps(result.scenario))
    path = folder / "report.html"
    write_whole(path, html(found))
    return path


def scenario_name(result: Result) -> str:
    """Return the name of the file with a case's scenario."""
    return f"case-{result.case.number:02}.toml"


def html(found: Suited) -> str:
    """Return the page: an answer, then a section a case with its checks and its time line."""
    figures = [on_screen.svgs(figure_of(result.trace)) if result.trace else [] for result in found.results]
    return page(
        "suite.html.j2",
        found=found,
        answer=summary(found),
        figures=figures,
        files=list(map(scenario_name, found.results)),
    )


def junit(found: Suited) -> str:
    """Return the results as JUnit XML: a test case a case, skipped if it was not shown."""
    root = ElementTree.Element(
        "testsuite",
        name=f"haltere {found.suite.name}: {found.contender}",
        tests=str(len(found.results)),
        failures=str(found.count("failed")),
        skipped=str(found.count("not shown")),
        errors="0",
    )
    for result in found.results:
        name = f"{result.case.number:02} {result.case.title}"
        case = ElementTree.SubElement(root, "testcase", classname=f"{found.suite.name}.{found.contender}", name=name)
        if result.verdict == "failed":
            bad = [one for one in result.looked if one.shown is not None and not one.shown.good]
            text = "\n".join(f"{one.check.says}: {one.shown.words}" for one in bad if one.shown is not None)
            ElementTree.SubElement(case, "failure", message=bad[0].check.says).text = text
        elif result.verdict == "not shown":
            ElementTree.SubElement(case, "skipped", message=result.reason)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
