"""The wheel of the installation that is running, and the versions of the packages that it uses.

An archive holds both, so that whoever unpacks it needs Python alone. The wheel is put together anew from the installed
files: an index may have another build of the same version, which need not give the same bytes.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import platform
import re
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from haltere import core
from haltere.documents import shown
from haltere.errors import ArgumentError, Place

LOCK = Path(__file__).with_name("lock.txt")
"""The versions with their hashes that this version of haltere was tested with; a link to `requirements/all.txt`."""
_PACKAGE = Path(__file__).parents[1]
_SPARED = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
_STUDIES = ("studies/*/*.*", "studies/*/claims/*.py")
"""Files of the shipped studies that a wheel has (`pyproject.toml`)."""
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")


@dataclass(frozen=True)
class Wheel:
    """A wheel: its file's name and its bytes."""

    name: str
    content: bytes

    @property
    def needs(self) -> str:
        """The C library that it needs, if it was built for the machine alone on which it is packed; else empty."""
        if not re.search(r"-linux_\w+\.whl$", self.name):
            return ""
        name, version = platform.libc_ver()
        return f"{name or 'a C library'} {version} or newer"

    @property
    def digest(self) -> str:
        """Its SHA-256."""
        return hashlib.sha256(self.content).hexdigest()


def given(file: Path, core_of_results: str) -> Wheel:
    """Return the wheel in a file.

    Raises:
        ArgumentError: if it is no wheel of haltere, or not of the build that made the results.
    """
    right = "the wheel with which `haltere run` was installed"
    try:
        with zipfile.ZipFile(file) as packed:
            names = [name for name in packed.namelist() if re.fullmatch(r"haltere/_core[.\w-]*\.(so|pyd)", name)]
            digests = [hashlib.sha256(packed.read(name)).hexdigest()[:16] for name in names]
    except (OSError, zipfile.BadZipFile) as error:
        raise ArgumentError(f"cannot be read: {error}", place=Place(shown(file)), field="wheel", right=right) from None
    if core_of_results not in digests:
        raise ArgumentError("did not make these results", place=Place(shown(file)), field="wheel", right=right)
    return Wheel(file.name, file.read_bytes())


def installed() -> Wheel | None:
    """Return the wheel of this installation, from its files; None where its description is not there.

    Its bytes depend on the files alone.
    """
    try:
        found = metadata.distribution("haltere")
    except metadata.PackageNotFoundError:
        return None
    described = found.read_text("WHEEL")
    folder = f"haltere-{found.version}.dist-info"
    if described is None or found.version != core.VERSION:
        return None
    members = {f"haltere/{name}": content for name, content in _package().items()}
    for one in found.files or ():
        if one.parts[0] == folder and one.parts[1] not in _SPARED:
            members[one.as_posix()] = Path(str(one.locate())).read_bytes()
    members[f"{folder}/RECORD"] = _record(members, f"{folder}/RECORD")
    tags = [line.removeprefix("Tag: ") for line in described.splitlines() if line.startswith("Tag: ")]
    return Wheel(f"haltere-{found.version}-{_joined(tags)}.whl", _zipped(members))


def _package() -> dict[str, bytes]:
    """Return the files of the package by their paths in it: those of a wheel, also where this is a clone."""
    found = {}
    for file in sorted(_PACKAGE.rglob("*")):
        name = file.relative_to(_PACKAGE)
        if file.is_file() and not {"__pycache__", "studies"} & set(name.parts) and "haltere-worker" not in name.name:
            found[name.as_posix()] = file.read_bytes()
    for pattern in _STUDIES:
        for file in sorted(_PACKAGE.glob(pattern)):
            found[file.relative_to(_PACKAGE).as_posix()] = file.read_bytes()
    return found


def _joined(tags: list[str]) -> str:
    """Return tags as the name of a wheel has them: `cp311-abi3-manylinux_2_28_x86_64.manylinux2014_x86_64`."""
    parts = [tag.split("-") for tag in tags]
    return "-".join(".".join(dict.fromkeys(tag[at] for tag in parts)) for at in range(3))


def _record(members: dict[str, bytes], own: str) -> bytes:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for name in sorted(members):
        digest = base64.urlsafe_b64encode(hashlib.sha256(members[name]).digest()).rstrip(b"=").decode()
        lines.writerow([name, f"sha256={digest}", len(members[name])])
    lines.writerow([own, "", ""])
    return text.getvalue().encode()


def _zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(members, key=lambda one: (".dist-info/" in one, one)):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            runs = name.endswith(("/haltere-node", ".so"))
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, members[name])
    return buffer.getvalue()


def lock() -> tuple[str, bool]:
    """Return the versions that this installation uses as a file for pip, and whether they have hashes.

    They have where all of them are those that this version of haltere was tested with.
    """
    tested, there = LOCK.read_text(encoding="utf-8") if LOCK.exists() else "", _there()
    if there and all(version in _versions(tested, name) for name, version in there.items()):
        return tested, True
    head = "# The versions with which the campaign was packed; their hashes are not known.\n"
    return head + "".join(f"{name}=={version}\n" for name, version in sorted(there.items())), False


def _versions(tested: str, name: str) -> list[str]:
    """Return the versions of a package that a lock file has; several where they differ by the version of Python."""
    found = (_PIN.match(line) for line in tested.splitlines())
    return [match[2] for match in found if match is not None and _plain(match[1]) == name]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _there() -> dict[str, str]:
    """Return the installed packages that haltere needs, with what these need, by name."""
    found: dict[str, str] = {}
    left = ["haltere"]
    while left:
        name = left.pop()
        try:
            one = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if _plain(name) in found:  # also haltere, whose extras name each other
            continue
        found[_plain(name)] = one.version
        left += [match[0] for need in one.requires or () if (match := _needed(need, name)) is not None]
    found.pop("haltere", None)
    return found


_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w.-]+)['"]""")
_PARTS = ("all", "archive", "figures", "study")


def _needed(need: str, by: str) -> re.Match[str] | None:
    """Match the name of a needed package; those of extras count for haltere's own extras alone."""
    extra = _EXTRA.search(need)
    if extra is not None and not (_plain(by) == "haltere" and extra[1] in _PARTS):
        return None
    return re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", need)
