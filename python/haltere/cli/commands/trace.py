"""`haltere trace`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.adhoc.conditions import RUNS, Conditions
from haltere.cli.commands.shared import INSIDE, ONE, AsJson
from haltere.cli.options import takes

app = typer.Typer()

Seed = Annotated[
    int, typer.Option(help="Names the random losses; every contender meets the same ones.", rich_help_panel=RUNS)
]


@app.command(rich_help_panel=ONE)
@takes(Conditions(), without=("share", "duration"))
def trace(
    what: Annotated[
        list[str],
        typer.Argument(
            help="A scenario file, contenders that share one link, or a results folder with --run.", show_default=False
        ),
    ],
    conditions: Conditions,
    seed: Seed = 1,
    replication: Annotated[int, typer.Option(help="Which replication to look at.", rich_help_panel=RUNS)] = 0,
    run: Annotated[
        str | None,
        typer.Option(
            help="A run of a results folder, by its run_id or the beginning of it.",
            show_default=False,
            rich_help_panel=RUNS,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the trace (default traces/NAME).", show_default=False)
    ] = None,
    qlog: Annotated[
        bool,
        typer.Option(
            "--qlog",
            help="Also write what each end saw and decided, packet by packet: OUT/qlog/flow-0-server.sqlog and so on, "
            "for qvis and other readers of qlog 0.3.",
            rich_help_panel=INSIDE,
        ),
    ] = False,
    pcap: Annotated[
        bool,
        typer.Option(
            "--pcap",
            help="Also write the packets that each link delivered, with IP, TCP and UDP headers: OUT/pcap/LINK.pcapng, "
            "for Wireshark, tshark and tcptrace.",
            rich_help_panel=INSIDE,
        ),
    ] = False,
    flent: Annotated[
        bool,
        typer.Option(
            "--flent",
            help="Also write goodput and probes' RTTs over time as a data file of flent: OUT/NAME.flent.gz.",
            rich_help_panel=INSIDE,
        ),
    ] = False,
    pcap_link: Annotated[
        list[str] | None,
        typer.Option(
            "--pcap-link",
            metavar="LINK",
            help="As --pcap, but this link only, such as `bottleneck`. May be given again.",
            show_default=False,
            rich_help_panel=INSIDE,
        ),
    ] = None,
    shadow: Annotated[
        list[str] | None,
        typer.Option(
            "--shadow",
            metavar="CONTROL",
            help="Feed another congestion control the same events, such as `cubic-hystart`, and say where it parts. "
            "May be given again.",
            show_default=False,
            rich_help_panel=INSIDE,
        ),
    ] = None,
    as_json: AsJson = False,
    first_difference: Annotated[
        str | None,
        typer.Option(
            "--first-difference",
            metavar="CONTENDER",
            help="Also run this contender alone, and find the first packet at which it differs from the one traced.",
            show_default=False,
            rich_help_panel=INSIDE,
        ),
    ] = None,
    tolerance: Annotated[
        str,
        typer.Option(
            help="How far apart the times of a packet may be, for --first-difference.", rich_help_panel=INSIDE
        ),
    ] = "100us",
) -> None:
    """Look closely at one run: windows, RTT, rates and queues at every change, as tables and a figure.

    `haltere trace tcp/cubic --rate 40Mbit/s --rtt 50ms --loss 0.1%`

    `haltere trace scenario.toml --replication 3`

    `haltere trace results/quic-dumbbell --run 3f2a91`

    `haltere trace quic/bbr --size 2MB --qlog --pcap`

    `haltere trace tcp/cubic --shadow cubic-hystart --shadow bbr`
    """
    from haltere.cli.trace import command

    command(
        what,
        conditions,
        seed=seed,
        replication=replication,
        out=out,
        qlog=qlog,
        pcap=pcap,
        links=pcap_link,
        flent=flent,
        run=run,
        shadows=shadow,
        beside=first_difference,
        tolerance=tolerance,
        as_json=as_json,
    )
