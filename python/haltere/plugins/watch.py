"""Ends a call of a user's class that does not return: a thread looks once a second which calls go on."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

LONGEST_S = 30.0
"""How long a call may last. Most take microseconds."""


class TooLongError(Exception):
    """A call of a user's class has not returned for so long that it seems to loop for ever."""


_watching = threading.Lock()


def begin(calls: Callable[[], list[tuple[int, int]]]) -> None:
    """Watch from now on; `calls` returns the threads inside of a call, each with a count that changes at its end."""
    if _watching.acquire(blocking=False):  # it is never released: one thread watches as long as the process lives
        threading.Thread(target=_watch, args=[calls], name="haltere-plugins", daemon=True).start()


def _watch(calls: Callable[[], list[tuple[int, int]]]) -> None:
    since: dict[tuple[int, int], float] = {}
    while True:
        time.sleep(min(1.0, LONGEST_S / 4))
        now = time.monotonic()
        since = {call: since.get(call, now) for call in calls()}
        for thread, _ in (call for call, begun in since.items() if now - begun > LONGEST_S):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TooLongError))
