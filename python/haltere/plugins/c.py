"""Sources in C, built into shared libraries: those of `haltere.h`, and congestion controls of Linux as they are."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from haltere.plugins import linux

INCLUDE = Path(__file__).parent / "include"
"""The folder of `haltere.h`."""
_FLAGS = ("-shared", "-fPIC", "-O2", "-g1", "-Wall")
_LONGEST_S = 120


def inputs(source: Path) -> bytes:
    """Return all bytes on which a source's library depends: it, what it needs beside it, and what it is built with."""
    headers = sorted(source.parent.glob("*.h"))
    own = sorted(path for path in Path(__file__).parent.rglob("*") if path.suffix in {".h", ".c"})
    return b"\0".join(path.read_bytes() for path in [*linux.sources(source), *headers, *own])


def build(source: Path, into: Path) -> None:
    """Build the shared library of a source: a congestion control of Linux, or one of `haltere.h`.

    Raises:
        ValueError: if there is no compiler, or the source does not compile; the message has what the compiler said.
    """
    if linux.defines(source.read_text(errors="replace")):
        linux.build(source, into)
        return
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise ValueError(
            f"{source} needs a compiler of C: install gcc or clang, or build a library and name its .so file"
        )
    with tempfile.TemporaryDirectory(dir=into.parent) as folder:
        made = Path(folder) / into.name
        command = [compiler, *_FLAGS, f"-I{INCLUDE}", "-o", str(made), str(source), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_S, check=False)
        if done.returncode:
            raise ValueError(f"{source} does not compile:\n{done.stderr.strip()}")
        made.replace(into)
