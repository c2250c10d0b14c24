"""The links of multipath measurements as a table of a lake."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from haltere import paths
from haltere.errors import InputError
from haltere.paths.lake import Selection, links

FILE = Path(__file__).parents[2] / "crates" / "paths" / "tests" / "data" / "tracelb.warts"


def test_links_are_selected_like_traces(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    entry = paths.ingest([str(FILE)], lake)[0]["entry"]
    assert (entry["multipaths"], entry["traces"]) == (3, 1)
    found = links(lake).collect()
    assert found.height == entry["links"]
    diamond = found.filter(pl.col("method") == "udp-dport", pl.col("ttl") == 2).sort("far")
    assert diamond["flows"].to_list() == [3, 8]
    assert diamond["far"].to_list() == [bytes([10, 0, 1, 2]), bytes([10, 0, 2, 2])]
    assert found["key"].n_unique() == 3
    assert links(lake, Selection(family=6)).collect().height == 0
    with pytest.raises(InputError, match="of what was selected"):
        links(lake, Selection(first_day=date(2030, 1, 1)))
    with pytest.raises(InputError, match=r"no lake\.json"):
        links(tmp_path)
