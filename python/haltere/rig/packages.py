"""Fetches Debian's packaged kernel sources with a private apt: no root, and nothing on the machine changes.

apt gets a configuration of its own: its state, lists and cache are in a folder of the caller's, and its one source is a
suite of a mirror that the machine's own apt is configured for. Proxies, credentials and whatever else the machine's
configuration says about fetching stay in force. Only repositories that are signed with the keys of Debian's archive are
accepted (apt-secure(8)); apt compares the package with the checksum in the signed index.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from haltere.errors import ArgumentError, InputError

LATER_SUITES = ("trixie-backports", "stable-backports", "testing")
"""Suites that are searched after those that the machine itself uses: they have newer kernels."""
KEYRINGS = (
    Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    Path("/usr/share/keyrings/debian-archive-keyring.pgp"),
)
_PROGRAMS = {"apt-get": "apt", "apt-cache": "apt", "dpkg-deb": "dpkg"}
_OTHERWISE = "give a kernel tree instead: haltere kernel build --source FOLDER"


@dataclass(frozen=True)
class Suite:
    """A suite of a repository, such as `trixie-backports` of a mirror of Debian's archive."""

    uri: str
    name: str


def fetch(version: str, folder: Path, suite: str | None = None) -> Path:
    """Fetch the package `linux-source-VERSION` and unpack it in a folder.

    Args:
        version: as Debian names the package: `6.12`.
        folder: an empty folder; apt's state, the package and what it holds go there.
        suite: only this one is searched; without it those that the machine uses, and then `LATER_SUITES`.

    Returns:
        The packed kernel tree.

    Raises:
        InputError: if a program or Debian's keys are missing, no mirror answers, or no suite has the package. It says
            which suites were searched, what they have or why they could not be read, and what to do.
    """
    keyring = _keyring()
    package = f"linux-source-{version}"
    lacking: list[str] = []
    unread: dict[str, list[str]] = {}
    for number, one in enumerate(_suites(suite)):
        apt = _Apt(folder / f"apt{number}", one, keyring)
        wrong = apt.update()
        if wrong is not None:
            unread.setdefault(wrong, []).append(one.name)
            continue
        if version not in (there := apt.versions()):
            lacking.append(f"{one.name} has {', '.join(there) or 'no kernel source'}")
            continue
        return _unpacked(apt.download(package), package)
    said = [*lacking, *(f"{', '.join(names)}: {wrong}" for wrong, names in unread.items())]
    raise ArgumentError(
        f"the package {package} cannot be fetched ({'; '.join(said)})",
        right=f"a version that a suite has, `suite` for another suite, or {_OTHERWISE}",
    )


def _keyring() -> Path:
    missing = sorted({package for program, package in _PROGRAMS.items() if shutil.which(program) is None})
    if missing:
        raise InputError(
            f"this machine has no kernel source, and no {' or '.join(missing)} to fetch Debian's with", right=_OTHERWISE
        )
    for keyring in KEYRINGS:
        if keyring.is_file():
            return keyring
    raise InputError(
        "the keys of Debian's archive are missing, so that the signature of a package cannot be checked",
        right=f"apt-get install debian-archive-keyring, or {_OTHERWISE}",
    )


def _suites(only: str | None) -> list[Suite]:
    """List the suites to search on the mirrors that the machine's apt is configured for, its own suites first."""
    configured = list(_configured())
    if not configured:
        raise InputError(
            "this machine's apt is configured for no repository", right=f"a Debian mirror, or {_OTHERWISE}"
        )
    # The security archive has suites of its own and no backports.
    mirrors = list(dict.fromkeys(s.uri for s in configured if not s.name.endswith("-security")))
    later = [Suite(uri, name) for uri in mirrors for name in ((only,) if only else LATER_SUITES)]
    own = [suite for suite in configured if only in (None, suite.name)]
    return list(dict.fromkeys([*own, *later]))


