"""Notes which tests are skipped and why, and fails those that must not be: a plugin of pytest (see `conftest.py`).

`tests/rust/skips.rs` does the same for the Rust tests, with the same two variables:

- `HALTERE_MAY_SKIP`: lines of text. Where it is set, a test may be skipped only if its reason contains one of the
  lines; any other skip fails. Where it is not set, every test may be skipped.
- `HALTERE_SKIPS`: a file to which each skipped test adds a line, so that they can be counted (`make test` does).
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Look at a test's report."""
    report = yield
    return report if hasattr(report, "wasxfail") else judge(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Look at the report of a module, which may be skipped as a whole."""
    report = yield
    return judge(report)


def judge(report: Report) -> Report:
    """Note a skip, and make a failure of it if `HALTERE_MAY_SKIP` does not allow it."""
    if not report.skipped:
        return report
    where = report.longrepr
    reason = (where[2] if isinstance(where, tuple) else str(where)).removeprefix("Skipped: ")
    allowed = os.environ.get("HALTERE_MAY_SKIP")
    if allowed is not None and not any(line.strip() in reason for line in allowed.splitlines() if line.strip()):
        report.outcome = "failed"
        report.longrepr = f"must not be skipped here (HALTERE_MAY_SKIP does not name the reason): {reason}"
        return report
    if file := os.environ.get("HALTERE_SKIPS"):
        with Path(file).open("a") as notes:
            notes.write(f"skipped: {report.nodeid}: {' '.join(reason.split())}\n")
    return report
