"""The cities of the small Internets, and the database of the places of their addresses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from internet.plan import Internet

EARTH_KM = 6371.0088
"""Mean radius (IUGG)."""
FIBRE_KM_S = 299_792.458 * 2 / 3
"""Light in fibre, as the study of end-to-end paths takes it."""


@dataclass(frozen=True)
class City:
    """A place, by the code of its airport."""

    code: str
    name: str
    country: str
    continent: str
    latitude: float
    longitude: float


CITIES = {
    city.code: city
    for city in (
        City("san", "San Diego", "US", "NA", 32.7157, -117.1611),
        City("sjc", "San Jose", "US", "NA", 37.3387, -121.8853),
        City("sea", "Seattle", "US", "NA", 47.6062, -122.3321),
        City("dfw", "Dallas", "US", "NA", 32.7767, -96.7970),
        City("ord", "Chicago", "US", "NA", 41.8781, -87.6298),
        City("yyz", "Toronto", "CA", "NA", 43.6532, -79.3832),
        City("jfk", "New York", "US", "NA", 40.7128, -74.0060),
        City("iad", "Ashburn", "US", "NA", 39.0438, -77.4874),
        City("lhr", "London", "GB", "EU", 51.5074, -0.1278),
        City("ams", "Amsterdam", "NL", "EU", 52.3676, 4.9041),
        City("fra", "Frankfurt", "DE", "EU", 50.1109, 8.6821),
        City("mad", "Madrid", "ES", "EU", 40.4168, -3.7038),
        City("mxp", "Milan", "IT", "EU", 45.4642, 9.1900),
        City("arn", "Stockholm", "SE", "EU", 59.3293, 18.0686),
        City("nrt", "Tokyo", "JP", "AS", 35.6762, 139.6503),
        City("sin", "Singapore", "SG", "AS", 1.3521, 103.8198),
        City("gru", "São Paulo", "BR", "SA", -23.5505, -46.6333),
        City("syd", "Sydney", "AU", "OC", -33.8688, 151.2093),
    )
}


SYSTEMS = dict(zip(CITIES, [*range(64496, 64512), *range(65536, 65552)], strict=False))
"""The AS of each city, of numbers for documentation (RFC 5398)."""


def great_circle_km(a: City, b: City) -> float:
    """Return the distance between two cities on a sphere (haversine)."""
    p, q = math.radians(a.latitude), math.radians(b.latitude)
    h = math.sin((q - p) / 2) ** 2
    h += math.cos(p) * math.cos(q) * math.sin(math.radians(b.longitude - a.longitude) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(h))


def propagation_us(a: City, b: City) -> int:
    """Return how long light takes between two cities in fibre along the great circle."""
    return round(great_circle_km(a, b) / FIBRE_KM_S * 1e6)


def places(net: Internet) -> dict[str, str]:
    """Return the range of addresses of every node and prefix, IPv4 and IPv6, with the code of its city."""
    by_name = {node.name: node.city for node in net.nodes}
    found: dict[str, str] = {}
    for node in net.nodes:
        found[net.address(node.name, 0).rpartition(".")[0] + ".0/24"] = node.city
        found[net.address(node.name, 0, 6).rpartition("::")[0] + "::/48"] = node.city
    for prefix in net.prefixes:
        # What a loop, or a router that refuses, stands before is in nobody's book.
        if prefix.fate in ("hosts", "silent", "monitor"):
            found |= {prefix.v4: by_name[prefix.at[0]], prefix.v6: by_name[prefix.at[0]]}
    return found


def write_systems(found: dict[str, str], file: Path) -> None:
    """Write places as CAIDA's prefix-to-AS data: an AS a city."""
    rows = (f"{network.replace('/', chr(9))}\t{SYSTEMS[code]}\n" for network, code in sorted(found.items()))
    file.write_text("".join(rows))


def write_database(found: dict[str, str], file: Path) -> None:
    """Write places as a MaxMind database of cities (layout of GeoLite2-City)."""
    from mmdb_writer import MMDBWriter
    from netaddr import IPSet

    writer = MMDBWriter(
        ip_version=6,
        ipv4_compatible=True,
        database_type="GeoLite2-City",
        languages=["en"],
        description="The cities of haltere's small Internets: documentation addresses alone",
    )
    for network, code in sorted(found.items()):
        city = CITIES[code]
        writer.insert_network(
            IPSet([network]),
            {
                "city": {"names": {"en": city.name}},
                "continent": {"code": city.continent},
                "country": {"iso_code": city.country},
                "location": {"latitude": city.latitude, "longitude": city.longitude},
            },
        )
    writer.to_db_file(str(file))
