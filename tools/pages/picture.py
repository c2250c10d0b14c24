"""Takes the picture of a report that the README shows: `python -m pages.picture [REPORT.html] [HEIGHT]`.

Without a report that of `make demo` is taken. Needs chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "figures" / "report.png"
WIDTH = 1200
"""Width of the window, in pixels."""
HEIGHT = 945
"""How much of the page's top is shown, in pixels."""
COLOURS = 128
"""A palette of so many colours keeps text and figures sharp in a quarter of the bytes."""
LARGEST = 250_000
"""Bytes that the picture may have: it is part of the repository."""


def photograph(report: Path, height: int) -> Path:
    """Write the top of a report into the README's picture.

    Raises:
        SystemExit: if there is no report, no chromium, or the picture is too large.
    """
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("chromium is not there")
    if not report.is_file():
        sys.exit(f"{report} is not there: `make demo` writes it")
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder) / "report.png"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}"]
        options += [f"--window-size={WIDTH},{height}", f"--screenshot={taken}", report.resolve().as_uri()]
        subprocess.run([browser, *options], check=True, capture_output=True, timeout=120)
        with Image.open(taken) as whole:
            whole.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
    size = PICTURE.stat().st_size
    if size > LARGEST:
        sys.exit(f"{PICTURE} has {size} bytes, more than {LARGEST}: show less of the page")
    return PICTURE


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results" / "demo" / "report.html"
    sys.stdout.write(f"{photograph(given, int(sys.argv[2]) if len(sys.argv) > 2 else HEIGHT)}\n")
