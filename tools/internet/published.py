"""The shipped summaries, made from published numbers alone: CAIDA's data themselves cannot be shipped.

What was published of two years (UFJF dissertation, 2013, chapter 2: 200 million traces of CAIDA's skitter of 2006 and
as many of Ark of 2011, monitors in North America and Europe) are a few numbers: median and 95th percentile of the
round-trip time (section 2.3.2), the share of paths with 17 hops or fewer (2.3.1), the median length of the shortest
paths (2.3.1), and Spearman's coefficient of delay and length (2.3.5), the last two of paths of the graph. Through them
go the simplest distributions that have as many parameters. Nothing else of the summaries is measured: neither the
shapes of the distributions, nor their tails, nor what single hops take.

`python -m internet.published FOLDER` (with tools in PYTHONPATH) writes the files; the same bytes each time.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

from haltere import core
from haltere.paths.summary import DEFAULT_PATHS, DEFAULT_SEED, MAX_HOPS, MeasuredPath, Summary, ordered

_NORMAL = NormalDist()
SOURCE = "UFJF dissertation, 2013, chapter 2"


@dataclass(frozen=True)
class Published:
    """The numbers published of a year's paths.

    Attributes:
        source: the measuring platform.
        year: of the traces.
        median_ms: median of the round-trip time.
        p95_ms: its 95th percentile.
        median_hops: median of the path length.
        p80_hops: 80 % of the paths have at most so many hops.
        spearman: rank correlation of round-trip time and path length.
    """

    source: str
    year: int
    median_ms: float
    p95_ms: float
    median_hops: int
    p80_hops: int
    spearman: float

    @property
    def name(self) -> str:
        """What the summary is called, such as `ark-2011`."""
        return f"{self.source}-{self.year}"

    def rtt_ms(self, share: float) -> float:
        """Return the quantile of the round-trip time: log-normal through median and 95th percentile."""
        deviation = math.log(self.p95_ms / self.median_ms) / _NORMAL.inv_cdf(0.95)
        return self.median_ms * math.exp(deviation * _NORMAL.inv_cdf(share))

    def hops(self, share: float) -> int:
        """Return the quantile of the path length: normal and rounded, through the median and the 80 % quantile.

        It is held between 1 and the 30 hops that the study kept.
        """
        deviation = (self.p80_hops + 0.5 - self.median_hops) / _NORMAL.inv_cdf(0.8)
        return min(max(round(self.median_hops + deviation * _NORMAL.inv_cdf(share)), 1), MAX_HOPS)


YEARS = (
    Published("skitter", 2006, 122, 352, 14, 17, 0.80),
    Published("ark", 2011, 168, 512, 13, 17, 0.88),
)


def reconstruct(published: Published, paths: int = DEFAULT_PATHS, seed: int = DEFAULT_SEED) -> Summary:
    """Return a summary whose paths have the published numbers.

    Both quantities are stratified: the n-th of N paths has the quantile at (n + 1/2) ÷ N. Which delay meets which
    length is drawn from a Gaussian copula whose correlation r gives Spearman's coefficient r_S: r = 2 sin(π r_S ÷ 6)
    (K. Pearson, "On further methods of determining correlation", 1907).
    """
    middles = [(n + 0.5) / paths for n in range(paths)]
    correlation = 2 * math.sin(math.pi * published.spearman / 6)
    rest = math.sqrt(1 - correlation**2)
    drawn = [
        correlation * _NORMAL.inv_cdf(share) + rest * _deviate(seed, n, published.name)
        for n, share in enumerate(middles)
    ]
    lengths = [0] * paths
    for rank, n in enumerate(sorted(range(paths), key=drawn.__getitem__)):
        lengths[n] = published.hops(middles[rank])
    made = [
        MeasuredPath(rtt_us=round(1000 * published.rtt_ms(share)), hops=length)
        for share, length in zip(middles, lengths, strict=True)
    ]
    return Summary(
        published.name,
        f"{published.source} {published.year}, reconstructed from published numbers",
        "reconstructed",
        _about(published, paths, seed),
        ordered(made),
        sources=(published.source,),
        first_day=f"{published.year}-01-01",
        last_day=f"{published.year}-12-31",
        seed=seed,
    )


def _deviate(seed: int, number: int, name: str) -> float:
    """A standard normal deviate of the project's own named streams, which no library's version changes."""
    return _NORMAL.inv_cdf(max(core.uniform(seed, number, f"published/{name}"), 2.0**-53))


def _about(published: Published, paths: int, seed: int) -> str:
    return (
        f"Not measured paths: {paths} paths reconstructed from the numbers that were published ({SOURCE}) of CAIDA's "
        f"{published.source} of {published.year}. Round-trip times are log-normal through the published median "
        f"({published.median_ms:g} ms) and 95th percentile ({published.p95_ms:g} ms); hop counts are normal, rounded, "
        f"through a median of {published.median_hops} (that of the shortest paths in the graph) and 80 % of "
        f"{published.p80_hops} hops or fewer, held between 1 and {MAX_HOPS}; both are joined by a Gaussian copula with "
        f"the published Spearman coefficient of paths in the graph, {published.spearman:.2f}, seed {seed}. Shapes and "
        "tails of the distributions are assumptions. Nothing was published of single hops: each is taken to have an "
        "equal part of its path's time."
    )


def write(folder: Path) -> list[Path]:
    """Write the files of all years into a folder and return their paths."""
    files = []
    for published in YEARS:
        files.append(folder / f"{published.name}.json")
        reconstruct(published).write(files[-1])
    return files


if __name__ == "__main__":
    write(Path(sys.argv[1]))
