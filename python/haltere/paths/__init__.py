"""Measured Internet paths: reads traceroutes from files into a lake, and analyses one period or compares two."""

from __future__ import annotations

from haltere.paths.ingest import STDIN, check, count, describe, generate, ingest, stored_bytes, texts

__all__ = ["STDIN", "check", "count", "describe", "generate", "ingest", "stored_bytes", "texts"]
