"""`haltere paths fetch`: traceroutes from platforms that give them over the network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from haltere.cli.paths.options import day
from haltere.errors import grouped

app = typer.Typer(no_args_is_help=True, help="Fetch traceroutes from platforms that give them over the network.")


@app.command("atlas")
def atlas(
    measurements: Annotated[
        list[int], typer.Argument(metavar="MEASUREMENT...", min=1, help="Numbers of measurements.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The files' folder, made if there is none.")],
    first_day: Annotated[str | None, typer.Option("--from", help="First day (UTC); without days all at once.")] = None,
    last_day: Annotated[str | None, typer.Option("--to", help="Last day.")] = None,
    probe: Annotated[list[int] | None, typer.Option(min=1, help="Only results of this probe; again for more.")] = None,
    key: Annotated[
        str | None, typer.Option(envvar="RIPE_ATLAS_API_KEY", help="API key, for what is not public.")
    ] = None,
    server: Annotated[
        str, typer.Option(help="Another server of the same interface.", hidden=True)
    ] = "https://atlas.ripe.net",
) -> None:
    """Fetch results of RIPE Atlas traceroute measurements: a file each measurement and day, for `haltere paths ingest`.

    Files that are there are not fetched again, so that the same command goes on where it was stopped.

    `haltere paths fetch atlas 5051 --from 2024-03-01 --to 2024-03-07 --out atlas/`
    """
    from haltere.cli import show
    from haltere.paths.fetch import fetch_atlas

    first, last = day("--from", first_day), day("--to", last_day)
    with show.progress("fetching", "files") as advance:
        files = fetch_atlas(
            measurements,
            out,
            first_day=first,
            last_day=last,
            probes=probe or (),
            key=key,
            server=server,
            on_progress=advance,
        )
    new = [file for file in files if not file.known and file.results]
    said = [
        f"{grouped(sum(file.results for file in new))} results in {grouped(len(new))} new files in {escape(str(out))}"
    ]
    known, empty = sum(file.known for file in files), sum(not file.known and not file.results for file in files)
    said += [f"{grouped(known)} {'was' if known == 1 else 'were'} there already"] if known else []
    said += [f"{grouped(empty)} {'has' if empty == 1 else 'have'} no results"] if empty else []
    show.out().print(", ".join(said), soft_wrap=True)
