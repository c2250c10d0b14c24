"""`haltere link`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.adhoc.conditions import LINK, RUNS
from haltere.cli.commands.shared import ONE

app = typer.Typer()

Queue = Annotated[
    str,
    typer.Option(
        help="A limit (1000p, 64kB, 1bdp) or a discipline (`red:ecn=true`; see `haltere queues`).", rich_help_panel=LINK
    ),
]
Mtu = Annotated[str, typer.Option(help="Largest IP packet.", rich_help_panel=LINK)]


@app.command(rich_help_panel=ONE, context_settings={"allow_interspersed_args": False})
def link(
    command: Annotated[
        list[str] | None, typer.Argument(help="What to run behind the link (default: your shell).", show_default=False)
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="Rate of each direction (default: unlimited).", show_default=False, rich_help_panel=LINK),
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(
            help="Two-way delay, split evenly; --delay, --down-delay, --up-delay give it one way.",
            show_default=False,
            rich_help_panel=LINK,
        ),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(help="One-way delay of each direction (default 0ms).", show_default=False, rich_help_panel=LINK),
    ] = None,
    loss: Annotated[
        str | None, typer.Option(help="Random loss towards the command.", show_default=False, rich_help_panel=LINK)
    ] = None,
    queue: Queue = "1000p",
    ring: Annotated[
        str | None,
        typer.Option(help="Packets of a ring behind each queue (256p).", show_default=False, rich_help_panel=LINK),
    ] = None,
    bql: Annotated[
        bool | None,
        typer.Option(
            "--bql/--no-bql",
            help="Byte queue limits keep the rings short (default: yes).",
            show_default=False,
            rich_help_panel=LINK,
        ),
    ] = None,
    jitter: Annotated[
        str | None,
        typer.Option(
            help="Random extra delay towards the command, from 0 to this, order kept.",
            show_default=False,
            rich_help_panel=LINK,
        ),
    ] = None,
    duplication: Annotated[
        str | None,
        typer.Option(
            help="Probability that a packet towards the command arrives twice.",
            show_default=False,
            rich_help_panel=LINK,
        ),
    ] = None,
    mtu: Mtu = "1500B",
    trace: Annotated[
        Path | None,
        typer.Option(
            help="A mahimahi packet-delivery trace: the rate towards the command.",
            show_default=False,
            rich_help_panel=LINK,
        ),
    ] = None,
    down_rate: Annotated[
        str | None, typer.Option(help="Rate towards the command.", show_default=False, rich_help_panel=LINK)
    ] = None,
    down_delay: Annotated[
        str | None, typer.Option(help="Delay towards the command.", show_default=False, rich_help_panel=LINK)
    ] = None,
    down_queue: Annotated[
        str | None, typer.Option(help="Queue towards the command.", show_default=False, rich_help_panel=LINK)
    ] = None,
    up_rate: Annotated[
        str | None, typer.Option(help="Rate from the command.", show_default=False, rich_help_panel=LINK)
    ] = None,
    up_delay: Annotated[
        str | None, typer.Option(help="Delay from the command.", show_default=False, rich_help_panel=LINK)
    ] = None,
    up_queue: Annotated[
        str | None, typer.Option(help="Queue from the command.", show_default=False, rich_help_panel=LINK)
    ] = None,
    up_loss: Annotated[
        str | None, typer.Option(help="Random loss from the command.", show_default=False, rich_help_panel=LINK)
    ] = None,
    up_jitter: Annotated[
        str | None, typer.Option(help="Random extra delay from the command.", show_default=False, rich_help_panel=LINK)
    ] = None,
    up_duplication: Annotated[
        str | None,
        typer.Option(
            help="Probability that a packet from the command arrives twice.", show_default=False, rich_help_panel=LINK
        ),
    ] = None,
    up_trace: Annotated[
        Path | None,
        typer.Option(help="A mahimahi trace: the rate from the command.", show_default=False, rich_help_panel=LINK),
    ] = None,
    seed: Annotated[int, typer.Option(help="Names the random losses, as in the simulator.", rich_help_panel=RUNS)] = 1,
    replication: Annotated[int, typer.Option(help="The replication that draws them.", rich_help_panel=RUNS)] = 0,
    coalesce: Annotated[
        bool,
        typer.Option(
            "--coalesce",
            help="Hand on a super-packet whole if all of it is due: less CPU time, but fewer acknowledgements.",
            rich_help_panel=RUNS,
        ),
    ] = False,
    spin: Annotated[
        str,
        typer.Option(
            help="Wake up this long before each departure: more exact, but more CPU time.", rich_help_panel=RUNS
        ),
    ] = "0us",
    realtime: Annotated[
        bool,
        typer.Option(
            "--realtime", help="Run with real-time priority: for busy machines, as root.", rich_help_panel=RUNS
        ),
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write the counters to this file.", show_default=False, rich_help_panel=RUNS),
    ] = None,
) -> None:
    """Run a command behind an emulated link: the simulator's link, on this machine's clock.

    The command sees one network device. At its other end is the address in the variable HALTERE_BASE, where programs
    of this machine can be reached. `down` is the way towards the command. `haltere` ends with its exit code, and no
    device remains.

    `haltere link --rate 40Mbit/s --delay 25ms --loss 1% --queue 1000p -- bash -c 'ping -c 3 $HALTERE_BASE'`

    `haltere link --trace Verizon-LTE-short.down --up-trace Verizon-LTE-short.up --rtt 40ms`
    """
    from haltere.cli.link import Options, Side
    from haltere.cli.link import command as run_behind

    down = Side(down_rate, down_delay or delay, loss, down_queue, jitter, duplication, trace)
    up = Side(up_rate, up_delay or delay, up_loss, up_queue, up_jitter, up_duplication, up_trace)
    options = Options(rate, rtt, queue, ring, bql, mtu, down, up, seed, replication, coalesce, spin, realtime)
    run_behind(options, command or [], json_file)
