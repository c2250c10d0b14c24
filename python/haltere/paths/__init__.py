"""Measured Internet paths: traceroutes from files, into a lake, and what they say of one period or two."""

from __future__ import annotations

from haltere.paths.files import STDIN, check, count, stored_bytes, texts
from haltere.paths.ingest import describe, generate, ingest

__all__ = ["STDIN", "check", "count", "describe", "generate", "ingest", "stored_bytes", "texts"]
