"""`ARTIFACT.md`: what a reviewer reads first. Each claim with its command, its minutes, its verdict and its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haltere import claims, fidelity
from haltere.claims.code import Code
from haltere.claims.findings import judged, leading, tables_of
from haltere.metrics.tables import Tables
from haltere.results import Results


@dataclass(frozen=True)
class Told:
    """A claim as an archive has it.

    Attributes:
        name: the name of its function.
        sentence: what it says.
        source: its place in the paper.
        verdict: the outcome.
        numbers: the numbers that it was judged by, or the reason why there are none.
        shown: those of them that a table has.
        experiments: the experiments whose runs it needs.
    """

    name: str
    sentence: str
    source: str
    verdict: str
    numbers: list[str]
    shown: list[str]
    experiments: list[str]

    def data(self) -> dict[str, Any]:
        """Return it as `pack.json` has it."""
        kept = ("name", "sentence", "source", "verdict", "numbers", "experiments")
        return {name: getattr(self, name) for name in kept}


def told(results: Results, folder: Path) -> list[Told]:
    """Judge the claims of the study in a folder, which runs their code."""
    tables, code = tables_of(results, folder), Code.of(folder)
    found = []
    for one in judged(folder, tables).judged:
        verdict = one.verdict
        shown = [f"{e.what}: {e.said}" for e in leading(verdict.evidence, verdict.outcome)]
        needs = _needs(one.claim, verdict, tables, code)
        said = (one.claim.sentence, one.claim.source, verdict.outcome.value)
        found.append(Told(one.claim.name, *said, numbers(verdict), shown, needs))
    return found


def numbers(verdict: claims.Verdict) -> list[str]:
    """Return the numbers of a verdict as they read, or why there are none."""
    return [f"{one.what}: {one.said}" for one in verdict.evidence] or [verdict.reason]


def _needs(one: claims.Claim[Any], verdict: claims.Verdict, tables: Tables, code: Code) -> list[str]:
    """Return the one experiment whose runs alone give the same verdict, or all."""
    every = list(tables.factors)
    for name in every if len(every) > 1 and verdict.evidence else ():
        part = claims.judge(one, _only(tables, name), code)
        if (part.outcome, numbers(part)) == (verdict.outcome, numbers(verdict)):
            return [name]
    return every


def _only(tables: Tables, experiment: str) -> Tables:
    frames = {name: getattr(tables, name) for name in ("runs", "flows", "latency", "links")}
    kept = {name: one.filter(one["experiment"] == experiment) for name, one in frames.items() if one.width}
    return Tables(**{**frames, **kept}, factors={experiment: tables.factors[experiment]}, known=tables.known)


def minutes(results: Results) -> dict[str, float]:
    """Return the minutes that the runs of each experiment took: the campaign's, shared out by events or runs."""
    whole = sum(one["wall_s"] for one in results.manifest["sessions"]) / 60
    runs = results.runs
    weights = runs["events"].fill_null(0).to_list()
    weights = weights if all(weights) else [1] * runs.height
    each = whole / (sum(weights) or 1)
    found = dict.fromkeys(results.manifest["experiments"], 0.0)
    for name, weight in zip(runs["experiment"].to_list(), weights, strict=True):
        found[name] += each * weight
    return found


def write(results: Results, facts: dict[str, Any], found: Sequence[Told]) -> bytes:
    """Return the page.

    Args:
        results: the results.
        facts: what `haltere.export.archive` knows: `name`, `title`, `abstract`, `authors`, `license`, `wheel` (its name
            or None), `no_wheel` (why), `needs` (of the wheel, if it is tied to a system), `hashed` (whether the
            packages have hashes), `playground`, `code`, `report`, and `run` (the command that runs the campaign).
        found: the claims.
    """
    manifest = results.manifest
    took = minutes(results)
    machine = manifest["machine"]
    lines = [f"# {facts['title']}", ""]
    lines += [facts["abstract"], ""] if facts["abstract"] else []
    source = [f"- source: {manifest['study']['source']}"] if manifest["study"].get("source") else []
    lines += [
        f"- by {', '.join(facts['authors'])}; licence {facts['license']}",
        *source,
        f"- {manifest['counts']['runs']} runs, {manifest['counts']['failed']} failed; {manifest['replications']} "
        f"replications, seed {manifest['seed']}, fidelity {', '.join(manifest['fidelities'])}",
        f"- made by haltere {manifest['haltere']}, core `{manifest['core']}`, in {sum(took.values()):.1f} minutes on "
        f"{machine['cpus']} CPUs ({machine['cpu'] or machine['architecture']})",
        *_repeatable(manifest["fidelities"]),
        "",
        *_install(facts),
        *_claims(found, took, facts),
        *_contents(facts),
    ]
    return ("\n".join(lines) + "\n").encode()


