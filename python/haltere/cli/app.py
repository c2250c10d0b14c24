"""The commands and their options. The modules they use are loaded only when they run, so that help appears at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from haltere.cli import laboratory, paths
from haltere.cli.options import takes
from haltere.conditions import LINK, RUNS, Comparison, Conditions

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="""A laboratory for transport protocols.

A **contender** is `transport[@implementation]/congestion[+on|-off|+to=value...]`: `tcp/cubic`, `quic/bbr-pacing`
(see `haltere algorithms`). Quantities carry units: `40Mbit/s`, `50ms`, `1%`, `32MiB`; a queue is `1000p` (packets),
`64kB`, `1bdp` or a discipline with parameters (see `haltere queues`). The same words stand in study files, on this
line and in the results.

Start with: `haltere compare tcp/cubic quic/bbr --rate 40Mbit/s --rtt 50ms --loss 1%`
""",
)

ONE, INSIDE, CLUSTER = "One line, no file", "Looking inside", "On a cluster"


def _version(wanted: bool) -> None:
    if wanted:
        from haltere import core

        typer.echo(f"haltere {core.VERSION}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # noqa: ARG001 (its callback does it)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    kernel: Annotated[
        str | None,
        typer.Option(
            envvar="HALTERE_KERNEL",
            help="The kernel of fidelity `linux`, by its name or version (see `haltere kernel list`).",
            show_default=False,
        ),
    ] = None,
) -> None:
    if kernel:
        os.environ["HALTERE_KERNEL"] = kernel


Contenders = Annotated[
    list[str], typer.Argument(help="What competes, such as `tcp/cubic quic/bbr`.", show_default=False)
]
Queue = Annotated[
    str,
    typer.Option(
        help="A limit (1000p, 64kB, 1bdp) or a discipline (`red:ecn=true`; see `haltere queues`).", rich_help_panel=LINK
    ),
]
Mtu = Annotated[str, typer.Option(help="Largest IP packet.", rich_help_panel=LINK)]
Seed = Annotated[
    int, typer.Option(help="Names the random losses; every contender meets the same ones.", rich_help_panel=RUNS)
]
FidelityOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fidelity",
        help="Where: `model` (the simulator), `stack` (the same with production QUIC stacks), `linux` (a real kernel, "
        "virtual time), `testbed` (this machine's). May be given again, to lay them side by side.",
        show_default=False,
        rich_help_panel=RUNS,
    ),
]
Workers = Annotated[
    int | None, typer.Option(help="Runs at once (default: one a CPU).", show_default=False, rich_help_panel=RUNS)
]


@app.command(rich_help_panel=ONE)
@takes(Comparison())
def compare(
    contenders: Contenders,
    conditions: Comparison,
    as_json: Annotated[
        bool, typer.Option("--json", help="A JSON list for programs: one entry a contender and replication.")
    ] = False,
) -> None:
    """Compare contenders on one link: who wins, and whether the difference is real.

    `haltere compare tcp/cubic tcp/bbr quic/cubic quic/bbr --rate 40Mbit/s --down-delay 50ms --up-delay 0ms --loss 1%`

    `haltere compare tcp/cubic quic/bbr --share --duration 60s --queue 1bdp`

    `haltere compare tcp/cubic tcp/bbr --flows 10 --rate 10Mbit/s --probe icmp:1450B:1s`

    `haltere compare tcp@apache+wget2/cubic quic@quinn/cubic --loss 1% --fidelity linux`

    `haltere compare tcp/cubic quic/bbr --path rate=20Mbit/s,rtt=10ms,queue=50p --path rate=5Mbit/s,rtt=50ms,loss=1%`
    """
    from haltere.cli.compare import command

    command(contenders, conditions, as_json=as_json)


@app.command(rich_help_panel=ONE)
@takes(Comparison(size="2MB"), without=("share", "duration"))
def explain(
    conditions: Comparison,
    a: Annotated[
        str | None, typer.Argument(help="The contender to start from, such as `tcp/cubic`.", show_default=False)
    ] = None,
    b: Annotated[
        str | None, typer.Argument(help="The contender to arrive at, such as `quic/cubic`.", show_default=False)
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="What is explained: `completion_time`, `goodput`, `wire_bytes`, `mean_rtt`, `retransmissions`, "
            "`lost_packets`, `queueing_delay` or `max_queueing_delay`."
        ),
    ] = "completion_time",
    orders: Annotated[
        int | None,
        typer.Option(
            help="Orders of switching for each replication, where there are too many to take all (default 16; with "
            "--study 1).",
            show_default=False,
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            help="Instead of one set of conditions, all combinations of a study's levels: a map of where which "
            "mechanism matters. Without contenders, the differences that the study's tables `[[why]]` name; its report "
            "shows them. A folder, or a shipped study's name.",
            show_default=False,
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="The results of the study (default `results/NAME`), beside which the explanations of `[[why]]` are "
            "kept.",
            show_default=False,
        ),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option(help="Which experiment of the study (default: the first that fits).", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the figure (SVG, PDF), a page (HTML) and the numbers (JSON).", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Explain a difference: which mechanisms make it, and how much each.

    `haltere explain tcp/cubic quic/cubic --rate 40Mbit/s --rtt 50ms --loss 1%`

    `haltere explain tcp/cubic tcp/cubic-hystart+initial-window=20 --metric retransmissions --out why`

    `haltere explain quic@quinn/cubic quic@model/cubic --fidelity stack --loss 5%`

    `haltere explain tcp/cubic quic/cubic --study quic-dumbbell --out map`

    `haltere explain --study quic-dumbbell`
    """
    from haltere.cli.explain import asked_by, command, contenders, over_study

    if study is not None and a is None and b is None:
        given = {"--metric": metric != "completion_time", "--orders": orders is not None, "--out": out is not None}
        beside = [*(name for name, there in given.items() if there), *(["--experiment"] if experiment else [])]
        asked_by(study, conditions, results, beside, as_json=as_json)
        return
    a, b = contenders(a, b, results)
    if study is not None:
        over_study(a, b, study, conditions, experiment, metric=metric, orders=orders, out=out, as_json=as_json)
    else:
        command(a, b, conditions, metric=metric, orders=orders, out=out, as_json=as_json)


