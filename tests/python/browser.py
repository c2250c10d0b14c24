"""A page in a headless browser and what a script finds in it, and pages' modules in Node."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

SECONDS = 60
"""The time that a page has to be ready; a page takes one or two."""


SCHEMES = ("light", "dark")
"""The colour schemes that a reader may prefer."""


def answer_in_node(script: str, given: dict[str, Any]) -> Any:
    """The answer of a script of this folder in Node to what it is given, both as JSON."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not there")
    done = subprocess.run(
        [node, str(Path(__file__).with_name(script))],
        input=json.dumps(given), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ask(
    page: Path, script: str, *, fragment: str = "", width: int = 800, height: int = 600, scheme: str = SCHEMES[0]
) -> str:
    """The text that `script` returns once it returns one, for the page in a frame of this size in CSS pixels.

    `scheme` is the colour scheme that the reader prefers, one of `SCHEMES`.

    The script is the body of a function of `page`, the frame's window, and is called again until the page is ready.
    The browser knows no host but its own, so that a page which loads anything is not whole. Time is real: a
    virtual clock (`--virtual-time-budget`) runs out on a busy machine before a large page has begun.
    """
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not there")
    answers: queue.Queue[str] = queue.Queue()

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answers.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing: the test's output is pytest's."""

    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        outer = Path(profile) / "outer.html"
        # A window of the browser itself is 500 pixels wide at least, a frame is not.
        outer.write_text(
            f'<!doctype html><meta charset="utf-8"><body><iframe src="{page.resolve().as_uri()}{fragment}" '
            f'width="{width}" height="{height}" style="border:0"></iframe><script>'
            f"const script = (page) => {{ {script} }};"
            "const wait = setInterval(() => { const text = script(frames[0]); if (text) { clearInterval(wait);"
            f'fetch("http://127.0.0.1:{server.server_address[1]}", {{ method: "POST", mode: "no-cors", body: text }});'
            "}}, 20)</script>",
            encoding="utf-8",
        )
        running = subprocess.Popen(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--allow-file-access-from-files", "--window-size=2000,1000",
                f"--blink-settings=preferredColorScheme={1 - SCHEMES.index(scheme)}", f"--user-data-dir={profile}",
                outer.as_uri(),
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            return answers.get(timeout=SECONDS)
        except queue.Empty:
            pytest.fail(f"{page} was not ready after {SECONDS} s")
        finally:
            running.terminate()
            running.wait(timeout=SECONDS)
            server.shutdown()
