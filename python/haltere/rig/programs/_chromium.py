"""Drives a headless Chromium over its debugging pipe: one fetch from an empty page, with its network stack's times.

A program of its own (`python _chromium.py REPORT PROFILE URL ORIGIN ADDRESS KEYHASH CHROMIUM h2|h3`), as it has to run
in the client's namespace. Messages are JSON, each ended by a nought (Chrome DevTools Protocol with
`--remote-debugging-pipe`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]
_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-default-apps",
    "--disable-client-side-phishing-detection", "--disable-domain-reliability", "--no-proxy-server", "--mute-audio",
    "--disable-dev-shm-usage", "--disable-web-security", "--disable-breakpad", "--metrics-recording-only", "--no-pings",
    "--password-store=basic", "--use-mock-keychain",
    "--disable-features=OptimizationHints,MediaRouter,DialMediaRouteProvider,Translate,CertificateTransparencyComponentUpdater",
)  # fmt: skip
_FETCH = "fetch({url!r}, {{cache: 'no-store'}}).then(r => r.blob()).then(() => 'done')"


class Pipe:
    """The two ends of the debugging pipe."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, os.fdopen(from_browser, "rb", buffering=0)
        self._sent, self._rest = 0, b""

    def send(self, method: str, session: str | None = None, **parameters: Any) -> int:
        """Send a command; return its number."""
        self._sent += 1
        message: Json = {"id": self._sent, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        return self._sent

    def messages(self) -> Iterator[Json]:
        """Yield messages until the browser closes the pipe."""
        while True:
            while b"\0" in self._rest:
                first, _, self._rest = self._rest.partition(b"\0")
                yield json.loads(first)
            more = self._from.read(1 << 16)
            if not more:
                return
            self._rest += more

    def answer(self, number: int, seen: list[Json]) -> Json:
        """Return the answer to a command; other messages go into `seen`."""
        for message in self.messages():
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(message["error"].get("message", "refused"))
                result: Json = message["result"]
                return result
            seen.append(message)
        raise RuntimeError("the browser ended")


def fetch(pipe: Pipe, url: str) -> Json:
    """Fetch `url` from an empty page; return the report."""
    seen: list[Json] = []
    target = pipe.answer(pipe.send("Target.createTarget", url="about:blank"), seen)["targetId"]
    session = pipe.answer(pipe.send("Target.attachToTarget", targetId=target, flatten=True), seen)["sessionId"]
    pipe.answer(pipe.send("Network.enable", session), seen)
    seen.clear()
    done = pipe.send("Runtime.evaluate", session, expression=_FETCH.format(url=url), awaitPromise=True)
    evaluated = pipe.answer(done, seen)
    if "exceptionDetails" in evaluated:
        failed: Json = next((m["params"] for m in seen if m.get("method") == "Network.loadingFailed"), {})
        raise RuntimeError(failed.get("errorText") or "the fetch failed")
    for message in pipe.messages() if not _finished(seen) else iter(()):
        seen.append(message)
        if _finished(seen):
            break
    return report(seen)


def _finished(seen: list[Json]) -> bool:
    return any(message.get("method") == "Network.loadingFinished" for message in seen)


def report(seen: list[Json]) -> Json:
    """Lay out the times of Chromium's network stack; its `timing` counts milliseconds from `requestTime` (seconds)."""
    answer = next(m["params"]["response"] for m in seen if m.get("method") == "Network.responseReceived")
    end = next(m["params"] for m in seen if m.get("method") == "Network.loadingFinished")
    timing = answer["timing"]
    start = timing["requestTime"] + max(0.0, timing["connectStart"]) / 1000
    headers = next((timing[name] for name in ("receiveHeadersStart", "receiveHeadersEnd") if timing.get(name)), None)
    return {
        "handshake_s": (timing["connectEnd"] - max(0.0, timing["connectStart"])) / 1000,
        "first_byte_s": None if headers is None else timing["requestTime"] + headers / 1000 - start,
        "completion_s": end["timestamp"] - start,
        "encoded_bytes": end["encodedDataLength"],
        "protocol": answer["protocol"],
        "status": answer["status"],
        "timing": timing,
    }


def main(arguments: list[str]) -> int:
    """Start the browser, fetch, write the report, end the browser."""
    file, profile, url, origin, address, key_hash, chromium, protocol = arguments
    host, _, _ = origin.rpartition(":")
    options = (
        *_QUIET, f"--user-data-dir={profile}", f"--host-resolver-rules=MAP {host} {address}",
        f"--ignore-certificate-errors-spki-list={key_hash}", "--remote-debugging-pipe",
        *((f"--origin-to-force-quic-on={origin}", "--enable-quic") if protocol == "h3" else ("--disable-quic",)),
    )  # fmt: skip
    browser_reads, we_write = os.pipe()
    we_read, browser_writes = os.pipe()
    # The browser expects its ends of the pipes as descriptors 3 and 4.
    shell = (
        sys.executable,
        __file__,
        "exec",
        str(browser_reads),
        str(browser_writes),
        chromium,
        *options,
        "about:blank",
    )
    browser = subprocess.Popen(shell, pass_fds=(browser_reads, browser_writes), stdin=subprocess.DEVNULL)
    os.close(browser_reads)
    os.close(browser_writes)
    pipe = Pipe(we_write, we_read)
    try:
        evaluated = fetch(pipe, url)
        Path(file).write_text(json.dumps(evaluated))
        pipe.send("Browser.close")
        return 0
    except (RuntimeError, StopIteration, OSError) as error:
        sys.stderr.write(f"chromium: {error}\n")
        return 1
    finally:
        try:
            browser.wait(10)
        except subprocess.TimeoutExpired:
            browser.kill()


def _become(arguments: list[str]) -> None:
    reads, writes, *command = arguments
    # Both are moved beyond 4 first, as one may have the number that the other needs.
    high = [os.dup2(int(number), place) for number, place in ((reads, 60), (writes, 61))]
    for number, place in zip(high, (3, 4), strict=True):
        os.dup2(number, place, inheritable=True)
        os.close(number)
    os.execv(command[0], command)  # noqa: S606 - there is no shell on purpose


if __name__ == "__main__":
    if sys.argv[1] == "exec":
        _become(sys.argv[2:])
    sys.exit(main(sys.argv[1:]))
