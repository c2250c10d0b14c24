"""`haltere kernel`: builds the user-mode Linux of fidelity `linux`, and lists those that were built."""

from __future__ import annotations

import json

from rich.markup import escape

from haltere.cli import show
from haltere.documents import shown
from haltere.rig import kernel, local


def build(source: str | None, suite: str | None, hz: int, jobs: int | None, *, if_missing: bool) -> None:
    """Build a kernel and print its version."""
    there = kernel.built()
    if if_missing and there:
        show.out().print(escape(f"Linux {there[0].version} at {there[0].hz} Hz is there already"))
        return
    with show.progress("building the kernel") as advance:
        built = kernel.build(source, suite=suite, hz=hz, jobs=jobs, on_progress=advance)
    console = show.out()
    console.print(escape(f"Linux {built.version} at {built.hz} Hz: {shown(built.path.parent)}"))
    unknown = kernel.unknown_options(built)
    if unknown:
        console.print(escape(f"this source does not know: {', '.join(unknown)}"), style="yellow")
    if (first := kernel.built()[0]) != built:
        console.print(escape(f"the default is {first.name}; `haltere --kernel {built.version} ...` uses this one"))
    console.print("next: haltere validate tcp/cubic --rate 40Mbit/s --rtt 50ms", markup=False)


def list_kernels(*, as_json: bool) -> None:
    """Print the kernels that were built, the default first."""
    built = kernel.built()
    if as_json:
        chosen = kernel.find().name if built else None
        kernels = [{**k.about(), "path": str(k.path), "used": k.name == chosen} for k in built]
        print(json.dumps(kernels, indent=1))
        return
    _print(built)


def _print(built: list[kernel.Kernel]) -> None:
    console = show.out()
    if not built:
        console.print("no kernel has been built: `haltere kernel build` (some minutes, no root)", markup=False)
        return
    chosen = kernel.find()
    table = show.table(title="kernels of fidelity linux")
    for title in ("", "name", "version", "Hz", "not in its configuration"):
        table.add_column(title)
    for one in built:
        mark = "used" if one == chosen else ""
        table.add_row(mark, one.name, one.version, str(one.hz), ", ".join(kernel.unknown_options(one)) or "–")
    console.print(table)
    console.print(
        "`haltere --kernel NAME ...`, or the variable HALTERE_KERNEL, chooses by name or version", markup=False
    )


def check(*, as_json: bool) -> None:
    """Print which kernels there are and what is missing."""
    built = kernel.built()
    tools = kernel.missing_tools()
    here = local.problem()
    if as_json:
        data = {
            "kernels": [{**k.about(), "path": str(k.path)} for k in built],
            "missing_tools": tools,
            "sources": [path.name for path in kernel.packaged_sources()],
            "testbed": here,
        }
        print(json.dumps(data, indent=1))
        return
    console = show.out()
    _print(built)
    if tools:
        packages = " ".join(sorted(set(tools.values())))
        console.print(escape(f"to build one: apt-get install {packages} (missing: {', '.join(tools)})"))
    else:
        sources = ", ".join(path.name.removesuffix(".tar.xz") for path in kernel.packaged_sources())
        console.print(escape(f"building is possible; sources here: {sources or 'none, apt-get fetches one'}"))
    console.print(escape(f"fidelity testbed: {'possible' if here is None else here}"))