def _configured() -> Iterator[Suite]:
    form = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    answer = subprocess.run(
        ["apt-get", "indextargets", "--no-release-info", "--format", form, "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    )
    for line in answer.stdout.splitlines():
        uri, name, component = [*line.split("|"), "", ""][:3]
        if component == "main":
            yield Suite(uri, name)


class _Apt:
    """An apt with state of its own and one suite."""

    def __init__(self, folder: Path, suite: Suite, keyring: Path) -> None:
        self.folder = folder
        for name in ("state/lists/partial", "cache/archives/partial", "sources"):
            (folder / name).mkdir(parents=True)
        self.suite = suite
        (folder / "sources.list").write_text(f"deb [signed-by={keyring}] {suite.uri} {suite.name} main\n")
        self.configuration = folder / "apt.conf"
        # The machine's hooks would clean up and refresh what is the machine's own.
        self.configuration.write_text(
            "#clear APT::Update::Pre-Invoke;\n"
            "#clear APT::Update::Post-Invoke;\n"
            "#clear APT::Update::Post-Invoke-Success;\n"
            "#clear Acquire::IndexTargets::deb::DEP-11;\n"
            "#clear DPkg;\n"
            f'Dir::State "{folder}/state";\n'
            'Dir::State::status "/dev/null";\n'
            'Dir::State::lists "lists";\n'
            f'Dir::Cache "{folder}/cache";\n'
            'Dir::Cache::archives "archives";\n'
            f'Dir::Etc::sourcelist "{folder}/sources.list";\n'
            f'Dir::Etc::sourceparts "{folder}/sources";\n'
            'Dir::Etc::preferences "/dev/null";\n'
            'Dir::Etc::preferencesparts "/dev/null";\n'
            'APT::Sandbox::User "";\n'
            'APT::Get::AllowUnauthenticated "false";\n'
            'Acquire::AllowInsecureRepositories "false";\n'
            'Acquire::Languages "none";\n'
        )

    def _run(self, program: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, "-c", str(self.configuration), *arguments], cwd=cwd, capture_output=True, text=True, check=False
        )

    def update(self) -> str | None:
        """Fetch the suite's index and check its signature; return why that is not possible, if so."""
        answer = self._run("apt-get", "update", "-q", "--error-on=any")
        return None if answer.returncode == 0 else _reason(answer.stderr)

    def versions(self) -> list[str]:
        """Return the kernel versions that the suite has as source packages, the newest first."""
        names = self._run("apt-cache", "pkgnames", "linux-source-").stdout.split()
        versions = [name.removeprefix("linux-source-") for name in names]
        numbered = [version for version in versions if re.fullmatch(r"\d+\.\d+", version)]
        return sorted(numbered, key=lambda version: [int(n) for n in version.split(".")], reverse=True)

    def download(self, package: str) -> Path:
        """Fetch a package; apt compares it with the signed index."""
        answer = self._run("apt-get", "download", "-q", package, cwd=self.folder)
        files = list(self.folder.glob("*.deb"))
        if answer.returncode != 0 or len(files) != 1:
            raise InputError(
                f"the package {package} of {self.suite.name} cannot be fetched: {_reason(answer.stderr)}",
                right=f"try again, or {_OTHERWISE}",
            )
        return files[0]


def _reason(said: str) -> str:
    """Return what apt says in one line: what it was that failed, and without the addresses of mirrors."""
    for words, meaning in (
        ("does not have a Release file", "the mirror has no such suite"),
        ("404", "the mirror has no such suite"),
        ("resolv", "the mirror cannot be reached: there is no network, or its name is unknown"),
        ("connect", "the mirror cannot be reached: there is no network, or a proxy is needed"),
        ("NO_PUBKEY", "it is not signed with the keys of Debian's archive"),
        ("is not signed", "it is not signed with the keys of Debian's archive"),
    ):
        if words in said:
            return meaning
    lines = [line.strip() for line in said.splitlines() if line.startswith(("E:", "W:"))]
    return lines[0] if lines else said.strip()[-200:] or "apt gives no reason"


def _unpacked(file: Path, package: str) -> Path:
    target = file.parent / "unpacked"
    answer = subprocess.run(["dpkg-deb", "-x", str(file), str(target)], capture_output=True, text=True, check=False)
    packed = target / "usr" / "src" / f"{package}.tar.xz"
    if answer.returncode != 0 or not packed.is_file():
        raise InputError(f"the package {package} holds no kernel source: {answer.stderr.strip()[-200:]}")
    file.unlink()
    return packed
