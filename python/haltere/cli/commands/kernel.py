"""`haltere kernel build`, `list` and `check`."""

from __future__ import annotations

from typing import Annotated

import typer

from haltere.cli.commands.shared import AsJson

app = typer.Typer(
    no_args_is_help=True, help="The Linux kernel of fidelity `linux`: build it once, or see what is there."
)


@app.command("build")
def kernel_build(
    source: Annotated[
        str | None,
        typer.Option(
            help="A kernel tree, a packed one, or a version that Debian packages, such as 7.3 (default: 6.12, or the "
            "package that is installed)."
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            help="The suite of Debian that a version is fetched from, such as trixie-backports (default: several are "
            "searched)."
        ),
    ] = None,
    hz: Annotated[
        int, typer.Option(help="Timer ticks a second: 250 as Debian's kernels have, or 100, 300, 1000.")
    ] = 250,
    jobs: Annotated[int | None, typer.Option(help="Compilers at once (default: one a CPU).")] = None,
    if_missing: Annotated[
        bool,
        typer.Option("--if-missing", help="Do nothing if there is a kernel that takes files and can be a node."),
    ] = False,
) -> None:
    """Build a user-mode Linux with time travel from Debian's source package or any kernel tree; some minutes, no root.

    It goes into the user's cache folder. Several versions stand side by side. A version that is not installed is
    fetched from the mirror that this machine's apt is configured for; its signature is checked.

    `haltere kernel build`

    `haltere kernel build --source 7.3`

    `haltere kernel build --source 6.1 --hz 1000`
    """
    from haltere.cli.kernel import build

    build(source, suite, hz, jobs, if_missing=if_missing)


@app.command("list")
def kernel_list(as_json: AsJson = False) -> None:
    """List the kernels that were built, and which of them is used."""
    from haltere.cli.kernel import list_kernels

    list_kernels(as_json=as_json)


@app.command("check")
def kernel_check(as_json: AsJson = False) -> None:
    """List the kernels that were built, and what is missing to build or run one."""
    from haltere.cli.kernel import check

    check(as_json=as_json)
