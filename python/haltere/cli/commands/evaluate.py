"""`haltere evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.cli import complete
from haltere.cli.commands.shared import STUDIES, AsJson, Workers
from haltere.errors import ArgumentError

app = typer.Typer()


@app.command(rich_help_panel=STUDIES)
def evaluate(
    contender: Annotated[
        str,
        typer.Argument(help="The newcomer, such as `tcp/bbr` or `tcp/./mine.py`.", autocompletion=complete.contenders),
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="What it is held against; may be given again, the first decides the verdicts (default `tcp/cubic`, "
            "`tcp/newreno` and `quic/newreno`)."
        ),
    ] = None,
    section: Annotated[
        list[str] | None,
        typer.Option(help="Only this section of the RFC, such as `5.2`, with those below it. May be given again."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first version in about a minute: fewer places and replications.")
    ] = False,
    replications: Annotated[int | None, typer.Option(help="Instead of the study's own number.")] = None,
    suite: Annotated[
        str | None,
        typer.Option(help="Instead of the sheet, the test cases of a suite: `bbr`, those of draft-ietf-ccwg-bbr."),
    ] = None,
    case: Annotated[list[int] | None, typer.Option(help="With a suite: only this case. May be given again.")] = None,
    junit: Annotated[Path | None, typer.Option(help="With a suite: write JUnit XML into this file.")] = None,
    qlog: Annotated[
        bool, typer.Option("--qlog", help="With a suite: write the qlog files of each case into the folder of --out.")
    ] = False,
    workers: Workers = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the results (default results/evaluate-CONTENDER; a suite writes none without it)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a new congestion control by the sections of RFC 9743, beside established ones in the same places.

    A row says *worse*, *no worse*, *better* or *undecided*, with the margin. The RFC sets no thresholds, and nothing
    here says that a contender complies with it. The scenarios are those of the shipped study `evaluate`.

    `haltere evaluate tcp/bbr --quick`

    `haltere evaluate tcp/./mine.py --section 5.1.3 --against tcp/cubic`

    `haltere evaluate quic/bbr3 --suite bbr --out cases`
    """
    if suite is not None:
        from haltere.cli import suite as suites

        alone = {"against": against, "section": section, "quick": quick or None, "replications": replications}
        for name, given in alone.items():
            if given is not None:
                raise ArgumentError("is for the sheet, not for a suite", field=name, right="leave it or the suite out")
        suites.command(
            contender, suite, cases=case or (), workers=workers, out=out, qlog=qlog, report=junit, as_json=as_json
        )
        return
    for name, of_suites in {"case": case, "junit": junit, "qlog": qlog or None}.items():
        if of_suites is not None:
            raise ArgumentError("is for a suite", field=name, right="add --suite bbr, or leave it out")
    from haltere.cli.evaluate import command

    command(
        contender,
        against=against,
        sections=section or (),
        quick=quick,
        replications=replications,
        workers=workers,
        out=out,
        as_json=as_json,
    )