@app.command(rich_help_panel="Studies")
def run(
    study: Annotated[
        Path,
        typer.Argument(
            help="A study's folder or file, a shipped study's name, or a plain scenario file.", show_default=False
        ),
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
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a Dask cluster: its scheduler's address. Needs haltere[cluster].",
            show_default=False,
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    slurm: Annotated[
        str | None,
        typer.Option(
            metavar="JOBS",
            help="Run in jobs of Slurm: `jobs=20,cores=8,memory=16GB,walltime=02:00:00,queue=short`; what is left out "
            "stands in the configuration of dask-jobqueue. Needs haltere[cluster].",
            show_default=False,
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many runs there are and about how long they take.")
    ] = False,
) -> None:
    """Run every run of a study that has not been run yet.

    Everything is checked before anything runs. Runs go on in parallel; a campaign that was stopped (Ctrl-C) or killed
    continues where it stopped when the same command is given again. The tables do not depend on the number of workers.

    `haltere run studies/quic-dumbbell --dry-run`

    `haltere run studies/quic-dumbbell --replications 3 --experiment base`

    `haltere run studies/quic-dumbbell --dask tcp://10.0.0.1:8786`
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
        dask=dask,
        slurm=slurm,
        dry_run=dry_run,
    )


@app.command(rich_help_panel="Studies")
def status(
    results: Annotated[Path, typer.Argument(help="The folder that a campaign writes into.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Say how far a campaign is: from another terminal, while it runs here or on a cluster.

    `haltere status results/quic-dumbbell`
    """
    from haltere.cli.status import command

    command(results, as_json=as_json)


@app.command(rich_help_panel="Studies")
def design(
    study: Annotated[Path, typer.Argument(help="A study's folder or file.", show_default=False)],
    variant: Annotated[
        str | None, typer.Option(help="A variant of the study, laid over it.", show_default=False)
    ] = None,
    experiment: Annotated[
        list[str] | None, typer.Option(help="Only this experiment (may be given again).", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the pictures (default designs/NAME).", show_default=False)
    ] = None,
) -> None:
    """Draw a study's space-filling designs before anything runs: every two factors against each other.

    Each experiment gives one picture as SVG, PDF and PNG.

    `haltere design studies/multipath`
    """
    from haltere.cli.design import command

    command(study, variant=variant, experiments=experiment, out=out)


@app.command(rich_help_panel="Studies")
def when(
    study: Annotated[
        Path, typer.Argument(help="A study's folder, or the name of a shipped study.", show_default=False)
    ],
    claim: Annotated[
        list[int] | None,
        typer.Option(help="Only this claim, by its number in the report. May be repeated.", show_default=False),
    ] = None,
    minutes: Annotated[float, typer.Option(help="How long to search.")] = 10.0,
    results: Annotated[
        Path | None, typer.Option(help="The results of the study (default `results/NAME`).", show_default=False)
    ] = None,
    variant: Annotated[str | None, typer.Option(help="A variant of the study.", show_default=False)] = None,
    workers: Annotated[int | None, typer.Option(help="Runs at once (default: one a CPU).", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """Search under what changes a study's claims would be judged otherwise.

    It needs the results of the study, and keeps what it found beside them. The same command goes on where it stopped.

    `haltere when quic-dumbbell --claim 2 --minutes 5`
    """
    from haltere.cli.when import command

    command(study, results=results, variant=variant, claims=claim, minutes=minutes, workers=workers, as_json=as_json)


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
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
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


@app.command(rich_help_panel=ONE)
@takes(Comparison(size="8MiB", app="raw", replications=5), without=("share", "duration", "fidelity", "flows", "probe"))
def validate(
    contenders: Contenders,
    conditions: Comparison,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the figure (default traces/validate-...).", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
    first_difference: Annotated[
        bool,
        typer.Option(
            "--first-difference",
            help="Instead, find the first packet that differs, in replication 0, with the state of both senders.",
        ),
    ] = False,
    tolerance: Annotated[
        str, typer.Option(help="How far apart the times of a packet may be, for --first-difference.")
    ] = "100us",
) -> None:
    """Compare the model with a real Linux kernel, on one link with the same losses: a table, a figure, a verdict.

    Several contenders share the link. Needs a kernel: `haltere kernel build`.

    `haltere validate tcp/cubic --rate 40Mbit/s --rtt 50ms --loss 1%`

    `haltere validate tcp/cubic --rate 40Mbit/s --rtt 50ms --loss 1% --first-difference`
    """
    from haltere.cli.validate import command

    command(
        contenders,
        conditions,
        out=out,
        as_json=as_json,
        tolerance=tolerance if first_difference else None,
    )


kernels = typer.Typer(
    no_args_is_help=True, help="The Linux kernel of fidelity `linux`: build it once, or see what is there."
)
app.add_typer(kernels, name="kernel", rich_help_panel="Real Linux")


@kernels.command("build")
def kernel_build(
    source: Annotated[
        str | None,
        typer.Option(
            help="A kernel tree, a packed one, or a version that Debian packages, such as 7.3 (default: 6.12, or the "
            "package that is installed).",
            show_default=False,
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            help="The suite of Debian that a version is fetched from, such as trixie-backports (default: several are "
            "searched).",
            show_default=False,
        ),
    ] = None,
    hz: Annotated[
        int, typer.Option(help="Timer ticks a second: 250 as Debian's kernels have, or 100, 300, 1000.")
    ] = 250,
    jobs: Annotated[
        int | None, typer.Option(help="Compilers at once (default: one a CPU).", show_default=False)
    ] = None,
    if_missing: Annotated[bool, typer.Option("--if-missing", help="Do nothing if there is a kernel.")] = False,
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


@kernels.command("list")
def kernel_list(as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False) -> None:
    """List the kernels that were built, and which of them is used."""
    from haltere.cli.kernel import list_kernels

    list_kernels(as_json=as_json)


@kernels.command("check")
def kernel_check(as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False) -> None:
    """List the kernels that were built, and what is missing to build or run one."""
    from haltere.cli.kernel import check

    check(as_json=as_json)


laboratory.register(app)
app.add_typer(paths.app, name="paths", rich_help_panel="Measured paths")


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
    """List what a contender can consist of: transports, congestion controls and switches, with their sources."""
    from haltere.cli.reference import algorithms as command

    command(as_json=as_json)


@app.command(rich_help_panel="Reference")
def queues(
    name: Annotated[str | None, typer.Argument(help="One of them, in full.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """List the queue disciplines with their parameters, defaults and sources.

    `haltere queues red`
    """
    from haltere.cli.reference import queues as command

    command(name, as_json=as_json)


@app.command(rich_help_panel="Reference")
def presets(
    name: Annotated[str | None, typer.Argument(help="One of them, with its numbers.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="One of them as a file to change: `--path FILE` takes it.")
    ] = False,
) -> None:
    """List the presets of links and cells, with the source of each number.

    `haltere presets 4g`

    `haltere presets dsl --toml > my-line.toml`
    """
    from haltere.cli.reference import presets as command

    command(name, as_json=as_json, as_toml=as_toml)


@app.command(rich_help_panel="Reference")
def schema(
    of: Annotated[str, typer.Argument(help="`scenario` or `study`.")] = "scenario",
) -> None:
    """Print the JSON Schema of a scenario or a study file, for editors."""
    from haltere.cli.reference import schema as command

    command(of)
