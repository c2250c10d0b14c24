#!/usr/bin/env python3
"""Writes a capture with the published figures of an enterprise's traffic, where a real one is not at hand.

The rate, the mean length and the share of UDP are those of one data set of the LBNL/ICSI Enterprise Tracing Project, by
tables 1 and 3 of R. Pang, M. Allman, M. Bennett, J. Lee, V. Paxson and B. Tierney, "A First Look at Modern Enterprise
Traffic", IMC 2005: its packets and bytes, divided by the time for which one subnet was recorded. Those tables say
nothing of the order of packets, which comes from the local networks of W. Leland, M. Taqqu, W. Willinger and D. Wilson,
"On the Self-Similar Nature of Ethernet Traffic", IEEE/ACM ToN 2(1), 1994: their Hurst parameter is about 0.8. Many
sources that are on and off for Pareto times of exponent 3 - 2H have it in the sum (W. Willinger, M. Taqqu, R. Sherman,
D. Wilson, IEEE/ACM ToN 5(1), 1997).

Chosen here, without a source: 100 conversations, each on for a tenth of the time and for 0.2 s in the mean; lengths of
1500 bytes and of 40 to 160, in shares that give the published mean.

    python3 background.py background.pcap --dataset D3 --seconds 20
"""

import argparse
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HURST = 0.8
CONVERSATIONS = 100
ON_SHARE = 0.1
MEAN_ON_S = 0.2
FULL = 1500
SMALL = (40, 160)
TCP, UDP = 6, 17
RAW_IP = 101
"""The link type of captures of bare IP packets (LINKTYPE_RAW of libpcap)."""


@dataclass(frozen=True)
class DataSet:
    """A data set of Pang et al.: packets and bytes of all subnets, how many these are, how long each was recorded."""

    packets: float
    bytes: float
    subnets: int
    seconds: float
    udp: float
    """The share of UDP in the bytes."""

    @property
    def packets_per_second(self) -> float:
        return self.packets / (self.subnets * self.seconds)

    @property
    def mean_length(self) -> float:
        return self.bytes / self.packets


# Not checked against the paper's tables, which were not at hand.
DATASETS = {
    "D0": DataSet(17.8e6, 13.12e9, 22, 600, 0.34),
    "D3": DataSet(21.6e6, 8.98e9, 18, 3600, 0.23),
    "D4": DataSet(27.7e6, 11.75e9, 18, 3600, 0.18),
}


def pareto(dice: np.random.Generator, mean: float, count: int) -> np.ndarray:
    """`count` Pareto times with that mean, in seconds, whose exponent gives sums the Hurst parameter."""
    exponent = 3 - 2 * HURST
    least = mean * (exponent - 1) / exponent
    return least * (1 + dice.pareto(exponent, count))


def conversation(dice: np.random.Generator, rate: float, seconds: float) -> np.ndarray:
    """Times of a conversation's packets: `rate` a second while it is on, nothing while it is off."""
    times: list[np.ndarray] = []
    mean_off = MEAN_ON_S * (1 - ON_SHARE) / ON_SHARE
    now = -float(dice.uniform(0, 10 * seconds))
    while now < seconds:
        on, off = pareto(dice, MEAN_ON_S, 1)[0], pareto(dice, mean_off, 1)[0]
        sent = now + (np.arange(int(on * rate) + 1) + dice.uniform()) / rate
        times.append(sent[(sent >= 0) & (sent < min(now + on, seconds))])
        now += on + off
    return np.concatenate(times)


def packets(dataset: DataSet, seconds: float, seed: int) -> list[tuple[float, int, int, int]]:
    """Time, length, protocol and conversation of each packet, in the order of their times."""
    dice = np.random.default_rng(seed)
    rate = dataset.packets_per_second / (CONVERSATIONS * ON_SHARE)
    full = (dataset.mean_length - sum(SMALL) / 2) / (FULL - sum(SMALL) / 2)
    rows = []
    for number in range(CONVERSATIONS):
        protocol = UDP if number < round(dataset.udp * CONVERSATIONS) else TCP
        for time in conversation(dice, rate, seconds):
            length = FULL if dice.uniform() < full else int(dice.integers(SMALL[0], SMALL[1] + 1))
            rows.append((float(time), length, protocol, number))
    return sorted(rows)


def capture(rows: list[tuple[float, int, int, int]]) -> bytes:
    """A pcap of the packets' headers: IPv4 and ports, from 10.0.1.n to 10.0.2.n."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 28, RAW_IP)]
    for time, length, protocol, number in rows:
        second, micros = divmod(round(time * 1e6), 1_000_000)
        source, target = bytes((10, 0, 1, number)), bytes((10, 0, 2, number))
        header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 64, protocol, 0, source, target)
        ports = struct.pack(">HHI", 40000 + number, 445 if protocol == TCP else 2049, 0)
        out += [struct.pack("<IIII", second, micros, 28, length), header, ports]
    return b"".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="the pcap to write")
    parser.add_argument("--dataset", choices=sorted(DATASETS), default="D3", help="of Pang et al. (%(default)s)")
    parser.add_argument("--seconds", type=float, default=20, help="how long (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the dice (default %(default)s)")
    args = parser.parse_args()
    rows = packets(DATASETS[args.dataset], args.seconds, args.seed)
    args.file.write_bytes(capture(rows))
    lengths = sum(row[1] for row in rows)
    sys.stdout.write(
        f"{args.file}: {len(rows)} packets in {args.seconds:g} s, {len(rows) / args.seconds:.0f} a second, "
        f"{lengths / len(rows):.0f} bytes in the mean, {8e-6 * lengths / args.seconds:.2f} Mbit/s\n"
    )


if __name__ == "__main__":
    main()
