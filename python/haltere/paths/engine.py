"""Where the work on a lake's files is done: on this machine, or on a cluster by Dask.

Both apply the same function to batches of files and add up its answers, so that the result depends neither on the
engine nor on how files were put into batches.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from haltere import cluster

Item = TypeVar("Item")
Answer = TypeVar("Answer")

BATCH_BYTES = 256_000_000
"""Files are worked on in batches of about this size, so that progress shows and a worker's memory is bounded."""


class Engine(Protocol):
    """Something that applies a function to many items."""

    def map(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> Iterator[Answer]:
        """Yield the function's answer for each item, in any order."""


class Here:
    """The local machine: one batch after the other, each on all CPUs (polars' threads)."""

    def map(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> Iterator[Answer]:
        """Yield the function's answers in the order of the items."""
        return map(function, items)


class Dask:
    """A Dask cluster, whose workers see the lake under the same path.

    Args:
        scheduler: address of its scheduler, such as `tcp://10.0.0.1:8786`.

    Raises:
        InputError: if Dask is not installed, or the scheduler does not answer.
    """

    def __init__(self, scheduler: str) -> None:
        self._client = cluster.connect(scheduler)

    def map(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> Iterator[Answer]:
        """Yield the function's answers as they come."""
        distributed: Any = importlib.import_module("distributed")
        futures = self._client.map(function, list(items), pure=False)
        for future in distributed.as_completed(futures):
            answer: Answer = future.result()
            future.release()
            yield answer

    def close(self) -> None:
        """Disconnect from the cluster, which goes on running."""
        self._client.close()


def batches(days: Sequence[Sequence[str]], size: int | None = None) -> list[list[str]]:
    """Return the files in batches of about `size` bytes, each of one day at least: copies of a trace are in one batch.

    Args:
        days: the files of each day.
        size: bytes of a batch; `BATCH_BYTES` if not given.
    """
    most = BATCH_BYTES if size is None else size
    grouped: list[list[str]] = []
    filled = 0
    for files in days:
        weight = sum(Path(file).stat().st_size for file in files)
        if not grouped or filled + weight > most:
            grouped.append([])
            filled = 0
        grouped[-1] += files
        filled += weight
    return grouped
