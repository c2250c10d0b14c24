"""Builds the site: `python -m pages.make [FOLDER]`. Warnings are errors, and so are links that lead nowhere."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from pages.links import broken
from pages.stage import stage

ROOT = Path(__file__).resolve().parents[2]


def build(out: Path) -> int:
    """Build the site into a folder and return the exit code."""
    out = out.resolve()
    source = out.with_name(out.name + "-source")
    stage(ROOT, source)
    strict = ["-W", "--keep-going", "-q", "-E"]
    places = ["-c", str(Path(__file__).parent), "-D", f"html_extra_path={source / 'extra'}"]
    shutil.rmtree(out, ignore_errors=True)
    code = int(sphinx(["-b", "html", *strict, *places, str(source), str(out)]))
    if code:
        return code
    problems = broken(out)
    for problem in problems:
        sys.stderr.write(f"leads nowhere: {problem}\n")
    if not problems:
        sys.stdout.write(f"site: {out / 'index.html'}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "site")))
