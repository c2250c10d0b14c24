"""Takes the pictures of the playground that the README shows: `python -m pages.picture [PLAYGROUND.html]`.

Without a page that of `make playground` is taken, with the question that stands here. Needs chromium, and takes one
picture on light ground and one on dark.
"""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "target" / "playground" / "playground.html"
FIGURES = ROOT / "docs" / "figures"
QUESTION = (
    "c=tcp%2Fcubic&c=tcp%2Fbbr&c=quic%2Fcubic&c=quic%2Fbbr&rate=40Mbit%2Fs&rtt=50ms&loss=1%25&size=8MiB&replications=10"
)
DONE = """document.body?.dataset.traced !== undefined
    && (scrollTo({ top: document.getElementById("results").offsetTop, behavior: "instant" }), true)"""
"""When the page has answered, and shows its answer at the top of the window."""
WIDTH, HEIGHT = 1100, 900
"""The window, in pixels."""
SECONDS = 300
"""The time that a page has to answer; a free machine needs five."""
LARGEST = 250_000
"""Bytes that a picture may have: it is part of the repository."""


class Browser:
    """A page in a headless browser, told by the protocol of its developer tools what to do."""

    def __init__(self, asks: int, answers: int) -> None:
        self._asks, self._answers = os.fdopen(asks, "wb", buffering=0), os.fdopen(answers, "rb", buffering=0)
        self._next, self._session, self._read = 0, "", b""

    def tell(self, method: str, **what: Any) -> dict[str, Any]:
        """Send a command and return its answer.

        Raises:
            SystemExit: if the browser refuses it, or has ended.
        """
        self._next += 1
        session = {"sessionId": self._session} if self._session else {}
        self._asks.write(json.dumps({"id": self._next, "method": method, "params": what} | session).encode() + b"\0")
        while True:
            while b"\0" not in self._read:
                more = os.read(self._answers.fileno(), 1 << 16)
                if not more:
                    sys.exit("chromium has ended")
                self._read += more
            text, _, self._read = self._read.partition(b"\0")
            answer = json.loads(text)
            if answer.get("id") == self._next:
                if "error" in answer:
                    sys.exit(f"chromium refuses {method}: {answer['error']['message']}")
                return dict(answer["result"])

    def open(self, address: str, *, width: int, height: int, scheme: str) -> None:
        """Open a page in a window of this size, on `light` or `dark` ground."""
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.tell("Emulation.setDeviceMetricsOverride", **size)
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.tell("Page.navigate", url=address)

    def until(self, condition: str) -> Any:
        """Return the value of an expression of JavaScript once it is neither false nor empty.

        Raises:
            SystemExit: if that takes too long.
        """
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = self.tell("Runtime.evaluate", expression=condition, returnByValue=True, awaitPromise=True)["result"]
            if found.get("value"):
                return found["value"]
            time.sleep(0.2)
        sys.exit(f"the page was not ready after {SECONDS} s: {condition}")

    def picture(self, *, whole: bool = False) -> bytes:
        """Return the window as PNG, or all of the page."""
        return base64.b64decode(self.tell("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a headless browser.

    Raises:
        SystemExit: if there is no chromium.
    """
    program = shutil.which("chromium")
    if program is None:
        sys.exit("chromium is not there")
    theirs, asks = os.pipe()
    answers, ours = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        # The browser reads from descriptor 3 and writes to 4.
        command = [
            "bash",
            "-c",
            f'exec "$0" "$@" 3<&{theirs} 4>&{ours}',
            program,
            *options,
            f"--user-data-dir={profile}",
        ]
        running = subprocess.Popen(command, pass_fds=(theirs, ours), stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(ours)
        try:
            yield Browser(asks, answers)
        finally:
            running.terminate()
            running.wait(timeout=60)


def photograph(page: Path) -> Iterator[Path]:
    """Write the pictures of the playground's answer, and yield their files.

    Raises:
        SystemExit: if there is no page, no chromium, or a picture is too large.
    """
    if not page.is_file():
        sys.exit(f"{page} is not there: `make playground` writes it")
    for scheme in ("light", "dark"):
        with browser() as one:
            one.open(f"{page.resolve().as_uri()}#{QUESTION}", width=WIDTH, height=HEIGHT, scheme=scheme)
            one.until(DONE)
            taken = one.picture()
        file = FIGURES / f"playground-{scheme}.png"
        with Image.open(io.BytesIO(taken)) as whole:
            whole.convert("RGB").save(file, optimize=True)
        size = file.stat().st_size
        if size > LARGEST:
            sys.exit(f"{file} has {size} bytes, more than {LARGEST}: show less of the page")
        yield file


if __name__ == "__main__":
    for written in photograph(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE):
        sys.stdout.write(f"{written}\n")
