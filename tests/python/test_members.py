"""Archives that nobody should trust: each is refused with a reason, and leaves nothing behind."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from haltere.errors import InputError
from haltere.export import archive, members

Change = Callable[[tarfile.TarFile], None]


@pytest.fixture
def refused(tmp_path: Path) -> Callable[[str, bytes], None]:
    """Unpack these bytes, and ask for a refusal with these words that leaves nothing behind."""

    def refuse(words: str, content: bytes) -> None:
        (tmp_path / "hostile.tar.gz").write_bytes(content)
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(InputError, match=words) as found:
            archive.unpack(tmp_path / "hostile.tar.gz", tmp_path / "out")
        assert "hostile.tar.gz" in str(found.value) and "right: " in str(found.value)
        assert sorted(tmp_path.rglob("*")) == before

    return refuse


def _tar(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as opened:
        for entry, content in entries:
            entry.size = entry.size or len(content)
            opened.addfile(entry, io.BytesIO(content))
    return gzip.compress(buffer.getvalue())


def _file(name: str, content: bytes = b"x") -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), content


def _link(name: str, to: str, kind: bytes) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, to
    return entry, b""


def _whole(tmp_path: Path, described: dict[str, object], **files: bytes) -> bytes:
    """An archive with right checksums and this description."""
    content = {"pack.json": json.dumps(described).encode(), **files}
    members.write(tmp_path / "whole.tar.gz", "it", content)
    return (tmp_path / "whole.tar.gz").read_bytes()


@pytest.mark.parametrize("name", ["../evil", "it/../../evil", "/etc/evil", "it/a\\..\\..\\evil", "evil", "it/a\nb"])
def test_members_that_would_lie_outside_the_folder(name: str, refused: Callable[[str, bytes], None]) -> None:
    refused("no file inside its folder", _tar(_file(name)))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_links_and_devices(kind: bytes, refused: Callable[[str, bytes], None]) -> None:
    refused("no file inside its folder", _tar(_link("it/a", "/etc/passwd", kind), _file("it/a")))


def test_a_file_below_a_link_to_a_folder(refused: Callable[[str, bytes], None]) -> None:
    refused("no file inside its folder", _tar(_link("it/a", "/tmp", tarfile.SYMTYPE), _file("it/a/evil")))


def test_a_member_that_is_there_twice_also_in_other_letters(refused: Callable[[str, bytes], None]) -> None:
    refused("twice", _tar(_file("it/a"), _file("it/a", b"y")))
    refused("twice", _tar(_file("it/a"), _file("it/A", b"y")))


def test_a_file_in_the_place_of_a_folder(refused: Callable[[str, bytes], None]) -> None:
    refused("is no archive of results", _tar(_file("it/a"), _file("it/a/b")))


def test_bombs(refused: Callable[[str, bytes], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "_FREE", 1_000_000)
    refused("unpacks to far more", _tar(_file("it/a", b"\0" * 20_000_000)))
    # A header that promises more than there is, and one that itself is too long.
    huge = tarfile.TarInfo("it/a")
    huge.size = 1 << 60
    refused("unpacks to far more", gzip.compress(huge.tobuf() + b"\0" * 1024))
    header = tarfile.TarInfo("it/a")
    header.pax_headers = {"comment": "x" * 20_000_000}
    refused("unpacks to far more", gzip.compress(header.tobuf(tarfile.PAX_FORMAT)))
    monkeypatch.setattr(members, "MOST_FILES", 10)
    refused("unpacks to far more", _tar(*(_file(f"it/{number}") for number in range(11))))


def test_a_sparse_file_that_is_nothing_but_holes(refused: Callable[[str, bytes], None]) -> None:
    sparse = tarfile.TarInfo("it/a")
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 50)}
    content = b"1\n0\n0\n".ljust(512, b"\0")
    sparse.size = len(content)
    refused("is no archive of results", gzip.compress(sparse.tobuf(tarfile.PAX_FORMAT) + content + b"\0" * 1024))


def test_what_is_no_gzipped_tar_or_was_cut(tmp_path: Path, refused: Callable[[str, bytes], None]) -> None:
    whole = _whole(tmp_path, {"format": archive.FORMAT}, a=bytes(range(256)) * 500)
    damaged = (b"", b"no", gzip.compress(b"no"), b"\x1f\x8b" + b"\xff" * 99)
    for content in (*damaged, whole[: len(whole) // 2], whole[:-20]):
        refused("is no archive of results", content)


def test_checksums_that_are_wrong_missing_or_too_many(refused: Callable[[str, bytes], None]) -> None:
    def sums(**of: bytes) -> tuple[tarfile.TarInfo, bytes]:
        lines = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in of.items())
        return _file("it/checksums.sha256", lines.encode())

    refused("it has no checksums.sha256", _tar(_file("it/a")))
    refused("a is damaged: its checksum is another", _tar(_file("it/a"), sums(a=b"y")))
    refused("b has no checksum", _tar(_file("it/a"), _file("it/b"), sums(a=b"x")))
    refused("it lacks b", _tar(_file("it/a"), sums(a=b"x", b=b"x")))
    refused("a line that is no checksum", _tar(_file("it/a"), _file("it/checksums.sha256", b"a\n")))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 1}, "another format"),
        ({"study_file": "../../etc/passwd"}, "study_file"),
        ({"replications": 0}, "replications"),
        ({"experiments": "base"}, "experiments"),
        ({"claims": [{"name": 3}]}, "claims"),
    ],
)
def test_a_description_that_cannot_be_used(
    change: dict[str, object], words: str, tmp_path: Path, refused: Callable[[str, bytes], None]
) -> None:
    right: dict[str, object] = {
        "format": archive.FORMAT, "study_file": "study.toml", "haltere": "0", "core": "0", "variant": None,
        "replications": 1, "experiments": ["base"], "fidelities": ["model"], "claims": [],
    }  # fmt: skip
    (tmp_path / "right.tar.gz").write_bytes(_whole(tmp_path, right))
    assert (archive.unpack(tmp_path / "right.tar.gz", tmp_path / "right") / "pack.json").exists()
    refused(words, _whole(tmp_path, right | change))


def test_a_description_that_is_none(tmp_path: Path, refused: Callable[[str, bytes], None]) -> None:
    members.write(tmp_path / "whole.tar.gz", "it", {"pack.json": b"[]"})
    refused("pack.json", (tmp_path / "whole.tar.gz").read_bytes())
    members.write(tmp_path / "whole.tar.gz", "it", {"a": b""})
    refused("pack.json", (tmp_path / "whole.tar.gz").read_bytes())
