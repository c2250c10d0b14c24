"""Where addresses are, by a database in MaxMind's format that the user brings."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

import maxminddb
import polars as pl

from haltere.errors import InputError

SCHEMA = {"latitude": pl.Float64, "longitude": pl.Float64, "continent": pl.String, "country": pl.String}


class Locator:
    """A database of places, open for look-ups (MaxMind DB file format specification, version 2.0).

    Args:
        path: a database of cities or the like, whose records have `location.latitude` and `location.longitude`
            (degrees), `continent.code` and `country.iso_code`; what a record lacks is null.

    Raises:
        InputError: if the file cannot be read or is no such database.
    """

    def __init__(self, path: str | Path) -> None:
        right = "a database in MaxMind's format (.mmdb), such as GeoLite2 City"
        try:
            self._database = maxminddb.open_database(path)
        except (OSError, maxminddb.InvalidDatabaseError, UnicodeDecodeError, ValueError, TypeError, KeyError) as error:
            reason = "there is no such file" if isinstance(error, FileNotFoundError) else "is no database of places"
            raise InputError(reason, field=str(path), right=right) from None
        self._path = path

    def __call__(self, addresses: pl.Series) -> pl.DataFrame:
        """Return `latitude`, `longitude` (degrees), `continent` and `country` (codes) of addresses of 4 or 16 bytes.

        Null is what the database does not say, such as of private addresses, of IPv6 if it has only IPv4, and of what
        is no address.

        Raises:
            InputError: if the database is damaged.
        """
        return pl.DataFrame([self._place(address) for address in addresses], schema=SCHEMA, orient="row")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _place(self, address: bytes | None) -> tuple[float | None, float | None, str | None, str | None]:
        record: Any = None
        if address is not None and len(address) in (4, 16):
            try:
                record = self._database.get(ipaddress.ip_address(address))
            except maxminddb.InvalidDatabaseError as error:
                raise InputError(f"is damaged: {error}", field=str(self._path), right="a whole copy of it") from None
            except ValueError:
                record = None  # IPv6 in a database of IPv4
        latitude, longitude = _degrees(record, "latitude", 90), _degrees(record, "longitude", 180)
        if latitude is None or longitude is None:
            latitude = longitude = None
        return latitude, longitude, _text(record, "continent", "code"), _text(record, "country", "iso_code")


def _field(record: Any, *names: str) -> Any:
    for name in names:
        record = record.get(name) if isinstance(record, dict) else None
    return record


def _degrees(record: Any, name: str, most: float) -> float | None:
    value = _field(record, "location", name)
    return float(value) if isinstance(value, (int, float)) and -most <= value <= most else None


def _text(record: Any, *names: str) -> str | None:
    value = _field(record, *names)
    return value if isinstance(value, str) else None