def _repeatable(names: Sequence[str]) -> list[str]:
    real = [name for name in names if not fidelity.of(name).simulated]
    if not real:
        return ["- every run gives the same bytes on each machine of this architecture"]
    return [f"- runs of fidelity {', '.join(real)} are of real hosts: their numbers differ from run to run"]


def _install(facts: dict[str, Any]) -> list[str]:
    name = facts["name"]
    hashes = "--require-hashes " if facts["hashed"] else ""
    lines = [
        "## From nothing but Python", "",
        "Python 3.11 or newer, Linux, no root, some 570 MB of packages. The last line unpacks the archive beside this "
        "folder, runs the study again, compares all tables to the byte, and says in one line what agreed.",
        "", "```console", f"$ tar xzf {name}.tar.gz && cd {name}", "$ python3 -m venv lab",
        f"$ lab/bin/pip install {hashes}-r install/requirements.txt",
    ]  # fmt: skip
    if facts["wheel"]:
        lines.append(f"$ lab/bin/pip install --no-deps install/{facts['wheel']}")
    else:
        lines.append("$ lab/bin/pip install --no-deps haltere-VERSION.whl   # which is not in this archive, see below")
    allow = " --allow-code" if facts["code"] else ""
    lines += [f"$ lab/bin/haltere unpack ../{name}.tar.gz{allow}", "```", ""]
    if facts["code"]:
        lines += [
            f"The archive holds code: {', '.join(f'`{one}`' for one in facts['code'])}. It would run with all your "
            "rights. Read it; `--allow-code` then runs it. Without, the tables are compared and claims are not judged.",
            "",
        ]
    if facts["wheel"] and facts["needs"]:
        lines += [f"The wheel was not built for older systems: it needs {facts['needs']}.", ""]
    if not facts["wheel"]:
        lines += [f"The wheel is not inside: {facts['no_wheel']}.", ""]
    if facts["playground"]:
        lines += ["Without any installation: open `playground.html` in a browser and run a treatment there.", ""]
    return lines


def _claims(found: Sequence[Told], took: dict[str, float], facts: dict[str, Any]) -> list[str]:
    if not found:
        return ["## Claims", "", f"The study states no claims as code. `{facts['run']} --out again` runs it.", ""]
    lines = [
        "## Claims", "",
        "Commands are run in this folder, with `lab/bin` on the `PATH`. Minutes are those that the runs took where the "
        "study was made. A report has all claims with all their numbers; those that need other experiments are "
        "undecided there.", "",
        "| claim | command | minutes | verdict | value |", "|---|---|--:|---|---|",
    ]  # fmt: skip
    for number, one in enumerate(found, 1):
        out, some = "again", ""
        if len(one.experiments) < len(took):
            out = f"again-{'-'.join(one.experiments)}"
            some = "".join(f" --experiment {name}" for name in one.experiments)
        spent = max(0.1, sum(took[name] for name in one.experiments))
        place = f" ({one.source})" if one.source else ""
        cells = (
            f"{number}. {one.sentence}{place}", f"`{facts['run']}{some} --out {out} && haltere report {out}`",
            f"{spent:.1f}", f"*{one.verdict}*", "; ".join(one.shown or one.numbers),
        )  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return [*lines, ""]


def _contents(facts: dict[str, Any]) -> list[str]:
    rows = [
        ("study/", "the study as it was run, and the files beside it"),
        ("results/", "tables, manifest" + (", report and figures" if facts["report"] else "")),
        (
            "install/",
            f"{'the wheel that made the results, ' if facts['wheel'] else ''}the packages with their versions",
        ),
        ("pack.json", "the campaign, all versions, and the claims with their verdicts"),
        ("CITATION.cff, .zenodo.json", "how to cite it; what Zenodo fills in"),
        ("ro-crate-metadata.json", "the same for programs (RO-Crate 1.3, Workflow Run Crate 0.5)"),
        ("checksums.sha256", "SHA-256 of every file: `sha256sum --check checksums.sha256`"),
    ]
    if facts["playground"]:
        rows.insert(3, ("playground.html", "the simulator as a page"))
    return ["## Contents", "", "| file | what it is |", "|---|---|", *(f"| {name} | {what} |" for name, what in rows)]
