"""Ctrl-C as a request to stop, so that what has finished is kept."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into a request to stop; the second ends the process, losing at most a second's runs."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def on_interrupt(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def stop_at(end: float, stop: threading.Event) -> Iterator[threading.Event]:
    """Yield an event that is set at a time of the monotonic clock, when `stop` is set, or at the block's end."""
    mine = threading.Event()

    def watch() -> None:
        while not mine.is_set() and not stop.wait(0.05):
            if time.monotonic() >= end:
                break
        mine.set()

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield mine
    finally:
        mine.set()
