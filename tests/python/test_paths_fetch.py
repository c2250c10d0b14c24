"""Results of RIPE Atlas, fetched by RIPE's client from a server on loopback that answers as the real one does."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from conftest import Haltere
from haltere import paths
from haltere.errors import InputError
from haltere.paths import fetch
from haltere.paths.fetch import fetch_atlas

pytest.importorskip("ripe.atlas.cousteau")
DAY = int(datetime(2024, 3, 1, tzinfo=UTC).timestamp())


def result(second: int, probe: int) -> dict[str, Any]:
    """A traceroute as the interface gives it (RIPE Atlas, "Data Structures", firmware 5080)."""

    def hop(number: int, address: str, rtt: float) -> dict[str, Any]:
        return {"hop": number, "result": [{"from": address, "rtt": rtt, "size": 28, "ttl": 64 - number}]}

    return {
        "fw": 5080, "lts": 12, "endtime": second + 1, "dst_name": "198.51.100.7", "dst_addr": "198.51.100.7",
        "src_addr": "192.0.2.9", "proto": "ICMP", "af": 4, "size": 48, "paris_id": 3,
        "result": [hop(1, "192.0.2.1", 0.4), hop(2, "203.0.113.5", 7.25), hop(3, "198.51.100.7", 11.0)],
        "msm_id": 5051, "prb_id": probe, "timestamp": second, "msm_name": "Traceroute", "from": "192.0.2.9",
        "type": "traceroute", "group_id": 5051, "stored_timestamp": second + 60,
    }  # fmt: skip


STORED = {5051: [result(DAY + 600 * i, 1 + i % 2) for i in range(300)], 1001: [{"type": "ping", "prb_id": 1}]}


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on loopback, and what it is asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            url = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            number = int(url.path.split("/")[4])
            if number not in STORED:
                error = {"error": {"status": 404, "code": 104, "detail": "Not found.", "title": "Not Found"}}
                return self.answer(404, error)
            begin, end = int(query.get("start", 0)), int(query.get("stop", 2**40))
            probes = {int(one) for one in query.get("probe_ids", "").split(",") if one}
            return self.answer(
                200,
                [
                    one
                    for one in STORED[number]
                    if begin <= one.get("timestamp", 0) <= end and (not probes or one["prb_id"] in probes)
                ],
            )

        def answer(self, status: int, content: Any) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}", asked
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_days_are_files_that_a_lake_takes(tmp_path: Path, haltere: Haltere, server: tuple[str, list[str]]) -> None:
    address, asked = server
    words = ("paths", "fetch", "atlas", "5051", "--from", "2024-03-01", "--to", "2024-03-04", "--server", address)
    done = haltere(*words, "--out", str(tmp_path / "atlas"))
    assert done.returncode == 0, done.stderr
    assert "300 results in 3 new files" in done.stdout and "1 has no results" in done.stdout
    files = sorted((tmp_path / "atlas").iterdir())
    assert [file.name for file in files] == [f"atlas-5051-2024-03-0{n}.json.gz" for n in (1, 2, 3)]
    lines = [json.loads(line) for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert lines == STORED[5051]
    assert asked[0].startswith("/api/v2/measurements/5051/results?start=1709251200&stop=1709337599")
    again = haltere(*words, "--out", str(tmp_path / "atlas"))
    assert "3 were there already" in again.stdout and len(asked) == 5  # a day without results is asked for again
    ingested = paths.ingest([str(tmp_path / "atlas")], tmp_path / "lake")
    assert sum(file["entry"]["classes"]["clean"] for file in ingested) == 300


def test_probes_and_everything_at_once(tmp_path: Path, server: tuple[str, list[str]]) -> None:
    address, _ = server
    found = fetch_atlas([5051], tmp_path, probes=[2], server=address)
    assert [(file.path.name, file.results) for file in found] == [("atlas-5051-probes-2.json.gz", 150)]


def test_what_is_refused_is_told(
    tmp_path: Path, server: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = server
    for number, told in ((7, "404 Not Found"), (1001, "results of ping")):
        with pytest.raises(InputError, match=told):
            fetch_atlas([number], tmp_path, server=address)
    with pytest.raises(InputError, match="was not given"):
        fetch_atlas([5051], tmp_path, server="http://127.0.0.1:1")
    with pytest.raises(InputError, match="last_day: is needed with the other"):
        fetch_atlas([5051], tmp_path, first_day=datetime.fromtimestamp(DAY, UTC).date(), server=address)
    assert not list(tmp_path.iterdir())

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(fetch.importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"haltere\[atlas\]"):
        fetch_atlas([5051], tmp_path, server=address)
