#!/usr/bin/env python3
"""Run the cases of `haltere bench` in ns-3 and lay the figures of both side by side, as a Markdown table.

usage: ns3_dumbbell.py [--large] [--haltere COMMAND]

ns-3 comes from the PyPI package `ns3`, which wants an environment of its own:

    python3 -m venv ns3-venv && ns3-venv/bin/pip install ns3
    ns3-venv/bin/python benches/ns3_dumbbell.py --haltere .venv/bin/haltere

The network is the dumbbell of `haltere bench`, with its queue (drop-tail, one bandwidth-delay product, no queue
discipline above it), 1448-byte segments, SACK, timestamps, delayed ACKs and unlimited senders, started a millisecond
apart. A case runs in a process of
its own; its CPU time is that of `Simulator::Run` alone, its packets those that the bottleneck's device took to send.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """One dumbbell; `size` in bytes instead of a duration for a single download."""

    name: str
    flows: int
    congestion: str
    gbps: float
    duration_s: float
    size: int = 0
    large: bool = False


CASES = (
    Case("1 TCP CUBIC flow, 100 Mbit/s, 32 MiB", 1, "TcpCubic", 0.1, 60, size=32 << 20),
    Case("10 TCP CUBIC flows, 1 Gbit/s, 10 s", 10, "TcpCubic", 1, 10),
    Case("100 TCP CUBIC flows, 1 Gbit/s, 10 s", 100, "TcpCubic", 1, 10),
    Case("10 TCP BBR flows, 1 Gbit/s, 10 s", 10, "TcpBbr", 1, 10),
    Case("1000 TCP CUBIC flows, 10 Gbit/s, 1 s", 1000, "TcpCubic", 10, 1, large=True),
)
DELAY_S = 0.01
MTU = 1500
# More than the windows need here, and no more: ns-3 walks along its buffers; 16 MiB would cost it twice the time.
BUFFER = 1 << 20


def load_ns3() -> Any:
    """Return the ns-3 bindings, or end with a line that says how to get them."""
    try:
        from ns import ns
    except ImportError as error:
        sys.exit(f"ns-3 cannot be loaded ({error}): install it with `pip install ns3` into an environment of its own")
    return ns


def simulate(case: Case) -> dict[str, float]:
    """Run one case in this process."""
    ns = load_ns3()
    queue = max(1, round(case.gbps * 1e9 * 2 * DELAY_S / 8 / MTU))
    for name, value in (
        ("ns3::TcpL4Protocol::SocketType", ns.TypeIdValue(ns.TypeId.LookupByName(f"ns3::{case.congestion}"))),
        ("ns3::TcpSocket::SegmentSize", ns.UintegerValue(1448)),
        ("ns3::TcpSocket::DelAckCount", ns.UintegerValue(2)),
        ("ns3::TcpSocket::InitialCwnd", ns.UintegerValue(10)),
        ("ns3::TcpSocket::SndBufSize", ns.UintegerValue(BUFFER)),
        ("ns3::TcpSocket::RcvBufSize", ns.UintegerValue(BUFFER)),
        ("ns3::TcpSocketBase::Sack", ns.BooleanValue(True)),
        ("ns3::TcpSocketBase::Timestamp", ns.BooleanValue(True)),
    ):
        ns.Config.SetDefault(name, value)
    ns.GlobalValue.Bind("SchedulerType", ns.StringValue("ns3::HeapScheduler"))

    def link(rate_bps: float, delay_s: float, packets: int) -> Any:
        helper = ns.PointToPointHelper()
        helper.SetDeviceAttribute("DataRate", ns.StringValue(f"{rate_bps:.0f}bps"))
        helper.SetDeviceAttribute("Mtu", ns.UintegerValue(MTU))
        helper.SetChannelAttribute("Delay", ns.StringValue(f"{delay_s}s"))
        limit = ns.QueueSizeValue(ns.QueueSize(f"{packets}p"))
        helper.SetQueue("ns3::DropTailQueue", "MaxSize", limit)
        return helper

    routers, servers, clients = ns.NodeContainer(), ns.NodeContainer(), ns.NodeContainer()
    routers.Create(2)
    servers.Create(case.flows)
    clients.Create(case.flows)
    stack = ns.InternetStackHelper()
    for nodes in (routers, servers, clients):
        stack.Install(nodes)
    bottleneck = link(case.gbps * 1e9, DELAY_S, queue).Install(routers.Get(0), routers.Get(1))
    access = link(10e9 if case.flows > 1 else 1e9, 0, 1_000_000)
    no_discipline = ns.TrafficControlHelper()
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.252"))

    def number(devices: Any) -> Any:
        interfaces = addresses.Assign(devices)
        no_discipline.Uninstall(devices)  # IPv4 gave it one
        addresses.NewNetwork()
        return interfaces

    number(bottleneck)
    sinks = []
    for i in range(case.flows):
        number(access.Install(servers.Get(i), routers.Get(0)))
        address = number(access.Install(routers.Get(1), clients.Get(i))).GetAddress(1)
        here = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), 80).ConvertTo()
        sink = ns.PacketSinkHelper("ns3::TcpSocketFactory", here).Install(clients.Get(i))
        source = ns.BulkSendHelper("ns3::TcpSocketFactory", ns.InetSocketAddress(address, 80).ConvertTo())
        source.SetAttribute("MaxBytes", ns.UintegerValue(case.size))
        source.SetAttribute("SendSize", ns.UintegerValue(1448))
        start = ns.Seconds(i * min(0.001, 0.1 / case.flows))
        source.Install(servers.Get(i)).Start(start)
        sinks.append(sink.Get(0))
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()

    ns.Simulator.Stop(ns.Seconds(case.duration_s))
    begin = time.process_time()
    ns.Simulator.Run()
    cpu = time.process_time() - begin
    sender = bottleneck.Get(0).GetQueue()
    packets = sender.GetTotalReceivedPackets() - sender.GetNPackets()
    read = sum(s.GetTotalRx() for s in sinks)
    if case.size and read != case.size:
        sys.exit(f"{case.name}: {read} bytes arrived of {case.size}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"packets": packets, "cpu_s": cpu, "read_MB": read / 1e6, "peak_MiB": peak}


def main() -> None:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--large", action="store_true", help="also 1000 flows (minutes, a gigabyte)")
    parser.add_argument("--haltere", metavar="COMMAND", help="run its `bench --json` in the same session")
    parser.add_argument("--one", metavar="CASE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(simulate(Case(**json.loads(options.one)))))
        return
    load_ns3()
    ours: dict[str, float] = {}
    if options.haltere:
        answer = subprocess.run([options.haltere, "bench", "--json"], check=True, capture_output=True, text=True)
        ours = {case["case"]: case["packets_per_cpu_s"] for case in json.loads(answer.stdout)}
    print("| case | ns-3: packets | CPU time (s) | peak memory (MiB) | packets a CPU-second | haltere | ratio |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for case in CASES:
        if case.large and not options.large:
            continue
        command = [sys.executable, str(Path(__file__).resolve()), "--one", json.dumps(asdict(case))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"| {case.name} | failed: {done.stderr.strip().splitlines()[-1]} |", flush=True)
            continue
        found = json.loads(done.stdout.strip().splitlines()[-1])
        rate = found["packets"] / found["cpu_s"]
        mine = ours.get(case.name)
        beside = f"{mine:,.0f} | {mine / rate:.0f}" if mine else "– | –"
        print(
            f"| {case.name} | {found['packets']:,.0f} | {found['cpu_s']:.2f} | {found['peak_MiB']:.0f} "
            f"| {rate:,.0f} | {beside} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
