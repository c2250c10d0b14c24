"""The gallery: the shipped studies with their questions and reports, and the command that makes the reports.

`python -m pages.gallery [REPLICATIONS]` runs every study that needs no kernel into `results/gallery/NAME`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from haltere import explorer, fidelity, report, shipped
from haltere.evolution import PathsStudy
from haltere.runner.campaign import Campaign
from haltere.study import Study, is_of_paths

ROOT = Path(__file__).resolve().parents[2]
MADE = Path("results") / "gallery"
REPLICATIONS = 6
"""As many as a paired test needs at least to tell a difference from chance."""


def place(root: Path, source: Path) -> None:
    """Write the gallery's page, and copy the reports that were made, with a figure of each."""
    page = source / "gallery.md"
    pages = [path.relative_to(source).with_suffix("").as_posix() for path in sorted(source.glob("studies/*/*.md"))]
    toc = "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])
    text = page.read_text(encoding="utf-8").replace(
        "<!-- generated: gallery -->", "\n".join(_sections(root, source)) + "\n" + toc
    )
    page.write_text(text, encoding="utf-8")


def _sections(root: Path, source: Path) -> Iterator[str]:
    for study in shipped.studies():
        yield f"## {study.title}\n\n*{study.question}*\n"
        said = [f"[What came out](studies/{study.name}/README.md)"]
        results = root / MADE / study.name
        if (results / "report.html").is_file():
            goal = Path("reports") / study.name
            (source / "extra" / goal).mkdir(parents=True)
            shutil.copyfile(results / "report.html", source / "extra" / goal / "index.html")
            said.append(f'<a href="{goal}/index.html">its report</a>')
            if (results / explorer.PAGE).is_file():  # the report links it
                shutil.copyfile(results / explorer.PAGE, source / "extra" / goal / explorer.PAGE)
            if (results / "figures").is_dir():  # the report links each of them, as SVG and PDF
                shutil.copytree(results / "figures", source / "extra" / goal / "figures")
            for figure in sorted(results.glob("figures/*.svg"))[:1]:
                shutil.copyfile(figure, source / "static" / f"{study.name}.svg")
                said.append(f"\n\n![{figure.stem}](static/{study.name}.svg)")
        yield f"`haltere run {study.name}` · {' · '.join(said[:2])}{''.join(said[2:])}\n"


def make(replications: int) -> None:
    """Run the studies that need no kernel, with a few replications, and write their reports."""
    for one in shipped.studies():
        out = ROOT / MADE / one.name
        if is_of_paths(one.folder):
            PathsStudy.load(one.folder).run(out, command=f"haltere run {one.name}", on_progress=lambda *_: None)
            report.build(out, one.folder)
            sys.stdout.write(f"{one.name}: {out / 'report.html'}\n")
            continue
        study = Study.load(one.folder)
        if set(study.fidelities) <= set(fidelity.simulated()):
            Campaign(study, out=out, replications=min(replications, study.header.replications)).run()
            report.build(out, one.folder)
            sys.stdout.write(f"{one.name}: {out / 'report.html'}\n")


if __name__ == "__main__":
    make(int(sys.argv[1]) if len(sys.argv) > 1 else REPLICATIONS)
