"""`haltere trace`, and what looks at one run in other ways: `haltere shadow` and `haltere first-difference`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from haltere.adhoc.conditions import RUNS, Conditions
from haltere.cli.commands.shared import INSIDE, ONE, AsJson, Contenders
from haltere.cli.options import takes

app = typer.Typer()

What = Annotated[
    list[str], typer.Argument(help="A scenario file, contenders that share one link, or a results folder with --run.")
]
Seed = Annotated[
    int, typer.Option(help="Names the random losses; every contender meets the same ones.", rich_help_panel=RUNS)
]
Replication = Annotated[int, typer.Option(help="Which replication to look at.", rich_help_panel=RUNS)]


@dataclass(frozen=True)
class Chosen:
    """Which run is looked at, and where its trace goes."""

    seed: Seed = 1
    replication: Replication = 0
    run: Annotated[
        str | None,
        typer.Option(help="A run of a results folder, by its run_id or the beginning of it.", rich_help_panel=RUNS),
    ] = None
    out: Annotated[Path | None, typer.Option(help="Folder of the trace (default traces/NAME).")] = None


@dataclass(frozen=True)
class Files:
    """The files that a trace may write besides its tables and its figure."""

    qlog: Annotated[
        bool,
        typer.Option(
            "--qlog",
            help="Also write what each end saw and decided, packet by packet: OUT/qlog/flow-0-server.sqlog and so on, "
            "for qvis and other readers of qlog 0.3.",
            rich_help_panel=INSIDE,
        ),
    ] = False
    pcap: Annotated[
        bool,
        typer.Option(
            "--pcap",
            help="Also write the packets that each link delivered, with IP, TCP and UDP headers: OUT/pcap/LINK.pcapng, "
            "for Wireshark, tshark and tcptrace.",
            rich_help_panel=INSIDE,
        ),
    ] = False
    flent: Annotated[
        bool,
        typer.Option(
            "--flent",
            help="Also write goodput and probes' RTTs over time as a data file of flent: OUT/NAME.flent.gz.",
            rich_help_panel=INSIDE,
        ),
    ] = False
    pcap_link: Annotated[
        list[str] | None,
        typer.Option(
            "--pcap-link",
            metavar="LINK",
            help="As --pcap, but this link only, such as `bottleneck`. May be given again.",
            rich_help_panel=INSIDE,
        ),
    ] = None


@app.command(rich_help_panel=ONE)
@takes(Conditions(), without=("share", "duration"))
def trace(what: What, conditions: Conditions, chosen: Chosen, files: Files, as_json: AsJson = False) -> None:
    """Look closely at one run: windows, RTT, rates and queues at every change, as tables and a figure.

    `haltere trace tcp/cubic --rate 40Mbit/s --rtt 50ms --loss 0.1%`

    `haltere trace scenario.toml --replication 3`

    `haltere trace results/quic-dumbbell --run 3f2a91`

    `haltere trace quic/bbr --size 2MB --qlog --pcap`
    """
    from haltere.cli.trace import record as command

    command(what, conditions, chosen, files, (), as_json=as_json)


@app.command(rich_help_panel=ONE)
@takes(Conditions(), without=("share", "duration"))
def shadow(
    what: What,
    conditions: Conditions,
    chosen: Chosen,
    control: Annotated[
        list[str],
        typer.Option(
            metavar="CONTROL",
            help="A congestion control with switches, such as `cubic-hystart`, or a contender. May be given again.",
            rich_help_panel=INSIDE,
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Feed other congestion controls the events of a run, and say where each parts from the one in command.

    The run itself stays as it is. It is traced as by `haltere trace`, with what the others ask for.

    `haltere shadow tcp/cubic --control cubic-hystart --control bbr`
    """
    from haltere.cli.trace import record as command

    command(what, conditions, chosen, Files(), control, as_json=as_json)


@app.command("first-difference", rich_help_panel=ONE)
@takes(Conditions(size="8MiB", app="raw"), without=("share", "duration", "fidelity", "flows", "probe", "direction"))
def first_difference(
    contenders: Contenders,
    conditions: Conditions,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="CONTENDER",
            help="Another contender of the model (default: the same ones on a Linux kernel, see `haltere kernel`).",
        ),
    ] = None,
    tolerance: Annotated[str, typer.Option(help="How far apart the times of a packet may be.")] = "100us",
    seed: Seed = 1,
    replication: Replication = 0,
    as_json: AsJson = False,
) -> None:
    """Find the first packet at which two runs differ, with the state of both senders.

    Model and Linux kernel are compared, or two contenders of the model: alone on the same link, with the same losses.

    `haltere first-difference tcp/cubic --rate 40Mbit/s --rtt 50ms --loss 1%`

    `haltere first-difference tcp/cubic --against tcp/cubic-hystart --rate 20Mbit/s --size 1MB`
    """
    from haltere.cli.trace import compare_packets as command

    command(contenders, conditions, against, tolerance, (seed, replication), as_json=as_json)
