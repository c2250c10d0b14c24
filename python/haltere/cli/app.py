"""The commands and their options. What they need is loaded only when they run, so that help comes at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    add_completion=False,
    help="""A laboratory for transport protocols.

A **contender** is `transport[@implementation]/congestion[+switch...]`: `tcp/cubic`, `quic/bbr`, `tcp/cubic-nohystart`
(see `haltere algorithms`). Quantities carry units: `40Mbit/s`, `50ms`, `1%`, `32MiB`; a queue is `1000p` (packets),
`64kB` or `1bdp`. The same words stand in study files, on this line and in the results.

Start with: `haltere compare tcp/cubic quic/bbr --rate 40Mbit/s --rtt 50ms --loss 1%`
""",
)

ONE, LINK, RUNS = "One line, no file", "The link", "How"


def _version(wanted: bool) -> None:
    if wanted:
        from haltere import core

        typer.echo(f"haltere {core.VERSION}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and stop.")
    ] = False,
) -> None:
    pass


Contenders = Annotated[
    list[str], typer.Argument(help="What competes, such as `tcp/cubic quic/bbr`.", show_default=False)
]
Rate = Annotated[str, typer.Option(help="Rate of the link.", rich_help_panel=LINK)]
Rtt = Annotated[
    str | None,
    typer.Option(help="Two-way delay, split evenly (default 50ms).", show_default=False, rich_help_panel=LINK),
]
DownDelay = Annotated[
    str | None, typer.Option(help="Delay from server to client.", show_default=False, rich_help_panel=LINK)
]
UpDelay = Annotated[
    str | None, typer.Option(help="Delay from client to server.", show_default=False, rich_help_panel=LINK)
]
Loss = Annotated[str, typer.Option(help="Random loss from server to client.", rich_help_panel=LINK)]
Queue = Annotated[str, typer.Option(help="Packets (1000p), bytes (64kB) or 1bdp.", rich_help_panel=LINK)]
Mtu = Annotated[str, typer.Option(help="Largest IP packet.", rich_help_panel=LINK)]
Size = Annotated[str, typer.Option(help="The object each contender fetches.")]
App = Annotated[
    str, typer.Option(help="`https` (TLS 1.3 with HTTP/2, or HTTP/3) or `raw` (connect, one byte up, the bytes back).")
]
Share = Annotated[
    bool,
    typer.Option("--share", help="Let them share the link for --duration instead of fetching one after the other."),
]
Duration = Annotated[str, typer.Option(help="How long they share; goodput counts from 10 s on.")]
Seed = Annotated[
    int, typer.Option(help="Names the random losses; every contender meets the same ones.", rich_help_panel=RUNS)
]
Replications = Annotated[int, typer.Option(help="How often, each time with other losses.", rich_help_panel=RUNS)]
FidelityOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fidelity",
        help="Where: `model` (the simulator), `linux` (a real kernel in virtual time), `testbed` (this machine's kernel). "
        "May be given again, to lay them side by side.",
        show_default=False,
        rich_help_panel=RUNS,
    ),
]
Workers = Annotated[
    int | None, typer.Option(help="Runs at once (default: one a CPU).", show_default=False, rich_help_panel=RUNS)
]


@app.command(rich_help_panel=ONE)
def compare(
    contenders: Contenders,
    rate: Rate = "40Mbit/s",
    rtt: Rtt = None,
    down_delay: DownDelay = None,
    up_delay: UpDelay = None,
    loss: Loss = "0%",
    queue: Queue = "1000p",
    mtu: Mtu = "1500B",
    size: Size = "32MiB",
    app: App = "https",
    share: Share = False,
    duration: Duration = "60s",
    replications: Replications = 10,
    seed: Seed = 1,
    workers: Workers = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="A JSON list for programs: one entry a contender and replication.")
    ] = False,
) -> None:
    """Compare contenders on one link: who wins, and whether the difference is real.

    `haltere compare tcp/cubic tcp/bbr quic/cubic quic/bbr --rate 40Mbit/s --down-delay 50ms --up-delay 0ms --loss 1%`

    `haltere compare tcp/cubic quic/bbr --share --duration 60s --queue 1bdp`
    """
    from haltere.cli.compare import command
    from haltere.comparison import Conditions

    conditions = Conditions(rate, rtt, down_delay, up_delay, loss, size, queue, mtu, app, share, duration)
    command(contenders, conditions, replications=replications, seed=seed, workers=workers, as_json=as_json)


@app.command(rich_help_panel="Studies")
def run(
    study: Annotated[
        Path, typer.Argument(help="A study's folder or file, or a plain scenario file.", show_default=False)
    ],
    replications: Annotated[
        int | None, typer.Option(help="Instead of the study's own number.", show_default=False)
    ] = None,
    variant: Annotated[
        str | None, typer.Option(help="A variant of the study, laid over it.", show_default=False)
    ] = None,
    experiment: Annotated[
        list[str] | None, typer.Option(help="Only this experiment (may be given again).", show_default=False)
    ] = None,
    fidelity: FidelityOption = None,
    workers: Workers = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results (default results/NAME).", show_default=False)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many runs there are and about how long they take.")
    ] = False,
) -> None:
    """Run every run of a study that has not been run yet.

    Everything is checked before anything runs. Runs go on in parallel; a campaign that was stopped (Ctrl-C) or killed
    goes on where it was when the same command is given again. The tables do not depend on the number of workers.

    `haltere run studies/quic-dumbbell --dry-run`

    `haltere run studies/quic-dumbbell --replications 3 --experiment base`
    """
    from haltere.cli.run import command

    command(
        study,
        replications=replications,
        variant=variant,
        experiments=experiment,
        fidelity=fidelity,
        workers=workers,
        out=out,
        dry_run=dry_run,
    )


@app.command(rich_help_panel="Studies")
def report(
    results: Annotated[Path, typer.Argument(help="A folder written by `haltere run`.", show_default=False)],
    study: Annotated[
        Path | None, typer.Option(help="The study's folder, if it is no longer where it was.", show_default=False)
    ] = None,
) -> None:
    """Write the report of some results: one HTML file, and each figure as SVG and PDF.

    `haltere report results/quic-dumbbell`
    """
    from haltere.cli.report import command

    command(results, study)


@app.command(rich_help_panel=ONE)
def trace(
    what: Annotated[
        list[str], typer.Argument(help="A scenario file, or contenders that share one link.", show_default=False)
    ],
    rate: Rate = "40Mbit/s",
    rtt: Rtt = None,
    down_delay: DownDelay = None,
    up_delay: UpDelay = None,
    loss: Loss = "0%",
    queue: Queue = "1000p",
    mtu: Mtu = "1500B",
    size: Size = "32MiB",
    app: App = "https",
    seed: Seed = 1,
    replication: Annotated[int, typer.Option(help="Which replication to look at.", rich_help_panel=RUNS)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the trace (default traces/NAME).", show_default=False)
    ] = None,
) -> None:
    """Look closely at one run: windows, RTT, rates and queues at every change, as tables and a figure.

    `haltere trace tcp/cubic --rate 40Mbit/s --rtt 50ms --loss 0.1%`

    `haltere trace scenario.toml --replication 3`
    """
    from haltere.cli.trace import command
    from haltere.comparison import Conditions

    command(
        what,
        Conditions(rate, rtt, down_delay, up_delay, loss, size, queue, mtu, app),
        seed=seed,
        replication=replication,
        out=out,
    )


@app.command(rich_help_panel="Reference")
def bench(
    as_json: Annotated[bool, typer.Option("--json", help="A JSON list for programs.")] = False,
) -> None:
    """Measure the simulator's speed on this machine: data packets a CPU-second, and memory."""
    from haltere.cli.reference import bench as command

    command(as_json=as_json)


@app.command(rich_help_panel="Reference")
def algorithms(
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Say what a contender can be made of: transports, congestion controls, switches, with their sources."""
    from haltere.cli.reference import algorithms as command

    command(as_json=as_json)


@app.command(rich_help_panel="Reference")
def schema(
    of: Annotated[str, typer.Argument(help="`scenario` or `study`.")] = "scenario",
) -> None:
    """Print the JSON Schema of a scenario or a study file, for editors."""
    from haltere.cli.reference import schema as command

    command(of)
