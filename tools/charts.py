"""Writes the charting library of the explorer's page beside its module: `charts.py FOLDER`, a step of `make build`.

The library is Vega, Vega-Lite and Vega-Embed as one script, the same bytes for the same version of vl-convert, which
holds a JavaScript engine to bundle it. The package that users install has the script and not the engine.
"""

from __future__ import annotations

import sys
from importlib.metadata import distribution
from pathlib import Path

import vl_convert

SCRIPT = "charts.js"
LICENCE = "charts.LICENSE.txt"
NOTE = """\
{script} is Vega, Vega-Lite, Vega-Embed (https://vega.github.io) and what they need of D3 (https://d3js.org),
as {name} {version} (https://github.com/vega/vl-convert) bundles them. Vega and its parts have the licence BSD-3-Clause,
Copyright University of Washington Interactive Data Lab and others; D3 has the licence ISC, Copyright Mike Bostock.
The licence of {name} follows.

"""


def main(folder: Path) -> None:
    """Write the script and the licences that it stands under."""
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # The script stands inside a page, whose script element would end here.
    (folder / SCRIPT).write_text(script.replace("</script", "<\\/script"), encoding="utf-8")
    of = distribution("vl-convert-python")
    texts = [f.read_text(encoding="utf-8") for f in of.files or [] if f.name == "LICENSE"]
    if not texts:
        sys.exit(f"{of.name} {of.version} comes without its licence: look where it went, and name it in {__file__}")
    note = NOTE.format(script=SCRIPT, name=of.name, version=of.version)
    (folder / LICENCE).write_text(note + "\n".join(texts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
