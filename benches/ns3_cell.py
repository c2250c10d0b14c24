#!/usr/bin/env python3
"""Run saturated cells of 802.11 in ns-3 and in haltere and lay their throughputs side by side, as a Markdown table.

usage: ns3_cell.py [--haltere PYTHON] [--seconds S]

ns-3 comes from the PyPI package `ns3`, which wants an environment of its own, without haltere:

    python3 -m venv ns3-venv && ns3-venv/bin/pip install ns3
    ns3-venv/bin/python benches/ns3_cell.py --haltere .venv/bin/python

All stations stand 1 m from the access point and send UDP to it (`up`), or receive from it (`down`), with 1472 bytes of
payload and more than the cell carries. ns-3 uses one rate throughout (11, 54 or 65 Mbit/s; acknowledgements at 11, 24
and 39), which haltere's stations use at that distance. Throughput is payload, after 3 s.

haltere runs twice: as it is, and with `preset = "ns3"`, in which stations do not wait for EIFS after a collision,
packets wait for at most 500 ms, and a block acknowledgement that did not come is asked for.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PAYLOAD = 1472
WARM_UP_S = 3
HERE = str(Path(__file__).resolve())


@dataclass(frozen=True)
class Cell:
    """A saturated cell; `offered` is the load of all stations together, Mbit/s of payload."""

    standard: str
    stations: int
    direction: str
    offered: float


CELLS = (
    *(Cell("802.11b", n, "up", 12) for n in (1, 10)),
    *(Cell("802.11a", n, "up", 45) for n in (1, 2, 5, 10, 20, 50)),
    Cell("802.11a", 5, "down", 45),
    *(Cell("802.11g", n, "up", 45) for n in (1, 10)),
    *(Cell("802.11n", n, "up", 80) for n in (1, 2, 5, 10, 20)),
    Cell("802.11n", 5, "down", 80),
)
# ns-3's standard, data mode and control mode.
MODES = {
    "802.11b": ("WIFI_STANDARD_80211b", "DsssRate11Mbps", "DsssRate11Mbps"),
    "802.11a": ("WIFI_STANDARD_80211a", "OfdmRate54Mbps", "OfdmRate24Mbps"),
    "802.11g": ("WIFI_STANDARD_80211g", "ErpOfdmRate54Mbps", "ErpOfdmRate24Mbps"),
    "802.11n": ("WIFI_STANDARD_80211n", "HtMcs7", "HtMcs4"),
}


def in_ns3(cell: Cell, seconds: float, preset: str | None = None) -> float:
    """The throughput in ns-3, Mbit/s."""
    assert preset is None, "ns-3 has no presets"
    try:
        from ns import ns
    except ImportError as error:
        sys.exit(f"ns-3 cannot be loaded ({error}): install it with `pip install ns3` into an environment of its own")
    ns.RngSeedManager.SetSeed(1)
    standard, data, control = MODES[cell.standard]
    stations, access_point = ns.NodeContainer(), ns.NodeContainer()
    access_point.Create(1)
    stations.Create(cell.stations)
    phy = ns.YansWifiPhyHelper()
    phy.SetChannel(ns.YansWifiChannelHelper.Default().Create())
    wifi = ns.WifiHelper()
    wifi.SetStandard(getattr(ns, standard))
    modes = ("DataMode", ns.StringValue(data), "ControlMode", ns.StringValue(control))
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", *modes)
    mac = ns.WifiMacHelper()
    name = ns.SsidValue(ns.Ssid("cell"))
    mac.SetType("ns3::StaWifiMac", "Ssid", name)
    station_devices = wifi.Install(phy, mac, stations)
    mac.SetType("ns3::ApWifiMac", "Ssid", name)
    access_devices = wifi.Install(phy, mac, access_point)
    places = ns.ListPositionAllocator()
    places.Add(ns.Vector(0.0, 0.0, 0.0))
    for i in range(cell.stations):
        angle = 2 * math.pi * i / cell.stations
        places.Add(ns.Vector(math.cos(angle), math.sin(angle), 0.0))
    mobility = ns.MobilityHelper()
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel")
    mobility.SetPositionAllocator(places)
    stack = ns.InternetStackHelper()
    for nodes in (access_point, stations):
        mobility.Install(nodes)
        stack.Install(nodes)
    numbers = ns.Ipv4AddressHelper()
    numbers.SetBase(ns.Ipv4Address("10.1.0.0"), ns.Ipv4Mask("255.255.0.0"))
    access_address = numbers.Assign(access_devices).GetAddress(0)
    addresses = numbers.Assign(station_devices)
    ns.NeighborCacheHelper().PopulateNeighborCache()
    for devices in (access_devices, station_devices):
        ns.TrafficControlHelper().Uninstall(devices)  # IPv4 gave it one
    sinks = []
    for i in range(cell.stations):
        up = cell.direction == "up"
        sender, receiver = (stations.Get(i), access_point.Get(0)) if up else (access_point.Get(0), stations.Get(i))
        here = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), 9 + i).ConvertTo()
        sink = ns.PacketSinkHelper("ns3::UdpSocketFactory", here).Install(receiver)
        sink.Start(ns.Seconds(0))
        sinks.append(sink.Get(0))
        there = ns.InetSocketAddress(access_address if up else addresses.GetAddress(i), 9 + i).ConvertTo()
        source = ns.OnOffHelper("ns3::UdpSocketFactory", there)
        source.SetConstantRate(ns.DataRate(int(cell.offered / cell.stations * 1e6)), PAYLOAD)
        source.SetAttribute("StartTime", ns.TimeValue(ns.Seconds(1 + 0.0011 * i)))
        source.Install(sender)

    def received_until(seconds: float) -> int:
        ns.Simulator.Stop(ns.Seconds(seconds))
        ns.Simulator.Run()
        return int(sum(sink.GetTotalRx() for sink in sinks))

    before = received_until(WARM_UP_S)
    return (received_until(seconds) - before) * 8e-6 / seconds


def in_haltere(cell: Cell, seconds: float, preset: str | None = None) -> float:
    """The throughput in haltere, Mbit/s, with a preset or as it is."""
    from haltere import Scenario, run

    rate = cell.offered / cell.stations * (PAYLOAD + 28) / PAYLOAD
    loads = [
        {
            "kind": "constant",
            "size": f"{PAYLOAD}B",
            "rate": f"{rate:.6f}Mbit/s",
            "from": "client" if cell.direction == "up" else "server",
            "pair": i,
            "start": f"{1 + 0.0011 * i:.4f}s",
        }
        for i in range(cell.stations)
    ]
    topology = {
        "kind": "cell",
        "link": {"rate": "1Gbit/s", "delay": "0ms"},
        "cell": {"stations": cell.stations, "standard": cell.standard} | ({"preset": preset} if preset else {}),
    }

    def received_until(seconds: float) -> float:
        scenario = Scenario({"duration": f"{seconds}s", "topology": topology, "loads": loads})
        return float(run(scenario, seed=1).loads["received_bytes"].sum())

    # Counted with IP and UDP headers.
    packets = (received_until(WARM_UP_S + seconds) - received_until(WARM_UP_S)) / (PAYLOAD + 28)
    return packets * PAYLOAD * 8e-6 / seconds


def ask(python: str, where: str, cell: Cell, seconds: float, preset: str | None = None) -> float:
    """One run in a process of its own; not a number if it failed."""
    job = json.dumps({"where": where, "cell": asdict(cell), "seconds": seconds, "preset": preset})
    done = subprocess.run([python, HERE, "--one", job], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return math.nan
    return float(done.stdout.strip().splitlines()[-1])


def main() -> None:
    """Run the cells and print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--haltere", metavar="PYTHON", help="the Python of an environment that has haltere")
    parser.add_argument("--seconds", type=float, default=5.0, help="measured time of each run (default 5)")
    parser.add_argument("--one", metavar="JOB", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        job: dict[str, Any] = json.loads(options.one)
        simulate = in_ns3 if job["where"] == "ns-3" else in_haltere
        print(simulate(Cell(**job["cell"]), job["seconds"], job["preset"]))
        return
    if not options.haltere:
        parser.error("--haltere PYTHON: the Python of an environment that has haltere, such as .venv/bin/python")
    print('| cell, stations | ns-3 | haltere | difference | with `preset = "ns3"` | difference |')
    print("|---|--:|--:|--:|--:|--:|")
    for cell in CELLS:
        theirs = ask(sys.executable, "ns-3", cell, options.seconds)
        columns = [f"{theirs:.2f}"]
        for preset in (None, "ns3"):
            ours = ask(options.haltere, "haltere", cell, options.seconds, preset)
            columns.append(f"{ours:.2f} | {ours / theirs - 1:+.1%}")
        print(f"| {cell.standard}, {cell.stations} {cell.direction} | {' | '.join(columns)} |", flush=True)


if __name__ == "__main__":
    main()
