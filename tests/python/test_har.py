"""Pages from HAR files: what is read of them, and what is said of those that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from haltere import Scenario, Study
from haltere.errors import InputError
from haltere.scenario import har


def entry(
    url: str, start_ms: int, took_ms: float, size: int, initiator: str | None = None, **more: Any
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "startedDateTime": f"2026-01-02T03:04:{5 + start_ms // 1000:02}.{start_ms % 1000:03}Z",
        "time": took_ms,
        "request": {"url": f"https://site.example/{url}", "headersSize": -1, "bodySize": 0},
        "response": {"status": 200, "bodySize": size, "content": {"size": size}},
    }
    if initiator is not None:
        made["_initiator"] = {"type": "parser", "url": f"https://site.example/{initiator}"}
    made["request"].update(more.pop("request", {}))
    made["response"].update(more.pop("response", {}))
    return {**made, **more}


def write(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": list(entries)}}))
    return path


def test_objects_wait_for_what_made_the_browser_ask(tmp_path: Path) -> None:
    site = write(
        tmp_path / "site.har",
        entry("app.js", 150, 60, 30_000, "index"),
        entry("index", 0, 100, 8_000, request={"headersSize": 512}),
        entry("data:x", 10, 0, 5, request={"url": "data:text/plain,x"}),
        entry("style.css", 60, 50, 4_000, "index"),
        entry("icon.png", 10, 5, 99, response={"status": 0}),
        entry("api", 230, 40, 700, _initiator={"stack": {"callFrames": [{"url": "https://site.example/app.js"}]}}),
        entry("late.gif", 300, 10, 43, response={"bodySize": -1, "content": {"size": 60, "compression": 17}}),
    )
    assert har.objects(site) == [
        {"size": "8000B", "request": "512B"},
        {"size": "4000B", "after": [0]},  # asked for while the page was still arriving
        {"size": "30000B", "after": [0], "delay": "50000us"},
        {"size": "700B", "after": [2], "delay": "20000us"},
        {"size": "43B", "after": [3], "delay": "30000us"},
    ]


STUDY = """
[study]
name = "pages"
title = "Pages"
seed = 1
replications = 1
[experiments.base]
[experiments.base.factors]
site = ["site.har", "nosuch.har"]
way = [
  { label = "h1", contender = "tcp/cubic", app = "http1" },
  { label = "h3", contender = "quic/cubic", app = "https" },
]
[experiments.base.scenario.topology]
kind = "point-to-point"
link = { delay = "20ms", rate = "10Mbit/s" }
[[experiments.base.scenario.flows]]
contender = "{way.contender}"
app = "{way.app}"
page = "{site}"
"""


def test_a_study_reads_pages_beside_it_and_tells_the_time_to_each_object(tmp_path: Path) -> None:
    write(tmp_path / "site.har", entry("a", 0, 10, 5_000), entry("b", 15, 10, 900, "a"), entry("c", 15, 10, 900, "a"))
    (tmp_path / "study.toml").write_text(STUDY.replace(', "nosuch.har"', ""))
    flows = Study.load(tmp_path).run(out=tmp_path / "out", workers=1).flows
    assert flows["status"].to_list() == ["ok", "ok"]
    assert flows["bytes"].to_list() == [6_800, 6_800]
    for row in flows.iter_rows(named=True):
        assert len(row["objects_s"]) == 3
        assert max(row["objects_s"]) == row["completion_s"]
        assert row["objects_s"][0] + 0.045 <= row["objects_s"][1]


def test_a_file_that_is_no_page_is_an_error_at_the_level_that_names_it(tmp_path: Path) -> None:
    write(tmp_path / "site.har", entry("a", 0, 10, 5_000))
    (tmp_path / "study.toml").write_text(STUDY)
    with pytest.raises(InputError, match=r"study\.toml:\d+.*nosuch\.har cannot be read"):
        Study.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "has no log.entries"),
        (b'{"log": {"entries": []}}', "no request that went over the network"),
        (b'{"log": {"entries": [7]}}', "has no log.entries[0].request"),
        (b'{"log": {"entries": [{"request": {"url": "https://x/"}, "response": {}}]}}', "has no time at"),
    ],
)
def test_what_is_no_har_is_told(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "x.har").write_bytes(content)
    with pytest.raises(ValueError, match="HAR file") as caught:
        har.objects(tmp_path / "x.har")
    assert words in str(caught.value)
    assert "a HAR file, as a browser's network tools export it" in str(caught.value)


def test_a_scenario_takes_a_page_as_it_is_or_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "site.har", entry("a", 0, 10, 5_000))
    flow: dict[str, Any] = {"contender": "quic/cubic+0rtt", "page": "site.har"}
    data = {"topology": {"kind": "point-to-point", "link": {"delay": "1ms"}}, "flows": [flow]}
    named = Scenario(data)
    assert named.data["flows"][0]["page"] == {"objects": [{"size": "5000B"}]}
    assert named == Scenario({**data, "flows": [{**flow, "page": {"objects": [{"size": "5000B"}]}}]})
