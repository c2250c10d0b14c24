"""`haltere kernel`: builds the user-mode Linux of fidelity `linux`, and lists those that were built."""

from __future__ import annotations

from haltere.cli import show
from haltere.documents import shown
from haltere.rig import kernel, machines


def build(source: str | None, suite: str | None, hz: int, jobs: int | None, *, if_missing: bool) -> None:
    """Build a kernel and print its version."""
    there = kernel.built()
    if if_missing and any(one.tree and kernel.can_be_a_node(one) for one in there):
        # One that an earlier haltere has built may lack the library of this one.
        for one in there:
            kernel.preloaded(one)
        show.say(f"Linux {there[0].version} at {there[0].hz} Hz is there already")
        return
    with show.progress("building the kernel") as advance:
        built = kernel.build(source, suite=suite, hz=hz, jobs=jobs, on_progress=advance)
    show.say(f"Linux {built.version} at {built.hz} Hz: {shown(built.path.parent)}")
    unknown = kernel.unknown_options(built)
    if unknown:
        show.say(f"this source does not know: {', '.join(unknown)}", style="yellow")
    if (first := kernel.built()[0]) != built:
        show.say(f"the default is {first.name}; `haltere --kernel {built.version} ...` uses this one")
    show.say("next: haltere validate tcp/cubic --rate 40Mbit/s --rtt 50ms")


def list_kernels(*, as_json: bool) -> None:
    """Print the kernels that were built, the default first."""
    built = kernel.built()
    if as_json:
        chosen = kernel.find().name if built else None
        kernels = [{**_about(k), "used": k.name == chosen} for k in built]
        show.data(kernels)
        return
    _print(built)


def _about(one: kernel.Kernel) -> dict[str, str | int | bool]:
    return {**one.about(), "path": str(one.path), "takes_files": one.tree is not None}


def _print(built: list[kernel.Kernel]) -> None:
    if not built:
        show.say("no kernel has been built: `haltere kernel build` (some minutes, no root)")
        return
    chosen = kernel.find()
    rows = [
        (
            "used" if one == chosen else "",
            one.name,
            one.version,
            str(one.hz),
            "yes" if one.tree else "no",
            ", ".join(kernel.unknown_options(one)) or "–",
        )
        for one in built
    ]
    titles = ("", "name", "version", "Hz", "takes files", "not in its configuration")
    show.out().print(show.table(*titles, rows=rows, left=6, title="kernels of fidelity linux"))
    show.say("`haltere --kernel NAME ...`, or the variable HALTERE_KERNEL, chooses by name or version")


def check(*, as_json: bool) -> None:
    """Print which kernels there are and what is missing."""
    built = kernel.built()
    tools = kernel.missing_tools()
    here = machines.problem()
    if as_json:
        data = {
            "kernels": [_about(k) for k in built],
            "missing_tools": tools,
            "sources": [path.name for path in kernel.packaged_sources()],
            "testbed": here,
        }
        show.data(data)
        return
    _print(built)
    if tools:
        packages = " ".join(sorted(set(tools.values())))
        show.say(f"to build one: apt-get install {packages} (missing: {', '.join(tools)})")
    else:
        sources = ", ".join(path.name.removesuffix(".tar.xz") for path in kernel.packaged_sources())
        show.say(f"building is possible; sources here: {sources or 'none, apt-get fetches one'}")
    show.say(f"fidelity testbed: {'possible' if here is None else here}")
