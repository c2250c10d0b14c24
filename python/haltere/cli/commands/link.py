"""`haltere link`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from haltere.adhoc.conditions import LINK, RUNS
from haltere.cli.commands.shared import ONE
from haltere.cli.options import fills

app = typer.Typer()


def _option(says: str) -> Any:
    """An option of the link that has no default."""
    return typer.Option(help=says, rich_help_panel=LINK)


@dataclass(frozen=True)
class Options:
    """The link as the command line gives it: `down` goes towards the command. None means the link's value."""

    rate: Annotated[str | None, _option("Rate of each direction (default: unlimited).")] = None
    rtt: Annotated[
        str | None, _option("Two-way delay, split evenly; --delay, --down-delay, --up-delay give it one way.")
    ] = None
    delay: Annotated[str | None, _option("One-way delay of each direction (default 0ms).")] = None
    loss: Annotated[str | None, _option("Random loss towards the command.")] = None
    queue: Annotated[
        str,
        typer.Option(
            help="A limit (1000p, 64kB, 1bdp) or a discipline (`red:ecn=true`; see `haltere queues`).",
            rich_help_panel=LINK,
        ),
    ] = "1000p"
    ring: Annotated[str | None, _option("Packets of a ring behind each queue (256p).")] = None
    bql: Annotated[
        bool | None,
        typer.Option(
            "--bql/--no-bql", help="Byte queue limits keep the rings short (default: yes).", rich_help_panel=LINK
        ),
    ] = None
    jitter: Annotated[str | None, _option("Random extra delay towards the command, from 0 to this, order kept.")] = None
    duplication: Annotated[str | None, _option("Probability that a packet towards the command arrives twice.")] = None
    mtu: Annotated[str, typer.Option(help="Largest IP packet.", rich_help_panel=LINK)] = "1500B"
    trace: Annotated[Path | None, _option("A mahimahi packet-delivery trace: the rate towards the command.")] = None
    down_rate: Annotated[str | None, _option("Rate towards the command.")] = None
    down_delay: Annotated[str | None, _option("Delay towards the command.")] = None
    down_queue: Annotated[str | None, _option("Queue towards the command.")] = None
    up_rate: Annotated[str | None, _option("Rate from the command.")] = None
    up_delay: Annotated[str | None, _option("Delay from the command.")] = None
    up_queue: Annotated[str | None, _option("Queue from the command.")] = None
    up_loss: Annotated[str | None, _option("Random loss from the command.")] = None
    up_jitter: Annotated[str | None, _option("Random extra delay from the command.")] = None
    up_duplication: Annotated[str | None, _option("Probability that a packet from the command arrives twice.")] = None
    up_trace: Annotated[Path | None, _option("A mahimahi trace: the rate from the command.")] = None
    seed: Annotated[int, typer.Option(help="Names the random losses, as in the simulator.", rich_help_panel=RUNS)] = 1
    replication: Annotated[int, typer.Option(help="The replication that draws them.", rich_help_panel=RUNS)] = 0
    coalesce: Annotated[
        bool,
        typer.Option(
            "--coalesce",
            help="Hand on a super-packet whole if all of it is due: less CPU time, but fewer acknowledgements.",
            rich_help_panel=RUNS,
        ),
    ] = False
    spin: Annotated[
        str,
        typer.Option(
            help="Wake up this long before each departure: more exact, but more CPU time.", rich_help_panel=RUNS
        ),
    ] = "0us"
    realtime: Annotated[
        bool,
        typer.Option(
            "--realtime", help="Run with real-time priority: for busy machines, as root.", rich_help_panel=RUNS
        ),
    ] = False


@app.command(rich_help_panel=ONE, context_settings={"allow_interspersed_args": False})
@fills
def link(
    options: Options,
    command: Annotated[
        list[str] | None, typer.Argument(help="What to run behind the link (default: your shell).")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the counters to this file.", rich_help_panel=RUNS)
    ] = None,
) -> None:
    """Run a command behind an emulated link: the simulator's link, on this machine's clock.

    The command sees one network device. At its other end is the address in the variable HALTERE_BASE, where programs
    of this machine can be reached. `down` is the way towards the command. `haltere` ends with its exit code, and no
    device remains.

    `haltere link --rate 40Mbit/s --delay 25ms --loss 1% --queue 1000p -- bash -c 'ping -c 3 $HALTERE_BASE'`

    `haltere link --trace Verizon-LTE-short.down --up-trace Verizon-LTE-short.up --rtt 40ms`
    """
    from haltere.cli.link import command as run_behind

    run_behind(options, command or [], json_file)
