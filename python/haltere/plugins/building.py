"""Sources in C and in Rust, built into shared libraries by the compilers of the user's machine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from haltere.plugins import linux

INCLUDE = Path(__file__).parent / "include"
"""The folder of `haltere.h`, and of the same interface in Rust, `haltere.rs`."""
_C = ("-shared", "-fPIC", "-O2", "-g1", "-Wall", f"-I{INCLUDE}")
_RUST = ("--edition", "2021", "--crate-type", "cdylib", "-C", "opt-level=3", "-C", "debuginfo=1")
_LONGEST_S = 180


def inputs(source: Path) -> bytes:
    """Return all bytes on which a source's library depends: itself, what it may include, what it is built with."""
    own = sorted(path for path in Path(__file__).parent.rglob("*") if path.suffix in {".h", ".c"})
    return b"\0".join(path.read_bytes() for path in [source, *beside(source), *own])


def beside(source: Path) -> list[Path]:
    """Return the files beside a source that it may include, and those in C that are linked with it."""
    included = sorted(source.parent.glob("*.h" if source.suffix == ".c" else "*.rs"))
    return [*linux.sources(source)[1:], *included]


def build(source: Path, into: Path) -> None:
    """Build the shared library of a source.

    Raises:
        ValueError: if there is no compiler, or the source does not compile; the message has what the compiler said.
    """
    if source.suffix == ".c" and linux.defines(source.read_text(errors="replace")):
        linux.build(source, into)
        return
    with tempfile.TemporaryDirectory(dir=into.parent) as folder:
        made = Path(folder) / into.name
        command = _c(source, made) if source.suffix == ".c" else _rust(source, made)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_S, check=False)
        except subprocess.TimeoutExpired:
            raise ValueError(f"{source} does not compile within {_LONGEST_S} s") from None
        if done.returncode:
            raise ValueError(f"{source} does not compile:\n{done.stderr.strip()}")
        made.replace(into)


def _c(source: Path, made: Path) -> list[str]:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise ValueError(
            f"{source} needs a compiler of C: install gcc or clang, or build a library and name its .so file"
        )
    return [compiler, *_C, "-o", str(made), str(source), "-lm"]


def _rust(source: Path, made: Path) -> list[str]:
    compiler = shutil.which("rustc")
    if compiler is None:
        raise ValueError(f"{source} needs rustc: install Rust (rustup.rs), or build a library and name its .so file")
    return [compiler, *_RUST, "-o", str(made), str(source)]
