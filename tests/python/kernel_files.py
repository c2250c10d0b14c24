"""The congestion controls of the kernel's source, for the tests that need them."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from haltere.errors import HaltereError
from haltere.rig import kernel

NAMES = (
    "bbr bic cdg cubic dctcp highspeed htcp hybla illinois lp nv scalable vegas veno westwood yeah".split()  # noqa: SIM905
)


def fetched(folder: Path) -> Path:
    """Return the folder of these files, from Debian's package of the kernel's source; skip the test without one."""
    try:
        packed = kernel.packaged(kernel.PACKAGED, None, folder)
    except HaltereError as missing:
        pytest.skip(f"the kernel's source cannot be fetched: {missing}")
    wanted = {f"tcp_{name}.c" for name in NAMES} | {"tcp_vegas.h", "tcp_dctcp.h"}
    with tarfile.open(packed) as tree:
        for member in tree:
            if member.name.rpartition("/")[0].endswith("/net/ipv4") and Path(member.name).name in wanted:
                member.name = Path(member.name).name
                tree.extract(member, folder / "ipv4", filter="data")
                wanted.discard(member.name)
            if not wanted:
                break
    assert not wanted
    return folder / "ipv4"
