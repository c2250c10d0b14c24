"""Fetching Debian's kernel sources: from a repository made here, with keys made here."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from haltere.errors import InputError
from haltere.rig import kernel, packages
from haltere.rig.packages import Suite

needs_apt = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("gpg", "apt-get", "apt-cache", "dpkg-deb")),
    reason="no gpg, apt-get or dpkg-deb here",
)


def run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True)


class Repository:
    """A repository of one suite with a package of a kernel's source, signed with a key of its own."""

    def __init__(self, home: Path) -> None:
        # The agent's socket lies beside its keys, and the name of a socket has at most 108 characters.
        self.home, self.keys = home, Path(tempfile.mkdtemp())
        home.mkdir(parents=True)
        run(*self._gpg(), "--passphrase", "", "--quick-gen-key", "test@example.org", "default", "default", "never")
        self.keyring = home / "keyring.gpg"
        run(*self._gpg(), "--output", self.keyring, "--export")
        self.package = home / "linux-source-9.9_1_all.deb"
        source = home / "tree" / "usr" / "src"
        source.mkdir(parents=True)
        (source / "linux-source-9.9.tar.xz").write_bytes(b"a kernel")
        control = home / "tree" / "DEBIAN" / "control"
        control.parent.mkdir()
        self._about = "Package: linux-source-9.9\nVersion: 1\nArchitecture: all\nMaintainer: nobody <a@example.org>\n"
        control.write_text(self._about + "Description: a test\n")
        run("dpkg-deb", "--root-owner-group", "--build", home / "tree", self.package)
        self.publish()

    def _gpg(self) -> list[str | Path]:
        return ["gpg", "--homedir", self.keys, "--batch", "--pinentry-mode", "loopback"]

    def end(self) -> None:
        """End the agent, and remove its keys.

        An agent that ends removes its sockets itself, some time after `gpgconf` has returned. So they may vanish while
        the folder is removed.
        """
        subprocess.run(["gpgconf", "--homedir", str(self.keys), "--kill", "all"], check=False, capture_output=True)
        shutil.rmtree(self.keys, ignore_errors=True)

    def publish(self, *, signed: bool = True) -> None:
        data = self.package.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        index = (
            f"{self._about}Filename: {self.package.name}\nSize: {len(data)}\nSHA256: {digest}\nDescription: a test\n"
        )
        suite = self.home / "dists" / "trixie-backports"
        folder = suite / "main" / "binary-all"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "Packages").write_text(index)
        digest = hashlib.sha256(index.encode()).hexdigest()
        release = suite / "Release"
        release.write_text(
            "Suite: trixie-backports\nCodename: trixie-backports\nArchitectures: all\nComponents: main\n"
            "Date: Thu, 01 Jan 2026 00:00:00 UTC\n"
            f"SHA256:\n {digest} {len(index)} main/binary-all/Packages\n"
        )
        (suite / "InRelease").unlink(missing_ok=True)
        if signed:
            run(*self._gpg(), "--clearsign", "--output", suite / "InRelease", release)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    made = Repository(tmp_path / "repository")
    monkeypatch.setattr(packages, "KEYRINGS", (made.keyring,))
    monkeypatch.setattr(packages, "_configured", lambda: iter([Suite(f"file:{made.home}/", "stable")]))
    yield made
    made.end()


@needs_apt
def test_a_package_is_found_in_a_later_suite_and_unpacked(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    packed = packages.fetch("9.9", tmp_path / "here")
    assert packed.name == "linux-source-9.9.tar.xz"
    assert packed.read_bytes() == b"a kernel"
    assert packed.is_relative_to(tmp_path / "here")
    assert repository.package.exists()


@needs_apt
def test_what_the_suites_have_is_said(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"\(trixie-backports has 9\.9; stable, .*: the mirror has no such suite\)"
    ) as caught:
        packages.fetch("9.8", tmp_path)
    assert "--source FOLDER" in str(caught.value)
    assert repository.home.name not in str(caught.value)


@needs_apt
def test_only_what_debian_signed_is_accepted(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.publish(signed=False)
    with pytest.raises(InputError, match="trixie-backports: it is not signed"):
        packages.fetch("9.9", tmp_path / "a", "trixie-backports")
    repository.publish()
    stranger = Repository(tmp_path / "stranger")
    monkeypatch.setattr(packages, "KEYRINGS", (stranger.keyring,))
    with pytest.raises(InputError, match="trixie-backports: it is not signed"):
        packages.fetch("9.9", tmp_path / "b", "trixie-backports")
    stranger.end()


@needs_apt
def test_a_package_that_was_changed_is_refused(repository: Repository, tmp_path: Path) -> None:
    data = bytearray(repository.package.read_bytes())
    data[-1] ^= 1
    repository.package.write_bytes(data)
    with pytest.raises(InputError, match="cannot be fetched"):
        packages.fetch("9.9", tmp_path / "here", "trixie-backports")


def test_without_apt_or_keys_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(packages.shutil, "which", lambda _: None)
        with pytest.raises(InputError, match="no apt or dpkg to fetch") as caught:
            packages.fetch("9.9", tmp_path)
        assert "--source FOLDER" in str(caught.value)
    monkeypatch.setattr(packages.shutil, "which", lambda name: name)
    monkeypatch.setattr(packages, "KEYRINGS", (tmp_path / "none",))
    with pytest.raises(InputError, match="apt-get install debian-archive-keyring"):
        packages.fetch("9.9", tmp_path)


def test_a_kernel_newer_than_those_that_the_model_agrees_with_is_no_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "SOURCES", tmp_path)
    for version in ("6.1", "99.1", "7.3"):
        (tmp_path / f"linux-source-{version}.tar.xz").touch()
    assert [path.name for path in kernel.packaged_sources()] == [
        f"linux-source-{version}.tar.xz" for version in ("7.3", "6.1", "99.1")
    ]
